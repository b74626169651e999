//! Runs that people have a say in: approvals, client tools, stop.

use std::sync::atomic::Ordering;

use expect_test::expect;
use futures_util::StreamExt;
use helve_model::{Reply, ScriptedModel};
use helve_runtime::{AgentSettings, CommandError, Frame, RuntimeSettings, StartInput, StartRequest};
use helve_store::{Scope, Views};
use helve_types::{About, Answer, Effect, Live, OutcomeAnswer, PartKind, ToolSpec};

use crate::lab::{Lab, mei, reply, settle, spec, until};

const SEND: &str = r#"call send {"q": "x"}"#;

async fn answer(lab: &Lab, answer: Answer) -> Result<(), CommandError> {
    let question = lab.questions().await.remove(0);
    lab.runtime.answer_approval(Scope::User(mei()), question.approval, answer, "mei".into()).await
}

#[tokio::test]
async fn a_risky_call_waits_for_a_person_and_runs_when_allowed() {
    let lab = Lab::new([reply(SEND), reply("say Sent.")]);
    let mut started = lab.start("send x").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    answer(&lab, Answer::approve()).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started send x
            2 tool.requested send {"q": "x"}
            3 step.finished ToolCalls native
            4 approval.asked send {"q":"x"}
            5 run.waiting waiting_approval
            6 approval.answered {"decision":"approve"} by mei
            7 tool.started send attempt 1
            8 tool.finished sent x
            9 text.finished Sent.
            10 step.finished Stop native
            11 run.finished Answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn edited_arguments_are_what_is_sent() {
    let lab = Lab::new([reply(SEND), reply("say Sent.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::Approve { arguments: Some(r#"{"q": "y"}"#.into()), always: None }).await.unwrap();
    settle(&mut started.follower).await;
    let log = lab.log(started.run).await;
    assert!(log.contains(r#"tool.started send attempt 1 with {"q":"y"}"#), "{log}");
    assert!(log.contains("tool.finished sent y"), "{log}");
    assert!(lab.model.asked()[1].contains(r#"calls: call_1 send {"q":"y"}"#), "{}", lab.model.asked()[1]);
}

#[tokio::test]
async fn a_rejected_call_never_runs_and_the_model_hears_why() {
    let lab = Lab::new([reply(SEND), reply("say As you wish.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::Reject { reason: "not today".into() }).await.unwrap();
    settle(&mut started.follower).await;
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    assert!(lab.model.asked()[1].contains("did not allow this call: not today"), "{}", lab.model.asked()[1]);
}

/// A lab whose agent ends its runs when a call is refused.
fn ending_when_refused(replies: impl IntoIterator<Item = Reply>) -> Lab {
    let agents = vec![AgentSettings { end_when_refused: true, ..AgentSettings::default() }];
    Lab::with_model(ScriptedModel::new(replies), RuntimeSettings { agents, ..RuntimeSettings::default() })
}

#[tokio::test]
async fn a_refused_call_ends_the_run_if_the_agent_says_so_and_the_next_message_goes_on() {
    let lab =
        ending_when_refused([reply(r#"say I will send it. | call send {"q": "x"}"#), reply("say Then not.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::Reject { reason: "not today".into() }).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started send x
            2 text.finished I will send it.
            3 tool.requested send {"q": "x"}
            4 step.finished ToolCalls native
            5 approval.asked send {"q":"x"}
            6 run.waiting waiting_approval
            7 approval.answered {"decision":"reject","reason":"not today"} by mei
            8 tool.refused the user did not allow this call: not today; do not repeat it, go on without it
            9 run.finished Refused
        "#]],
    )
    .await;
    assert_eq!(lab.model.asked().len(), 1, "the model is not asked again");
    let input = StartInput::Message { conversation: started.conversation, text: "forget it".into() };
    let mut next = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    assert_eq!(settle(&mut next.follower).await, "run.finished");
    assert!(lab.model.asked()[1].contains("did not allow this call: not today"), "{}", lab.model.asked()[1]);
}

#[tokio::test]
async fn a_run_that_ends_when_refused_goes_on_if_the_call_is_allowed_or_nobody_was_asked() {
    let lab = ending_when_refused([reply("call nosuch {}"), reply(SEND), reply("say Sent.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::approve()).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert!(lab.log(started.run).await.ends_with("run.finished Answered\n"));
}

#[tokio::test]
async fn a_person_can_answer_in_the_tools_place() {
    let lab = Lab::new([reply(SEND), reply("say Thanks.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::Respond { text: "I sent it myself".into() }).await.unwrap();
    settle(&mut started.follower).await;
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    assert!(lab.model.asked()[1].contains("result: call_1 I sent it myself"), "{}", lab.model.asked()[1]);
}

#[tokio::test]
async fn the_first_of_two_answers_wins() {
    let lab = Lab::new([reply(SEND), reply("say Done.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    let question = lab.questions().await.remove(0);
    let say =
        |answer| lab.runtime.answer_approval(Scope::Everyone, question.approval, answer, "somebody".into());
    let (first, second) = tokio::join!(say(Answer::approve()), say(Answer::Reject { reason: String::new() }));
    assert_eq!(u32::from(first.is_ok()) + u32::from(second.is_ok()), 1, "{first:?} {second:?}");
    settle(&mut started.follower).await;
}

/// T41, over an upgrade: what the person agreed to is not what would run.
#[tokio::test]
async fn consent_to_a_tool_that_was_defined_otherwise_is_asked_for_anew_and_nothing_is_sent() {
    let original = || spec("send", Effect::NonIdempotent);
    let changes = [
        ToolSpec { description: "Does send, and more.".into(), ..original() },
        ToolSpec { effect: Effect::Idempotent, ..original() },
        ToolSpec { parameters: serde_json::json!({"type": "object"}), ..original() },
    ];
    for changed in changes {
        let lab = Lab::new([reply(SEND), reply("say Sent.")]);
        let mut started = lab.start("send x").await;
        settle(&mut started.follower).await;
        let first = lab.questions().await.remove(0);
        let lab = lab.upgraded(changed.clone());
        let mut follower = lab.runtime.follow_run(started.run, 5);
        answer(&lab, Answer::approve()).await.unwrap();
        assert_eq!(settle(&mut follower).await, "waiting_approval", "{changed:?}");
        assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
        let second = lab.questions().await.remove(0);
        assert_ne!((first.approval, &first.binding), (second.approval, &second.binding));
        answer(&lab, Answer::approve()).await.unwrap();
        assert_eq!(settle(&mut follower).await, "run.finished");
        assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_question_changes_nothing() {
    let lab = Lab::new([reply(SEND)]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    let odd = Answer::Outcome { answer: OutcomeAnswer::Happened };
    assert_eq!(answer(&lab, odd).await, Err(CommandError::DoesNotFit));
    assert_eq!(lab.questions().await.len(), 1);
}

#[tokio::test]
async fn several_questions_are_answered_in_any_order_while_others_run() {
    let three = r#"call send {"q": "1"} | call look {"q": "2"} | call send {"q": "3"}"#;
    let lab = Lab::new([reply(three), reply("say All done.")]);
    let mut started = lab.start("go").await;
    settle(&mut started.follower).await;
    let questions = lab.questions().await;
    assert_eq!(questions.len(), 2);
    for question in questions.iter().rev() {
        let answer = Answer::approve();
        lab.runtime.answer_approval(Scope::Everyone, question.approval, answer, "mei".into()).await.unwrap();
    }
    until(&mut started.follower, "run.finished").await;
    let asked = &lab.model.asked()[1];
    for expected in ["call_1 sent 1", "call_2 found 2", "call_3 sent 3"] {
        assert!(asked.contains(expected), "{asked}");
    }
}

#[tokio::test]
async fn a_question_nobody_answers_expires_and_is_not_called_a_refusal() {
    let lab = Lab::new([reply(SEND), reply("say Nobody was there.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    lab.world.clock.advance_ms(8 * 24 * 60 * 60 * 1_000);
    lab.runtime.sweep_once().await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert!(lab.model.asked()[1].contains("did not answer in time"), "{}", lab.model.asked()[1]);
}

#[tokio::test]
async fn an_unknown_outcome_asks_a_person_what_happened() {
    let lab = Lab::new([reply(r#"call lose {"q": "x"}"#), reply("say I see.")]);
    let mut started = lab.start("lose x").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    answer(&lab, Answer::approve()).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "needs_attention");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
    answer(&lab, Answer::Outcome { answer: OutcomeAnswer::Happened }).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
    assert!(lab.model.asked()[1].contains("this call did take effect"), "{}", lab.model.asked()[1]);
}

#[tokio::test]
async fn run_again_is_a_new_call_in_the_place_of_the_old_one() {
    let lab = Lab::new([reply(r#"call lose {"q": "x"}"#), reply("say I see.")]);
    let mut started = lab.start("lose x").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::approve()).await.unwrap();
    settle(&mut started.follower).await;
    answer(&lab, Answer::Outcome { answer: OutcomeAnswer::RunAgain }).await.unwrap();
    // Whoever has just what was shown run again has agreed to it.
    assert_eq!(settle(&mut started.follower).await, "needs_attention");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 2);
    answer(&lab, Answer::Outcome { answer: OutcomeAnswer::DidNotHappen }).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let calls = lab.store.calls(started.run).await.unwrap();
    assert_eq!(calls.iter().map(|call| call.state.as_str()).collect::<Vec<_>>(), ["unknown", "unknown"]);
    let asked = &lab.model.asked()[1];
    assert_eq!(asked.matches("calls: ").count(), 1, "{asked}");
    assert_eq!(asked.matches("call_1 A person has checked").count(), 1, "{asked}");
}

/// A call of `send` that a server left in flight, before the person who is asked what became of it.
async fn in_doubt() -> (Lab, helve_types::RunId) {
    let checked = ToolSpec { check_tool: Some("look".into()), ..spec("send", Effect::NonIdempotent) };
    let lab = Lab::new([reply(SEND), reply("say I see.")]).upgraded(checked);
    let dying = lab.dying_at("tool.after_started");
    let mut started = dying.start("send x").await;
    settle(&mut started.follower).await;
    answer(&dying, Answer::approve()).await.unwrap();
    until(&mut started.follower, "tool.started").await;
    let lab = lab.restarted();
    lab.runtime.resume_interrupted_runs().await.unwrap();
    let mut follower = lab.runtime.follow_run(started.run, 0);
    assert_eq!(settle(&mut follower).await, "waiting_approval");
    assert_eq!(settle(&mut follower).await, "needs_attention");
    (lab, started.run)
}

#[tokio::test]
async fn what_is_run_again_is_asked_about_if_it_is_not_what_was_shown_and_refused_if_it_is_forbidden() {
    let again = || Answer::Outcome { answer: OutcomeAnswer::RunAgain };
    // An upgrade that defines the tool otherwise.
    let (lab, run) = in_doubt().await;
    let changed = ToolSpec { description: "Sends twice.".into(), ..spec("send", Effect::NonIdempotent) };
    let upgraded = lab.upgraded(changed);
    let after = upgraded.store.run(Scope::Everyone, run).await.unwrap().last_seq;
    answer(&upgraded, again()).await.unwrap();
    assert_eq!(settle(&mut upgraded.runtime.follow_run(run, after)).await, "waiting_approval");
    assert!(!upgraded.log(run).await.contains("tool.finished"));
    // A rule that was made meanwhile.
    let (lab, run) = in_doubt().await;
    let never = serde_json::from_value(serde_json::json!({"tool": "send", "action": "deny"})).unwrap();
    let settings = helve_runtime::RuntimeSettings { rules: vec![never], ..Default::default() };
    let stricter = lab.restarted_as(settings);
    let after = stricter.store.run(Scope::Everyone, run).await.unwrap().last_seq;
    answer(&stricter, again()).await.unwrap();
    assert_eq!(settle(&mut stricter.runtime.follow_run(run, after)).await, "run.finished");
    assert!(stricter.log(run).await.contains("not allowed"), "{}", stricter.log(run).await);
}

#[tokio::test]
async fn whoever_decides_about_an_unknown_outcome_is_told_all_that_is_known_of_it() {
    let (lab, run) = in_doubt().await;
    let question = lab.questions().await.remove(0);
    let About::Outcome { call, sent_at, checked } = question.about.clone() else { panic!("{question:?}") };
    assert_eq!(call.request.as_deref(), Some(r#"POST {"q":"x"}"#));
    assert_eq!(checked.as_deref(), Some("found x"));
    assert_eq!(sent_at, Some(lab.world.now()));
    // Nobody answers: the model is told the same.
    lab.world.clock.advance_ms(8 * 24 * 60 * 60 * 1_000);
    lab.runtime.sweep_once().await.unwrap();
    until(&mut lab.runtime.follow_run(run, 0), "run.finished").await;
    let asked = &lab.model.asked()[1];
    for told in ["outcome_unknown", r#""checked":"found x""#, "Verify before repeating"] {
        assert!(asked.contains(told), "{asked}");
    }
    let conversation = lab.store.run(Scope::Everyone, run).await.unwrap().conversation.unwrap();
    let messages = lab.store.messages(Scope::Everyone, conversation).await.unwrap();
    let cut_off = messages.iter().flat_map(|message| message.tools()).find_map(|tool| tool.cut_off.clone());
    let cut_off = cut_off.unwrap();
    assert_eq!((cut_off.request, cut_off.checked), (call.request, checked));
}

#[tokio::test]
async fn an_edit_that_cannot_be_sent_leaves_the_question_open_and_names_the_field() {
    let never = serde_json::json!({"tool": "send", "arguments": {"q": "*@evil.test"}, "action": "deny"});
    let settings = helve_runtime::RuntimeSettings {
        rules: vec![serde_json::from_value(never).unwrap()],
        ..Default::default()
    };
    let model = helve_model::ScriptedModel::new([reply(SEND), reply("say Sent.")]);
    let lab = Lab::with_model(model, settings);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    let edit = |arguments: &str| Answer::Approve { arguments: Some(arguments.into()), always: None };
    for (arguments, told) in [
        (r#"{"q": 7}"#, "field `q`"),
        (r#"{"nope": 1}"#, "\"q\" is a required property"),
        (r#"[1]"#, "object"),
        ("{", "JSON"),
        (r#"{"q": "eve@evil.test"}"#, "not allowed"),
    ] {
        let refused = answer(&lab, edit(arguments)).await.unwrap_err().to_string();
        assert!(refused.contains(told), "{arguments}: {refused}");
        assert_eq!(lab.questions().await.len(), 1, "{arguments}");
    }
    answer(&lab, edit(r#"{"q": "y"}"#)).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert!(lab.log(started.run).await.contains("tool.finished sent y"));
}

#[tokio::test]
async fn a_question_whose_time_is_up_cannot_be_answered_even_if_nobody_has_noticed_yet() {
    let lab = Lab::new([reply(SEND), reply("say Nobody was there.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    lab.world.clock.advance_ms(helve_types::Question::OPEN_MS - 1);
    let question = lab.questions().await.remove(0);
    lab.world.clock.advance_ms(1);
    let late = lab
        .runtime
        .answer_approval(Scope::User(mei()), question.approval, Answer::approve(), "mei".into())
        .await;
    assert!(late.unwrap_err().to_string().contains("its time was up"));
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    let log = lab.log(started.run).await;
    assert!(log.contains(r#"approval.answered {"decision":"expire"} by time"#), "{log}");
}

#[tokio::test]
async fn a_tool_may_want_the_model_told_instead() {
    let settings = helve_runtime::RuntimeSettings {
        rules: vec![serde_json::from_value(serde_json::json!({"action": "allow"})).unwrap()],
        ..Default::default()
    };
    let model = helve_model::ScriptedModel::new([
        reply(r#"call lose_softly {"q": "x"}"#),
        reply("say I will check."),
    ]);
    let lab = Lab::with_model(model, settings);
    let mut started = lab.start("lose x").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert!(lab.model.asked()[1].contains("outcome_unknown"), "{}", lab.model.asked()[1]);
}

#[tokio::test]
async fn stopping_keeps_what_was_said_and_nothing_more() {
    let lab = Lab::new([Reply::new().text("Once upon a time").hangs()]);
    let mut started = lab.start("tell me a story").await;
    while let Some(frame) = started.follower.next().await {
        if let Frame::Live(Live::PartStarted { kind: PartKind::Text, .. }) = frame.unwrap() {
            break;
        }
    }
    lab.runtime.cancel_run(Scope::User(mei()), started.run, "mei".into()).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.cancelled");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started tell me a story
            2 text.finished Once upon a time
            3 step.finished Cancelled native
            4 run.cancelled by mei
        "#]],
    )
    .await;
    // Once more is as good as once.
    lab.runtime.cancel_run(Scope::User(mei()), started.run, "mei".into()).await.unwrap();
}

#[tokio::test]
async fn stopping_ends_running_tools_and_every_call_has_an_outcome() {
    let lab = Lab::new([reply(r#"call hang {"q": "x"} | call send {"q": "y"}"#)]);
    let mut started = lab.start("hang").await;
    until(&mut started.follower, "approval.asked").await;
    lab.runtime.cancel_run(Scope::Everyone, started.run, "admin".into()).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.cancelled");
    let calls = lab.store.calls(started.run).await.unwrap();
    assert!(calls.iter().all(|call| call.ended_at.is_some()), "{calls:?}");
    assert_eq!(lab.questions().await.len(), 0);
}

#[tokio::test]
async fn a_waiting_run_can_be_stopped() {
    let lab = Lab::new([reply(SEND)]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    lab.runtime.cancel_run(Scope::Everyone, started.run, "mei".into()).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.cancelled");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn progress_of_a_tool_reaches_readers() {
    let lab = Lab::new([reply(r#"call report {"q": "x"}"#), reply("say Done.")]);
    let mut started = lab.start("report").await;
    let mut seen = String::new();
    while let Some(frame) = started.follower.next().await {
        match frame.unwrap() {
            Frame::Live(Live::PartStarted { kind: PartKind::Progress, text, .. }) => seen = text,
            Frame::Live(Live::PartDelta { text, part }) if part.as_str().contains(':') => {
                seen.push_str(&text)
            }
            _ => {}
        }
    }
    // The tool may be done before anybody looks; what is seen is never out of order.
    assert!("half way".starts_with(&seen), "{seen}");
}
