//! Time limits for a model server.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// For the next piece of a stream, the first included. An answer that is not streamed has no such limit, since it
    /// arrives at once.
    pub idle: Duration,
    /// For a whole answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(600),
        }
    }
}
