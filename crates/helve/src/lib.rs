//! The binary, as a library: configuration, wiring and commands.
//!
//! The only crate that names every adapter. `config` turns a file and the environment into meaning, `assemble`
//! makes the parts of it and joins them, `commands` are what the command line offers. A library so that the fault
//! lab can run the very same server with tools of its own.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "use `outln!` and `errln!` of `output`, which survive a reader that has enough"
)]

pub mod alarms;
pub mod assemble;
mod backup;
mod client;
pub mod commands;
pub mod config;
mod discovery;
pub mod hooks;
pub mod i18n;
pub mod import;
mod log;
mod nearby;
pub mod notices;
mod outlet;
pub mod output;
mod process;
mod source_rows;
#[cfg(test)]
mod testing;
pub mod webhook;
mod withheld;
