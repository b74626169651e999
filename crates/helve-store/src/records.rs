//! What goes into a store and what comes out.

use std::fmt;
use std::sync::Arc;

use helve_types::{
    Answer, ApprovalId, CallId, CallState, ConversationId, Effect, Event, EventBody, Fact, FailureKind,
    Message, Question, RunId, RunSetup, RunState, Spent, Timestamp, ToolCall, Trail, Used, UserId, Vote,
};
use serde::{Deserialize, Serialize};

use crate::{KeptFile, StoreError};

/// Whose things may be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    User(UserId),
    /// An administrator, or the server itself.
    Everyone,
}

impl Scope {
    pub fn sees(&self, owner: &UserId) -> bool {
        match self {
            Self::User(user) => user == owner,
            Self::Everyone => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub offset: usize,
    pub limit: usize,
}

impl Page {
    pub fn first(limit: usize) -> Self {
        Self { offset: 0, limit }
    }
}

/// Which runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunFilter {
    /// Only those in this state.
    pub state: Option<RunState>,
}

impl RunFilter {
    pub fn fits(&self, record: &RunRecord) -> bool {
        self.state.is_none_or(|state| record.state == state)
    }
}

/// An event together with the bytes it is written and sent as, which are made once.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub event: Event,
    pub json: Arc<str>,
    /// How long its run was at work before it, as far as that is booked with this event.
    pub active_ms: u64,
}

impl Recorded {
    pub fn new(seq: u64, at: Timestamp, fact: Fact) -> Self {
        let body = EventBody { at, fact };
        let json = match serde_json::to_string(&body) {
            Ok(json) => json.into(),
            Err(error) => unreachable!("facts are plain data with string keys: {error}"),
        };
        Self { event: Event { seq, at, fact: body.fact }, json, active_ms: 0 }
    }

    pub fn with_active_ms(self, active_ms: u64) -> Self {
        Self { active_ms, ..self }
    }

    /// What it adds to the sums of its day.
    pub fn used(&self) -> Used {
        Used::from_fact(&self.event.fact).plus(Used { active_ms: self.active_ms, ..Used::default() })
    }

    /// Reads an event back from its bytes.
    pub fn parse(seq: u64, json: &str) -> Result<Self, StoreError> {
        let body: EventBody = serde_json::from_str(json)
            .map_err(|error| StoreError::Unavailable(format!("event {seq} is unreadable: {error}")))?;
        let event = Event { seq, at: body.at, fact: body.fact };
        Ok(Self { event, json: json.into(), active_ms: 0 })
    }
}

/// Where a new run belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    NewConversation {
        id: ConversationId,
        title: String,
    },
    Conversation(ConversationId),
    /// The client keeps the history.
    Nowhere,
}

