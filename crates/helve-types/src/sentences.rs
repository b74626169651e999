//! The sentences of notices, from `fixtures/codes.json` and `fixtures/definition-codes.json`. The page has its own copy of
//! the first list, made by its build.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::{Language, Notice, Timestamp};

/// The sentence of one code, in both languages.
#[derive(Debug, Deserialize)]
pub struct Sentence {
    /// The names of what varies in it.
    pub params: Vec<String>,
    pub en: String,
    pub zh: String,
}

/// A list that cannot be read is empty, which a test forbids.
static SENTENCES: LazyLock<HashMap<String, Sentence>> = LazyLock::new(|| {
    let read = |list: &str| serde_json::from_str::<HashMap<_, _>>(list).unwrap_or_default();
    let mut all = read(include_str!("../../../fixtures/codes.json"));
    all.extend(read(include_str!("../../../fixtures/definition-codes.json")));
    all
});

/// Every code that people may be told of.
pub fn load_sentences() -> &'static HashMap<String, Sentence> {
    &SENTENCES
}

/// Notices are nested in notices; no real one goes deeper than this.
const DEPTH_MAX: usize = 5;
/// Nor is a list of notices longer.
const LIST_MAX: usize = 20;

impl Notice {
    /// The sentence for logs and for readers who chose no language; its code where that is not known.
    pub fn english(&self) -> String {
        self.sentence(Language::English).unwrap_or_else(|| self.code.clone())
    }

    /// The notice as a sentence; none where its code or one of its parameters is not known here, as in a log that a newer
    /// version wrote.
    pub fn sentence(&self, language: Language) -> Option<String> {
        self.sentence_at(language, DEPTH_MAX)
    }

    fn sentence_at(&self, language: Language, depth: usize) -> Option<String> {
        let sentence = SENTENCES.get(&self.code).filter(|_| depth > 0)?;
        let mut rest = match language {
            Language::English => &*sentence.en,
            Language::Chinese => &*sentence.zh,
        };
        let mut text = String::new();
        while let Some((before, after)) = rest.split_once('{') {
            let (slot, behind) = after.split_once('}')?;
            text.push_str(before);
            text.push_str(&self.fill_slot(slot, language, depth)?);
            rest = behind;
        }
        text.push_str(rest);
        Some(text)
    }

    /// What stands in the place of `name`, or of `name|one|many`.
    fn fill_slot(&self, slot: &str, language: Language, depth: usize) -> Option<String> {
        if let Some((name, forms)) = slot.split_once('|') {
            let (one, many) = forms.split_once('|')?;
            let is_one = self.params.get(name)?.as_u64() == Some(1);
            return Some(if is_one { one } else { many }.to_owned());
        }
        Some(match self.params.get(slot)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => match (slot.rsplit('_').next(), number.as_i64()) {
                (Some("ms"), Some(ms)) => format_duration(ms, language),
                (Some("at"), Some(at)) => Timestamp(at).to_utc_string(),
                (Some("bytes"), Some(bytes)) => format_size(bytes),
                _ => number.to_string(),
            },
            nested @ Value::Object(_) => nested_sentence(nested, language, depth - 1)?,
            Value::Array(list) if list.len() <= LIST_MAX => {
                let sentences: Option<Vec<String>> =
                    list.iter().map(|nested| nested_sentence(nested, language, depth - 1)).collect();
                sentences?.join(separator(slot, language))
            }
            _ => return None,
        })
    }
}

fn nested_sentence(nested: &Value, language: Language, depth: usize) -> Option<String> {
    serde_json::from_value::<Notice>(nested.clone()).ok()?.sentence_at(language, depth)
}

/// What stands between the sentences of a list: `or` where one of them is enough.
fn separator(slot: &str, language: Language) -> &'static str {
    match (language, slot.ends_with("_any")) {
        (Language::English, true) => " or ",
        (Language::English, false) => "; ",
        (Language::Chinese, true) => "或",
        (Language::Chinese, false) => "；",
    }
}

