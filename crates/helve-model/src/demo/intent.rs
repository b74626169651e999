//! Finds by a few rules what a message asks for.

/// A task for one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    Calculate(String),
    Time(String),
    Search(String),
    RunCode(String),
    Note(String),
    /// Ask the user something.
    Ask(DemoQuestion),
    /// Call the operator's tool that the message names, with a text for its single argument.
    Use {
        tool: String,
        text: String,
    },
}

/// What the user is asked, to show how that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoQuestion {
    Words,
    Option,
    Options,
    Form,
}

/// All intents of the message, in a fixed order; several become parallel calls.
pub(super) fn find_intents(message: &str) -> Vec<Intent> {
    if let Some(code) = find_code(message) {
        return vec![Intent::RunCode(code)];
    }
    if let Some(note) = text_after(message, NOTE) {
        return vec![Intent::Note(note)];
    }
    if let Some(query) = text_after(message, SEARCH) {
        return vec![Intent::Search(query)];
    }
    if let Some(asked) = find_asked(message) {
        return vec![Intent::Ask(asked)];
    }
    let mut found: Vec<Intent> = find_places(message).into_iter().map(Intent::Time).collect();
    found.extend(find_expression(message).map(Intent::Calculate));
    found
}

const NOTE: &[&str] = &[
    "save a note that says",
    "save a note that",
    "save a note",
    "take a note that",
    "take a note",
    "note that",
    "note:",
    "remember that",
    "remember to",
    "remember",
    "记住",
    "记一下",
    "记下来",
    "记下",
    "记个笔记",
    "保存笔记",
    "保存一条笔记",
];

const SEARCH: &[&str] = &[
    "search the web for",
    "search for",
    "search",
    "look up",
    "google",
    "find news about",
    "搜索一下",
    "搜索",
    "搜一下",
    "查一下",
    "查找",
    "百度",
];

const ASK: &[&str] =
    &["ask me", "ask something", "ask a question", "问我", "问问我", "提个问题", "提一个问题", "向我提问"];

const FORM: &[&str] = &["form", "fill in", "details", "表单", "表格", "填写"];

const OPTIONS: &[&str] = &["several", "more than one", "multiple", "多选", "多个", "几个"];

const OPTION: &[&str] = &["choose", "choice", "option", "pick", "which", "选择", "选项", "选一", "哪个"];

const RUN: &[&str] =
    &["javascript", "java script", "run code", "in my browser", "in the browser", "浏览器", "运行代码"];

const TIME: &[&str] = &["time", "clock", "几点", "时间"];

/// Names of places, each with its time zone.
const PLACES: &[(&str, &str)] = &[
    ("tokyo", "Asia/Tokyo"),
    ("东京", "Asia/Tokyo"),
    ("beijing", "Asia/Shanghai"),
    ("北京", "Asia/Shanghai"),
    ("shanghai", "Asia/Shanghai"),
    ("上海", "Asia/Shanghai"),
    ("hong kong", "Asia/Hong_Kong"),
    ("香港", "Asia/Hong_Kong"),
    ("singapore", "Asia/Singapore"),
    ("新加坡", "Asia/Singapore"),
    ("sydney", "Australia/Sydney"),
    ("悉尼", "Australia/Sydney"),
    ("berlin", "Europe/Berlin"),
    ("柏林", "Europe/Berlin"),
    ("paris", "Europe/Paris"),
    ("巴黎", "Europe/Paris"),
    ("london", "Europe/London"),
    ("伦敦", "Europe/London"),
    ("new york", "America/New_York"),
    ("纽约", "America/New_York"),
    ("san francisco", "America/Los_Angeles"),
    ("旧金山", "America/Los_Angeles"),
    ("utc", "UTC"),
];

fn find_asked(message: &str) -> Option<DemoQuestion> {
    let lower = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    says(ASK).then(|| match () {
        () if says(FORM) => DemoQuestion::Form,
        () if says(OPTIONS) => DemoQuestion::Options,
        () if says(OPTION) => DemoQuestion::Option,
        () => DemoQuestion::Words,
    })
}

