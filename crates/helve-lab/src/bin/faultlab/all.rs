//! The long form: kills, seeded bugs, a calm load, and whatever else this program can try; one table at the end.

use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use helve_lab::database::StoreKind;
use helve_lab::drive::{Campaign, KillVerdict, LabelFilter};
use helve_lab::mutants::SEEDS;
use helve_lab::{check, labels};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::{BugReport, Common, campaign, try_mutant};

/// Parts that are commands of their own and tell in their last line what came of them.
const COMMANDS: [(&str, &[&str]); 4] = [
    ("power", &["--losses", "1000"]),
    ("syscalls", &["--kills", "500"]),
    ("disk", &[]),
    ("streams", &["--events", "1000000", "--reconnects", "50000"]),
];

#[derive(Debug, Args)]
pub(super) struct AllArgs {
    #[command(flatten)]
    common: Common,
    /// How often the server is killed [default: 10000, on PostgreSQL 2000]
    #[arg(long)]
    kills: Option<usize>,
    /// How often PostgreSQL is killed, where the data is there
    #[arg(long, default_value_t = 200)]
    database_kills: usize,
    /// How many kills each seeded bug may survive
    #[arg(long, default_value_t = 300)]
    kills_of_bugs: usize,
}

/// A row of the table.
struct ReportRow {
    name: &'static str,
    done: String,
    found: String,
    good: bool,
    time: Duration,
}

pub(super) async fn all(args: &AllArgs) -> anyhow::Result<ExitCode> {
    let mut parts = vec![kills(args).await?, calm(args).await?, bugs(args).await?];
    match args.common.store {
        StoreKind::Postgres => parts.push(database(args).await?),
        // These are about files of ours.
        StoreKind::Sqlite => {
            for (name, arguments) in COMMANDS {
                parts.push(command(name, arguments).await?);
            }
        }
    }
    println!("{:<10}{:<78}{:<24}{:>8}", "part", "what was done", "found", "seconds");
    for ReportRow { name, done, found, time, .. } in &parts {
        println!("{name:<10}{done:<78}{found:<24}{:>8.0}", time.as_secs_f64());
    }
    Ok(if parts.iter().all(|part| part.good) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn kills(args: &AllArgs) -> anyhow::Result<ReportRow> {
    let kills = args.kills.unwrap_or(match args.common.store {
        StoreKind::Sqlite => 10_000,
        StoreKind::Postgres => 2_000,
    });
    let campaign = Campaign { keep_going: true, ..campaign(&args.common, kills)? };
    let KillVerdict { tally, failures } = campaign.run().await?;
    println!("{tally}");
    failures.iter().for_each(|failure| println!("{failure}"));
    let (labels, rules) = (labels::all().count(), check::RULES.len());
    let never = labels::all().filter(|label| !tally.at.contains_key(label)).count();
    Ok(ReportRow {
        name: "kills",
        done: format!(
            "{} kills at {} of {labels} labels and at any moment, {} checks of {rules} rules",
            tally.kills,
            labels - never,
            tally.checks
        ),
        found: violations(failures.len()),
        good: failures.is_empty() && never == 0,
        time: tally.time,
    })
}

/// Deaths of the database server.
async fn database(args: &AllArgs) -> anyhow::Result<ReportRow> {
    let campaign = campaign(&args.common, args.database_kills)?;
    let campaign = Campaign { keep_going: true, places: LabelFilter::Database, ..campaign };
    let KillVerdict { tally, failures } = campaign.run().await?;
    println!("{tally}");
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(ReportRow {
        name: "database",
        done: format!("{} deaths of PostgreSQL under load, {} checks", tally.kills, tally.checks),
        found: violations(failures.len()),
        good: failures.is_empty(),
        time: tally.time,
    })
}

async fn calm(args: &AllArgs) -> anyhow::Result<ReportRow> {
    let campaign = Campaign { calm: true, ..campaign(&args.common, 0)? };
    let KillVerdict { tally, failures } = campaign.run().await?;
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(ReportRow {
        name: "calm",
        done: format!("{} runs without a kill, the server at rest three times", tally.counted.runs),
        found: violations(failures.len()),
        good: failures.is_empty(),
        time: tally.time,
    })
}

fn violations(rounds: usize) -> String {
    if rounds == 0 { "no violation".into() } else { format!("VIOLATIONS in {rounds} rounds") }
}

async fn bugs(args: &AllArgs) -> anyhow::Result<ReportRow> {
    let began = Instant::now();
    let mut found = 0;
    for seed in SEEDS {
        let BugReport { line, by_its_rule } = try_mutant(seed, &args.common, args.kills_of_bugs).await?;
        println!("{line}");
        found += usize::from(by_its_rule);
    }
    println!();
    Ok(ReportRow {
        name: "bugs",
        done: format!("{} seeded bugs, each with at most {} kills", SEEDS.len(), args.kills_of_bugs),
        found: format!("{found} of {}", SEEDS.len()),
        good: found == SEEDS.len(),
        time: began.elapsed(),
    })
}

/// A command of this program.
async fn command(name: &'static str, arguments: &[&str]) -> anyhow::Result<ReportRow> {
    let began = Instant::now();
    let mut child = Command::new(std::env::current_exe()?)
        .arg(name)
        .args(arguments)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start `faultlab {name}`"))?;
    let mut last = String::new();
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next_line().await? {
            println!("{line}");
            if !line.trim().is_empty() {
                last = line;
            }
        }
    }
    let good = child.wait().await?.success();
    let found = if good { "no violation" } else { "VIOLATIONS" };
    Ok(ReportRow { name, done: last, found: found.into(), good, time: began.elapsed() })
}
