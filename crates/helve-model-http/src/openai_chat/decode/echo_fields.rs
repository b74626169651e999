//! Collects members of a message that only the vendor understands and requires back unchanged.
//!
//! A stream sends them in pieces. The vendor's row says which of them are sent back.

use serde_json::{Map, Value};

use super::wire;

#[derive(Default)]
pub(super) struct EchoFields {
    encrypted: String,
    details: Vec<Value>,
}

/// The members of a detail that are sent in pieces.
const STREAMED: &[&str] = &["text", "summary", "data"];

impl EchoFields {
    pub(super) fn apply(&mut self, delta: &wire::Delta<'_>) {
        self.encrypted.extend(delta.encrypted_content.as_deref());
        for detail in delta.reasoning_details.iter().flatten() {
            match self.details.last_mut() {
                Some(last) if continues(last, detail) => extend(last, detail),
                _ => self.details.push(detail.clone()),
            }
        }
    }

    pub(super) fn echo(&mut self) -> Option<Value> {
        let mut echo = Map::new();
        if !self.encrypted.is_empty() {
            echo.insert("encrypted_content".into(), std::mem::take(&mut self.encrypted).into());
        }
        if !self.details.is_empty() {
            echo.insert("reasoning_details".into(), std::mem::take(&mut self.details).into());
        }
        (!echo.is_empty()).then_some(Value::Object(echo))
    }
}

/// Whether a detail continues the previous one: the same type, and the same index if it has one.
fn continues(last: &Value, next: &Value) -> bool {
    let same = |key: &str| last.get(key) == next.get(key);
    let numbered = next.get("index").is_some_and(|index| !index.is_null());
    let text = next.get("type").and_then(Value::as_str) == Some("reasoning.text");
    same("type") && same("index") && (numbered || text) && last.is_object() && next.is_object()
}

/// Appends streamed text; other members replace the previous value.
fn extend(last: &mut Value, next: &Value) {
    let (Value::Object(last), Value::Object(next)) = (last, next) else { return };
    for (key, value) in next.iter().filter(|(_, value)| !value.is_null()) {
        match (last.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more)) if STREAMED.contains(&key.as_str()) => {
                text.push_str(more);
            }
            _ => _ = last.insert(key.clone(), value.clone()),
        }
    }
}

/// The readable text of the details.
pub(super) fn readable_text<'a>(details: impl Iterator<Item = &'a Value>) -> String {
    details.filter_map(|detail| detail.get("text").or_else(|| detail.get("summary"))?.as_str()).collect()
}
