//! The server over real HTTP: requests go in, statuses and streams come out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "the server is asked as clients ask it")]

mod access;
mod acting;
mod admission;
mod agents;
mod allowances;
mod bad_input;
mod budgets;
mod chat;
mod client_calls;
mod codes;
mod direct;
mod executions;
mod house;
mod import;
mod kept;
mod links;
mod logs;
mod models;
mod monitoring;
mod openapi;
mod people;
mod pre_search;
mod probe;
mod rows;
mod runs;
mod say;
mod stateless;
mod strict;
mod tools;
