//! When a run waits for the disk, and what becomes of what it did not wait for.

use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use helve_model::{Reply, ScriptedModel};
use helve_runtime::{Follower, Frame, RuntimeSettings};
use helve_store::{Log, Scope};
use helve_types::{Answer, Live};

use crate::lab::{Lab, mei, reply, settle};

const LOOK: &str = r#"call look {"q": "x"}"#;
const SEND: &str = r#"call send {"q": "x"}"#;

/// Nobody is asked before a call, and what is recorded is written as late as it may be.
fn lab(replies: impl IntoIterator<Item = Reply>) -> Lab {
    let allow = serde_json::from_value(serde_json::json!({"action": "allow"})).unwrap();
    let settings = RuntimeSettings { rules: vec![allow], ..RuntimeSettings::default() };
    let lab = Lab::with_model(ScriptedModel::new(replies), settings);
    lab.store.delay_recorded_batches();
    lab
}

#[tokio::test]
async fn a_turn_waits_for_the_disk_when_it_begins_before_each_effect_and_when_it_ends() {
    let cases = [
        (vec![reply("say Here I am.")], 2),
        (vec![reply(LOOK), reply("say Found.")], 2),
        (vec![reply(LOOK), reply(r#"call look {"q": "y"} | call ping"#), reply("say Found.")], 2),
        (vec![reply(SEND), reply("say Sent.")], 3),
        (vec![reply(LOOK), reply(SEND), reply(LOOK), reply("say Sent.")], 3),
        (vec![reply(SEND), reply(r#"call send {"q": "y"}"#), reply("say Sent.")], 4),
    ];
    for (replies, waited) in cases {
        let script = format!("{replies:?}");
        let lab = lab(replies);
        let mut run = lab.start("go").await;
        assert_eq!(settle(&mut run.follower).await, "run.finished");
        assert_eq!(lab.store.barrier_count(), waited, "{script}");
    }
}

#[tokio::test]
async fn a_person_is_asked_and_answered_only_on_record() {
    let lab = Lab::new([reply(SEND), reply("say Sent.")]);
    lab.store.delay_recorded_batches();
    let mut run = lab.start("go").await;
    assert_eq!(settle(&mut run.follower).await, "waiting_approval");
    assert_eq!(lab.store.barrier_count(), 3, "the start, the question, and that the run waits");
    let approval = lab.questions().await.remove(0).approval;
    lab.runtime.answer_approval(Scope::User(mei()), approval, Answer::approve(), "mei".into()).await.unwrap();
    let answered = lab.store.events(run.run, 0, 99).await.unwrap();
    assert!(answered.iter().any(|recorded| recorded.event.fact.kind() == "approval.answered"));
    assert_eq!(settle(&mut run.follower).await, "run.finished");
    assert_eq!(lab.store.barrier_count(), 6, "and the answer, the send, the end");
}

/// The kinds of what a reader sees, up to a piece of text that is still being written.
async fn seen_until_text(follower: &mut Follower) -> Vec<String> {
    let mut seen = vec![];
    while let Some(frame) = follower.next().await {
        match frame.unwrap() {
            Frame::Event(recorded) => seen.push(recorded.event.fact.kind().to_owned()),
            Frame::Live(Live::StepStarted { step, .. }) => seen.push(format!("step {step}")),
            Frame::Live(Live::PartStarted { kind, .. }) => {
                seen.push(format!("{kind:?}"));
                return seen;
            }
            Frame::Live(_) => {}
        }
    }
    seen
}

#[tokio::test]
async fn a_reader_sees_no_event_that_is_not_durable_and_no_text_before_the_events_that_precede_it() {
    let lab = lab([reply(LOOK), Reply::new().text("Found").hangs()]);
    let mut run = lab.start("go").await;
    while lab.model.asked().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1, "the model has the result");
    assert_eq!(lab.store.events(run.run, 0, 99).await.unwrap().len(), 1, "and the disk has not");
    let too_early = tokio::time::timeout(std::time::Duration::from_millis(30), async {
        loop {
            match run.follower.next().await.unwrap().unwrap() {
                Frame::Event(recorded) if recorded.event.seq == 1 => {}
                Frame::Live(Live::StepStarted { step: 1, .. }) => {}
                // The call is shown while it is written, as always.
                Frame::Live(live) if !matches!(live, Live::StepStarted { .. }) && !is_text(&live) => {}
                frame => return frame,
            }
        }
    })
    .await;
    assert!(too_early.is_err(), "{too_early:?}");

    lab.start("another run, whose start is a barrier").await;
    let seen = seen_until_text(&mut run.follower).await;
    let expected = ["tool.requested", "step.finished", "tool.started", "tool.finished", "step 2", "Text"];
    assert_eq!(seen, expected);
}

fn is_text(live: &Live) -> bool {
    matches!(live, Live::PartStarted { kind: helve_types::PartKind::Text, .. })
}

#[tokio::test]
async fn a_read_whose_record_was_lost_in_a_crash_is_made_again() {
    for label in ["tool.after_started", "tool.after_run", "tool.after_outcome"] {
        let lab = lab([reply(LOOK), reply(LOOK), reply("say Found.")]);
        let dying = lab.dying_at(label);
        let run = dying.start("go").await.run;
        while dying.runtime.active_runs() > 0 {
            tokio::task::yield_now().await;
        }
        let before = lab.runs.load(Ordering::Relaxed);
        lab.store.lose_recorded_batches();
        assert_eq!(lab.store.events(run, 0, 99).await.unwrap().len(), 1, "{label}");

        let next = lab.restarted();
        assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 1);
        assert_eq!(settle(&mut next.runtime.follow_run(run, 1)).await, "run.finished", "{label}");
        assert_eq!(lab.runs.load(Ordering::Relaxed), before + 1, "{label}");
        let log = next.log(run).await;
        assert_eq!(log.matches("tool.finished").count(), 1, "{label}: {log}");
        assert!(log.contains("step.restarted attempt 2"), "{label}: {log}");
    }
}

#[tokio::test]
async fn an_effect_whose_result_was_lost_in_a_crash_is_unknown_and_not_made_again() {
    let lab = lab([reply(SEND)]);
    let dying = lab.dying_at("tool.after_outcome");
    let run = dying.start("go").await.run;
    while dying.runtime.active_runs() > 0 {
        tokio::task::yield_now().await;
    }
    lab.store.lose_recorded_batches();
    let next = lab.restarted();
    assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut next.runtime.follow_run(run, 1)).await, "needs_attention");
    assert!(next.log(run).await.contains("tool.unknown"), "{}", next.log(run).await);
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_stops_where_its_log_ends_if_what_it_recorded_cannot_be_written() {
    let lab = lab([reply(LOOK), reply("say Found.")]);
    let run = lab.start("go").await;
    lab.store.fail_writes(u32::MAX);
    while lab.runtime.active_runs() > 0 {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    lab.store.fail_writes(0);
    assert_eq!(lab.store.events(run.run, 0, 99).await.unwrap().len(), 1);
    assert_eq!(lab.restarted().runtime.resume_interrupted_runs().await.unwrap(), 1, "it is taken up again");
}
