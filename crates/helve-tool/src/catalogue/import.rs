//! Rows that are imported: each is mapped, checked and kept by itself, so that a wrong one does not lose the others.

use helve_types::{Notice, ToolDefinition};
use serde_json::Value;

use super::mapped::map_row;
use super::{Catalogue, CatalogueError, Change, DefinitionError, ListedTool};
use crate::offload::compile_ahead;
use crate::{JsonBounds, find_duplicate_key};

/// As many rows can be imported at a time.
pub const IMPORT_ROWS_MAX: usize = 1_000;
/// As large a text is read for them.
pub const IMPORT_BYTES_MAX: usize = 16 << 20;
const IMPORT_VALUES_MAX: usize = 1_000_000;

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportOptions {
    /// A tool of the row's name is changed; otherwise it is in the way.
    pub replace: bool,
    /// Nothing is kept.
    pub dry_run: bool,
    /// The operator agrees that the tool reaches this machine where its address says so.
    pub allow_host: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It could be kept.
    Checked,
    Created,
    Changed,
    Unchanged,
}

/// A row that was imported, or could be.
#[derive(Clone)]
pub struct ImportedRow {
    pub outcome: ImportOutcome,
    pub definition: ToolDefinition,
    /// What was mapped to what.
    pub mapped: Vec<Notice>,
    pub warnings: Vec<Notice>,
    /// None where nothing was kept.
    pub listed: Option<ListedTool>,
}

/// The rows in one document: one row, a list, or a list under `tools`.
pub fn split_rows(document: Value) -> Result<Vec<Value>, DefinitionError> {
    let rows = match document {
        Value::Array(rows) => rows,
        Value::Object(mut members) if !members.contains_key("name") && members.contains_key("tools") => {
            match (members.remove("tools"), members.keys().next()) {
                (Some(Value::Array(rows)), None) => rows,
                (_, Some(other)) => {
                    return Err(DefinitionError::new(other, Notice::definition_beside_tools()));
                }
                _ => return Err(DefinitionError::new("tools", Notice::definition_list_needed())),
            }
        }
        one => vec![one],
    };
    check_row_count(rows.len())?;
    Ok(rows)
}

/// The rows of a text: one JSON document as `split_rows` takes it, or one row on each line. A line that is no JSON is
/// wrong by itself.
pub fn parse_rows(text: &str) -> Result<Vec<Result<Value, DefinitionError>>, DefinitionError> {
    let bounds = JsonBounds { values_max: IMPORT_VALUES_MAX, ..JsonBounds::default() };
    bounds
        .check(text.as_bytes())
        .map_err(|what| DefinitionError::new("definition", Notice::definition_text_unfit(&what)))?;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_lines = lines.len() > 1
        && lines[0].starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(lines[0]).is_ok();
    if !is_lines {
        return Ok(split_rows(read_json(text)?)?.into_iter().map(Ok).collect());
    }
    check_row_count(lines.len())?;
    Ok(lines.into_iter().map(read_json).collect())
}

fn read_json(text: &str) -> Result<Value, DefinitionError> {
    let wrong = |problem| DefinitionError::new("definition", problem);
    let not_json = |error: serde_json::Error| wrong(Notice::definition_not_json(&error.to_string()));
    let value = serde_json::from_str(text).map_err(not_json)?;
    match find_duplicate_key(text.as_bytes()) {
        None => Ok(value),
        Some(key) => Err(wrong(Notice::definition_key_twice(&key))),
    }
}

fn check_row_count(rows: usize) -> Result<(), DefinitionError> {
    if rows <= IMPORT_ROWS_MAX {
        return Ok(());
    }
    let problem = Notice::definition_rows_too_many(rows as u64, IMPORT_ROWS_MAX as u64);
    Err(DefinitionError::new("tools", problem))
}

impl Catalogue {
    /// Maps a row of ours or of the source system, and keeps it.
    pub async fn import_row(
        &self,
        row: Value,
        options: ImportOptions,
        by: &str,
    ) -> Result<ImportedRow, CatalogueError> {
        let mapped = map_row(row)?;
        let definition = mapped.definition;
        let name = definition.name.clone();
        compile_ahead(vec![definition.parameters.clone()]).await;
        let row = self.saved_definition(&name);
        let (outcome, listed) = match row {
            Some(_) if !options.replace => return Err(CatalogueError::Exists(name)),
            Some(kept) => {
                let definition = with_saved_id(definition.clone(), &kept);
                let is_same = definition == kept;
                if options.dry_run {
                    self.check_granted(&definition, options.allow_host)?;
                    (ImportOutcome::Checked, None)
                } else {
                    let change = Change::Whole(Box::new(definition));
                    let listed = self.update_granted(&name, change, None, options.allow_host, by).await?;
                    let outcome = if is_same { ImportOutcome::Unchanged } else { ImportOutcome::Changed };
                    (outcome, Some(listed))
                }
            }
            None if options.dry_run => {
                self.check_name_is_free(&name)?;
                self.check_granted(&definition, options.allow_host)?;
                (ImportOutcome::Checked, None)
            }
            None => {
                let listed = self.create_granted(definition.clone(), options.allow_host, by).await?;
                (ImportOutcome::Created, Some(listed))
            }
        };
        let warnings = match &listed {
            Some(listed) => listed.warnings.clone(),
            None => self.list_warnings(&definition),
        };
        Ok(ImportedRow { outcome, definition, mapped: mapped.mapped, warnings, listed })
    }

    fn saved_definition(&self, name: &str) -> Option<ToolDefinition> {
        self.rows.get(name).map(|held| held.row.definition.clone())
    }

    /// As `check`, with the consent to a host on this machine that the tool would be kept with.
    pub fn check_granted(
        &self,
        definition: &ToolDefinition,
        allow_host: bool,
    ) -> Result<Vec<Notice>, CatalogueError> {
        self.check_id_is_free(definition)?;
        self.rows.build_granted(self, definition, allow_host)?;
        Ok(self.list_warnings(definition))
    }
}

/// A definition that says no id is about the tool with the id that it has.
pub(super) fn with_saved_id(definition: ToolDefinition, kept: &ToolDefinition) -> ToolDefinition {
    ToolDefinition { id: definition.id.or_else(|| kept.id.clone()), ..definition }
}