fn format_duration(ms: i64, language: Language) -> String {
    let (second, minute) = match language {
        Language::English => (" s", " min"),
        Language::Chinese => (" 秒", " 分钟"),
    };
    match (ms / 60_000, ms % 60_000 / 1_000) {
        (0, 0) => match language {
            Language::English => format!("{ms} ms"),
            Language::Chinese => format!("{ms} 毫秒"),
        },
        (0, seconds) => format!("{seconds}{second}"),
        (minutes, 0) => format!("{minutes}{minute}"),
        (minutes, seconds) => format!("{minutes}{minute} {seconds}{second}"),
    }
}

fn format_size(bytes: i64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(notice: &Notice) -> [String; 2] {
        [Language::English, Language::Chinese].map(|language| notice.sentence(language).unwrap())
    }

    #[test]
    fn every_notice_has_a_sentence_in_both_languages_that_says_all_its_parameters() {
        for (code, params) in Notice::ALL {
            let Sentence { params: listed, en, zh } = &SENTENCES[*code];
            assert_eq!(listed, params, "{code}");
            for text in [en, zh] {
                assert!(!text.trim().is_empty(), "{code}");
                for name in *params {
                    assert!(text.contains(&format!("{{{name}}}")), "{code} does not say {name} in {text}");
                }
            }
        }
    }

    #[test]
    fn what_varies_is_written_as_the_end_of_its_name_says() {
        assert_eq!(
            both(&Notice::tool_timed_out(90_000)),
            ["The tool did not answer within 1 min 30 s.", "工具在 1 分钟 30 秒 内没有回应。"]
        );
        assert_eq!(both(&Notice::rows_read("shop", 1)), ["shop: 1 row", "shop：1 行"]);
        assert_eq!(both(&Notice::rows_read("shop", 2))[0], "shop: 2 rows");
        assert_eq!(both(&Notice::output_part(0, 10, 2_500_000))[1], "第 0 至 10 字节，共 2.5 MB");
    }

    #[test]
    fn a_notice_in_a_notice_is_part_of_the_sentence() {
        let calls = Notice::amount_calls;
        let notice = Notice::budget_used_up(Notice::budget_of_run(), calls(100), calls(100));
        assert_eq!(
            both(&notice),
            [
                "The budget of this run is used up: 100 calls of 100 calls.",
                "这次运行的预算已用完：已用 100 次调用，上限 100 次调用。"
            ]
        );
    }

    #[test]
    fn a_list_of_notices_is_one_sentence_as_long_as_it_is_short() {
        let types = Notice::misfit_type(vec![Notice::type_string(), Notice::type_null()]);
        let problems = vec![Notice::misfit_in_field("to", types), Notice::misfit_missing("subject")];
        assert_eq!(
            both(&Notice::arguments_do_not_fit(problems)),
            [
                "The arguments do not fit the tool: “to” must be a text or null; “subject” is missing",
                "参数不符合工具的要求：“to”应为文本或空值；缺少“subject”"
            ]
        );
        let long = Notice::arguments_do_not_fit(vec![Notice::misfit_more(); LIST_MAX + 1]);
        assert_eq!(long.sentence(Language::English), None);
        let mixed: Notice =
            serde_json::from_str(r#"{"code": "arguments_do_not_fit", "params": {"problems": [7]}}"#).unwrap();
        assert_eq!(mixed.sentence(Language::English), None);
    }

    #[test]
    fn what_is_not_known_is_not_guessed_and_endless_nesting_ends() {
        let unknown: Notice = serde_json::from_str(r#"{"code": "of_a_newer_version"}"#).unwrap();
        assert_eq!(unknown.sentence(Language::English), None);
        let less: Notice = serde_json::from_str(r#"{"code": "no_such_tool"}"#).unwrap();
        assert_eq!(less.sentence(Language::English), None);
        let mut deep = Notice::no_such_tool("x");
        for _ in 0..20 {
            deep = Notice::call_cannot_be_made(deep);
        }
        assert_eq!(deep.sentence(Language::Chinese), None);
    }

    #[test]
    fn a_text_of_a_parameter_is_not_read_as_a_place_for_another() {
        let [english, _] = both(&Notice::http_status("{status}", 404));
        assert_eq!(english, "{status} answered with status 404.");
    }
}
