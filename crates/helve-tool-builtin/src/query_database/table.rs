//! What a database answered: text for a model, values for a program.

use helve_types::{Notice, ToolOutput, hex};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::COLUMNS_MAX;

/// Of one value, as text of the table. The value itself has more.
const SHOWN_CHARS_MAX: usize = 200;
/// Of one value, as data.
pub(super) const CELL_CHARS_MAX: usize = 2_000;
/// Of all values together, and the names that stand beside each: then no more rows are read.
const ALL_BYTES_MAX: usize = 256 << 10;
/// Of a column's name.
const NAME_CHARS_MAX: usize = 200;

/// The largest whole number, without its sign, that every program's JSON numbers have: 2^53.
const WHOLE_MAX: u64 = 1 << 53;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    #[serde(skip)]
    bytes: usize,
    /// Whether there are more rows than these.
    has_more: bool,
}

impl Table {
    /// Names that come twice get a number, so that no column hides another.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut columns: Vec<String> = vec![];
        for name in names {
            let name = shorten(name, NAME_CHARS_MAX);
            let mut unique = name.clone();
            let mut number = 2;
            while columns.contains(&unique) {
                unique = format!("{name}_{number}");
                number += 1;
            }
            columns.push(unique);
        }
        Self { columns, ..Self::default() }
    }

    /// Takes a row in, unless there is no room for it; then nothing more need be read.
    pub(super) fn push_row(&mut self, row: Vec<Value>, rows_max: usize) -> bool {
        let size = |value: &Value| match value {
            Value::String(text) => text.len(),
            Value::Array(_) | Value::Object(_) => value.to_string().len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        };
        let values: usize = row.iter().map(|value| size(value) + 4).sum();
        let bytes = values + self.columns.iter().map(String::len).sum::<usize>();
        if self.rows.len() == rows_max || (!self.rows.is_empty() && self.bytes + bytes > ALL_BYTES_MAX) {
            self.has_more = true;
            return false;
        }
        self.bytes += bytes;
        self.rows.push(row);
        true
    }

    /// A table from another process, which need not have kept to any bound; none if it has not.
    pub(super) fn check_received(self, rows_max: usize) -> Option<Self> {
        let Self { columns, rows, has_more, .. } = self;
        // A number behind a name makes it unique.
        let is_name = |name: &String| name.chars().count() <= NAME_CHARS_MAX + 5;
        let is_value = |value: &Value| match value {
            Value::String(text) => text.chars().count() <= CELL_CHARS_MAX + 50,
            value => !value.is_array() && !value.is_object(),
        };
        let mut table = Self { columns, has_more, ..Self::default() };
        let is_head = table.columns.len() <= COLUMNS_MAX && table.columns.iter().all(is_name);
        let is_body = rows.into_iter().all(|row| {
            row.len() == table.columns.len() && row.iter().all(is_value) && table.push_row(row, rows_max)
        });
        (is_head && is_body).then_some(table)
    }

    pub(super) fn into_output(self, database: &str) -> ToolOutput {
        let mut lines = vec![self.columns.join(" | "), "---".into()];
        for row in &self.rows {
            lines.push(row.iter().map(display_value).collect::<Vec<_>>().join(" | "));
        }
        let count = self.rows.len();
        let rows = format!("{count} row{}", if count == 1 { "" } else { "s" });
        lines.push(if self.has_more {
            format!("(the first {rows}; there are more: let the database count, sum or limit)")
        } else {
            format!("({rows})")
        });
        let object = |row: Vec<Value>| -> Value {
            self.columns.iter().cloned().zip(row).collect::<Map<_, _>>().into()
        };
        let rows_data: Vec<Value> = self.rows.into_iter().map(object).collect();
        let data = json!({"columns": self.columns, "rows": rows_data, "has_more": self.has_more});
        ToolOutput::text(lines.join("\n"))
            .with_headline(format!("{database}: {rows}"), Notice::rows_read(database, count as u64))
            .with_data(data)
    }
}

