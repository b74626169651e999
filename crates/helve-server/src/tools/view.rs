//! Tools as people and programs see them.

use helve_store::ToolRow;
use helve_tool::Listed;
use helve_types::{Auth, Effect, Method, ToolDefinition, ToolKind};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ToolList {
    pub(super) tools: Vec<ToolView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ToolView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    description: String,
    /// Whether it comes with Helve or is a row.
    source: Source,
    #[serde(rename = "type")]
    kind: ToolKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) category: Option<String>,
    /// Where calls of a row go.
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<EndpointView>,
    parameters: Value,
    effect: Effect,
    pub(super) tags: Vec<String>,
    pub(super) enabled: bool,
    /// Changes when the definition does; runs and approvals are bound to it.
    hash: String,
    /// The number of a row's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<i64>,
    /// Why it cannot be used; nobody is offered it until that is put right.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// What is odd about it, but may be meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// The whole of a row, as `PUT` takes it; for those with the right `admin`, and only where one tool is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<ToolDefinition>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Source {
    Builtin,
    Row,
}

/// No header, no query and no name of a secret: those are for people who make tools.
#[derive(Debug, Serialize, JsonSchema)]
struct EndpointView {
    method: Method,
    /// The template up to its query.
    url: String,
    /// How it is authorised.
    auth: &'static str,
}

/// What a definition would become.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CheckedView {
    pub(super) hash: String,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct VersionList {
    /// Oldest first.
    pub(super) versions: Vec<VersionView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct VersionView {
    version: u32,
    hash: String,
    id: String,
    updated_at: i64,
    definition: ToolDefinition,
}

impl ToolView {
    pub(super) fn of(tool: &Listed) -> Self {
        let row = tool.row.as_deref();
        let definition = row.map(|row| &row.definition);
        let spec = tool.registered.as_ref().map(|tool| tool.spec());
        // A row that could not be made has no spec, and a tool of ours no definition.
        let description = definition.map(|tool| &tool.description).or(spec.map(|spec| &spec.description));
        let parameters = spec.map(|spec| &spec.parameters).or(definition.map(|tool| &tool.parameters));
        let effect = spec.map(|spec| spec.effect).or(definition.map(ToolDefinition::effect));
        Self {
            name: tool.name().to_owned(),
            display_name: match definition {
                Some(definition) => definition.display_name.clone(),
                None => spec.and_then(|spec| spec.title.clone()),
            },
            description: description.cloned().unwrap_or_default(),
            source: if row.is_some() { Source::Row } else { Source::Builtin },
            kind: definition.map(|tool| tool.kind).unwrap_or_default(),
            category: definition.and_then(|tool| tool.category.clone()),
            endpoint: definition.map(EndpointView::of),
            parameters: parameters.cloned().unwrap_or_default(),
            effect: effect.unwrap_or(Effect::NonIdempotent),
            tags: spec
                .map(|spec| &spec.tags)
                .or(definition.map(|tool| &tool.tags))
                .cloned()
                .unwrap_or_default(),
            enabled: tool.is_enabled(),
            hash: row
                .map(|row| row.hash.clone())
                .or(tool.registered.as_ref().map(|tool| tool.version().to_owned()))
                .unwrap_or_default(),
            version: row.map(|row| row.version),
            id: row.map(|row| row.id.to_string()),
            created_at: row.map(|row| row.created_at.0),
            updated_at: row.map(|row| row.updated_at.0),
            problem: tool.problem.as_ref().map(ToString::to_string),
            warnings: tool.warnings.clone(),
            definition: None,
        }
    }

    /// With its definition.
    pub(super) fn whole(tool: &Listed) -> Self {
        let definition = tool.row.as_ref().map(|row| row.definition.clone());
        Self { definition, ..Self::of(tool) }
    }
}

impl EndpointView {
    fn of(definition: &ToolDefinition) -> Self {
        let endpoint = &definition.endpoint;
        let url = endpoint.url_template.split(['?', '#']).next().unwrap_or_default();
        Self {
            method: endpoint.method,
            url: url.to_owned(),
            auth: match endpoint.auth {
                Auth::None => "none",
                Auth::Bearer { .. } => "bearer",
                Auth::ApiKey { .. } => "api_key",
                Auth::Basic { .. } => "basic",
            },
        }
    }
}

impl From<ToolRow> for VersionView {
    fn from(row: ToolRow) -> Self {
        Self {
            version: row.version,
            hash: row.hash,
            id: row.id.to_string(),
            updated_at: row.updated_at.0,
            definition: row.definition,
        }
    }
}
