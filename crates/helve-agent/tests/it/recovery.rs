//! After a stop: the log says where to go on.

use std::sync::atomic::Ordering;

use expect_test::expect;
use futures_util::StreamExt;
use helve_agent::{CommandError, Frame, StartError, StartInput, StartRequest};
use helve_model::Reply;
use helve_store::contract::Actor;
use helve_store::{IdempotencyKey, Page, RunFilter, Scope, Store, Urgency};
use helve_types::{Answer, CallId, Effect, Fact, RunState, Timestamp};

use crate::lab::{Lab, mei, reply, settle};

/// Leaves a run behind whose log ends with the given facts, as a crash would.
async fn crashed(lab: &Lab, facts: impl Fn(&CallId) -> Vec<Fact>) -> helve_types::RunId {
    crashed_of(lab, "default", facts).await
}

async fn crashed_of(lab: &Lab, agent: &str, facts: impl Fn(&CallId) -> Vec<Fact>) -> helve_types::RunId {
    let actor = Actor { world: lab.world.clone(), ..Actor::new(lab.store.clone(), "mei") };
    let mut new = actor.new_run(actor.new_conversation(), "send x");
    new.setup.model = "scripted".into();
    new.setup.agent = agent.into();
    new.setup.tools = ["look", "send"]
        .map(|name| helve_types::PinnedTool { name: name.into(), version: "v".into() })
        .to_vec();
    let mut started = actor.open(new).await.unwrap();
    let call = CallId::new(started.run, 1, 0);
    let batch = actor.batch(&mut started, facts(&call));
    if !batch.events.is_empty() {
        actor.store.append(batch, Urgency::Now).await.unwrap();
    }
    started.run
}

fn requested(call: &CallId, tool: &str) -> Vec<Fact> {
    vec![
        Fact::ToolRequested {
            step: 1,
            call: call.clone(),
            provider_id: None,
            tool: tool.into(),
            arguments: r#"{"q": "x"}"#.into(),
            part: None,
            replaces: None,
        },
        Fact::StepFinished {
            step: 1,
            attempt: 1,
            reason: helve_types::StopReason::ToolCalls,
            mode: helve_types::Mode::Native,
            usage: helve_types::Usage::default(),
            cost_nanos: None,
            model: None,
            fingerprint: None,
            echo: None,
            params: None,
        },
    ]
}

fn started(call: &CallId, tool: &str, effect: Effect) -> Vec<Fact> {
    let mut facts = requested(call, tool);
    facts.push(Fact::ToolStarted {
        call: call.clone(),
        tool: tool.into(),
        version: "v".into(),
        effect,
        attempt: 1,
        arguments: None,
        instead: None,
    });
    facts
}