/// A value on one line.
fn display_value(value: &Value) -> String {
    let text = match value {
        Value::Null => return "NULL".into(),
        Value::String(text) => text.replace('\r', "").replace('\n', "\\n"),
        other => other.to_string(),
    };
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The beginning of a text.
pub(super) fn shorten(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text of any length as a value of a bounded one.
pub(super) fn text_value(text: &str) -> Value {
    match text.char_indices().nth(CELL_CHARS_MAX) {
        Some((end, _)) => format!("{}… (cut; {} bytes)", &text[..end], text.len()).into(),
        None => text.into(),
    }
}

/// A whole number; as text where programs would round it.
pub(super) fn integer_value(number: i64) -> Value {
    if number.unsigned_abs() > WHOLE_MAX { number.to_string().into() } else { number.into() }
}

/// A number in binary, which may be none: JSON has no word for that.
pub(super) fn float_value(number: f64) -> Value {
    match number {
        _ if number.is_finite() => number.into(),
        _ if number.is_nan() => "NaN".into(),
        _ if number > 0.0 => "Infinity".into(),
        _ => "-Infinity".into(),
    }
}

/// A value that is written in JSON. Numbers in it, at whatever depth, stay numbers if every program reads them as they
/// are, and become text if not.
pub(super) fn json_value(json: &str) -> Result<Value, serde_json::Error> {
    // Also whether it is JSON, and not too deep.
    let plain: Value = serde_json::from_str(json)?;
    Ok(match plain {
        Value::Number(_) => number_value(json),
        Value::Array(_) => {
            let items: Vec<&RawValue> = serde_json::from_str(json)?;
            items.into_iter().map(|item| json_value(item.get())).collect::<Result<Vec<_>, _>>()?.into()
        }
        Value::Object(members) => {
            let raw: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(json)?;
            let exact = |key: &String| raw.get(key).map_or(Ok(Value::Null), |value| json_value(value.get()));
            let members = members.keys().map(|key| Ok((key.clone(), exact(key)?)));
            members.collect::<Result<Map<_, _>, serde_json::Error>>()?.into()
        }
        other => other,
    })
}

/// A number as it is written.
fn number_value(text: &str) -> Value {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return text.parse().map_or_else(|_| text.into(), integer_value);
    }
    match text.parse::<f64>() {
        Ok(real) if normalize_digits(text) == normalize_digits(&real.to_string()) => real.into(),
        _ => text.into(),
    }
}

/// The digits that count, and where the point is: two texts with the same of both are the same number.
fn normalize_digits(text: &str) -> (String, i64) {
    let (base, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = base.split_once('.').unwrap_or((base, ""));
    let all = format!("{whole}{fraction}");
    let all = all.trim_start_matches('-').trim_start_matches('0');
    let significant = all.trim_end_matches('0');
    let cut = (all.len() - significant.len()) as i64;
    let shift = exponent.parse::<i64>().unwrap_or_default() - fraction.len() as i64 + cut;
    (significant.to_owned(), if significant.is_empty() { 0 } else { shift })
}

/// Bytes as PostgreSQL writes them.
pub(super) fn bytes_value(bytes: &[u8]) -> Value {
    let shown = &bytes[..bytes.len().min(CELL_CHARS_MAX / 2)];
    let mut text = format!("\\x{}", hex(shown));
    if shown.len() < bytes.len() {
        text.push_str(&format!("… (cut; {} bytes)", bytes.len()));
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_one_only_if_every_program_reads_it_as_it_is() {
        for (written, expected) in [
            ("0", json!(0)),
            ("-7", json!(-7)),
            ("9007199254740991", json!(9_007_199_254_740_991_i64)),
            ("9007199254740992", json!(9_007_199_254_740_992_i64)),
            ("9007199254740993", json!("9007199254740993")),
            ("-9007199254740992", json!(-9_007_199_254_740_992_i64)),
            ("-9007199254740993", json!("-9007199254740993")),
            ("9223372036854775807", json!("9223372036854775807")),
            ("-9223372036854775808", json!("-9223372036854775808")),
            ("18446744073709551616", json!("18446744073709551616")),
            ("1.5", json!(1.5)),
            ("12.50", json!(12.5)),
            ("-0.00", json!(-0.0)),
            ("0.1", json!(0.1)),
            ("0.30000000000000004", json!(0.300_000_000_000_000_04)),
            ("1e+300", json!(1e300)),
            ("1e-07", json!(1e-7)),
            ("1.7976931348623157e+308", json!(f64::MAX)),
            ("5e-324", json!(5e-324)),
            ("0.1000000000000000055511151231257827", json!("0.1000000000000000055511151231257827")),
            ("123456789012345678901234567890.5", json!("123456789012345678901234567890.5")),
            ("1e999", json!("1e999")),
            ("\"NaN\"", json!("NaN")),
            ("[1, 9007199254740993, [0.5]]", json!([1, "9007199254740993", [0.5]])),
            ("{\"a\": {\"b\": 9007199254740993}}", json!({"a": {"b": "9007199254740993"}})),
            ("{\"a\": 1, \"a\": 9007199254740993}", json!({"a": "9007199254740993"})),
            ("null", Value::Null),
            ("true", json!(true)),
        ] {
            // What does not fit into a number at all, JSON's reader refuses, and it is text like what is no JSON.
            let found = json_value(written).unwrap_or_else(|_| written.into());
            assert_eq!(found, expected, "{written}");
        }
    }

    #[test]
    fn a_number_that_is_none_is_text() {
        assert_eq!(float_value(f64::INFINITY), json!("Infinity"));
        assert_eq!(float_value(f64::NEG_INFINITY), json!("-Infinity"));
        assert_eq!(float_value(f64::NAN), json!("NaN"));
        assert_eq!(float_value(0.1), json!(0.1));
        assert_eq!(integer_value(i64::MIN), json!("-9223372036854775808"));
        assert_eq!(integer_value(-(1 << 53)), json!(-9_007_199_254_740_992_i64));
    }

    #[test]
    fn names_and_nested_values_count_too() {
        let long = "x".repeat(20_000);
        let mut table = Table::new([long.as_str(), long.as_str()]);
        assert!(table.columns.iter().all(|name| name.chars().count() < 210));
        while table.push_row(vec![json!(["y".repeat(1_000)]), Value::Null], usize::MAX) {}
        assert!(
            table.rows.len() > 100 && table.into_output("shop").data.unwrap().to_string().len() < 300 << 10
        );
    }

    #[test]
    fn a_table_from_elsewhere_is_taken_only_within_the_bounds() {
        let table = |columns: Value, rows: Value| -> Option<Table> {
            let table = json!({"columns": columns, "rows": rows, "has_more": true});
            serde_json::from_value::<Table>(table).unwrap().check_received(3)
        };
        assert!(table(json!(["a"]), json!([[1], ["x"], [null]])).unwrap().has_more);
        for (columns, rows) in [
            (json!(["a"]), json!([[1, 2]])),
            (json!(["a", "b"]), json!([[1]])),
            (json!(["a"]), json!([[1], [2], [3], [4]])),
            (json!(["a"]), json!([[[1]]])),
            (json!(["a"]), json!([[{"b": 1}]])),
            (json!(["a"]), json!([["x".repeat(3_000)]])),
            (json!(["x".repeat(300)]), json!([])),
            (json!(vec!["a"; 201]), json!([])),
        ] {
            assert!(table(columns.clone(), rows.clone()).is_none(), "{columns} {rows}");
        }
        let wide: Vec<String> = (0..200).map(|n| format!("c{n}")).collect();
        assert!(table(json!(wide), json!(vec![vec!["x".repeat(2_000); 200]; 3])).is_none());
    }

    #[test]
    fn deep_json_is_refused_rather_than_followed() {
        let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
        assert!(json_value(&deep).is_err());
    }
}
