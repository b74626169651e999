//! The right to run one call, and the guards around running it: cache → limit → breaker → timeout → run.
//!
//! A permit is made by the gate and by nobody else. What may follow a failed attempt is decided by `after`, a
//! pure table over the effect class; this file acts on it.

mod after;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use helve_guard::{Change, How, KeyParts, Ran, Scope, Slot, Ticket, Verdict};
use helve_types::{Fact, Failure, FailureKind, Stage, Timestamp, ToolOutput, Trail};
use tokio::time::Instant;

use self::after::{After, Ended, after, health};
use crate::gate::Candidate;
use crate::outcome::{Doubt, Outcome, Stop};
use crate::{CallContext, Registered, Request, ToolError};

pub(crate) struct Permit {
    tool: Arc<Registered>,
    arguments: crate::check::Arguments,
    edited: bool,
}

/// One attempt that was sent.
struct Sent {
    at: Timestamp,
    ended: Ended,
}

impl Permit {
    pub(crate) fn new(candidate: Candidate) -> Self {
        Self { tool: candidate.tool, arguments: candidate.arguments, edited: false }
    }

    pub(crate) fn edited(candidate: Candidate) -> Self {
        Self { edited: true, ..Self::new(candidate) }
    }

    /// Runs the call, or hands it to the client.
    pub(crate) async fn run(self, cx: &CallContext, trail: &mut Trail) -> Result<ToolOutput, Stop> {
        if self.tool.tool.is_none() {
            return Err(Outcome::Delegated { tool: self.tool.spec.name.clone() }.into());
        }
        let Some((policy, cache)) = &self.tool.guarding.cache else { return self.guarded(cx, trail).await };
        let whose = policy.scope.whose(&cx.user);
        let version = self.tool.version_hash();
        let parts = KeyParts {
            scope: Scope { tenant: "", tool: &self.tool.spec.name, id: whose },
            tool_version: &version,
            identity: &[0; 32],
            arguments: &self.arguments.canonical,
        };
        let mut inner = Trail::default();
        let cached = cache.run(&parts, policy.terms(), async || match self.guarded(cx, &mut inner).await {
            Ok(output) => Ran::Keep(Arc::new(output)),
            Err(stop) if is_own(&stop) => Ran::Withdrawn(stop),
            Err(stop) => Ran::Failed(stop),
        });
        let found = tokio::select! {
            // Whoever runs the call notices the stop by itself; whoever waits for another run's call does not.
            biased;
            found = cached => found,
            () = cx.cancel.cancelled() => return Err(cancelled().into()),
        };
        let how = found.as_ref().map_or(How::Miss, |found| found.how);
        trail.push(Stage::Cache {
            found: match how {
                How::Hit => "hit",
                How::Miss => "miss",
                How::Shared => "shared",
            }
            .into(),
        });
        trail.0.append(&mut inner.0);
        Ok(Arc::unwrap_or_clone(found?.value))
    }

    /// Sends the call until it is answered or must not be sent again.
    async fn guarded(&self, cx: &CallContext, trail: &mut Trail) -> Result<ToolOutput, Stop> {
        let mut doubt = None;
        self.send_until_answered(cx, trail, &mut doubt).await.map_err(|stop| stop.in_doubt(doubt))
    }

