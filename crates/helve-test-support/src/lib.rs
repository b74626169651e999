//! What the tests of several crates share: how a test says that it cannot run here, and a PostgreSQL of a test's own.
//!
//! A test that needs something which this machine does not have (PostgreSQL, the corpus, a network namespace) calls
//! [`skip_test`] and returns. `make test` prints all of these at its end. With `CI` set the test fails instead, so that
//! nothing is left out there.

mod postgres;

use std::fs::OpenOptions;
use std::io::Write;

pub use postgres::{PostgresServer, Shutdown, find_postgres_programs};

/// Names the file in which `make test` collects the tests that were skipped, one per line.
const LIST: &str = "HELVE_SKIPPED_TESTS";

/// Reports that a test is skipped, and why. Panics where `CI` is set.
#[track_caller]
pub fn skip_test(test: &str, reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{test}: {reason}; with CI set no test may be skipped");
    eprintln!("skipped: {test}: {reason}");
    let Some(list) = std::env::var_os(LIST) else { return };
    // One write, so that lines of tests that run at once do not mix.
    let line = format!("{test}: {reason}\n");
    let file = OpenOptions::new().create(true).append(true).open(&list);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    assert!(written.is_ok(), "{}: {written:?}", list.display());
}
