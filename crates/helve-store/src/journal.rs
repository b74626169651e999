//! The writing end of one run's log.
//!
//! Numbers facts, makes them durable in that order, and publishes them when they are. Facts that are only
//! noted ride along with the next ones somebody waits for. When the medium fails, what is not yet kept is
//! held here and tried again for a while; the owner waits meanwhile, so nothing can happen off the record.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use helve_types::{
    ConversationId, Fact, Message, RunId, RunState, SteadyDate, Stopwatch, Timestamp, UserId, World,
};

use crate::{
    Allowance, AllowanceKey, Append, Desk, KeptFile, OnCommit, Recorded, Store, StoreError, Urgency, Whole,
};

/// How long facts that cannot be written are held before their run is given up.
const HELD_MAX: Duration = Duration::from_secs(60);
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Facts that belong together, and what else changes with them.
#[derive(Debug, Default)]
pub struct Entry {
    pub facts: Vec<Fact>,
    /// When they happened; now, if nothing else depends on it.
    pub at: Option<Timestamp>,
    pub state: Option<RunState>,
    pub message: Option<Message>,
    pub wholes: Vec<Whole>,
    pub files: Vec<KeptFile>,
}

impl From<Fact> for Entry {
    fn from(fact: Fact) -> Self {
        Self { facts: vec![fact], ..Self::default() }
    }
}

impl From<Vec<Fact>> for Entry {
    fn from(facts: Vec<Fact>) -> Self {
        Self { facts, ..Self::default() }
    }
}

/// Called with what has become durable, in order.
pub type Publish = Arc<dyn Fn(&[Arc<Recorded>]) + Send + Sync>;

#[derive(Clone)]
pub struct RunJournal {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Store>,
    world: World,
    run: RunId,
    epoch: u64,
    publish: Publish,
    /// What events are dated by: the time between two of them is time at work, and a budget hangs on it.
    date: SteadyDate,
    /// Held from numbering to queueing; never while `tail` is, since a store may publish at once.
    order: Mutex<()>,
    tail: Mutex<Tail>,
}

struct Tail {
    next_seq: u64,
    /// Queued with the store and not yet known to be durable.
    unkept: VecDeque<Batch>,
    /// Everything written since it was last taken.
    written: Vec<Arc<Recorded>>,
    clock: Stopwatch,
    /// Time at work that is not booked with an event yet.
    unbooked_ms: u64,
}

impl Tail {
    /// The next event. Time is booked with the events that end a stretch of work, so that the others cost no sum.
    fn next(&mut self, at: Timestamp, fact: Fact) -> Arc<Recorded> {
        self.unbooked_ms = self.unbooked_ms.saturating_add(self.clock.lap(at, &fact));
        let books = fact.is_last() || matches!(fact, Fact::StepFinished { .. } | Fact::RunWaiting { .. });
        let booked = if books { std::mem::take(&mut self.unbooked_ms) } else { 0 };
        let recorded = Recorded::new(self.next_seq, at, fact).having_taken(booked);
        self.next_seq += 1;
        Arc::new(recorded)
    }
}

#[derive(Clone)]
struct Batch {
    events: Vec<Arc<Recorded>>,
    state: Option<RunState>,
    message: Option<Message>,
    wholes: Vec<(helve_types::CallId, Arc<str>)>,
    files: Vec<KeptFile>,
}

impl RunJournal {
    /// For the owner of the run under `epoch`, whose log ends with `last_seq`.
    pub fn new(
        store: Arc<dyn Store>,
        world: World,
        run: RunId,
        epoch: u64,
        last_seq: u64,
        publish: Publish,
    ) -> Self {
        let date = SteadyDate::from_now(&world.clock);
        let tail = Tail {
            next_seq: last_seq + 1,
            unkept: VecDeque::new(),
            written: vec![],
            clock: Stopwatch::new(date.now()),
            unbooked_ms: 0,
        };
        Self {
            shared: Arc::new(Shared {
                store,
                world,
                run,
                epoch,
                publish,
                date,
                order: Mutex::default(),
                tail: Mutex::new(tail),
            }),
        }
    }

    /// The time as events of this run are dated. It begins with the system's date when the run is taken up, and from then
    /// on a date that is set forward or back does not move it.
    pub fn now(&self) -> Timestamp {
        self.shared.date.now()
    }

    /// Writes facts that nobody waits for; they are durable before anything that is committed later.
    pub fn note(&self, entry: impl Into<Entry>) {
        // The receipt is not needed: a loss shows when the next facts are committed.
        drop(self.queue(entry.into(), Urgency::Soon));
    }

    /// Writes facts and returns when they and all before them are durable and published.
    pub async fn commit(&self, entry: impl Into<Entry>) -> Result<(), StoreError> {
        let (seq, receipt) = self.queue(entry.into(), Urgency::Now);
        match receipt.await {
            Ok(()) => Ok(()),
            Err(error) => self.hold(seq, error).await,
        }
    }

