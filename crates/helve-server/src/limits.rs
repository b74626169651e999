//! How much the server takes of whom, and for how long it waits for them.

use std::time::Duration;

use helve_guard::AdmissionSettings;
use helve_tool::JsonBounds;

/// What holds for everybody who connects. None of it is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at a time; for whoever comes later the one that has been idle for the longest is closed.
    pub connections_max: usize,
    /// Of one address, at most half of all; not of this machine and of trusted proxies.
    pub connections_per_address_max: usize,
    pub head_bytes_max: usize,
    /// Whoever has not sent the head of a request by then is not going to.
    pub head_time: Duration,
    pub body_bytes_max: usize,
    /// Whoever has not sent the body by then is told so.
    pub body_time: Duration,
    pub json: JsonBounds,
    /// Open streams of events.
    pub streams_max: usize,
    pub streams_per_user_max: usize,
    /// What is written to a stream at once; nothing is read ahead of that.
    pub stream_bytes_max: usize,
    pub stream_events_max: usize,
    /// Whoever has not taken a single byte for so long is not listening any more.
    pub stall: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            connections_per_address_max: 500,
            head_bytes_max: 16 << 10,
            head_time: Duration::from_secs(10),
            body_bytes_max: 1 << 20,
            body_time: Duration::from_secs(30),
            json: JsonBounds::default(),
            streams_max: 2_000,
            streams_per_user_max: 20,
            stream_bytes_max: 64 << 10,
            stream_events_max: 256,
            stall: Duration::from_secs(30),
        }
    }
}

impl ServerLimits {
    /// Nobody waits for a stream: a page that cannot have one is told at once.
    pub(crate) fn streams(&self) -> AdmissionSettings {
        AdmissionSettings {
            all: self.streams_max,
            each: self.streams_per_user_max,
            queue_max: 0,
            wait: Duration::ZERO,
        }
    }
}
