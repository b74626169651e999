//! An OpenAPI document on its way to being tools: fetched or read, compared with the rows there are, kept if that is asked.
//!
//! The command line and the server share this. What a document means is `helve_tool_http::openapi`'s business.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use helve_egress::{Bounds, Egress, Method, Outgoing, Url, header};
use helve_server::{
    ChangedField, ImportBody, ImportChange, ImportFailure, ImportReport, ImportSecret, ImportedTool,
    Importer, SkippedOperation,
};
use helve_tool::{Catalogue, Consent, OfferOutcome};
use helve_tool_http::openapi::{
    Change, DOCUMENT_BYTES_MAX, Diff, Document, Import, Options, TOOLS_MAX, compare_import, import_tools,
};
use helve_types::{Notice, ToolDefinition, canonical_json};
use serde_json::Value;
use tokio::sync::Semaphore;

/// For the server, which knows neither documents nor this crate.
pub fn importer(egress: Egress, catalogue: Arc<Catalogue>) -> Box<Importer> {
    Box::new(move |asked, by| {
        let (egress, catalogue) = (egress.clone(), catalogue.clone());
        Box::pin(async move { import_document(&egress, &catalogue, asked, &by).await })
    })
}

/// Does what is asked and tells what was done.
pub async fn import_document(
    egress: &Egress,
    catalogue: &Arc<Catalogue>,
    mut asked: ImportBody,
    by: &str,
) -> Result<ImportReport, ImportFailure> {
    let source = match (asked.document.take(), &asked.url) {
        (Some(document), _) => Source::Given(document),
        (None, Some(url)) => fetched(egress, url).await?,
        (None, None) => {
            return Err(ImportFailure::Wrong("there is no document and no address of one".into()));
        }
    };
    // To hash a large document and to read it takes long enough to be in the way of others.
    let hashed = tokio::task::spawn_blocking(move || (source.hash(), source)).await;
    let (hash, source) = hashed.map_err(|_| ended_early())?;
    if let Some(expected) = asked.expect.as_ref().filter(|expected| **expected != hash) {
        return Err(ImportFailure::Changed(format!(
            "the document is not the one that was expected: its hash is {hash}, not {expected}; look at what it makes now before you import it"
        )));
    }
    let options = options(&asked);
    // A large document takes seconds and much memory, which other requests must not wait for or lack.
    let _alone = ONE_AT_A_TIME.acquire().await.map_err(|_| ended_early())?;
    let made = tokio::task::spawn_blocking(move || import_tools(&source.read()?, &options)).await;
    let made = made.map_err(|_| ended_early())?;
    let made = made.map_err(|error| ImportFailure::Wrong(error.to_string()))?;
    // Another process may have changed what is kept.
    catalogue.refresh().await.map_err(|error| ImportFailure::Store(error.to_string()))?;
    let there = There::of(catalogue);
    let compared = compare_import(&there.rows, &there.other_names, &made);
    let checking = catalogue.clone();
    let reported = tokio::task::spawn_blocking(move || report(made, compared, hash, &checking)).await;
    let mut report = reported.map_err(|_| ended_early())?;
    for tool in &mut report.tools {
        tool.quarantined = tool.change == ImportChange::Changed && tool.problem.is_none() && !asked.agree;
    }
    if asked.preview {
        return Ok(report);
    }
    let many = report.tools.len();
    if many > TOOLS_MAX && !asked.all {
        report.held_back = Some(format!(
            "the document makes {many} tools, and more than {TOOLS_MAX} confuse every model; choose some by tag, path, method or operation, or insist with `all`"
        ));
        return Ok(report);
    }
    let consent = if asked.agree { Consent::Given } else { Consent::Wanted };
    keep(catalogue, &there.versions, &mut report, consent, by).await;
    if asked.remove_gone {
        remove_gone(catalogue, &there.versions, &mut report, by).await;
    }
    Ok(report)
}

/// Documents are read one after the other.
static ONE_AT_A_TIME: Semaphore = Semaphore::const_new(1);

fn ended_early() -> ImportFailure {
    ImportFailure::Wrong("the import ended before its time; try again, with a part of the document".into())
}

/// The tools that there are.
#[derive(Default)]
struct There {
    rows: Vec<ToolDefinition>,
    /// Of the rows, by name: what is changed is what was compared.
    versions: BTreeMap<String, u32>,
    /// Tools that are no rows.
    other_names: BTreeSet<String>,
}

impl There {
    fn of(catalogue: &Catalogue) -> Self {
        let mut there = Self::default();
        for listed in catalogue.list() {
            let name = listed.name().to_owned();
            match &listed.row {
                Some(row) => {
                    there.rows.push(row.definition.clone());
                    there.versions.insert(name, row.version);
                }
                None => _ = there.other_names.insert(name),
            }
        }
        there
    }
}

enum Source {
    Given(Value),
    Bytes(Vec<u8>, Url),
}

impl Source {
    fn hash(&self) -> String {
        let hash = match self {
            Self::Given(Value::String(text)) => blake3::hash(text.as_bytes()),
            Self::Given(value) => blake3::hash(canonical_json(value).as_bytes()),
            Self::Bytes(bytes, _) => blake3::hash(bytes),
        };
        hash.to_hex()[..32].to_owned()
    }

    fn read(self) -> Result<Document, helve_tool_http::openapi::ImportError> {
        match self {
            Self::Given(Value::String(text)) => Document::read(text.as_bytes(), None),
            Self::Given(value) => Document::from_value(value, None),
            Self::Bytes(bytes, from) => Document::read(&bytes, Some(from)),
        }
    }
}

