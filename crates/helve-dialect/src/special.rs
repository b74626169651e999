//! The table of special tokens: the words by which models' templates tell who speaks, what is a call and what was
//! thought. Servers may read them as such wherever they stand, so text that is not the model's or the operator's own is
//! sent with them written otherwise.
//!
//! The marks of calls and reasoning are those of the dialects, taken from their registry; the tokens that only templates
//! have are listed here.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::dialect::{END_TOKENS, RESULTS};
use crate::registry::{dialects, is_words};

/// Who speaks, and where a message or a whole text begins and ends. Those in bars, such as `<|im_start|>`, need no list.
const TURNS: &[&str] = &[
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[MODEL_SETTINGS]",
    "[/MODEL_SETTINGS]",
    "<<SYS>>",
    "<</SYS>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_role>",
    "<end_of_role>",
    "<end_of_utterance>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<pad>",
    "<unk>",
    "<sop>",
    "<eop>",
    "[gMASK]",
    "[sMASK]",
    "<seed:bos>",
    "<seed:eos>",
    "<BOS_TOKEN>",
    "<EOS_TOKEN>",
    "<extra_id_0>",
    "<extra_id_1>",
    "<reserved_102>",
    "<reserved_103>",
    "<reserved_106>",
    "<reserved_107>",
    "]~b]",
    "]~!b[",
    "[e~[",
];
/// What templates write around tools, calls, results and thoughts, besides the marks of the dialects.
const OTHERS: &[&str] = &[
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[/TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CONTENT]",
    "[CALL_ID]",
    "[ARGS]",
    "[IMG]",
    "<tools>",
    "</tools>",
    "<tool_call>",
    "</tool_call>",
    "<tool_code>",
    "</tool_code>",
    "<tool_output>",
    "</tool_output>",
    "<tool_declare>",
    "<tool_outputs>",
    "</tool_outputs>",
    "<start_function_declaration>",
    "<end_function_declaration>",
    "<start_function_response>",
    "<end_function_response>",
    "<escape>",
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<thought>",
    "</thought>",
    "<reasoning>",
    "</reasoning>",
    "<scratch_pad>",
    "</scratch_pad>",
];
const TOKEN_CHARS_MAX: usize = 48;

struct Table {
    /// Those of `TURNS`, and then all others that are no ordinary words.
    turns: Vec<&'static str>,
    others: Vec<&'static str>,
    /// The first bytes of all of them.
    firsts: [bool; 256],
}

fn mark_table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let turns = TURNS.iter().chain(END_TOKENS).copied().collect();
        let mut others = OTHERS.to_vec();
        others.extend(RESULTS.iter().flat_map(|(open, close)| [*open, *close]));
        others.extend(dialects().iter().flat_map(|dialect| dialect.marks()));
        others.retain(|mark| !mark.trim().is_empty() && !is_words(mark));
        others.sort_unstable();
        others.dedup();
        let mut table = Table { turns, others, firsts: [false; 256] };
        for mark in table.turns.iter().chain(&table.others).chain(&["<", "["]) {
            table.firsts[usize::from(mark.as_bytes()[0])] = true;
        }
        table
    })
}

/// Whether a mark of any kind, or a token in bars, begins the text.
pub(crate) fn begins_with_mark(text: &str) -> bool {
    begins_with_turn_token(text) || mark_table().others.iter().any(|mark| begins_with(text, mark))
}

/// Whether the text begins with a token that tells who speaks or where a message ends.
fn begins_with_turn_token(text: &str) -> bool {
    begins_with_token(text) || mark_table().turns.iter().any(|mark| begins_with(text, mark))
}

/// Names in brackets are tokens as they are; `list[args]` is code.
fn begins_with(text: &str, mark: &str) -> bool {
    let start = text.as_bytes().get(..mark.len());
    start.is_some_and(|start| match mark.starts_with('[') {
        true => start == mark.as_bytes(),
        false => start.eq_ignore_ascii_case(mark.as_bytes()),
    })
}

/// Whether the text begins with a token in bars: `<|im_start|>`, `<|turn>`, `<turn|>`, `<｜User｜>`, `[|user|]`.
fn begins_with_token(text: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/');
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some('<'), Some('｜' | '‖')) => true,
        (Some('<' | '['), Some('|')) => chars.next().is_some_and(name),
        (Some('<'), Some(first)) if name(first) => {
            let bar = chars.by_ref().take(TOKEN_CHARS_MAX).find(|c| !name(*c));
            matches!(bar, Some('|' | '｜')) && chars.next() == Some('>')
        }
        _ => false,
    }
}

/// Where marks begin.
fn find_marks(text: &str, is_mark: impl Fn(&str) -> bool) -> impl Iterator<Item = usize> {
    let firsts = &mark_table().firsts;
    let begins = text.bytes().enumerate().filter(|(_, byte)| firsts[usize::from(*byte)]).map(|(at, _)| at);
    begins.filter(move |at| text.get(*at..).is_some_and(&is_mark))
}

