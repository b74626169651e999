//! The limits of the server: connections, request sizes, streams and timeouts.

use std::time::Duration;

use helve_guard::AdmissionSettings;
use helve_tool::JsonBounds;

/// Limits for all clients; each has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at a time; a further one closes the connection that has been idle for longest.
    pub connections_max: usize,
    /// Of one address, at most half of all; not of this machine and of trusted proxies.
    pub connections_per_address_max: usize,
    pub head_bytes_max: usize,
    /// Time for the head of a request.
    pub head_time: Duration,
    pub body_bytes_max: usize,
    /// Time for the body of a request.
    pub body_time: Duration,
    pub json: JsonBounds,
    /// Open streams of events.
    pub streams_max: usize,
    pub streams_per_user_max: usize,
    /// What is written to a stream at once; nothing is read ahead of that.
    pub stream_bytes_max: usize,
    pub stream_events_max: usize,
    /// A stream whose reader takes no byte for so long is closed.
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
    /// Requests over the limit are refused at once instead of queued.
    pub(crate) fn stream_admission(&self) -> AdmissionSettings {
        AdmissionSettings {
            all: self.streams_max,
            each: self.streams_per_user_max,
            queue_max: 0,
            wait: Duration::ZERO,
        }
    }
}
