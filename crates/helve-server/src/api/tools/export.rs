//! One definition, declared as each vendor wants it: for programs that ask models themselves.

use axum::Json as Answer;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::app::App;
use crate::input::Query;
use crate::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ExportQuery {
    /// `openai`, `anthropic`, `gemini` or `ollama`.
    format: String,
    /// Only those with this tag.
    #[serde(default)]
    tag: Option<String>,
}

/// What a request of that vendor has under `tools`; only tools that are switched on.
pub(super) async fn export_tools(
    State(app): State<App>,
    Query(query): Query<ExportQuery>,
) -> Result<Answer<Value>, Problem> {
    let registry = app.runtime.registry();
    let tools = match &query.tag {
        Some(tag) => registry.list_with_tag(tag),
        None => registry.list(),
    };
    let specs: Vec<_> = tools.iter().filter(|tool| tool.is_usable()).map(|tool| &**tool.spec()).collect();
    let declared = app.declare.as_ref().and_then(|declare| declare(&query.format, &specs)).ok_or_else(|| {
        let known = "`openai`, `anthropic`, `gemini` and `ollama`";
        Problem::bad_request(
            "unknown_format",
            format!("there is no format `{}`; there are {known}", query.format),
        )
    });
    declared.map(Answer)
}
