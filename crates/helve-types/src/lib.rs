//! The nouns of Helve.
//!
//! Owns the vocabulary that every other crate and the web page share: ids, messages and their parts, tool
//! definitions and calls, outcomes, and the events of a run. An event is record and wire at once: the bytes
//! in the journal are the bytes a reader gets. Nothing here does IO, waits, or knows who uses it.

mod always;
mod approvers;
mod call;
mod canonical;
mod compaction;
mod definition;
mod event;
mod fingerprint;
mod grant;
mod hex;
mod histogram;
mod ids;
mod labels;
mod language;
mod live;
mod message;
mod notice;
mod profile;
mod question;
mod reply_form;
mod run;
mod seal;
mod selection;
mod sentences;
mod snapshot;
mod spent;
mod subagent;
mod tool;
mod used;
mod utc;
mod visible;
mod world;

pub use always::{Always, Within};
pub use approvers::{Approvers, Escalation, Vote};
pub use call::{
    Attachment, CallState, Effect, Failure, FailureKind, OutcomeAnswer, OutputFile, PartState, Stage,
    ToolCall, ToolOutput, Trail,
};
pub use canonical::canonical_json;
pub use compaction::{Compaction, Summary};
pub use definition::{
    AgentBudget, AgentDefinition, AgentPermission, AgentSubagent, AgentTexts, AgentTool, AgentToolCache,
    AgentToolConfig, AgentToolLink, Auth, BodyFormat, BreakerTerms, CacheSharing, CacheTerms, CallerField,
    CallerTerms, Endpoint, Fallback, KeyPlace, Method, PermissionAction, RateLimit, SkillDefinition,
    SkillFile, SkillSource, SubagentConfig, ToolDefinition, ToolKind, Transform, subagent_tool_name,
};
pub use event::{Answer, Cancelled, Ending, Event, EventBody, Fact, RunStarted, StopReason, Usage};
pub use fingerprint::Fingerprint;
pub use grant::ToolGrant;
pub use hex::hex;
pub use histogram::{BOUNDS_US, Distribution, Histogram};
pub use ids::{ApprovalId, CallId, ConversationId, IdError, MessageId, PartId, RowId, RunId, UserId};
pub use labels::{CLIENT, Flow, LabelTerms, Labels, Origin, Taint};
pub use language::{ConversationLanguage, Language, has_language, language_of};
pub use live::{Live, PartKind};
pub use message::{CutOff, Message, Part, Role, StepRecord, ToolPart};
pub use notice::{Notice, Reason};
pub use profile::{Answered, Finding, ModelProfile};
pub use question::{About, ApprovalKind, AskedCall, Question};
pub use reply_form::{FormField, FormOption, ReplyForm, TextFormat, UserQuestion};
pub use run::{
    ChatCall, ChatMessage, ChatRole, Mode, ModelParams, PinnedSkill, PinnedTool, RunInput, RunSetup,
    RunState, ToolChoice,
};
pub use seal::Seal;
pub use selection::Selection;
pub use sentences::{Sentence, load_sentences};
pub use snapshot::{SnapshotId, SnapshotIdError, StepEdge, StepSnapshot};
pub use spent::Spent;
pub use subagent::{
    Asker, Granted, ParentCall, SubagentAnswered, SubagentAsked, SubagentEnded, SubagentStarted,
};
pub use tool::{Example, OnUnknown, ToolSpec};
pub use used::{Stopwatch, Used};
pub use visible::{HIDDEN, ORDINARY_IN_PROSE, show_hidden_chars, show_hidden_chars_in_prose};
pub use world::{Clock, FailPoints, Ids, SteadyDate, Timestamp, World};
