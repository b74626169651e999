//! What people say while a run is at work: kept when it comes, heard before the model's next message.
//!
//! The record is the run's message, where each saying has its place; here is decided what may be said and what the
//! model is to hear next.

use helve_types::{Fact, MessageId, Part};

use super::Run;
use crate::command::CommandError;

/// A message during a run is not longer than this.
pub const SAID_BYTES_MAX: usize = 64 * 1_024;
/// So many may wait to be heard.
const UNHEARD_MAX: usize = 32;

/// How something is received that a person says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reception {
    /// It is new.
    Queue,
    /// The same message has come before.
    Known,
    No(CommandError),
}

impl Run {
    /// What to do about a message that comes now. The same one twice is one.
    pub(crate) fn on_said(&self, id: MessageId, text: &str) -> Reception {
        match self.saying(id) {
            Some(before) if before == text => Reception::Known,
            Some(_) => Reception::No(CommandError::OtherText),
            None if self.over => Reception::No(CommandError::Over),
            None if self.unheard().count() >= UNHEARD_MAX => Reception::No(CommandError::TooMuchSaid),
            None => Reception::Queue,
        }
    }

    /// What is put on record when the model is asked for `step`: it hears what was said since it last listened.
    pub(crate) fn hears(&self, step: u32) -> Vec<Fact> {
        self.unheard().map(|message| Fact::MessageTaken { message, step }).collect()
    }

    /// Whether something was said that the model's last message does not answer.
    pub(super) fn is_spoken_to(&self) -> bool {
        let after = |step: &Option<u32>| step.is_none_or(|step| step > self.step);
        self.message.parts.iter().any(|part| matches!(part, Part::Said { step, .. } if after(step)))
    }

    fn unheard(&self) -> impl Iterator<Item = MessageId> {
        self.message.parts.iter().filter_map(|part| match part {
            Part::Said { step: None, message, .. } => Some(*message),
            _ => None,
        })
    }

    fn saying(&self, id: MessageId) -> Option<&str> {
        self.message.parts.iter().find_map(|part| match part {
            Part::Said { message, text, .. } if *message == id => Some(text.as_str()),
            _ => None,
        })
    }
}
