//! `helve-lab`: the worlds around the server, each for itself.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "helve-lab", about = "A mock model server and an effect ledger")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A model server that answers as its requests say
    Mock {
        #[arg(long, default_value = "127.0.0.1:9990")]
        listen: SocketAddr,
    },
    /// A server that writes down every effect
    Ledger {
        #[arg(long, default_value = "127.0.0.1:9991")]
        listen: SocketAddr,
        #[arg(long, default_value = "ledger.jsonl")]
        file: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Mock { listen } => helve_lab::mock::serve_forever(listen),
        Command::Ledger { listen, file } => helve_lab::ledger::serve_forever(listen, &file),
    }
}
