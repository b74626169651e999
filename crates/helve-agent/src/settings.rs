//! What the operator decides about the runs of a process.

use std::sync::Arc;
use std::time::Duration;

use helve_dialect::Profile;
use helve_guard::AdmissionSettings;
use helve_store::Disk;
use helve_tool::{Hooks, Rule};
use helve_types::ApprovalId;

use crate::agents::AgentSettings;
use crate::budget::Budgets;
use crate::compact::CompactionSettings;
use crate::run::CALLS_PER_STEP_MAX;
use crate::subagents::SubagentLimits;

/// How a runtime works.
#[derive(Clone)]
pub struct RuntimeSettings {
    pub agents: Vec<AgentSettings>,
    /// The operator's rules, which hold for every agent.
    pub rules: Vec<Rule>,
    /// What the operator wants asked around calls and questions.
    pub hooks: Arc<Hooks>,
    /// The operator's own prompt profiles.
    pub profiles: Vec<Arc<Profile>>,
    /// How tools are described to models that cannot call them natively.
    pub default_profile: String,
    /// What is done about conversations that become too long for their model.
    pub compaction: CompactionSettings,
    /// How much one user may keep before the next run is refused.
    pub share: ShareSettings,
    /// How many runs are at work at a time, in all and of each user, and how many more may wait to begin.
    pub runs: AdmissionSettings,
    /// Whether there is room for more.
    pub disk: Arc<Disk>,
    /// Calls of one run that are under way at a time; the others wait.
    pub parallel_calls_max: usize,
    /// More calls of one message than this are refused.
    pub calls_per_message_max: u32,
    /// How long a step may take to get its answer, with all that is tried for it.
    pub step_time_max: Duration,
    /// How many runs of subagents there may be.
    pub subagents: SubagentLimits,
    /// What runs may use up.
    pub budgets: Budgets,
    /// Who wants to know of questions to people.
    pub on_asked: Option<OnAsked>,
    /// Whether command lines are at work beside this process, so that a call of theirs is not taken for one that was
    /// left behind.
    pub commands_at_work: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The server before this one was stopped and did not crash, so no run that was at work may be why.
    pub stopped_cleanly: bool,
}

/// Called with every question that is on record, from wherever it was put there: it must not wait.
pub type OnAsked = Arc<dyn Fn(ApprovalId) + Send + Sync>;

/// What one user may keep. A run is refused before it begins and never afterwards, so runs that are at work may go over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareSettings {
    /// Runs that wait for a person or a client.
    pub waiting_runs_max: u64,
    /// Bytes of conversations, logs, outputs and files.
    pub bytes_max: u64,
}

impl Default for ShareSettings {
    fn default() -> Self {
        Self { waiting_runs_max: 500, bytes_max: 8 << 30 }
    }
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        Self {
            agents: vec![AgentSettings::default()],
            rules: vec![],
            hooks: Arc::default(),
            profiles: vec![],
            default_profile: "json_strict".into(),
            compaction: CompactionSettings::default(),
            share: ShareSettings::default(),
            runs: AdmissionSettings { all: 200, each: 20, queue_max: 1_000, wait: Duration::from_secs(10) },
            disk: Arc::default(),
            parallel_calls_max: 4,
            calls_per_message_max: CALLS_PER_STEP_MAX,
            step_time_max: Duration::from_secs(600),
            subagents: SubagentLimits::default(),
            budgets: Budgets::default(),
            on_asked: None,
            commands_at_work: Arc::new(|| false),
            stopped_cleanly: false,
        }
    }
}
