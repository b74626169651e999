//! OpenAPI documents over HTTP: what is asked and what is told. Who imports is given to the application, since this crate
//! knows no document.

use std::pin::Pin;

use axum::extract::State;
use axum::http::StatusCode;
use helve_types::{Effect, Selection, ToolDefinition};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::LargeJson;
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

/// A document to make tools of: `document` or `url`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportBody {
    /// An OpenAPI 3.0 or 3.1 document, as an object or as the text of a JSON or YAML file.
    #[serde(default)]
    pub document: Option<Value>,
    /// Where the document is; it is fetched like anything that leaves.
    #[serde(default)]
    pub url: Option<String>,
    /// What the tools' names begin with.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Where the operations are, in the place of what the document says.
    #[serde(default)]
    pub server: Option<String>,
    /// The user name where the document asks for basic authentication.
    #[serde(default)]
    pub username: Option<String>,
    #[serde(default)]
    pub select: Selection,
    /// Whether only to tell what would be made, which is so unless this is `false`.
    #[serde(default = "default_true")]
    pub preview: bool,
    /// Make more than 200 tools.
    #[serde(default)]
    pub all: bool,
    /// Delete tools that an earlier import of the same document made and this one does not.
    #[serde(default)]
    pub remove_gone: bool,
    /// Agree to what the document has made of tools that it made before. Without this, a tool that it changes is put in
    /// quarantine until an administrator agrees.
    #[serde(default)]
    pub agree: bool,
    /// The `document_hash` of a preview: nothing is kept if the document is another one by now.
    #[serde(default)]
    pub expect: Option<String>,
}

/// What a document makes, would make, and does not make.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportReport {
    pub title: String,
    /// The version of what the document describes.
    pub version: String,
    /// The version of OpenAPI.
    pub openapi: String,
    /// Of the document as it was read; `expect` takes it.
    pub document_hash: String,
    /// The tag of all tools of this document.
    pub tag: String,
    pub servers: Vec<String>,
    /// How many operations the document has.
    pub operations: usize,
    /// Whether anything was kept; `false` for a preview.
    pub made: bool,
    /// Why nothing was kept although it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back: Option<String>,
    pub tools: Vec<ImportedTool>,
    pub skipped: Vec<SkippedOperation>,
    /// Tools of an earlier import that the document no longer makes.
    pub gone: Vec<String>,
    pub notes: Vec<String>,
    /// What the operator has to add before the tools can be called.
    pub secrets: Vec<ImportSecret>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportedTool {
    pub name: String,
    /// `GET /pets/{id}`
    pub operation: String,
    pub effect: Effect,
    pub change: ImportChange,
    /// What is not as it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<ChangedField>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is odd about it: look before you agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// It was there and has changed; no new run gets it until an administrator agrees. In a preview: it would be so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
    /// Why it cannot be, or was not, kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub definition: ToolDefinition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportChange {
    Added,
    Changed,
    Unchanged,
    /// The name belongs to a tool that no import of this document made.
    Taken,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangedField {
    /// `parameters.properties.limit.maximum`
    pub field: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Value>,
}

impl From<helve_tool::FieldChange> for ChangedField {
    fn from(change: helve_tool::FieldChange) -> Self {
        let helve_tool::FieldChange { field, was, now } = change;
        Self { field, was, now }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkippedOperation {
    pub operation: String,
    pub reason: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportSecret {
    pub name: String,
    pub what: String,
    pub hosts: Vec<String>,
    /// For the configuration, ready to paste.
    pub toml: String,
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportFailure {
    /// What was asked cannot be done: the document, its address, the selection.
    #[error("{0}")]
    Wrong(String),

    /// The document could not be fetched.
    #[error("{0}")]
    Fetch(String),

    /// It is not the document that was expected.
    #[error("{0}")]
    Changed(String),

    /// What is kept cannot be read.
    #[error("{0}")]
    Store(String),
}

/// Who makes tools of documents: what is asked, and in whose name.
pub type Importer = dyn Fn(ImportBody, String) -> ImportFuture + Send + Sync;

pub type ImportFuture = Pin<Box<dyn Future<Output = Result<ImportReport, ImportFailure>> + Send>>;

fn default_true() -> bool {
    true
}

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::post(
            "/api/tools/import-openapi",
            Right::Admin,
            "Make tools of an OpenAPI document, or show what it would make",
        )
        .with_example(json!({"url": "https://petstore3.swagger.io/api/v3/openapi.json", "prefix": "pets", "select": {"tags": ["pet"]}}))
        .gives::<ImportReport>(),
        import_openapi,
    )
}

async fn import_openapi(
    State(app): State<App>,
    principal: Principal,
    body: LargeJson<ImportBody>,
) -> Result<axum::Json<ImportReport>, Problem> {
    let importer = app.importer.as_ref().ok_or_else(|| {
        Problem::new(StatusCode::NOT_IMPLEMENTED, "no_importer", "this server imports no documents")
    })?;
    if body.0.document.is_some() == body.0.url.is_some() {
        return Err(Problem::bad_request("bad_body", "give one of `document` and `url`"));
    }
    Ok(axum::Json(importer(body.0, principal.user.to_string()).await?))
}

impl From<ImportFailure> for Problem {
    fn from(failure: ImportFailure) -> Self {
        match failure {
            ImportFailure::Wrong(detail) => Self::bad_request("bad_document", detail),
            ImportFailure::Fetch(detail) => {
                Self::new(StatusCode::BAD_GATEWAY, "document_not_fetched", detail)
            }
            ImportFailure::Changed(detail) => Self::new(StatusCode::CONFLICT, "document_changed", detail),
            ImportFailure::Store(reason) => helve_store::StoreError::Unavailable(reason).into(),
        }
    }
}
