//! The promises of the journal, kept through SIGKILL; the checker that says so, shown able to say otherwise; and
//! what becomes of an answer when its model server fails, and of readers that are cut off.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "a test fills the line of a server of its own")]

mod disk;
mod kills;
mod long;
mod models;
mod mutants;
mod poison;
mod postgres;
mod power;
mod streams;

use helve_lab::drive::{Campaign, ServerCommand};

fn campaign(kills: usize) -> Campaign {
    helve::assemble::install_tls();
    let program = env!("CARGO_BIN_EXE_faultlab").into();
    Campaign::new(ServerCommand { program, arguments: vec!["server".into()] }, 1, kills)
}
