//! `helve-lab`: the worlds around the server, each for itself.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use helve_lab::mock::{self, Script};

#[derive(Debug, Parser)]
#[command(name = "helve-lab", about = "A mock model server and an effect ledger")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A model server that answers as its requests say, in four protocols
    #[command(after_help = Script::help())]
    Mock(Box<MockArgs>),
    /// A server that writes down every effect
    Ledger {
        #[arg(long, default_value = "127.0.0.1:9991")]
        listen: SocketAddr,
        #[arg(long, default_value = "ledger.jsonl")]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
struct MockArgs {
    /// Where it listens
    #[arg(long, default_value = "127.0.0.1:9990", conflicts_with = "port")]
    listen: SocketAddr,
    /// The same on this machine alone; 0 takes any port that is free
    #[arg(long)]
    port: Option<u16>,
    /// What it does when a request brings no script
    #[arg(long, value_parser = Script::parse)]
    script: Option<Script>,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Mock(mock) => {
            let MockArgs { listen, port, script } = *mock;
            let listen = port.map_or(listen, |port| SocketAddr::from(([127, 0, 0, 1], port)));
            mock::serve_forever(listen, script.unwrap_or_default())
        }
        Command::Ledger { listen, file } => helve_lab::ledger::serve_forever(listen, &file),
    }
}
