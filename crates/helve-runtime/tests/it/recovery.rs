//! After a stop: the log says where to go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use expect_test::expect;
use futures_util::StreamExt;
use helve_model::{Reply, ScriptedModel};
use helve_runtime::{CallOptions, CommandError, Frame, StartError, StartInput, StartRequest};
use helve_store::{IdempotencyKey, Log, Page, RunFilter, Scope, Urgency, Views};
use helve_store_contract::Actor;
use helve_tool::Outcome;
use helve_types::{Answer, CallId, CallState, Effect, Fact, RunInput, RunState, Timestamp, ToolSpec};

use crate::lab::{Lab, mei, reply, settle, spec};

/// Leaves a run behind whose log ends with the given facts, as a crash would.
/// Waits until the model was asked so often.
async fn asked(lab: &Lab, times: usize) {
    while lab.model.asked().len() < times {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(crate) async fn crashed(lab: &Lab, facts: impl Fn(&CallId) -> Vec<Fact>) -> helve_types::RunId {
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

pub(crate) fn requested(call: &CallId, tool: &str) -> Vec<Fact> {
    vec![
        Fact::ToolRequested {
            step: 1,
            call: call.clone(),
            provider_id: None,
            tool: tool.into(),
            arguments: r#"{"q": "x"}"#.into(),
            part: None,
            replaces: None,
            repairs: vec![],
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

pub(crate) fn started(call: &CallId, tool: &str, effect: Effect) -> Vec<Fact> {
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
    assert_eq!(lab.runtime.resume_interrupted_runs().await.unwrap(), 1);
    settle(&mut lab.runtime.follow_run(run, 0)).await;
    lab.check_log(
        run,
        expect![[r#"
            1 run.started send x
            2 run.resumed resume 1
            3 step.restarted attempt 2: the server was restarted
            4 text.finished Here I am.
            5 step.finished Stop native, attempt 2
            6 run.finished Answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_read_that_was_in_flight_is_sent_again_under_the_same_id() {
    let lab = Lab::new([reply("say Found.")]);
    let run = crashed(&lab, |call| started(call, "look", Effect::Read)).await;
    lab.runtime.resume_interrupted_runs().await.unwrap();
    settle(&mut lab.runtime.follow_run(run, 0)).await;
    let log = lab.log(run).await;
    assert!(log.contains("tool.started look attempt 2"), "{log}");
    assert_eq!(lab.store.calls(run).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_may_be_sent_again_is_not_after_a_day_since_it_was_first_sent() {
    let lab = Lab::new([reply("say Hm.")]);
    let run = crashed(&lab, |call| started(call, "send", Effect::Idempotent)).await;
    let again = lab.dying_at("tool.after_started");
    again.runtime.resume_interrupted_runs().await.unwrap();
    crate::lab::until(&mut again.runtime.follow_run(run, 0), "tool.started").await;
    lab.world.clock.advance_ms(24 * 60 * 60 * 1_000 + 1);
    let later = lab.restarted();
    later.runtime.resume_interrupted_runs().await.unwrap();
    assert_eq!(settle(&mut later.runtime.follow_run(run, 0)).await, "needs_attention");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    let log = lab.log(run).await;
    assert!(log.contains("more than 24 hours ago"), "{log}");
}

#[tokio::test]
async fn an_effect_that_was_in_flight_is_unknown_and_never_sent_again() {
    let lab = Lab::new([reply("say Hm.")]);
    let run = crashed(&lab, |call| started(call, "send", Effect::NonIdempotent)).await;
    lab.runtime.resume_interrupted_runs().await.unwrap();
    assert_eq!(settle(&mut lab.runtime.follow_run(run, 0)).await, "needs_attention");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    let log = lab.log(run).await;
    assert!(log.contains("tool.unknown the server stopped while the call was in flight"), "{log}");
}

#[tokio::test]
async fn a_planned_call_is_seen_to() {
    let lab = Lab::new([reply("say Found.")]);
    let run = crashed(&lab, |call| requested(call, "look")).await;
    lab.runtime.resume_interrupted_runs().await.unwrap();
    settle(&mut lab.runtime.follow_run(run, 0)).await;
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_question_waits_through_a_restart() {
    let lab = Lab::new([reply(r#"call send {"q": "x"}"#), reply("say Sent.")]);
    let mut begun = lab.start("send x").await;
    settle(&mut begun.follower).await;
    let question = lab.questions().await.remove(0);

    let again = lab.restarted();
    assert_eq!(again.runtime.resume_interrupted_runs().await.unwrap(), 0);
    let mut follower = again.runtime.follow_run(begun.run, 0);
    let approve = Answer::approve();
    again
        .runtime
        .answer_approval(Scope::User(mei()), question.approval, approve, "mei".into())
        .await
        .unwrap();
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
    let lab = Lab::new([Reply::new().hangs(), Reply::new().hangs()]);
    let run = crashed(&lab, |_| vec![]).await;
    for resumes in 1..=3 {
        lab.restarted().runtime.resume_interrupted_runs().await.unwrap();
        lab.taken_up(run, resumes).await;
        asked(&lab, resumes.min(2) as usize).await;
    }
    assert_eq!(lab.model.asked().len(), 2, "after the third crash nothing is tried");
    let record = lab.store.run(Scope::Everyone, run).await.unwrap();
    assert_eq!(record.state, RunState::NeedsAttention);
    let again = lab.restarted();
    assert_eq!(again.runtime.resume_interrupted_runs().await.unwrap(), 0);
    again.runtime.cancel_run(Scope::Everyone, run, "mei".into()).await.unwrap();
    settle(&mut again.runtime.follow_run(run, 0)).await;
    assert_eq!(lab.store.run(Scope::Everyone, run).await.unwrap().state, RunState::Cancelled);
}

/// Three servers end while the same four runs are in the same step, and only one of these is why.
#[tokio::test(start_paused = true)]
async fn runs_are_tried_one_by_one_after_the_second_crash_and_only_the_one_that_is_at_work_is_blamed() {
    let settled = || tokio::time::sleep(Duration::from_secs(60));
    let lab = Lab::new((0..4).map(|_| Reply::new().hangs()));
    let mut runs = vec![];
    for _ in 0..4 {
        runs.push(crashed(&lab, |_| vec![]).await);
    }
    let second = lab.restarted();
    second.runtime.resume_interrupted_runs().await.unwrap();
    settled().await;
    assert_eq!(lab.model.asked().len(), 4, "after the first crash all go on together");

    // It gets a message to its end, and then the server ends while it tries the next.
    let model = |replies: Vec<Reply>| {
        let model = Arc::new(ScriptedModel::new(replies));
        (model.clone(), vec![(model, Default::default())])
    };
    let (asked, models) = model(vec![reply("say Fine."), Reply::new().hangs()]);
    let third = lab.restarted_with(models);
    third.runtime.resume_interrupted_runs().await.unwrap();
    settled().await;
    assert_eq!(asked.asked().len(), 2, "after the second, one by one");

    let (asked, models) = model(vec![reply("say Fine."), reply("say Fine.")]);
    let fourth = lab.restarted_with(models);
    fourth.runtime.resume_interrupted_runs().await.unwrap();
    settled().await;
    assert_eq!(asked.asked().len(), 2);
    let mut states = vec![];
    for run in runs {
        states.push(lab.store.run(Scope::Everyone, run).await.unwrap().state);
    }
    states.sort_by_key(|state| state.as_str());
    use RunState::{Completed, NeedsAttention};
    assert_eq!(states, [Completed, Completed, Completed, NeedsAttention]);
}

#[tokio::test]
async fn new_work_and_runs_that_were_in_one_crash_do_not_wait_for_each_other() {
    let lab = Lab::new([Reply::new().hangs(), Reply::new().hangs(), reply("say Here.")]);
    let suspect = crashed(&lab, |_| vec![]).await;
    for resumes in 1..=2 {
        lab.restarted().runtime.resume_interrupted_runs().await.unwrap();
        lab.taken_up(suspect, resumes).await;
        asked(&lab, resumes as usize).await;
    }
    let mut begun = lab.start("hello").await;
    assert_eq!(settle(&mut begun.follower).await, "run.finished", "also while another is tried alone");
}

#[tokio::test]
async fn a_server_that_is_stopped_in_good_order_blames_no_run() {
    let settings = helve_runtime::RuntimeSettings { stopped_cleanly: true, ..Default::default() };
    let lab = Lab::with_model(ScriptedModel::new((0..9).map(|_| Reply::new().hangs())), settings);
    let run = crashed(&lab, |_| vec![]).await;
    for times in 1..=5 {
        lab.restarted().runtime.resume_interrupted_runs().await.unwrap();
        while lab.model.asked().len() < times {
            tokio::task::yield_now().await;
        }
    }
    let record = lab.store.run(Scope::Everyone, run).await.unwrap();
    assert_eq!((record.state, record.resumes), (RunState::Running, 0));
    assert!(!lab.log(run).await.contains("resume 0"), "no person has said so");
}

#[tokio::test]
async fn a_run_that_was_left_alone_goes_on_when_a_person_says_so_and_is_counted_anew() {
    let lab = Lab::new([Reply::new().hangs(), Reply::new().hangs(), Reply::new().hangs()]);
    let run = crashed(&lab, |_| vec![]).await;
    for resumes in 1..=3 {
        lab.restarted().runtime.resume_interrupted_runs().await.unwrap();
        lab.taken_up(run, resumes).await;
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
    assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut next.runtime.follow_run(run, record.last_seq)).await, "run.finished");
    assert_eq!(next.runtime.resume_run(Scope::User(mei()), run).await, Err(CommandError::Over));
}

#[tokio::test]
async fn a_run_that_was_left_alone_is_set_going_by_a_message_and_not_by_a_client_that_asks() {
    let lab = Lab::new([Reply::new().hangs(), Reply::new().hangs(), reply("say Here.")]);
    let run = crashed(&lab, |_| vec![]).await;
    for _ in 0..3 {
        lab.restarted().runtime.resume_interrupted_runs().await.unwrap();
    }
    while lab.model.asked().len() < 2 {
        tokio::task::yield_now().await;
    }
    let again = lab.restarted();
    let (scope, call) = (Scope::User(mei()), CallId::new(run, 1, 0));
    let claim = again.runtime.claim_call(scope.clone(), run, call, "tab".into(), mei()).await;
    assert_eq!(claim, Err(CommandError::NotWaiting));
    while again.runtime.active_runs() > 0 {
        tokio::task::yield_now().await;
    }
    let record = lab.store.run(Scope::Everyone, run).await.unwrap();
    assert_eq!((lab.model.asked().len(), record.state), (2, RunState::NeedsAttention));
    // From here on it counts again, should it end the server once more.
    again.runtime.send_message(scope, run, None, "go on".into(), "mei".into()).await.unwrap();
    assert_eq!(settle(&mut again.runtime.follow_run(run, record.last_seq)).await, "run.finished");
}

/// Leaves a call behind that somebody had ordered without a model.
async fn ordered(lab: &Lab, by: &str, facts: impl Fn(&CallId) -> Vec<Fact>) -> helve_types::RunId {
    let actor = Actor { world: lab.world.clone(), ..Actor::new(lab.store.clone(), "mei") };
    let mut new = actor.new_run(helve_store::Place::Nowhere, "send x");
    new.message = None;
    new.setup.agent = by.into();
    new.setup.input = RunInput::Call;
    let mut started = actor.open(new).await.unwrap();
    let mut facts = facts(&CallId::new(started.run, 1, 0));
    facts.retain(|fact| !matches!(fact, Fact::StepFinished { .. }));
    let batch = actor.batch(&mut started, facts);
    actor.store.append(batch, Urgency::Now).await.unwrap();
    started.run
}

#[tokio::test]
async fn an_ordered_call_that_a_crash_cut_off_is_unknown_at_once_and_was_looked_for() {
    let checked = ToolSpec { check_tool: Some("look".into()), ..spec("send", Effect::NonIdempotent) };
    let lab = Lab::new([]).upgraded(checked);
    let run = ordered(&lab, "api", |call| started(call, "send", Effect::NonIdempotent)).await;
    assert_eq!(lab.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut lab.runtime.follow_run(run, 0)).await, "run.failed");
    let events = lab.store.events(run, 0, 99).await.unwrap();
    let found = events.iter().find_map(|recorded| match &recorded.event.fact {
        Fact::ToolUnknown { checked, .. } => Some(checked.as_deref()),
        _ => None,
    });
    assert_eq!(found, Some(Some("found x")));
    assert_eq!(lab.store.run(Scope::Everyone, run).await.unwrap().state, RunState::Failed);
    assert_eq!(lab.store.calls(run).await.unwrap()[0].state, CallState::Unknown);

    // One that was not sent did not happen.
    let run = ordered(&lab, "api", |call| requested(call, "send")).await;
    lab.runtime.resume_interrupted_runs().await.unwrap();
    assert_eq!(settle(&mut lab.runtime.follow_run(run, 0)).await, "run.failed");
    assert!(lab.log(run).await.contains("tool.refused"), "{}", lab.log(run).await);
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1, "it looked once and sent nothing");
}

#[tokio::test]
async fn the_call_of_a_command_line_is_its_own_as_long_as_one_is_at_work() {
    let at_work = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let seen = at_work.clone();
    let settings = helve_runtime::RuntimeSettings {
        commands_at_work: std::sync::Arc::new(move || seen.load(Ordering::Relaxed)),
        ..Default::default()
    };
    let lab = Lab::with_model(helve_model::ScriptedModel::new([]), settings);
    let run = ordered(&lab, "command line", |call| started(call, "send", Effect::NonIdempotent)).await;
    assert_eq!(lab.runtime.resume_interrupted_runs().await.unwrap(), 0);
    at_work.store(false, Ordering::Relaxed);
    assert_eq!(lab.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut lab.runtime.follow_run(run, 0)).await, "run.failed");
}

#[tokio::test]
async fn an_ordered_call_that_is_being_made_is_not_taken_up_and_can_be_stopped() {
    let lab = Lab::new([]);
    let runtime = lab.runtime.clone();
    let call = tokio::spawn(async move {
        runtime.call_tool(mei(), "hang", r#"{"q": "x"}"#, CallOptions::default(), Default::default()).await
    });
    while lab.runs.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(lab.runtime.resume_interrupted_runs().await.unwrap(), 0);
    let runs = lab.store.runs(Scope::Everyone, RunFilter::default(), Page::first(9)).await.unwrap();
    lab.runtime.cancel_run(Scope::User(mei()), runs[0].run, "mei".into()).await.unwrap();
    let called = call.await.unwrap().unwrap();
    assert!(matches!(called.outcome, Outcome::Failed(_) | Outcome::Refused(_)), "{called:?}");
    assert_eq!(lab.store.run(Scope::Everyone, called.run).await.unwrap().state, RunState::Cancelled);
    assert_eq!(lab.runtime.active_runs(), 0);
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_or_is_anothers_is_not_taken_up() {
    let lab = Lab::new([reply(r#"call send {"q": "x"}"#)]);
    let mut begun = lab.start("send x").await;
    settle(&mut begun.follower).await;
    assert_eq!(lab.runtime.resume_run(Scope::User(mei()), begun.run).await, Err(CommandError::Waits));
    let unknown = crashed(&lab, |call| started(call, "send", Effect::NonIdempotent)).await;
    lab.runtime.resume_interrupted_runs().await.unwrap();
    assert_eq!(settle(&mut lab.runtime.follow_run(unknown, 0)).await, "needs_attention");
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
    again.runtime.resume_interrupted_runs().await.unwrap();
    assert_eq!(settle(&mut again.runtime.follow_run(run, 0)).await, "run.failed");
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
    assert_eq!(lab.runtime.resume_interrupted_runs().await.unwrap(), 0);
    assert!(!lab.log(started.run).await.contains("run.resumed"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_down_leaves_its_runs_to_the_next() {
    let lab = Lab::new([Reply::new().text("Half").hangs(), reply("say Whole.")]);
    let started = lab.start("tell me").await;
    tokio::task::yield_now().await;
    lab.runtime.shut_down(std::time::Duration::from_secs(1)).await;
    let input = StartInput::Message { conversation: None, text: "more".into() };
    let refused = lab.runtime.start_run(StartRequest::new(mei(), input)).await;
    assert!(matches!(refused, Err(StartError::Closing)));

    let again = lab.restarted();
    assert_eq!(again.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut again.runtime.follow_run(started.run, 0)).await, "run.finished");
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
    let mut first = lab.runtime.start_run(request()).await.unwrap();
    settle(&mut first.follower).await;
    let mut second = lab.runtime.start_run(request()).await.unwrap();
    assert!(second.replayed);
    assert_eq!(first.run, second.run);
    assert_eq!(settle(&mut second.follower).await, "run.finished");
    assert_eq!(lab.store.runs(Scope::Everyone, RunFilter::default(), Page::first(9)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_run_that_is_over_is_read_to_the_end_of_its_log_and_no_further() {
    let lab = Lab::new([]);
    let run = crashed(&lab, |call| {
        let output = helve_types::ToolOutput::text("came late");
        let over = Fact::RunFinished { ending: helve_types::Ending::Answered };
        vec![over, Fact::ToolLate { call: call.clone(), output }]
    })
    .await;
    for after in 0..3 {
        let follower = lab.runtime.follow_run(run, after).stop_after(3);
        let seqs: Vec<u64> = follower
            .map(|frame| match frame {
                Ok(Frame::Event(recorded)) => recorded.event.seq,
                other => panic!("{other:?}"),
            })
            .collect()
            .await;
        assert_eq!(seqs, (after + 1..=3).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn any_reader_at_any_time_gets_the_whole_log_once() {
    let lab = Lab::new([reply(r#"say Let me look. | call look {"q": "x"}"#), reply("say There it is.")]);
    let mut started = lab.start("find x").await;
    let early = tokio::spawn({
        let mut follower = lab.runtime.follow_run(started.run, 0);
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
        let mut late = lab.runtime.follow_run(started.run, after);
        while seqs.last().or((after == last).then_some(&last)) != Some(&last) {
            if let Some(Ok(Frame::Event(recorded))) = late.next().await {
                seqs.push(recorded.event.seq);
            }
        }
        assert_eq!(seqs, (after + 1..=last).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_in_a_run_that_is_left_alone_is_unknown_and_asked_about_when_it_goes_on() {
    let lab = Lab::new([]);
    let run = crashed(&lab, |call| started(call, "send", Effect::NonIdempotent)).await;
    // Each of them dies before it sees to the call.
    for resumes in 1..=3 {
        let dying = lab.dying_at("run.claimed");
        dying.runtime.resume_interrupted_runs().await.unwrap();
        while lab.store.run(Scope::Everyone, run).await.unwrap().resumes < resumes {
            tokio::task::yield_now().await;
        }
        while dying.runtime.driven_runs() > 0 {
            tokio::task::yield_now().await;
        }
    }
    let last = lab.restarted();
    last.runtime.resume_interrupted_runs().await.unwrap();
    while lab.store.run(Scope::Everyone, run).await.unwrap().state != RunState::NeedsAttention {
        tokio::task::yield_now().await;
    }
    let log = last.log(run).await;
    assert!(log.contains("tool.unknown"), "{log}");
    assert!(log.ends_with("run.waiting needs_attention\n"), "{log}");
    last.runtime.resume_run(Scope::User(mei()), run).await.unwrap();
    while lab.questions().await.is_empty() {
        tokio::task::yield_now().await;
    }
}
