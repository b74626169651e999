//! Runs that go round in circles, and runs that only look like it.

use std::collections::BTreeMap;

use expect_test::expect;
use helve_model::ScriptedModel;
use helve_runtime::{AgentSettings, CommandError, RuntimeSettings};
use helve_store::Scope;
use helve_types::{Always, Answer, Within};
use serde_json::json;

use crate::lab::{Lab, mei, reply, settle};

const LOOK: &str = r#"call look {"q": "x"}"#;

async fn answer(lab: &Lab, answer: Answer) {
    let question = lab.questions().await.remove(0);
    lab.runtime.answer_approval(Scope::User(mei()), question.approval, answer, "mei".into()).await.unwrap();
}

#[tokio::test]
async fn the_same_call_over_and_over_is_pointed_out_asked_about_and_ended_by_a_no() {
    let lab = Lab::new([reply(LOOK), reply(LOOK), reply(LOOK), reply("say I give up.")]);
    let mut started = lab.start("find x").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let question = lab.questions().await.remove(0);
    assert_eq!(question.because, "`look` is called 3 times in a row with the same arguments");
    answer(&lab, Answer::Reject { reason: "it is not there".into() }).await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
        1 run.started find x
        2 tool.requested look {"q": "x"}
        3 step.finished ToolCalls native
        4 tool.started look attempt 1
        5 tool.finished found x
        6 tool.requested look {"q": "x"}
        7 step.finished ToolCalls native
        8 tool.started look attempt 1
        9 tool.finished found x
        10 tool.requested look {"q": "x"}
        11 step.finished ToolCalls native
        12 approval.asked look {"q":"x"}
        13 run.waiting waiting_approval
        14 approval.answered {"decision":"reject","reason":"it is not there"} by mei
        15 tool.refused the user did not allow this call: it is not there; do not repeat it, go on without it
        16 text.finished I give up.
        17 step.finished Stop native
        18 run.finished Repeating
    "#]],
    )
    .await;
    let asked = lab.model.asked();
    assert!(!asked[1].contains("[note:"), "{}", asked[1]);
    assert!(
        asked[2].contains("[note: `look` was called with the same arguments again and again"),
        "{}",
        asked[2]
    );
    assert!(!asked[3].contains("tools: look"), "{}", asked[3]);
}

