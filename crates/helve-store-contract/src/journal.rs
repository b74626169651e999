//! The log: one writer, no gaps, nothing twice.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_types::{Fact, Message, Mode, RunState, StopReason, Usage};

use super::{Actor, Started, Subject, ok, setup, text};
use helve_store::{Append, Place, Recorded, RunWriter, StoreError, Urgency};

pub async fn events_are_read_from_any_point_in_order(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "count").await;
    for n in 1..=9 {
        ok(mei.append(&mut run, vec![text(n, &n.to_string())]).await);
    }
    let seqs = |log: Vec<Recorded>| log.iter().map(|recorded| recorded.event.seq).collect::<Vec<_>>();
    assert_eq!(seqs(ok(mei.store.events(run.run, 0, 99).await)), (1..=10).collect::<Vec<_>>());
    assert_eq!(seqs(ok(mei.store.events(run.run, 7, 2).await)), [8, 9]);
    assert_eq!(seqs(ok(mei.store.events(run.run, 10, 9).await)), [0; 0]);
    let log = ok(mei.store.events(run.run, 4, 1).await);
    assert_eq!(log[0].event.fact, text(4, "4"));
}

pub async fn a_page_of_the_log_ends_with_the_event_that_fills_it(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "count").await;
    for n in 1..=9 {
        ok(mei.append(&mut run, vec![text(n, &n.to_string())]).await);
    }
    let log = ok(mei.store.events(run.run, 0, 99).await);
    let bytes = |log: &[Recorded]| log.iter().map(|recorded| recorded.json.len()).sum::<usize>();
    for (after, bytes_max, taken) in [
        (0, usize::MAX, 0..10),
        (0, 0, 0..0),
        (0, 1, 0..1),
        (4, bytes(&log[4..6]), 4..6),
        (4, bytes(&log[4..6]) + 1, 4..7),
        (10, 1_000, 10..10),
    ] {
        assert_eq!(
            ok(mei.store.log_page(run.run, after, bytes_max).await),
            log[taken],
            "{after} {bytes_max}"
        );
    }
}

pub async fn a_writer_with_an_old_claim_is_fenced_and_changes_nothing(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut old = mei.start(mei.new_conversation(), "go").await;
    let claimed = ok(mei.store.claim_run(old.run, "another".into(), false).await);
    assert!(claimed.epoch > old.epoch);

    assert_eq!(mei.append(&mut old, vec![text(1, "late")]).await, Err(StoreError::Fenced(old.run)));
    assert_eq!(ok(mei.store.events(old.run, 0, 9).await).len(), 1);
    let mut new = Started { epoch: claimed.epoch, next_seq: 2, ..old };
    ok(mei.append(&mut new, vec![text(1, "mine")]).await);
}

pub async fn a_lost_batch_makes_the_later_ones_fail(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "go").await;
    let _lost = mei.batch(&mut run, vec![text(1, "lost")]);
    assert_eq!(mei.append(&mut run, vec![text(1, "after")]).await, Err(StoreError::Fenced(run.run)));
    assert_eq!(ok(mei.store.events(run.run, 0, 9).await).len(), 1);
}

pub async fn a_batch_sent_again_keeps_only_what_is_missing(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "go").await;
    let mut again = mei.batch(&mut run, vec![text(1, "one"), text(1, "two")]);
    let RunWriter { run: id, epoch, .. } = again.writer;
    let first =
        Append::from(again.events[0].clone()).for_writer(RunWriter { run: id, epoch, on_commit: None });
    let state = Some(RunState::WaitingClient);
    again.state = state;
    ok(mei.store.append(first, Urgency::Now).await);
    ok(mei.store.append(again, Urgency::Now).await);
    assert_eq!(ok(mei.store.events(run.run, 1, 9).await).len(), 2);
    assert_eq!(Some(ok(mei.store.run(mei.scope(), run.run).await).state), state);

    run.next_seq = 2;
    let other = mei.batch(&mut run, vec![text(1, "another"), text(1, "two")]);
    assert_eq!(mei.store.append(other, Urgency::Now).await, Err(StoreError::Fenced(run.run)));
}

pub async fn events_are_published_after_they_are_kept_and_in_order(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "go").await;
    let published = Arc::new(Mutex::new(Vec::new()));
    let mut receipts = vec![];
    for n in 1..=5 {
        let mut batch = mei.batch(&mut run, vec![text(n, "a"), text(n, "b")]);
        let seen = published.clone();
        batch.writer.on_commit = Some(Box::new(move |events| {
            if let Ok(mut seen) = seen.lock() {
                seen.extend(events.iter().map(|recorded| recorded.event.seq));
            }
        }));
        let urgency = if n % 2 == 0 { Urgency::Now } else { Urgency::Soon };
        receipts.push(mei.store.append(batch, urgency));
    }
    for receipt in receipts {
        ok(receipt.await);
    }
    let seen = published.lock().map(|seen| seen.clone()).unwrap_or_default();
    assert_eq!(seen, (2..=11).collect::<Vec<u64>>());
    assert_eq!(ok(mei.store.events(run.run, 0, 99).await).len(), 11);
}

