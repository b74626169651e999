//! Calls whose outcome is unknown: what can be found out about them, and who is told.
//!
//! What was sent is shown as it was, the tool's check tool is asked, and both go with the outcome to the decider: a
//! person, or the model. What may be sent again at all is decided elsewhere (`permit/retry`).

use std::sync::Arc;

use helve_types::{Effect, OnUnknown, Timestamp, ToolCall, Trail};

use super::record::OutcomeRecord;
use super::run::ToolAnswer;
use super::{Pipeline, bound_answer, check_written_arguments, resolve_tool};
use crate::gate::{admit_call, build_outcome_question, judge_call, request_preview};
use crate::link::Given;
use crate::outcome::Stop;
use crate::permit::Permit;
use crate::{CallContext, Fault, Outcome, Registered, Unknown};

impl Pipeline {
    /// Records that a call was cut off in flight, together with what its check tool says about it.
    pub async fn record_unknown(
        &self,
        call: &ToolCall,
        sent_at: Timestamp,
        because: String,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let lost = Unknown::new(sent_at, because, rule_for_unknown(call, cx));
        let outcome = self.check_outcome(Outcome::Unknown(lost), call, cx).await;
        let tool = cx.toolbox.resolve(&call.name).ok().map(|(tool, _)| &**tool);
        let (outcome, side) = self.label_outcome(outcome, tool, &Trail::default(), cx);
        // The run may have waited for a client that went silent: now it goes on, also after a crash.
        let record = OutcomeRecord::new(outcome, Trail::default(), side).resuming_run();
        self.record_outcome(&call.id, record, cx).await
    }

    /// Asks a person what became of a call that was cut off, with all that is known of it. Consent to run it again
    /// covers just what the question shows.
    pub async fn ask_outcome(
        &self,
        call: &ToolCall,
        unknown: Unknown,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let mut unseen = Trail::default();
        let tool = resolve_tool(call, cx, &mut unseen).ok();
        let again = match tool {
            Some(tool) => check_written_arguments(tool, &call.arguments, Given::Recorded).await.ok(),
            None => None,
        };
        let question = build_outcome_question(call, unknown, again.as_ref(), &self.rules, cx);
        self.settle_call(&call.id, Outcome::Asked(question), cx).await
    }

    /// The outcome of a call that did not end well, which may have happened before if it is sent again.
    pub(super) async fn outcome_after_failure(
        &self,
        stop: Stop,
        doubt: Option<Unknown>,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let resent = doubt.is_some();
        let outcome = stop.with_earlier_attempt(doubt).into_outcome()?;
        Ok(if resent { self.check_outcome(outcome, call, cx).await } else { outcome })
    }

    /// Adds to the unknown outcome of a call what was sent, and what its check tool says about that.
    pub(super) async fn attach_check<T>(
        &self,
        ran: Result<T, Stop>,
        permit: &Permit,
        cx: &CallContext,
    ) -> Result<T, Stop> {
        match ran {
            Err(Stop::Outcome(outcome)) => match *outcome {
                Outcome::Unknown(unknown) if unknown.checked.is_none() => {
                    let unknown =
                        self.describe_unknown(unknown, &permit.tool, &permit.arguments.canonical, cx).await;
                    Err(Outcome::Unknown(unknown).into())
                }
                other => Err(other.into()),
            },
            ran => ran,
        }
    }

    /// The same for a call that was sent before the server stopped.
    pub(super) async fn check_outcome(&self, outcome: Outcome, call: &ToolCall, cx: &CallContext) -> Outcome {
        match outcome {
            Outcome::Unknown(unknown) if unknown.checked.is_none() => {
                let edited = cx.grant.as_ref().and_then(|grant| grant.edited.as_ref());
                let sent = edited.unwrap_or(&call.arguments);
                Outcome::Unknown(match cx.toolbox.resolve(&call.name) {
                    Ok((tool, _)) => self.describe_unknown(unknown, tool, sent, cx).await,
                    Err(_) => unknown,
                })
            }
            other => other,
        }
    }

    /// What was sent by this tool with these arguments, and what is known of its outcome.
    pub(super) async fn describe_unknown(
        &self,
        unknown: Unknown,
        tool: &Arc<Registered>,
        arguments: &str,
        cx: &CallContext,
    ) -> Unknown {
        let sent = check_written_arguments(tool, arguments, Given::Recorded).await.ok();
        let request = sent.and_then(|sent| request_preview(&sent, cx));
        Unknown { request, checked: self.run_check_tool(tool, arguments, cx).await, ..unknown }
    }

    /// Asks the check tool of a tool, if it has one and nothing forbids it. It only reads, and with the arguments
    /// of a call that is on record, so it is not put on record itself.
    async fn run_check_tool(&self, tool: &Registered, arguments: &str, cx: &CallContext) -> Option<String> {
        let reader =
            self.find_other_tool(tool.spec.check_tool.as_ref()?, cx).filter(|reader| reader.is_usable())?;
        if reader.spec.effect != Effect::Read {
            return None;
        }
        let mut unseen = Trail::default();
        let candidate = check_written_arguments(&reader, arguments, Given::Written).await.ok()?;
        let rules = self.rules_for_others();
        let judgement = judge_call(rules, &candidate, cx);
        let permit = admit_call(judgement, candidate, None, rules, cx, &mut unseen).ok()?;
        Some(match permit.run_check_tool(cx).await? {
            Ok(output) => {
                let answered = ToolAnswer { output, by: reader.clone() };
                let output = self.hooks.run_after_call(answered, &permit, cx, &mut unseen).await;
                bound_answer(output, &reader, cx, &mut unseen).0.text
            }
            Err(problem) => format!("the check failed: {problem}"),
        })
    }
}

/// What the call's tool wants done when the outcome is unknown.
pub(super) fn rule_for_unknown(call: &ToolCall, cx: &CallContext) -> OnUnknown {
    cx.toolbox.resolve(&call.name).map(|(tool, _)| tool.spec.on_unknown).unwrap_or_default()
}
