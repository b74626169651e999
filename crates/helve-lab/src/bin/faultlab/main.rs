//! `faultlab`: kills the server, and says whether it kept its promises.

mod all;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use helve_lab::database::StoreKind;
use helve_lab::disk::{self, DiskTrial, Fault, SyscallPlan};
use helve_lab::drive::{Campaign, KillTally, KillVerdict, LabelFilter, ServerCommand};
use helve_lab::labels::CrashPoint;
use helve_lab::mutants::{Finder, Mutant, SEEDS, Seed};
use helve_lab::power::{self, PowerCutPlan};
use helve_lab::server::{ServerArgs, run};
use helve_lab::streams::{self, StreamBug, StreamPlan};
use helve_store_sql::Syncs;

use self::all::{AllArgs, all};

#[derive(Debug, Parser)]
#[command(name = "faultlab", about = "Kills the server, and says whether it kept its promises")]
struct Cli {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Kill it so many times, checking before each restart
    Kill(KillArgs),
    /// Everything, in its long form, with one table at the end
    All(AllArgs),
    /// Show that each seeded bug is found
    Mutants(MutantsArgs),
    /// Cut readers off at any byte, and say whether they lost an event or got one twice
    Streams(StreamsArgs),
    /// Cut the power so many times, and see what disk, clients and ledger make of it
    Power(PowerArgs),
    /// Kill it at the nth write, sync, send and receipt, for every n in turn
    Syscalls(SyscallsArgs),
    /// Give it a disk that is full, broken or read-only
    Disk(DiskArgs),
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
    /// What the server keeps its data in: `sqlite`, or `postgres`, of which each round has its own
    #[arg(long, default_value = "sqlite")]
    store: StoreKind,
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
    /// Die at labels only, all of them again and again
    #[arg(long, conflicts_with_all = ["any_moment", "at"])]
    labels: bool,
    /// Kill PostgreSQL under load, and Helve while it is away or later
    #[arg(long, conflicts_with_all = ["any_moment", "at", "labels"])]
    database: bool,
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

#[derive(Debug, Args)]
struct StreamsArgs {
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many events readers are to get
    #[arg(long, default_value_t = 20_000)]
    events: usize,
    /// Over how many connections that were cut
    #[arg(long, default_value_t = 1_000)]
    reconnects: usize,
    /// Where data directories are made [default: in memory]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// With this bug between the server and its readers
    #[arg(long)]
    flaw: Option<StreamBug>,
}

#[derive(Debug, Args)]
struct PowerArgs {
    #[command(flatten)]
    common: Common,
    #[arg(long, default_value_t = 100)]
    losses: usize,
    /// When the store syncs: `commits`, or as a bug that must be found `checkpoints` or `never`
    #[arg(long, default_value = "commits", value_parser = power::syncs)]
    syncs: Syncs,
}

#[derive(Debug, Args)]
struct SyscallsArgs {
    #[command(flatten)]
    common: Common,
    #[arg(long, default_value_t = 500)]
    kills: usize,
}

#[derive(Debug, Args)]
struct DiskArgs {
    /// Only the cheap ones
    #[arg(long)]
    short: bool,
    /// Only those whose name has this in it
    #[arg(long)]
    only: Option<String>,
    /// In a mount namespace of its own already
    #[arg(long, hide = true)]
    apart: bool,
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

fn obey(command: LabCommand) -> anyhow::Result<ExitCode> {
    let command = match command {
        LabCommand::Server(args) => return run(&args).map(|()| ExitCode::SUCCESS),
        other => other,
    };
    helve::assemble::install_tls();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        match command {
            LabCommand::Kill(args) => kill(args).await,
            LabCommand::Mutants(args) => mutants(args).await,
            LabCommand::Streams(args) => storm(args).await,
            LabCommand::Power(args) => cut_power(args).await,
            LabCommand::Syscalls(args) => syscalls(args).await,
            LabCommand::Disk(args) => break_disks(args).await,
            LabCommand::All(args) => all(&args).await,
            LabCommand::Server(_) => Ok(ExitCode::SUCCESS),
        }
    })
}

