//! Closed, open, half-open: the decision, over a time and a jitter that are given.
//!
//! Closed → open after `failures_in_row` failures in a row, or when at least `calls_min` calls are in the
//! window and `failure_percent` of them failed. Open → half-open when its time is over and a call is made.
//! Half-open → closed after `successes_to_close` probes in a row, → open again after one that fails.
//!
//! Each of these steps begins a new generation. A verdict counts only in the generation that admitted its
//! call, so a result that comes late can neither open nor close what has moved on.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    BreakerSettings, BreakerStatus, Change, Circuit, Unavailable, UnavailableBecause, Verdict,
    window::{WINDOW, Window},
};

/// How far the jitter moves an open time, either way.
const JITTER: f64 = 0.1;

/// No pause is longer, whatever the settings say, so that adding one to a time cannot overflow.
const PAUSE_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The machine behind a [`Breaker`](super::Breaker).
#[derive(Debug, Clone)]
pub struct BreakerState {
    settings: BreakerSettings,
    generation: u64,
    phase: Phase,
    failures_in_row: u32,
    window: Window,
    /// How often it has opened since two clean windows: the exponent of the open time.
    openings: u32,
    /// The last failure, or the last time it closed.
    clean_since: Instant,
    cool_until: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Closed,
    Open { until: Instant },
    HalfOpen { probes: u32, successes: u32 },
}

/// Leave to make one call, to be answered with one [`Verdict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmittedCall {
    generation: u64,
    probe: bool,
}

impl AdmittedCall {
    /// The call decides whether a broken circuit closes again.
    pub fn is_probe(&self) -> bool {
        self.probe
    }
}

impl BreakerState {
    /// A closed circuit.
    pub fn new(settings: BreakerSettings, now: Instant) -> Self {
        Self {
            settings,
            generation: 0,
            phase: Phase::Closed,
            failures_in_row: 0,
            window: Window::new(now),
            openings: 0,
            clean_since: now,
            cool_until: now,
        }
    }

    /// May a call be made? A refused one is not counted.
    pub fn admit(&mut self, now: Instant) -> Result<AdmittedCall, Unavailable> {
        if let Some(unavailable) = self.refusal(now) {
            return Err(unavailable);
        }
        let probe = match &mut self.phase {
            Phase::Closed => false,
            Phase::Open { .. } => {
                self.enter_phase(Phase::HalfOpen { probes: 1, successes: 0 });
                true
            }
            Phase::HalfOpen { probes, .. } => {
                *probes += 1;
                true
            }
        };
        Ok(AdmittedCall { generation: self.generation, probe })
    }

    /// How an admitted call ended. `jitter` is between −1 and 1 and moves the open time, should it open now.
    pub fn report(
        &mut self,
        admission: AdmittedCall,
        verdict: Verdict,
        now: Instant,
        jitter: f64,
    ) -> Option<Change> {
        if admission.generation != self.generation {
            return None;
        }
        if let Verdict::Throttled(retry_after) = verdict {
            let retry_after = retry_after.min(self.settings.cool_down_max).min(PAUSE_MAX);
            self.cool_until = self.cool_until.max(now + retry_after);
        }
        match &mut self.phase {
            Phase::Closed => self.count_verdict(verdict, now, jitter),
            Phase::HalfOpen { probes, .. } => {
                *probes -= 1;
                self.handle_probe_verdict(verdict, now, jitter)
            }
            // A call that was admitted before it opened belongs to an older generation.
            Phase::Open { .. } => None,
        }
    }

    /// Closes the circuit and forgets all that it held against the other side.
    pub fn reset(&mut self, now: Instant) -> Option<Change> {
        let was_closed = matches!(self.phase, Phase::Closed);
        self.openings = 0;
        self.cool_until = now;
        let closed = self.close(now);
        (!was_closed).then_some(closed)
    }

