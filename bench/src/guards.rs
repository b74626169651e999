//! The load that the guards were made for, with and without them, in accelerated time.
//!
//! 200 people ask 3 questions a minute of a search server that allows 1,000 calls in a minute and fails at every fifth. The
//! clock is tokio's, held and moved on whenever everybody waits, so an hour passes in seconds and the same seed gives
//! the same hour. How much the cache saves depends on how often people ask the same: that is the assumption here,
//! and so it is varied. What a cached answer takes is measured apart, in real time.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_store::{MemoryStore, Store};
use helve_store_sql::{DataDir, SqliteStore};
use helve_tool::{
    BreakerSettings, CachePolicy, CacheScope, CallContext, Guards, LimitSettings, Limits, Outcome, Registry,
    Request, Tool, ToolError, ToolFuture,
};
use helve_types::{CallId, Fallback, ToolCall, ToolOutput, ToolSpec, World};
use tokio::time::Instant;

use crate::pipeline::{Bench, spec};

const USERS: u32 = 200;
const MINUTES: u32 = 60;
const PAUSE: Duration = Duration::from_secs(20);
const ALLOWED_A_MINUTE: usize = 1_000;
/// Each hour is played with other dice: a breaker that opens in one may not open in another.
const HOURS: u64 = 5;

/// What people ask: so many different questions, the n-th of them `1 / n^exponent` times as often as the first.
#[derive(Clone, Copy)]
struct Questions {
    what: &'static str,
    different: u32,
    exponent: f64,
}

const QUESTIONS: [Questions; 3] = [
    Questions { what: "500, as words are (Zipf, exponent 1)", different: 500, exponent: 1.0 },
    Questions { what: "500, all alike", different: 500, exponent: 0.0 },
    Questions { what: "5,000, all alike", different: 5_000, exponent: 0.0 },
];

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
    fn fate(&self) -> Result<(), ToolError> {
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
            self.fate()?;
            Ok(ToolOutput::text(format!("what is known of {}", request.arguments["query"])))
        })
    }
}

fn guarded() -> Guards {
    let limit = LimitSettings {
        concurrent: Some(50),
        per_window: Some(u32::try_from(ALLOWED_A_MINUTE).unwrap_or(u32::MAX)),
        wait: Duration::from_secs(5),
        ..LimitSettings::default()
    };
    Guards {
        attempts: 3,
        limits: Limits { tool: Some(limit), user: None },
        breaker: Some(BreakerSettings::default()),
        cache: Some(CachePolicy { ttl: Duration::from_secs(300), scope: CacheScope::Everyone }),
        fallback: Some(Fallback { last_good_ms: NonZeroU64::new(3_600_000), tool: None }),
        ..Guards::default()
    }
}

fn bare() -> Guards {
    Guards { attempts: 1, ..Guards::default() }
}

/// What an hour came to, or several.
#[derive(Default)]
struct Hour {
    calls: u64,
    failed: u64,
    stood_in: u64,
    asked: u64,
    turned_away: u64,
}

impl Hour {
    fn failed_percent(&self) -> f64 {
        100.0 * self.failed as f64 / self.calls as f64
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.stood_in += other.stood_in;
        self.asked += other.asked;
        self.turned_away += other.turned_away;
    }
}

pub(crate) fn report() -> anyhow::Result<()> {
    println!(
        "\n{USERS} people, 3 questions a minute each, {HOURS} hours of {MINUTES} minutes; the server allows \
         {ALLOWED_A_MINUTE} calls a minute and fails at every fifth\n"
    );
    println!(
        "| different questions | guards | calls | sent to the server | saved | old answers | failed | in the worst hour |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for questions in QUESTIONS {
        let (alone, alone_worst) = play(questions, &bare())?;
        let (kept, kept_worst) = play(questions, &guarded())?;
        anyhow::ensure!(kept.turned_away == 0, "the limit let too many through");
        for (guards, sum, worst) in [("none", &alone, alone_worst), ("all", &kept, kept_worst)] {
            let saved = 100.0 * (1.0 - sum.asked as f64 / alone.asked as f64);
            println!(
                "| {} | {guards} | {} | {} | {saved:.1} % | {} | {:.2} % | {worst:.2} % |",
                questions.what,
                sum.calls,
                sum.asked,
                sum.stood_in,
                sum.failed_percent()
            );
        }
    }
    cached_answers()
}

/// All hours together, and the share of failed calls in the worst of them.
fn play(questions: Questions, guards: &Guards) -> anyhow::Result<(Hour, f64)> {
    let (mut sum, mut worst) = (Hour::default(), 0.0_f64);
    for seed in 1..=HOURS {
        let hour = pass(questions, guards.clone(), seed)?;
        worst = worst.max(hour.failed_percent());
        sum.add(&hour);
    }
    Ok((sum, worst))
}

/// Lets an hour pass.
fn pass(questions: Questions, guards: Guards, seed: u64) -> anyhow::Result<Hour> {
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
            let theirs = user.await??;
            hour.add(&theirs);
        }
        let metrics = registry.all().first().map(|tool| tool.metrics());
        hour.stood_in = metrics.map_or(0, |metrics| metrics.from_fallback);
        hour.asked = upstream.asked.load(Ordering::Relaxed);
        hour.turned_away = upstream.turned_away.load(Ordering::Relaxed);
        Ok(hour)
    })
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
        let outcome = bench.pipeline.execute(&call, &cx).await?;
        bench.cx.journal.take_written();
        hour.calls += 1;
        hour.failed += u64::from(!matches!(outcome, Outcome::Finished(_)));
        next += PAUSE.mul_f64(0.75 + dice.throw() / 2.0);
    }
    Ok(hour)
}

/// What an answer from the cache takes, in real time.
fn cached_answers() -> anyhow::Result<()> {
    println!(
        "\nAn answer from the cache, in real time (µs; everything a call passes, its record included)\n"
    );
    println!("| record | p50 | p99 | slowest |");
    println!("|---|---|---|---|");
    crate::block_on(async {
        let dir = tempfile::tempdir()?;
        let sqlite: Arc<dyn Store> =
            Arc::new(SqliteStore::open(DataDir::hold(dir.path())?, World::real().now())?);
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
        for (what, store, calls) in [("in memory", memory, 20_000), ("on disk", sqlite, 2_000)] {
            let registry = crate::pipeline::registry()?;
            let bench = Bench::new(store, &registry, "cached").await?;
            let mut took = vec![];
            for _ in 0..calls {
                let began = std::time::Instant::now();
                bench.pipeline.execute(&bench.call, &bench.cx).await?;
                took.push(began.elapsed().as_secs_f64() * 1e6);
                bench.cx.journal.take_written();
            }
            // The first one filled the cache.
            took.remove(0);
            took.sort_by(f64::total_cmp);
            let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
            println!("| {what} | {:.1} | {:.1} | {:.1} |", at(0.5), at(0.99), at(1.0));
        }
        Ok(())
    })
}
