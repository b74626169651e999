//! The worlds Helve is tested against: a mock model server, an outside effect ledger, and a driver that kills the
//! server.
//!
//! `mock` answers as its requests say; `ledger` remembers what was done to the world; `tools` do it, through the
//! real pipeline. `server` is the real server with these tools and fail points. `drive` starts it, lets `client`s at it,
//! kills it, and asks `check` whether disk (`snapshot`), ledger and clients still agree. `power` cuts the power
//! instead, and `disk` gives it a disk that is full or broken, and `database` a PostgreSQL that dies. `mutants` are seeded bugs that prove the checker can
//! find something. `streams` cuts readers off at every byte, and counts what they miss.

pub mod check;
mod client;
pub mod database;
pub mod disk;
pub mod drive;
pub mod footprint;
pub mod labels;
pub mod ledger;
pub mod mock;
pub mod mutants;
pub mod power;
pub mod rng;
pub mod server;
pub mod snapshot;
mod store_fault;
pub mod streams;
pub mod test_server;
pub mod tools;
pub mod view;
mod web;

pub use client::{AcceptedMessage, AcceptedResult, AnsweredQuestion, Claim, ClientLog, Reader, Start};

/// A secret that must not be seen anywhere: the key that the server sends to its model.
pub(crate) const CANARY: &str = "sk-lab-canary-7f3a9c41d2e8";
