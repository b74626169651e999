//! `helve db copy`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use helve_store_sql::{
    CopyProgress, CopyReport, CopyStep, DatabasePlace, PostgresSettings, TableRows, copy_database,
};
use helve_types::World;
use serde::Serialize;

use super::super::block_on;
use super::{configured, shown};
use crate::config::Config;
use crate::i18n::{self, tr};
use crate::output::{errln, outln};

/// How often a table that takes longer is told of.
const TOLD: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// Where the data is: a data directory, or `postgres://USER:PASSWORD@HOST:PORT/NAME` [default: the configured database]
    #[arg(long, value_name = "PLACE", required_unless_present = "to")]
    from: Option<String>,
    /// Where it goes: a data directory or an address, as for `--from` [default: the configured database]
    #[arg(long, value_name = "PLACE", required_unless_present = "from")]
    to: Option<String>,
    /// Print JSON: `{"from", "to", "rows", "tables": [{"table", "rows"}], "replaced"}`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PrintedCopy {
    from: String,
    to: String,
    /// Copied, and compared afterwards.
    rows: u64,
    tables: Vec<TableRows>,
    replaced: u64,
}

pub(super) fn run(args: &CopyArgs, config: &Config) -> anyhow::Result<ExitCode> {
    if args.json {
        i18n::speak_to_programs();
    }
    let from = place(args.from.as_deref(), config)?;
    let to = place(args.to.as_deref(), config)?;
    let mut last = Instant::now();
    let tell = |progress: CopyProgress| {
        if !args.json && (progress.is_done || last.elapsed() >= TOLD) {
            last = Instant::now();
            errln!("{}", told(progress));
        }
    };
    let now = World::real().now();
    let copied = block_on(async { Ok(copy_database(&from, &to, now, tell).await?) })?;
    report(args.json, &from, &to, copied)?;
    Ok(ExitCode::SUCCESS)
}

/// What was named, or else what the configuration has.
fn place(named: Option<&str>, config: &Config) -> anyhow::Result<DatabasePlace> {
    let Some(named) = named else { return Ok(configured(config)) };
    if named.contains("://") {
        let settings = PostgresSettings::parse(&named.to_owned().into());
        return Ok(DatabasePlace::Postgres(Box::new(settings.map_err(anyhow::Error::msg)?)));
    }
    Ok(DatabasePlace::Sqlite(PathBuf::from(named)))
}

fn told(progress: CopyProgress) -> String {
    let CopyProgress { step, table, rows, .. } = progress;
    match step {
        CopyStep::Copying => tr!("{table}: {rows} rows copied", table = table, rows = rows),
        CopyStep::Comparing => tr!("{table}: {rows} rows compared", table = table, rows = rows),
    }
}

fn report(json: bool, from: &DatabasePlace, to: &DatabasePlace, copied: CopyReport) -> anyhow::Result<()> {
    let (from, to) = (shown(from), shown(to));
    let rows = copied.rows();
    let CopyReport { tables, replaced } = copied;
    if json {
        let report = PrintedCopy { from, to, rows, tables, replaced };
        outln!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    if replaced > 0 {
        outln!(
            "{}",
            tr!(
                "{count} texts had the character U+0000, which PostgreSQL cannot keep; they have U+FFFD in its place",
                count = replaced
            )
        );
    }
    outln!(
        "{}",
        tr!(
            "copied {rows} rows of {tables} tables from {from} to {to}, and compared every column of them",
            rows = rows,
            tables = tables.len(),
            from = from,
            to = to
        )
    );
    Ok(())
}
