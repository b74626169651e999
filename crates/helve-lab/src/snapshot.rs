//! What is on disk: a copy of the database file and its log, read by nothing of the product's.
//!
//! The copy is made while no server runs, so that looking changes nothing that the next start will find. Rows are
//! read with plain SQL on purpose: a checker that asks the store believes the store.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use anyhow::Context;
use helve_types::{CallId, CallState, EventBody, Message, RunId, RunSetup, RunState, Timestamp};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Row};
use uuid::Uuid;

#[derive(Debug, Default)]
pub struct Snapshot {
    pub runs: BTreeMap<RunId, Run>,
    pub calls: BTreeMap<CallId, StoredCall>,
    /// By their ids.
    pub approvals: BTreeMap<Uuid, Approval>,
    pub keys: Vec<Key>,
    /// The messages of each conversation, in order.
    pub messages: BTreeMap<Uuid, Vec<Message>>,
    /// What SQLite says about the file: `ok`.
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

impl Snapshot {
    /// Copies the database from the data directory to `scratch` and reads the copy.
    pub fn read_copy(data: &Path, scratch: &Path) -> anyhow::Result<Self> {
        let source = data.join("helve.db");
        if !source.exists() {
            // Killed before it made one.
            return Ok(Self { integrity: "ok".into(), ..Self::default() });
        }
        std::fs::create_dir_all(scratch)?;
        let copy = scratch.join("copy.db");
        for ending in ["", "-wal"] {
            let (from, to) = (append_ending(&source, ending), append_ending(&copy, ending));
            _ = std::fs::remove_file(&to);
            if from.exists() {
                std::fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
            }
        }
        _ = std::fs::remove_file(append_ending(&copy, "-shm"));
        Self::read(&Connection::open(&copy)?)
    }

    fn read(db: &Connection) -> anyhow::Result<Self> {
        let integrity = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        let tables: i64 =
            db.query_row("SELECT count(*) FROM sqlite_master WHERE name = 'runs'", [], |row| row.get(0))?;
        let mut snapshot = Self { integrity, ..Self::default() };
        if tables == 0 {
            return Ok(snapshot);
        }
        let runs = "SELECT runs.id, state, ended_at, conversation, history, body, user
            FROM runs JOIN setups ON setups.id = setup_id";
        each(db, runs, |row| {
            let run = Run {
                state: RunState::parse(&get_column::<String>(row, 1)?)
                    .context("a state that does not exist")?,
                ended: get_column::<Option<i64>>(row, 2)?.is_some(),
                conversation: get_column::<Option<Vec<u8>>>(row, 3)?
                    .map(|id| Uuid::from_slice(&id))
                    .transpose()?,
                history: usize::try_from(get_column::<i64>(row, 4)?)?,
                setup: serde_json::from_str(&get_column::<String>(row, 5)?)?,
                user: get_column(row, 6)?,
                log: vec![],
            };
            snapshot.runs.insert(RunId(id(row, 0)?), run);
            Ok(())
        })?;
        each(db, "SELECT run, seq, kind, body FROM run_events ORDER BY run, seq", |row| {
            let (run, json) = (RunId(id(row, 0)?), get_column::<String>(row, 3)?);
            let body = serde_json::from_str(&json).with_context(|| format!("an event of run {run}"))?;
            let event = Event {
                seq: u64::try_from(get_column::<i64>(row, 1)?)?,
                kind: get_column(row, 2)?,
                json,
                body,
            };
            let known = snapshot.runs.get_mut(&run).with_context(|| format!("events without run {run}"))?;
            known.log.push(event);
            Ok(())
        })?;
        each(db, "SELECT id, tool, state, attempt FROM tool_calls", |row| {
            let call = CallId::from_str(&get_column::<String>(row, 0)?)?;
            let state =
                CallState::parse(&get_column::<String>(row, 2)?).context("a call's state is not known")?;
            let attempt = u64::try_from(get_column::<i64>(row, 3)?)?;
            snapshot.calls.insert(call, StoredCall { tool: get_column(row, 1)?, state, attempt });
            Ok(())
        })?;
        each(db, "SELECT id, state, answer FROM approvals", |row| {
            snapshot
                .approvals
                .insert(id(row, 0)?, Approval { state: get_column(row, 1)?, answer: get_column(row, 2)? });
            Ok(())
        })?;
        each(db, "SELECT key, run FROM idempotency_keys", |row| {
            snapshot.keys.push(Key { key: get_column(row, 0)?, run: RunId(id(row, 1)?) });
            Ok(())
        })?;
        each(db, "SELECT conversation, body FROM messages ORDER BY conversation, ordinal", |row| {
            let message = serde_json::from_str(&get_column::<String>(row, 1)?)?;
            snapshot.messages.entry(id(row, 0)?).or_default().push(message);
            Ok(())
        })?;
        Ok(snapshot)
    }

    /// The conversation before the run.
    pub fn history(&self, run: &Run) -> &[Message] {
        let all = run.conversation.and_then(|id| self.messages.get(&id)).map_or(&[][..], Vec::as_slice);
        &all[..run.history.min(all.len())]
    }
}

/// How many runs a live database says are under way. For waiting, not for judging.
pub(crate) fn runs_under_way(data: &Path) -> anyhow::Result<u64> {
    count(data, "SELECT count(*) FROM runs WHERE state = 'running'")
}

/// How many questions wait for an answer that were asked before this moment. For waiting, not for judging.
pub(crate) fn open_questions(data: &Path, before: Timestamp) -> anyhow::Result<u64> {
    let asked = format!("SELECT count(*) FROM approvals WHERE state = 'pending' AND asked_at < {}", before.0);
    count(data, &asked)
}

fn count(data: &Path, sql: &str) -> anyhow::Result<u64> {
    use rusqlite::OpenFlags;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(data.join("helve.db"), flags)?;
    db.busy_timeout(std::time::Duration::from_secs(2))?;
    let count: i64 = db.query_row(sql, [], |row| row.get(0))?;
    Ok(u64::try_from(count)?)
}

fn append_ending(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut whole = path.as_os_str().to_owned();
    whole.push(ending);
    whole.into()
}

fn each(
    db: &Connection,
    sql: &str,
    mut take: impl FnMut(&Row<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

fn get_column<T: FromSql>(row: &Row<'_>, at: usize) -> anyhow::Result<T> {
    Ok(row.get(at)?)
}

fn id(row: &Row<'_>, at: usize) -> anyhow::Result<Uuid> {
    Ok(Uuid::from_slice(&get_column::<Vec<u8>>(row, at)?)?)
}
