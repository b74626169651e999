//! A document becomes tools and a report.

use std::collections::{BTreeMap, BTreeSet};

use helve_types::{Method, Selection, ToolDefinition};
use serde::Serialize;
use serde_json::Value;

use super::auth::{Schemes, SecretNeeded};
use super::names::{NameRegistry, operation_name, to_slug};
use super::operation::{DocumentContext, Operation};
use super::read::Document;
use super::refs::Refs;
use super::schema::Schemas;
use super::select::{self, OperationSummary};
use super::server::{self, ServerChoice};
use super::{ImportError, words};

/// More tools than this confuse every model; an operator who wants them all says so.
pub const TOOLS_MAX: usize = 200;
const OPERATIONS_MAX: usize = 5000;
/// What all definitions of a document may have together, in bytes of their parameters.
const DEFINITIONS_BYTES_MAX: usize = 32 << 20;

/// How a document is imported.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What the tools' names begin with.
    pub prefix: Option<String>,
    /// Where the operations are, in the place of what the document says.
    pub server: Option<String>,
    /// For basic authentication.
    pub username: Option<String>,
    pub selection: Selection,
}

/// What a document makes.
#[derive(Debug, Clone, Serialize)]
pub struct Import {
    pub title: String,
    /// The version of what it describes.
    pub version: String,
    /// The version of OpenAPI.
    pub openapi: String,
    /// The tag of all its tools: by it a later import finds them again.
    pub tag: String,
    pub servers: Vec<String>,
    pub operations: usize,
    pub tools: Vec<MadeTool>,
    pub skipped: Vec<SkippedOperation>,
    /// The names of what was not asked for: tools of these are not gone.
    #[serde(skip)]
    pub unselected: BTreeSet<String>,
    /// What the names of its secrets begin with.
    #[serde(skip)]
    pub(super) secrets_of: String,
    pub notes: Vec<String>,
    pub secrets: Vec<SecretNeeded>,
}

#[derive(Debug, Clone, Serialize)]
pub struct MadeTool {
    /// `GET /pets/{id}`.
    pub operation: String,
    pub definition: ToolDefinition,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An operation that is no tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedOperation {
    pub operation: String,
    pub reason: String,
}

/// Turns a document into tools. Pure: the same document and options make the same tools.
pub fn import_tools(document: &Document, options: &Options) -> Result<Import, ImportError> {
    select::check_selection(&options.selection)?;
    let server = options
        .server
        .as_deref()
        .map(ServerChoice::from_operator)
        .transpose()
        .map_err(ImportError::Server)?;
    let identity = Identity::new(document, options.prefix.as_deref());
    let refs = Refs::new(&document.root);
    let common = DocumentContext {
        document,
        schemas: Schemas::new(refs, document.edition),
        schemes: Schemes {
            refs,
            root: &document.root,
            slug: &identity.secrets,
            username: options.username.as_deref(),
        },
        server,
        category: Some(words::clean_line(&identity.title, 60)).filter(|title| !title.is_empty()),
        origin: identity.tag.clone(),
    };
    let (found, mut skipped) = list_operations(document, refs)?;
    let mut gathered = ImportState::default();
    let mut names = NameRegistry::with_prefix(options.prefix.as_deref());
    let operations = found.len() + skipped.len();
    for found in found {
        // Names are given to all, so that a selection does not change them.
        let name = names.reserve(&operation_name(found.id, found.verb, found.path), found.verb);
        let candidate =
            OperationSummary { id: found.id, method: found.verb, path: found.path, tags: &found.tags };
        if select::is_selected(&options.selection, candidate) {
            gathered.add(&common, &found, name, &mut skipped);
        } else {
            gathered.unselected.insert(name);
        }
    }
    skipped.retain(|skipped| options.selection.is_everything() || !skipped.reason.starts_with(NO_CALL));
    if gathered.tools.is_empty() && common.server.is_none() {
        // The one reason that all have in common is said as one.
        if let Err(reason) = server::find_server(document, &Value::Null, &Value::Null)
            && skipped.iter().any(|skipped| skipped.reason == reason)
        {
            return Err(ImportError::Server(reason));
        }
    }
    Ok(gathered.into_import(identity, document, operations, skipped))
}

/// What a document calls itself, and what is called after it.
#[derive(Debug)]
struct Identity {
    title: String,
    version: String,
    tag: String,
    secrets: String,
}

impl Identity {
    fn new(document: &Document, prefix: Option<&str>) -> Self {
        let said = |name: &str| match document.root.get("info").and_then(|info| info.get(name)) {
            Some(Value::String(text)) => words::clean_line(text, 120),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let title = said("title");
        let named = Some(to_slug(&title, 40)).filter(|slug| !slug.is_empty());
        let host = || document.from.as_ref().and_then(|from| from.host_str()).map(|host| to_slug(host, 40));
        let named = named.or_else(host).unwrap_or_else(|| "document".into());
        let prefix = prefix.map(|prefix| to_slug(prefix, 24)).filter(|prefix| !prefix.is_empty());
        // The same document under two prefixes is two imports.
        let tag = match &prefix {
            Some(prefix) => format!("openapi:{named}:{prefix}"),
            None => format!("openapi:{named}"),
        };
        let secrets = prefix.unwrap_or_else(|| to_slug(&named, 24));
        Self { title, version: said("version"), tag, secrets }
    }
}

const NO_CALL: &str = "no tool is made of";

const VERBS: &[(&str, Method)] = &[
    ("get", Method::Get),
    ("head", Method::Head),
    ("post", Method::Post),
    ("put", Method::Put),
    ("patch", Method::Patch),
    ("delete", Method::Delete),
];

/// All operations in the order of their paths, and those that no tool can be made of at all.
fn list_operations<'a>(
    document: &'a Document,
    refs: Refs<'a>,
) -> Result<(Vec<Operation<'a>>, Vec<SkippedOperation>), ImportError> {
    let (mut all, mut skipped) = (vec![], vec![]);
    let paths = document.root.get("paths").and_then(Value::as_object);
    for (path, given) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
        let item = match refs.follow(given) {
            Ok(item) => item,
            Err(reason) => {
                skipped.push(SkippedOperation { operation: words::clean_line(path, 200), reason });
                continue;
            }
        };
        for (verb, method) in VERBS {
            if let Some(operation) = item.get(*verb).filter(|operation| operation.is_object()) {
                let id = operation.get("operationId").and_then(Value::as_str);
                let tags = operation.get("tags").and_then(Value::as_array);
                let tags = tags.into_iter().flatten().filter_map(Value::as_str).collect();
                all.push(Operation { path, verb, method: *method, item, operation, id, tags });
            }
        }
        for verb in ["options", "trace", "query"].iter().filter(|verb| item.get(**verb).is_some()) {
            let verb = verb.to_ascii_uppercase();
            let operation = format!("{verb} {}", words::clean_line(path, 200));
            skipped.push(SkippedOperation { operation, reason: format!("{NO_CALL} {verb}") });
        }
        if all.len() + skipped.len() > OPERATIONS_MAX {
            let problem =
                format!("the document has more than {OPERATIONS_MAX} operations; import a part of it");
            return Err(ImportError::Document(problem));
        }
    }
    Ok((all, skipped))
}

