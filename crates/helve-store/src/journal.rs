//! The writing end of one run's log.
//!
//! Numbers facts, makes them durable in that order, and publishes them when they are. There are two kinds of append:
//! `commit` is a barrier and returns when its facts and all before them are durable; `record` returns at once, and its
//! facts become durable within some milliseconds or together with the next barrier of any run.
//!
//! When the medium fails, what is not durable yet is held here and tried again for a while. Meanwhile `record` waits as
//! `commit` does. When hope is lost the journal is closed for good: every later append is refused, so that a run cannot
//! go on as if its facts were written.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use helve_types::{ConversationId, Fact, RunId, SteadyDate, Stopwatch, Timestamp, UserId, World};

use crate::{
    Allowance, AllowanceKey, Append, NewFacts, OnCommit, Recorded, RunWriter, Store, StoreError, Urgency,
    UserStore,
};

/// How long facts that cannot be written are held before their run is given up.
pub const RETRY_FOR_MAX: Duration = Duration::from_secs(60);
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// So much of a run may be recorded and not be durable; what comes then waits as a commit does.
pub const BACKLOG_ENTRIES_MAX: usize = 64;
pub const BACKLOG_BYTES_MAX: usize = 1 << 20;

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
    /// Held by the task that retries what could not be written.
    retry: Arc<tokio::sync::Mutex<()>>,
}

struct Tail {
    next_seq: u64,
    /// The last event that is known to be durable.
    durable_seq: u64,
    /// Queued with the store and not yet known to be durable.
    unkept: VecDeque<UnkeptEvents>,
    unkept_bytes: usize,
    /// Something that was recorded could not be written and is tried again.
    is_failing: bool,
    /// Why nothing can be written any more.
    closed: Option<StoreError>,
    /// Everything written since it was last taken.
    written: Vec<Arc<Recorded>>,
    clock: Stopwatch,
    /// Time at work that is not booked with an event yet.
    unbooked_ms: u64,
}

impl Tail {
    /// Whether what is recorded next waits until it is durable.
    fn must_wait(&self) -> bool {
        self.is_failing || self.unkept.len() >= BACKLOG_ENTRIES_MAX || self.unkept_bytes >= BACKLOG_BYTES_MAX
    }

    /// The next event. Time is booked with the events that end a stretch of work, so that the others cost no sum.
    fn next_event(&mut self, at: Timestamp, fact: Fact) -> Arc<Recorded> {
        self.unbooked_ms = self.unbooked_ms.saturating_add(self.clock.ms_worked_until(at, &fact));
        let books = fact.is_last() || matches!(fact, Fact::StepFinished { .. } | Fact::RunWaiting { .. });
        let booked = if books { std::mem::take(&mut self.unbooked_ms) } else { 0 };
        let recorded = Recorded::new(self.next_seq, at, fact).with_active_ms(booked);
        self.next_seq += 1;
        Arc::new(recorded)
    }
}

/// Numbered events that are not known to be durable.
type UnkeptEvents = Append<Arc<Recorded>, ()>;

impl UnkeptEvents {
    fn is_durable(&self, durable_seq: u64) -> bool {
        self.events.last().is_none_or(|last| last.event.seq <= durable_seq)
    }

