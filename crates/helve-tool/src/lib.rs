//! What a tool is, which exist, and the guarded pipeline every call passes.
//!
//! Owns the `Tool` port, the registry of tools, and the `Pipeline`, which is the only way to run one: a tool
//! is run through a `Permit`, and only the gate makes permits. Knows neither HTTP nor SQL, nor which model
//! asked; what a call does to the world is put on record through the run's journal before it is done.

mod allowances;
mod bound;
mod breaker_alerts;
mod catalogue;
mod check;
mod context;
mod early;
mod files;
mod gate;
mod guards;
mod hooks;
mod json;
mod link;
mod log;
mod metrics;
mod misfit;
mod offload;
mod outcome;
mod permit;
mod piece;
mod pipeline;
mod registry;
mod repair;
mod result_document;
mod schema;
mod skills;
mod subagent;
mod tool;
mod toolbox;
mod trust;
mod user_question;

// What guards and rules are made of, for those who configure tools.
pub use helve_guard::{BreakerSettings, LimitSettings};
pub use helve_policy::{
    Action, Ballot, CallAccess, GroupsOf, Pattern, Rule, Rules, Verdict, VoteEffect, VoteRefusal,
    build_conditions, fits_all, matches_wildcard,
};
// What tools may reach of the store.
pub use helve_store::{
    PLANS_MAX, Page, PlanBody, PlanChange, PlanRecord, PlanStatus, PlanStep, StoreError, UserStore,
};

pub use bound::READ_OUTPUT;
pub use breaker_alerts::{AlertReceiver, BreakerAlert, BreakerAlertKind};
pub use catalogue::{
    BuiltTool, Catalogue, CatalogueError, Change, Consent, DefinitionError, FieldChange, FindNeed,
    GuardOverrides, IMPORT_BYTES_MAX, IMPORT_ROWS_MAX, ImportOptions, ImportOutcome, ImportedRow, ListedTool,
    MappedRow, OfferOutcome, RESERVED_NAMES, SecretNeed, ToolBuilder, ToolGrantRow, ToolGrants, ToolOffer,
    ToolRow, ToolRowKind, ToolSource, differences, map_row, merge_patch, parse_rows, read_definition,
    read_json, split_rows, value_differences,
};
pub use context::{CallContext, Grant, Progress, SentBefore, SkippedGuards};
pub use early::{Early, EarlyRead, HeldFacts};
pub use guards::{CachePolicy, CacheScope, Failures, Guards, Limits, Rate, RateTerms};
// What a definition that is kept as a row is, of any kind.
pub use helve_rows::{DefinitionKind, DefinitionRow};
pub use helve_types::{BOUNDS_US, Distribution, Histogram};
pub use hooks::{
    ChangedOutput, Hook, HookCall, HookError, HookFuture, HookPoint, HookQuestion, HookRefusal, HookReply,
    HookSettings, Hooks, OnFailure,
};
pub use json::{JsonBounds, find_duplicate_key};
pub use metrics::ToolMetrics;
pub use offload::run_on_pool;
pub use outcome::{ADVICE, Fault, Outcome, Unknown, outcome_of_answer};
pub use piece::{Piece, cut_piece};
pub use pipeline::{ClientReport, Pipeline, SubagentReport};
pub use registry::{Registered, Registry, RegistryError, ToolStatus};
pub use result_document::ResultDocument;
pub use schema::{
    COMPILE_UNITS_MAX, CompileBudget, PATTERN_BYTES_MAX, PATTERNS_MAX, SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX,
    check_schema, check_schema_within, pattern_units,
};
pub use skills::{LOAD_SKILL, READ_SKILL_FILE, RunSkills, Skill, is_skill_tool};

/// The tool that searches the web, with any provider.
pub const SEARCH_WEB: &str = "search_web";

pub use subagent::{SubagentRequest, SubagentTerms};
pub use tool::{Request, Tool, ToolError, ToolFuture, schema_of};
pub use toolbox::Toolbox;
pub use trust::Trust;
pub use user_question::{
    DECLINE_CHARS_MAX, FIELD_OPTIONS_MAX, FIELDS_MAX, FieldProblem, OPTION_CHARS_MAX, OPTIONS_MAX,
    QUESTION_CHARS_MAX, REPLY_BYTES_MAX, SCHEMA_BYTES_MAX as FORM_SCHEMA_BYTES_MAX, TEXT_CHARS_MAX,
    TypedValue, WrittenQuestion, check_reply, read_question, read_typed, reply_notice,
};
