//! Runs: opened once, claimed by one writer at a time.

use helve_types::{RunId, RunState, Spent, Timestamp, UserId};

use super::MemoryTables;
use super::conversations::MemoryConversation;
use crate::{
    Claimed, Conversation, IdempotencyKey, NewRun, Opened, Place, Recorded, RunRecord, Scope, Share,
    StoreError,
};

pub(super) struct RunShelf {
    pub(super) record: RunRecord,
    pub(super) epoch: u64,
    pub(super) log: Vec<Recorded>,
    /// How many messages of the conversation were there before the run's own.
    pub(super) history: usize,
    /// It is a subagent's, and the run that it works for does not know what became of it.
    pub(super) is_unreported: bool,
}

impl MemoryTables {
    pub(super) fn run_of_key(
        &self,
        user: &UserId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<RunId>, StoreError> {
        let name = (user.clone(), key.route.clone(), key.key.clone());
        let is_open = |run: &RunId| self.runs.get(run).is_some_and(|shelf| !shelf.record.state.is_final());
        match self.keys.get(&name).filter(|known| known.2 > now || is_open(&known.1)) {
            None => Ok(None),
            Some((fingerprint, run, _)) if *fingerprint == key.fingerprint => Ok(Some(*run)),
            Some(_) => Err(StoreError::KeyReused),
        }
    }

    pub(super) fn open_run(&mut self, new: NewRun) -> Result<Opened, StoreError> {
        if let Some(key) = &new.key
            && let Some(run) = self.run_of_key(&new.user, key, new.started.event.at)?
        {
            return Ok(Opened::Replayed { run });
        }
        let at = new.started.event.at;
        let history = match &new.place {
            Place::NewConversation { id, title } => {
                let row = Conversation {
                    id: *id,
                    user: new.user.clone(),
                    title: title.clone(),
                    messages: 0,
                    spent: Spent::default(),
                    created_at: at,
                    updated_at: at,
                    active_run: None,
                };
                self.conversations.insert(*id, MemoryConversation { row, messages: vec![] });
                vec![]
            }
            Place::Conversation(id) => {
                let shelf = self.conversation(&Scope::User(new.user.clone()), *id)?;
                if let Some(active) = shelf.row.active_run {
                    return Err(StoreError::Busy(active));
                }
                shelf.messages.clone()
            }
            Place::Nowhere => vec![],
        };
        if let Some(shelf) = new.place.conversation().and_then(|id| self.conversations.get_mut(&id)) {
            shelf.row.active_run = Some(new.run);
            shelf.keep_messages(at, new.message.iter().cloned());
        }
        if let Some(key) = new.key {
            self.keys
                .insert((new.user.clone(), key.route, key.key), (key.fingerprint, new.run, key.expires_at));
        }
        let record = RunRecord {
            run: new.run,
            user: new.user,
            conversation: new.place.conversation(),
            state: RunState::Running,
            setup: new.setup,
            last_seq: 1,
            resumes: 0,
            spent: Spent::default(),
            created_at: at,
            ended_at: None,
        };
        let shelf = RunShelf {
            is_unreported: record.setup.parent.is_some(),
            record,
            epoch: 1,
            log: vec![(*new.started).clone()],
            history: history.len(),
        };
        self.runs.insert(new.run, shelf);
        Ok(Opened::New { epoch: 1, history })
    }

    /// Counted anew each time: this store is for tests and for few.
    pub(super) fn share_of(&self, user: &UserId) -> Share {
        let mut share = Share::default();
        let json = |value: Result<String, serde_json::Error>| value.map_or(0, |text| text.len() as u64);
        for shelf in self.runs.values().filter(|shelf| shelf.record.user == *user) {
            let state = shelf.record.state;
            share.waiting_runs += u64::from(!state.is_final() && state != RunState::Running);
            share.bytes += json(serde_json::to_string(&shelf.record.setup));
            share.bytes += shelf.log.iter().map(|recorded| recorded.json.len() as u64).sum::<u64>();
        }
        let of_user = |run: &RunId| self.runs.get(run).is_some_and(|shelf| shelf.record.user == *user);
        let full_outputs = self.full_outputs.iter().filter(|(call, _)| of_user(&call.run));
        share.bytes += full_outputs.map(|(_, text)| text.len() as u64).sum::<u64>();
        let files = self.files.iter().filter(|((run, _), _)| of_user(run));
        share.bytes += files.map(|(_, file)| file.bytes.len() as u64).sum::<u64>();
        let mine = self.conversations.values().filter(|shelf| shelf.row.user == *user);
        let messages = mine.flat_map(|shelf| &shelf.messages);
        share.bytes += messages.map(|message| json(serde_json::to_string(message))).sum::<u64>();
        share
    }

    pub(super) fn claim(&mut self, run: RunId, counts_as_resume: bool) -> Result<Claimed, StoreError> {
        let shelf = self.runs.get_mut(&run).ok_or(StoreError::NotFound("run"))?;
        shelf.epoch += 1;
        shelf.record.resumes += u32::from(counts_as_resume);
        let messages = shelf.record.conversation.and_then(|id| self.conversations.get(&id));
        Ok(Claimed {
            epoch: shelf.epoch,
            record: shelf.record.clone(),
            history: messages.map_or(vec![], |place| place.messages[..shelf.history].to_vec()),
            events: shelf.log.clone(),
        })
    }
}