    fn bytes(&self) -> usize {
        let events = self.events.iter().map(|recorded| recorded.json.len()).sum::<usize>();
        let full_outputs = self.full_outputs.iter().map(|output| output.text.len()).sum::<usize>();
        events + full_outputs + self.files.iter().map(|file| file.bytes.len()).sum::<usize>()
    }
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
            durable_seq: last_seq,
            unkept: VecDeque::new(),
            unkept_bytes: 0,
            is_failing: false,
            closed: None,
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
                retry: Arc::default(),
            }),
        }
    }

    /// The time as events of this run are dated. It begins with the system's date when the run is taken up, and from then
    /// on a date that is set forward or back does not move it.
    pub fn now(&self) -> Timestamp {
        self.shared.date.now()
    }

    /// Writes facts and returns at once: they have their place in the order and are durable soon, or with the next
    /// commit. Waits as `commit` does while the medium fails or too much of the run is not durable yet.
    pub async fn record(&self, facts: impl Into<NewFacts>) -> Result<(), StoreError> {
        if self.shared.tail().must_wait() {
            return self.commit(facts).await;
        }
        let (seq, receipt) = self.queue(facts.into(), Urgency::Soon)?;
        let journal = Arc::downgrade(&self.shared);
        tokio::spawn(async move {
            if let Err(error) = receipt.await {
                // Without a journal the run has ended where its log ends.
                _ = Shared::retry(&journal, seq, error).await;
            }
        });
        Ok(())
    }

    /// Writes facts and returns when they and all before them are durable and published.
    pub async fn commit(&self, facts: impl Into<NewFacts>) -> Result<(), StoreError> {
        let (seq, receipt) = self.queue(facts.into(), Urgency::Now)?;
        match receipt.await {
            Ok(()) => Ok(()),
            Err(error) => Shared::retry(&Arc::downgrade(&self.shared), seq, error).await,
        }
    }

    /// Returns when everything that was recorded is durable and published.
    pub async fn flush(&self) -> Result<(), StoreError> {
        if self.pending_seq() == 0 {
            return Ok(());
        }
        let (seq, receipt) = self.queue(NewFacts::default(), Urgency::Now)?;
        let error = match receipt.await {
            Ok(()) if seq <= self.shared.tail().durable_seq => return Ok(()),
            // An empty batch is written also behind one that was lost.
            Ok(()) => StoreError::Fenced(self.shared.run),
            Err(error) => error,
        };
        Shared::retry(&Arc::downgrade(&self.shared), seq, error).await
    }

    /// The last event that was written and is not durable yet; 0 if all of them are.
    pub fn pending_seq(&self) -> u64 {
        let tail = self.shared.tail();
        if tail.unkept.is_empty() { 0 } else { tail.next_seq - 1 }
    }

    /// What was written since this was last called, durable or not.
    pub fn take_written(&self) -> Vec<Arc<Recorded>> {
        std::mem::take(&mut self.shared.tail().written)
    }

    /// What a call of this run may reach of what is kept for its user.
    pub fn user_store(&self, user: UserId, conversation: Option<ConversationId>) -> UserStore {
        UserStore::new(self.shared.store.clone(), self.clone(), user, self.shared.run, conversation)
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
        let sends = self.shared.store.send_times(tool.to_owned(), user.cloned(), since, limit).await?;
        let age = |at: &Timestamp| u64::try_from(now.0.saturating_sub(at.0)).unwrap_or_default();
        Ok(sends.iter().map(|at| Duration::from_millis(age(at))).collect())
    }

    /// What a person has allowed for all calls of one version of a tool, as of now.
    pub async fn allowances(&self, key: AllowanceKey) -> Result<Vec<Allowance>, StoreError> {
        self.shared.store.allowances_in_force(key, self.shared.world.now()).await
    }

    /// Numbering and queueing are one step, so the store sees facts in the order of their numbers.
    fn queue(
        &self,
        facts: NewFacts,
        urgency: Urgency,
    ) -> Result<(u64, crate::StoreFuture<'static, ()>), StoreError> {
        let at = facts.at.unwrap_or_else(|| self.now());
        let _order = self.shared.order.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tail = self.shared.tail();
        if let Some(error) = &tail.closed {
            return Err(error.clone());
        }
        let events: Vec<_> = facts.events.into_iter().map(|fact| tail.next_event(at, fact)).collect();
        let last = tail.next_seq - 1;
        tail.written.extend(events.iter().cloned());
        let NewFacts { state, message, full_outputs, files, .. } = facts;
        let batch = UnkeptEvents { state, message, full_outputs, files, ..events.into() };
        if !batch.events.is_empty() {
            tail.unkept_bytes += batch.bytes();
            tail.unkept.push_back(batch.clone());
        }
        drop(tail);
        Ok((last, Shared::append_batch(&self.shared, batch, urgency)))
    }
}