impl Place {
    pub fn conversation(&self) -> Option<ConversationId> {
        match self {
            Self::NewConversation { id, .. } | Self::Conversation(id) => Some(*id),
            Self::Nowhere => None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct NewRun {
    pub run: RunId,
    pub user: UserId,
    pub owner: String,
    pub setup: RunSetup,
    pub place: Place,
    /// The user's message; absent where the client keeps the history.
    pub message: Option<Message>,
    /// The `run.started` event, with sequence number 1.
    pub started: Arc<Recorded>,
    pub key: Option<IdempotencyKey>,
}

/// Makes a repeated request find the run that the first one started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub route: String,
    pub key: String,
    /// A hash over method, route and body.
    pub fingerprint: String,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Opened {
    New {
        epoch: u64,
        /// The conversation before the message that started the run.
        history: Vec<Message>,
    },
    /// The same request was made before; this is its run.
    Replayed { run: RunId },
}

/// How soon a batch must be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// A caller waits.
    Now,
    /// May wait a few milliseconds for company.
    Soon,
}

pub type OnCommit = Box<dyn FnOnce(&[Arc<Recorded>]) + Send>;

/// Facts of one run that become durable together, and what changes with them.
///
/// A driver gives the journal facts, and the journal gives the store numbered events under the claim of the writer.
#[derive(Debug, Clone)]
pub struct Append<E = Arc<Recorded>, W = RunWriter> {
    /// For the store: numbered without gaps from the last event that the writer knows of.
    pub events: Vec<E>,
    /// When facts that the journal dates happened; now, if absent.
    pub at: Option<Timestamp>,
    pub state: Option<RunState>,
    /// The assistant's message, once the run is over.
    pub message: Option<Message>,
    pub full_outputs: Vec<FullOutput>,
    pub files: Vec<KeptFile>,
    pub writer: W,
}

/// What a driver gives the journal.
pub type NewFacts = Append<Fact, ()>;

/// Under which claim events are written, and who is told.
pub struct RunWriter {
    pub run: RunId,
    /// The claim under which the writer owns the run.
    pub epoch: u64,
    /// Called after the commit and before the future resolves.
    pub on_commit: Option<OnCommit>,
}

impl fmt::Debug for RunWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunWriter")
            .field("run", &self.run)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl<E> Append<E, ()> {
    /// Names the writer of the events.
    pub fn for_writer(self, writer: RunWriter) -> Append<E> {
        let Self { events, at, state, message, full_outputs, files, writer: () } = self;
        Append { events, at, state, message, full_outputs, files, writer }
    }
}

impl<E> Default for Append<E, ()> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<E> From<E> for Append<E, ()> {
    fn from(event: E) -> Self {
        vec![event].into()
    }
}

impl<E> From<Vec<E>> for Append<E, ()> {
    fn from(events: Vec<E>) -> Self {
        Self { events, at: None, state: None, message: None, full_outputs: vec![], files: vec![], writer: () }
    }
}

/// An output too large for the log, kept beside it.
#[derive(Debug, Clone)]
pub struct FullOutput {
    pub call: CallId,
    pub text: Arc<str>,
}

#[derive(Debug, Clone)]
pub struct Claimed {
    pub epoch: u64,
    pub record: RunRecord,
    /// The conversation before the message that started the run.
    pub history: Vec<Message>,
    pub events: Vec<Recorded>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    pub run: RunId,
    pub user: UserId,
    pub conversation: Option<ConversationId>,
    pub state: RunState,
    pub setup: RunSetup,
    pub last_seq: u64,
    /// How often a start of the server took it up since it last made progress.
    pub resumes: u32,
    /// By its steps so far.
    pub spent: Spent,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// What all runs of a day have used up so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DayUsed {
    /// Those of one user.
    pub user: Used,
    /// Those of one agent.
    pub agent: Used,
    /// Those of everybody.
    pub all: Used,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conversation {
    pub id: ConversationId,
    pub user: UserId,
    pub title: String,
    pub messages: u64,
    /// By all its runs so far, the one that is not over included.
    pub spent: Spent,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The run that is not over, if there is one.
    pub active_run: Option<RunId>,
}

/// The ledger row of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    pub call: ToolCall,
    pub run: RunId,
    pub step: u32,
    pub state: CallState,
    pub attempt: u32,
    pub effect: Option<Effect>,
    pub version: Option<String>,
    pub trail: Trail,
    /// Why it gave no output.
    pub failure: Option<FailureKind>,
    /// The same in words; also of a call that was cut off in flight.
    pub problem: Option<String>,
    /// The size of its whole output.
    pub output_bytes: Option<u64>,
    pub requested_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// A question to a person, as a durable object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    pub run: RunId,
    pub user: UserId,
    #[serde(flatten)]
    pub question: Question,
    pub asked_at: Timestamp,
    /// Of approvers, until it was answered and since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
    /// Those may answer, too, who are asked when nobody does for long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub escalated: bool,
    #[serde(flatten)]
    pub state: ApprovalState,
}

impl Approval {
    pub fn id(&self) -> ApprovalId {
        self.question.approval
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Answered {
        answer: Answer,
        by: String,
        answered_at: Timestamp,
    },
    /// The run ended before it was answered.
    Withdrawn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalFilter {
    /// Those that wait, longest first.
    Pending(Page),
    /// Those of one run that wait: never many.
    PendingOf(RunId),
    /// Those that wait for named approvers, longest first.
    WithApprovers(Page),
    /// Newest first.
    All(Page),
}

/// An access token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Token {
    /// The public half; it names the token in lists and logs.
    pub id: String,
    /// SHA-256 of the secret half: it has 256 random bits, so a fast hash is right.
    #[serde(skip)]
    pub secret_hash: [u8; 32],
    pub user: UserId,
    pub rights: TokenRights,
    /// Whom it may act for besides its user. With the right `admin` it may act for everybody.
    pub act_for: ActFor,
    pub note: String,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// The users that a token may act for: what it starts is theirs, and counts against their limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActFor {
    #[default]
    #[serde(rename = "nobody")]
    OnlySelf,
    Users(Vec<UserId>),
    Everybody,
}

impl ActFor {
    pub fn covers(&self, user: &UserId) -> bool {
        match self {
            Self::OnlySelf => false,
            Self::Users(users) => users.contains(user),
            Self::Everybody => true,
        }
    }

    /// Reads `*`, or names divided by commas.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        match text.trim() {
            "" => Ok(Self::OnlySelf),
            "*" => Ok(Self::Everybody),
            _ => names
                .map(|name| match name {
                    "*" => Err("write `*` alone, for everybody".to_owned()),
                    name => UserId::parse(name).map_err(|error| format!("`{name}`: {error}")),
                })
                .collect::<Result<_, _>>()
                .map(Self::Users),
        }
    }
}

/// As `parse` reads it.
impl std::fmt::Display for ActFor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OnlySelf => Ok(()),
            Self::Everybody => f.write_str("*"),
            Self::Users(users) => {
                let names: Vec<&str> = users.iter().map(|user| user.0.as_str()).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenRights {
    Chat,
    /// Everything, other people's things included.
    Admin,
}

impl TokenRights {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Chat, Self::Admin].into_iter().find(|rights| rights.as_str() == text)
    }
}

/// What a user keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// Runs that wait for a person or a client.
    pub waiting_runs: u64,
    /// Bytes of conversations, logs, outputs and files.
    pub bytes: u64,
}
