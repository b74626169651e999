//! Tools as people and programs see them.

use helve_tool::{DefinitionError, ListedTool, ToolSource};
use helve_types::{Auth, Effect, Flow, Method, Notice, ToolDefinition, ToolKind};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::api::import::ChangedField;

/// The category of a row that says none.
const CATEGORY: &str = "custom";

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
    /// Whether it comes with Helve, is a row, or is a program in the folder of tools.
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
    /// Whether new runs get it.
    state: State,
    /// What it brings into a run and can carry out of it.
    labels: FlowView,
    /// A changed version from its source that no administrator has agreed to; for those with the right `admin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    offer: Option<OfferView>,
    /// Changes when the definition does; runs and approvals are bound to it.
    hash: String,
    /// The number of a row's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// The id of its definition, or else the one that Helve gave it. A tool is addressed by it as well as by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<i64>,
    /// Why it cannot be used; no run gets it until that is fixed. The reason is for those with the right
    /// `admin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// What is odd about it, but may be meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// What was mapped to what, where the request had a row of another system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mapped: Vec<String>,
    #[serde(skip_serializing_if = "DefinitionNotices::is_empty")]
    notices: DefinitionNotices,
    /// The whole of a row, as `PUT` takes it; for those with the right `admin`, and only where one tool is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<ToolDefinition>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Source {
    Builtin,
    Row,
    /// A program in the folder of tools.
    Folder,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    On,
    Off,
    /// Its source has changed it: no new run gets it until an administrator agrees to the change or rejects it.
    Quarantined,
    /// It cannot be made.
    Broken,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FlowView {
    /// Its answers may hold what is not for everybody.
    private: bool,
    /// Strangers may have written what it answers.
    untrusted: bool,
    /// It carries what it is given to a place that is not the operator's own.
    outward: bool,
    /// Where its calls go, if they leave this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OfferView {
    /// The tag of the document that it is from.
    origin: String,
    /// For `agree`.
    hash: String,
    at: i64,
    /// What would be different.
    changes: Vec<ChangedField>,
    /// What is odd about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// No header, no query and no name of a secret: those are for people who make tools.
#[derive(Debug, Serialize, JsonSchema)]
struct EndpointView {
    method: Method,
    /// The template up to its query; without the right `admin` only its scheme and host, since a path may be as good as
    /// a key.
    url: String,
    /// How it is authorised.
    auth: &'static str,
}

/// What a definition would become.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CheckedView {
    pub(super) hash: String,
    pub(super) warnings: Vec<String>,
    /// What was mapped to what, where the request had a row of another system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) mapped: Vec<String>,
    #[serde(skip_serializing_if = "DefinitionNotices::is_empty")]
    pub(super) notices: DefinitionNotices,
}

/// What is said of a definition beside it, as codes with parameters: the reader's side makes the sentences.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(super) struct DefinitionNotices {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<Notice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<Notice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) mapped: Vec<Notice>,
}

impl DefinitionNotices {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The same for whoever reads no codes.
pub(super) fn english(notices: &[Notice]) -> Vec<String> {
    notices.iter().map(Notice::english).collect()
}

impl ToolView {
    /// As everybody may see it: a problem may name secrets, and an address may be one.
    pub(super) fn public_view(tool: &ListedTool) -> Self {
        let definition = tool.row.as_ref().map(|row| &row.definition);
        Self {
            endpoint: definition
                .map(|tool| EndpointView::with_url(tool, scheme_and_host(&tool.endpoint.url_template))),
            problem: tool.problem.as_ref().map(|_| "it cannot be used now".into()),
            notices: DefinitionNotices { problem: None, ..Self::notices(tool) },
            offer: None,
            ..Self::from_tool(tool)
        }
    }

    /// As those see it who make tools.
    pub(super) fn from_tool(tool: &ListedTool) -> Self {
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
            source: tool.source.into(),
            kind: definition.map(|tool| tool.kind).unwrap_or_default(),
            category: definition.map(|tool| tool.category.clone().unwrap_or_else(|| CATEGORY.into())),
            endpoint: definition.map(EndpointView::from_definition),
            parameters: parameters.cloned().unwrap_or_default(),
            effect: effect.unwrap_or(Effect::NonIdempotent),
            tags: spec
                .map(|spec| &spec.tags)
                .or(definition.map(|tool| &tool.tags))
                .cloned()
                .unwrap_or_default(),
            enabled: tool.is_enabled(),
            state: State::from_tool(tool),
            labels: FlowView::from_tool(tool),
            offer: OfferView::from_tool(tool),
            hash: row
                .map(|row| row.hash.clone())
                .or(tool.registered.as_ref().map(|tool| tool.version().to_owned()))
                .unwrap_or_default(),
            version: row.map(|row| row.version),
            id: row.map(|row| row.definition.id.clone().unwrap_or_else(|| row.id.to_string())),
            created_at: row.map(|row| row.created_at.0),
            updated_at: row.map(|row| row.updated_at.0),
            problem: tool.problem.as_ref().map(ToString::to_string),
            warnings: english(&tool.warnings),
            mapped: vec![],
            notices: Self::notices(tool),
            definition: None,
        }
    }

