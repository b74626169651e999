//! What the operator has put around calls and questions: hooks, which may look, change and refuse.
//!
//! Owns who is asked when, in which order and for how long, and what a hook that fails means. `calls` is what happens
//! around a tool call, `questions` what happens before a model is asked, `steps` what happens around a step. Knows
//! nothing of how a hook is reached: Rust, HTTP or a command are all the same here.

mod calls;
mod questions;
mod steps;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use helve_policy::matches_wildcard;
use helve_types::{CallId, ConversationId, ModelParams, RunId, SnapshotId, ToolOutput, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bound::display_within;

pub use self::questions::HookRefusal;

/// Something of the operator's that is asked at certain points.
///
/// An implementer promises that dropping the future stops the work. It is asked only at the points it was put at,
/// one question at a time for each call, and its answer is waited for no longer than its time.
pub trait Hook: Send + Sync + 'static {
    /// Before a call is judged and made: may give other arguments, which must fit the tool as well.
    fn before_call<'a>(&'a self, _call: &'a HookCall<'a>) -> HookFuture<'a, Value> {
        no_change()
    }

    /// Before an output is delivered, also one from the cache: may give another. To refuse is to withhold it.
    fn after_call<'a>(
        &'a self,
        _call: &'a HookCall<'a>,
        _output: &'a ToolOutput,
    ) -> HookFuture<'a, ChangedOutput> {
        no_change()
    }

    /// Before a step's question: may give another system prompt.
    fn system_prompt<'a>(
        &'a self,
        _question: &'a HookQuestion<'a>,
        _system: &'a str,
    ) -> HookFuture<'a, String> {
        no_change()
    }

    /// Before a step's question: may give parameters, which are laid over those there are.
    fn params<'a>(
        &'a self,
        _question: &'a HookQuestion<'a>,
        _params: &'a ModelParams,
    ) -> HookFuture<'a, ModelParams> {
        no_change()
    }

    /// Before the model is asked for a step's message: may take a snapshot. A refusal counts as a failure.
    fn before_step<'a>(&'a self, _step: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        no_change()
    }

    /// When the calls of a step's message are done: may take a snapshot. A refusal counts as a failure.
    fn after_step<'a>(&'a self, _step: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        no_change()
    }
}

pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = Result<HookReply<T>, HookError>> + Send + 'a>>;

fn no_change<'a, T: Send + 'a>() -> HookFuture<'a, T> {
    Box::pin(std::future::ready(Ok(HookReply::Nothing)))
}

/// What a hook says.
#[derive(Debug, Clone, PartialEq)]
pub enum HookReply<T> {
    Nothing,
    Change(T),
    /// With the reason.
    Refuse(String),
}

/// A hook could not be asked, or said nothing that can be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// The call that a hook is asked about.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct HookCall<'a> {
    pub call: &'a CallId,
    pub tool: &'a str,
    /// The tool that runs or ran, where another one stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<&'a str>,
    pub arguments: &'a Value,
    pub run: RunId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    pub agent: &'a str,
    pub user: &'a UserId,
}

/// The question to a model that a hook is asked about.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct HookQuestion<'a> {
    pub run: RunId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    pub agent: &'a str,
    pub user: &'a UserId,
    pub model: &'a str,
    pub step: u32,
}

/// What a hook makes of an output; what it does not give stays.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangedOutput {
    /// Another text. The value beside it, which may say what the old text said, goes unless it is given too.
    pub text: Option<String>,
    pub data: Option<Value>,
    pub title: Option<String>,
    pub metadata: Option<Value>,
    /// The names of those files and attachments that stay; an empty list drops all.
    pub files: Option<Vec<String>>,
}

/// Where a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    BeforeCall,
    AfterCall,
    SystemPrompt,
    Params,
    BeforeStep,
    AfterStep,
}

