//! What a history that a client keeps lacks of the calls that this server made for it.
//!
//! Nothing in such a history is trusted. But an id that this server gave to a call leads to the run that made it, and
//! what became of the run's calls is on record. So results of the server's own calls are those of the record, not what
//! the history says they are, and calls that the client left out are put in: otherwise the model would not know of
//! them and make them again. An id that is not of a run of this user's own, or stands with another name or other
//! arguments, is text like any other.

use std::collections::BTreeSet;

use helve_store::{Scope, Store, StoreError};
use helve_types::{CallId, ChatCall, ChatMessage, ChatRole, Fact, RunId, RunInput, UserId};
use serde_json::Value;

/// So many runs of a history are looked up.
const RUNS_MAX: usize = 64;
/// How much of a run's log is read at a time, and at most.
const PAGE_BYTES: usize = 64 << 10;
const LOG_BYTES_MAX: usize = 4 << 20;
/// What the model is told of a call that has no output on record.
const NO_OUTCOME: &str = "Error: the outcome of this call is unknown; check before you repeat it";

/// A call as it is on record.
struct RecordedCall {
    id: CallId,
    step: u32,
    tool: String,
    arguments: String,
    /// The client's to run: its result is the client's word.
    is_clients: bool,
    /// What the model is told of it.
    told: Option<String>,
}

/// The history with what is on record of the server's own calls.
pub(super) async fn complete_history(
    store: &dyn Store,
    user: &UserId,
    history: Vec<ChatMessage>,
) -> Result<Vec<ChatMessage>, StoreError> {
    let mut said: BTreeSet<String> =
        history.iter().flat_map(|message| &message.calls).map(|call| call.id.clone()).collect();
    let mut looked_up: Vec<(RunId, Vec<RecordedCall>)> = vec![];
    for run in history.iter().flat_map(list_runs) {
        if looked_up.len() < RUNS_MAX && looked_up.iter().all(|(known, _)| *known != run) {
            looked_up.push((run, load_calls(store, user, run).await?));
        }
    }
    looked_up.retain(|(_, calls)| !calls.is_empty());
    if looked_up.is_empty() {
        return Ok(history);
    }
    let mut whole: Vec<ChatMessage> = Vec::with_capacity(history.len());
    let mut settled: BTreeSet<String> = BTreeSet::new();
    let runs_by_message: Vec<Vec<RunId>> =
        (0..history.len()).map(|at| runs_of_message(&history, at)).collect();
    for (mut message, runs) in history.into_iter().zip(runs_by_message) {
        let is_settled = |id: Option<&str>| id.is_some_and(|id| settled.contains(id));
        if message.role == ChatRole::Tool && is_settled(message.call_id.as_deref()) {
            // What the record says stands there already.
            continue;
        }
        if message.role != ChatRole::Assistant {
            whole.push(message);
            continue;
        }
        let mut results = vec![];
        for (_, calls) in looked_up.iter().filter(|(run, _)| runs.contains(run)) {
            let here =
                message.calls.iter().filter_map(|call| calls.iter().find(|known| known.is_recorded_as(call)));
            let step = here.map(|known| known.step).min();
            let last = calls.iter().map(|known| known.step).max().unwrap_or_default();
            let step = step.unwrap_or(last);
            let missing = |known: &&RecordedCall| !known.is_clients && !said.contains(&known.id.to_string());
            let has_calls = !message.calls.is_empty();
            // Steps that the history leaves out. A message whose calls stand in its text cannot take in the other
            // calls of its step, so they go before it.
            let is_earlier = |of: &u32| *of < step || !has_calls && *of == step;
            let earlier: BTreeSet<u32> =
                calls.iter().filter(missing).map(|known| known.step).filter(is_earlier).collect();
            for of in earlier {
                let left_out: Vec<&RecordedCall> =
                    calls.iter().filter(missing).filter(|known| known.step == of).collect();
                whole.push(ChatMessage {
                    calls: left_out.iter().map(|known| known.to_chat_call()).collect(),
                    ..chat_message(ChatRole::Assistant, "")
                });
                whole.extend(left_out.iter().map(|known| known.to_chat_message()));
            }
            // Calls that this message leaves out, where it has another of its step.
            for known in calls.iter().filter(missing).filter(|known| has_calls && known.step == step) {
                message.calls.push(known.to_chat_call());
            }
            for call in &message.calls {
                if let Some(known) =
                    calls.iter().find(|known| known.is_recorded_as(call) && !known.is_clients)
                {
                    results.push(known.to_chat_message());
                    settled.insert(call.id.clone());
                }
            }
            said.extend(calls.iter().map(|known| known.id.to_string()));
        }
        whole.push(message);
        whole.append(&mut results);
    }
    Ok(whole)
}