async fn fetched(egress: &Egress, url: &str) -> Result<Source, ImportFailure> {
    let wrong = |error| ImportFailure::Wrong(format!("`{url}` is no address of a document: {error}"));
    let url = Url::parse(url).map_err(wrong)?;
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme();
        return Err(ImportFailure::Wrong(format!(
            "`url` begins with `{scheme}:`, and documents are fetched over `https:` and `http:` only; to import a file, send \
             what is in it as `document`, or give the file to `helve tools import-openapi`"
        )));
    }
    let mut request = Outgoing::new(Method::GET, url.clone());
    let wanted = "application/json, application/yaml, application/vnd.oai.openapi, */*;q=0.5";
    request.headers.insert(header::ACCEPT, header::HeaderValue::from_static(wanted));
    request.redirects = 3;
    request.bounds = Bounds {
        bytes_max: DOCUMENT_BYTES_MAX,
        silence: Duration::from_secs(20),
        total: Duration::from_secs(120),
    };
    let failed = |problem: String| ImportFailure::Fetch(format!("{url} cannot be fetched: {problem}"));
    let answer = egress.send(request).await.map_err(|error| failed(error.to_string()))?;
    if !answer.status().is_success() {
        return Err(failed(format!("the server answered {}", answer.status())));
    }
    let bytes = answer.read_bytes().await.map_err(|error| failed(error.to_string()))?;
    Ok(Source::Bytes(bytes, url))
}

fn options(asked: &ImportBody) -> Options {
    Options {
        prefix: asked.prefix.clone(),
        server: asked.server.clone(),
        username: asked.username.clone(),
        selection: asked.select.clone(),
    }
}

fn report(made: Import, mut compared: Diff, document_hash: String, catalogue: &Catalogue) -> ImportReport {
    let mut sources: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for tool in made.tools {
        sources.insert(tool.definition.name, (tool.operation, tool.notes));
    }
    let tools = compared.tools.into_iter().map(|(definition, change)| {
        let (operation, mut notes) = sources.remove(&definition.name).unwrap_or_default();
        notes.extend(compared.stays.remove(&definition.name).into_iter().flatten());
        let (change, fields) = match change {
            Change::Added => (ImportChange::Added, vec![]),
            Change::Unchanged => (ImportChange::Unchanged, vec![]),
            Change::Taken => (ImportChange::Taken, vec![]),
            Change::Changed { fields } => (ImportChange::Changed, fields),
        };
        let checked = catalogue.check(&definition);
        let warnings = checked.as_ref().ok().into_iter().flatten().map(Notice::english).collect();
        let problem = match change {
            ImportChange::Taken => Some("another tool has this name; give the import a prefix".to_owned()),
            ImportChange::Unchanged => None,
            ImportChange::Added => {
                let free = checked.and_then(|_| catalogue.check_name_is_free(&definition.name));
                free.err().map(|error| error.to_string())
            }
            ImportChange::Changed => checked.err().map(|error| error.to_string()),
        };
        let fields = fields.into_iter().map(ChangedField::from);
        ImportedTool {
            name: definition.name.clone(),
            operation,
            effect: definition.effect(),
            change,
            fields: fields.collect(),
            notes,
            warnings,
            quarantined: false,
            problem,
            definition,
        }
    });
    let skipped = made.skipped.into_iter();
    let skipped = skipped.map(|held| SkippedOperation { operation: held.operation, reason: held.reason });
    let secrets = made.secrets.into_iter().map(|held| ImportSecret {
        name: held.name,
        what: held.what,
        hosts: held.hosts,
        toml: held.toml,
    });
    ImportReport {
        tools: tools.collect(),
        title: made.title,
        version: made.version,
        openapi: made.openapi,
        document_hash,
        tag: made.tag,
        servers: made.servers,
        operations: made.operations,
        made: false,
        held_back: None,
        skipped: skipped.collect(),
        gone: compared.gone,
        notes: made.notes,
        secrets: secrets.collect(),
    }
}

/// One by one: what one tool is refused for is no reason to refuse the others.
async fn keep(
    catalogue: &Catalogue,
    versions: &BTreeMap<String, u32>,
    report: &mut ImportReport,
    consent: Consent,
    by: &str,
) {
    for tool in report.tools.iter_mut().filter(|tool| tool.problem.is_none()) {
        if tool.change == ImportChange::Taken {
            continue;
        }
        let seen = versions.get(&tool.name).copied();
        // Also what is unchanged: it may be back to what was agreed to.
        match catalogue.receive_offer(&report.tag, tool.definition.clone(), consent, seen, by).await {
            Ok(OfferOutcome::Created(_) | OfferOutcome::Changed(_)) => report.made = true,
            Ok(OfferOutcome::Quarantined(_)) => (report.made, tool.quarantined) = (true, true),
            Ok(OfferOutcome::Same(_)) => {}
            Err(error) => (tool.problem, tool.quarantined) = (Some(error.to_string()), false),
        }
    }
}

async fn remove_gone(
    catalogue: &Catalogue,
    versions: &BTreeMap<String, u32>,
    report: &mut ImportReport,
    by: &str,
) {
    for name in &report.gone {
        match catalogue.remove(name, versions.get(name).copied(), by).await {
            Ok(()) => report.made = true,
            Err(error) => report.notes.push(format!("`{name}` could not be deleted: {error}")),
        }
    }
}

#[cfg(test)]
mod tests;
