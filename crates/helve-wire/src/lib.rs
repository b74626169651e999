//! Formats that Helve shares with others, as data: no IO, no clock, no other crate of the workspace.

pub mod sse;
pub mod tar;
