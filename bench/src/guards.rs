//! The load that the guards were made for, with and without them, in accelerated time.
//!
//! 200 people ask 3 questions a minute of a search server that allows 1,000 calls in a minute and fails at every fifth
//! (`hour`). The guards are those that `search_web` comes with. How much the cache saves depends on how often people ask
//! the same: that is the assumption here, and so it is varied. What a cached answer takes is measured in real time.

mod hour;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use helve_egress::{Egress, EgressSettings};
use helve_store::{MemoryStore, Store};
use helve_store_sql::{DataDir, SqliteStore};
use helve_tool::Guards;
use helve_tool_builtin::{Settings, builtin_tools};
use helve_types::World;

use self::hour::{ALLOWED_A_MINUTE, Hour, MINUTES, Questions, USERS, pass};
use crate::pipeline::Bench;
use crate::stopwatch::{Stopwatch, Took};

/// Each hour is played with other dice: a breaker that opens in one may not open in another.
const HOURS: u64 = 20;

const QUESTIONS: [Questions; 3] = [
    Questions { what: "500, as words are (Zipf, exponent 1)", different: 500, exponent: 1.0 },
    Questions { what: "500, all alike", different: 500, exponent: 0.0 },
    Questions { what: "5,000, all alike", different: 5_000, exponent: 0.0 },
];

pub(crate) fn report() -> anyhow::Result<()> {
    println!(
        "\n{USERS} people, 3 questions a minute each, {HOURS} hours of {MINUTES} minutes, each beginning with an empty \
         cache; the server allows {ALLOWED_A_MINUTE} calls a minute and fails at every fifth\n"
    );
    println!(
        "| different questions | guards | calls | sent to the server | saved | from the cache | old answers \
         | limited | held back by the breaker | failed after all tries | without an answer | in the worst hour |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let shipped = shipped()?;
    let mut cached = vec![];
    for questions in QUESTIONS {
        let bare = play(questions, &Guards { attempts: 1, ..Guards::default() })?;
        let guarded = play(questions, &shipped)?;
        anyhow::ensure!(guarded.sum.turned_away == 0, "the limit let too many through");
        row(questions, "none", &bare, &bare);
        row(questions, "`search_web`'s", &guarded, &bare);
        cached.extend(guarded.sum.cached);
    }
    cached_answers(cached)
}

/// The guards that people get.
fn shipped() -> anyhow::Result<Guards> {
    // Nothing leaves here, but the egress wants to be able to.
    helve::assemble::install_tls();
    let settings = Settings::new(Egress::new(EgressSettings::default())?, Path::new("notes"));
    let tools = builtin_tools(&settings).into_iter();
    let search =
        tools.map(|(tool, guards)| (tool.spec().name.clone(), guards)).find(|(name, _)| name == "search_web");
    Ok(search.context("search_web is not among the built-in tools")?.1)
}

/// All hours together.
struct Played {
    sum: Hour,
    /// The largest share of calls that got no answer in one of them.
    worst_percent: f64,
}

fn play(questions: Questions, guards: &Guards) -> anyhow::Result<Played> {
    let mut played = Played { sum: Hour::default(), worst_percent: 0.0 };
    for seed in 1..=HOURS {
        let hour = pass(questions, guards.clone(), seed)?;
        played.worst_percent = played.worst_percent.max(hour.unanswered_percent());
        played.sum.add(hour);
    }
    Ok(played)
}

fn row(questions: Questions, guards: &str, played: &Played, bare: &Played) {
    let Played { sum, worst_percent } = played;
    let percent = |part: u64| format!("{:.2} %", 100.0 * part as f64 / sum.calls as f64);
    let saved = 100.0 * (1.0 - sum.asked as f64 / bare.sum.asked as f64);
    println!(
        "| {} | {guards} | {} | {} | {saved:.1} % | {} | {} | {} | {} | {} | {} | {worst_percent:.2} % |",
        questions.what,
        sum.calls,
        sum.asked,
        percent(sum.from_cache),
        percent(sum.stood_in),
        percent(sum.limited),
        percent(sum.held_back),
        percent(sum.failed),
        percent(sum.unanswered()),
    );
}

/// What an answer from the cache takes, in real time: in the load, and one after the other.
fn cached_answers(in_the_load: Vec<Took>) -> anyhow::Result<()> {
    println!(
        "\nAn answer from the cache, in real time (µs; everything a call passes, its record included; CPU is of the \
         thread that asks)\n"
    );
    println!("| where | record | p50 | p99 | slowest | CPU p50 | CPU p99 |");
    println!("|---|---|---|---|---|---|---|");
    cached_row("in the load above", "in memory", &in_the_load);
    crate::block_on(async {
        let dir = tempfile::tempdir()?;
        let sqlite: Arc<dyn Store> =
            Arc::new(SqliteStore::open(DataDir::lock(dir.path())?, World::real().now())?);
        cached_row("alone", "in memory", &answers(Arc::new(MemoryStore::new()), 20_000).await?);
        cached_row("alone", "on disk", &answers(sqlite, 2_000).await?);
        Ok(())
    })
}

fn cached_row(place: &str, record: &str, took: &[Took]) {
    let sorted = |of: fn(&Took) -> f64| {
        let mut sorted: Vec<f64> = took.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let at = |sorted: &[f64], share: f64| {
        let last = sorted.len().saturating_sub(1) as f64;
        sorted.get((last * share) as usize).copied().unwrap_or(f64::NAN)
    };
    let (clock, cpu) = (sorted(|took| took.clock_us), sorted(|took| took.cpu_us));
    println!(
        "| {place} | {record} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
        at(&clock, 0.5),
        at(&clock, 0.99),
        at(&clock, 1.0),
        at(&cpu, 0.5),
        at(&cpu, 0.99)
    );
}

async fn answers(store: Arc<dyn Store>, calls: u32) -> anyhow::Result<Vec<Took>> {
    let registry = crate::pipeline::registry()?;
    let bench = Bench::new(store, &registry, "cached").await?;
    // Fills the cache.
    bench.pipeline.execute_call(&bench.call, &bench.cx).await?;
    let mut took = vec![];
    for _ in 0..calls {
        let watch = Stopwatch::start();
        bench.pipeline.execute_call(&bench.call, &bench.cx).await?;
        took.push(watch.read());
        bench.cx.journal.take_written();
    }
    Ok(took)
}