    /// What was written since this was last called, durable or not.
    pub fn take_written(&self) -> Vec<Arc<Recorded>> {
        std::mem::take(&mut self.tail().written)
    }

    /// What a call of this run may reach of what is kept for its user.
    pub fn desk(&self, user: UserId, conversation: Option<ConversationId>) -> Desk {
        Desk::new(self.shared.store.clone(), user, self.shared.run, conversation)
    }

    /// How long ago a tool was sent to by a user or by everybody, for what was sent within `within`; the latest first,
    /// `limit` at most. What seems to be sent later than now, because a clock was set, was sent now.
    pub async fn sends(
        &self,
        tool: &str,
        user: Option<&UserId>,
        within: Duration,
        limit: usize,
    ) -> Result<Vec<Duration>, StoreError> {
        let now = self.now();
        let since = Timestamp(now.0.saturating_sub(i64::try_from(within.as_millis()).unwrap_or(i64::MAX)));
        let sends = self.shared.store.sends(tool.to_owned(), user.cloned(), since, limit).await?;
        let age = |at: &Timestamp| u64::try_from(now.0.saturating_sub(at.0)).unwrap_or_default();
        Ok(sends.iter().map(|at| Duration::from_millis(age(at))).collect())
    }

    /// What a person has allowed for all calls of one version of a tool, as of now.
    pub async fn allowances(&self, key: AllowanceKey) -> Result<Vec<Allowance>, StoreError> {
        self.shared.store.allowances_of(key, self.shared.world.now()).await
    }

    /// Numbering and queueing are one step, so the store sees facts in the order of their numbers.
    fn queue(&self, entry: Entry, urgency: Urgency) -> (u64, crate::StoreFuture<'static, ()>) {
        let at = entry.at.unwrap_or_else(|| self.now());
        let _order = self.shared.order.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tail = self.tail();
        let events: Vec<_> = entry.facts.into_iter().map(|fact| tail.next(at, fact)).collect();
        let last = tail.next_seq - 1;
        tail.written.extend(events.iter().cloned());
        let wholes = entry.wholes.into_iter().map(|whole| (whole.call, whole.text.into())).collect();
        let Entry { state, message, files, .. } = entry;
        let batch = Batch { events, state, message, wholes, files };
        tail.unkept.push_back(batch.clone());
        drop(tail);
        (last, self.send(batch, urgency))
    }

    fn send(&self, batch: Batch, urgency: Urgency) -> crate::StoreFuture<'static, ()> {
        let shared = self.shared.clone();
        let on_commit: OnCommit = Box::new(move |events| shared.kept(events));
        let append = Append {
            run: self.shared.run,
            epoch: self.shared.epoch,
            events: batch.events,
            state: batch.state,
            message: batch.message,
            wholes: batch
                .wholes
                .into_iter()
                .map(|(call, text)| Whole { call, text: text.as_ref().to_owned() })
                .collect(),
            files: batch.files,
            on_commit: Some(on_commit),
        };
        self.shared.store.append(append, urgency)
    }

    /// Tries what is not kept again, as one batch, until event `seq` is durable or hope is lost.
    async fn hold(&self, seq: u64, first_error: StoreError) -> Result<(), StoreError> {
        let mut error = first_error;
        let mut pause = PAUSE_MIN;
        let mut held = Duration::ZERO;
        loop {
            // A gap left by an earlier failure looks like a lost claim; sending all of it again tells.
            let worth_trying = match error {
                StoreError::Unavailable(_) => held < HELD_MAX,
                StoreError::Fenced(_) => held.is_zero(),
                _ => false,
            };
            if !worth_trying {
                return Err(error);
            }
            if let StoreError::Unavailable(reason) = &error {
                tracing::warn!(run = %self.shared.run, %reason, "the journal cannot be written; holding on");
                tokio::time::sleep(pause).await;
            }
            held += pause;
            pause = (pause * 2).min(PAUSE_MAX);
            let Some(receipt) = self.resend(seq) else {
                return Ok(());
            };
            match receipt.await {
                Ok(()) => return Ok(()),
                Err(again) => error = again,
            }
        }
    }

    /// Everything unkept as one batch, or nothing if event `seq` is kept by now.
    fn resend(&self, seq: u64) -> Option<crate::StoreFuture<'static, ()>> {
        let _order = self.shared.order.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = self.tail();
        let last = tail.unkept.back()?.events.last()?.event.seq;
        let first = tail.unkept.front()?.events.first()?.event.seq;
        if seq < first || last < seq {
            return None;
        }
        let mut all = Batch { events: vec![], state: None, message: None, wholes: vec![], files: vec![] };
        for batch in &tail.unkept {
            all.events.extend(batch.events.iter().cloned());
            all.state = batch.state.or(all.state);
            all.message = batch.message.clone().or(all.message);
            all.wholes.extend(batch.wholes.iter().cloned());
            all.files.extend(batch.files.iter().cloned());
        }
        drop(tail);
        Some(self.send(all, Urgency::Now))
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.shared.tail()
    }
}

