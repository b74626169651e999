//! Where a server can die, and what the next one makes of it: rows K1 to K14, in the order in which a run comes by them.
//!
//! A server that dies at a labelled point never comes back from there; what it had not put on record is gone. The next
//! has nothing but the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use expect_test::expect;
use helve_model::{Reply, ScriptedModel};
use helve_runtime::{ModelOptions, RuntimeSettings, StartInput, StartRequest};
use helve_store::{IdempotencyKey, Page, RunFilter, Scope, Views};
use helve_types::{Answer, CallId, Effect, Fact, RunId, RunState, StopReason, Timestamp};

use crate::lab::{Lab, mei, reply, settle, until};
use crate::recovery::{crashed, requested, started};

const LOOK: &str = r#"call look {"q": "x"}"#;
const SEND: &str = r#"call send {"q": "x"}"#;

/// Nobody is asked before a call.
fn free() -> RuntimeSettings {
    let allow = serde_json::from_value(serde_json::json!({"action": "allow"})).unwrap();
    RuntimeSettings { rules: vec![allow], ..RuntimeSettings::default() }
}

fn lab(replies: impl IntoIterator<Item = Reply>) -> Lab {
    Lab::with_model(ScriptedModel::new(replies), free())
}

/// Starts a run on a server that dies at the label, and brings it to its rest on the next.
async fn outlived(lab: &Lab, label: &'static str) -> (RunId, String) {
    let dying = lab.dying_at(label);
    let run = dying.start("go").await.run;
    while dying.runtime.active_runs() > 0 {
        tokio::task::yield_now().await;
    }
    (run, taken_up(lab, run).await)
}

/// What the log says when the next server has done what it can.
async fn taken_up(lab: &Lab, run: RunId) -> String {
    let next = lab.restarted();
    let last = lab.store.run(Scope::Everyone, run).await.unwrap().last_seq;
    assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 1);
    settle(&mut next.runtime.follow_run(run, last)).await;
    next.log(run).await
}

fn with_key() -> StartRequest {
    let key = IdempotencyKey {
        route: "POST /api/runs".into(),
        key: "k".into(),
        fingerprint: "f".into(),
        expires_at: Timestamp(i64::MAX),
    };
    let input = StartInput::Message { conversation: None, text: "go".into() };
    StartRequest { key: Some(key), ..StartRequest::new(mei(), input) }
}

async fn all_runs(lab: &Lab) -> Vec<RunId> {
    let runs = lab.store.runs(Scope::Everyone, RunFilter::default(), Page::first(9)).await.unwrap();
    runs.into_iter().map(|record| record.run).collect()
}

/// K1 before the run is on record, K2 after that and before anybody was told.
#[tokio::test]
async fn k1_k2_a_request_that_was_not_answered_is_sent_again_with_its_key_and_is_one_run() {
    for (label, on_record) in [("run.before_open", 0), ("run.after_open", 1)] {
        let lab = lab([reply("say Here I am.")]);
        let dying = lab.dying_at(label);
        let died = tokio::spawn(async move { dying.runtime.start_run(with_key()).await.map(drop) }).await;
        assert!(died.is_err(), "{label}: nobody was told");
        let before = all_runs(&lab).await;
        assert_eq!(before.len(), on_record, "{label}");

        let next = lab.restarted();
        assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), on_record);
        let mut again = next.runtime.start_run(with_key()).await.unwrap();
        assert_eq!(again.replayed, on_record == 1, "{label}");
        assert_eq!(settle(&mut again.follower).await, "run.finished");
        assert_eq!(all_runs(&lab).await, [again.run], "{label}");
        assert!(before.is_empty() || before == [again.run], "{label}");
    }
}