#[tokio::test]
async fn a_person_may_let_it_go_on_with_other_arguments() {
    let lab = Lab::new([reply(LOOK), reply(LOOK), reply(LOOK), reply("say There.")]);
    let mut started = lab.start("find x").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::Approve { arguments: Some(r#"{"q": "y"}"#.into()), always: None }).await;
    settle(&mut started.follower).await;
    let log = lab.log(started.run).await;
    assert!(log.contains(r#"tool.started look attempt 1 with {"q":"y"}"#), "{log}");
    assert!(log.contains("tool.finished found y"), "{log}");
}

#[tokio::test]
async fn a_circle_is_the_same_circle_after_a_restart() {
    let lab = Lab::new([reply(LOOK), reply(LOOK), reply(LOOK), reply("say I give up.")]);
    let mut started = lab.start("find x").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let again = lab.restarted();
    let question = again.questions().await.remove(0);
    let no = Answer::Reject { reason: String::new() };
    again.runtime.answer_approval(Scope::User(mei()), question.approval, no, "mei".into()).await.unwrap();
    let mut follower = again.runtime.follow_run(started.run, 0);
    while settle(&mut follower).await != "run.finished" {}
    assert!(again.log(started.run).await.ends_with("run.finished Repeating\n"));
}

/// Plays a model that does the same rounds for ever, and a person who says no as soon as they are asked.
/// Returns how the run ended and how often a tool ran.
async fn play(round: &[&str]) -> (String, u32) {
    let replies = round.iter().cycle().take(60).map(|line| reply(line));
    let agents = vec![AgentSettings { max_steps: 50, ..AgentSettings::default() }];
    let settings = RuntimeSettings { agents, ..RuntimeSettings::default() };
    let lab = Lab::with_model(ScriptedModel::new(replies), settings);
    let mut started = lab.start("go on").await;
    if settle(&mut started.follower).await == "waiting_approval" {
        answer(&lab, Answer::Reject { reason: String::new() }).await;
        assert_eq!(settle(&mut started.follower).await, "run.finished");
    }
    let log = lab.log(started.run).await;
    let end = log.lines().last().unwrap().split(' ').next_back().unwrap().to_owned();
    (end, lab.runs.load(std::sync::atomic::Ordering::Relaxed))
}

#[tokio::test]
async fn a_model_that_loops_is_stopped_however_it_loops() {
    const WORDS: &str = "say I will look at the next page, where the answer certainly must be. | call";
    let looks: Vec<String> = (0..9).map(|n| format!("call fail {{\"q\": \"{n}\"}}")).collect();
    let looks: Vec<&str> = looks.iter().map(String::as_str).collect();
    let pages: Vec<String> = (0..9).map(|n| format!("{WORDS} ping {{\"q\": \"{n}\"}}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let gone: Vec<String> = (0..9).map(|n| format!("call nosuch {{\"q\": \"{n}\"}}")).collect();
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    let unfit: Vec<String> = (0..9).map(|n| format!("call look {{\"q\": {n}}}")).collect();
    let unfit: Vec<&str> = unfit.iter().map(String::as_str).collect();
    for (how, round, runs) in [
        ("the same call", &[LOOK] as &[&str], 2),
        ("two calls in turn", &[LOOK, r#"call ping {"q": "x"}"#], 4),
        ("the same failure", &looks, 5),
        ("the same words", &pages, 3),
        ("the same call, which brings something new each time", &[r#"call poll {"q": "x"}"#], 2),
        ("a tool that does not exist", &[r#"call nosuch {"q": "x"}"#], 0),
        ("a tool that does not exist, with other arguments", &gone, 0),
        ("arguments that do not fit", &[r#"call look {"q": 7}"#], 0),
        ("other arguments that do not fit", &unfit, 0),
        ("arguments that are no JSON", &["call look {q"], 0),
    ] {
        assert_eq!(play(round).await, ("Repeating".to_owned(), runs), "{how}");
    }
}

#[tokio::test]
async fn a_person_who_says_always_to_a_circle_says_it_for_this_run() {
    let lab =
        Lab::new([reply(LOOK), reply(LOOK), reply(LOOK), reply(LOOK), reply(LOOK), reply("say There.")]);
    let mut started = lab.start("find x").await;
    settle(&mut started.follower).await;
    let question = lab.questions().await.remove(0);
    assert!(question.repeats());
    let always = |within| Answer::Approve {
        arguments: None,
        always: Some(Always { within, arguments: BTreeMap::new(), days: None }),
    };
    let wide = lab
        .runtime
        .answer_approval(Scope::User(mei()), question.approval, always(Within::Agent), "mei".into())
        .await;
    assert!(matches!(&wide, Err(CommandError::BadAlways(what)) if what.contains("say `run`")), "{wide:?}");
    answer(&lab, always(Within::Run)).await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(
        lab.runs.load(std::sync::atomic::Ordering::Relaxed),
        5,
        "twice before, and three times with consent"
    );
}

#[tokio::test]
async fn a_model_that_does_other_things_between_its_polls_and_sees_progress_is_left_alone() {
    let round = [r#"call poll {"q": "x"}"#, r#"call poll {"q": "y"}"#];
    let (end, runs) = play(&round).await;
    assert_eq!((end.as_str(), runs), ("StepLimit", 50));
}

#[tokio::test]
async fn a_call_that_cannot_be_made_is_asked_about_and_a_yes_lets_the_model_go_on() {
    let gone = r#"call nosuch {"q": "x"}"#;
    let lab = Lab::new([reply(gone), reply(gone), reply(gone), reply(gone), reply("say I give up.")]);
    let mut started = lab.start("find x").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let question = lab.questions().await.remove(0);
    assert!(
        question.because.starts_with(
            "`nosuch` is called 3 times in a row with the same arguments; besides, it cannot be made: there is no tool"
        ),
        "{}",
        question.because
    );
    // There is nothing that could be allowed for longer, or put right.
    let (run, approval) = (Within::Run, question.approval);
    let always = Some(Always { within: run, arguments: BTreeMap::new(), days: None });
    for (impossible, says) in [
        (Answer::Approve { arguments: None, always }, "nothing to allow for always"),
        (Answer::Approve { arguments: Some("{}".into()), always: None }, "cannot be made"),
    ] {
        let refused =
            lab.runtime.answer_approval(Scope::User(mei()), approval, impossible, "mei".into()).await;
        assert!(refused.as_ref().is_err_and(|error| error.to_string().contains(says)), "{refused:?}");
    }
    answer(&lab, Answer::approve()).await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval", "a yes is for once");
    answer(&lab, Answer::Reject { reason: String::new() }).await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert_eq!(log.matches("tool.refused there is no tool `nosuch`").count(), 3, "{log}");
    assert!(log.ends_with("run.finished Repeating\n"), "{log}");
}

#[tokio::test]
async fn a_call_that_a_rule_forbids_is_asked_about_when_it_is_repeated_and_stays_forbidden() {
    let never =
        json!({"tool": "look", "arguments": {"q": "x"}, "action": "deny", "because": "not on weekdays"});
    let rules = vec![serde_json::from_value(never).unwrap()];
    let settings = RuntimeSettings { rules, ..RuntimeSettings::default() };
    let replies = [reply(LOOK), reply(LOOK), reply(LOOK), reply("say I give up.")];
    let lab = Lab::with_model(ScriptedModel::new(replies), settings);
    let mut started = lab.start("find x").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    answer(&lab, Answer::approve()).await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert_eq!(log.matches("tool.refused calling `look` is not allowed").count(), 3, "{log}");
    assert_eq!(lab.runs.load(std::sync::atomic::Ordering::Relaxed), 0);
}
