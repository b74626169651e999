//! One tool call, from the model's words to a recorded outcome.
//!
//! resolve → check → hooks → judge → admit → run → hooks → bound, and around all of it: record.
//!
//! Owns the order of the stages. Knows neither HTTP nor SQL, nor which model asked.

mod brought;
pub(crate) mod instead;
mod labels;

use std::sync::Arc;

use helve_policy::Rules;
use helve_store::Entry;
use helve_types::{
    CallId, Effect, Failure, OnUnknown, Question, RunState, Stage, Timestamp, ToolCall, ToolOutput, Trail,
};
use tokio::time::Instant;

use crate::bound::{Beside, bound};
use crate::check::check;
use crate::gate::{Candidate, admit, ask, ask_outcome, judge, not_denied, shown};
use crate::outcome::Stop;
use crate::permit::{Permit, too_late};
use crate::pipeline::instead::Answered;
use crate::standing::spared;
use crate::{CallContext, Fault, Hooks, Outcome, Registered, Registry, SentBefore, Unknown};

pub use self::brought::Brought;

/// The only way to run a tool.
pub struct Pipeline {
    rules: Rules,
    hooks: Arc<Hooks>,
    others: Option<Others>,
}

/// The tools beside those of a run: they may stand in for those, or look into what became of their calls.
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

    /// Every call gets exactly one outcome, also a refused one; it is on record when this returns.
    pub async fn execute(&self, call: &ToolCall, cx: &CallContext) -> Result<Outcome, Fault> {
        self.run_and_record(call, None, cx).await
    }

    /// The same for a call that was in flight when the server stopped and may be sent again: whatever keeps it
    /// from an answer now, it may have happened then.
    pub async fn resend(
        &self,
        call: &ToolCall,
        before: SentBefore,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let because = "the server stopped while the call was in flight";
        if let Some(why) = too_late(cx.attempts_before, before.first_at, cx.world.now()) {
            return self.lose(call, before.at, format!("{because}; {why}"), cx).await;
        }
        let doubt = Unknown::new(before.at, because, on_unknown(call, cx));
        self.run_and_record(call, Some(doubt), cx).await
    }

    /// Puts a call before a person, also where no rule would ask: one that repeats itself. What is forbidden or does
    /// not fit is refused as ever.
    pub async fn ask(&self, call: &ToolCall, because: String, cx: &CallContext) -> Result<Outcome, Fault> {
        let mut trail = Trail::default();
        let outcome = match self.put(call, because, cx, &mut trail).await {
            Ok(question) => Outcome::Asked(question),
            Err(stop) => stop.outcome()?,
        };
        cx.journal.commit(outcome.entry(&call.id, trail, Beside::default())).await?;
        Ok(outcome)
    }

    async fn put(
        &self,
        call: &ToolCall,
        because: String,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<Question, Stop> {
        let tool = resolve(call, cx, trail)?;
        let candidate = check_arguments(tool, &call.arguments, trail)?;
        let candidate = self.hooks.before(candidate, cx, trail).await?;
        let judgement = judge(&self.rules, &candidate, cx);
        Ok(ask(judgement, &candidate, because, cx)?)
    }

    /// Whether a person may put these arguments in the place of those that they were asked about.
    pub fn check_edit(&self, tool: &str, arguments: &str, cx: &CallContext) -> Result<(), Failure> {
        let (tool, _) = cx.toolbox.resolve(tool)?;
        let candidate = check_arguments(tool, arguments, &mut Trail::default())?;
        not_denied(&judge(&self.rules, &candidate, cx), &candidate)
    }

    /// Asks a person what became of a call that was cut off, with all that is known of it. Whoever has it run again
    /// agrees to just what the question shows.
    pub async fn ask_outcome(
        &self,
        call: &ToolCall,
        unknown: Unknown,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let mut unseen = Trail::default();
        let tool = resolve(call, cx, &mut unseen).ok();
        let again = tool.and_then(|tool| check_arguments(tool, &call.arguments, &mut unseen).ok());
        let question = ask_outcome(call, unknown, again.as_ref(), &self.rules, cx);
        self.settle(&call.id, Outcome::Asked(question), cx).await
    }

    async fn run_and_record(
        &self,
        call: &ToolCall,
        doubt: Option<Unknown>,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let began = Instant::now();
        let mut trail = Trail::default();
        let attempted = self.attempt(call, cx, &mut trail).await;
        let (outcome, beside) = match attempted {
            Ok((output, beside)) => (Outcome::Finished(output), beside),
            Err(stop) => {
                let outcome = self.in_doubt(stop, doubt, call, cx).await?;
                self.label(outcome, tool_of(&trail, cx).map(|tool| &**tool), &trail, cx)
            }
        };
        let took = began.elapsed();
        if let Some(tool) = tool_of(&trail, cx) {
            tool.counters.count(&outcome, &trail, took);
        }
        crate::log::tell(&outcome, &trail, took);
        cx.world.fate.at("tool.before_outcome");
        cx.journal.commit(outcome.entry(&call.id, trail, beside)).await?;
        cx.world.fate.at("tool.after_outcome");
        Ok(outcome)
    }

    async fn attempt(
        &self,
        call: &ToolCall,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<(ToolOutput, Beside), Stop> {
        let tool = resolve(call, cx, trail)?; // UnknownTool
        let candidate = check_arguments(tool, &call.arguments, trail)?; // BadArguments
        let candidate = self.hooks.before(candidate, cx, trail).await?; // by a hook: changed or Denied
        let judgement = judge(&self.rules, &candidate, cx); // Allow | Ask | Deny, pure
        let judgement = spared(judgement, &candidate, cx).await; // what a person allowed before is not asked
        let edit = self.hooks.before_edit(&candidate, &judgement, cx, trail).await?; // what a person wrote into it
        let permit = admit(judgement, candidate, edit, &self.rules, cx, trail)?; // Denied, or a person is asked
        let ran = self.run(&permit, cx, trail).await; // Limited, Unavailable, Failed, TimedOut, unknown, delegated
        tool.drop_stale(cx); // also after a failure: the write may have happened
        let answered = self.looked_into(ran, &permit, cx).await?;
        let labels = labels::of_answer(&answered, tool);
        let output = self.hooks.after(answered, &permit, cx, trail).await; // by a hook: changed or withheld
        let output = ToolOutput { labels: Some(labels), ..output };
        Ok(bounded(output, tool, cx, trail))
    }

    /// Records that a call was cut off in flight, together with what its check tool says about it.
    pub async fn lose(
        &self,
        call: &ToolCall,
        sent_at: Timestamp,
        because: String,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let lost = Unknown::new(sent_at, because, on_unknown(call, cx));
        let outcome = self.checked(Outcome::Unknown(lost), call, cx).await;
        let tool = cx.toolbox.resolve(&call.name).ok().map(|(tool, _)| &**tool);
        let (outcome, beside) = self.label(outcome, tool, &Trail::default(), cx);
        let entry = outcome.entry(&call.id, Trail::default(), beside);
        // The run may have waited for a client that went silent: now it is ours again, also after a crash.
        cx.journal.commit(Entry { state: Some(RunState::Running), ..entry }).await?;
        Ok(outcome)
    }

    /// Records an outcome that came from elsewhere: from a person, or from the run itself.
    pub async fn settle(&self, call: &CallId, outcome: Outcome, cx: &CallContext) -> Result<Outcome, Fault> {
        let (outcome, beside) = match outcome {
            Outcome::Finished(output) => {
                let bytes_max = crate::Guards::default().output_bytes_max;
                let (output, beside) = bound(output, bytes_max, call, cx);
                (Outcome::Finished(output), beside)
            }
            other => (other, Beside::default()),
        };
        let entry = outcome.entry(call, Trail::default(), beside);
        cx.journal.commit(Entry { state: Some(RunState::Running), ..entry }).await?;
        Ok(outcome)
    }

    /// The outcome of a call that did not end well, which may have happened before if it is sent again.
    async fn in_doubt(
        &self,
        stop: Stop,
        doubt: Option<Unknown>,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Outcome, Fault> {
        let resent = doubt.is_some();
        let outcome = stop.in_doubt(doubt).outcome()?;
        Ok(if resent { self.checked(outcome, call, cx).await } else { outcome })
    }

    /// Adds to the unknown outcome of a call what was sent, and what its check tool says about that.
    async fn looked_into<T>(
        &self,
        ran: Result<T, Stop>,
        permit: &Permit,
        cx: &CallContext,
    ) -> Result<T, Stop> {
        match ran {
            Err(Stop::Outcome(outcome)) => match *outcome {
                Outcome::Unknown(unknown) if unknown.checked.is_none() => {
                    let unknown =
                        self.inspected(unknown, &permit.tool, &permit.arguments.canonical, cx).await;
                    Err(Outcome::Unknown(unknown).into())
                }
                other => Err(other.into()),
            },
            ran => ran,
        }
    }

    /// The same for a call that was sent before the server stopped.
    async fn checked(&self, outcome: Outcome, call: &ToolCall, cx: &CallContext) -> Outcome {
        match outcome {
            Outcome::Unknown(unknown) if unknown.checked.is_none() => {
                let edited = cx.grant.as_ref().and_then(|grant| grant.edited.as_ref());
                let sent = edited.unwrap_or(&call.arguments);
                Outcome::Unknown(match cx.toolbox.resolve(&call.name) {
                    Ok((tool, _)) => self.inspected(unknown, tool, sent, cx).await,
                    Err(_) => unknown,
                })
            }
            other => other,
        }
    }

    /// What was sent by this tool with these arguments, and what became of it as far as anybody can say.
    pub(super) async fn inspected(
        &self,
        unknown: Unknown,
        tool: &Arc<Registered>,
        arguments: &str,
        cx: &CallContext,
    ) -> Unknown {
        let sent = check_arguments(tool, arguments, &mut Trail::default()).ok();
        let request = sent.and_then(|sent| shown(&sent, cx));
        Unknown { request, checked: self.look_for(tool, arguments, cx).await, ..unknown }
    }

    /// Asks the check tool of a tool, if it has one and nothing forbids it. It only reads, and with the arguments
    /// of a call that is on record, so it is not put on record itself.
    async fn look_for(&self, tool: &Registered, arguments: &str, cx: &CallContext) -> Option<String> {
        let reader = self.other(tool.spec.check_tool.as_ref()?, cx).filter(|reader| reader.is_usable())?;
        if reader.spec.effect != Effect::Read {
            return None;
        }
        let mut unseen = Trail::default();
        let candidate = check_arguments(&reader, arguments, &mut unseen).ok()?;
        let rules = self.rules_for_others();
        let judgement = judge(rules, &candidate, cx);
        let permit = admit(judgement, candidate, None, rules, cx, &mut unseen).ok()?;
        Some(match permit.look(cx).await? {
            Ok(output) => {
                let answered = Answered { output, by: reader.clone() };
                let output = self.hooks.after(answered, &permit, cx, &mut unseen).await;
                bounded(output, &reader, cx, &mut unseen).0.text
            }
            Err(problem) => format!("the check failed: {problem}"),
        })
    }
}

/// What the call's tool wants done when nobody knows what became of it.
fn on_unknown(call: &ToolCall, cx: &CallContext) -> OnUnknown {
    cx.toolbox.resolve(&call.name).map(|(tool, _)| tool.spec.on_unknown).unwrap_or_default()
}

fn resolve<'a>(
    call: &ToolCall,
    cx: &'a CallContext,
    trail: &mut Trail,
) -> Result<&'a Arc<Registered>, Failure> {
    let (tool, stage) = cx.toolbox.resolve(&call.name)?;
    trail.push(stage);
    Ok(tool)
}

fn check_arguments(tool: &Arc<Registered>, written: &str, trail: &mut Trail) -> Result<Candidate, Failure> {
    let checked = check(&tool.spec.name, &tool.validator, written);
    let problem = checked.as_ref().err().map(|failure| failure.message.clone());
    trail.push(Stage::Check { problem });
    Ok(Candidate { tool: tool.clone(), arguments: checked?, changed: false })
}

fn bounded(
    output: ToolOutput,
    tool: &Registered,
    cx: &CallContext,
    trail: &mut Trail,
) -> (ToolOutput, Beside) {
    let (output, beside) = bound(output, tool.guarding.settings.output_bytes_max, &cx.call, cx);
    if let Some(whole) = &beside.whole {
        let (whole_bytes, kept_bytes) = (whole.len() as u64, output.text.len() as u64);
        trail.push(Stage::Bound { whole_bytes, kept_bytes });
    }
    (output, beside)
}

/// The tool that a trail is about, for its counters.
fn tool_of<'a>(trail: &Trail, cx: &'a CallContext) -> Option<&'a Arc<Registered>> {
    trail.0.iter().find_map(|stage| match stage {
        Stage::Resolve { tool, .. } => cx.toolbox.named(tool),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