/// The runs whose calls a message has. A call that stands in the text of an answer is known by the result that follows it.
fn runs_of_message(history: &[ChatMessage], at: usize) -> Vec<RunId> {
    let own = list_runs(&history[at]);
    let next = history.get(at + 1).filter(|next| next.role != ChatRole::Assistant);
    if own.is_empty() && history[at].role == ChatRole::Assistant {
        next.map(list_runs).unwrap_or_default()
    } else {
        own
    }
}

/// The runs that a message's calls or results are of, by the ids that it gives them.
fn list_runs(message: &ChatMessage) -> Vec<RunId> {
    let of = |id: &str| id.parse::<CallId>().ok().map(|call| call.run);
    match message.role {
        ChatRole::Assistant => message.calls.iter().filter_map(|call| of(&call.id)).collect(),
        ChatRole::Tool => message.call_id.iter().filter_map(|id| of(id)).collect(),
        ChatRole::User if message.content.contains("tool_call_result") => {
            let ids = message.content.split('"').filter_map(of);
            ids.take(RUNS_MAX).collect()
        }
        ChatRole::User | ChatRole::System => vec![],
    }
}

/// The calls of a run that this user started with a history of its own; none of any other.
async fn load_calls(store: &dyn Store, user: &UserId, run: RunId) -> Result<Vec<RecordedCall>, StoreError> {
    match store.run(Scope::User(user.clone()), run).await {
        Ok(record) if matches!(record.setup.input, RunInput::Client { .. }) => {}
        Ok(_) | Err(StoreError::NotFound(_)) => return Ok(vec![]),
        Err(error) => return Err(error),
    }
    let (mut calls, mut after, mut bytes): (Vec<RecordedCall>, u64, usize) = (vec![], 0, 0);
    while bytes < LOG_BYTES_MAX {
        let page = store.log_page(run, after, PAGE_BYTES).await?;
        let Some(last) = page.last() else { break };
        after = last.event.seq;
        for recorded in page {
            bytes += recorded.json.len();
            apply_fact(&mut calls, recorded.event.fact);
        }
    }
    Ok(calls)
}

fn apply_fact(calls: &mut Vec<RecordedCall>, fact: Fact) {
    let (call, told) = match fact {
        Fact::ToolRequested { step, call, tool, arguments, .. } => {
            calls.push(RecordedCall { id: call, step, tool, arguments, is_clients: false, told: None });
            return;
        }
        Fact::ToolDelegated { call, arguments, .. } => {
            if let Some(known) = calls.iter_mut().find(|known| known.id == call) {
                known.is_clients = true;
                known.arguments = arguments.unwrap_or_else(|| std::mem::take(&mut known.arguments));
            }
            return;
        }
        Fact::ToolFinished { call, output, .. } => (call, output.text),
        Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
            (call, format!("Error: {}", failure.message))
        }
        Fact::ToolUnknown { call, because, .. } => (call, format!("{NO_OUTCOME} ({because})")),
        _ => return,
    };
    if let Some(known) = calls.iter_mut().find(|known| known.id == call) {
        known.told = Some(told);
    }
}

impl RecordedCall {
    /// Whether a call of a history is this one: by its id, its name and its arguments.
    fn is_recorded_as(&self, call: &ChatCall) -> bool {
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        let same = self.arguments == call.arguments
            || read(&self.arguments).is_some_and(|own| Some(own) == read(&call.arguments));
        call.id == self.id.to_string() && call.name == self.tool && same
    }

    fn to_chat_call(&self) -> ChatCall {
        ChatCall { id: self.id.to_string(), name: self.tool.clone(), arguments: self.arguments.clone() }
    }

    fn to_chat_message(&self) -> ChatMessage {
        let told = self.told.as_deref().unwrap_or(NO_OUTCOME);
        ChatMessage { call_id: Some(self.id.to_string()), ..chat_message(ChatRole::Tool, told) }
    }
}

fn chat_message(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage { role, content: content.into(), reasoning: String::new(), calls: vec![], call_id: None }
}
