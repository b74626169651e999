//! Whether the call may go to the tool now: its limits and its breaker.

use std::time::Duration;

use helve_guard::{Change, Limited, LimitedBy, Slot, Ticket, UnavailableBecause, Verdict};
use helve_store::StoreError;
use helve_types::{Failure, FailureKind, Notice, Stage, Trail};
use tokio::time::Instant;

use super::retry::{AttemptEnd, judge_health};
use super::{Permit, to_ms, wait_unless_cancelled};
use crate::CallContext;
use crate::outcome::Stop;

/// The places that a call holds: the user's and all users' with the agent, then with the tool.
#[derive(Debug, Default)]
pub(super) struct Slots([Option<Slot>; 4]);

impl Slots {
    /// The call leaves now: this is the time that counts for the rate.
    pub(super) fn mark_sent(&mut self) {
        self.0.iter_mut().flatten().for_each(Slot::mark_sent);
    }
}

/// Why there is no place.
enum NoPlace {
    Limited(Limited),
    Stop(Stop),
}

impl From<Limited> for NoPlace {
    fn from(limited: Limited) -> Self {
        Self::Limited(limited)
    }
}

impl From<StoreError> for NoPlace {
    fn from(error: StoreError) -> Self {
        Self::Stop(error.into())
    }
}

impl Permit {
    /// A place among those who may call the tool at once and in a window: first as the agent limits them, then as the
    /// tool does; first the user's, then everybody's. What an agent sent before its limit was made here does not count
    /// for that limit; the tool's own counts it.
    pub(super) async fn enter_limiters(&self, cx: &CallContext, trail: &mut Trail) -> Result<Slots, Stop> {
        let guarding = &self.tool.guarding;
        let link = self.tool.link_guards.as_deref();
        let (link_user, link_all) =
            link.map_or((None, None), |link| (link.user_limiter.as_ref(), link.limiter.as_ref()));
        let is_limited = guarding.limiter.is_some() || guarding.user_limiter.is_some();
        if !is_limited && link_user.is_none() && link_all.is_none() {
            return Ok(Slots::default());
        }
        let asked = Instant::now();
        let entered = async {
            let user = guarding
                .user_limiter
                .as_ref()
                .map(|limiters| limiters.limiter_for_key(&cx.user.0))
                .transpose();
            // Also for a call that goes past the limits: only what was sent before it is told to them.
            for (limiter, user) in [
                (user.as_ref().ok().and_then(Option::as_ref), Some(&cx.user)),
                (guarding.limiter.as_ref(), None),
            ] {
                if let Some(limiter) = limiter {
                    self.count_sent_calls(limiter, user, cx).await?;
                }
            }
            if cx.skip.limit {
                return Ok(Slots::default());
            }
            let link_user = link_user.map(|limiters| limiters.limiter_for_key(&cx.user.0)).transpose()?;
            let mut slots = Slots::default();
            let limiters = [link_user, link_all.cloned(), user?, guarding.limiter.clone()];
            for (slot, limiter) in slots.0.iter_mut().zip(limiters) {
                if let Some(limiter) = limiter {
                    *slot = Some(limiter.enter().await?);
                }
            }
            Ok(slots)
        };
        let entered = tokio::select! {
            entered = entered => entered,
            () = cx.cancel.cancelled() => return Err(Stop::cancelled()),
        };
        let waited_ms = to_ms(asked.elapsed());
        entered
            .map_err(|no_place| {
                let limited = match no_place {
                    NoPlace::Limited(limited) => limited,
                    NoPlace::Stop(stop) => return stop,
                };
                trail.push(Stage::Limit { waited_ms, refused: Some(limited.to_string()) });
                let name = &self.tool.spec.name;
                let mut failure = Failure::new(
                    FailureKind::Limited,
                    format!("`{name}` cannot be called right now: {limited}; answer without it or try later"),
                );
                failure.retry_after_ms = limited.retry_after.map(to_ms);
                Stop::from(failure.with_notice(limit_notice(limited.by)))
            })
            .inspect(|_| {
                let passed = match cx.skip.limit {
                    true => Stage::Skipped { guard: "limit".into() },
                    false => Stage::Limit { waited_ms, refused: None },
                };
                if !(cx.skip.limit && trail.0.contains(&passed)) {
                    trail.push(passed);
                }
            })
    }

    /// Waits while the other side wants a pause, as far as that fits into what is left of the call's time: only for a
    /// call that was told to wait. Others are refused until the pause is over.
    pub(super) async fn wait_for_cool_down(&self, left: Duration, cx: &CallContext) -> Result<(), Stop> {
        let Some(breaker) = &self.tool.guarding.breaker else { return Ok(()) };
        let end = Instant::now() + left;
        while let Some(refusing) = breaker.status().refusing
            && refusing.because == UnavailableBecause::CoolingDown
            && let Some(pause) = refusing.retry_after
            && Instant::now() + pause <= end
        {
            wait_unless_cancelled(pause, cx).await?;
        }
        Ok(())
    }

    pub(super) fn admit_by_breaker(&self, trail: &mut Trail) -> Result<Option<Ticket>, Stop> {
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
                failure.retry_after_ms = unavailable.retry_after.map(to_ms);
                let failure = failure.with_notice(match unavailable.because {
                    UnavailableBecause::Open => Notice::tool_cooling_down(),
                    UnavailableBecause::Probing => Notice::tool_being_probed(),
                    UnavailableBecause::CoolingDown => Notice::tool_asked_for_pause(),
                });
                Err(Stop::Down { failure, because: unavailable.to_string() })
            }
        }
    }

    pub(super) fn report_to_breaker(&self, ticket: Option<Ticket>, ended: &AttemptEnd) {
        let Some(ticket) = ticket else { return };
        let change = match judge_health(ended, self.tool.guarding.settings.failures) {
            Verdict::Succeeded => ticket.report_success(),
            Verdict::Failed => ticket.report_failure(),
            Verdict::Ignored => return ticket.release_without_report(),
            Verdict::Throttled(pause) => return ticket.report_throttling(pause),
        };
        if let Some(change) = change {
            let because = match ended {
                _ if change == Change::Closed => "it answers again".into(),
                AttemptEnd::Error(error) => {
                    tracing::debug!(problem = %error, "tool attempt failed: details");
                    error.summary().into()
                }
                AttemptEnd::TimedOut(limit) => format!("it did not answer within {} s", limit.as_secs_f64()),
                // Also a success can be the call that makes them enough to judge.
                AttemptEnd::Output(_) | AttemptEnd::Cancelled => "too many of its latest calls failed".into(),
            };
            self.tool.notify_breaker(change, &because);
        }
    }
}

fn limit_notice(bound: LimitedBy) -> Notice {
    match bound {
        LimitedBy::Concurrency => Notice::limited_by_concurrency(),
        LimitedBy::Rate => Notice::limited_by_rate(),
        LimitedBy::Queue => Notice::limited_by_queue(),
        LimitedBy::Wait => Notice::limited_by_wait(),
        LimitedBy::Keys => Notice::limited_by_callers(),
    }
}
