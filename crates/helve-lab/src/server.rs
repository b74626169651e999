//! The server under test: the real one, with the lab's tools, its fail points, and optionally a bug around it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use helve::assemble::{AroundStore, Extras, install_tls};
use helve::commands::serve::serve;
use helve::config::{Config, Environment, Overrides};
use helve_store::Store;
use helve_store_sql::Syncs;
use helve_types::{Clock, FailPoints, World};

use crate::CANARY;
use crate::labels::{CrashPoint, IN_STORE};
use crate::mutants::Mutant;
use crate::store_fault::{FaultyStore, ObservedStore, StaleWriter};
use crate::tools::{ToolParts, lab_tools};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Debug, Args)]
pub struct ServerArgs {
    /// The configuration file
    #[arg(long)]
    config: std::path::PathBuf,
    /// Where the ledger takes effects
    #[arg(long, env = "LAB_LEDGER")]
    ledger: String,
    /// Die when this label is passed for the nth time, as in `tool.after_run:2`
    #[arg(long, env = "LAB_CRASH_AT")]
    crash_at: Option<CrashPoint>,
    /// Have this bug
    #[arg(long, env = "LAB_MUTANT")]
    mutant: Option<Mutant>,
    /// When the store syncs: `commits`, or as a bug `checkpoints` or `never`
    #[arg(long, default_value = "commits", value_parser = crate::power::syncs)]
    syncs: Syncs,
    /// Describe the tools that ask for consent in this edition
    #[arg(long, default_value_t = 0)]
    wording: u32,
    /// Let the former owner of each run that is claimed write into it
    #[arg(long)]
    with_stale_writer: bool,
    /// Live so many days after today
    #[arg(long, default_value_t = 0)]
    days_ahead: u32,
    /// End when standard input does: whoever holds its other end is gone
    #[arg(long)]
    end_with_stdin: bool,
}

/// Serves until it is killed.
pub fn run(args: &ServerArgs) -> anyhow::Result<()> {
    let overrides = Overrides { config: Some(args.config.clone()), ..Overrides::default() };
    // Whatever keys this machine has are not for the lab.
    let config = Config::load(&overrides, &Environment::of([("LAB_KEY", CANARY)]))?;
    _ = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(&config.log))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
    install_tls();
    let failpoints = args.crash_at.map_or_else(FailPoints::default, CrashPoint::failpoints);
    let flaw = args.mutant.and_then(Mutant::flaw);
    let bench = ToolParts { ledger: args.ledger.clone(), wording: args.wording, flaw };
    let extras = Extras {
        tools: lab_tools(&bench)?,
        around_store: around_store(args, bench, &failpoints),
        syncs: args.syncs,
    };
    if args.end_with_stdin {
        end_with_stdin();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let world = World { failpoints, clock: clock(args.days_ahead), ..World::real() };
    runtime.block_on(serve(&config, &world, extras)).context("the lab's server")?;
    runtime.shutdown_background();
    Ok(())
}

/// The system's clock, or one that is so many days ahead of it.
fn clock(days: u32) -> Clock {
    if days == 0 {
        return Clock::System;
    }
    let ahead = Clock::manual(Clock::System.now().plus_ms(i64::from(days) * DAY_MS));
    let moved = ahead.clone();
    std::thread::spawn(move || {
        let mut last = Clock::System.monotonic_time();
        loop {
            std::thread::sleep(Duration::from_millis(1));
            let now = Clock::System.monotonic_time();
            let passed = now.as_millis().saturating_sub(last.as_millis());
            moved.advance_ms(i64::try_from(passed).unwrap_or(i64::MAX));
            last = now;
        }
    });
    ahead
}

/// Unless it has a stale writer, a bug or to die there, the store is the real one and nothing else.
fn around_store(args: &ServerArgs, bench: ToolParts, failpoints: &FailPoints) -> Option<AroundStore> {
    let (mutant, with_stale_writer) = (args.mutant, args.with_stale_writer);
    let watched =
        args.crash_at.is_some_and(|point| IN_STORE.contains(&point.label)).then(|| failpoints.clone());
    if mutant.is_none() && watched.is_none() && !with_stale_writer {
        return None;
    }
    Some(Box::new(move |mut store: Arc<dyn Store>| {
        if let Some(mutant) = mutant {
            store = mutant.wrap_store(store, &bench);
        }
        if with_stale_writer {
            store = FaultyStore::wrap(store, StaleWriter);
        }
        if let Some(failpoints) = watched {
            store = FaultyStore::wrap(store, ObservedStore { failpoints });
        }
        store
    }))
}

/// The driver holds the other end, and it closes however the driver ends.
fn end_with_stdin() {
    std::thread::spawn(|| {
        _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(3);
    });
}
