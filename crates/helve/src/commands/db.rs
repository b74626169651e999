//! `helve db`: the layout of the database, and moving it from SQLite to PostgreSQL and back.

mod copy;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use helve_store_sql::{
    DataDir, DatabasePlace, Layout, LayoutStep, PostgresSettings, migrate_postgres, migrate_sqlite,
    read_postgres_layout, read_sqlite_layout,
};
use helve_types::World;
use serde::Serialize;

use self::copy::CopyArgs;
use super::{Common, block_on, log_quietly};
use crate::assemble::install_tls;
use crate::config::Config;
use crate::i18n::{self, tr};
use crate::output::outln;

/// What `--check` ends with when the layout is not the newest.
const BEHIND: u8 = 3;

#[derive(Debug, Args)]
pub(crate) struct DbArgs {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(subcommand)]
    action: DbAction,
}

#[derive(Debug, Subcommand)]
enum DbAction {
    /// Bring the layout of the database up to date while no server runs; `helve serve` does it at the start, too
    Migrate {
        /// Change nothing: exit with code 0 if the layout is the newest, with 3 if it is not, and with 1 if this version
        /// cannot use the database
        #[arg(long)]
        check: bool,
        /// Print JSON: `{"database", "layout", "newest", "pending", "applied"}`
        #[arg(long)]
        json: bool,
    },
    /// Copy all data from SQLite to PostgreSQL, or back, while no server runs
    ///
    /// The target must be empty. Everything is copied in one transaction; before it is committed both sides are read again
    /// and every column of every row is compared.
    Copy(CopyArgs),
}

/// What became of a layout.
#[derive(Serialize)]
struct LayoutReport {
    database: String,
    /// None of a database that does not exist yet.
    layout: Option<u32>,
    newest: u32,
    pending: Vec<LayoutStep>,
    applied: Vec<LayoutStep>,
}

pub(super) fn run(args: DbArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    install_tls();
    let config = args.common.load(None)?;
    match args.action {
        DbAction::Migrate { check, json } => {
            if json {
                i18n::speak_to_programs();
            }
            let place = configured(&config);
            match check {
                true => check_layout(&place, json),
                false => migrate(&place, json),
            }
        }
        DbAction::Copy(args) => copy::run(&args, &config),
    }
}

/// The database that the configuration names.
pub(super) fn configured(config: &Config) -> DatabasePlace {
    match &config.database {
        Some(settings) => DatabasePlace::Postgres(Box::new(settings.clone())),
        None => DatabasePlace::Sqlite(config.data.clone()),
    }
}

/// As people are told where it is: without a password.
fn shown(place: &DatabasePlace) -> String {
    match place {
        DatabasePlace::Sqlite(data) => format!("SQLite {}", data.display()),
        DatabasePlace::Postgres(settings) => format!("PostgreSQL {settings}"),
    }
}

fn check_layout(place: &DatabasePlace, json: bool) -> anyhow::Result<ExitCode> {
    let database = shown(place);
    let layout = match place {
        DatabasePlace::Sqlite(data) => read_sqlite_layout(data)?,
        DatabasePlace::Postgres(settings) => block_on(async { Ok(read_postgres_layout(settings).await?) })?,
    };
    let Layout { number, newest, pending } = layout;
    let code = if pending.is_empty() { ExitCode::SUCCESS } else { BEHIND.into() };
    if json {
        let report = LayoutReport { database, layout: number, newest, pending, applied: vec![] };
        outln!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(code);
    }
    let told = match number {
        None => tr!("{database}: no database yet; it is made when the server starts", database = database),
        Some(number) if pending.is_empty() => {
            tr!("{database}: layout {number}, the newest", database = database, number = number)
        }
        Some(number) => tr!(
            "{database}: layout {number}, which is not the newest; missing: {steps}. Back up, then run: helve db migrate",
            database = database,
            number = number,
            steps = named(&pending)
        ),
    };
    outln!("{told}");
    Ok(code)
}

fn migrate(place: &DatabasePlace, json: bool) -> anyhow::Result<ExitCode> {
    let database = shown(place);
    let before = match place {
        DatabasePlace::Sqlite(data) => migrate_file(data)?,
        DatabasePlace::Postgres(settings) => block_on(migrate_server(settings))?,
    };
    let Layout { number, newest, pending } = before;
    if json {
        let report =
            LayoutReport { database, layout: Some(newest), newest, pending: vec![], applied: pending };
        outln!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(ExitCode::SUCCESS);
    }
    let told = match number {
        None => tr!("{database}: made with layout {newest}", database = database, newest = newest),
        Some(_) if pending.is_empty() => {
            tr!("{database}: layout {newest} already, nothing changed", database = database, newest = newest)
        }
        Some(number) => tr!(
            "{database}: brought from layout {number} to {newest}: {steps}",
            database = database,
            number = number,
            newest = newest,
            steps = named(&pending)
        ),
    };
    outln!("{told}");
    Ok(ExitCode::SUCCESS)
}

fn migrate_file(data: &Path) -> anyhow::Result<Layout> {
    let held = DataDir::lock(data)?;
    Ok(migrate_sqlite(&held, World::real().now())?)
}

async fn migrate_server(settings: &PostgresSettings) -> anyhow::Result<Layout> {
    Ok(migrate_postgres(settings, World::real().now()).await?)
}

fn named(steps: &[LayoutStep]) -> String {
    let names: Vec<String> = steps.iter().map(|step| format!("{} {}", step.number, step.name)).collect();
    names.join(", ")
}
