//! Making, switching and deleting tools from the command line, beside a server that may be running.

use std::process::ExitCode;

use crate::commands::notice::{catalogue_words, definition_words};
use crate::i18n::tr;
use crate::output::{errln, outln};
use anyhow::bail;
use helve_tool::{Catalogue, CatalogueError, Change, ImportOptions, ListedTool};
use helve_types::{Notice, ToolDefinition};
use serde_json::json;

use super::confirm::Consents;

/// Who it was, in the audit.
pub(in crate::commands) const BY: &str = "command line";

/// Makes all of the tools, or none if one of them cannot be made.
pub(super) async fn add(
    catalogue: &Catalogue,
    definitions: Vec<ToolDefinition>,
    options: ImportOptions,
) -> anyhow::Result<ExitCode> {
    let mut consents = Consents::new(options.allow_host);
    let mut allowed = vec![];
    for definition in &definitions {
        let name = &definition.name;
        if !catalogue.is_taken(name) {
            catalogue.check_name_is_free(name)?;
        } else if !options.replace {
            bail!(tr!(
                "there is a tool named `{name}` already; change it with --replace, or choose another name",
                name = name
            ));
        }
        let (warnings, allow_host) =
            check(catalogue, definition, &mut consents).map_err(|error| of_tool(name, &error))?;
        for warning in warnings {
            errln!("{name}: {}", definition_words(&warning));
        }
        allowed.push(allow_host);
    }
    if options.dry_run {
        outln!("{}", tr!("{count} tool(s) can be made", count = definitions.len()));
        return Ok(ExitCode::SUCCESS);
    }
    for (definition, allow_host) in definitions.into_iter().zip(allowed) {
        let name = definition.name.clone();
        let kept = match catalogue.is_taken(&name) {
            true => {
                let change = Change::Whole(Box::new(definition));
                catalogue.update_granted(&name, change, None, allow_host, BY).await
            }
            false => catalogue.create_granted(definition, allow_host, BY).await,
        };
        told(&kept.map_err(|error| of_tool(&name, &error))?);
    }
    Ok(ExitCode::SUCCESS)
}

fn of_tool(name: &str, error: &CatalogueError) -> anyhow::Error {
    let why = catalogue_words(error);
    anyhow::anyhow!(tr!("the tool `{name}`: {why}", name = name, why = why))
}

/// What is odd about a definition, and whether the operator lets it reach this machine.
fn check(
    catalogue: &Catalogue,
    definition: &ToolDefinition,
    consents: &mut Consents,
) -> Result<(Vec<Notice>, bool), CatalogueError> {
    match catalogue.check(definition) {
        Err(CatalogueError::Definition(wrong)) if consents.given(&definition.name, &wrong) => {
            Ok((catalogue.check_granted(definition, true)?, true))
        }
        checked => checked.map(|warnings| (warnings, false)),
    }
}

pub(super) async fn switch(catalogue: &Catalogue, name: &str, enabled: bool) -> anyhow::Result<ExitCode> {
    told(&catalogue.set_enabled(name, enabled, BY).await.map_err(with_hint)?);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn remove(catalogue: &Catalogue, name: &str) -> anyhow::Result<ExitCode> {
    catalogue.remove(name, None, BY).await.map_err(with_hint)?;
    outln!("{}", tr!("{name}  deleted", name = name));
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn agree(catalogue: &Catalogue, name: &str, hash: Option<&str>) -> anyhow::Result<ExitCode> {
    told(&catalogue.accept_offer(name, hash, BY).await.map_err(with_hint)?);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn reject(catalogue: &Catalogue, name: &str) -> anyhow::Result<ExitCode> {
    told(&catalogue.reject_offer(name, BY).await.map_err(with_hint)?);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn versions(catalogue: &Catalogue, name: &str) -> anyhow::Result<ExitCode> {
    for row in catalogue.list_versions(name).await.map_err(with_hint)? {
        let at = jiff::Timestamp::from_millisecond(row.updated_at.0).map(|at| at.to_string());
        let method = json!(row.definition.endpoint.method);
        outln!(
            "{:3}  {}  {}  {} {}{}",
            row.version,
            row.hash,
            at.unwrap_or_default(),
            method.as_str().unwrap_or_default(),
            row.definition.endpoint.url_template,
            if row.definition.enabled { String::new() } else { tr!("  (off)") },
        );
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn told(tool: &ListedTool) {
    let version =
        tool.row.as_ref().map(|row| tr!("version {version}, ", version = row.version)).unwrap_or_default();
    outln!("{}  {version}{}", tool.name(), if tool.is_enabled() { tr!("on") } else { tr!("off") });
}

pub(super) fn with_hint(error: CatalogueError) -> anyhow::Error {
    let told = catalogue_words(&error);
    match error {
        CatalogueError::Missing(_) => {
            anyhow::anyhow!(tr!("{error}; `helve tools list` shows them", error = told))
        }
        // Its source is told as well.
        CatalogueError::Store(_) => anyhow::Error::new(error),
        _ => anyhow::anyhow!(told),
    }
}
