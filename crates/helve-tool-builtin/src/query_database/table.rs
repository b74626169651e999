//! What a database answered: text for a model, values for a program.

use helve_types::{ToolOutput, hex};
use serde_json::{Map, Value, json};

/// Of one value, as text of the table. The value itself has more.
const SHOWN_CHARS_MAX: usize = 200;
/// Of one value, as data.
pub(super) const CELL_CHARS_MAX: usize = 2_000;
/// Of all values together: then no more rows are read.
const ALL_BYTES_MAX: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    bytes: usize,
    /// Whether there are more rows than these.
    has_more: bool,
}

impl Table {
    /// Names that come twice get a number, so that no column hides another.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut columns: Vec<String> = vec![];
        for name in names {
            let mut unique = name.to_owned();
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
    pub(super) fn take(&mut self, row: Vec<Value>, rows_max: usize) -> bool {
        let bytes: usize = row.iter().map(|value| value.as_str().map_or(8, str::len) + 4).sum();
        if self.rows.len() == rows_max || (!self.rows.is_empty() && self.bytes + bytes > ALL_BYTES_MAX) {
            self.has_more = true;
            return false;
        }
        self.bytes += bytes;
        self.rows.push(row);
        true
    }

    pub(super) fn show(self, database: &str) -> ToolOutput {
        let mut lines = vec![self.columns.join(" | "), "---".into()];
        for row in &self.rows {
            lines.push(row.iter().map(shown).collect::<Vec<_>>().join(" | "));
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
        ToolOutput::text(lines.join("\n")).titled(format!("{database}: {rows}")).with_data(data)
    }
}

/// A value on one line.
fn shown(value: &Value) -> String {
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

/// Text of any length as a value of a bounded one.
pub(super) fn text(text: &str) -> Value {
    match text.char_indices().nth(CELL_CHARS_MAX) {
        Some((end, _)) => format!("{}… (cut; {} bytes)", &text[..end], text.len()).into(),
        None => text.into(),
    }
}

/// Bytes as PostgreSQL writes them.
pub(super) fn bytes(bytes: &[u8]) -> Value {
    let shown = &bytes[..bytes.len().min(CELL_CHARS_MAX / 2)];
    let mut text = format!("\\x{}", hex(shown));
    if shown.len() < bytes.len() {
        text.push_str(&format!("… (cut; {} bytes)", bytes.len()));
    }
    text.into()
}
