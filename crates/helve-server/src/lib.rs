//! HTTP and server-sent events; the only crate that serves requests.
//!
//! A request gets its `request_id`, passes `access::origin`, then the guard of its route, then its handler, which says what it wants of
//! the `Runtime` and renders what it gets. `routes` is the table; what is not in it is `page`; bodies are private to their handlers; `sse` turns
//! a run into a stream. Nothing here knows which model or store is behind the ports.

mod access;
mod agent;
mod app;
mod approvals;
mod asked;
mod catalog;
mod chat;
mod conversations;
mod declared;
mod direct;
mod executions;
mod health;
mod hex;
mod input;
mod listen;
mod metrics;
mod models;
mod page;
mod probe;
mod problem;
mod request_id;
mod routes;
mod runs;
mod sign_in;
mod so_far;
mod sse;
mod start;
mod tool_system;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, Method};
use axum::middleware::from_fn_with_state;
use helve_types::ModelProfile;
use serde_json::Value;

pub use access::{AccessSettings, new_token};
pub use app::{App, ModelProblems};
pub use listen::serve;
pub use models::{ModelList, ModelView, PriceView, model_list};

use access::{Right, keep_foreign_pages_out};
use routes::{Operation, Routes};

/// Everything the server answers.
pub fn router(app: App) -> Router {
    let (routes, document) = table(app.clone());
    app.document.get_or_init(|| document.to_string());
    routes
        .method_not_allowed_fallback(page::wrong_method)
        .fallback(page::page)
        .layer(from_fn_with_state(app.clone(), keep_foreign_pages_out))
        .layer(from_fn_with_state(app.clone(), request_id::name_requests))
        .with_state(app)
}

async fn openapi(State(app): State<App>) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "application/json")], app.document.get().cloned().unwrap_or_default())
}

