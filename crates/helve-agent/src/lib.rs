//! One run: the pure machine that decides, and the driver that acts.
//!
//! `run` decides and `drive` acts: `step` asks the model, `calls` runs tools, `driven` is the run that both work on.
//! `transcript` and `ask` say what the model is shown; `feed` and `follow` let any number of readers watch. `environment`
//! and `context` are what drivers share. Which runs have a driver is known to `helve-runtime`. Knows the ports, not what is
//! behind them: no vendor, no SQL, no HTTP.

mod agents;
mod ask;
mod budget;
mod calls;
mod client_results;
mod command;
mod compact;
mod context;
mod drive;
mod driven;
mod environment;
mod feed;
mod follow;
mod leases;
mod metrics;
mod probe;
mod run;
mod settings;
mod skills;
mod step;
mod subagents;
mod transcript;

pub use agents::{
    ALL_SKILLS, Agent, AgentCatalogue, AgentChange, AgentDraftKind, AgentDraftRow, AgentError, AgentImport,
    AgentImportError, AgentRow, AgentRowKind, AgentSettings, ComparedVersion, ListedAgent, RunTools,
    VersionPair, agent_differences, check_budget, read_agent,
};
pub use budget::{Account, BudgetOwner, Budgets, Limits, find_exhausted_budget};
pub use calls::call_span;
pub use client_results::{ClientClaim, ClientResult};
pub use command::{BY_TIME, Command, CommandError, Reply};
pub use compact::CompactionSettings;
pub use context::{DriverContext, Shutdown};
pub use drive::{DirectCall, DriveError, DriveOutcome, Driver, DriverParts, StepHold, ending_facts};
pub use driven::background_notice;
pub use environment::Environment;
pub use feed::{Feed, Feeds, Frame};
pub use follow::Follower;
pub use helve_guard::{AdmissionSettings, AdmissionStatus};
pub use helve_model::Model;
pub use helve_model::fleet::{
    ChooseError, ModelCounters, ModelMetrics, ModelOptions, Models, Origin, PerMillion, Price, PriceSource,
};
pub use leases::Leases;
pub use metrics::{BudgetCounters, BudgetMetrics, RunCounters, RunMetrics};
pub use probe::ProbeError;
pub use run::{
    CallAction, Flaw, ModelMessage, ModelMessageCall, ModelMessagePart, Run, SAID_BYTES_MAX, Step, Tools,
};
pub use settings::{OnAsked, RuntimeSettings, ShareSettings};
pub use skills::{
    ComparedSkill, ListedSkill, SkillCatalogue, SkillCatalogueError, SkillFolder, SkillOffer, SkillRow,
    SkillRowKind, SkillVersionPair, skills_prompt,
};
pub use subagents::{OpenSubagentError, SubagentHost, SubagentLimits, SubagentTask, show_progress};
pub use transcript::{Reader, transcript};
