//! What a document says in words, made fit for people and models: bounded, and without invisible characters.

use serde_json::Value;

/// Several lines of text, with no more than so many characters.
pub(super) fn clean_text(given: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut empty = 0;
    for line in text_start(given, chars_max).trim().lines() {
        let line: String = line.trim_end().chars().filter(|c| !is_hidden_char(*c)).collect();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            out.push_str(&line);
            out.push('\n');
        }
    }
    cut_at_word(out.trim(), chars_max)
}

/// The same on one line.
pub(super) fn clean_line(given: &str, chars_max: usize) -> String {
    let near = text_start(given, chars_max);
    let seen: String = near.chars().filter(|c| c.is_whitespace() || !is_hidden_char(*c)).collect();
    cut_at_word(&seen.split_whitespace().collect::<Vec<_>>().join(" "), chars_max)
}

/// What will be cut off need not be looked at, however much it is.
fn text_start(given: &str, chars_max: usize) -> &str {
    let end = given.len().min(chars_max * 16);
    &given[..given.floor_char_boundary(end)]
}

/// Cuts behind a word where there is one.
fn cut_at_word(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    let words = kept.rsplit_once(char::is_whitespace).map(|(words, _)| words.trim_end());
    let kept = words.filter(|words| words.len() * 2 > kept.len()).unwrap_or(&kept);
    format!("{kept}…")
}

/// What is told of an operation with such characters, which no honest document has.
pub(super) const HIDDEN: &str = "the document says something in it with characters that people do not see; they are left out, \
                                 but look twice at who wrote it";

/// Whether there is a character in any text of an operation that only a model would notice.
pub(super) fn has_hidden(value: &Value) -> bool {
    let is_odd = |text: &str| {
        text.chars().any(|c| is_hidden_char(c) && !matches!(c, '\n' | '\r') && !is_harmless_char(c))
    };
    match value {
        Value::String(text) => is_odd(text),
        Value::Array(items) => items.iter().any(has_hidden),
        Value::Object(members) => members.iter().any(|(name, member)| is_odd(name) || has_hidden(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What editors and emoji leave in honest texts: joiners, variation selectors, a mark at the beginning, line separators.
fn is_harmless_char(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{2028}' | '\u{2029}')
}

/// Characters that say something to a model and nothing to the person who reads along: controls, marks of direction,
/// joiners and spaces without width, tags, private use.
fn is_hidden_char(c: char) -> bool {
    c.is_control() && c != '\t'
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_dropped() {
        assert_eq!(
            clean_text("Lists\u{200b} pets.\u{202e}\u{e0041}\r\n\r\n\r\n\r\nAll.\u{0}", 100),
            "Lists pets.\n\nAll."
        );
        assert_eq!(clean_line("  a\n\n b\u{feff}\tc ", 100), "a b c");
        assert_eq!(clean_text("查询天气", 100), "查询天气");
    }

    #[test]
    fn what_was_hidden_is_told_and_what_is_usual_is_not() {
        use serde_json::json;
        for odd in ["a\u{200b}b", "\u{202e}evil", "\u{e0041}", "x\u{0}"] {
            assert!(has_hidden(&json!({"parameters": [{"description": odd}]})), "{odd:?}");
            assert!(has_hidden(&json!({ odd: 1 })), "{odd:?}");
        }
        for usual in ["查询\n天气", "👩\u{200d}🔬 ❤\u{fe0f}", "می\u{200c}خواهم", "\u{feff}Lists.\r\n"]
        {
            assert!(!has_hidden(&json!({"summary": usual})), "{usual:?}");
        }
    }

    #[test]
    fn long_text_is_cut_behind_a_word() {
        assert_eq!(clean_line("one two three four", 12), "one two…");
        assert_eq!(clean_line(&"x".repeat(50), 10), format!("{}…", "x".repeat(9)));
        assert_eq!(clean_line("exactly ten", 11), "exactly ten");
        assert!(clean_text(&"word ".repeat(100_000), 1000).chars().count() <= 1000);
    }
}
