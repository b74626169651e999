//! One tool call, from the model's words to a recorded outcome.
//!
//! resolve → check → hooks → judge → admit → run → fallback → hooks → bound, and around all of it: record.
//!
//! Owns the order of the stages. Knows neither HTTP nor SQL, nor which model asked.

mod client_result;
mod fallback;
mod labels;
mod record;
pub(crate) mod run;
mod subagent_result;
mod unknown;

use std::sync::Arc;

use helve_policy::Rules;
use helve_types::{CallId, Failure, FailureKind, Question, Reason, Stage, ToolCall, ToolOutput, Trail};
use tokio::time::Instant;

use crate::allowances::apply_allowances;
use crate::bound::{SideRecords, bound_failure, bound_output};
use crate::check::{Expected, check_arguments};
use crate::gate::{
    Candidate, admit_call, ask_about_invalid, ask_about_repetition, check_not_denied, judge_call,
};
use crate::link::Given;
use crate::outcome::Stop;
use crate::permit::why_not_sent_again;
use crate::{CallContext, Fault, Hooks, Outcome, Registered, Registry, SentBefore, Unknown};

pub use self::client_result::ClientReport;
use self::record::OutcomeRecord;
pub use self::subagent_result::SubagentReport;
use self::unknown::rule_for_unknown;

/// The only way to run a tool.
pub struct Pipeline {
    rules: Rules,
    hooks: Arc<Hooks>,
    others: Option<Others>,
}

/// The tools side those of a run: they may stand in for those, or look into what became of their calls.
struct Others {
    registry: Arc<Registry>,
    /// Consent to call a tool is no consent to call what stands in for it.
    rules: Rules,
}

impl Pipeline {
    pub fn new(rules: Rules) -> Self {
        Self { rules, hooks: Arc::default(), others: None }
    }

    /// What the operator wants asked around every call.
    #[must_use]
    pub fn with_hooks(self, hooks: Arc<Hooks>) -> Self {
        Self { hooks, ..self }
    }

