//! The journal over a store in memory: order, retries, and what is recorded without being waited for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_store::{
    BACKLOG_BYTES_MAX, BACKLOG_ENTRIES_MAX, FullOutput, Log, MemoryStore, NewFacts, Page, Publish,
    RETRY_FOR_MAX, RunFilter, RunJournal, Scope, StoreError, Views,
};
use helve_store_contract::Actor;
use helve_types::{CallId, Fact, PartId, RunId, Timestamp, UserId, World};

/// Less than the pause before the first retry.
const SHORTER_THAN_A_RETRY: Duration = Duration::from_millis(25);

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
    let journal =
        RunJournal::new(store.clone(), World::deterministic(), started.run, started.epoch, 1, publish);
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
    subject.journal.commit(NewFacts { at, ..text("then").into() }).await.unwrap();
    subject.journal.commit(text("now")).await.unwrap();
    let kept = subject.store.events(subject.run, 1, 9).await.unwrap();
    assert_eq!(kept[0].event.at, Timestamp(7));
    assert_eq!(kept[1].event.at, World::deterministic().now());
}

#[tokio::test]
async fn recorded_facts_come_before_committed_ones() {
    let subject = subject().await;
    subject.journal.record(text("a")).await.unwrap();
    subject.journal.record(vec![text("b"), text("c")]).await.unwrap();
    subject.journal.commit(text("d")).await.unwrap();
    assert_eq!(*subject.published.lock().unwrap(), [2, 3, 4, 5]);
    assert_eq!(subject.journal.take_written().len(), 4);
    assert_eq!(subject.journal.take_written().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn facts_survive_a_medium_that_fails_for_a_while() {
    let subject = subject().await;
    subject.store.fail_writes(3);
    subject.journal.record(text("recorded while it fails")).await.unwrap();
    subject.journal.commit(text("waited for")).await.unwrap();
    assert_eq!(subject.kept().await, 2);
    assert_eq!(*subject.published.lock().unwrap(), [2, 3]);
    subject.journal.commit(text("after")).await.unwrap();
    assert_eq!(subject.kept().await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_earlier_record_was_lost_sends_both_again() {
    let subject = subject().await;
    subject.store.fail_writes(1);
    subject.journal.record(text("lost at first")).await.unwrap();
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

impl Subject {
    fn published(&self) -> Vec<u64> {
        self.published.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn a_recorded_fact_is_published_when_it_is_durable_and_not_before() {
    let subject = subject().await;
    subject.store.delay_recorded_batches();
    let barriers = subject.store.barrier_count();
    subject.journal.record(text("a")).await.unwrap();
    subject.journal.record(text("b")).await.unwrap();
    assert_eq!((subject.kept().await, subject.published()), (0, vec![]));
    assert_eq!(subject.journal.pending_seq(), 3);
    assert_eq!(subject.journal.take_written().len(), 2, "the run goes on with them");
    assert_eq!(subject.store.barrier_count(), barriers);
    subject.journal.flush().await.unwrap();
    assert_eq!((subject.kept().await, subject.published()), (2, vec![2, 3]));
    assert_eq!(subject.journal.pending_seq(), 0);
    subject.journal.flush().await.unwrap();
    assert_eq!(subject.store.barrier_count(), barriers + 1, "nothing is left to wait for");
}

#[tokio::test]
async fn a_barrier_of_another_run_makes_recorded_facts_durable() {
    let subject = subject().await;
    subject.store.delay_recorded_batches();
    subject.journal.record(text("a")).await.unwrap();
    let li = Actor::new(subject.store.clone(), "li");
    li.start(li.new_conversation(), "hello").await;
    assert_eq!(subject.published(), [2]);
}

#[tokio::test(start_paused = true)]
async fn a_recorded_fact_that_fails_is_tried_again_though_nobody_waits() {
    let subject = subject().await;
    subject.store.fail_writes(3);
    subject.journal.record(text("a")).await.unwrap();
    tokio::time::sleep(RETRY_FOR_MAX).await;
    assert_eq!((subject.kept().await, subject.published()), (1, vec![2]));
}

#[tokio::test(start_paused = true)]
async fn while_recorded_facts_cannot_be_written_the_next_ones_wait() {
    let subject = subject().await;
    subject.store.fail_writes(5);
    subject.journal.record(text("a")).await.unwrap();
    tokio::time::sleep(SHORTER_THAN_A_RETRY).await;
    subject.journal.record(text("b")).await.unwrap();
    assert_eq!(subject.published(), [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_lost_recorded_facts_is_closed_for_good() {
    let subject = subject().await;
    subject.store.fail_writes(u32::MAX);
    subject.journal.record(text("a")).await.unwrap();
    tokio::time::sleep(2 * RETRY_FOR_MAX).await;
    subject.store.fail_writes(0);
    let refused = subject.journal.record(text("b")).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert_eq!(subject.journal.commit(text("c")).await, refused);
    assert_eq!(subject.journal.flush().await, refused);
    assert_eq!((subject.kept().await, subject.published()), (0, vec![]));
}

#[tokio::test]
async fn so_many_facts_may_be_recorded_and_not_durable_and_no_more() {
    let subject = subject().await;
    subject.store.delay_recorded_batches();
    let barriers = subject.store.barrier_count();
    for _ in 0..BACKLOG_ENTRIES_MAX {
        subject.journal.record(text("a")).await.unwrap();
    }
    assert_eq!((subject.store.barrier_count(), subject.published()), (barriers, vec![]));
    subject.journal.record(text("b")).await.unwrap();
    assert_eq!(subject.store.barrier_count(), barriers + 1);
    assert_eq!(subject.published().len(), BACKLOG_ENTRIES_MAX + 1);
}

#[tokio::test]
async fn so_many_bytes_may_be_recorded_and_not_durable_and_no_more() {
    let subject = subject().await;
    subject.store.delay_recorded_batches();
    let half = "x".repeat(BACKLOG_BYTES_MAX / 2);
    subject.journal.record(text(&half)).await.unwrap();
    subject.journal.record(text(&half)).await.unwrap();
    assert_eq!(subject.published(), [0; 0]);
    subject.journal.record(text("b")).await.unwrap();
    assert_eq!(subject.published(), [2, 3, 4]);
}

#[tokio::test]
async fn a_call_reads_whole_what_its_run_has_only_recorded() {
    let subject = subject().await;
    subject.store.delay_recorded_batches();
    let call = CallId::new(subject.run, 1, 0);
    let full_outputs = vec![FullOutput { call: call.clone(), text: "all of it".into() }];
    subject.journal.record(NewFacts { full_outputs, ..text("a").into() }).await.unwrap();
    let desk = subject.journal.user_store(UserId("mei".into()), None);
    assert_eq!(desk.whole_output(&call).await.unwrap(), "all of it");
}

#[tokio::test]
async fn a_lost_claim_is_not_fought_over() {
    let subject = subject().await;
    subject.store.claim_run(subject.run, "another".into(), false).await.unwrap();
    subject.journal.record(text("late")).await.unwrap();
    let refused = subject.journal.commit(text("later")).await;
    assert_eq!(refused, Err(StoreError::Fenced(subject.run)));
    assert_eq!(subject.kept().await, 0);
    assert_eq!(
        subject.store.runs(Scope::Everyone, RunFilter::default(), Page::first(9)).await.unwrap().len(),
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