/// The text with the first character of each mark written otherwise.
pub(crate) fn escape_marks<'t>(
    text: &'t str,
    is_mark: impl Fn(&str) -> bool,
    written: impl Fn(char) -> String,
) -> Cow<'t, str> {
    let mut out = String::new();
    let mut done = 0;
    for at in find_marks(text, is_mark) {
        let Some(first) = text[at..].chars().next() else { continue };
        out.push_str(&text[done..at]);
        out.push_str(&written(first));
        done = at + first.len_utf8();
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// So that people and models still read what was there.
pub(crate) fn as_entity(c: char) -> String {
    match c {
        '<' => "&lt;".to_owned(),
        c => format!("&#{};", u32::from(c)),
    }
}

/// Inside a JSON string: it means what it meant.
pub(crate) fn as_escape(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

/// The output of a tool as it may be sent in a message of its own: no special token stands in it. JSON stays JSON, with
/// the same values.
pub fn escape_output(text: &str) -> Cow<'_, str> {
    let Some(_) = find_marks(text, begins_with_mark).next() else { return Cow::Borrowed(text) };
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    escape_marks(text, begins_with_mark, if is_json { as_escape } else { as_entity })
}

/// What a person writes, as it may be sent: it does not say that somebody else speaks, or that it is over. Tags of calls and
/// thoughts stay, since people ask about them, and what a person says counts as that person's in any case.
pub fn escape_user_text(text: &str) -> Cow<'_, str> {
    escape_marks(text, begins_with_turn_token, as_entity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallView, Language, Profile, ResultView};

    /// The tokens that FORMATS.md and the templates of the models name, beside the marks of the dialects.
    const NAMED: &[&str] = &[
        "<|im_start|>system",
        "<|im_end|>",
        "<|start_header_id|>",
        "<|eot_id|>",
        "<|begin_of_text|>",
        "<|header_start|>",
        "<|eot|>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<s>",
        "</s>",
        "[SYSTEM_PROMPT]",
        "<start_of_turn>user",
        "<end_of_turn>",
        "<|turn>system",
        "<turn|>",
        "<|channel>thought",
        "<channel|>",
        "<|START_OF_TURN_TOKEN|>",
        "<|SYSTEM_TOKEN|>",
        "<|start_of_role|>",
        "<|system|>",
        "<|user|>",
        "[gMASK]",
        "<sop>",
        "<|im_middle|>",
        "]~b]system",
        "]~!b[",
        "<|start|>system<|message|>",
        "<｜User｜>",
        "<｜Assistant｜>",
        "<｜begin▁of▁sentence｜>",
        "<｜DSML｜invoke name=",
        "[|system|]",
        "[|endofturn|]",
        "<extra_id_1>",
        "</think>",
        "<tool_code>",
    ];

    fn all() -> Vec<&'static str> {
        let of_dialects = dialects().iter().flat_map(|dialect| dialect.marks());
        of_dialects.chain(NAMED.iter().copied()).filter(|mark| !is_words(mark)).collect()
    }

    #[test]
    fn no_mark_of_any_dialect_reaches_a_model_in_a_result_in_either_way_of_calling() {
        assert!(all().len() > 150);
        for mark in all() {
            let text = format!("so: {mark} is it");
            let native = escape_output(&text);
            assert!(!native.contains(mark), "{mark}: {native}");
            assert!(native.ends_with(" is it") && native.len() <= text.len() + 64, "{native}");
            let json = serde_json::json!({"said": text}).to_string();
            let sent = escape_output(&json);
            assert!(!sent.contains(mark), "{mark}: {sent}");
            let meant: serde_json::Value = serde_json::from_str(&sent).unwrap();
            assert_eq!(meant["said"], *text);
            for name in Profile::names() {
                let profile = Profile::named(name).unwrap();
                let written = |text| {
                    let result = ResultView { id: "1", name: "f", text, is_error: false };
                    profile.result(&[result], Language::English)
                };
                let (with, without) =
                    (written(&text).matches(mark).count(), written("so").matches(mark).count());
                assert_eq!(with, without, "{name}: {mark}");
                // What the model itself has called is its own.
                assert!(!profile.call(&[CallView { id: "1", name: "f", arguments: "{}" }]).is_empty());
            }
        }
    }

    #[test]
    fn words_of_people_cannot_speak_for_others_and_are_left_alone_otherwise() {
        for mark in ["<|im_start|>system", "<|eot_id|>", "[INST]", "<start_of_turn>", "<｜User｜>", "</s>"]
        {
            assert!(!escape_user_text(mark).contains(mark), "{mark}");
        }
        for text in [
            "a < b, x[args], list[int], f <| g, <|> and || and [|]",
            "<b>bold</b> <response>ok</response> <think>what is this tag?</think>",
            "[see](http://x) [1] [inst] [ ] <function=f>",
            "多行\n文字 ◁ ✿",
        ] {
            assert_eq!(escape_user_text(text), text);
        }
        assert_eq!(escape_user_text("what does <s> do?"), "what does &lt;s> do?");
    }

    #[test]
    fn plain_outputs_are_passed_on_as_they_are() {
        for text in ["", "plain", "a < b [1] x[args] <b>bold</b>", r#"{"a": ["x", "<b>"], "b": [[1]]}"#] {
            assert!(matches!(escape_output(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
