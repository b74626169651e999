//! What stands in for a tool that is held back or failing: its last good answer, or another tool.
//!
//! Comes after the tool's own attempts and outside of its cache, so what is given instead is never kept as the tool's
//! own. Nothing stands in for a call that may have happened, nor for one that the tool answered with a no.

use std::sync::Arc;
use std::time::Duration;

use helve_policy::Rules;
use helve_types::{Effect, FailureKind, Notice, Stage, ToolOutput, Trail};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Pipeline;
use super::run::ToolAnswer;
use crate::check::{Expected, check_arguments};
use crate::gate::{Candidate, admit_call, judge_call};
use crate::link::Given;
use crate::outcome::{Outcome, Stop};
use crate::permit::{Permit, to_ms};
use crate::{CallContext, Registered, Unknown};

/// A fallback tool may have a fallback of its own; the chain has a limit.
const STAND_INS_MAX: usize = 3;

impl Pipeline {
    /// Tries the fallback tools in turn until one answers. If none does, the call ends as its own tool left it.
    pub(super) async fn fall_back(
        &self,
        permit: &Permit,
        stop: Stop,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<ToolAnswer, Stop> {
        let called = &permit.tool;
        let mut tried = vec![called.spec.name.clone()];
        let mut stand_in: Option<Permit> = None;
        let mut ended = stop.clone();
        loop {
            let asked = stand_in.as_ref().unwrap_or(permit);
            let Some((because, notice)) = fallback_reason(&ended, &asked.tool, cx) else { return Err(stop) };
            if let Some((output, age)) = last_good_answer(asked, cx) {
                let by = if tried.len() == 1 { "last_good" } else { &asked.tool.spec.name };
                trail.push(fallback_stage(by, &because, notice, Some(age)));
                let output = annotate_fallback(output, called, by, &because, Some(age));
                return Ok(ToolAnswer { output, by: asked.tool.clone() });
            }
            let Some(next) = self.choose_stand_in(asked, &tried, called, cx, trail).await else {
                return Err(stop);
            };
            let by = next.tool.spec.name.clone();
            // The reason is in the trail and not in the log: the upstream's text may be confidential.
            tracing::info!(tool = called.spec.name, instead = by, "fallback tool used");
            trail.push(fallback_stage(&by, &because, notice, None));
            match self.ask_stand_in(&next, cx, trail).await {
                Ok(output) => {
                    let output = annotate_fallback(output, called, &by, &because, None);
                    return Ok(ToolAnswer { output, by: next.tool.clone() });
                }
                Err(stop) if ends_call(&stop) => return Err(stop),
                Err(stop) => ended = stop,
            }
            tried.push(by);
            stand_in = Some(next);
        }
    }

    /// The right to run the tool that stands in, if there is one that is switched on, takes the arguments, has not
    /// been tried, and may be called without asking a person.
    async fn choose_stand_in(
        &self,
        asked: &Permit,
        tried: &[String],
        called: &Registered,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Option<Permit> {
        let name = asked.tool.guarding.settings.fallback.as_ref()?.tool.as_ref()?;
        let not_used = |because: &str| {
            tracing::warn!(tool = called.spec.name, instead = name, because, "fallback tool skipped");
        };
        if tried.contains(name) || tried.len() > STAND_INS_MAX {
            not_used("the chain of fallback tools is circular or too long");
            return None;
        }
        let Some(tool) =
            self.find_other_tool(name, cx).filter(|tool| tool.is_usable() && tool.tool.is_some())
        else {
            not_used("there is no such tool, or it is switched off or not agreed to");
            return None;
        };
        let arguments =
            match check_arguments(Expected::of(&tool, Given::Written), &asked.arguments.canonical).await {
                Ok(arguments) => arguments,
                Err(misfit) => {
                    not_used("it does not take these arguments");
                    tracing::debug!(problem = misfit.message, "fallback tool rejects the arguments");
                    return None;
                }
            };
        let changed = asked.changed || arguments.completed;
        let candidate = Candidate { tool, arguments, changed };
        let Ok(candidate) = self.hooks.run_before_stand_in(candidate, called, cx, trail).await else {
            not_used("a hook refused it");
            return None;
        };
        let rules = self.rules_for_others();
        let judgement = judge_call(rules, &candidate, cx);
        let Ok(permit) = admit_call(judgement, candidate, None, rules, cx, &mut Trail::default()) else {
            not_used("a rule forbids it or wants a person to be asked");
            return None;
        };
        let runs = trail.0.iter().filter(|stage| matches!(stage, Stage::Run { .. })).count();
        Some(permit.instead_of(called, cx.attempts_before + u32::try_from(runs).unwrap_or(u32::MAX)))
    }

    /// A tool that was not called itself: the run's own of that name, or else any.
    pub(super) fn find_other_tool(&self, name: &str, cx: &CallContext) -> Option<Arc<Registered>> {
        let own = cx.toolbox.find(name).cloned();
        own.or_else(|| self.others.as_ref()?.registry.get(name))
    }

    pub(super) fn rules_for_others(&self) -> &Rules {
        self.others.as_ref().map_or(&self.rules, |others| &others.rules)
    }

    /// Runs the tool that stands in, and counts it as a call of its own.
    async fn ask_stand_in(
        &self,
        permit: &Permit,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<ToolOutput, Stop> {
        let began = Instant::now();
        let mut own = Trail::default();
        let ended = permit.run(&self.hooks.context_without_progress(&permit.tool, cx), &mut own).await;
        let outcome = ended.clone().map_or_else(Stop::into_outcome, |output| Ok(Outcome::Finished(output)));
        if let Ok(outcome) = &outcome {
            permit.tool.counters.count_call(outcome, &own, began.elapsed());
        }
        trail.0.append(&mut own.0);
        match ended {
            Err(stop) => Err(self.check_outcome_of_stand_in(stop, permit, cx).await),
            answered => answered,
        }
    }

    /// An unknown outcome is looked into with the check tool of the tool that ran, never with that of the one that
    /// was called.
    async fn check_outcome_of_stand_in(&self, stop: Stop, permit: &Permit, cx: &CallContext) -> Stop {
        let Stop::Outcome(outcome) = stop else { return stop };
        match *outcome {
            Outcome::Unknown(unknown) if unknown.checked.is_none() => {
                let name = &permit.tool.spec.name;
                let unknown =
                    self.describe_unknown(unknown, &permit.tool, &permit.arguments.canonical, cx).await;
                let unchecked = || format!("it was sent by `{name}`; it was not checked");
                let checked = Some(unknown.checked.unwrap_or_else(unchecked));
                Outcome::Unknown(Unknown { checked, ..unknown }).into()
            }
            other => other.into(),
        }
    }
}

/// Why something may stand in, if it may.
fn fallback_reason(
    stop: &Stop,
    tool: &Registered,
    cx: &CallContext,
) -> Option<(String, Option<Box<Notice>>)> {
    let fallback = tool.guarding.settings.fallback.as_ref()?;
    // What was in flight when the server stopped may have happened.
    if cx.attempts_before > 0 && tool.spec.effect != Effect::Read {
        return None;
    }
    match stop {
        Stop::Down { because, failure } => Some((because.clone(), failure.notice.clone())),
        Stop::Outcome(outcome) => match &**outcome {
            Outcome::Refused(failure) if failure.kind == FailureKind::Limited && fallback.when_limited => {
                Some(("its rate limit is reached".into(), failure.notice.clone()))
            }
            _ => None,
        },
        Stop::Fault(_) => None,
    }
}

/// What a stand-in ran into that is the end of the call, whatever its own tool said.
fn ends_call(stop: &Stop) -> bool {
    match stop {
        Stop::Fault(_) => true,
        Stop::Outcome(outcome) => matches!(**outcome, Outcome::Unknown { .. }),
        Stop::Down { .. } => false,
    }
}

fn last_good_answer(permit: &Permit, cx: &CallContext) -> Option<(ToolOutput, Duration)> {
    permit.find_last_good(permit.tool.guarding.settings.last_good_age_max()?, cx)
}

fn fallback_stage(by: &str, because: &str, notice: Option<Box<Notice>>, age: Option<Duration>) -> Stage {
    Stage::Fallback { by: by.into(), because: because.into(), notice, age_ms: age.map(to_ms) }
}

/// The output with a word about where it comes from: a line for the model, a fact for the person.
fn annotate_fallback(
    mut output: ToolOutput,
    called: &Registered,
    by: &str,
    because: &str,
    age: Option<Duration>,
) -> ToolOutput {
    let called = &called.spec.name;
    let line = match (by, age) {
        ("last_good", Some(age)) => format!(
            "[not a fresh answer: `{called}` cannot be asked now ({because}); this is what it said {} ago]",
            format_age(age)
        ),
        (_, Some(age)) => format!(
            "[not from `{called}`, which cannot be asked now ({because}): this is what `{by}` said {} ago]",
            format_age(age)
        ),
        (_, None) => {
            format!("[not from `{called}`, which cannot be asked now ({because}): this is from `{by}`]")
        }
    };
    output.text = format!("{line}\n{}", output.text);
    let fact = json!({"by": by, "because": because, "age_ms": age.map(to_ms)});
    output.metadata = Some(match output.metadata.take() {
        Some(Value::Object(mut members)) => {
            members.insert("fallback".into(), fact);
            Value::Object(members)
        }
        None => json!({"fallback": fact}),
        Some(other) => json!({"fallback": fact, "metadata": other}),
    });
    output
}

/// One unit, rounded down.
fn format_age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
