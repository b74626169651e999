//! `helve tools import-openapi`: shows what a document makes, and makes it.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use helve_egress::Egress;
use helve_server::{ImportBody, ImportChange, ImportReport, ImportedTool};
use helve_tool::Catalogue;
use helve_tool_http::openapi::DOCUMENT_BYTES_MAX;
use helve_types::Selection;
use serde_json::{Value, json};

use crate::i18n::{tr, words};
use crate::import::import_document;
use crate::output::{out, outln, padded};

/// Each kind of choice narrows the others; several of one kind add up.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// An OpenAPI 3.0 or 3.1 document, JSON or YAML; `-` reads standard input
    #[arg(value_name = "FILE_OR_URL")]
    from: String,
    /// The prefix of the tools' names
    #[arg(long)]
    prefix: Option<String>,
    /// The base URL, instead of the one in the document
    // Not `--server`, which every command has for the server of Helve.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The user name for basic authentication
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// Only operations with this tag
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only operations on matching paths, such as `/repos/**`
    #[arg(long = "path", value_name = "PATTERN")]
    paths: Vec<String>,
    /// Only operations of this method
    #[arg(long = "method", value_name = "METHOD")]
    methods: Vec<String>,
    /// Only the operation with this `operationId`
    #[arg(long = "operation", value_name = "ID")]
    operations: Vec<String>,
    /// Exclude operations with this tag
    #[arg(long, value_name = "TAG")]
    exclude_tag: Vec<String>,
    /// Exclude operations on matching paths
    #[arg(long, value_name = "PATTERN")]
    exclude_path: Vec<String>,
    /// Exclude the operation with this `operationId`
    #[arg(long, value_name = "ID")]
    exclude_operation: Vec<String>,
    /// Only show what would be made
    #[arg(long)]
    dry_run: bool,
    /// Make the tools even if there are more than 200
    #[arg(long)]
    all: bool,
    /// Delete tools of an earlier import that the document no longer contains
    #[arg(long)]
    remove_gone: bool,
    /// Accept the changes to tools of an earlier import; without this, changed tools are quarantined
    #[arg(long)]
    agree: bool,
    /// Make nothing unless the document has this hash, as shown by `--dry-run`
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,
    /// Print the report as JSON, with the complete definitions
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    args: ImportArgs,
    egress: &Egress,
    catalogue: &Arc<Catalogue>,
) -> anyhow::Result<ExitCode> {
    let as_json = args.json;
    let report = import_document(egress, catalogue, args.into_body()?, "command line").await?;
    if as_json {
        outln!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        out!("{}", shown(&report));
    }
    let failed = report.held_back.is_some() || report.tools.iter().any(|tool| tool.problem.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl ImportArgs {
    fn into_body(self) -> anyhow::Result<ImportBody> {
        let is_url = self.from.starts_with("https://") || self.from.starts_with("http://");
        let document = if is_url { None } else { Some(Value::String(read(&self.from)?)) };
        Ok(ImportBody {
            document,
            url: is_url.then_some(self.from),
            prefix: self.prefix,
            server: self.base_url,
            username: self.username,
            select: Selection {
                tags: self.tags,
                paths: self.paths,
                methods: self.methods,
                operations: self.operations,
                exclude_tags: self.exclude_tag,
                exclude_paths: self.exclude_path,
                exclude_operations: self.exclude_operation,
            },
            preview: self.dry_run,
            all: self.all,
            remove_gone: self.remove_gone,
            agree: self.agree,
            expect: self.expect,
        })
    }
}

/// The document's text. One byte more than is allowed is read, so that too much is noticed and endless is not.
fn read(from: &str) -> anyhow::Result<String> {
    let mut bytes = vec![];
    let most = DOCUMENT_BYTES_MAX as u64 + 1;
    if from == "-" {
        std::io::stdin().take(most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(from).and_then(|file| file.take(most).read_to_end(&mut bytes))
    }
    .with_context(|| tr!("`{from}` cannot be read", from = from))?;
    String::from_utf8(bytes)
        .with_context(|| tr!("`{from}` is not UTF-8, so it is no OpenAPI document", from = from))
}

/// The report for people.
fn shown(report: &ImportReport) -> String {
    let mut out = tr!(
        "{title} {version} (OpenAPI {openapi}), {operations} operations, at {servers}\n",
        title = report.title,
        version = report.version,
        openapi = report.openapi,
        operations = report.operations,
        servers = report.servers.join(", ")
    );
    if !report.tools.is_empty() || !report.gone.is_empty() {
        out.push('\n');
    }
    let width = report.tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    let common = common(report);
    for tool in &report.tools {
        one(tool, width, &common, &mut out);
    }
    for name in &report.gone {
        out.push_str(&format!("{}  {name}\n", padded(&tr!("gone"), 9)));
    }
    if !report.skipped.is_empty() {
        out.push_str(&tr!("\nNot made:\n"));
    }
    for skipped in &report.skipped {
        out.push_str(&format!("  {}: {}\n", skipped.operation, words(&skipped.reason)));
    }
    if !report.notes.is_empty() || !common.is_empty() {
        out.push_str(&tr!("\nNotes:\n"));
    }
    for (text, count) in &common {
        out.push_str(&tr!("  {count} tools: {text}\n", count = count, text = words(text)));
    }
    for note in &report.notes {
        out.push_str(&format!("  {}\n", words(note)));
    }
    if !report.secrets.is_empty() {
        out.push_str(&tr!("\nThe tools need secrets. Add to helve.toml what is not there yet:\n\n"));
    }
    for secret in &report.secrets {
        let toml =
            secret.toml.replacen(&format!("# {}", secret.what), &format!("# {}", words(&secret.what)), 1);
        out.push_str(&format!("{toml}\n"));
    }
    if report.secrets.is_empty() {
        out.push('\n');
    }
    out.push_str(&outcome(report));
    out
}

/// What is to be said of many tools, and of how many: it is said once.
fn common(report: &ImportReport) -> BTreeMap<&str, usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in
        report.tools.iter().flat_map(|tool| tool.problem.iter().chain(&tool.warnings).chain(&tool.notes))
    {
        *counts.entry(text).or_default() += 1;
    }
    counts.retain(|_, count| *count > 3);
    counts
}

fn one(tool: &ImportedTool, width: usize, common: &BTreeMap<&str, usize>, out: &mut String) {
    let change = match (tool.change, &tool.problem) {
        (ImportChange::Taken, _) => tr!("taken"),
        (_, Some(_)) => tr!("wrong"),
        (ImportChange::Added, None) => tr!("new"),
        (ImportChange::Changed, None) if tool.quarantined => tr!("held"),
        (ImportChange::Changed, None) => tr!("changed"),
        (ImportChange::Unchanged, None) => tr!("unchanged"),
    };
    let change = padded(&change, 9);
    let effect = json!(tool.effect);
    let effect = effect.as_str().unwrap_or_default();
    out.push_str(&format!("{change}  {:width$}  {effect:14}  {}\n", tool.name, tool.operation));
    for field in &tool.fields {
        let value = |value: &Option<Value>| value.as_ref().map_or(tr!("nothing"), short);
        out.push_str(&format!(
            "             {}: {} → {}\n",
            field.field,
            value(&field.was),
            value(&field.now)
        ));
    }
    let own = tool
        .problem
        .iter()
        .chain(&tool.warnings)
        .chain(&tool.notes)
        .filter(|text| !common.contains_key(text.as_str()));
    for text in own {
        out.push_str(&format!("             {}\n", words(text)));
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(59).chain(['…']).collect() }
}

fn outcome(report: &ImportReport) -> String {
    let count =
        |change| report.tools.iter().filter(|tool| tool.change == change && tool.problem.is_none()).count();
    let (new, changed) = (count(ImportChange::Added), count(ImportChange::Changed));
    let counts = tr!(
        "{new} new, {changed} changed, {unchanged} unchanged",
        new = new,
        changed = changed,
        unchanged = count(ImportChange::Unchanged)
    );
    let wrong = report.tools.iter().filter(|tool| tool.problem.is_some()).count();
    let wrong = if wrong == 0 { String::new() } else { tr!("; {wrong} cannot be made", wrong = wrong) };
    match &report.held_back {
        Some(why) => tr!("Nothing was made: {why} (`--all`).\n", why = words(why)),
        None if report.made => {
            tr!("Made: {counts}{wrong}.\n{held}", counts = counts, wrong = wrong, held = held(report))
        }
        None => tr!(
            "Nothing was made. The document makes: {counts}{wrong}. `--expect {document_hash}` makes sure that it is still this one.\n",
            counts = counts,
            wrong = wrong,
            document_hash = report.document_hash
        ),
    }
}

/// What is left to decide.
fn held(report: &ImportReport) -> String {
    let held: Vec<_> = report.tools.iter().filter(|tool| tool.quarantined).collect();
    match &held[..] {
        [] => String::new(),
        [one] => tr!(
            "It has changed, and no new run gets it until it is agreed to: `helve tools agree {name}`, or `reject`.\n",
            name = one.name
        ),
        [first, ..] => tr!(
            "{count} have changed, and no new run gets them until they are agreed to: `helve tools agree {name}` and so on, or `reject`; `--agree` agrees to all.\n",
            count = held.len(),
            name = first.name
        ),
    }
}

#[cfg(test)]
mod tests;