/// This very program is also the server, so that there is nothing else to build.
fn server() -> anyhow::Result<ServerCommand> {
    Ok(ServerCommand { program: std::env::current_exe()?, arguments: vec!["server".into()] })
}

fn campaign(common: &Common, kills: usize) -> anyhow::Result<Campaign> {
    let campaign = Campaign::new(server()?, common.seed, kills);
    Ok(Campaign { jobs: common.jobs, dir: common.dir.clone(), store: common.store, progress, ..campaign })
}

fn progress(tally: &KillTally, failures: usize) {
    eprintln!(
        "{:>7} kills  {:>5.0}/min  {:>6} runs  {:>6} effects  {failures} rounds with violations",
        tally.kills,
        tally.kills_per_minute(),
        tally.counted.runs,
        tally.counted.effects
    );
}

async fn kill(args: KillArgs) -> anyhow::Result<ExitCode> {
    let places = match args.at {
        Some(point) => LabelFilter::Only(point),
        None if args.any_moment => LabelFilter::AnyMoment,
        None if args.labels => LabelFilter::Labels,
        None if args.database => LabelFilter::Database,
        None => LabelFilter::Everywhere,
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
    let KillVerdict { tally, failures } = campaign.run().await?;
    println!("{tally}");
    if failures.is_empty() {
        println!("no violation");
        return Ok(ExitCode::SUCCESS);
    }
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(ExitCode::FAILURE)
}

async fn cut_power(args: PowerArgs) -> anyhow::Result<ExitCode> {
    let cuts = PowerCutPlan {
        syncs: args.syncs,
        jobs: args.common.jobs,
        dir: args.common.dir,
        progress: |tally| eprintln!("{:>7} losses, {} with violations", tally.losses, tally.bad),
        ..PowerCutPlan::new(server()?, args.common.seed, args.losses)
    };
    let power::PowerVerdict { tally, bad } = cuts.run().await?;
    println!("{tally}");
    bad.iter().filter(|loss| loss.dir.is_some()).for_each(|loss| println!("{loss}"));
    println!("power cut off {} times, {} of them with violations", tally.losses, tally.bad);
    // A store that syncs too little and is not found out is the harness's failure.
    Ok(if bad.is_empty() == (args.syncs == Syncs::Commits) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn syscalls(args: SyscallsArgs) -> anyhow::Result<ExitCode> {
    if let Some(line) = disk::missing_strace() {
        bail!("{line}");
    }
    let dir = args.common.dir.unwrap_or_else(|| "/dev/shm".into());
    let sweep = SyscallPlan {
        command: server()?,
        seed: args.common.seed,
        kills: args.kills,
        jobs: args.common.jobs,
        dir,
    };
    let swept = sweep.run().await?;
    println!("{:<12}{:>8}{:>10}{:>8}", "call", "deaths", "deepest", "missed");
    for call in disk::CALLS {
        let of = |counts: &BTreeMap<&str, usize>| counts.get(call).copied().unwrap_or(0);
        println!("{call:<12}{:>8}{:>10}{:>8}", of(&swept.at), of(&swept.deepest), of(&swept.missed));
    }
    for (place, violations) in &swept.bad {
        println!("{place}:");
        violations.iter().for_each(|violation| println!("  {}  {}", violation.rule, violation.what));
    }
    let deaths: usize = swept.at.values().sum();
    println!("{deaths} deaths inside of system calls, {} effects in the ledger", swept.effects);
    Ok(if swept.bad.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn break_disks(args: DiskArgs) -> anyhow::Result<ExitCode> {
    if let Some(line) = disk::missing_disk_tools() {
        bail!("{line}");
    }
    if !args.apart {
        let line = disk::unshare_prefix();
        let mut again = std::process::Command::new(line[0]);
        again.args(&line[1..]).arg(std::env::current_exe()?).args(std::env::args_os().skip(1)).arg("--apart");
        return Ok(if again.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let command = server()?;
    let faults = if args.short { disk::SHORT } else { disk::LONG };
    let wanted = |fault: &&Fault| args.only.as_ref().is_none_or(|only| fault.to_string().contains(only));
    let (mut tries, mut bad) = (0, 0);
    println!("{:<52}{:>9}{:>9}{:>7}  goes on after", "fault", "promised", "refused", "ended");
    for fault in faults.iter().filter(wanted) {
        let dir = tempfile::Builder::new().prefix("helve-disk-").tempdir()?;
        let tried = DiskTrial { command: &command, fault: *fault, dir: dir.path() }.run().await;
        let tried = tried.with_context(|| fault.to_string())?;
        let after = tried.recovered_after.map_or("a new start".to_owned(), |after| format!("{after:.1?}"));
        let ended = if tried.ended { "yes" } else { "no" };
        let name = fault.to_string();
        println!("{name:<52}{:>9}{:>9}{ended:>7}  {after}", tried.promised, tried.refused);
        tried.wrong.iter().for_each(|wrong| println!("  WRONG  {wrong}"));
        bad += usize::from(!tried.wrong.is_empty());
        tries += 1;
    }
    println!("{tries} ways in which a disk fails, {bad} of them with something wrong");
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn mutants(args: MutantsArgs) -> anyhow::Result<ExitCode> {
    let mut survivors = 0;
    let wanted = |seed: &&Seed| args.only.is_none_or(|only| only == seed.mutant);
    for seed in SEEDS.iter().filter(wanted) {
        let BugReport { line, by_its_rule } = try_mutant(seed, &args.common, args.kills).await?;
        println!("{line}");
        survivors += usize::from(!by_its_rule);
    }
    Ok(if survivors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn storm(args: StreamsArgs) -> anyhow::Result<ExitCode> {
    let StreamsArgs { seed, events, reconnects, dir, flaw } = args;
    let progress = |tally: &streams::StreamTally| {
        let seconds = tally.time.as_secs_f64();
        eprintln!("{:>9} events  {:>7} reconnects  {seconds:>6.0} s", tally.events, tally.reconnects);
    };
    let storm = StreamPlan { command: server()?, seed, events, reconnects, flaw, dir, progress };
    let streams::StreamVerdict { tally, faults, kept } = storm.run().await?;
    println!("{tally}");
    if faults.is_empty() {
        let (events, reconnects) = (tally.events, tally.reconnects);
        println!("{events} events over {reconnects} reconnects: nothing lost, nothing doubled");
        return Ok(ExitCode::SUCCESS);
    }
    faults.iter().for_each(|fault| println!("  {fault}"));
    println!("  kept in {}", kept.unwrap_or_default().display());
    Ok(ExitCode::FAILURE)
}

/// What became of a seeded bug.
struct BugReport {
    line: String,
    by_its_rule: bool,
}

async fn try_mutant(seed: &Seed, common: &Common, kills: usize) -> anyhow::Result<BugReport> {
    let campaign = Campaign {
        mutant: Some(seed.mutant),
        calm: seed.finder == Finder::Calm,
        until: Some(seed.rule),
        places: LabelFilter::Labels,
        progress: |_, _| {},
        ..campaign(common, kills)?
    };
    let verdict = campaign.run().await?;
    let by_its_rule = verdict.broke(seed.rule);
    let word = if by_its_rule { "found" } else { "SURVIVED" };
    let (name, kills, rules) = (seed.name, verdict.tally.kills, verdict.rules().join(" "));
    // What a known bug leaves behind is of no use.
    verdict.failures.iter().for_each(|failure| _ = std::fs::remove_dir_all(&failure.dir));
    Ok(BugReport { line: format!("{name:<24}{kills:>6} kills  {word} by {rules}"), by_its_rule })
}
