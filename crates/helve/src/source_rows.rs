//! The tables of the tool system that Helve replaces: tools, agents, and which agent has which tool.
//!
//! They are read from a dump of PostgreSQL (`dump`), from JSON (`document`) or from the database itself
//! (`read_foreign_tables` of the store); all three give the same rows. `plan` says what they become here and why something
//! is left out, and changes nothing.

mod document;
mod dump;
mod plan;
mod sql;

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Map, Value};

use crate::i18n::tr;

pub(crate) use self::plan::{KnownNames, Plan, make_plan};

pub(crate) const TOOLS: &str = "tools";
pub(crate) const AGENTS: &str = "agents";
pub(crate) const LINKS: &str = "agent_tools";
pub(crate) const TABLES: [&str; 3] = [TOOLS, AGENTS, LINKS];

/// As many rows of one table are read.
pub(crate) const ROWS_MAX: usize = 10_000;
/// As large may what is kept of a row, a statement or a JSON document be.
const KEPT_BYTES_MAX: usize = 16 << 20;

pub(crate) type SourceRow = Map<String, Value>;

/// The rows of each table that was found, and what is odd about the source.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SourceRows {
    pub(crate) tables: BTreeMap<&'static str, Vec<SourceRow>>,
    pub(crate) notes: Vec<String>,
}

impl SourceRows {
    pub(crate) fn of(&self, table: &str) -> &[SourceRow] {
        self.tables.get(table).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, table: &'static str, row: SourceRow) -> anyhow::Result<()> {
        let rows = self.tables.entry(table).or_default();
        if rows.len() >= ROWS_MAX {
            anyhow::bail!(tr!("the table `{table}` has more than {max} rows", table = table, max = ROWS_MAX));
        }
        rows.push(row);
        Ok(())
    }
}

/// Reads a dump in SQL or a document in JSON, whichever it is.
pub(crate) fn read_source(mut from: impl BufRead) -> anyhow::Result<SourceRows> {
    let begin = from.fill_buf()?;
    let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
    if begin.starts_with(b"PGDMP") {
        anyhow::bail!(tr!(
            "this is a dump in PostgreSQL's own format; make a plain one: pg_dump --format=plain --table=tools --table=agents --table=agent_tools"
        ));
    }
    if begin.starts_with(&[0x1f, 0x8b]) || begin.starts_with(b"BZh") || begin.starts_with(b"\xfd7zXZ") {
        anyhow::bail!(tr!("this file is compressed; unpack it first"));
    }
    match begin.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => document::read(from),
        _ => dump::read(from),
    }
}

/// The name of a table as the rest of Helve has it.
fn known_table(name: &str) -> Option<&'static str> {
    TABLES.into_iter().find(|table| *table == name)
}

#[cfg(test)]
mod tests;
