//! The answer of `POST /api/agent` in one piece.

use futures_util::StreamExt;
use helve_runtime::{Frame, StartedRun};
use helve_store::Scope;
use helve_types::{CallId, CallState, Ending, Fact, Notice, Question, RunState, Spent, SubagentAnswered};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::problem::Problem;
use crate::protocols::call_words::word_in_answer;
use crate::protocols::tool_failure::ToolFailure;

/// The whole answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentAnswer {
    content: String,
    thinking: String,
    run: String,
    conversation: Option<String>,
    state: RunState,
    #[serde(flatten)]
    spent: Spent,
    tools: Vec<AgentToolView>,
    /// Why a completed run ended: with `step_limit` the steps ran out and the last answer was given without tools;
    /// with `without_call` a call was required and the model answered in words; with `repeating` the run went round in
    /// circles and a person ended it; with `refused` a person refused a call and the agent has `end_when_refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<Ending>,
    /// The questions that a waiting run waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<Question>,
    /// Why the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The same as a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    /// What exactly it was, where the code says less.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_notice: Option<Notice>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentToolView {
    #[serde(skip)]
    call: Option<CallId>,
    name: String,
    /// `requested`, `done`, `failed` or `unknown`.
    state: &'static str,
    /// Why there is no output.
    #[serde(flatten)]
    failure: Option<ToolFailure>,
}

/// Follows the run until it is over or waits for a person or a client.
pub(super) async fn read_answer(app: &App, started: StartedRun) -> Result<AgentAnswer, Problem> {
    let mut whole = AgentAnswer::new(&started);
    let StartedRun { run, mut follower, .. } = started;
    let add = |all: &mut String, more: &str| {
        if !all.is_empty() {
            all.push_str("\n\n");
        }
        all.push_str(more);
    };
    while let Some(frame) = follower.next().await {
        let Frame::Event(recorded) = frame? else { continue };
        match &recorded.event.fact {
            Fact::TextFinished { text, .. } => add(&mut whole.content, text),
            Fact::ReasoningFinished { text, .. } => add(&mut whole.thinking, text),
            fact @ (Fact::StepFinished { .. } | Fact::StepRestarted { .. }) => {
                whole.spent = whole.spent.plus(Spent::from_fact(fact).unwrap_or_default());
            }
            Fact::ToolRequested { call, tool, .. } => whole.tools.push(AgentToolView {
                call: Some(call.clone()),
                name: tool.clone(),
                state: word_in_answer(CallState::Requested),
                failure: None,
            }),
            Fact::ToolFinished { call, .. } => whole.end_call(call, CallState::Finished, None),
            Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
                whole.end_call(call, CallState::Failed, Some(failure.into()));
            }
            Fact::ToolUnknown { call, because, .. } => {
                whole.end_call(call, CallState::Unknown, Some(ToolFailure::unknown(because)));
            }
            Fact::ApprovalAsked(question) => whole.approvals.push(question.clone()),
            Fact::SubagentAsked(asked) => whole.approvals.push((*asked.question).clone()),
            Fact::SubagentEnded(ended) => {
                let is_of_run =
                    |question: &Question| question.asker.as_ref().is_some_and(|asker| asker.run == ended.run);
                whole.approvals.retain(|question| !is_of_run(question));
            }
            Fact::SubagentAnswered(SubagentAnswered { approval, .. })
            | Fact::ApprovalAnswered { approval, .. } => {
                whole.approvals.retain(|question| question.approval != *approval);
            }
            Fact::RunWaiting { state } => {
                whole.state = *state;
                // The log of an older run may go on from here.
                if app.runtime.store().run(Scope::Everyone, run).await?.last_seq == recorded.event.seq {
                    break;
                }
            }
            Fact::RunFinished { ending } => {
                whole.state = RunState::Completed;
                whole.ending = Some(*ending);
            }
            Fact::RunCancelled(_) => whole.state = RunState::Cancelled,
            Fact::RunFailed { code, message, notice } => {
                whole.state = RunState::Failed;
                whole.error_code = Some(code.clone());
                whole.error = Some(message.clone());
                whole.error_notice = notice.as_deref().cloned();
            }
            _ => {}
        }
    }
    if whole.state.is_final() {
        whole.approvals.clear();
    }
    Ok(whole)
}

impl AgentAnswer {
    /// Before the first event.
    fn new(started: &StartedRun) -> Self {
        Self {
            content: String::new(),
            thinking: String::new(),
            run: started.run.to_string(),
            conversation: started.conversation.map(|id| id.to_string()),
            state: RunState::Running,
            spent: Spent::default(),
            tools: vec![],
            ending: None,
            approvals: vec![],
            error: None,
            error_code: None,
            error_notice: None,
        }
    }

    fn end_call(&mut self, call: &CallId, state: CallState, failure: Option<ToolFailure>) {
        if let Some(tool) = self.tools.iter_mut().find(|tool| tool.call.as_ref() == Some(call)) {
            tool.state = word_in_answer(state);
            tool.failure = failure;
        }
    }
}
