//! Making tools of definitions, and of rows of the tool system that Helve replaces: one, or many with a result for each.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as Answer};
use helve_tool::{CatalogueError, DefinitionError, ImportOptions, ImportOutcome, ImportedRow, split_rows};
use helve_types::ToolDefinition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::view::{CheckedView, DefinitionNotices, ToolView, english};
use super::{take_host_consent, with_etag};
use crate::access::{Principal, Visitor};
use crate::app::App;
use crate::input::{Query, Rows};
use crate::problem::Problem;
use crate::routes::{Input, Operation};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MakeQuery {
    /// `true` only checks the definitions, and keeps nothing.
    #[serde(default)]
    dry_run: bool,
    /// Changes tools that are there already, instead of refusing their rows.
    #[serde(default)]
    replace: bool,
    /// Lets the tools reach this machine where their addresses say so; only in a request from this machine. The same can be
    /// said in the body.
    #[serde(default)]
    allow_host: bool,
}

/// What tools are made of; a row may also be written as the tool system that Helve replaces has it.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes the body")]
enum MakeBody {
    One(Box<ToolDefinition>),
    Many(Vec<ToolDefinition>),
    List { tools: Vec<ToolDefinition> },
}

impl Input for Rows {
    fn describe(operation: &mut Operation) {
        operation.take_body::<MakeBody>();
    }
}

/// The answer with the status 201: of one definition the tool, of several what became of each.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes the answer")]
pub(super) enum CreatedView {
    Tool(Box<ToolView>),
    Rows(RowsView),
}

/// The answer with the status 200: the same where nothing was created, and what a dry run found out.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes the answer")]
pub(super) enum UnchangedView {
    Checked(CheckedView),
    Tool(Box<ToolView>),
    Rows(RowsView),
}

/// What became of each row.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RowsView {
    /// How many rows were refused.
    refused: usize,
    rows: Vec<RowView>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct RowView {
    /// The number of the row, from 1.
    row: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// `created`, `changed`, `unchanged`, `checked` by a dry run, or `refused`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// What was mapped to what.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mapped: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "DefinitionNotices::is_empty")]
    notices: DefinitionNotices,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The field that the problem is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
}

pub(super) async fn make_tools(
    State(app): State<App>,
    principal: Principal,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<MakeQuery>,
    body: Rows,
) -> Result<Response, Problem> {
    let MakeQuery { dry_run, replace, allow_host } = query;
    let mut options = ImportOptions { replace, dry_run, allow_host };
    let rows = match body {
        Rows::Lines(rows) => rows,
        Rows::Document(mut document) => {
            options.allow_host |= take_host_consent(&mut document)?;
            let is_list =
                document.is_array() || document.get("name").is_none() && document.get("tools").is_some();
            if !is_list {
                check_may_consent(visitor, options.allow_host)?;
                return make_one(&app, &principal, document, options).await;
            }
            split_rows(document).map_err(CatalogueError::from)?.into_iter().map(Ok).collect()
        }
    };
    check_may_consent(visitor, options.allow_host)?;
    make_many(&app, &principal, rows, options).await
}

/// Only requests from this machine can allow tools to reach it.
pub(super) fn check_may_consent(visitor: Visitor, allow_host: bool) -> Result<(), Problem> {
    if !allow_host || visitor.address.to_canonical().is_loopback() && !visitor.through_proxy {
        return Ok(());
    }
    let detail = "`allow_host` counts only in a request from the machine that Helve runs on; send it there, or use `helve tools \
                  add FILE --allow-host`";
    Err(Problem::new(StatusCode::FORBIDDEN, "not_this_machine", detail).with_field("field", "allow_host"))
}

async fn make_one(
    app: &App,
    principal: &Principal,
    row: Value,
    options: ImportOptions,
) -> Result<Response, Problem> {
    let made = app.runtime.catalogue().import_row(row, options, &principal.user.0).await?;
    let ImportedRow { outcome, definition, mapped, warnings, listed } = made;
    let Some(tool) = listed else {
        let checked = CheckedView {
            hash: definition.hash(),
            warnings: english(&warnings),
            mapped: english(&mapped),
            notices: DefinitionNotices { problem: None, warnings, mapped },
        };
        return Ok(Answer(checked).into_response());
    };
    let view = with_etag(&tool, ToolView::full_view(&tool).with_mapped_fields(mapped));
    if outcome != ImportOutcome::Created {
        return Ok(view);
    }
    let mut response = (StatusCode::CREATED, view).into_response();
    if let Ok(location) = HeaderValue::try_from(format!("/api/tools/{}", tool.name())) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

async fn make_many(
    app: &App,
    principal: &Principal,
    rows: Vec<Result<Value, DefinitionError>>,
    options: ImportOptions,
) -> Result<Response, Problem> {
    let (mut views, mut names) = (vec![], BTreeSet::new());
    for (number, row) in (1..).zip(rows) {
        let name = row.as_ref().ok().and_then(|row| row.get("name")?.as_str().map(str::to_owned));
        // A dry run keeps nothing, so a second row of the same name is found here.
        let is_twice = options.dry_run && name.as_ref().is_some_and(|name| !names.insert(name.clone()));
        let imported = match (row, &name) {
            (Ok(_), Some(name)) if is_twice => Err(CatalogueError::Exists(name.clone())),
            (Ok(row), _) => app.runtime.catalogue().import_row(row, options, &principal.user.0).await,
            (Err(wrong), _) => Err(wrong.into()),
        };
        if let Err(CatalogueError::Store(error)) = imported {
            return Err(error.into());
        }
        views.push(RowView { row: number, name, ..RowView::from(imported) });
    }
    let refused = views.iter().filter(|view| view.problem.is_some()).count();
    if refused == views.len()
        && let Some(RowView { problem: Some(first), .. }) = views.first()
    {
        let detail = format!("none of the {refused} rows was accepted; row 1: {first}");
        let views = serde_json::to_value(&views).unwrap_or_default();
        return Err(Problem::bad_request("bad_rows", detail).with_field("rows", views));
    }
    let status = match (refused, options.dry_run) {
        (0, true) => StatusCode::OK,
        (0, false) => StatusCode::CREATED,
        _ => StatusCode::MULTI_STATUS,
    };
    Ok((status, Answer(RowsView { refused, rows: views })).into_response())
}

impl From<Result<ImportedRow, CatalogueError>> for RowView {
    fn from(imported: Result<ImportedRow, CatalogueError>) -> Self {
        match imported {
            Ok(row) => Self {
                outcome: match row.outcome {
                    ImportOutcome::Checked => "checked",
                    ImportOutcome::Created => "created",
                    ImportOutcome::Changed => "changed",
                    ImportOutcome::Unchanged => "unchanged",
                },
                version: row.listed.and_then(|listed| Some(listed.row.as_ref()?.version)),
                mapped: english(&row.mapped),
                warnings: english(&row.warnings),
                notices: DefinitionNotices { problem: None, warnings: row.warnings, mapped: row.mapped },
                ..Self::default()
            },
            Err(error) => Self {
                outcome: "refused",
                problem: Some(error.to_string()),
                notices: DefinitionNotices {
                    problem: match &error {
                        CatalogueError::Definition(wrong) => Some(wrong.notice()),
                        _ => None,
                    },
                    ..DefinitionNotices::default()
                },
                field: match error {
                    CatalogueError::Definition(wrong) => Some(wrong.field),
                    _ => None,
                },
                ..Self::default()
            },
        }
    }
}