/// The table of routes, and the document that describes it.
fn table(app: App) -> (Router<App>, Value) {
    let get = |path, right, summary| Operation::new(Method::GET, path, right, summary);
    let post = |path, right, summary| Operation::new(Method::POST, path, right, summary);
    let delete = |path, right, summary| Operation::new(Method::DELETE, path, right, summary);
    let patch = |path, right, summary| Operation::new(Method::PATCH, path, right, summary);
    use Right::{Admin, Chat, Public};

    Routes::new(app)
        .add(
            post("/api/chat", Chat, "Say something and get the answer as it grows")
                .starts_run()
                .body::<chat::ChatBody>()
                .gives_events(),
            chat::chat,
        )
        .add(
            post("/api/agent", Chat, "Ask an agent; pieces of its answer, or the whole")
                .header("X-Agent-ID", "The agent; the default one if there is none.")
                .starts_run()
                .body::<agent::AgentBody>()
                .gives::<agent::Whole>()
                .gives_events(),
            agent::agent,
        )
        .add(
            post("/api/runs", Chat, "Start a run")
                .starts_run()
                .body::<runs::RunBody>()
                .gives::<runs::RunStartedView>()
                .status(201),
            runs::start_run,
        )
        .add(
            get("/api/runs", Chat, "List runs, latest first")
                .query::<input::ListQuery>()
                .gives::<runs::RunList>(),
            runs::list_runs,
        )
        .add(get("/api/runs/{run}", Chat, "Look at a run").gives::<runs::RunView>(), runs::get_run)
        .add(
            get("/api/runs/{run}/events", Chat, "Follow a run from any event on")
                .query::<runs::EventsQuery>()
                .header("Last-Event-ID", "The last event that the reader has; goes before `after`.")
                .gives_events()
                .or_status(204, "The run is over and the reader has all of it."),
            runs::run_events,
        )
        .add(post("/api/runs/{run}/cancel", Chat, "Stop a run").status(202), runs::cancel_run)
        .add(
            post("/api/runs/{run}/calls/{call}/result", Chat, "Bring the result of a client's tool")
                .body::<runs::ResultBody>()
                .status(202),
            runs::call_result,
        )
        .add(
            get("/api/conversations", Chat, "List conversations, latest first")
                .query::<input::ListQuery>()
                .gives::<conversations::ConversationList>(),
            conversations::list_conversations,
        )
        .add(
            get("/api/conversations/{conversation}", Chat, "Look at a conversation")
                .gives::<conversations::ConversationView>(),
            conversations::get_conversation,
        )
        .add(
            patch("/api/conversations/{conversation}", Chat, "Rename a conversation")
                .body::<conversations::RenameBody>()
                .status(204),
            conversations::rename_conversation,
        )
        .add(
            delete("/api/conversations/{conversation}", Chat, "Forget a conversation and its runs")
                .status(204),
            conversations::delete_conversation,
        )
        .add(
            get("/api/conversations/{conversation}/messages", Chat, "Read a conversation")
                .gives::<conversations::MessageList>(),
            conversations::conversation_messages,
        )
        .add(
            get("/api/approvals", Chat, "List questions to people")
                .query::<approvals::ApprovalQuery>()
                .gives::<approvals::ApprovalList>(),
            approvals::list_approvals,
        )
        .add(
            get("/api/approvals/{approval}", Chat, "Look at a question").gives::<approvals::ApprovalView>(),
            approvals::get_approval,
        )
        .add(
            post("/api/approvals/{approval}", Chat, "Answer a question; the first answer wins")
                .body::<helve_types::Answer>()
                .gives::<approvals::ApprovalView>(),
            approvals::answer_approval,
        )
        .add(get("/api/tools", Chat, "List tools").gives::<catalog::ToolList>(), catalog::list_tools)
        .add(get("/api/agents", Chat, "List agents").gives::<catalog::AgentList>(), catalog::list_agents)
        .add(get("/api/models", Chat, "List models").gives::<models::ModelList>(), models::list_models)
        .add(
            post("/api/models/{name}/probe", Admin, "Ask a model what it can do, and keep the answer")
                .gives::<ModelProfile>(),
            probe::probe_model,
        )
        .add(
            get("/api/tool-system/status", Chat, "Every tool's guards and counts")
                .gives::<tool_system::SystemView>(),
            tool_system::status,
        )
        .add(
            get("/api/tool-system/metrics/{tool}", Chat, "The counts of one tool")
                .gives::<tool_system::OneToolView>(),
            tool_system::metrics,
        )
        .add(
            post("/api/tool-system/reset", Admin, "Set caches, counts and breakers back")
                .body::<tool_system::ResetBody>()
                .status(204),
            tool_system::reset,
        )
        .add(
            get("/api/executions", Chat, "List the calls that were made, newest first")
                .query::<executions::ExecutionQuery>()
                .gives::<executions::ExecutionList>(),
            executions::list_executions,
        )
        .add(
            get("/api/executions/{call}", Chat, "Look at a call").gives::<executions::ExecutionView>(),
            executions::get_execution,
        )
        .add(
            post("/api/tools/{name}/call", Chat, "Call a tool without a model")
                .body::<direct::CallBody>()
                .gives::<direct::CallView>(),
            direct::call_tool,
        )
        .add(
            post("/api/tools/execute", Chat, "Call a tool as old callers do; the text of its result")
                .body::<direct::OldBody>()
                .gives::<direct::OldResult>(),
            direct::execute,
        )
        .add(get("/metrics", Chat, "Everything that is counted, for Prometheus"), metrics::metrics)
        .add(
            get("/api/session", Public, "Whether a token is needed, and whether one was shown")
                .gives::<sign_in::SessionView>(),
            sign_in::get_session,
        )
        .add(
            post("/api/session", Public, "Sign in with a token").body::<sign_in::SignInBody>().status(204),
            sign_in::sign_in,
        )
        .add(delete("/api/session", Public, "Sign out").status(204), sign_in::sign_out)
        .add(get("/healthz", Public, "Whether the process lives"), health::healthz)
        .add(get("/readyz", Public, "Whether runs are taken").gives::<health::Readiness>(), health::readyz)
        .add(get("/openapi.json", Public, "This document").gives::<Value>(), openapi)
        .finish()
}
