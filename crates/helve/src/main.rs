//! `helve`: one binary that gives models tools.

use std::process::ExitCode;

use clap::Parser;
use helve::commands::{Cli, run};

/// Faster than the system's with many small pieces from many threads, which is what a conversation is.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            // One clear line, with the reasons behind it.
            eprintln!("helve: {error:#}");
            ExitCode::FAILURE
        }
    }
}