pub async fn what_is_recorded_becomes_durable_though_nobody_waits_for_it(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "go").await;
    for n in 1..=3 {
        let batch = mei.batch(&mut run, vec![text(n, "recorded")]);
        drop(mei.store.append(batch, Urgency::Soon));
    }
    let all_are_kept = async {
        while ok(mei.store.events(run.run, 0, 99).await).len() < 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), all_are_kept).await.is_ok());
}

pub async fn what_is_recorded_is_durable_with_the_next_commit_of_any_run(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let li = Actor::new(store, "li");
    let mut first = mei.start(mei.new_conversation(), "go").await;
    let mut second = li.start(li.new_conversation(), "go").await;
    for n in 1..=200 {
        let batch = mei.batch(&mut first, vec![text(n, "recorded")]);
        drop(mei.store.append(batch, Urgency::Soon));
    }
    ok(li.append(&mut second, vec![text(1, "committed")]).await);
    assert_eq!(ok(mei.store.events(first.run, 0, 999).await).len(), 201);
    let batch = mei.batch(&mut first, vec![text(1, "recorded")]);
    drop(mei.store.append(batch, Urgency::Soon));
    li.start(li.new_conversation(), "go").await;
    assert_eq!(ok(mei.store.events(first.run, 0, 999).await).len(), 202);
}

pub async fn a_claim_gives_all_that_is_needed_to_go_on(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut first = mei.start(mei.new_conversation(), "one").await;
    mei.finish(&mut first, "first answer").await;
    let Some(conversation) = first.conversation else { panic!("no conversation") };
    let mut second = mei.start(Place::Conversation(conversation), "two").await;
    ok(mei.append(&mut second, vec![text(1, "so far")]).await);

    let waiting = ok(mei.store.running_runs().await);
    assert_eq!(waiting.iter().map(|record| record.run).collect::<Vec<_>>(), [second.run]);
    let claimed = ok(mei.store.claim_run(second.run, "again".into(), true).await);
    assert_eq!(claimed.history.iter().map(Message::text).collect::<Vec<_>>(), ["one", "first answer"]);
    assert_eq!(claimed.events.len(), 2);
    assert_eq!(claimed.record.setup, setup());
    assert_eq!(claimed.record.conversation, Some(conversation));
}

pub async fn resumes_are_counted_until_a_step_is_finished_at_its_first_attempt(store: Subject) {
    let mei = Actor::new(store, "mei");
    let run = mei.start(mei.new_conversation(), "crash me").await;
    for n in 1..=2 {
        let claimed = ok(mei.store.claim_run(run.run, "again".into(), true).await);
        assert_eq!(claimed.record.resumes, n);
    }
    let claimed = ok(mei.store.claim_run(run.run, "answering".into(), false).await);
    assert_eq!(claimed.record.resumes, 2);
    let mut run = Started { epoch: claimed.epoch, ..run };
    let finished = |step, attempt| Fact::StepFinished {
        step,
        attempt,
        reason: StopReason::Stop,
        mode: Mode::Native,
        usage: Usage::default(),
        cost_nanos: None,
        model: None,
        fingerprint: None,
        echo: None,
        params: None,
    };
    // The step was repeated because of a crash: its calls may be what ends the server.
    ok(mei.append(&mut run, vec![finished(1, 3)]).await);
    assert_eq!(ok(mei.store.run(mei.scope(), run.run).await).resumes, 2);
    ok(mei.append(&mut run, vec![finished(2, 1)]).await);
    assert_eq!(ok(mei.store.run(mei.scope(), run.run).await).resumes, 0);

    // Or until a person says that it shall go on.
    let claimed = ok(mei.store.claim_run(run.run, "again".into(), true).await);
    let mut run = Started { epoch: claimed.epoch, ..run };
    ok(mei.append(&mut run, vec![Fact::RunResumed { resume: 1 }]).await);
    assert_eq!(ok(mei.store.run(mei.scope(), run.run).await).resumes, 1);
    ok(mei.append(&mut run, vec![Fact::RunResumed { resume: 0 }]).await);
    assert_eq!(ok(mei.store.run(mei.scope(), run.run).await).resumes, 0);
}
