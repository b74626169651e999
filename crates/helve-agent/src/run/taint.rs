//! What a model has read of tools when it asks for a call: that, and nothing later, can have moved it to ask.

use helve_types::{Message, RunInput, RunSetup, Taint};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct TaintState {
    /// In what was there before the run.
    before: Taint,
    /// In the run itself, up to the last complete step. The results of that step's own calls are not among it: their
    /// calls were written before they ran.
    here: Taint,
}

impl TaintState {
    /// A task may hold all that the model that wrote it had read.
    pub(super) fn from_setup(setup: &RunSetup) -> Self {
        let of_task = setup.parent.as_ref().map(|parent| parent.taint.clone()).unwrap_or_default();
        let of_input = match &setup.input {
            RunInput::Client { messages } => Taint::from_client_history(messages),
            RunInput::Conversation | RunInput::Call => Taint::default(),
        };
        Self { before: of_task.union(of_input), here: Taint::default() }
    }

    pub(super) fn add_history(&mut self, history: &[Message]) {
        self.before = self.before.clone().union(Taint::from_messages(history));
    }

    /// A step is complete, and this is the run's message with all that came before it.
    pub(super) fn set_message(&mut self, message: &Message) {
        self.here = Taint::from_messages([message]);
    }

    pub(super) fn taint_at_request(&self) -> Taint {
        self.before.clone().union(self.here.clone())
    }

    /// What the model reads that writes the next message: also the results of the last step's calls.
    pub(super) fn current_taint(&self, message: &Message) -> Taint {
        self.before.clone().union(Taint::from_messages([message]))
    }
}
