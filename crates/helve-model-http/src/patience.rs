//! How long a model server is waited for.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until the connection stands.
    pub connect: Duration,
    /// The longest silence of a stream, before the first byte and between any two. An answer in one piece is
    /// silent until it is complete.
    pub silence: Duration,
    /// The longest that any answer may take.
    pub total: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            silence: Duration::from_secs(30),
            total: Duration::from_secs(600),
        }
    }
}
