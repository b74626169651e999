//! One hour of people who ask a bad server, on tokio's clock, held and moved on whenever everybody waits.
//!
//! The dice of the people and of the server are seeded; the jitter of pauses and breaker is real chance, as in a server.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use helve_store::MemoryStore;
use helve_tool::{CallContext, Guards, Outcome, Registry, Request, Tool, ToolError, ToolFuture};
use helve_types::{CallId, Fact, FailureKind, Stage, ToolCall, ToolOutput, ToolSpec, Trail, World};
use tokio::time::Instant;

use crate::pipeline::{Bench, spec};
use crate::stopwatch::{Stopwatch, Took};

pub(super) const USERS: u32 = 200;
pub(super) const MINUTES: u32 = 60;
pub(super) const ALLOWED_A_MINUTE: usize = 1_000;
const PAUSE: Duration = Duration::from_secs(20);

/// What people ask: so many different questions, the n-th of them `1 / n^exponent` times as often as the first.
#[derive(Clone, Copy)]
pub(super) struct Questions {
    pub(super) what: &'static str,
    pub(super) different: u32,
    pub(super) exponent: f64,
}

/// What an hour came to, or several.
#[derive(Default)]
pub(super) struct Hour {
    pub(super) calls: u64,
    /// Answered from the cache, or with the answer of the same question in flight.
    pub(super) from_cache: u64,
    /// Answered with the last good answer.
    pub(super) stood_in: u64,
    /// Refused by the limit.
    pub(super) limited: u64,
    /// Refused by the breaker.
    pub(super) held_back: u64,
    /// Sent as often as it may be, and failed each time.
    pub(super) failed: u64,
    /// What the server saw.
    pub(super) asked: u64,
    /// Beyond what it allows.
    pub(super) turned_away: u64,
    /// What each answer from the cache took, in real time.
    pub(super) cached: Vec<Took>,
}

impl Hour {
    pub(super) fn unanswered(&self) -> u64 {
        self.limited + self.held_back + self.failed
    }

    pub(super) fn unanswered_percent(&self) -> f64 {
        100.0 * self.unanswered() as f64 / self.calls as f64
    }

    pub(super) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.from_cache += other.from_cache;
        self.stood_in += other.stood_in;
        self.limited += other.limited;
        self.held_back += other.held_back;
        self.failed += other.failed;
        self.asked += other.asked;
        self.turned_away += other.turned_away;
        self.cached.extend(other.cached);
    }

    fn count(&mut self, outcome: &Outcome, trail: &Trail, took: Took) -> anyhow::Result<()> {
        self.calls += 1;
        match outcome {
            Outcome::Finished(_) if trail.from_fallback() => self.stood_in += 1,
            Outcome::Finished(_) => self.from_cache += u64::from(trail.from_cache()),
            Outcome::Failed(failure) | Outcome::Refused(failure) => match failure.kind {
                FailureKind::Limited => self.limited += 1,
                FailureKind::Unavailable => self.held_back += 1,
                FailureKind::Failed => self.failed += 1,
                other => bail!("nothing in this load should end as {other:?}: {}", failure.message),
            },
            other => bail!("nothing in this load should end as {other:?}"),
        }
        if trail.0.iter().any(|stage| matches!(stage, Stage::Cache { found } if found == "hit")) {
            self.cached.push(took);
        }
        Ok(())
    }
}

/// Lets an hour pass, beginning with nothing in the cache.
pub(super) fn pass(questions: Questions, guards: Guards, seed: u64) -> anyhow::Result<Hour> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(async {
        let upstream = Arc::new(Upstream::new(seed));
        let registry = Arc::new(Registry::new());
        registry.register(upstream.clone(), guards, &World::real())?;
        let shares = Arc::new(shares(questions));
        let users: Vec<_> =
            (0..USERS).map(|user| tokio::spawn(ask(user, seed, registry.clone(), shares.clone()))).collect();
        let mut hour = Hour::default();
        for user in users {
            hour.add(user.await??);
        }
        hour.asked = upstream.asked.load(Ordering::Relaxed);
        hour.turned_away = upstream.turned_away.load(Ordering::Relaxed);
        Ok(hour)
    })
}

