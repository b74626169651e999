//! The tables as JSON: an object with a list of rows for each.

use std::io::{BufRead, Read};

use anyhow::{Context, bail};
use serde_json::Value;

use super::{KEPT_BYTES_MAX, SourceRows, TABLES, known_table};
use crate::i18n::tr;

pub(super) fn read(from: impl BufRead) -> anyhow::Result<SourceRows> {
    let mut text = String::new();
    from.take(KEPT_BYTES_MAX as u64 + 1)
        .read_to_string(&mut text)
        .with_context(|| tr!("it cannot be read as UTF-8"))?;
    if text.len() > KEPT_BYTES_MAX {
        bail!(tr!("it has more than {max} MiB; import it in parts", max = KEPT_BYTES_MAX >> 20));
    }
    let document: Value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).with_context(|| tr!("it is not JSON"))?;
    let Value::Object(members) = document else {
        bail!(tr!(
            "it must be an object with the lists {tables}; a list of tools alone is for `helve tools import`",
            tables = TABLES.map(|table| format!("`{table}`")).join(", ")
        ));
    };
    let mut rows = SourceRows::default();
    for (name, value) in members {
        let Some(table) = known_table(&name) else {
            rows.notes.push(tr!("`{name}` is not read", name = name));
            continue;
        };
        let Value::Array(items) = value else {
            bail!(tr!("`{name}` must be a list of rows", name = name));
        };
        rows.tables.entry(table).or_default();
        for (number, item) in (1..).zip(items) {
            let number: usize = number;
            let Value::Object(row) = item else {
                bail!(tr!("`{name}`, row {number}: it must be an object", name = name, number = number));
            };
            rows.add(table, row)?;
        }
    }
    Ok(rows)
}
