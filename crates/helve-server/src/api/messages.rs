//! Messages to a run that is at work.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use helve_types::{MessageId, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Id, Json};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};
use crate::start_run;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::post(
            "/api/runs/{run}/messages",
            Right::Chat,
            "Say something to a run, which its model hears at the next step",
        )
        .for_user()
        .with_header("Idempotency-Key", "The same key again is the same message; an `id` does the same.")
        .with_example(json!({"text": "In Celsius, please."}))
        .gives::<SentMessageView>()
        .with_status(202),
        send_message,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendMessageBody {
    text: String,
    /// Chosen by the sender, so that a message that is sent again is the same one.
    #[serde(default)]
    id: Option<MessageId>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SentMessageView {
    message: MessageId,
}

pub(crate) async fn send_message(
    State(app): State<App>,
    principal: Principal,
    Id(run): Id<RunId>,
    headers: HeaderMap,
    body: Json<SendMessageBody>,
) -> Result<(StatusCode, axum::Json<SentMessageView>), Problem> {
    let SendMessageBody { text, id } = body.value;
    let by = principal.user.to_string();
    let id = match id {
        Some(id) => Some(id),
        None => start_run::parse_key_header(&headers)?.and_then(|key| message_id_for_key(run, &by, key)),
    };
    let message = app.runtime.send_message(principal.scope(), run, id, text, by).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(SentMessageView { message })))
}

/// The message that a key stands for: the log of the run remembers it, so nothing else has to.
fn message_id_for_key(run: RunId, by: &str, key: &str) -> Option<MessageId> {
    let mark = blake3::hash(format!("{run}\0{by}\0{key}").as_bytes()).to_hex();
    mark.get(..32)?.parse().ok()
}
