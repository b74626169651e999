//! `lab-server`: the real server, with tools whose effects are counted and a fate of its own.

use clap::Parser;
use helve_lab::server::{ServerArgs, run};

#[derive(Debug, Parser)]
#[command(name = "lab-server", about = "The server under test")]
struct Cli {
    #[command(flatten)]
    args: ServerArgs,
}

fn main() -> anyhow::Result<()> {
    run(&Cli::parse().args)
}
