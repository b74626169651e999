//! Tools that need what only a whole build has: a process of their own.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod query_database;
