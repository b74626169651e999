//! The command line.

mod agents;
mod approvals;
mod audit;
mod backup;
mod chat;
mod db;
mod doctor;
mod groups;
mod import;
mod import_openapi;
mod models;
mod notice;
mod parse;
mod runs;
pub mod serve;
mod skills;
mod suggest;
mod token;
pub(crate) mod tools;
mod users;

use crate::i18n::tr;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

use crate::client::Reach;
use crate::config::{Config, Environment, LogFormat, Overrides};
use crate::log::OutcomeFirst;

/// A self-hosted tool-calling runtime for AI agents.
#[derive(Debug, Parser)]
#[command(name = "helve", version, max_term_width = 100)]
pub struct Cli {
    /// The language of help and messages: en or zh [default: of HELVE_LANG, LC_ALL, LC_MESSAGES or LANG]
    // Read before the arguments are: see `Language::choose`.
    #[arg(long, value_name = "LANGUAGE", global = true, value_parser = crate::i18n::parse_language)]
    lang: Option<String>,
    #[command(flatten)]
    before: BeforeCommand,
    #[command(subcommand)]
    command: Command,
}

/// Options of most commands that may also stand before the command.
#[derive(Debug, Default, Args)]
struct BeforeCommand {
    /// The configuration file [default: helve.toml, if it exists]
    #[arg(long, id = "config_before", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory [default: ~/.local/share/helve]
    #[arg(long, id = "data_before", value_name = "DIR")]
    data: Option<PathBuf>,
    /// The server to use [default: HELVE_SERVER, or the one that runs on this machine, or none]
    #[arg(long, id = "server_before", value_name = "URL")]
    server: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the server, with the web page and the API
    Serve(serve::ServeArgs),
    /// Read model output from standard input and print the tool calls in it
    Parse(parse::ParseArgs),
    /// List, show, add, enable, disable and call tools
    Tools(tools::ToolsArgs),
    /// List, show, add, change and publish agents, and give them tools
    Agents(agents::AgentsArgs),
    /// List, show and add skills, and agree to changed ones
    Skills(skills::SkillsArgs),
    /// List models with their state, price and variants; probe what a model can do
    Models(models::ModelsArgs),
    /// Chat with a model in the terminal, and answer its approval requests
    Chat(chat::ChatArgs),
    /// List, show, follow, cancel and resume runs
    Runs(runs::RunsArgs),
    /// List approval requests and answer them
    Approvals(approvals::ApprovalsArgs),
    /// Create, list and revoke access tokens
    Token(token::TokenArgs),
    /// List, show, add, change, disable and remove users, and give them passwords
    Users(users::UsersArgs),
    /// List, make and change groups, and say who is in them
    Groups(groups::GroupsArgs),
    /// List the audit log and check that it is whole
    Audit(audit::AuditArgs),
    /// Migrate the database, or copy it from SQLite to PostgreSQL and back
    Db(db::DbArgs),
    /// Import what another system has
    Import(import::ImportKindArgs),
    /// Write a backup of all data to a file, also while the server runs
    Backup(backup::BackupArgs),
    /// Put a backup into the data directory while no server runs
    Restore(backup::RestoreArgs),
    /// Check the configuration, keys, model servers and database, and say how to fix each problem
    Doctor(doctor::DoctorArgs),
    /// The process of one query of `query_database`, which the server starts by itself
    #[command(name = helve_tool_builtin::QUERY_WORKER, hide = true)]
    QueryWorker,
}

/// What every command that reads the configuration takes.
#[derive(Debug, Clone, Default, Args)]
pub struct Common {
    /// The configuration file [default: helve.toml, if it exists]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The data directory [default: ~/.local/share/helve]
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
}

impl Common {
    pub(crate) fn load(&self, listen: Option<String>) -> anyhow::Result<Config> {
        let overrides = Overrides { config: self.config.clone(), listen, data: self.data.clone() };
        Config::load(&overrides, &Environment::of_process())
    }
}