/// One person, who asks a question every twenty seconds.
async fn ask(user: u32, seed: u64, registry: Arc<Registry>, shares: Arc<Vec<f64>>) -> anyhow::Result<Hour> {
    let mut dice = Dice((seed << 32 | u64::from(user)).wrapping_mul(0xA076_1D64_78BD_642F));
    let bench = Bench::new(Arc::new(MemoryStore::new()), &registry, "search").await?;
    let end = Instant::now() + Duration::from_secs(60) * MINUTES;
    let mut next = Instant::now() + PAUSE.mul_f64(dice.throw());
    let mut hour = Hour::default();
    while next < end {
        tokio::time::sleep_until(next).await;
        let thrown = dice.throw();
        let question = shares.partition_point(|share| *share < thrown);
        let call = ToolCall {
            id: CallId::new(bench.cx.run, 1, u32::try_from(hour.calls)?),
            arguments: format!(r#"{{"query": "question {question}"}}"#),
            ..bench.call.clone()
        };
        let cx = CallContext { call: call.id.clone(), ..bench.cx.clone() };
        let watch = Stopwatch::start();
        let outcome = bench.pipeline.execute_call(&call, &cx).await?;
        let took = watch.read();
        hour.count(&outcome, &trail(&bench), took)?;
        next += PAUSE.mul_f64(0.75 + dice.throw() / 2.0);
    }
    Ok(hour)
}

/// What the record of the call that has just ended says about its stages.
fn trail(bench: &Bench) -> Trail {
    let written = bench.cx.journal.take_written();
    let of = |fact: &Fact| match fact {
        Fact::ToolFinished { trail, .. }
        | Fact::ToolFailed { trail, .. }
        | Fact::ToolRefused { trail, .. } => Some(trail.clone()),
        _ => None,
    };
    written.iter().rev().find_map(|recorded| of(&recorded.event.fact)).unwrap_or_default()
}

/// How many of all askings go to the first question, to the first two, and so on.
fn shares(questions: Questions) -> Vec<f64> {
    let weights = (1..=questions.different).map(|n| f64::from(n).powf(-questions.exponent));
    let mut sum = 0.0;
    let sums: Vec<f64> = weights
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect();
    sums.into_iter().map(|part| part / sum).collect()
}

/// Chance that can be repeated.
struct Dice(u64);

impl Dice {
    /// Between 0 and 1 (splitmix64).
    fn throw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The search server.
struct Upstream {
    spec: ToolSpec,
    state: Mutex<(Dice, VecDeque<Instant>)>,
    asked: AtomicU64,
    turned_away: AtomicU64,
}

impl Upstream {
    fn new(seed: u64) -> Self {
        Self {
            spec: spec("search"),
            state: Mutex::new((Dice(seed), VecDeque::new())),
            asked: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
        }
    }

    /// Whether the server allows one more call now, and whether it then fails.
    fn fail_by_script(&self) -> Result<(), ToolError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (dice, window) = &mut *state;
        while window.front().is_some_and(|first| now.duration_since(*first) >= Duration::from_secs(60)) {
            window.pop_front();
        }
        if window.len() >= ALLOWED_A_MINUTE {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            return Err(ToolError::Busy { message: "429".into(), retry_after: None });
        }
        window.push_back(now);
        // As `search_web` takes a 500.
        if dice.throw() < 0.2 { Err(ToolError::Lost("500".into())) } else { Ok(()) }
    }
}

impl Tool for Upstream {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(400)).await;
            self.fail_by_script()?;
            Ok(ToolOutput::text(format!("what is known of {}", request.arguments["query"])))
        })
    }
}
