//! Conversations, and what goes with them.

use std::collections::BTreeMap;

use helve_types::{ConversationId, Message, RunId, Timestamp, Within};

use super::MemoryTables;
use super::runs::RunShelf;
use crate::{Conversation, Scope, StoreError};

pub(super) struct MemoryConversation {
    pub(super) row: Conversation,
    pub(super) messages: Vec<Message>,
}

impl MemoryConversation {
    pub(super) fn keep_messages(&mut self, at: Timestamp, messages: impl IntoIterator<Item = Message>) {
        self.messages.extend(messages);
        self.row.messages = self.messages.len() as u64;
        self.row.updated_at = at;
    }
}

impl MemoryTables {
    pub(super) fn conversation(
        &self,
        scope: &Scope,
        id: ConversationId,
    ) -> Result<&MemoryConversation, StoreError> {
        self.conversations
            .get(&id)
            .filter(|shelf| scope.sees(&shelf.row.user))
            .ok_or(StoreError::NotFound("conversation"))
    }

    pub(super) fn delete_conversation(
        &mut self,
        scope: &Scope,
        id: ConversationId,
    ) -> Result<(), StoreError> {
        if let Some(active) = self.conversation(scope, id)?.row.active_run {
            return Err(StoreError::Busy(active));
        }
        let of_conversation = |run: RunId, runs: &BTreeMap<RunId, RunShelf>| {
            runs.get(&run).is_some_and(|shelf| shelf.record.conversation == Some(id))
        };
        let below: Vec<RunId> = self
            .runs
            .values()
            .map(|shelf| &shelf.record)
            .filter(|record| {
                let root = record.setup.parent.as_ref().map(|parent| parent.root);
                root.is_some_and(|root| of_conversation(root, &self.runs))
            })
            .map(|record| record.run)
            .collect();
        for run in &below {
            if let Some(shelf) = self.runs.get_mut(run) {
                if !shelf.record.state.is_final() {
                    return Err(StoreError::Busy(*run));
                }
                shelf.record.conversation = Some(id);
            }
        }
        let gone = of_conversation;
        self.conversations.remove(&id);
        self.approvals.retain(|_, held| !gone(held.run, &self.runs));
        self.allowances.retain(|_, held| held.within == Within::Agent || !gone(held.run, &self.runs));
        self.full_outputs.retain(|call, _| !gone(call.run, &self.runs));
        self.files.retain(|(run, _), _| !gone(*run, &self.runs));
        self.calls.retain(|_, call| !gone(call.run, &self.runs));
        self.keys.retain(|_, (_, run, _)| !gone(*run, &self.runs));
        self.runs.retain(|_, shelf| shelf.record.conversation != Some(id));
        Ok(())
    }
}
