//! Whole runs: a script goes in, an event log comes out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod choice;
mod circles;
mod clients;
mod fixtures;
mod hooks;
mod lab;
mod people;
mod probing;
mod recovery;
mod resilience;
mod rows;
mod spending;
mod thoughts;
mod transcripts;
