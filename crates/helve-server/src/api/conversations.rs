//! Conversations and their messages.

use axum::extract::State;
use axum::http::StatusCode;
use helve_store::{Conversation, Scope};
use helve_types::{ConversationId, Message, Spent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Id, Json, ListQuery, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/conversations", Right::Chat, "List conversations, latest first")
                .gives::<ConversationList>(),
            list_conversations,
        )
        .add_route(
            Operation::get("/api/conversations/{conversation}", Right::Chat, "Look at a conversation")
                .for_user()
                .gives::<ConversationView>(),
            get_conversation,
        )
        .add_route(
            Operation::patch("/api/conversations/{conversation}", Right::Chat, "Rename a conversation")
                .for_user()
                .with_example(json!({"title": "The weather in Oslo"}))
                .with_status(204),
            rename_conversation,
        )
        .add_route(
            Operation::delete(
                "/api/conversations/{conversation}",
                Right::Chat,
                "Forget a conversation and its runs",
            )
            .for_user()
            .with_status(204),
            delete_conversation,
        )
        .add_route(
            Operation::get("/api/conversations/{conversation}/messages", Right::Chat, "Read a conversation")
                .for_user()
                .gives::<MessageList>(),
            list_messages,
        )
}

const TITLE_CHARS_MAX: usize = 200;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConversationView {
    id: String,
    title: String,
    messages: u64,
    /// What all its runs took so far.
    #[serde(flatten)]
    spent: Spent,
    created_at: i64,
    updated_at: i64,
    /// The run that is not over, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_run: Option<String>,
}

impl From<Conversation> for ConversationView {
    fn from(row: Conversation) -> Self {
        Self {
            id: row.id.to_string(),
            title: row.title,
            messages: row.messages,
            spent: row.spent,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            active_run: row.active_run.map(|run| run.to_string()),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConversationList {
    conversations: Vec<ConversationView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MessageList {
    messages: Vec<Message>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RenameBody {
    title: String,
}

pub(crate) async fn list_conversations(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<ListQuery>,
) -> Result<axum::Json<ConversationList>, Problem> {
    let user = principal.user_to_act_for(query.user.as_deref())?;
    let rows = app.runtime.store().conversations(Scope::User(user), query.to_page()).await?;
    Ok(axum::Json(ConversationList { conversations: rows.into_iter().map(ConversationView::from).collect() }))
}

pub(crate) async fn get_conversation(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<ConversationId>,
) -> Result<axum::Json<ConversationView>, Problem> {
    Ok(axum::Json(app.runtime.store().conversation(principal.scope(), id).await?.into()))
}

pub(crate) async fn list_messages(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<ConversationId>,
) -> Result<axum::Json<MessageList>, Problem> {
    let messages = app.runtime.store().messages(principal.scope(), id).await?;
    Ok(axum::Json(MessageList { messages }))
}

pub(crate) async fn rename_conversation(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<ConversationId>,
    body: Json<RenameBody>,
) -> Result<StatusCode, Problem> {
    let title = body.value.title.trim();
    if title.is_empty() || title.chars().count() > TITLE_CHARS_MAX {
        let detail = format!("`title` must have 1 to {TITLE_CHARS_MAX} characters");
        return Err(Problem::bad_request("bad_title", detail));
    }
    app.runtime.store().rename_conversation(principal.scope(), id, title.to_owned()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn delete_conversation(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<ConversationId>,
) -> Result<StatusCode, Problem> {
    app.runtime.store().delete_conversation(principal.scope(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}
