//! Questions that approvers answer: who counts, when others are asked, and what ends them.

use helve_model::ScriptedModel;
use helve_runtime::{ApproverStanding, CommandError, RuntimeSettings};
use helve_store::{ApprovalState, Page, Scope, StoreError, Views};
use helve_tool::{Action, Rule, VoteRefusal};
use helve_types::{Answer, Approvers, Escalation, Question, RunId, UserId};

use crate::lab::{Lab, mei, reply, settle};

const MINUTE_MS: i64 = 60_000;

fn settings() -> RuntimeSettings {
    let approvers = Approvers {
        users: vec!["mei".into(), "li".into(), "wang".into()],
        groups: vec![],
        approvals: 2,
        requester_may_approve: false,
        remind_after_minutes: Some(10),
        escalate: Some(Escalation { after_minutes: 60, users: vec!["boss".into()], groups: vec![] }),
    };
    let rule =
        Rule { tool: Some("send".into()), approvers: Some(Box::new(approvers)), ..Rule::new(Action::Ask) };
    RuntimeSettings { rules: vec![rule], ..RuntimeSettings::default() }
}

fn office() -> Lab {
    let replies = [reply(r#"call send {"q": "x"}"#), reply("say Done.")];
    Lab::with_model(ScriptedModel::new(replies), settings())
}

async fn answer(lab: &Lab, user: &str, answer: Answer) -> Result<(), CommandError> {
    let question = lab.questions().await.remove(0);
    let scope = Scope::User(UserId(user.into()));
    lab.runtime.answer_approval(scope, question.approval, answer, user.into()).await
}

/// Waits until the log has an event of this kind, whichever process writes it.
async fn logged(lab: &Lab, run: RunId, kind: &str) {
    while !lab.log(run).await.contains(kind) {
        tokio::task::yield_now().await;
    }
}

async fn inbox(lab: &Lab, user: &str) -> usize {
    lab.runtime.load_inbox(&UserId(user.into()), Page::first(9)).await.unwrap().len()
}

#[tokio::test]
async fn two_of_the_approvers_agree_and_the_call_runs_once() {
    let lab = office();
    let mut started = lab.start("send it").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let yes = Answer::approve;
    let own = answer(&lab, "mei", yes()).await;
    assert_eq!(own, Err(CommandError::NotCounted(VoteRefusal::OwnRequest)));
    let hidden = answer(&lab, "bo", yes()).await;
    assert_eq!(hidden, Err(CommandError::Store(StoreError::NotFound("approval"))));
    assert_eq!((inbox(&lab, "mei").await, inbox(&lab, "li").await, inbox(&lab, "bo").await), (0, 1, 0));
    answer(&lab, "li", yes()).await.unwrap();
    assert_eq!((inbox(&lab, "li").await, inbox(&lab, "wang").await), (0, 1));
    let lab = lab.restarted();
    assert_eq!(answer(&lab, "li", yes()).await, Err(CommandError::VotedBefore));
    let held = lab.store.approval(Scope::Everyone, lab.questions().await[0].approval).await.unwrap();
    assert_eq!(held.votes.iter().map(|vote| &*vote.by).collect::<Vec<_>>(), ["li"]);
    assert_eq!(lab.runtime.standing_of(&held, &mei()), Some(ApproverStanding::OwnRequest));
    answer(&lab, "wang", yes()).await.unwrap();
    logged(&lab, started.run, "run.finished").await;
    let log = lab.log(started.run).await;
    for (kind, count) in [("approval.voted", 1), ("approval.answered", 1), ("tool.started", 1)] {
        assert_eq!(log.matches(kind).count(), count, "{kind}: {log}");
    }
}

#[tokio::test]
async fn a_reminder_and_an_escalation_happen_once_each_also_after_a_restart() {
    let lab = office();
    let mut started = lab.start("send it").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    lab.runtime.sweep_once().await.unwrap();
    let early = answer(&lab, "boss", Answer::approve()).await;
    assert_eq!(early, Err(CommandError::Store(StoreError::NotFound("approval"))));
    lab.world.clock.advance_ms(10 * MINUTE_MS);
    lab.runtime.sweep_once().await.unwrap();
    logged(&lab, started.run, "approval.reminded").await;
    let lab = lab.restarted();
    lab.world.clock.advance_ms(50 * MINUTE_MS);
    lab.runtime.sweep_once().await.unwrap();
    logged(&lab, started.run, "approval.escalated").await;
    lab.runtime.sweep_once().await.unwrap();
    assert_eq!(inbox(&lab, "boss").await, 1);
    answer(&lab, "boss", Answer::approve()).await.unwrap();
    answer(&lab, "li", Answer::approve()).await.unwrap();
    logged(&lab, started.run, "run.finished").await;
    let log = lab.log(started.run).await;
    for kind in ["approval.reminded", "approval.escalated", "approval.answered", "tool.finished"] {
        assert_eq!(log.matches(kind).count(), 1, "{kind}: {log}");
    }
}

#[tokio::test]
async fn a_question_whose_votes_are_missing_expires_and_nothing_is_sent() {
    let lab = office();
    let mut started = lab.start("send it").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    answer(&lab, "li", Answer::approve()).await.unwrap();
    let asked = lab.questions().await.remove(0);
    lab.world.clock.advance_ms(Question::OPEN_MS);
    lab.runtime.sweep_once().await.unwrap();
    logged(&lab, started.run, "run.finished").await;
    let held = lab.store.approval(Scope::Everyone, asked.approval).await.unwrap();
    let ApprovalState::Answered { answer, by, .. } = held.state else { panic!("{held:?}") };
    assert_eq!((answer, &*by), (Answer::Expire, "time"));
    assert!(!lab.log(started.run).await.contains("tool.started"));
}

#[tokio::test]
async fn an_earlier_always_does_not_stand_in_for_approvers() {
    let lab = office();
    let mut started = lab.start("send it").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let within = helve_types::Within::Agent;
    let always = Some(helve_types::Always { within, arguments: Default::default(), days: None });
    let refused = answer(&lab, "li", Answer::Approve { arguments: None, always }).await;
    assert!(matches!(refused, Err(CommandError::BadAlways(_))), "{refused:?}");
    assert_eq!(inbox(&lab, "li").await, 1);
}