    /// The circuit as a caller would find it at `now`.
    pub fn status(&mut self, now: Instant) -> BreakerStatus {
        let (circuit, probes) = match self.phase {
            Phase::Closed => (Circuit::Closed, 0),
            Phase::Open { until } if now < until => (Circuit::Open, 0),
            Phase::Open { .. } => (Circuit::HalfOpen, 0),
            Phase::HalfOpen { probes, .. } => (Circuit::HalfOpen, probes),
        };
        let counts = self.window.total(now);
        BreakerStatus {
            circuit,
            failures_in_row: self.failures_in_row,
            calls_in_window: counts.calls,
            failures_in_window: counts.failures,
            probes,
            refusing: self.refusal(now),
            generation: self.generation,
        }
    }

    fn refusal(&self, now: Instant) -> Option<Unavailable> {
        let open_until = match self.phase {
            Phase::Open { until } => until,
            _ => now,
        };
        let pause = open_until.max(self.cool_until).saturating_duration_since(now);
        let probes_max = self.settings.probes_max.max(1);
        let (because, retry_after) = match self.phase {
            _ if open_until > now => (UnavailableBecause::Open, Some(pause)),
            _ if self.cool_until > now => (UnavailableBecause::CoolingDown, Some(pause)),
            Phase::HalfOpen { probes, .. } if probes >= probes_max => (UnavailableBecause::Probing, None),
            _ => return None,
        };
        Some(Unavailable { because, retry_after })
    }

    fn count_verdict(&mut self, verdict: Verdict, now: Instant, jitter: f64) -> Option<Change> {
        let counts = match verdict {
            Verdict::Ignored | Verdict::Throttled(_) => return None,
            Verdict::Succeeded => {
                self.failures_in_row = 0;
                self.window.record(0, now)
            }
            Verdict::Failed => {
                self.failures_in_row = self.failures_in_row.saturating_add(1);
                if now.saturating_duration_since(self.clean_since) >= 2 * WINDOW {
                    self.openings = 0;
                }
                self.clean_since = now;
                self.window.record(1, now)
            }
        };
        let in_row = self.failures_in_row >= self.settings.failures_in_row.max(1);
        // Looked at after a success as well: it may be the call that makes them enough to judge.
        let in_window = counts.failures > 0
            && counts.calls >= self.settings.calls_min
            && u64::from(counts.failures) * 100
                >= u64::from(counts.calls) * u64::from(self.settings.failure_percent);
        (in_row || in_window).then(|| self.open(now, jitter))
    }

    fn handle_probe_verdict(&mut self, verdict: Verdict, now: Instant, jitter: f64) -> Option<Change> {
        let Phase::HalfOpen { successes, .. } = &mut self.phase else {
            return None;
        };
        match verdict {
            Verdict::Ignored | Verdict::Throttled(_) => None,
            Verdict::Succeeded => {
                *successes += 1;
                (*successes >= self.settings.successes_to_close).then(|| self.close(now))
            }
            Verdict::Failed => {
                self.failures_in_row = self.failures_in_row.saturating_add(1);
                Some(self.open(now, jitter))
            }
        }
    }

    fn open(&mut self, now: Instant, jitter: f64) -> Change {
        let doubled = self.settings.open.saturating_mul(2u32.saturating_pow(self.openings));
        let spread = if jitter.is_nan() { 1.0 } else { 1.0 + JITTER * jitter.clamp(-1.0, 1.0) };
        let open_for = doubled.min(self.settings.open_max).min(PAUSE_MAX).mul_f64(spread);
        self.openings = self.openings.saturating_add(1);
        self.enter_phase(Phase::Open { until: now + open_for });
        Change::Opened(open_for)
    }

    fn close(&mut self, now: Instant) -> Change {
        self.failures_in_row = 0;
        self.window = Window::new(now);
        self.clean_since = now;
        self.enter_phase(Phase::Closed);
        Change::Closed
    }

    fn enter_phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.generation += 1;
    }
}
