//! What a model has read of tools when it asks for a call: that, and nothing later, can have moved it to ask.

use helve_types::{Labels, Message, PinnedSkill, RunInput, RunSetup, Taint};
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
    /// What the model has read when it begins: the history of a client, and the descriptions of skills that nobody has
    /// agreed to, which stand in its prompt. The task of a subagent may hold all that the model that wrote it had read.
    pub(super) fn from_setup(setup: &RunSetup) -> Self {
        let mut before = match &setup.input {
            RunInput::Client { messages } => Taint::from_client_history(messages),
            RunInput::Conversation | RunInput::Call => Taint::default(),
        };
        if let Some(parent) = &setup.parent {
            before = before.union(parent.taint.clone());
        }
        let untrusted = |skill: &&PinnedSkill| skill.untrusted;
        for PinnedSkill { name, .. } in setup.skills.iter().filter(untrusted) {
            let source = format!("the skill {name}");
            before.add_labels(&Labels { source, untrusted: true, ..Labels::default() });
        }
        Self { before, here: Taint::default() }
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