    fn notices(tool: &ListedTool) -> DefinitionNotices {
        DefinitionNotices {
            problem: tool.problem.as_ref().map(DefinitionError::notice),
            warnings: tool.warnings.clone(),
            mapped: vec![],
        }
    }

    /// With what a row of another system was mapped to.
    pub(super) fn with_mapped_fields(self, mapped: Vec<Notice>) -> Self {
        Self { mapped: english(&mapped), notices: DefinitionNotices { mapped, ..self.notices }, ..self }
    }

    /// With its definition.
    pub(super) fn full_view(tool: &ListedTool) -> Self {
        let definition = tool.row.as_ref().map(|row| row.definition.clone());
        Self { definition, ..Self::from_tool(tool) }
    }
}

impl From<ToolSource> for Source {
    fn from(source: ToolSource) -> Self {
        match source {
            ToolSource::Builtin => Self::Builtin,
            ToolSource::Row => Self::Row,
            ToolSource::Folder => Self::Folder,
        }
    }
}

impl State {
    fn from_tool(tool: &ListedTool) -> Self {
        match (&tool.problem, tool.is_quarantined(), tool.is_enabled()) {
            (Some(_), ..) => Self::Broken,
            (None, true, _) => Self::Quarantined,
            (None, false, true) => Self::On,
            (None, false, false) => Self::Off,
        }
    }
}

impl FlowView {
    /// What cannot be made does nothing, but what is said of it is shown.
    fn from_tool(tool: &ListedTool) -> Self {
        let flow = match (&tool.registered, &tool.row) {
            (Some(tool), _) => tool.flow().clone(),
            (None, Some(row)) => Flow::default().with_terms(&row.definition.labels),
            (None, None) => Flow::default(),
        };
        Self { private: flow.private, untrusted: flow.untrusted, outward: flow.outward, place: flow.place }
    }
}

impl OfferView {
    fn from_tool(tool: &ListedTool) -> Option<Self> {
        let offer = tool.offer.as_ref()?;
        let changes = tool.changes().into_iter();
        Some(Self {
            origin: offer.origin.clone(),
            hash: offer.definition.hash(),
            at: offer.at.0,
            changes: changes.map(ChangedField::from).collect(),
            warnings: english(&tool.offer_warnings),
        })
    }
}

impl EndpointView {
    fn from_definition(definition: &ToolDefinition) -> Self {
        let url = definition.endpoint.url_template.split(['?', '#']).next().unwrap_or_default();
        Self::with_url(definition, url.to_owned())
    }

    fn with_url(definition: &ToolDefinition, url: String) -> Self {
        let endpoint = &definition.endpoint;
        Self {
            method: endpoint.method,
            url,
            auth: match endpoint.auth {
                Auth::None => "none",
                Auth::Bearer { .. } => "bearer",
                Auth::ApiKey { .. } => "api_key",
                Auth::Basic { .. } => "basic",
            },
        }
    }
}

/// The scheme and the host of an address.
fn scheme_and_host(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return String::new() };
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use helve_tool::{DefinitionError, ToolRow, read_definition};
    use helve_types::World;
    use serde_json::json;

    use super::*;

    #[test]
    fn why_a_tool_cannot_be_used_and_where_it_goes_is_for_those_who_make_tools() {
        let definition = read_definition(json!({
            "name": "post",
            "description": "Posts.",
            "endpoint": {"url_template": "https://hooks.example.com/services/T0/B0/canary"},
        }));
        let world = World::deterministic();
        let listed = ListedTool {
            name: "post".into(),
            source: ToolSource::Row,
            row: Some(Arc::new(ToolRow::new(world.row_id(), definition.unwrap(), world.now()))),
            registered: None,
            problem: Some(DefinitionError::new(
                "endpoint.auth.secret",
                Notice::definition_other("known: payroll, crm"),
            )),
            warnings: vec![],
            offer: None,
            offer_warnings: vec![],
        };
        let plain = json!(ToolView::public_view(&listed));
        assert_eq!(plain["problem"], "it cannot be used now");
        assert_eq!(plain["endpoint"]["url"], "https://hooks.example.com");
        assert!(!plain.to_string().contains("payroll") && !plain.to_string().contains("canary"), "{plain}");
        let whole = json!(ToolView::from_tool(&listed));
        assert_eq!(whole["problem"], "`endpoint.auth.secret`: known: payroll, crm");
        assert_eq!(whole["endpoint"]["url"], "https://hooks.example.com/services/T0/B0/canary");
    }

    #[test]
    fn of_an_address_everybody_sees_the_host_alone() {
        for (url, expected) in [
            ("https://hooks.example.com/services/T0/B0/canary", "https://hooks.example.com"),
            ("https://me:hush@api.example.com:8443?key=hush", "https://api.example.com:8443"),
            ("https://api.example.com\\hush", "https://api.example.com"),
            ("https://api.example.com#hush", "https://api.example.com"),
            ("internal://dice", "internal://dice"),
            ("hush", ""),
        ] {
            assert_eq!(scheme_and_host(url), expected, "{url}");
        }
    }
}