/// What operations leave behind.
#[derive(Debug, Default)]
struct ImportState {
    tools: Vec<MadeTool>,
    bytes: usize,
    unselected: BTreeSet<String>,
    /// Where the tools are, and what was assumed about it.
    servers: BTreeMap<String, Vec<String>>,
    /// Each secret, what it is and who gets it.
    secrets: BTreeMap<String, (String, BTreeSet<String>)>,
}

impl ImportState {
    fn add<'a>(
        &mut self,
        common: &DocumentContext<'a>,
        found: &Operation<'a>,
        name: String,
        skipped: &mut Vec<SkippedOperation>,
    ) {
        let operation = format!("{} {}", found.verb.to_ascii_uppercase(), words::clean_line(found.path, 200));
        match common.build_definition(found, name) {
            Ok(_) if self.bytes > DEFINITIONS_BYTES_MAX => {
                let mib = DEFINITIONS_BYTES_MAX >> 20;
                let reason =
                    format!("the tools before it have more than {mib} MiB; import a part of the document");
                skipped.push(SkippedOperation { operation, reason });
            }
            Ok(mut made) => {
                self.bytes += made.definition.parameters.to_string().len();
                if words::has_hidden(found.operation) {
                    made.notes.push(words::HIDDEN.into());
                }
                if let Some((name, what)) = made.secret {
                    let (_, hosts) = self.secrets.entry(name).or_insert_with(|| (what, BTreeSet::new()));
                    hosts.insert(made.server.host.clone());
                }
                self.servers.insert(made.server.base, made.server.defaults);
                self.tools.push(MadeTool { operation, definition: made.definition, notes: made.notes });
            }
            Err(reason) => skipped.push(SkippedOperation { operation, reason }),
        }
    }

    fn into_import(
        self,
        identity: Identity,
        document: &Document,
        operations: usize,
        skipped: Vec<SkippedOperation>,
    ) -> Import {
        let mut notes = vec![];
        for (server, defaults) in &self.servers {
            if !defaults.is_empty() {
                notes.push(format!("the server {server} is assumed: {}", defaults.join(", ")));
            }
            if server.starts_with("http://") {
                notes.push(format!("{server} is plain HTTP, which is refused unless the operator allows it"));
            }
        }
        if operations == 0 {
            notes.push("the document has no operations".into());
        } else if self.tools.is_empty() && skipped.is_empty() {
            notes.push("nothing in the document fits the selection".into());
        }
        let secrets = self
            .secrets
            .into_iter()
            .map(|(name, (what, hosts))| SecretNeeded::new(&name, &what, hosts.into_iter().collect()));
        Import {
            title: identity.title,
            version: identity.version,
            openapi: document.openapi.clone(),
            tag: identity.tag,
            servers: self.servers.into_keys().collect(),
            operations,
            tools: self.tools,
            skipped,
            unselected: self.unselected,
            secrets_of: identity.secrets,
            notes,
            secrets: secrets.collect(),
        }
    }
}
