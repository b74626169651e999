//! What was read of an answer and not yet given out.

use std::collections::VecDeque;

use helve_model::{ModelError, ModelEvent};

use crate::protocol::Protocol;

#[derive(Default)]
pub(super) struct Read {
    pub(super) events: VecDeque<ModelEvent>,
    /// Comes after them, and ends the answer.
    pub(super) failed: Option<ModelError>,
}

impl Read {
    pub(super) fn whole(body: &str, protocol: &Protocol) -> Self {
        let mut read = Self::default();
        if let Err(error) = (protocol.whole)(body, &mut read.events) {
            read.fail(error);
        }
        read
    }

    /// The answer is no answer; but what it took was spent.
    pub(super) fn fail(&mut self, error: ModelError) {
        self.events.retain(|event| matches!(event, ModelEvent::Usage(_)));
        self.failed = Some(error);
    }
}