impl Shared {
    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by the store once the events are durable.
    fn kept(&self, events: &[Arc<Recorded>]) {
        let Some(last) = events.last() else { return };
        let mut tail = self.tail();
        let done = |batch: &Batch| batch.events.last().is_none_or(|end| end.event.seq <= last.event.seq);
        while tail.unkept.front().is_some_and(done) {
            tail.unkept.pop_front();
        }
        drop(tail);
        (self.publish)(events);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use helve_types::PartId;

    use super::*;
    use crate::contract::Actor;
    use crate::{MemoryStore, Page};

    struct Subject {
        store: Arc<MemoryStore>,
        journal: RunJournal,
        published: Arc<Mutex<Vec<u64>>>,
        run: RunId,
    }

    async fn subject() -> Subject {
        let store = Arc::new(MemoryStore::new());
        let actor = Actor::new(store.clone(), "mei");
        let started = actor.start(actor.new_conversation(), "go").await;
        let published: Arc<Mutex<Vec<u64>>> = Arc::default();
        let seen = published.clone();
        let publish: Publish = Arc::new(move |events| {
            seen.lock().unwrap().extend(events.iter().map(|recorded| recorded.event.seq));
        });
        let journal = RunJournal::new(store.clone(), World::still(), started.run, started.epoch, 1, publish);
        Subject { store, journal, published, run: started.run }
    }

    fn text(text: &str) -> Fact {
        Fact::TextFinished { step: 1, part: PartId::new(1, 1, 0), text: text.into() }
    }

    impl Subject {
        async fn kept(&self) -> usize {
            self.store.events(self.run, 1, 99).await.unwrap().len()
        }
    }

    #[tokio::test]
    async fn facts_have_the_time_that_their_writer_gives_them() {
        let subject = subject().await;
        let at = Some(Timestamp(7));
        subject.journal.commit(Entry { at, ..text("then").into() }).await.unwrap();
        subject.journal.commit(text("now")).await.unwrap();
        let kept = subject.store.events(subject.run, 1, 9).await.unwrap();
        assert_eq!(kept[0].event.at, Timestamp(7));
        assert_eq!(kept[1].event.at, World::still().now());
    }

    #[tokio::test]
    async fn noted_facts_come_before_committed_ones() {
        let subject = subject().await;
        subject.journal.note(text("a"));
        subject.journal.note(vec![text("b"), text("c")]);
        subject.journal.commit(text("d")).await.unwrap();
        assert_eq!(*subject.published.lock().unwrap(), [2, 3, 4, 5]);
        assert_eq!(subject.journal.take_written().len(), 4);
        assert_eq!(subject.journal.take_written().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn facts_survive_a_medium_that_fails_for_a_while() {
        let subject = subject().await;
        subject.store.fail_writes(3);
        subject.journal.note(text("noted while it fails"));
        subject.journal.commit(text("waited for")).await.unwrap();
        assert_eq!(subject.kept().await, 2);
        assert_eq!(*subject.published.lock().unwrap(), [2, 3]);
        subject.journal.commit(text("after")).await.unwrap();
        assert_eq!(subject.kept().await, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_whose_earlier_note_was_lost_sends_both_again() {
        let subject = subject().await;
        subject.store.fail_writes(1);
        subject.journal.note(text("lost at first"));
        subject.journal.commit(text("behind the gap")).await.unwrap();
        assert_eq!(subject.kept().await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_medium_that_stays_broken_is_given_up_and_nothing_is_published() {
        let subject = subject().await;
        subject.store.fail_writes(u32::MAX);
        let refused = subject.journal.commit(text("never")).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        assert_eq!(*subject.published.lock().unwrap(), [0; 0]);
    }

    #[tokio::test]
    async fn a_lost_claim_is_not_fought_over() {
        let subject = subject().await;
        subject.store.claim(subject.run, "another".into(), false).await.unwrap();
        subject.journal.note(text("late"));
        let refused = subject.journal.commit(text("later")).await;
        assert_eq!(refused, Err(StoreError::Fenced(subject.run)));
        assert_eq!(subject.kept().await, 0);
        assert_eq!(
            subject
                .store
                .runs(crate::Scope::Everyone, crate::RunFilter::default(), Page::first(9))
                .await
                .unwrap()
                .len(),
            1
        );
    }

    #[tokio::test]
    async fn facts_committed_at_once_are_numbered_without_gaps() {
        let subject = subject().await;
        let tasks: Vec<_> = (0..20)
            .map(|n| {
                let journal = subject.journal.clone();
                tokio::spawn(async move { journal.commit(text(&n.to_string())).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(*subject.published.lock().unwrap(), (2..=21).collect::<Vec<_>>());
    }
}
