//! Whole runs: a script goes in, an event log comes out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod fixtures;
mod lab;
mod people;
mod recovery;
mod spending;
mod transcripts;
