//! Whole runs: a script goes in, an event log comes out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod agent_links;
mod agent_rows;
mod always;
mod approvers;
mod asking;
mod barriers;
mod budgets;
mod choice;
mod circles;
mod clients;
mod cut;
mod deaths;
mod early_reads;
mod fixtures;
mod hooks;
mod lab;
mod long;
mod people;
mod pre_search;
mod probing;
mod quotations;
mod recovery;
mod resilience;
mod rows;
mod spending;
mod steering;
mod stops;
mod subagents;
mod thoughts;
mod transcripts;
