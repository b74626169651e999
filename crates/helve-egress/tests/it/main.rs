//! The way out over real connections: what is sent, what is not, and what is read.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod bodies;
#[cfg(target_os = "linux")]
mod namespace;
mod redirects;
mod secrets;
mod sending;
mod server;
mod vectors;