#[tokio::test]
async fn k3_a_message_that_was_being_written_is_void_and_asked_for_again() {
    let lab = lab([Reply::new().text("Half").hangs(), reply("say Whole.")]);
    let mut begun = lab.start("go").await;
    while lab.model.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    let log = taken_up(&lab, begun.run).await;
    expect![[r#"
        1 run.started go
        2 run.resumed resume 1
        3 step.restarted attempt 2: the server was restarted
        4 text.finished Whole.
        5 step.finished Stop native, attempt 2
        6 run.finished Answered
    "#]]
    .assert_eq(&log);
    // Whoever the dead server told of the half is told that it is void before the whole comes.
    until(&mut begun.follower, "run.started").await;
}

#[tokio::test]
async fn k4_a_complete_message_that_is_not_on_record_is_asked_for_again_and_nothing_has_happened() {
    let lab = lab([reply(SEND), reply(SEND), reply("say Sent.")]);
    let (_, log) = outlived(&lab, "model.heard").await;
    assert!(log.contains("step.restarted attempt 2"), "{log}");
    assert_eq!(log.matches("tool.requested").count(), 1, "{log}");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn k5_a_planned_call_is_started() {
    let lab = lab([reply(SEND), reply("say Sent.")]);
    let (_, log) = outlived(&lab, "tool.before_started").await;
    assert!(log.contains("tool.started send attempt 1") && log.contains("run.finished"), "{log}");
    assert_eq!((lab.runs.load(Ordering::Relaxed), lab.model.asked().len()), (1, 2));
}

/// K6 while a person is waited for, K7 after the decision and before the start.
#[tokio::test]
async fn k6_k7_a_question_waits_through_a_death_and_a_decision_is_carried_out_once() {
    let lab = Lab::new([reply(SEND), reply("say Sent.")]);
    let mut begun = lab.start("go").await;
    assert_eq!(settle(&mut begun.follower).await, "waiting_approval");
    let approval = lab.questions().await.remove(0).approval;

    let next = lab.restarted();
    assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 0, "there is nothing to do");
    assert_eq!(lab.questions().await.len(), 1);

    let dying = lab.dying_at("approval.after_answer");
    let died =
        dying.runtime.answer_approval(Scope::User(mei()), approval, Answer::approve(), "mei".into()).await;
    assert!(died.is_err(), "nobody was told");
    let log = taken_up(&lab, begun.run).await;
    assert!(log.contains("run.finished"), "{log}");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

/// K8 before it is sent, K9 and K10 after: on record they are the same, so what follows is the same.
#[tokio::test]
async fn k8_k9_k10_what_was_started_is_sent_again_if_that_changes_nothing_and_is_unknown_otherwise() {
    for (label, sent_before) in [("tool.after_started", 0), ("tool.after_run", 1), ("tool.before_outcome", 1)]
    {
        let lab = lab([reply(LOOK), reply("say Found.")]);
        let (_, log) = outlived(&lab, label).await;
        assert!(
            log.contains("tool.started look attempt 2") && log.contains("run.finished"),
            "{label}: {log}"
        );
        assert_eq!(lab.runs.load(Ordering::Relaxed), sent_before + 1, "{label}");

        let lab = self::lab([reply(SEND)]);
        let (run, log) = outlived(&lab, label).await;
        assert!(
            log.contains("tool.unknown the server stopped while the call was in flight"),
            "{label}: {log}"
        );
        assert_eq!(lab.runs.load(Ordering::Relaxed), sent_before, "{label}: it is never sent again");
        let record = lab.store.run(Scope::Everyone, run).await.unwrap();
        assert_eq!(record.state, RunState::NeedsAttention, "{label}: a person says what became of it");
    }
}

#[tokio::test]
async fn k11_a_result_on_record_is_a_result_and_the_next_step_follows() {
    let lab = lab([reply(SEND), reply("say Sent.")]);
    let (_, log) = outlived(&lab, "tool.after_outcome").await;
    assert!(log.contains("text.finished Sent."), "{log}");
    assert_eq!(log.matches("tool.started").count(), 1, "{log}");
    assert_eq!((lab.runs.load(Ordering::Relaxed), lab.model.asked().len()), (1, 2));
}

#[tokio::test]
async fn k12_of_calls_side_by_side_each_goes_on_from_its_own_record() {
    let lab = lab([reply("say All seen to.")]);
    let run = crashed(&lab, |first| {
        let call = |n| CallId::new(first.run, 1, n);
        let names = ["look", "look", "send", "send"];
        let mut facts: Vec<Fact> =
            (0..).zip(names).map(|(n, name)| requested(&call(n), name).remove(0)).collect();
        facts.push(requested(&call(0), "look").remove(1));
        let begun = |n, name: &str, effect| started(&call(n), name, effect).remove(2);
        facts.push(begun(0, "look", Effect::Read));
        facts.push(begun(1, "look", Effect::Read));
        facts.push(begun(2, "send", Effect::NonIdempotent));
        facts.push(Fact::ToolFinished {
            call: call(0),
            output: helve_types::ToolOutput::text("found before"),
            trail: helve_types::Trail::default(),
        });
        facts
    })
    .await;
    let log = taken_up(&lab, run).await;
    let states: Vec<_> = lab.store.calls(run).await.unwrap();
    let states: Vec<_> = states.iter().map(|call| (call.state.as_str(), call.attempt)).collect();
    // Finished: left alone. A read in flight: again. An effect in flight: unknown. Planned: made.
    assert_eq!(states, [("finished", 1), ("finished", 2), ("unknown", 1), ("finished", 1)], "{log}");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 2, "{log}");
}

#[tokio::test]
async fn k13_a_last_message_on_record_is_the_answer_and_only_the_end_is_written() {
    let lab = lab([]);
    let run = crashed(&lab, |call| {
        let said = Fact::TextFinished {
            step: 1,
            part: helve_types::PartId::new(1, 1, 0),
            text: "That was all.".into(),
        };
        let mut ended = requested(call, "look").remove(1);
        if let Fact::StepFinished { reason, .. } = &mut ended {
            *reason = StopReason::Stop;
        }
        vec![said, ended]
    })
    .await;
    let log = taken_up(&lab, run).await;
    assert!(log.ends_with("run.finished Answered\n"), "{log}");
    assert_eq!(lab.model.asked().len(), 0, "nobody is asked again");
}

#[tokio::test]
async fn k14_a_run_that_ends_every_server_that_takes_it_up_is_counted_first_and_then_left_alone() {
    let lab = lab([reply("say Never said.")]);
    let run = crashed(&lab, |_| vec![]).await;
    for resumes in 1..=3 {
        let dying = lab.dying_at("run.claimed");
        assert_eq!(dying.runtime.resume_interrupted_runs().await.unwrap(), 1);
        while lab.store.run(Scope::Everyone, run).await.unwrap().resumes < resumes {
            tokio::task::yield_now().await;
        }
        while dying.runtime.driven_runs() > 0 {
            tokio::task::yield_now().await;
        }
        let record = lab.store.run(Scope::Everyone, run).await.unwrap();
        assert_eq!((record.resumes, record.state), (resumes, RunState::Running), "counted before it died");
    }
    let log = taken_up(&lab, run).await;
    assert!(log.ends_with("run.waiting needs_attention\n"), "{log}");
    assert_eq!(lab.model.asked().len(), 0);
    assert_eq!(
        lab.restarted().runtime.resume_interrupted_runs().await.unwrap(),
        0,
        "nobody takes it up again by itself"
    );
}

#[tokio::test]
async fn a_thousand_runs_that_were_interrupted_are_taken_up_each_in_its_turn_and_none_twice() {
    let lab = lab([]);
    for _ in 0..1_000 {
        crashed(&lab, |_| vec![]).await;
    }
    let silent = (0..1_000).map(|_| Reply::new().hangs());
    let next = lab.restarted_with(vec![(Arc::new(ScriptedModel::new(silent)), ModelOptions::default())]);
    let began = std::time::Instant::now();
    assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 1_000);
    println!("1,000 interrupted runs were scheduled in {:?}", began.elapsed());
    assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 0, "none twice");
    // They are all of one user, who has so many turns at a time.
    let share = RuntimeSettings::default().runs.each;
    while next.runtime.driven_runs() < share {
        tokio::task::yield_now().await;
    }
    assert_eq!(next.runtime.active_runs(), share);
}