impl HookPoint {
    /// Whether the point is at an end of a step, where a failure has no consequence but a notice.
    pub fn is_step(self) -> bool {
        matches!(self, Self::BeforeStep | Self::AfterStep)
    }
}

/// What it means that a hook could not be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The same as if it had refused.
    Refuse,
    /// The same as if it had said nothing.
    Continue,
}

/// When a hook is asked, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSettings {
    pub name: String,
    pub points: Vec<HookPoint>,
    /// Patterns of names, in which `*` stands for anything; none means every tool.
    pub tools: Vec<String>,
    /// The same for agents.
    pub agents: Vec<String>,
    pub timeout: Duration,
    pub on_failure: OnFailure,
}

impl HookSettings {
    fn applies_to(&self, point: HookPoint, agent: &str) -> bool {
        self.points.contains(&point) && matches_any(&self.agents, agent)
    }

    fn applies_to_tool(&self, tool: &str) -> bool {
        matches_any(&self.tools, tool)
    }
}

fn matches_any(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches_wildcard(pattern, name))
}

/// All hooks, in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Hooks {
    placed: Vec<OrderedHook>,
}

#[derive(Clone)]
struct OrderedHook {
    settings: HookSettings,
    hook: Arc<dyn Hook>,
}

impl Hooks {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a hook, to be asked after those that are there.
    #[must_use]
    pub fn with_hook(mut self, settings: HookSettings, hook: Arc<dyn Hook>) -> Self {
        self.placed.push(OrderedHook { settings, hook });
        self
    }

    pub fn is_empty(&self) -> bool {
        self.placed.is_empty()
    }

    fn hooks_at<'a>(&'a self, point: HookPoint, agent: &'a str) -> impl Iterator<Item = &'a OrderedHook> {
        self.placed.iter().filter(move |placed| placed.settings.applies_to(point, agent))
    }
}

impl OrderedHook {
    fn name(&self) -> &str {
        &self.settings.name
    }

    /// Asks within the hook's time. What it says in vain counts as what its settings say.
    async fn ask_in_time<T>(&self, work: HookFuture<'_, T>) -> HookResult<T> {
        match self.wait_for_answer(work).await {
            Ok(HookReply::Nothing) => HookResult::Nothing,
            Ok(HookReply::Change(change)) => HookResult::Change(change),
            Ok(HookReply::Refuse(reason)) => HookResult::Refused(display_within(&reason, REASON_BYTES_MAX)),
            Err(problem) => self.result_after_failure(&problem.to_string()),
        }
    }

    /// Waits for an answer as long as the hook may take.
    async fn wait_for_answer<T>(&self, work: HookFuture<'_, T>) -> Result<HookReply<T>, HookProblem> {
        let work = AssertUnwindSafe(work).catch_unwind();
        match tokio::time::timeout(self.settings.timeout, work).await {
            Err(_) => Err(HookProblem::TimedOut(self.settings.timeout)),
            Ok(Err(_)) => Err(HookProblem::Failed("it broke down".into())),
            Ok(Ok(said)) => said.map_err(|error| HookProblem::Failed(error.to_string())),
        }
    }

    fn result_after_failure<T>(&self, problem: &str) -> HookResult<T> {
        tracing::warn!(hook = self.name(), problem, then = ?self.settings.on_failure, "hook failed");
        match self.settings.on_failure {
            OnFailure::Refuse => HookResult::Failed,
            OnFailure::Continue => HookResult::FailedButGoOn,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum HookProblem {
    #[error("it did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("{0}")]
    Failed(String),
}

/// How long the reason of a refusal may be; the rest is cut.
const REASON_BYTES_MAX: usize = 2 << 10;
/// How large a system prompt may be as a hook leaves it: it is sent with every step.
const SYSTEM_BYTES_MAX: usize = 1 << 20;

/// What comes of asking one hook.
enum HookResult<T> {
    Nothing,
    Change(T),
    Refused(String),
    /// It could not be asked, which counts as a no.
    Failed,
    FailedButGoOn,
}
