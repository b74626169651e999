//! The right to run one call, and the guards around running it: cache → limit → breaker → timeout → run.
//!
//! Only the gate makes a permit. What may follow a failed attempt is decided by `retry`, a
//! pure table over the effect class; this file acts on it. `cached` gives and keeps answers, `limits` is the limit and
//! the breaker.

mod cached;
mod limits;
mod retry;
mod sent_calls;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use helve_types::{
    Effect, Fact, Failure, FailureKind, Notice, Stage, Timestamp, ToolOutput, Trail, UserQuestion,
};
use tokio::time::Instant;

use self::limits::Slots;
pub(crate) use self::retry::why_not_sent_again;
use self::retry::{AttemptCounts, AttemptEnd, NextAttempt, RetryDelay, next_attempt};
use crate::gate::{Candidate, question_of_model};
use crate::outcome::{Outcome, Stop, Unknown};
use crate::subagent::begin_subagent;
use crate::{CallContext, Early, Progress, Registered, Request, ToolError};

pub(crate) struct Permit {
    pub(crate) tool: Arc<Registered>,
    pub(crate) arguments: crate::check::Arguments,
    /// The arguments are not those that the model wrote.
    pub(crate) changed: bool,
    /// What the tool stands in for.
    stands_in: Option<StandIn>,
}

/// That another tool was called, and how often the call was sent before.
struct StandIn {
    called: String,
    attempts_before: u32,
}

/// One attempt that was sent.
struct Sent {
    at: Timestamp,
    ended: AttemptEnd,
}

impl Permit {
    pub(crate) fn new(candidate: Candidate) -> Self {
        let Candidate { tool, arguments, changed } = candidate;
        Self { tool, arguments, changed, stands_in: None }
    }

    /// The same right where another tool was called.
    pub(crate) fn instead_of(self, called: &Registered, attempts_before: u32) -> Self {
        let called = called.spec.name.clone();
        Self { stands_in: Some(StandIn { called, attempts_before }), ..self }
    }

    /// Runs the call, gives it to the client, or asks the person what the model wants to know.
    pub(crate) async fn run(&self, cx: &CallContext, trail: &mut Trail) -> Result<ToolOutput, Stop> {
        let Some(tool) = &self.tool.tool else {
            let (tool, arguments) = (self.tool.spec.name.clone(), self.arguments.canonical.clone());
            return Err(Outcome::Delegated { tool, arguments }.into());
        };
        if let Some(asked) = tool.question(Request { arguments: &self.arguments.value }) {
            return Err(self.ask_person(asked, cx));
        }
        if let Some(asked) = tool.subagent_request(Request { arguments: &self.arguments.value }) {
            return Err(begin_subagent(self, asked, cx));
        }
        match &self.tool.guarding.cache {
            Some((policy, cache)) => self.run_cached(*policy, cache, cx, trail).await,
            None => self.run_with_retries(cx, trail).await,
        }
    }

    fn ask_person(&self, asked: Result<UserQuestion, String>, cx: &CallContext) -> Stop {
        if cx.cancel.is_cancelled() {
            return Stop::cancelled();
        }
        match asked {
            Ok(asked) => Outcome::Asked(question_of_model(self, asked, cx)).into(),
            Err(problem) => {
                let told = format!("the user was not asked: {problem}");
                Failure::new(FailureKind::BadArguments, told).with_notice(Notice::question_not_shown()).into()
            }
        }
    }

    /// Sends the call until it is answered or must not be sent again.
    async fn run_with_retries(&self, cx: &CallContext, trail: &mut Trail) -> Result<ToolOutput, Stop> {
        let mut doubt = None;
        self.send_until_answered(cx, trail, &mut doubt).await.map_err(|stop| stop.with_earlier_attempt(doubt))
    }

    async fn send_until_answered(
        &self,
        cx: &CallContext,
        trail: &mut Trail,
        in_doubt: &mut Option<Unknown>,
    ) -> Result<ToolOutput, Stop> {
        let attempts_max = self.tool.guarding.settings.attempts.max(1);
        let attempts_before = self.stands_in.as_ref().map_or(cx.attempts_before, |it| it.attempts_before);
        let began = Instant::now();
        let left = || self.tool.guarding.settings.timeout.saturating_sub(began.elapsed());
        let mut tries = 0;
        loop {
            tries += 1;
            if tries > 1 {
                self.wait_for_cool_down(left(), cx).await?;
            }
            let mut slots = self.enter_limiters(cx, trail).await?;
            let ticket = self.admit_by_breaker(trail)?;
            let Sent { at, ended } = self.send(cx, attempts_before + tries, &mut slots, trail).await?;
            self.report_to_breaker(ticket, &ended);
            // Nothing runs during the pause.
            drop(slots);
            let tries =
                AttemptCounts { before: attempts_before, now: tries, max: attempts_max, left: left() };
            match next_attempt(ended, self.tool.spec.effect, tries) {
                NextAttempt::Done(output) => return Ok(*output),
                NextAttempt::Declined(failure) => return Err(failure.into()),
                NextAttempt::Down(failure) => return Err(Stop::unavailable(failure)),
                NextAttempt::Unknown(because) => {
                    let unknown = Unknown::new(at, because, self.tool.spec.on_unknown);
                    return Err(Outcome::Unknown(unknown).into());
                }
                NextAttempt::Again { pause, doubt } => {
                    if let Some(because) = doubt {
                        *in_doubt = Some(Unknown::new(at, because, self.tool.spec.on_unknown));
                    }
                    let pause = match pause {
                        RetryDelay::Told(pause) => pause,
                        RetryDelay::Own(pause) => pause.mul_f64(0.5 + cx.world.random_fraction() / 2.0),
                    };
                    wait_unless_cancelled(pause, cx).await?;
                }
            }
        }
    }

