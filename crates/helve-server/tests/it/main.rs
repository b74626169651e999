//! The server over real HTTP: requests go in, statuses and streams come out.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "the server is asked as clients ask it")]

mod access;
mod acting;
mod admission;
mod agents;
mod allowances;
mod asking;
mod bad_input;
mod budgets;
mod call_tool;
mod chat;
mod client_calls;
mod codes;
mod executions;
mod files;
mod import;
mod links;
mod logs;
mod messages;
mod models;
mod monitoring;
mod openapi;
mod openid;
mod ownership;
mod people;
mod pre_search;
mod probe;
mod rows;
mod runs;
mod skills;
mod stateless;
mod strict;
mod test_server;
mod tools;
mod users;
