//! JSON from outside, within bounds.

use helve_tool::JsonBounds;
use serde_json::Value;

/// The value, if it is neither too deep nor too wide; both are counted before anything is made.
pub(crate) fn parse(text: &[u8]) -> Result<Value, String> {
    JsonBounds::default().check(text).map_err(|what| format!("the JSON {what}"))?;
    serde_json::from_slice(text).map_err(|error| format!("this is no valid JSON ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs_are_refused_before_they_are_parsed() {
        let deep = "[".repeat(100_000);
        assert_eq!(parse(deep.as_bytes()).unwrap_err(), "the JSON is nested deeper than 64 levels");
        let wide = format!("[{}0]", "0,".repeat(100_000));
        assert_eq!(parse(wide.as_bytes()).unwrap_err(), "the JSON has more than 100000 values");
        assert!(parse(br#"{"a": "[[[[,,,\"[["}"#).is_ok());
        assert!(parse(b"{\"a\": ").unwrap_err().starts_with("this is no valid JSON (EOF"));
    }
}
