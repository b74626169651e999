//! Tools: what there is, and making, changing, switching and deleting those that are rows.
//!
//! A row's version is its `ETag`; a change that names the version it was made for (`If-Match`) never overwrites another
//! one.

mod agree;
mod export;
mod grants;
mod make;
mod view;

use axum::Extension;
use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_tool::{CatalogueError, Change, ListedTool, MappedRow, map_row};
use helve_types::ToolDefinition;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::view::{ToolList, ToolView};
use crate::access::{Principal, Right, Visitor};
use crate::api::versions::VersionList;
use crate::app::App;
use crate::input::{DefinitionJson, Json, Path, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

const VERSION: &str = "The version of the tool, for `If-Match`.";
/// A definition as short as it can be.
fn example_definition() -> Value {
    json!({
        "name": "weather",
        "description": "The weather in a city right now.",
        "endpoint": {"url_template": "https://wttr.in/{city}?format=j1"},
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    })
}

const IF_MATCH: &str =
    "The version that is changed; if the tool is at another one by now, nothing happens (412).";

pub(crate) fn routes(routes: Routes) -> Routes {
    grants::routes(agree::routes(routes))
        .add_route(
            Operation::get("/api/tools", Right::Chat, "List tools").gives::<ToolList>(),
            list_tools,
        )
        .add_route(
            Operation::post(
                "/api/tools",
                Right::Admin,
                "Make a tool of a definition, or many of a list or of lines of JSON",
            )
                .with_example(example_definition())
                .gives::<make::CreatedView>()
                .with_status(201)
                .with_answer_header("Location", "Where the tool is.")
                .with_answer_header("ETag", VERSION)
                .or_gives::<make::UnchangedView>(
                    200,
                    "With `dry_run`: it could be made, and `warnings` says what is odd about it. With `replace`: the tool \
                     that was there already. Of a list or of lines: what became of each.",
                )
                .or_gives::<make::RowsView>(207, "Of a list or of lines, where one was refused."),
            make::make_tools,
        )
        .add_route(
            Operation::get(
                "/api/tools/export",
                Right::Chat,
                "The tools as another vendor's requests take them",
            )
            .gives::<Value>(),
            export::export_tools,
        )
        .add_route(
            Operation::get("/api/tools/{tool}", Right::Chat, "Look at a tool")
                .gives::<ToolView>()
                .with_answer_header("ETag", VERSION),
            get_tool,
        )
        .add_route(
            Operation::put("/api/tools/{tool}", Right::Admin, "Give a tool another definition")
                .with_header("If-Match", IF_MATCH)
                .with_example(example_definition())
                .gives::<ToolView>()
                .with_answer_header("ETag", VERSION),
            replace_tool,
        )
        .add_route(
            Operation::patch(
                "/api/tools/{tool}",
                Right::Admin,
                "Change some of a tool's definition (a JSON merge patch), or switch any tool on or off",
            )
            .with_header("If-Match", IF_MATCH)
            .with_example(json!({"enabled": false}))
            .gives::<ToolView>()
            .with_answer_header("ETag", VERSION),
            change_tool,
        )
        .add_route(
            Operation::delete("/api/tools/{tool}", Right::Admin, "Delete a tool; its versions stay readable")
                .with_header("If-Match", IF_MATCH)
                .with_status(204),
            delete_tool,
        )
        .add_route(
            Operation::get("/api/tools/{tool}/versions", Right::Admin, "Everything that a tool ever was")
                .gives::<VersionList<ToolDefinition>>(),
            list_tool_versions,
        )
}

/// Which tools to list.
#[derive(Debug, Deserialize, JsonSchema)]
struct ToolQuery {
    /// Only those with this tag.
    #[serde(default)]
    tag: Option<String>,
    /// Only those of this category.
    #[serde(default)]
    category: Option<String>,
    /// Only those that are switched on, or off.
    #[serde(default)]
    enabled: Option<bool>,
}

impl ToolQuery {
    fn matches(&self, tool: &ToolView) -> bool {
        self.tag.as_ref().is_none_or(|tag| tool.tags.contains(tag))
            && self.category.as_ref().is_none_or(|category| tool.category.as_ref() == Some(category))
            && self.enabled.is_none_or(|enabled| tool.enabled == enabled)
    }
}

async fn list_tools(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<ToolQuery>,
) -> Answer<ToolList> {
    let view = if principal.is_admin() { ToolView::from_tool } else { ToolView::public_view };
    let views = app.runtime.catalogue().list();
    let views = views.iter().map(view).filter(|view| query.matches(view));
    Answer(ToolList { tools: views.collect() })
}

async fn get_tool(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let catalogue = app.runtime.catalogue();
    let tool = catalogue.get(&catalogue.resolve_name(&name)).ok_or_else(|| Problem::not_found("tool"))?;
    // How a tool is made is for those who make them.
    Ok(if principal.is_admin() {
        tool_response(&tool)
    } else {
        with_etag(&tool, ToolView::public_view(&tool))
    })
}

async fn replace_tool(
    State(app): State<App>,
    principal: Principal,
    Extension(visitor): Extension<Visitor>,
    Path(address): Path<String>,
    headers: HeaderMap,
    DefinitionJson(mut row): DefinitionJson,
) -> Result<Response, Problem> {
    let allow_host = take_host_consent(&mut row)?;
    make::check_may_consent(visitor, allow_host)?;
    let MappedRow { definition, mapped } = map_row(row).map_err(CatalogueError::from)?;
    let change = Change::Whole(Box::new(definition));
    let (catalogue, by) = (app.runtime.catalogue(), &principal.user.0);
    let name = catalogue.resolve_name(&address);
    let tool = catalogue.update_granted(&name, change, expected_version(&headers)?, allow_host, by).await?;
    Ok(with_etag(&tool, ToolView::full_view(&tool).with_mapped_fields(mapped)))
}

async fn change_tool(
    State(app): State<App>,
    principal: Principal,
    Extension(visitor): Extension<Visitor>,
    Path(address): Path<String>,
    headers: HeaderMap,
    mut body: Json<Value>,
) -> Result<Response, Problem> {
    let allow_host = take_host_consent(&mut body.value)?;
    make::check_may_consent(visitor, allow_host)?;
    let (catalogue, by) = (app.runtime.catalogue(), &principal.user.0);
    if !body.value.is_object() {
        return Err(Problem::bad_request(
            "bad_body",
            "the body must be a JSON object: what is to be changed",
        ));
    }
    let name = catalogue.resolve_name(&address);
    let is_row = catalogue.get(&name).is_none_or(|tool| tool.row.is_some());
    let tool = match enabled_if_only_field(&body.value) {
        Some(enabled) if !is_row => catalogue.set_enabled(&name, enabled, by).await?,
        _ => {
            let change = Change::Patch(body.value);
            catalogue.update_granted(&name, change, expected_version(&headers)?, allow_host, by).await?
        }
    };
    Ok(tool_response(&tool))
}

async fn delete_tool(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let catalogue = app.runtime.catalogue();
    catalogue.remove(&catalogue.resolve_name(&name), expected_version(&headers)?, &principal.user.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_tool_versions(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<Answer<VersionList<ToolDefinition>>, Problem> {
    let catalogue = app.runtime.catalogue();
    let versions = catalogue.list_versions(&catalogue.resolve_name(&name)).await?;
    Ok(Answer(VersionList::from_rows(versions)))
}

/// Takes the consent to a host on this machine out of a body.
fn take_host_consent(body: &mut Value) -> Result<bool, Problem> {
    match body.as_object_mut().and_then(|members| members.remove("allow_host")) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(allow)) => Ok(allow),
        Some(_) => Err(Problem::bad_request("bad_body", "`allow_host` must be true or false")
            .with_field("field", "allow_host")),
    }
}

/// What a patch says that does nothing but switch a tool on or off.
fn enabled_if_only_field(patch: &Value) -> Option<bool> {
    let members = patch.as_object().filter(|members| members.len() == 1)?;
    members.get("enabled")?.as_bool()
}

fn tool_response(tool: &ListedTool) -> Response {
    with_etag(tool, ToolView::full_view(tool))
}

fn with_etag(tool: &ListedTool, view: ToolView) -> Response {
    let mut response = Answer(view).into_response();
    if let Some(row) = &tool.row
        && let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", row.version))
    {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The version that a request wants to change; any if it does not say.
fn expected_version(headers: &HeaderMap) -> Result<Option<u32>, Problem> {
    crate::input::expected_version(headers, "tool")
}

impl From<CatalogueError> for Problem {
    fn from(error: CatalogueError) -> Self {
        let detail = error.to_string();
        match error {
            CatalogueError::Definition(wrong) => {
                let problem = Self::bad_request("bad_definition", detail)
                    .with_param("problem", wrong.notice())
                    .with_field("field", wrong.field);
                match wrong.consent {
                    Some(place) => problem.with_field("allow_host", place),
                    None => problem,
                }
            }
            CatalogueError::IdTaken { .. } => Self::new(StatusCode::CONFLICT, "tool_id_taken", detail),
            CatalogueError::Exists(_) => Self::new(StatusCode::CONFLICT, "tool_exists", detail),
            CatalogueError::LooksLike { .. } => Self::new(StatusCode::CONFLICT, "tool_looks_alike", detail),
            CatalogueError::NoOffer(_) => Self::new(StatusCode::CONFLICT, "not_quarantined", detail),
            CatalogueError::OfferChanged(_) => Self::new(StatusCode::CONFLICT, "offer_changed", detail),
            CatalogueError::Missing(_) => Self::not_found("tool"),
            CatalogueError::BuiltIn(_) => Self::new(StatusCode::CONFLICT, "built_in_tool", detail),
            CatalogueError::InFolder(_) => Self::new(StatusCode::CONFLICT, "tool_in_folder", detail),
            CatalogueError::HeldOff(_) => Self::new(StatusCode::CONFLICT, "switched_off", detail),
            CatalogueError::Changed(version) => {
                Self::new(StatusCode::PRECONDITION_FAILED, "tool_changed", detail)
                    .with_field("version", version)
            }
            CatalogueError::Store(error) => error.into(),
        }
    }
}
