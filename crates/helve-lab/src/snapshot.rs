//! What is on disk, read by nothing of the product's.
//!
//! `file` reads a copy of the database file and its log, and `database` a PostgreSQL. Rows are read with plain SQL on
//! purpose: a checker that asks the store believes the store.

mod database;
mod file;

use std::collections::BTreeMap;
use std::str::FromStr;

use anyhow::Context;
use helve_types::{CallId, CallState, EventBody, Message, RunId, RunSetup, RunState};
use uuid::Uuid;

pub(crate) use self::database::read_database;
pub(crate) use self::file::count_in_file;

#[derive(Debug, Default)]
pub struct Snapshot {
    pub runs: BTreeMap<RunId, Run>,
    pub calls: BTreeMap<CallId, StoredCall>,
    /// By their ids.
    pub approvals: BTreeMap<Uuid, Approval>,
    pub keys: Vec<Key>,
    /// The messages of each conversation, in order.
    pub messages: BTreeMap<Uuid, Vec<Message>>,
    /// What the database says about its files: `ok`.
    pub integrity: String,
}

#[derive(Debug, Clone)]
pub struct Run {
    pub user: String,
    pub state: RunState,
    pub ended: bool,
    pub conversation: Option<Uuid>,
    /// How many messages came before the run.
    pub history: usize,
    pub setup: RunSetup,
    pub log: Vec<Event>,
}

#[derive(Debug, Clone)]
pub struct Event {
    pub seq: u64,
    pub kind: String,
    /// The bytes, as they are also sent.
    pub json: String,
    pub body: EventBody,
}

#[derive(Debug, Clone)]
pub struct StoredCall {
    pub tool: String,
    pub state: CallState,
    pub attempt: u64,
}

#[derive(Debug, Clone)]
pub struct Approval {
    pub state: String,
    pub answer: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Key {
    pub key: String,
    pub run: RunId,
}

/// The columns of a run.
struct RunColumns {
    id: Uuid,
    state: String,
    ended: bool,
    conversation: Option<Uuid>,
    history: i64,
    setup: String,
    user: String,
}

impl Snapshot {
    fn add_run(&mut self, columns: RunColumns) -> anyhow::Result<()> {
        let run = Run {
            state: RunState::parse(&columns.state).context("a state that does not exist")?,
            ended: columns.ended,
            conversation: columns.conversation,
            history: usize::try_from(columns.history)?,
            setup: serde_json::from_str(&columns.setup)?,
            user: columns.user,
            log: vec![],
        };
        self.runs.insert(RunId(columns.id), run);
        Ok(())
    }

    fn add_event(&mut self, run: Uuid, seq: i64, kind: String, json: String) -> anyhow::Result<()> {
        let run = RunId(run);
        let body = serde_json::from_str(&json).with_context(|| format!("an event of run {run}"))?;
        let event = Event { seq: u64::try_from(seq)?, kind, json, body };
        self.runs.get_mut(&run).with_context(|| format!("events without run {run}"))?.log.push(event);
        Ok(())
    }

    fn add_call(&mut self, id: &str, tool: String, state: &str, attempt: i64) -> anyhow::Result<()> {
        let state = CallState::parse(state).context("a call's state is not known")?;
        let call = StoredCall { tool, state, attempt: u64::try_from(attempt)? };
        self.calls.insert(CallId::from_str(id)?, call);
        Ok(())
    }

    fn add_message(&mut self, conversation: Uuid, json: &str) -> anyhow::Result<()> {
        self.messages.entry(conversation).or_default().push(serde_json::from_str(json)?);
        Ok(())
    }

    /// The conversation before the run.
    pub fn history(&self, run: &Run) -> &[Message] {
        let all = run.conversation.and_then(|id| self.messages.get(&id)).map_or(&[][..], Vec::as_slice);
        &all[..run.history.min(all.len())]
    }
}

/// `user` is the column that names the user: the word is reserved in PostgreSQL.
fn select_runs(user: &str) -> String {
    format!(
        "SELECT runs.id, state, ended_at, conversation, history, body, {user}
         FROM runs JOIN setups ON setups.id = setup_id"
    )
}

const EVENTS: &str = "SELECT run, seq, kind, body FROM run_events ORDER BY run, seq";
const CALLS: &str = "SELECT id, tool, state, attempt FROM tool_calls";
const APPROVALS: &str = "SELECT id, state, answer FROM approvals";
const KEYS: &str = "SELECT key, run FROM idempotency_keys";
const MESSAGES: &str = "SELECT conversation, body FROM messages ORDER BY conversation, ordinal";
