//! Making, switching and deleting tools from the command line, beside a server that may be running.

use std::process::ExitCode;

use crate::output::{errln, outln};
use anyhow::{Context, bail};
use helve_tool::{Catalogue, CatalogueError, Change, Listed};
use helve_types::ToolDefinition;
use serde_json::json;

/// Who it was, in the audit.
const BY: &str = "command line";

/// What becomes of a tool that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// It is in the way.
    New,
    Replace,
}

/// Makes all of the tools, or none if one of them cannot be made.
pub(super) async fn add(
    catalogue: &Catalogue,
    definitions: Vec<ToolDefinition>,
    how: How,
    dry_run: bool,
) -> anyhow::Result<ExitCode> {
    for definition in &definitions {
        let name = &definition.name;
        if !catalogue.is_taken(name) {
            catalogue.check_name_is_free(name)?;
        } else if how == How::New {
            bail!("there is a tool named `{name}` already; change it with --replace, or choose another name");
        }
        let warnings = catalogue.check(definition).with_context(|| format!("the tool `{name}`"))?;
        for warning in warnings {
            errln!("{name}: {warning}");
        }
    }
    if dry_run {
        outln!("{} tool(s) can be made", definitions.len());
        return Ok(ExitCode::SUCCESS);
    }
    for definition in definitions {
        let name = definition.name.clone();
        let kept = match catalogue.is_taken(&name) {
            true => catalogue.update(&name, Change::Whole(Box::new(definition)), None, BY).await,
            false => catalogue.create(definition, BY).await,
        };
        told(&kept.with_context(|| format!("the tool `{name}`"))?);
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn switch(catalogue: &Catalogue, name: &str, enabled: bool) -> anyhow::Result<ExitCode> {
    told(&catalogue.set_enabled(name, enabled, BY).await.map_err(with_hint)?);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn remove(catalogue: &Catalogue, name: &str) -> anyhow::Result<ExitCode> {
    catalogue.remove(name, None, BY).await.map_err(with_hint)?;
    outln!("{name}  deleted");
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn agree(catalogue: &Catalogue, name: &str, hash: Option<&str>) -> anyhow::Result<ExitCode> {
    told(&catalogue.agree(name, hash, BY).await.map_err(with_hint)?);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn reject(catalogue: &Catalogue, name: &str) -> anyhow::Result<ExitCode> {
    told(&catalogue.reject(name, BY).await.map_err(with_hint)?);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn versions(catalogue: &Catalogue, name: &str) -> anyhow::Result<ExitCode> {
    for row in catalogue.versions(name).await.map_err(with_hint)? {
        let at = jiff::Timestamp::from_millisecond(row.updated_at.0).map(|at| at.to_string());
        let method = json!(row.definition.endpoint.method);
        outln!(
            "{:3}  {}  {}  {} {}{}",
            row.version,
            row.hash,
            at.unwrap_or_default(),
            method.as_str().unwrap_or_default(),
            row.definition.endpoint.url_template,
            if row.definition.enabled { "" } else { "  (off)" },
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn told(tool: &Listed) {
    let version = tool.row.as_ref().map(|row| format!("version {}, ", row.version)).unwrap_or_default();
    outln!("{}  {version}{}", tool.name(), if tool.is_enabled() { "on" } else { "off" });
}

fn with_hint(error: CatalogueError) -> anyhow::Error {
    let missing = matches!(error, CatalogueError::Missing(_));
    let error = anyhow::Error::new(error);
    if missing { anyhow::anyhow!("{error}; `helve tools list` shows them") } else { error }
}
