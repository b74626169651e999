//! `faultlab`: kills the server, and says whether it kept its promises.

mod all;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use helve_lab::drive::{Campaign, ServerCommand, Tally, Verdict, Where};
use helve_lab::labels::CrashPoint;
use helve_lab::mutants::{Finder, Mutant, SEEDS, Seed};
use helve_lab::server::{ServerArgs, run};

use self::all::{AllArgs, all};

#[derive(Debug, Parser)]
#[command(name = "faultlab", about = "Kills the server, and says whether it kept its promises")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Kill it so many times, checking before each restart
    Kill(KillArgs),
    /// Everything, in its long form, with one table at the end
    All(AllArgs),
    /// Show that each seeded bug is found
    Mutants(MutantsArgs),
    /// The server under test; what `kill` starts
    #[command(hide = true)]
    Server(ServerArgs),
}

#[derive(Debug, Args)]
struct Common {
    /// Plans the kills and the load
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rounds at the same time
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// Where data directories are made [default: in memory]
    #[arg(long)]
    dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct KillArgs {
    #[command(flatten)]
    common: Common,
    #[arg(long, default_value_t = 300)]
    kills: usize,
    /// Go on when something was found
    #[arg(long)]
    keep_going: bool,
    /// Only this round of the plan
    #[arg(long)]
    round: Option<usize>,
    /// Always at this label, as in `tool.after_run:2`
    #[arg(long, conflicts_with = "any_moment")]
    at: Option<CrashPoint>,
    /// Never at a label
    #[arg(long)]
    any_moment: bool,
    /// No kills at all: a load, and a server that is brought to rest
    #[arg(long)]
    calm: bool,
    /// With this bug
    #[arg(long)]
    mutant: Option<Mutant>,
}

#[derive(Debug, Args)]
struct MutantsArgs {
    #[command(flatten)]
    common: Common,
    /// How many kills each bug may survive
    #[arg(long, default_value_t = 300)]
    kills: usize,
    /// Only this one
    #[arg(long)]
    only: Option<Mutant>,
}

fn main() -> ExitCode {
    match obey(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("faultlab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn obey(command: Command) -> anyhow::Result<ExitCode> {
    let command = match command {
        Command::Server(args) => return run(&args).map(|()| ExitCode::SUCCESS),
        other => other,
    };
    helve::assemble::install_tls();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        match command {
            Command::Kill(args) => kill(args).await,
            Command::Mutants(args) => mutants(args).await,
            Command::All(args) => all(&args).await,
            Command::Server(_) => Ok(ExitCode::SUCCESS),
        }
    })
}

fn campaign(common: &Common, kills: usize) -> anyhow::Result<Campaign> {
    // This very program is also the server, so that there is nothing else to build.
    let command = ServerCommand { program: std::env::current_exe()?, arguments: vec!["server".into()] };
    let campaign = Campaign::new(command, common.seed, kills);
    Ok(Campaign { jobs: common.jobs, dir: common.dir.clone(), progress, ..campaign })
}

fn progress(tally: &Tally, failures: usize) {
    eprintln!(
        "{:>7} kills  {:>5.0}/min  {:>6} runs  {:>6} effects  {failures} rounds with violations",
        tally.kills,
        tally.kills_per_minute(),
        tally.counted.runs,
        tally.counted.effects
    );
}

async fn kill(args: KillArgs) -> anyhow::Result<ExitCode> {
    let places = match (args.at, args.any_moment) {
        (Some(point), _) => Where::Only(point),
        (None, true) => Where::AnyMoment,
        (None, false) => Where::Everywhere,
    };
    let campaign = campaign(&args.common, args.kills)?;
    let campaign = Campaign {
        places,
        round: args.round,
        mutant: args.mutant,
        keep_going: args.keep_going,
        calm: args.calm,
        ..campaign
    };
    let Verdict { tally, failures } = campaign.run().await?;
    println!("{tally}");
    if failures.is_empty() {
        println!("no violation");
        return Ok(ExitCode::SUCCESS);
    }
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(ExitCode::FAILURE)
}

async fn mutants(args: MutantsArgs) -> anyhow::Result<ExitCode> {
    let mut survivors = 0;
    let wanted = |seed: &&Seed| args.only.is_none_or(|only| only == seed.mutant);
    for seed in SEEDS.iter().filter(wanted) {
        let Found { line, by_its_rule } = try_mutant(seed, &args.common, args.kills).await?;
        println!("{line}");
        survivors += usize::from(!by_its_rule);
    }
    Ok(if survivors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What became of a seeded bug.
struct Found {
    line: String,
    by_its_rule: bool,
}

async fn try_mutant(seed: &Seed, common: &Common, kills: usize) -> anyhow::Result<Found> {
    let campaign = Campaign {
        mutant: Some(seed.mutant),
        calm: seed.finder == Finder::Calm,
        until: Some(seed.rule),
        progress: |_, _| {},
        ..campaign(common, kills)?
    };
    let verdict = campaign.run().await?;
    let by_its_rule = verdict.broke(seed.rule);
    let word = if by_its_rule { "found" } else { "SURVIVED" };
    let (name, kills, rules) = (seed.name, verdict.tally.kills, verdict.rules().join(" "));
    // What a known bug leaves behind is of no use.
    verdict.failures.iter().for_each(|failure| _ = std::fs::remove_dir_all(&failure.dir));
    Ok(Found { line: format!("{name:<24}{kills:>6} kills  {word} by {rules}"), by_its_rule })
}
