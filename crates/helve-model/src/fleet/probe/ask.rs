//! One question to the model and what it said, or why it said nothing.

use std::time::Duration;

use crate::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use futures_util::StreamExt;
use helve_types::{ModelParams, StopReason, Usage};
use serde_json::Value;

/// Enough for a model that thinks before it calls.
const TOKENS_MAX: u32 = 2_048;
/// A question that was lost on the way is asked again, so often.
const TRIES_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// No server is waited for longer than this before a question is asked again.
const PAUSE_MAX: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) enum Reply {
    Answer(ProbeAnswer),
    /// There is no answer, and asking again would not help.
    Refused(ModelError),
}

#[derive(Debug, Default)]
pub(super) struct ProbeAnswer {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<AnswerCall>,
    pub(super) stop: Option<StopReason>,
    pub(super) echo: Option<Value>,
    pub(super) usage: Usage,
}

#[derive(Debug)]
pub(super) struct AnswerCall {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) arguments: String,
    /// In how many pieces the arguments came.
    pub(super) pieces: usize,
}

/// The model's own parameters, with an answer that cannot grow dear.
pub(super) fn probe_params(model: &dyn Model) -> ModelParams {
    let own = model.params().clone();
    let max_tokens = Some(own.max_tokens.map_or(TOKENS_MAX, |own| own.min(TOKENS_MAX)));
    ModelParams { max_tokens, ..own }
}

pub(super) async fn ask_with_retries(model: &dyn Model, request: &ModelRequest<'_>) -> Reply {
    let mut tries = 0;
    loop {
        tries += 1;
        match ask_once(model, request).await {
            Ok(said) => return Reply::Answer(said),
            Err(error) if tries < TRIES_MAX && error.kind.is_transient() => {
                tokio::time::sleep(error.retry_after.unwrap_or(PAUSE).min(PAUSE_MAX)).await;
            }
            Err(error) => return Reply::Refused(error),
        }
    }
}

async fn ask_once(model: &dyn Model, request: &ModelRequest<'_>) -> Result<ProbeAnswer, ModelError> {
    let mut said = ProbeAnswer::default();
    let mut events = model.ask(request);
    while let Some(event) = events.next().await {
        match event? {
            ModelEvent::Text(text) => said.text.push_str(&text),
            ModelEvent::Reasoning(text) => said.reasoning.push_str(&text),
            ModelEvent::CallStarted { id, tool, .. } => {
                said.calls.push(AnswerCall { id, tool, arguments: String::new(), pieces: 0 });
            }
            ModelEvent::CallArguments { index, text } => {
                if let Some(call) = usize::try_from(index).ok().and_then(|at| said.calls.get_mut(at)) {
                    call.arguments.push_str(&text);
                    call.pieces += 1;
                }
            }
            ModelEvent::CallFinished { .. } => {}
            ModelEvent::Usage(usage) => said.usage = usage,
            ModelEvent::Echo(echo) => said.echo = Some(echo),
            ModelEvent::Finished(reason) => said.stop = Some(reason),
        }
    }
    if said.stop.is_none() {
        return Err(ModelError::new(ModelErrorKind::Broken, "the model's answer broke off before its end"));
    }
    Ok(said)
}
