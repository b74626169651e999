//! What a tool may reach of what is kept: the things of the user that it works for, and no other user's.

use std::sync::Arc;

use helve_types::{CallId, ConversationId, Fact, RunId, Timestamp, UserId};

use crate::{Page, PlanBody, PlanChange, PlanRecord, RunJournal, Scope, Store, StoreError};

const EVENTS_AT_ONCE: usize = 500;

/// The store as one call sees it.
#[derive(Clone)]
pub struct UserStore {
    store: Arc<dyn Store>,
    /// What the run has recorded is read from the store, so it is made durable first.
    journal: RunJournal,
    user: UserId,
    run: RunId,
    conversation: Option<ConversationId>,
}

impl UserStore {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        journal: RunJournal,
        user: UserId,
        run: RunId,
        conversation: Option<ConversationId>,
    ) -> Self {
        Self { store, journal, user, run, conversation }
    }

    /// The whole text of an output, whether it was cut or only is no longer shown, of this run or of another one in the
    /// same conversation.
    pub async fn whole_output(&self, call: &CallId) -> Result<String, StoreError> {
        let missing = StoreError::NotFound("output");
        if call.run == self.run {
            self.journal.flush().await?;
        }
        let record = self.store.run(Scope::User(self.user.clone()), call.run).await;
        let record = record.map_err(|error| match error {
            StoreError::NotFound(_) => missing.clone(),
            other => other,
        })?;
        let is_near =
            call.run == self.run || (self.conversation.is_some() && record.conversation == self.conversation);
        if !is_near {
            return Err(missing);
        }
        match self.store.whole_output(call.clone()).await {
            // It was not cut, so all of it is in the log.
            Err(StoreError::NotFound(_)) => self.logged_output(call.run, call).await?.ok_or(missing),
            whole => whole,
        }
    }

    async fn logged_output(&self, run: RunId, call: &CallId) -> Result<Option<String>, StoreError> {
        let mut after = 0;
        loop {
            let events = self.store.events(run, after, EVENTS_AT_ONCE).await?;
            let Some(last) = events.last() else { return Ok(None) };
            after = last.event.seq;
            let output = events.into_iter().find_map(|recorded| match recorded.event.fact {
                Fact::ToolFinished { call: of, output, .. } if of == *call => Some(output.text),
                _ => None,
            });
            if output.is_some() {
                return Ok(output);
            }
        }
    }

    /// Makes a plan; the same call makes one only.
    pub async fn create_plan(
        &self,
        by: CallId,
        body: PlanBody,
        at: Timestamp,
    ) -> Result<PlanRecord, StoreError> {
        self.store.create_plan(self.user.clone(), by, body, at).await
    }

    pub async fn change_plan(&self, change: PlanChange) -> Result<PlanRecord, StoreError> {
        self.store.change_plan(self.user.clone(), change).await
    }

    pub async fn plan(&self, number: u32) -> Result<PlanRecord, StoreError> {
        self.store.plan(self.user.clone(), number).await
    }

    /// Those that were changed last first.
    pub async fn plans(&self, page: Page) -> Result<Vec<PlanRecord>, StoreError> {
        self.store.plans(self.user.clone(), page).await
    }
}
