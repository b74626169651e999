//! A dump that `pg_dump` wrote as plain SQL, with `COPY` or `INSERT`.
//!
//! It is read from its beginning to its end without being kept: rows of other tables and other statements are skipped.

use std::collections::BTreeMap;
use std::io::BufRead;

use anyhow::{anyhow, bail};
use serde_json::{Value, json};

use super::sql::{SqlReader, SqlToken, array_value, copied_field, tokens};
use super::{SourceRow, SourceRows, TABLES, known_table};
use crate::i18n::tr;

/// Columns that hold JSON.
const JSON: [&str; 7] =
    ["endpoint", "parameters", "response_transform", "rate_limit", "config", "permissions", "metadata"];
/// Columns that hold yes or no.
const FLAGS: [&str; 3] = ["enabled", "is_active", "active"];
/// Columns that hold numbers.
const NUMBERS: [&str; 3] = ["max_steps", "temperature", "max_tokens"];
/// Columns that hold lists.
const LISTS: [&str; 1] = ["tags"];

pub(super) fn read(from: impl BufRead) -> anyhow::Result<SourceRows> {
    let mut dump = Dump {
        from: SqlReader::new(from),
        columns: BTreeMap::new(),
        schemas: BTreeMap::new(),
        rows: SourceRows::default(),
    };
    while let Some(statement) = dump.from.next_statement(matters)? {
        let at = |error: String| anyhow!(tr!("line {line}: {error}", line = statement.line, error = error));
        if !matters(&statement.text) {
            // Also of other tables the data must be passed over.
            if is_copy_from_stdin(&statement.text) {
                dump.skip_data()?;
            }
            continue;
        }
        let found = tokens(&statement.text).map_err(at)?;
        let mut rest = Tokens { found: &found };
        match rest.word().as_deref() {
            Some("copy") => dump.copy(&mut rest).map_err(|error| error.context(at_line(statement.line)))?,
            Some("insert") => {
                dump.insert(&mut rest).map_err(|error| error.context(at_line(statement.line)))?
            }
            Some("create") => dump.create(&mut rest),
            _ => {}
        }
    }
    if dump.rows.tables.is_empty() {
        bail!(tr!(
            "no table {tables} is in it; make a dump with pg_dump, or a JSON object with these lists",
            tables = TABLES.map(|table| format!("`{table}`")).join(", ")
        ));
    }
    Ok(dump.rows)
}

fn at_line(line: u64) -> String {
    tr!("line {line}", line = line)
}

/// Whether a statement, of which this is the beginning, is about one of the tables.
fn matters(text: &str) -> bool {
    // A text may be cut off in what was seen of it so far.
    let text: String = text.chars().take_while(|c| *c != '\'').collect();
    let Ok(found) = tokens(&text) else { return false };
    let mut rest = Tokens { found: &found };
    let is_one = match rest.word().as_deref() {
        Some("copy") => true,
        Some("insert") => rest.word().as_deref() == Some("into"),
        Some("create") => loop {
            match rest.word().as_deref() {
                Some("table") => break true,
                Some("unlogged" | "temporary" | "temp" | "global" | "local") => {}
                _ => break false,
            }
        },
        _ => false,
    };
    is_one && rest.table_name().is_some_and(|(_, table)| known_table(&table).is_some())
}

fn is_copy_from_stdin(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let is_copy = words.next().is_some_and(|word| word.eq_ignore_ascii_case("copy"));
    // Of a long list of columns only the beginning was kept; `pg_dump` writes no other form.
    is_copy && !text.to_ascii_lowercase().contains("stdout")
}

struct Dump<R> {
    from: SqlReader<R>,
    /// As `CREATE TABLE` has them.
    columns: BTreeMap<&'static str, Vec<String>>,
    /// Where each table is from.
    schemas: BTreeMap<&'static str, String>,
    rows: SourceRows,
}

