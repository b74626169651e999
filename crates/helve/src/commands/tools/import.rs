//! Importing rows: each by itself, with what was mapped and what is wrong.

use std::process::ExitCode;

use anyhow::bail;
use helve_tool::{
    Catalogue, CatalogueError, DefinitionError, ImportOptions, ImportOutcome, ImportedRow, parse_rows,
};
use serde_json::Value;

use super::confirm::Consents;
use super::rows::BY;
use crate::commands::notice::{catalogue_words, definition_words, problem_words};
use crate::i18n::tr;
use crate::output::{errln, outln};

/// Keeps the rows of a text. Fails at the end if one of them could not be kept.
pub(super) async fn import(
    catalogue: &Catalogue,
    text: &str,
    options: ImportOptions,
) -> anyhow::Result<ExitCode> {
    let rows = parse_rows(text).map_err(|wrong| anyhow::anyhow!(problem_words(&wrong)))?;
    let (count, mut wrong) = (rows.len(), 0);
    let mut consents = Consents::new(options.allow_host);
    for (number, row) in (1..).zip(rows) {
        let name = row.as_ref().ok().and_then(|row| row.get("name")?.as_str().map(str::to_owned));
        match import_row(catalogue, row, options, &mut consents).await {
            Ok(imported) => print_row(&imported),
            Err(error) => {
                wrong += 1;
                let name = name.map(|name| format!(" (`{name}`)")).unwrap_or_default();
                errln!(
                    "{}",
                    tr!(
                        "row {number}{name}: {error}",
                        number = number,
                        name = name,
                        error = catalogue_words(&error)
                    )
                );
            }
        }
    }
    match wrong {
        0 => Ok(ExitCode::SUCCESS),
        wrong => bail!(tr!(
            "{wrong} of {count} rows were not imported; correct them and import them again",
            wrong = wrong,
            count = count
        )),
    }
}

async fn import_row(
    catalogue: &Catalogue,
    row: Result<Value, DefinitionError>,
    options: ImportOptions,
    consents: &mut Consents,
) -> Result<ImportedRow, CatalogueError> {
    let row = row?;
    let options = ImportOptions { allow_host: false, ..options };
    let name = row.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    match catalogue.import_row(row.clone(), options, BY).await {
        Err(CatalogueError::Definition(refused)) if consents.given(&name, &refused) => {
            catalogue.import_row(row, ImportOptions { allow_host: true, ..options }, BY).await
        }
        imported => imported,
    }
}

fn print_row(row: &ImportedRow) {
    let name = &row.definition.name;
    for note in row.mapped.iter().chain(&row.warnings) {
        errln!("{name}: {}", definition_words(note));
    }
    let outcome = match row.outcome {
        ImportOutcome::Checked => tr!("can be imported"),
        ImportOutcome::Created => tr!("created"),
        ImportOutcome::Changed => tr!("changed"),
        ImportOutcome::Unchanged => tr!("unchanged"),
    };
    let kept = row.listed.as_ref().and_then(|listed| listed.row.as_ref());
    let version = kept.map(|row| tr!(", version {version}", version = row.version)).unwrap_or_default();
    outln!("{name}  {outcome}{version}");
}