    /// Puts the attempt on record, then makes it. Nothing leaves before the record is durable, but what only reads: that
    /// may be made again after a crash. Nothing leaves after a stop either.
    async fn send(
        &self,
        cx: &CallContext,
        attempt: u32,
        slots: &mut Slots,
        trail: &mut Trail,
    ) -> Result<Sent, Stop> {
        if cx.cancel.is_cancelled() {
            return Err(Stop::cancelled());
        }
        cx.world.failpoint("tool.before_started");
        let started = self.started_fact(cx, attempt);
        match self.tool.spec.effect {
            Effect::Read if let Early::Reading(held) = &cx.early => {
                if !held.hold_back(started) {
                    return Err(Stop::cancelled());
                }
            }
            Effect::Read => cx.journal.record(started).await?,
            Effect::Idempotent | Effect::NonIdempotent => cx.journal.commit(started).await?,
        }
        cx.world.failpoint("tool.after_started");
        let at = cx.journal.now();
        let began = Instant::now();
        slots.mark_sent();
        let ended = self.run_attempt(cx).await;
        trail.push(Stage::Run { attempt, ms: to_ms(began.elapsed()) });
        cx.world.failpoint("tool.after_run");
        Ok(Sent { at, ended })
    }

    fn started_fact(&self, cx: &CallContext, attempt: u32) -> Fact {
        let spec = &self.tool.spec;
        let (tool, instead, effect) = match (&self.stands_in, spec.effect) {
            (None, effect) => (spec.name.clone(), None, effect),
            // After a crash the call would go to the tool that was called, where its key is not known: so whatever
            // changes something counts as sent at most once.
            (Some(it), Effect::Idempotent | Effect::NonIdempotent) => {
                (it.called.clone(), Some(spec.name.clone()), Effect::NonIdempotent)
            }
            (Some(it), Effect::Read) => (it.called.clone(), Some(spec.name.clone()), Effect::Read),
        };
        Fact::ToolStarted {
            call: cx.call.clone(),
            tool,
            version: self.tool.version.clone(),
            effect,
            attempt,
            arguments: self.changed.then(|| self.arguments.canonical.clone()),
            instead,
        }
    }

    /// Runs a check tool: guarded like any call, and neither recorded nor shown. None if it is the
    /// client's to run.
    pub(crate) async fn run_check_tool(&self, cx: &CallContext) -> Option<Result<ToolOutput, String>> {
        self.tool.tool.as_ref()?;
        let mut unseen = Trail::default();
        let slots = self.enter_limiters(cx, &mut unseen).await;
        let ticket = slots.and_then(|slots| Ok((slots, self.admit_by_breaker(&mut unseen)?)));
        let Ok((mut slots, ticket)) = ticket else { return Some(Err("it is not available".into())) };
        slots.mark_sent();
        let ended = self.run_attempt(&CallContext { progress: Progress::default(), ..cx.clone() }).await;
        self.report_to_breaker(ticket, &ended);
        Some(match ended {
            AttemptEnd::Output(output) => Ok(*output),
            AttemptEnd::Error(error) => Err(error.to_string()),
            AttemptEnd::TimedOut(_) | AttemptEnd::Cancelled => Err("it gave no answer in time".into()),
        })
    }

    async fn run_attempt(&self, cx: &CallContext) -> AttemptEnd {
        let Some(tool) = &self.tool.tool else { unreachable!("a client's tool is delegated, not sent") };
        let work = tool.call(Request { arguments: &self.arguments.value }, cx);
        // A tool that panics has gone wrong somewhere in the middle: its outcome is as lost as after a crash.
        let work = AssertUnwindSafe(work)
            .catch_unwind()
            .map(|result| result.unwrap_or_else(|_| Err(ToolError::Lost("the tool broke down".into()))));
        tokio::select! {
            // What is already there is taken, also when time is up in the same moment.
            biased;
            result = work => AttemptEnd::from(result),
            () = cx.cancel.cancelled() => AttemptEnd::Cancelled,
            () = tokio::time::sleep(self.tool.guarding.settings.timeout) => {
                AttemptEnd::TimedOut(self.tool.guarding.settings.timeout)
            }
        }
    }
}

/// Waits, unless the run is stopped.
async fn wait_unless_cancelled(pause: Duration, cx: &CallContext) -> Result<(), Stop> {
    tokio::select! {
        () = tokio::time::sleep(pause) => Ok(()),
        () = cx.cancel.cancelled() => Err(Stop::cancelled()),
    }
}

/// As the record has durations.
pub(crate) fn to_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
