//! One text for one JSON value (RFC 8785), so that equal arguments hash equally.

use std::fmt::Write;

use serde_json::{Number, Value};

/// Members sorted, no blanks, numbers in their shortest form.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // The RFC sorts by UTF-16 code units, which differs from bytes beyond the basic plane.
            if !members.is_sorted_by(|a, b| a.0.is_ascii() && b.0.is_ascii() && a.0 < b.0) {
                members.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
            }
            out.push('{');
            for (i, (name, member)) in members.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(name, out);
                out.push(':');
                write_value(member, out);
            }
            out.push('}');
        }
    }
}

/// Whole numbers are written whole, so that `5.0` and `5` are the same argument.
fn write_number(number: &Number, out: &mut String) {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT_MAX => {
            _ = write!(out, "{}", float as i64);
        }
        _ => _ = write!(out, "{number}"),
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => _ = write!(out, "\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_have_one_text() {
        let cases = [
            (json!({"b": 1, "a": [true, null]}), r#"{"a":[true,null],"b":1}"#),
            (json!({"n": 5.0}), r#"{"n":5}"#),
            (json!(-0.5), "-0.5"),
            (json!("line\nbreak \"q\" \u{1}"), r#""line\nbreak \"q\" \u0001""#),
            (json!({"\u{ffff}": 1, "\u{1f600}": 2}), "{\"\u{1f600}\":2,\"\u{ffff}\":1}"),
            (json!(12_345_678_901_234_567_890u64), "12345678901234567890"),
        ];
        for (value, text) in cases {
            assert_eq!(canonical_json(&value), text);
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".*", inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_text_is_json_and_a_fixed_point(value in any_json()) {
            let text = canonical_json(&value);
            let again: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(canonical_json(&again), text);
        }
    }
}
