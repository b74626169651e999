//! Events that are decoded, but not yet returned by the stream.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelEvent};

use crate::protocol::Protocol;

#[derive(Default)]
pub(super) struct DecodedEvents {
    pub(super) events: VecDeque<ModelEvent>,
    /// The error that follows the events and ends the answer.
    pub(super) failed: Option<ModelError>,
}

impl DecodedEvents {
    pub(super) fn read_complete(body: &str, protocol: &Protocol) -> Self {
        let mut read = Self::default();
        if let Err(error) = (protocol.decode_complete)(body, &mut read.events) {
            read.fail(error);
        }
        read
    }

    /// Drops the events of a failed answer, except its usage, which the vendor charges.
    pub(super) fn fail(&mut self, error: ModelError) {
        self.events.retain(|event| matches!(event, ModelEvent::Usage(_)));
        self.failed = Some(error);
    }
}
