//! Consent that outlives one call: how far it reaches, what it never covers, and how it ends.

use std::sync::atomic::Ordering;

use helve_model::{Reply, ScriptedModel};
use helve_runtime::{CommandError, RuntimeSettings, StartInput, StartRequest, StartedRun};
use helve_store::{Access, Allowance, AllowanceFilter, AuditEntry, Log, Page, Scope, Views};
use helve_types::{Always, Answer, ConversationId, Fact, RunId, Stage, UserId, Within};
use serde_json::{Value, json};

use crate::lab::{Lab, mei, reply, settle, until};

const SEND: &str = r#"call send {"q": "x"}"#;

/// A model that sends once a run.
fn sender(runs: usize) -> Lab {
    Lab::new((0..runs).flat_map(|_| [reply(SEND), reply("say Sent.")]))
}

fn always(within: Within, arguments: Value) -> Answer {
    let arguments = serde_json::from_value(arguments).unwrap();
    Answer::Approve { arguments: None, always: Some(Always { within, arguments, days: None }) }
}

async fn answer(lab: &Lab, answer: Answer) -> Result<(), CommandError> {
    let question = lab.questions().await.remove(0);
    lab.runtime.answer_approval(Scope::User(mei()), question.approval, answer, "mei".into()).await
}

async fn start_in(lab: &Lab, user: UserId, conversation: Option<ConversationId>) -> StartedRun {
    let input = StartInput::Message { conversation, text: "send x".into() };
    lab.runtime.start_run(StartRequest::new(user, input)).await.unwrap()
}

async fn allowances(lab: &Lab) -> Vec<Allowance> {
    lab.store.allowances(Scope::Everyone, AllowanceFilter::All, Page::first(99)).await.unwrap()
}

async fn revoke(lab: &Lab) {
    let held = allowances(lab).await.remove(0);
    let audit = AuditEntry::new(lab.world.now(), "mei", "revoke", "");
    lab.store.revoke_allowance(Scope::Everyone, held.id, audit).await.unwrap();
}

/// Which rule let each call of the run pass.
async fn rules(lab: &Lab, run: RunId) -> Vec<Option<String>> {
    let log = lab.store.events(run, 0, 999).await.unwrap();
    let judged = |fact: &Fact| match fact {
        Fact::ToolFinished { trail, .. } => trail.0.iter().find_map(|stage| match stage {
            Stage::Judge { rule, .. } => Some(rule.clone()),
            _ => None,
        }),
        _ => None,
    };
    log.iter().filter_map(|recorded| judged(&recorded.event.fact)).collect()
}

