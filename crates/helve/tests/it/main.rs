//! The binary as people meet it: arguments in, text and exit codes out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "the server is asked as clients ask it")]

mod agents;
mod always;
mod approvers;
mod asking;
mod audit;
#[cfg(unix)]
mod backup;
mod chat;
mod clients;
mod commands;
mod databases;
mod db;
mod early_reads;
mod finding;
mod first_token;
mod going_down;
#[cfg(target_os = "linux")]
mod hostile;
mod importing;
mod injection;
mod languages;
mod model_server;
mod models;
mod notices;
mod on_postgres;
#[cfg(target_os = "linux")]
mod outages;
mod outside;
mod pages;
mod people;
mod prompt_size;
mod questions;
mod rates;
#[cfg(target_os = "linux")]
mod readers;
#[cfg(unix)]
mod readme;
mod rows;
mod runs;
mod serving;
mod skills;
mod source_requests;
mod stopping;
#[cfg(target_os = "linux")]
mod terminal;
mod tool_folder;
mod weather;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A place of its own for each test.
fn scratch() -> PathBuf {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap().keep()
}

/// The binary with nothing of this machine's environment but what it needs to run.
fn helve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_helve"));
    command.env_clear().env("HOME", scratch()).current_dir(scratch());
    command
}

fn run(arguments: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child = helve()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end, with a word about its arguments, before it has read anything.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