impl Shared {
    fn append_batch(
        self: &Arc<Self>,
        batch: UnkeptEvents,
        urgency: Urgency,
    ) -> crate::StoreFuture<'static, ()> {
        let shared = self.clone();
        let on_commit: OnCommit = Box::new(move |events| shared.mark_durable(events));
        let writer = RunWriter { run: self.run, epoch: self.epoch, on_commit: Some(on_commit) };
        self.store.append(batch.for_writer(writer), urgency)
    }

    /// Tries what is not durable again, as one batch, until event `seq` is durable or hope is lost. One at a time does
    /// so for a run; it stops when the journal is dropped.
    async fn retry(journal: &Weak<Self>, seq: u64, first_error: StoreError) -> Result<(), StoreError> {
        let Some(turn) = journal.upgrade().map(|shared| shared.retry.clone()) else {
            return Err(first_error);
        };
        if let Some(shared) = journal.upgrade() {
            shared.tail().is_failing = true;
        }
        let _turn = turn.lock().await;
        let retried = Self::retry_in_turn(journal, seq, first_error).await;
        if let (Err(error), Some(shared)) = (&retried, journal.upgrade()) {
            shared.tail().closed.get_or_insert_with(|| error.clone());
        }
        retried
    }

    async fn retry_in_turn(
        journal: &Weak<Self>,
        seq: u64,
        first_error: StoreError,
    ) -> Result<(), StoreError> {
        let mut error = first_error;
        let mut pause = PAUSE_MIN;
        let mut held = Duration::ZERO;
        loop {
            // A gap left by an earlier failure looks like a lost claim; sending all of it again tells.
            let worth_trying = match error {
                StoreError::Unavailable(_) => held < RETRY_FOR_MAX,
                StoreError::Fenced(_) => held.is_zero(),
                _ => false,
            };
            let Some(shared) = journal.upgrade().filter(|_| worth_trying) else { return Err(error) };
            if let Some(closed) = &shared.tail().closed {
                return Err(closed.clone());
            }
            let run = shared.run;
            drop(shared);
            if let StoreError::Unavailable(reason) = &error {
                tracing::warn!(%run, %reason, "journal write failed: retrying");
                tokio::time::sleep(pause).await;
            }
            held += pause;
            pause = (pause * 2).min(PAUSE_MAX);
            let Some(shared) = journal.upgrade() else { return Err(error) };
            let Some(receipt) = shared.resend(seq) else { return Ok(()) };
            drop(shared);
            match receipt.await {
                Ok(()) => return Ok(()),
                Err(again) => error = again,
            }
        }
    }

    /// Everything that is not durable as one batch, or nothing if event `seq` is durable by now.
    fn resend(self: &Arc<Self>, seq: u64) -> Option<crate::StoreFuture<'static, ()>> {
        let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = self.tail();
        if seq <= tail.durable_seq {
            return None;
        }
        let mut all = UnkeptEvents::default();
        for batch in &tail.unkept {
            all.events.extend(batch.events.iter().cloned());
            all.state = batch.state.or(all.state);
            all.message = batch.message.clone().or(all.message);
            all.full_outputs.extend(batch.full_outputs.iter().cloned());
            all.files.extend(batch.files.iter().cloned());
        }
        drop(tail);
        Some(self.append_batch(all, Urgency::Now))
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by the store once the events are durable, in order; some of them may have been before.
    fn mark_durable(&self, events: &[Arc<Recorded>]) {
        let before = self.tail().durable_seq;
        let known = events.partition_point(|recorded| recorded.event.seq <= before);
        let Some(last) = events.get(known..).and_then(<[_]>::last) else { return };
        // Publishing comes first: `pending_seq` must not say 0 before.
        (self.publish)(&events[known..]);
        let mut tail = self.tail();
        tail.durable_seq = last.event.seq;
        while tail.unkept.front().is_some_and(|batch| batch.is_durable(last.event.seq)) {
            let durable = tail.unkept.pop_front().map_or(0, |batch| batch.bytes());
            tail.unkept_bytes = tail.unkept_bytes.saturating_sub(durable);
        }
        tail.is_failing &= !tail.unkept.is_empty();
    }
}