impl<R: BufRead> Dump<R> {
    /// The table that a statement is about, unless it is one of another schema.
    fn table(&mut self, rest: &mut Tokens<'_>) -> Option<&'static str> {
        let (schema, name) = rest.table_name()?;
        let table = known_table(&name)?;
        let held = self.schemas.entry(table).or_insert_with(|| schema.clone());
        if *held == schema {
            return Some(table);
        }
        let note = tr!(
            "the table `{table}` of the schema `{other}` is left out; that of `{schema}` is read",
            table = table,
            other = schema,
            schema = held
        );
        if !self.rows.notes.contains(&note) {
            self.rows.notes.push(note);
        }
        None
    }

    fn create(&mut self, rest: &mut Tokens<'_>) {
        while rest.word().is_some_and(|word| word != "table") {}
        let Some(table) = self.table(rest) else { return };
        let mut columns = vec![];
        let mut depth = 0;
        let mut begins = false;
        for token in rest.found {
            match token {
                SqlToken::Mark('(') => {
                    depth += 1;
                    begins = depth == 1;
                }
                SqlToken::Mark(')') => depth -= 1,
                SqlToken::Mark(',') if depth == 1 => begins = true,
                SqlToken::Word(name) if begins => {
                    begins = false;
                    if !matches!(name.as_str(), "constraint" | "primary" | "unique" | "foreign" | "check") {
                        columns.push(name.clone());
                    }
                }
                _ => {}
            }
        }
        self.rows.tables.entry(table).or_default();
        self.columns.insert(table, columns);
    }

    fn copy(&mut self, rest: &mut Tokens<'_>) -> anyhow::Result<()> {
        let table = self.table(rest);
        let columns = rest.names().or_else(|| self.columns.get(table?).cloned());
        let has_other_form = rest.found.iter().any(|token| *token == SqlToken::Word("with".into()));
        if has_other_form {
            bail!(tr!("only the usual form of COPY is read; make the dump with pg_dump"));
        }
        // What stands on the rest of the line.
        self.from.data_line(false)?;
        let Some(table) = table else { return self.skip_lines() };
        let columns = columns.ok_or_else(|| unknown_columns(table))?;
        self.rows.tables.entry(table).or_default();
        loop {
            let number = self.from.line();
            let line = self.from.data_line(true)?;
            let line = line.ok_or_else(|| {
                anyhow!(tr!("the dump ends in the middle of the table `{table}`", table = table))
            })?;
            if line == b"\\." {
                return Ok(());
            }
            let line = String::from_utf8(line)
                .map_err(|_| anyhow!(tr!("line {line}: it is not UTF-8", line = number)))?;
            let fields: Vec<Option<String>> = line.split('\t').map(copied_field).collect();
            if fields.len() != columns.len() {
                bail!(tr!(
                    "line {line}: the row has {found} fields, and the table has {wanted}",
                    line = number,
                    found = fields.len(),
                    wanted = columns.len()
                ));
            }
            self.rows.add(table, row_of(&columns, fields))?;
        }
    }

    fn insert(&mut self, rest: &mut Tokens<'_>) -> anyhow::Result<()> {
        rest.word();
        let Some(table) = self.table(rest) else { return Ok(()) };
        let columns = rest.names().or_else(|| self.columns.get(table).cloned());
        let columns = columns.ok_or_else(|| unknown_columns(table))?;
        while rest.word().is_some_and(|word| word != "values") {}
        loop {
            let fields = rest.values().map_err(|what| anyhow!(what))?;
            if fields.len() != columns.len() {
                bail!(tr!(
                    "a row of `{table}` has {found} values, and the table has {wanted} columns",
                    table = table,
                    found = fields.len(),
                    wanted = columns.len()
                ));
            }
            self.rows.add(table, row_of(&columns, fields))?;
            match rest.take() {
                Some(SqlToken::Mark(',')) => {}
                None => return Ok(()),
                // Such as `ON CONFLICT DO NOTHING`.
                Some(_) => return Ok(()),
            }
        }
    }

    /// The data of a table that is not read.
    fn skip_data(&mut self) -> anyhow::Result<()> {
        self.from.data_line(false)?;
        self.skip_lines()
    }

    fn skip_lines(&mut self) -> anyhow::Result<()> {
        while let Some(line) = self.from.data_line(false)? {
            if line == b"\\." {
                break;
            }
        }
        Ok(())
    }
}

fn unknown_columns(table: &str) -> anyhow::Error {
    anyhow!(tr!(
        "the columns of the table `{table}` are not known; make the dump with its CREATE TABLE, or with --column-inserts",
        table = table
    ))
}

fn row_of(columns: &[String], fields: Vec<Option<String>>) -> SourceRow {
    let value = |(column, field): (&String, Option<String>)| {
        let value = field.map_or(Value::Null, |text| typed(column, text));
        (column.clone(), value)
    };
    columns.iter().zip(fields).map(value).collect()
}

/// As the database itself would give it; text that is not what its column should hold stays text, and is told of later.
fn typed(column: &str, text: String) -> Value {
    let read = if JSON.contains(&column) {
        serde_json::from_str(&text).ok()
    } else if FLAGS.contains(&column) {
        match text.as_str() {
            "t" | "true" => Some(json!(true)),
            "f" | "false" => Some(json!(false)),
            _ => None,
        }
    } else if NUMBERS.contains(&column) {
        serde_json::from_str::<serde_json::Number>(&text).ok().map(Value::Number)
    } else if LISTS.contains(&column) {
        array_value(&text).or_else(|| serde_json::from_str(&text).ok())
    } else {
        None
    };
    read.unwrap_or(Value::String(text))
}

/// What is left of a statement.
struct Tokens<'a> {
    found: &'a [SqlToken],
}