#[tokio::test]
async fn within_a_run_the_next_call_is_not_asked_about_and_says_who_allowed_it() {
    let lab = Lab::new([reply(SEND), reply(r#"call send {"q": "y"}"#), reply("say Sent.")]);
    let mut started = lab.start("send").await;
    settle(&mut started.follower).await;
    answer(&lab, always(Within::Run, json!({}))).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 2);
    let held = allowances(&lab).await.remove(0);
    assert_eq!((held.within, held.run, &*held.by), (Within::Run, started.run, "mei"));
    let said = format!("allowance {}", held.id);
    assert_eq!(rules(&lab, started.run).await, [None, Some(said)]);
    let made = lab.store.audit_entries().into_iter().find(|line| line.action == "allowance.made").unwrap();
    assert!(made.detail.contains("send within run of default"), "{}", made.detail);
}

#[tokio::test]
async fn it_answers_the_open_questions_that_it_covers_and_no_others() {
    let calls = r#"call send {"q": "x"} | call send {"q": "y"} | call send {"q": "z"}"#;
    let lab = Lab::new([reply(calls), reply("say Sent.")]);
    let mut started = lab.start("send").await;
    settle(&mut started.follower).await;
    assert_eq!(lab.questions().await.len(), 3);
    let first = lab.questions().await.remove(0);
    let like = serde_json::from_str::<Value>(&first.call().unwrap().arguments).unwrap()["q"].clone();
    let other = if like == json!("y") { "x" } else { "y" };
    answer(&lab, always(Within::Run, json!({"q": [like, other]}))).await.unwrap();
    until(&mut started.follower, "tool.finished").await;
    until(&mut started.follower, "tool.finished").await;
    let left: Vec<_> = lab
        .questions()
        .await
        .into_iter()
        .map(|question| question.call().unwrap().arguments.clone())
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    answer(&lab, Answer::approve()).await.unwrap();
    until(&mut started.follower, "run.finished").await;
    assert_eq!(lab.runs.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn it_answers_open_questions_of_other_runs_of_the_agent_where_it_reaches_them() {
    for (within, left) in [(Within::Conversation, 1), (Within::Agent, 0)] {
        let lab = Lab::new([reply(SEND), reply(SEND), reply("say Sent."), reply("say Sent.")]);
        let mut first = start_in(&lab, mei(), None).await;
        settle(&mut first.follower).await;
        let mut second = start_in(&lab, mei(), None).await;
        settle(&mut second.follower).await;
        answer(&lab, always(within, json!({}))).await.unwrap();
        assert_eq!(lab.questions().await.len(), left, "{within:?}");
    }
}

#[tokio::test]
async fn it_reaches_as_far_as_the_person_said() {
    // The same run is the first; then another in the same conversation, one elsewhere, and one of another user's.
    for (within, spared) in [
        (Within::Run, [false, false, false]),
        (Within::Conversation, [true, false, false]),
        (Within::Agent, [true, true, false]),
    ] {
        let lab = sender(1);
        let mut first = lab.start("send").await;
        settle(&mut first.follower).await;
        answer(&lab, always(within, json!({}))).await.unwrap();
        assert_eq!(settle(&mut first.follower).await, "run.finished");
        let others = [(mei(), first.conversation), (mei(), None), (UserId("li".into()), None)];
        for ((user, conversation), spared) in others.into_iter().zip(spared) {
            lab.model.then(reply(SEND));
            if spared {
                lab.model.then(reply("say Sent."));
            }
            let mut next = start_in(&lab, user.clone(), conversation).await;
            let expected = if spared { "run.finished" } else { "waiting_approval" };
            assert_eq!(settle(&mut next.follower).await, expected, "{within:?} {user}");
            if !spared {
                lab.runtime.cancel_run(Scope::Everyone, next.run, "mei".into()).await.unwrap();
                until(&mut next.follower, "run.cancelled").await;
            }
        }
    }
}

#[tokio::test]
async fn only_arguments_like_those_are_covered() {
    let calls = r#"call send {"q": "mei@example.com"} | call send {"q": "eve@evil.test"}"#;
    let lab = Lab::new([reply(r#"call send {"q": "li@example.com"}"#), reply(calls), reply("say Sent.")]);
    let mut started = lab.start("send").await;
    settle(&mut started.follower).await;
    answer(&lab, always(Within::Agent, json!({"q": "*@example.com"}))).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let open = lab.questions().await;
    assert_eq!(
        open.iter().map(|asked| &*asked.call().unwrap().arguments).collect::<Vec<_>>(),
        [r#"{"q":"eve@evil.test"}"#]
    );
    assert_eq!(lab.runs.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn what_was_taken_back_is_asked_about_again_by_the_next_call_of_the_same_run() {
    let two = r#"call send {"q": "a"} | call send {"q": "b"}"#;
    let lab = Lab::new([reply(two), reply(SEND), reply("say Sent.")]);
    let mut started = lab.start("send").await;
    settle(&mut started.follower).await;
    // It covers what the run will call next, but not its other call.
    answer(&lab, always(Within::Agent, json!({"q": ["a", "x"]}))).await.unwrap();
    until(&mut started.follower, "tool.finished").await;
    // The run is at work on its other call when the consent goes.
    revoke(&lab).await;
    answer(&lab, Answer::approve()).await.unwrap();
    until(&mut started.follower, "tool.finished").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    assert_eq!(lab.questions().await.len(), 1);
    assert_eq!(lab.runs.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn it_survives_a_restart_and_ends_with_its_days() {
    let lab = sender(3);
    let mut first = lab.start("send").await;
    settle(&mut first.follower).await;
    let said = Always { within: Within::Agent, arguments: [].into(), days: Some(2) };
    answer(&lab, Answer::Approve { arguments: None, always: Some(said) }).await.unwrap();
    settle(&mut first.follower).await;
    let lab = lab.restarted();
    let mut second = lab.start("send").await;
    assert_eq!(settle(&mut second.follower).await, "run.finished");
    lab.world.clock.advance_ms(2 * 24 * 60 * 60 * 1_000);
    let mut third = lab.start("send").await;
    assert_eq!(settle(&mut third.follower).await, "waiting_approval");
}

#[tokio::test]
async fn what_a_rule_forbids_stays_forbidden() {
    let lab = sender(2);
    let mut first = lab.start("send").await;
    settle(&mut first.follower).await;
    answer(&lab, always(Within::Agent, json!({}))).await.unwrap();
    settle(&mut first.follower).await;
    let rule = json!({"tool": "send", "arguments": {"q": "x"}, "action": "deny", "because": "not x"});
    let settings =
        RuntimeSettings { rules: vec![serde_json::from_value(rule).unwrap()], ..Default::default() };
    let lab = lab.restarted_as(settings);
    let mut second = lab.start("send").await;
    assert_eq!(settle(&mut second.follower).await, "run.finished");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
    assert!(lab.log(second.run).await.contains("is not allowed: not x"));
}

#[tokio::test]
async fn a_consent_that_cannot_be_meant_leaves_the_question_open() {
    let lab = Lab::new([reply(SEND), reply("say Sent.")]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    let days = |days| {
        let always = Always { within: Within::Agent, arguments: [].into(), days: Some(days) };
        Answer::Approve { arguments: None, always: Some(always) }
    };
    for wrong in [
        days(0),
        days(31),
        always(Within::Run, json!({"q": []})),
        always(Within::Run, json!({"q": {"min": "a"}})),
        always(Within::Run, json!({"q": "y"})),
    ] {
        let refused = answer(&lab, wrong.clone()).await;
        assert!(matches!(refused, Err(CommandError::BadAlways(_))), "{wrong:?} {refused:?}");
        assert_eq!(lab.questions().await.len(), 1);
    }
    assert_eq!(allowances(&lab).await, []);
    answer(&lab, always(Within::Run, json!({"q": "x"}))).await.unwrap();
    settle(&mut started.follower).await;
    assert_eq!(allowances(&lab).await.len(), 1);
}

#[tokio::test]
async fn a_run_without_a_conversation_has_none_to_allow_things_in() {
    let lab = Lab::new([reply(SEND), reply("say Sent.")]);
    let message = serde_json::from_value(json!({"role": "user", "content": "send x"})).unwrap();
    let input = StartInput::Client { messages: vec![message] };
    let mut started = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    settle(&mut started.follower).await;
    let refused = answer(&lab, always(Within::Conversation, json!({}))).await;
    assert!(matches!(&refused, Err(CommandError::BadAlways(what)) if what.contains("no conversation")));
    assert_eq!(lab.questions().await.len(), 1);
}

#[tokio::test]
async fn a_question_about_what_happened_cannot_be_answered_for_always() {
    let lab = Lab::new([reply(r#"call lose {"q": "x"}"#), reply("say I see.")]);
    let mut started = lab.start("lose x").await;
    settle(&mut started.follower).await;
    answer(&lab, Answer::approve()).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "needs_attention");
    let refused = answer(&lab, always(Within::Run, json!({}))).await;
    assert!(matches!(&refused, Err(CommandError::BadAlways(what)) if what.contains("answer it once")));
    assert_eq!(lab.questions().await.len(), 1);
}

#[tokio::test]
async fn a_call_that_repeats_itself_is_asked_about_although_it_is_allowed() {
    let lab = Lab::new((0..5).map(|_| reply(SEND)).chain([reply("say Enough.")]));
    let mut started = lab.start("send").await;
    settle(&mut started.follower).await;
    answer(&lab, always(Within::Agent, json!({}))).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let question = lab.questions().await.remove(0);
    assert!(question.because.contains("3 times in a row"), "{}", question.because);
    assert_eq!(lab.runs.load(Ordering::Relaxed), 2);
}

/// C11: once, always, deny.
#[tokio::test]
async fn a_person_may_let_a_call_repeat_itself_for_the_rest_of_the_run() {
    let look = r#"call look {"q": "x"}"#;
    let replies: Vec<Reply> = (0..7).map(|_| reply(look)).chain([reply("say There.")]).collect();
    let lab = Lab::with_model(ScriptedModel::new(replies), RuntimeSettings::default());
    let mut started = lab.start("find x").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    answer(&lab, always(Within::Run, json!({"q": "x"}))).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert_eq!(log.matches("approval.asked").count(), 1, "{log}");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 7);
}
