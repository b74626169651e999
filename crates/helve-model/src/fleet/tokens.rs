//! How many tokens something is, as far as that can be told without the model's own tokenizer.
//!
//! A character of Chinese, Japanese or Korean is about a token; of anything else, four bytes are. How far off that is
//! differs between models and languages, so it is corrected by what the vendor counted the last time (`correct_estimate`).

use crate::{ModelRequest, Turn};
use serde_json::Value;

/// What every turn takes besides its words: its role, and marks around it.
const TURN: u64 = 4;
/// The same for each call and each tool.
const CALL: u64 = 8;
/// No tokenizer is so far off; a vendor that counts so has counted something else.
const RATIO_MIN: f64 = 0.5;
const RATIO_MAX: f64 = 4.0;

pub fn estimate_text_tokens(text: &str) -> u64 {
    if text.is_ascii() {
        return (text.len() as u64).div_ceil(4);
    }
    let (mut wide, mut bytes) = (0, 0);
    for c in text.chars() {
        if is_wide(c) {
            wide += 1;
        } else {
            bytes += c.len_utf8() as u64;
        }
    }
    wide + bytes.div_ceil(4)
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

pub fn estimate_turn_tokens(turn: &Turn<'_>) -> u64 {
    TURN + match turn {
        Turn::User(text) => estimate_text_tokens(text),
        Turn::Assistant { text, reasoning, echo, calls } => {
            let calls: u64 = calls
                .iter()
                .map(|call| {
                    CALL + estimate_text_tokens(&call.id)
                        + estimate_text_tokens(&call.tool)
                        + estimate_text_tokens(&call.arguments)
                })
                .sum();
            estimate_text_tokens(text)
                + estimate_text_tokens(reasoning)
                + echo.map_or(0, estimate_json_tokens)
                + calls
        }
        Turn::Result { id, tool, text, .. } => {
            estimate_text_tokens(id) + estimate_text_tokens(tool) + estimate_text_tokens(text)
        }
    }
}

pub fn estimate_request_tokens(request: &ModelRequest<'_>) -> u64 {
    let turns: u64 = request.turns.iter().map(estimate_turn_tokens).sum();
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| {
            CALL + estimate_text_tokens(&tool.name)
                + estimate_text_tokens(&tool.description)
                + estimate_json_tokens(&tool.parameters)
        })
        .sum();
    TURN + estimate_text_tokens(&request.system) + turns + tools
}

/// JSON as it would be written, without writing it.
fn estimate_json_tokens(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + estimate_text_tokens(text),
        Value::Array(items) => 1 + items.iter().map(estimate_json_tokens).sum::<u64>(),
        Value::Object(members) => {
            1 + members
                .iter()
                .map(|(key, value)| 1 + estimate_text_tokens(key) + estimate_json_tokens(value))
                .sum::<u64>()
        }
    }
}

/// How much more, or less, a vendor counted than was estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimateRatio(f64);

impl Default for EstimateRatio {
    fn default() -> Self {
        Self(1.0)
    }
}

impl EstimateRatio {
    pub fn new(counted: u64, estimated: u64) -> Self {
        let ratio = counted as f64 / estimated.max(1) as f64;
        Self(ratio.clamp(RATIO_MIN, RATIO_MAX))
    }

    /// An estimate as this vendor would count it.
    pub fn correct_estimate(self, estimated: u64) -> u64 {
        (estimated as f64 * self.0).round() as u64
    }

    /// What would be estimated where this vendor counts so much.
    pub fn estimate_from_counted(self, counted: u64) -> u64 {
        (counted as f64 / self.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_estimated_by_their_bytes_and_chinese_by_its_characters() {
        for (text, expected) in [
            ("", 0),
            ("a", 1),
            ("four letters make a token", 7),
            ("今天天气怎么样", 7),
            ("天气 is weather", 2 + 3),
            ("日本語とカタカナ", 8),
            ("한국어", 3),
            ("naïve café", 3),
            ("🙂🙂", 2),
        ] {
            assert_eq!(estimate_text_tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn an_estimate_is_corrected_by_what_was_counted_and_never_absurdly() {
        assert_eq!(EstimateRatio::default().correct_estimate(100), 100);
        assert_eq!(EstimateRatio::new(150, 100).correct_estimate(1_000), 1_500);
        assert_eq!(
            EstimateRatio::new(1, 1_000).correct_estimate(1_000),
            500,
            "a vendor that counts only what it had not cached"
        );
        assert_eq!(EstimateRatio::new(1_000_000, 0).correct_estimate(10), 40);
    }

    #[test]
    fn json_is_counted_about_as_long_as_it_is_written() {
        let value = serde_json::json!({
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Where to look, as in Paris."}},
            "required": ["city"],
        });
        let written = estimate_text_tokens(&value.to_string());
        let estimated = estimate_json_tokens(&value);
        assert!(estimated.abs_diff(written) * 2 <= written, "{estimated} for {written}");
    }
}