impl<'a> Tokens<'a> {
    fn take(&mut self) -> Option<&'a SqlToken> {
        let (first, rest) = self.found.split_first()?;
        self.found = rest;
        Some(first)
    }

    fn word(&mut self) -> Option<String> {
        let Some(SqlToken::Word(word)) = self.found.first() else { return None };
        self.take();
        Some(word.clone())
    }

    fn take_mark(&mut self, mark: char) -> bool {
        let is_there = self.found.first() == Some(&SqlToken::Mark(mark));
        if is_there {
            self.take();
        }
        is_there
    }

    /// The schema, which may be empty, and the table.
    fn table_name(&mut self) -> Option<(String, String)> {
        let mut first = self.word()?;
        while matches!(first.as_str(), "if" | "not" | "exists" | "only") {
            first = self.word()?;
        }
        if !self.take_mark('.') {
            return Some((String::new(), first));
        }
        Some((first, self.word()?))
    }

    /// `(a, b)`, if it stands here.
    fn names(&mut self) -> Option<Vec<String>> {
        if !self.take_mark('(') {
            return None;
        }
        let mut names = vec![];
        loop {
            match self.take()? {
                SqlToken::Word(name) => names.push(name.clone()),
                SqlToken::Mark(')') => return Some(names),
                _ => {}
            }
        }
    }

    /// `('a', 1, NULL, '{}'::jsonb)`.
    fn values(&mut self) -> Result<Vec<Option<String>>, String> {
        let broken = || tr!("its values cannot be read");
        if !self.take_mark('(') {
            return Err(broken());
        }
        let mut values = vec![];
        loop {
            values.push(self.value().ok_or_else(broken)?);
            // A cast.
            while self.take_mark(':') {
                self.word();
                if self.take_mark('[') {
                    self.take_mark(']');
                }
            }
            match self.take() {
                Some(SqlToken::Mark(',')) => {}
                Some(SqlToken::Mark(')')) => return Ok(values),
                _ => return Err(broken()),
            }
        }
    }

    fn value(&mut self) -> Option<Option<String>> {
        match self.take()? {
            SqlToken::Text(text) | SqlToken::Number(text) => Some(Some(text.clone())),
            SqlToken::Word(word) if word == "null" => Some(None),
            SqlToken::Word(word) if word == "true" || word == "false" => Some(Some(word.clone())),
            SqlToken::Word(word) if word == "array" && self.take_mark('[') => {
                let mut items = vec![];
                loop {
                    match self.take()? {
                        SqlToken::Text(text) => items.push(text.clone()),
                        SqlToken::Mark(']') => return Some(Some(json!(items).to_string())),
                        _ => {}
                    }
                }
            }
            _ => None,
        }
    }
}