#[tokio::test]
async fn a_run_that_died_before_the_model_answered_asks_again() {
    let lab = Lab::new([reply("say Here I am.")]);
    let run = crashed(&lab, |_| vec![]).await;
    assert_eq!(lab.runtime.recover().await.unwrap(), 1);
    settle(&mut lab.runtime.follow(run, 0)).await;
    lab.check_log(
        run,
        expect![[r#"
            1 run.started send x
            2 run.resumed resume 1
            3 step.restarted attempt 2: the server was restarted
            4 text.finished Here I am.
            5 step.finished Stop native
            6 run.finished Answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_read_that_was_in_flight_is_sent_again_under_the_same_id() {
    let lab = Lab::new([reply("say Found.")]);
    let run = crashed(&lab, |call| started(call, "look", Effect::Read)).await;
    lab.runtime.recover().await.unwrap();
    settle(&mut lab.runtime.follow(run, 0)).await;
    let log = lab.log(run).await;
    assert!(log.contains("tool.started look attempt 2"), "{log}");
    assert_eq!(lab.store.calls(run).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_may_be_sent_again_is_not_after_a_day_since_it_was_first_sent() {
    let lab = Lab::new([reply("say Hm.")]);
    let run = crashed(&lab, |call| started(call, "send", Effect::Idempotent)).await;
    let again = lab.dying_at("tool.after_started");
    again.runtime.recover().await.unwrap();
    crate::lab::until(&mut again.runtime.follow(run, 0), "tool.started").await;
    lab.world.clock.advance_ms(24 * 60 * 60 * 1_000 + 1);
    let later = lab.restarted();
    later.runtime.recover().await.unwrap();
    assert_eq!(settle(&mut later.runtime.follow(run, 0)).await, "needs_attention");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    let log = lab.log(run).await;
    assert!(log.contains("more than 24 hours ago"), "{log}");
}

#[tokio::test]
async fn an_effect_that_was_in_flight_is_unknown_and_never_sent_again() {
    let lab = Lab::new([reply("say Hm.")]);
    let run = crashed(&lab, |call| started(call, "send", Effect::NonIdempotent)).await;
    lab.runtime.recover().await.unwrap();
    assert_eq!(settle(&mut lab.runtime.follow(run, 0)).await, "needs_attention");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    let log = lab.log(run).await;
    assert!(log.contains("tool.unknown the server stopped while the call was in flight"), "{log}");
}

#[tokio::test]
async fn a_planned_call_is_seen_to() {
    let lab = Lab::new([reply("say Found.")]);
    let run = crashed(&lab, |call| requested(call, "look")).await;
    lab.runtime.recover().await.unwrap();
    settle(&mut lab.runtime.follow(run, 0)).await;
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_question_waits_through_a_restart() {
    let lab = Lab::new([reply(r#"call send {"q": "x"}"#), reply("say Sent.")]);
    let mut begun = lab.start("send x").await;
    settle(&mut begun.follower).await;
    let question = lab.questions().await.remove(0);

    let again = lab.restarted();
    assert_eq!(again.runtime.recover().await.unwrap(), 0);
    let mut follower = again.runtime.follow(begun.run, 0);
    let approve = Answer::approve();
    again.runtime.answer(Scope::User(mei()), question.approval, approve, "mei".into()).await.unwrap();
    while let Some(frame) = follower.next().await {
        if let Frame::Event(recorded) = frame.unwrap()
            && recorded.event.fact.is_last()
        {
            break;
        }
    }
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_run_that_keeps_ending_the_server_is_left_for_a_person() {
    let lab = Lab::new([Reply::new().hangs(), Reply::new().hangs(), Reply::new().hangs()]);
    let run = crashed(&lab, |_| vec![]).await;
    for _ in 0..4 {
        lab.restarted().runtime.recover().await.unwrap();
    }
    let record = lab.store.run(Scope::Everyone, run).await.unwrap();
    assert_eq!(record.state, RunState::NeedsAttention);
    let again = lab.restarted();
    assert_eq!(again.runtime.recover().await.unwrap(), 0);
    again.runtime.cancel(Scope::Everyone, run, "mei".into()).await.unwrap();
    settle(&mut again.runtime.follow(run, 0)).await;
    assert_eq!(lab.store.run(Scope::Everyone, run).await.unwrap().state, RunState::Cancelled);
}

#[tokio::test]
async fn a_run_that_was_left_alone_goes_on_when_a_person_says_so_and_is_counted_anew() {
    let lab =
        Lab::new([Reply::new().hangs(), Reply::new().hangs(), Reply::new().hangs(), Reply::new().hangs()]);
    let run = crashed(&lab, |_| vec![]).await;
    for _ in 0..4 {
        lab.restarted().runtime.recover().await.unwrap();
    }
    let again = lab.restarted();
    again.runtime.resume_run(Scope::User(mei()), run).await.unwrap();
    let record = lab.store.run(Scope::Everyone, run).await.unwrap();
    assert_eq!((record.state, record.resumes), (RunState::Running, 0));
    assert!(again.log(run).await.contains("run.resumed resume 0"), "{}", again.log(run).await);
    // Said twice while it is at work, it changes nothing.
    again.runtime.resume_run(Scope::User(mei()), run).await.unwrap();
    assert_eq!(again.log(run).await.matches("resume 0").count(), 1);
    // The server that took it up dies, and the next takes it up by itself.
    let next = lab.restarted_with(vec![(
        std::sync::Arc::new(helve_model::ScriptedModel::new([reply("say At last.")])),
        Default::default(),
    )]);
    assert_eq!(next.runtime.recover().await.unwrap(), 1);
    assert_eq!(settle(&mut next.runtime.follow(run, record.last_seq)).await, "run.finished");
    assert_eq!(next.runtime.resume_run(Scope::User(mei()), run).await, Err(CommandError::Over));
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_or_is_anothers_is_not_taken_up() {
    let lab = Lab::new([reply(r#"call send {"q": "x"}"#)]);
    let mut begun = lab.start("send x").await;
    settle(&mut begun.follower).await;
    assert_eq!(lab.runtime.resume_run(Scope::User(mei()), begun.run).await, Err(CommandError::Waits));
    let unknown = crashed(&lab, |call| started(call, "send", Effect::NonIdempotent)).await;
    lab.runtime.recover().await.unwrap();
    assert_eq!(settle(&mut lab.runtime.follow(unknown, 0)).await, "needs_attention");
    assert_eq!(lab.runtime.resume_run(Scope::User(mei()), unknown).await, Err(CommandError::Waits));
    let eve = Scope::User(helve_types::UserId("eve".into()));
    let refused = lab.runtime.resume_run(eve, begun.run).await;
    assert_eq!(refused, Err(CommandError::Store(helve_store::StoreError::NotFound("run"))));
}

#[tokio::test]
async fn a_run_whose_agent_is_gone_does_not_go_on_under_anothers_rules() {
    let lab = Lab::new([reply("say Fine.")]);
    let run = crashed_of(&lab, "retired", |call| started(call, "send", Effect::NonIdempotent)).await;
    let again = lab.restarted();
    again.runtime.recover().await.unwrap();
    assert_eq!(settle(&mut again.runtime.follow(run, 0)).await, "run.failed");
    let log = again.log(run).await;
    assert!(log.contains("tool.unknown"), "{log}");
    assert!(
        log.contains("run.failed unknown_agent: the agent `retired` is not configured any more"),
        "{log}"
    );
}

#[tokio::test]
async fn a_run_that_is_being_driven_is_not_taken_up() {
    let lab = Lab::new([Reply::new().hangs()]);
    let started = lab.start("tell me").await;
    assert_eq!(lab.runtime.recover().await.unwrap(), 0);
    assert!(!lab.log(started.run).await.contains("run.resumed"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_down_leaves_its_runs_to_the_next() {
    let lab = Lab::new([Reply::new().text("Half").hangs(), reply("say Whole.")]);
    let started = lab.start("tell me").await;
    tokio::task::yield_now().await;
    lab.runtime.shut_down(std::time::Duration::from_secs(1)).await;
    let input = StartInput::Message { conversation: None, text: "more".into() };
    let refused = lab.runtime.start(StartRequest::new(mei(), input)).await;
    assert!(matches!(refused, Err(StartError::Closing)));

    let again = lab.restarted();
    assert_eq!(again.runtime.recover().await.unwrap(), 1);
    assert_eq!(settle(&mut again.runtime.follow(started.run, 0)).await, "run.finished");
    let log = again.log(started.run).await;
    assert!(log.contains("text.finished Whole.") && !log.contains("Half"), "{log}");
}

#[tokio::test]
async fn the_same_request_twice_is_one_run() {
    let lab = Lab::new([reply("say Once.")]);
    let key = IdempotencyKey {
        route: "POST /api/chat".into(),
        key: "k".into(),
        fingerprint: "f".into(),
        expires_at: Timestamp(i64::MAX),
    };
    let request = || StartRequest {
        key: Some(key.clone()),
        ..StartRequest::new(mei(), StartInput::Message { conversation: None, text: "pay".into() })
    };
    let mut first = lab.runtime.start(request()).await.unwrap();
    settle(&mut first.follower).await;
    let mut second = lab.runtime.start(request()).await.unwrap();
    assert!(second.replayed);
    assert_eq!(first.run, second.run);
    assert_eq!(settle(&mut second.follower).await, "run.finished");
    assert_eq!(lab.store.runs(Scope::Everyone, RunFilter::default(), Page::first(9)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn any_reader_at_any_time_gets_the_whole_log_once() {
    let lab = Lab::new([reply(r#"say Let me look. | call look {"q": "x"}"#), reply("say There it is.")]);
    let mut started = lab.start("find x").await;
    let early = tokio::spawn({
        let mut follower = lab.runtime.follow(started.run, 0);
        async move {
            let mut seqs = vec![];
            while let Some(frame) = follower.next().await {
                if let Frame::Event(recorded) = frame.unwrap() {
                    seqs.push(recorded.event.seq);
                }
            }
            seqs
        }
    });
    settle(&mut started.follower).await;
    let last = lab.store.run(Scope::Everyone, started.run).await.unwrap().last_seq;
    assert_eq!(early.await.unwrap(), (1..=last).collect::<Vec<_>>());
    for after in 0..=last {
        let mut seqs = vec![];
        let mut late = lab.runtime.follow(started.run, after);
        while seqs.last().or((after == last).then_some(&last)) != Some(&last) {
            if let Some(Ok(Frame::Event(recorded))) = late.next().await {
                seqs.push(recorded.event.seq);
            }
        }
        assert_eq!(seqs, (after + 1..=last).collect::<Vec<_>>());
    }
}