/// The text after the first of the phrases in the message.
fn text_after(message: &str, phrases: &[&str]) -> Option<String> {
    let lower = message.to_lowercase();
    // Lower case may change the length; then positions in it are not valid in the original.
    let source = if lower.len() == message.len() { message } else { &lower };
    let (at, phrase) = phrases
        .iter()
        .filter_map(|phrase| Some((lower.find(phrase)?, phrase)))
        .min_by_key(|(at, phrase)| (*at, std::cmp::Reverse(phrase.len())))?;
    let rest = source.get(at + phrase.len()..)?;
    let rest = rest.trim_start().trim_start_matches([':', '：', ',', '，']);
    let rest = rest.trim().trim_matches(['"', '“', '”', '。', '.', '?', '？']).trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// JavaScript to run: the text between backticks, or an example if the message has none.
fn find_code(message: &str) -> Option<String> {
    let lower = message.to_lowercase();
    if !RUN.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let quoted = message.split("```").nth(1).or_else(|| message.split('`').nth(1));
    let code = quoted.map(|code| {
        let code = code.trim();
        code.strip_prefix("javascript\n").or_else(|| code.strip_prefix("js\n")).unwrap_or(code).trim()
    });
    if let Some(code) = code.filter(|code| !code.is_empty()) {
        return Some(code.to_owned());
    }
    let reverses = ["reverse", "反转", "倒过来"].iter().any(|word| lower.contains(word));
    if let Some(text) = quoted_text(message).filter(|_| reverses) {
        let text = serde_json::Value::from(text);
        return Some(format!("[...{text}].reverse().join(\"\")"));
    }
    Some("Array.from({length: 10}, (_, n) => n * n)".to_owned())
}

/// The text between the first pair of quotation marks.
fn quoted_text(message: &str) -> Option<&str> {
    let pairs = [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’'), ('「', '」')];
    let found = pairs.into_iter().filter_map(|(open, close)| {
        let (before, rest) = message.split_once(open)?;
        let (text, _) = rest.split_once(close)?;
        (!text.trim().is_empty()).then_some((before.len(), text))
    });
    found.min_by_key(|(at, _)| *at).map(|(_, text)| text)
}

fn find_places(message: &str) -> Vec<String> {
    let lower = message.to_lowercase();
    if !TIME.iter().any(|word| lower.contains(word)) {
        return vec![];
    }
    let mut named: Vec<(usize, &str)> =
        PLACES.iter().filter_map(|(name, zone)| Some((lower.find(name)?, *zone))).collect();
    named.sort_unstable();
    if named.is_empty() {
        return vec!["UTC".into()];
    }
    let mut zones: Vec<String> = vec![];
    for (_, zone) in named {
        if !zones.iter().any(|known| known == zone) {
            zones.push(zone.into());
        }
    }
    zones
}

const FUNCTIONS: &[&str] = &[
    "of",
    "sqrt",
    "cbrt",
    "root",
    "abs",
    "round",
    "floor",
    "ceil",
    "min",
    "max",
    "log",
    "ln",
    "exp",
    "sin",
    "cos",
    "tan",
    "pi",
    "gcd",
    "lcm",
    "mod",
    "factorial",
];

/// The longest part of the message that looks like arithmetic.
fn find_expression(message: &str) -> Option<String> {
    if let Some(percentage) = find_percentage(message) {
        return Some(percentage);
    }
    let spoken = rewrite_chinese_arithmetic(message);
    let mut best = String::new();
    let mut run = String::new();
    for token in split_tokens(&spoken) {
        if is_arithmetic(token) {
            run.push_str(token);
        } else {
            keep_longer(&mut best, &mut run);
        }
    }
    keep_longer(&mut best, &mut run);
    (!best.is_empty()).then_some(best)
}

fn keep_longer(best: &mut String, run: &mut String) {
    let trimmed = run.trim().trim_matches([',', '.', '=']).trim();
    let trimmed = trimmed.strip_suffix(" of").unwrap_or(trimmed).trim_start_matches("of ").trim();
    let numbers =
        trimmed.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').filter(|n| !n.is_empty());
    let operators = trimmed.contains(['+', '-', '*', '/', '^', '%', '×', '÷', '−', '!', '(']);
    if operators && numbers.count() > 0 && trimmed.len() > best.len() {
        *best = trimmed.to_owned();
    }
    run.clear();
}

fn is_arithmetic(token: &str) -> bool {
    let lower = token.to_lowercase();
    FUNCTIONS.contains(&lower.as_str())
        || token.chars().all(|c| c.is_ascii_digit() || " .,+-*/^%()!×÷−".contains(c))
}

/// Words and the single characters between them.
fn split_tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if first.is_alphabetic() {
            rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, more) = rest.split_at(end);
        rest = more;
        Some(token)
    })
}

/// `15% tip on $86.40` as `15% of 86.40`: a percentage, words without a number, and the amount.
fn find_percentage(message: &str) -> Option<String> {
    let (before, rest) = message.split_once('%')?;
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let rate = before
        .rsplit(|c: char| !digits(c))
        .next()
        .filter(|rate| rate.contains(|c: char| c.is_ascii_digit()))?;
    let at = rest.find(|c: char| c.is_ascii_digit())?;
    let (words, amount) = rest.split_at(at);
    let amount = amount.split(|c: char| !digits(c)).next()?.trim_end_matches(['.', ',']);
    let joins = words.split(|c: char| !c.is_alphabetic()).any(|word| matches!(word, "on" | "of"));
    let plain = words.chars().all(|c| c.is_ascii_alphabetic() || " $€£¥".contains(c));
    let alone = !rest[at + amount.len()..].contains(['+', '*', '/', '^', '%'])
        && !before.contains(['+', '*', '/', '(']);
    (joins && plain && alone).then(|| format!("{rate}% of {amount}"))
}