impl Command {
    fn common_mut(&mut self) -> Option<&mut Common> {
        match self {
            Self::Serve(args) => Some(&mut args.common),
            Self::Db(args) => Some(&mut args.common),
            Self::Restore(args) => Some(&mut args.common),
            _ => self.reach_mut().map(|reach| &mut reach.common),
        }
    }

    fn reach_mut(&mut self) -> Option<&mut Reach> {
        match self {
            Self::Tools(args) => Some(&mut args.reach),
            Self::Agents(args) => Some(&mut args.reach),
            Self::Skills(args) => Some(&mut args.reach),
            Self::Models(args) => Some(&mut args.reach),
            Self::Chat(args) => Some(&mut args.reach),
            Self::Runs(args) => Some(&mut args.reach),
            Self::Approvals(args) => Some(&mut args.reach),
            Self::Token(args) => Some(&mut args.reach),
            Self::Users(args) => Some(&mut args.reach),
            Self::Groups(args) => Some(&mut args.reach),
            Self::Audit(args) => Some(&mut args.reach),
            Self::Import(args) => Some(&mut args.reach),
            Self::Backup(args) => Some(&mut args.reach),
            Self::Doctor(args) => Some(&mut args.reach),
            Self::Serve(_) | Self::Parse(_) | Self::Db(_) | Self::Restore(_) | Self::QueryWorker => None,
        }
    }
}

impl BeforeCommand {
    /// Gives the command what stood before it; what stands behind the command wins.
    fn apply(self, command: &mut Command) -> anyhow::Result<()> {
        let Self { config, data, server } = self;
        let misplaced =
            |option: &str| anyhow::anyhow!(tr!("this command has no option {option}", option = option));
        match command.common_mut() {
            Some(common) => {
                common.config = common.config.take().or(config);
                common.data = common.data.take().or(data);
            }
            None if config.is_some() => return Err(misplaced("--config")),
            None if data.is_some() => return Err(misplaced("--data")),
            None => {}
        }
        match (command.reach_mut(), server) {
            (Some(reach), server) => reach.server = reach.server.take().or(server),
            (None, Some(_)) => return Err(misplaced("--server")),
            (_, None) => {}
        }
        Ok(())
    }
}

pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    crate::process::keep_memory_private();
    let Cli { before, mut command, .. } = cli;
    before.apply(&mut command)?;
    match command {
        Command::Serve(args) => serve::run(&args),
        Command::Parse(args) => parse::run(&args),
        Command::Tools(args) => tools::run(args),
        Command::Agents(args) => agents::run(args),
        Command::Skills(args) => skills::run(args),
        Command::Models(args) => models::run(args),
        Command::Chat(args) => chat::run(args),
        Command::Runs(args) => runs::run(args),
        Command::Approvals(args) => approvals::run(args),
        Command::Token(args) => token::run(args),
        Command::Users(args) => users::run(args),
        Command::Groups(args) => groups::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Db(args) => db::run(args),
        Command::Import(args) => import::run(args),
        Command::Backup(args) => backup::back_up(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::QueryWorker => Ok(helve_tool_builtin::run_query_worker()),
    }
}

/// For commands that do a few things and end.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .with_context(|| tr!("the runtime cannot be started"))?
        .block_on(work)
}

/// For commands that may be the server themselves.
fn block_on_threads<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .with_context(|| tr!("the runtime cannot be started"))?;
    let done = runtime.block_on(work);
    // Threads that still block, such as one that reads the terminal, are not waited for.
    runtime.shutdown_background();
    done
}

/// Logs of short commands: only what is wrong, on standard error.
fn log_quietly() {
    start_logging(&std::env::var("HELVE_LOG").unwrap_or_else(|_| "error".into()), LogFormat::Text);
}

fn start_logging(filter: &str, format: LogFormat) {
    use tracing_subscriber::EnvFilter;
    // A wrong filter is told when the configuration is read.
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("warn"));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(!plain && std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // A second subscriber cannot be installed, and need not be.
    _ = match format {
        LogFormat::Text => logs.event_format(OutcomeFirst).try_init(),
        // Of the spans, `spans` has all: the request, the run, the step or the call.
        LogFormat::Json => logs.json().flatten_event(true).with_current_span(false).try_init(),
    };
}