    /// Tools that a run does not have may stand in for those that it has, and check what became of their calls, as
    /// these rules allow.
    #[must_use]
    pub fn with_stand_ins(self, registry: Arc<Registry>, rules: Rules) -> Self {
        Self { others: Some(Others { registry, rules }), ..self }
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whether a hook is asked before or after the agent's calls of this tool.
    pub(crate) fn has_hooks_about(&self, tool: &str, agent: &str) -> bool {
        self.hooks.has_call_hooks(tool, agent)
    }

    /// Every call gets exactly one outcome, also a refused one; it is recorded when this returns.
    pub async fn execute_call(&self, call: &ToolCall, cx: &CallContext) -> Result<Outcome, Fault> {
        self.run_and_record(call, None, cx).await
    }

    /// The same for a call that was in flight when the server stopped and may be sent again: whatever keeps it
    /// from an answer now, it may have happened then.
    pub async fn resend_call(
        &self,
        call: &ToolCall,
        before: SentBefore,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let because = "the server stopped while the call was in flight";
        if let Some(why) = why_not_sent_again(cx.attempts_before, before.first_at, cx.journal.now()) {
            return self.record_unknown(call, before.at, format!("{because}; {why}"), cx).await;
        }
        let doubt = Unknown::new(before.at, because, rule_for_unknown(call, cx));
        self.run_and_record(call, Some(doubt), cx).await
    }

    /// Puts a call before a person, also where no rule would ask: one that repeats itself. Also a call that cannot be
    /// made, because its tool does not exist, its arguments do not fit or a rule forbids it: a model that repeats that
    /// gets nowhere either, and a person's yes only lets it be refused once more.
    pub async fn ask_about_repetition(
        &self,
        call: &ToolCall,
        because: Reason,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let mut trail = Trail::default();
        let outcome = match self.prepare_question(call, &because, cx, &mut trail).await {
            Ok(question) => Outcome::Asked(question),
            Err(stop) => match stop.into_outcome()? {
                Outcome::Refused(why) if why.kind != FailureKind::Cancelled => {
                    Outcome::Asked(ask_about_invalid(call, &because, &why, cx))
                }
                other => other,
            },
        };
        let (outcome, full_output) = bound_failure(outcome, &call.id, cx);
        let side = SideRecords { full_output, ..SideRecords::default() };
        self.record_outcome(&call.id, OutcomeRecord::new(outcome, trail, side), cx).await
    }

    async fn prepare_question(
        &self,
        call: &ToolCall,
        because: &Reason,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<Question, Stop> {
        let tool = resolve_tool(call, cx, trail)?;
        let candidate = check_call_arguments(tool, call, Given::Written, trail).await?;
        let candidate = self.hooks.run_before_call(candidate, cx, trail).await?;
        let judgement = judge_call(&self.rules, &candidate, cx);
        Ok(ask_about_repetition(judgement, &candidate, because, cx)?)
    }

    /// Whether a person may put these arguments in the place of those that they were asked about.
    pub async fn check_edit(&self, tool: &str, arguments: &str, cx: &CallContext) -> Result<(), Failure> {
        let (tool, _) = cx.toolbox.resolve(tool)?;
        let candidate = check_written_arguments(tool, arguments, Given::Written).await?;
        check_not_denied(&judge_call(&self.rules, &candidate, cx), &candidate)
    }

    async fn run_and_record(
        &self,
        call: &ToolCall,
        doubt: Option<Unknown>,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let began = Instant::now();
        let mut trail = Trail::default();
        let attempted = self.attempt_call(call, cx, &mut trail).await;
        let (outcome, side) = match attempted {
            Ok((output, side)) => (Outcome::Finished(output), side),
            Err(stop) => {
                let outcome = self.outcome_after_failure(stop, doubt, call, cx).await?;
                let (outcome, full_output) = bound_failure(outcome, &call.id, cx);
                let (outcome, side) =
                    self.label_outcome(outcome, tool_in_trail(&trail, cx).map(|tool| &**tool), &trail, cx);
                (outcome, SideRecords { full_output, ..side })
            }
        };
        let took = began.elapsed();
        if let Some(tool) = tool_in_trail(&trail, cx) {
            tool.counters.count_call(&outcome, &trail, took);
        }
        crate::log::log_outcome(&outcome, &trail, took);
        cx.world.failpoint("tool.before_outcome");
        let outcome = self.record_outcome(&call.id, OutcomeRecord::new(outcome, trail, side), cx).await?;
        cx.world.failpoint("tool.after_outcome");
        Ok(outcome)
    }

    async fn attempt_call(
        &self,
        call: &ToolCall,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<(ToolOutput, SideRecords), Stop> {
        let tool = resolve_tool(call, cx, trail)?; // UnknownTool
        let candidate = check_call_arguments(tool, call, given(cx), trail).await?; // BadArguments
        let candidate = self.hooks.run_before_call(candidate, cx, trail).await?; // by a hook: changed or Denied
        let judgement = judge_call(&self.rules, &candidate, cx); // Allow | Ask | Deny, pure
        let judgement = apply_allowances(judgement, &candidate, cx).await; // what a person allowed before is not asked
        let edit = self.hooks.run_before_edited_call(&candidate, &judgement, cx, trail).await?; // what a person wrote into it
        let permit = admit_call(judgement, candidate, edit, &self.rules, cx, trail)?; // Denied, or a person is asked
        let ran = self.run_with_fallback(&permit, cx, trail).await; // Limited, Unavailable, Failed, TimedOut, unknown, delegated
        tool.drop_stale_answers(cx); // also after a failure: the write may have happened
        let answered = self.attach_check(ran, &permit, cx).await?;
        let labels = labels::label_answer(&answered, tool);
        let output = self.hooks.run_after_call(answered, &permit, cx, trail).await; // by a hook: changed or withheld
        let output = ToolOutput { labels: Some(labels), ..output };
        Ok(bound_answer(output, tool, cx, trail))
    }

    /// Records an outcome that came from elsewhere: from a person, or from the run itself.
    pub async fn settle_call(
        &self,
        call: &CallId,
        outcome: Outcome,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let (outcome, side) = match outcome {
            Outcome::Finished(output) => {
                let bytes_max = crate::Guards::default().output_bytes_max;
                let (output, side) = bound_output(output, bytes_max, call, cx);
                (Outcome::Finished(output), side)
            }
            other => {
                let (other, full_output) = bound_failure(other, call, cx);
                (other, SideRecords { full_output, ..SideRecords::default() })
            }
        };
        let record = OutcomeRecord::new(outcome, Trail::default(), side).resuming_run();
        self.record_outcome(call, record, cx).await
    }
}

fn resolve_tool<'a>(
    call: &ToolCall,
    cx: &'a CallContext,
    trail: &mut Trail,
) -> Result<&'a Arc<Registered>, Failure> {
    let (tool, stage) = cx.toolbox.resolve(&call.name)?;
    trail.push(stage);
    Ok(tool)
}

async fn check_call_arguments(
    tool: &Arc<Registered>,
    call: &ToolCall,
    given: Given,
    trail: &mut Trail,
) -> Result<Candidate, Failure> {
    let checked = check_written_arguments(tool, &call.arguments, given).await;
    let problem = checked.as_ref().err().map(|failure| failure.message.clone());
    let more = checked.as_ref().ok().and_then(|candidate| candidate.arguments.repair);
    let repairs = call.repairs.iter().map(String::as_str).chain(more).map(str::to_owned).collect();
    trail.push(Stage::Check { problem, repairs });
    checked
}

/// A call of the tool with these arguments, if they fit.
async fn check_written_arguments(
    tool: &Arc<Registered>,
    written: &str,
    given: Given,
) -> Result<Candidate, Failure> {
    let arguments = check_arguments(Expected::of(tool, given), written).await?;
    Ok(Candidate { tool: tool.clone(), changed: arguments.completed, arguments })
}

/// Whether the arguments of the call are on record as they were asked about or sent, which is after hooks were asked.
fn given(cx: &CallContext) -> Given {
    let was_asked = cx.grant.as_ref().is_some_and(|grant| !grant.binding.is_empty());
    if was_asked || cx.attempts_before > 0 { Given::Recorded } else { Given::Written }
}

fn bound_answer(
    output: ToolOutput,
    tool: &Registered,
    cx: &CallContext,
    trail: &mut Trail,
) -> (ToolOutput, SideRecords) {
    let (output, side) = bound_output(output, tool.guarding.settings.output_bytes_max, &cx.call, cx);
    if let Some(whole) = &side.full_output {
        let (whole_bytes, kept_bytes) = (whole.len() as u64, output.text.len() as u64);
        trail.push(Stage::Bound { whole_bytes, kept_bytes });
    }
    (output, side)
}

/// The tool that a trail is about, for its counters.
fn tool_in_trail<'a>(trail: &Trail, cx: &'a CallContext) -> Option<&'a Arc<Registered>> {
    trail.0.iter().find_map(|stage| match stage {
        Stage::Resolve { tool, .. } => cx.toolbox.find(tool),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