    async fn send_until_answered(
        &self,
        cx: &CallContext,
        trail: &mut Trail,
        in_doubt: &mut Option<Doubt>,
    ) -> Result<ToolOutput, Stop> {
        let attempts_max = self.tool.guarding.settings.attempts.max(1);
        let mut tries = 0;
        loop {
            tries += 1;
            let _slots = self.limit(cx, trail).await?;
            let ticket = self.admit_by_breaker(trail)?;
            let Sent { at, ended } = self.send(cx, cx.attempts_before + tries, trail).await?;
            self.tell_breaker(ticket, &ended);
            match after(ended, self.tool.spec.effect, tries, attempts_max) {
                After::Done(output) => return Ok(*output),
                After::Failed(failure) => return Err(failure.into()),
                After::Unknown(because) => {
                    let then = self.tool.spec.on_unknown;
                    let unknown = Outcome::Unknown { sent_at: at, because, checked: None, then };
                    return Err(unknown.into());
                }
                After::Again { pause, doubt } => {
                    if let Some(because) = doubt {
                        *in_doubt = Some(Doubt { sent_at: at, because, then: self.tool.spec.on_unknown });
                    }
                    let pause = pause.mul_f64(0.5 + cx.world.chance() / 2.0);
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = cx.cancel.cancelled() => return Err(cancelled().into()),
                    }
                }
            }
        }
    }

    async fn limit(&self, cx: &CallContext, trail: &mut Trail) -> Result<[Option<Slot>; 2], Stop> {
        let guarding = &self.tool.guarding;
        if guarding.limiter.is_none() && guarding.user_limiter.is_none() {
            return Ok([None, None]);
        }
        let asked = Instant::now();
        let entered = async {
            let user = match &guarding.user_limiter {
                Some(limiter) => Some(limiter.enter(&cx.user.0).await?),
                None => None,
            };
            let tool = match &guarding.limiter {
                Some(limiter) => Some(limiter.enter().await?),
                None => None,
            };
            Ok([user, tool])
        };
        let entered = tokio::select! {
            entered = entered => entered,
            () = cx.cancel.cancelled() => return Err(cancelled().into()),
        };
        let waited_ms = millis(asked.elapsed());
        entered
            .map_err(|limited: helve_guard::Limited| {
                trail.push(Stage::Limit { waited_ms, refused: Some(limited.to_string()) });
                let name = &self.tool.spec.name;
                let mut failure = Failure::new(
                    FailureKind::Limited,
                    format!("`{name}` cannot be called right now: {limited}; answer without it or try later"),
                );
                failure.retry_after_ms = limited.retry_after.map(millis);
                Stop::from(failure)
            })
            .inspect(|_| trail.push(Stage::Limit { waited_ms, refused: None }))
    }

    fn admit_by_breaker(&self, trail: &mut Trail) -> Result<Option<Ticket>, Stop> {
        let Some(breaker) = &self.tool.guarding.breaker else { return Ok(None) };
        match breaker.admit() {
            Ok(ticket) => {
                let state = if ticket.is_probe() { "half_open" } else { "closed" };
                trail.push(Stage::Breaker { state: state.into() });
                Ok(Some(ticket))
            }
            Err(unavailable) => {
                trail.push(Stage::Breaker { state: "open".into() });
                let name = &self.tool.spec.name;
                let mut failure = Failure::new(
                    FailureKind::Unavailable,
                    format!("`{name}` is unavailable: {unavailable}; answer without it or try later"),
                );
                failure.retry_after_ms = unavailable.retry_after.map(millis);
                Err(failure.into())
            }
        }
    }

    /// Puts the attempt on record, then makes it. Nothing leaves before the record is durable.
    async fn send(&self, cx: &CallContext, attempt: u32, trail: &mut Trail) -> Result<Sent, Stop> {
        let started = Fact::ToolStarted {
            call: cx.call.clone(),
            tool: self.tool.spec.name.clone(),
            version: self.tool.version.clone(),
            effect: self.tool.spec.effect,
            attempt,
            arguments: self.edited.then(|| self.arguments.canonical.clone()),
        };
        cx.world.fate.at("tool.before_started");
        cx.journal.commit(started).await?;
        cx.world.fate.at("tool.after_started");
        let at = cx.world.now();
        let began = Instant::now();
        let ended = self.make(cx).await;
        trail.push(Stage::Run { attempt, ms: millis(began.elapsed()) });
        cx.world.fate.at("tool.after_run");
        Ok(Sent { at, ended })
    }

    /// Runs a check tool: guarded like any call, and not on record. None if it is the client's to run.
    pub(crate) async fn look(self, cx: &CallContext) -> Option<Result<ToolOutput, String>> {
        self.tool.tool.as_ref()?;
        let mut unseen = Trail::default();
        let slots = self.limit(cx, &mut unseen).await;
        let ticket = slots.and_then(|slots| Ok((slots, self.admit_by_breaker(&mut unseen)?)));
        let Ok((_slots, ticket)) = ticket else { return Some(Err("it is not available".into())) };
        let ended = self.make(cx).await;
        self.tell_breaker(ticket, &ended);
        Some(match ended {
            Ended::Output(output) => Ok(*output),
            Ended::Error(error) => Err(error.to_string()),
            Ended::TimedOut(_) | Ended::Cancelled => Err("it gave no answer in time".into()),
        })
    }

    async fn make(&self, cx: &CallContext) -> Ended {
        let Some(tool) = &self.tool.tool else { unreachable!("a client's tool is delegated, not sent") };
        let work = tool.call(Request { arguments: &self.arguments.value }, cx);
        // A tool that panics has gone wrong somewhere in the middle: its outcome is as lost as after a crash.
        let work = AssertUnwindSafe(work)
            .catch_unwind()
            .map(|result| result.unwrap_or_else(|_| Err(ToolError::Lost("the tool broke down".into()))));
        tokio::select! {
            // What is already there is taken, also when time is up in the same moment.
            biased;
            result = work => Ended::from(result),
            () = cx.cancel.cancelled() => Ended::Cancelled,
            () = tokio::time::sleep(self.tool.guarding.settings.timeout) => {
                Ended::TimedOut(self.tool.guarding.settings.timeout)
            }
        }
    }

    fn tell_breaker(&self, ticket: Option<Ticket>, ended: &Ended) {
        let Some(ticket) = ticket else { return };
        let tool = &self.tool.spec.name;
        let change = match health(ended) {
            Verdict::Succeeded => ticket.succeeded(),
            Verdict::Failed => ticket.failed(),
            Verdict::Ignored => return ticket.ignored(),
            Verdict::Throttled(pause) => return ticket.throttled(pause),
        };
        match change {
            Some(Change::Opened(pause)) => {
                tracing::warn!(tool, ?pause, "the breaker opened: calls are held back");
            }
            Some(Change::Closed) => tracing::info!(tool, "the breaker closed: calls pass again"),
            None => {}
        }
    }
}

/// Stops that say nothing about the tool, only about this caller.
fn is_own(stop: &Stop) -> bool {
    let Stop::Outcome(outcome) = stop else { return true };
    match &**outcome {
        Outcome::Failed(failure) | Outcome::Refused(failure) => {
            matches!(failure.kind, FailureKind::Cancelled | FailureKind::Limited)
        }
        _ => true,
    }
}

fn cancelled() -> Failure {
    Failure::new(FailureKind::Cancelled, "the run was stopped before the call was sent")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
