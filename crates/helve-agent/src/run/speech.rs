//! What people say while a run is at work: kept when it comes, shown to the model before its next message.
//!
//! The record is the run's message, where each queued_text has its place; here is decided what may be said and what the
//! model is to hear next.

use helve_types::{Fact, MessageId, Part};

use super::Run;
use crate::command::CommandError;

/// A message during a run is not longer than this.
pub const SAID_BYTES_MAX: usize = 64 * 1_024;
/// So many may wait to be shown.
const PENDING_MAX: usize = 32;

/// What becomes of a message that a person sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Enqueue {
    /// It is new.
    Queue,
    /// The same message has come before.
    Known,
    Rejected(CommandError),
}

impl Run {
    /// What to do about a message that comes now. The same one twice is one.
    pub(crate) fn check_new_message(&self, id: MessageId, text: &str) -> Enqueue {
        match self.queued_text(id) {
            Some(before) if before == text => Enqueue::Known,
            Some(_) => Enqueue::Rejected(CommandError::OtherText),
            None if self.over => Enqueue::Rejected(CommandError::Over),
            None if self.pending_message_ids().count() >= PENDING_MAX => {
                Enqueue::Rejected(CommandError::TooMuchSaid)
            }
            None => Enqueue::Queue,
        }
    }

    /// What is put on record when the model is asked for `step`: it show_pending what was said since it last listened.
    pub(crate) fn taken_message_facts(&self, step: u32) -> Vec<Fact> {
        self.pending_message_ids().map(|message| Fact::MessageTaken { message, step }).collect()
    }

    /// Whether something was said that the model's last message does not answer.
    pub(super) fn has_unanswered_message(&self) -> bool {
        let after = |step: &Option<u32>| step.is_none_or(|step| step > self.step);
        self.message.parts.iter().any(|part| matches!(part, Part::Said { step, .. } if after(step)))
    }

    fn pending_message_ids(&self) -> impl Iterator<Item = MessageId> {
        self.message.parts.iter().filter_map(|part| match part {
            Part::Said { step: None, message, .. } => Some(*message),
            _ => None,
        })
    }

    fn queued_text(&self, id: MessageId) -> Option<&str> {
        self.message.parts.iter().find_map(|part| match part {
            Part::Said { message, text, .. } if *message == id => Some(text.as_str()),
            _ => None,
        })
    }
}
