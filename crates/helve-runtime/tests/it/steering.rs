//! People who speak to a run while it is at work.

use std::sync::atomic::Ordering;

use expect_test::expect;
use helve_model::{Reply, ScriptedModel};
use helve_runtime::{AgentSettings, CommandError, RuntimeSettings, StartInput, StartRequest};
use helve_store::{Scope, Views};
use helve_types::{Answer, MessageId, Part, RunId, UserId};
use uuid::Uuid;

use crate::lab::{Lab, mei, reply, settle, until};

const SEND: &str = r#"call send {"q": "x"}"#;

async fn say(lab: &Lab, run: RunId, text: &str) -> Result<MessageId, CommandError> {
    lab.runtime.send_message(Scope::User(mei()), run, None, text.into(), "mei".into()).await
}

async fn answer(lab: &Lab) {
    let question = lab.questions().await.remove(0);
    lab.runtime
        .answer_approval(Scope::Everyone, question.approval, Answer::approve(), "mei".into())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_message_to_a_waiting_run_leaves_it_waiting_and_is_heard_after_the_results() {
    let lab = Lab::new([reply(SEND), reply("say Sent, in French.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    say(&lab, started.run, "and answer in French").await.unwrap();
    say(&lab, started.run, "please").await.unwrap();
    let record = lab.store.run(Scope::Everyone, started.run).await.unwrap();
    assert_eq!(record.state.as_str(), "waiting_approval");
    answer(&lab).await;
    until(&mut started.follower, "run.finished").await;
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started send x
            2 tool.requested send {"q": "x"}
            3 step.finished ToolCalls native
            4 approval.asked send {"q":"x"}
            5 run.waiting waiting_approval
            6 message.queued and answer in French by mei
            7 run.waiting waiting_approval
            8 message.queued please by mei
            9 run.waiting waiting_approval
            10 approval.answered {"decision":"approve"} by mei
            11 tool.started send attempt 1
            12 tool.finished sent x
            13 message.taken for step 2
            14 message.taken for step 2
            15 text.finished Sent, in French.
            16 step.finished Stop native
            17 run.finished Answered
        "#]],
    )
    .await;
    expect![[r#"
        user: send x
        calls: call_1 send {"q": "x"}
        result: call_1 sent x
        user: and answer in French
        user: please
        tools: fail hang look lose lose_softly ping poll report send
    "#]]
    .assert_eq(&turns(&lab.model.asked()[1]));
}

/// What was asked, without what stands before the conversation.
fn turns(asked: &str) -> String {
    let from = asked.find("user: ").unwrap();
    let lines = asked[from..].lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_message_during_the_last_answer_gets_another_one() {
    let slow = Reply::new().after(std::time::Duration::from_secs(5)).text("Done.").done();
    let lab = Lab::new([slow, reply("say Also that.")]);
    let mut started = lab.start("this").await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    say(&lab, started.run, "also that").await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert!(log.contains("text.finished Done.") && log.contains("text.finished Also that."), "{log}");
    // The next run sees everything at its place.
    lab.model.then(reply("say Fine."));
    let input = StartInput::Message { conversation: started.conversation, text: "thanks".into() };
    let mut next = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    settle(&mut next.follower).await;
    let asked = lab.model.asked().pop().unwrap();
    let at = |text: &str| asked.find(text).unwrap_or_else(|| panic!("no {text} in {asked}"));
    assert!(at("Done.") < at("user: also that") && at("user: also that") < at("Also that."), "{asked}");
    assert!(at("Also that.") < at("user: thanks"), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_when_the_steps_are_used_up_is_kept_and_said_to_be_unanswered() {
    let slow = Reply::new().after(std::time::Duration::from_secs(5)).text("That is all.").done();
    let agent = AgentSettings { max_steps: 1, ..AgentSettings::default() };
    let settings = RuntimeSettings { agents: vec![agent], ..RuntimeSettings::default() };
    let lab = Lab::with_model(ScriptedModel::new([reply(r#"call look {"q": "x"}"#), slow]), settings);
    let mut started = lab.start("look").await;
    until(&mut started.follower, "tool.finished").await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    say(&lab, started.run, "and then?").await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let messages = lab.store.messages(Scope::Everyone, started.conversation.unwrap()).await.unwrap();
    let parts = &messages[1].parts;
    assert!(
        parts.iter().any(|part| matches!(part, Part::Said { step: None, text, .. } if text == "and then?")),
        "{parts:?}"
    );
    let Some(Part::Notice { text, .. }) = parts.last() else { panic!("{parts:?}") };
    assert_eq!(text, "the run ended before the last message could be answered");
    lab.model.then(reply("say Then nothing."));
    let input = StartInput::Message { conversation: started.conversation, text: "well?".into() };
    let mut next = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    settle(&mut next.follower).await;
    let asked = lab.model.asked().pop().unwrap();
    assert!(asked.find("user: and then?").unwrap() < asked.find("user: well?").unwrap(), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_message_outlives_the_server_that_took_it() {
    let lab = Lab::new([Reply::new().text("Half").hangs(), reply("say Whole, and more.")]);
    let started = lab.start("tell me").await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    say(&lab, started.run, "and more").await.unwrap();
    // Nothing of the first server goes on.
    let again = lab.restarted();
    assert_eq!(again.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut again.runtime.follow_run(started.run, 0)).await, "run.finished");
    again
        .check_log(
            started.run,
            expect![[r#"
                1 run.started tell me
                2 message.queued and more by mei
                3 run.resumed resume 1
                4 step.restarted attempt 2: the server was restarted
                5 message.taken for step 1
                6 text.finished Whole, and more.
                7 step.finished Stop native, attempt 2
                8 run.finished Answered
            "#]],
        )
        .await;
    let asked = lab.model.asked().pop().unwrap();
    assert!(asked.contains("user: and more"), "{asked}");
}

#[tokio::test]
async fn the_same_message_twice_is_one_also_after_the_end() {
    let lab = Lab::new([reply(SEND), reply("say Sent.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    let id = MessageId(Uuid::from_u128(77));
    let send = |text: &str| {
        lab.runtime.send_message(Scope::User(mei()), started.run, Some(id), text.into(), "mei".into())
    };
    assert_eq!(send("soon").await, Ok(id));
    assert_eq!(send("soon").await, Ok(id));
    assert_eq!(send("late").await, Err(CommandError::OtherText));
    answer(&lab).await;
    until(&mut started.follower, "run.finished").await;
    assert_eq!(send("soon").await, Ok(id));
    assert_eq!(say(&lab, started.run, "more").await, Err(CommandError::Over));
    assert_eq!(lab.log(started.run).await.matches("message.queued").count(), 1);
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_cannot_be_said_is_refused_with_its_reason() {
    let lab = Lab::new([reply(SEND)]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    assert_eq!(say(&lab, started.run, "  ").await, Err(CommandError::Empty));
    assert_eq!(say(&lab, started.run, &"x".repeat(70_000)).await, Err(CommandError::TooLong(70_000)));
    let eve = Scope::User(UserId("eve".into()));
    assert!(lab.runtime.send_message(eve, started.run, None, "hi".into(), "eve".into()).await.is_err());
    for n in 0..32 {
        say(&lab, started.run, &n.to_string()).await.unwrap();
    }
    assert_eq!(say(&lab, started.run, "one more").await, Err(CommandError::TooMuchSaid));
}