/// The tool that the message names, as it is spelled or as words, with the text in quotation marks or after a colon.
pub(super) fn find_named_tool<'a>(message: &str, mut tools: impl Iterator<Item = &'a str>) -> Option<Intent> {
    let lower = message.to_lowercase();
    let names = |tool: &str| {
        let tool = tool.to_lowercase();
        lower.contains(&tool) || lower.contains(&tool.replace(['_', '-'], " "))
    };
    let tool = tools.find(|tool| tool.len() > 3 && names(tool))?;
    let text = quoted_text(message).or_else(|| message.split_once([':', '：']).map(|(_, text)| text.trim()));
    Some(Intent::Use { tool: tool.to_owned(), text: text.unwrap_or_default().to_owned() })
}

/// Rewrites `3480的12.5%` as `12.5% of 3480`, and operators in words as signs.
fn rewrite_chinese_arithmetic(message: &str) -> String {
    let signs =
        [("乘以", "*"), ("除以", "/"), ("加上", "+"), ("减去", "-"), ("乘", "*"), ("加", "+"), ("减", "-")];
    let mut text = message.replace('，', ",").replace('％', "%");
    for (word, sign) in signs {
        text = text.replace(word, sign);
    }
    let Some((whole, part)) = text.split_once('的') else { return text };
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let number = whole.trim_end().rsplit(|c: char| !digits(c)).next().unwrap_or_default();
    let percent = part.trim_start().split_inclusive('%').next().unwrap_or_default();
    let is_percent = percent.ends_with('%') && percent.trim_end_matches('%').chars().all(digits);
    if number.is_empty() || !is_percent { text.clone() } else { format!("{percent} of {number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_found_in_a_sentence() {
        let cases = [
            ("what is 12.5% of 3,480?", Some("12.5% of 3,480")),
            ("Please compute (3 + 4) * 2^10.", Some("(3 + 4) * 2^10")),
            ("sqrt(2) please", Some("sqrt(2)")),
            ("3480的12.5%是多少？", Some("12.5% of 3480")),
            ("3480 的 12.5% 是多少？", Some("12.5% of 3480")),
            ("12加30乘以2等于多少", Some("12+30*2")),
            ("15% tip on $86.40", Some("15% of 86.40")),
            ("How much is a 15% tip on a bill of $86.40?", Some("15% of 86.40")),
            ("I have 3 cats", None),
            ("hello - who are you?", None),
        ];
        for (message, expected) in cases {
            assert_eq!(find_expression(message).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn several_intents_are_found_in_one_message() {
        let intents = find_intents("What time is it in Tokyo and in Paris, and what is 2^64?");
        assert_eq!(
            intents,
            [
                Intent::Time("Asia/Tokyo".into()),
                Intent::Time("Europe/Paris".into()),
                Intent::Calculate("2^64".into())
            ]
        );
    }

    #[test]
    fn each_kind_of_intent_is_found_in_both_languages() {
        let cases = [
            ("Search the web for Rust 2024 edition", Intent::Search("Rust 2024 edition".into())),
            ("搜索一下 量子计算", Intent::Search("量子计算".into())),
            ("Remember that the meeting is at nine.", Intent::Note("the meeting is at nine".into())),
            ("Save a note that says: milk", Intent::Note("milk".into())),
            ("note: milk", Intent::Note("milk".into())),
            ("记住：明天开会", Intent::Note("明天开会".into())),
            ("保存一条笔记：押金是 435", Intent::Note("押金是 435".into())),
            ("run `6 * 7` in my browser", Intent::RunCode("6 * 7".into())),
            ("Ask me something", Intent::Ask(DemoQuestion::Words)),
            ("Ask me to choose a colour", Intent::Ask(DemoQuestion::Option)),
            ("ask me which of several days suit me", Intent::Ask(DemoQuestion::Options)),
            ("Ask me for the details of a trip", Intent::Ask(DemoQuestion::Form)),
            ("问我一个问题", Intent::Ask(DemoQuestion::Words)),
            ("问我选择哪个颜色", Intent::Ask(DemoQuestion::Option)),
            ("问我哪几个日子方便", Intent::Ask(DemoQuestion::Options)),
            ("用表单问我", Intent::Ask(DemoQuestion::Form)),
            ("东京现在几点？", Intent::Time("Asia/Tokyo".into())),
            (
                "reverse 'hello world' with JavaScript",
                Intent::RunCode(r#"[..."hello world"].reverse().join("")"#.into()),
            ),
            ("用 JavaScript 反转“你好”", Intent::RunCode(r#"[..."你好"].reverse().join("")"#.into())),
        ];
        for (message, intent) in cases {
            assert_eq!(find_intents(message), [intent], "{message}");
        }
        assert_eq!(find_intents("hello"), []);
    }
}
