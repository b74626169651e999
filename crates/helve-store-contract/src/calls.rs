//! What is kept of a call, and the questions about it.

use helve_types::{
    About, Answer, CallId, CallState, Effect, Fact, Failure, FailureKind, FormOption, Question, ReplyForm,
    Timestamp, ToolOutput, Trail, UserQuestion,
};

use super::{Actor, Started, Subject, ok, question, requested, started};
use helve_store::{
    ApprovalFilter, ApprovalState, ExecutionFilter, ExecutionPage, FullOutput, Page, Scope, StoreError,
    Urgency,
};

async fn row(actor: &Actor, run: &Started) -> helve_store::CallRecord {
    ok(actor.store.calls(run.run).await).pop().unwrap_or_else(|| panic!("no ledger row"))
}

pub async fn the_ledger_row_follows_its_facts(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let call = CallId::new(run.run, 1, 0);

    ok(mei.append(&mut run, vec![requested(&call)]).await);
    let planned = row(&mei, &run).await;
    assert_eq!((planned.state, planned.attempt, &*planned.call.name), (CallState::Requested, 0, "Send-Mail"));
    assert_eq!(planned.call.provider_id.as_deref(), Some("call_1"));
    assert_eq!(planned.call.arguments, r#"{"to": "li"}"#);

    ok(mei.append(&mut run, vec![started(&call, 1)]).await);
    let sent = row(&mei, &run).await;
    assert_eq!((sent.state, sent.attempt, &*sent.call.name), (CallState::Running, 1, "send_mail"));
    assert_eq!(sent.effect, Some(Effect::NonIdempotent));

    let done = Fact::ToolFinished {
        call: call.clone(),
        output: ToolOutput::text("sent"),
        trail: Trail(vec![helve_types::Stage::Run { attempt: 1, ms: 3 }]),
    };
    ok(mei.append(&mut run, vec![done]).await);
    let done = row(&mei, &run).await;
    assert_eq!((done.state, done.trail.0.len()), (CallState::Finished, 1));
    assert!(done.ended_at.is_some());
}

pub async fn the_row_of_a_clients_call_says_who_has_it_and_since_when(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "compute").await;
    let call = CallId::new(run.run, 1, 0);
    let delegated = Fact::ToolDelegated {
        call: call.clone(),
        tool: "browser_js_eval".into(),
        arguments: Some(r#"{"to":"an"}"#.into()),
        trail: Trail::default(),
    };
    ok(mei.append(&mut run, vec![requested(&call), delegated]).await);
    let handed = row(&mei, &run).await;
    assert_eq!((handed.state, &*handed.call.arguments), (CallState::Delegated, r#"{"to":"an"}"#));
    assert!(handed.started_at.is_some() && handed.ended_at.is_none());

    let claimed = Fact::ToolClaimed { call: call.clone(), client: "tab".into(), by: "mei".into() };
    ok(mei.append(&mut run, vec![claimed]).await);
    let claimed = row(&mei, &run).await;
    assert_eq!((claimed.state, &*claimed.call.arguments), (CallState::Claimed, r#"{"to":"an"}"#));

    let of = |state| ExecutionFilter { state: Some(state), ..ExecutionFilter::default() };
    let page = || ExecutionPage { before: None, limit: 10 };
    let open = ok(mei.store.executions(Scope::Everyone, of(CallState::Claimed), page()).await);
    assert_eq!(open.iter().map(|found| &found.record.call.id).collect::<Vec<_>>(), [&call]);
    assert_eq!(ok(mei.store.executions(Scope::Everyone, of(CallState::Delegated), page()).await), []);
}

pub async fn a_refused_call_says_in_its_row_who_refused(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let cases = [
        (FailureKind::Denied, CallState::Refused),
        (FailureKind::Unanswered, CallState::Expired),
        (FailureKind::UnknownTool, CallState::Refused),
    ];
    for (index, (kind, state)) in (0u32..).zip(cases) {
        let call = CallId::new(run.run, 1, index);
        let refused = Fact::ToolRefused {
            call: call.clone(),
            failure: Failure::new(kind, "no"),
            trail: Trail::default(),
        };
        ok(mei.append(&mut run, vec![requested(&call), refused]).await);
        let rows = ok(mei.store.calls(run.run).await);
        assert_eq!(rows.iter().find(|row| row.call.id == call).map(|row| row.state), Some(state));
    }
}

pub async fn the_whole_of_a_large_output_is_kept(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "read").await;
    let call = CallId::new(run.run, 1, 0);
    let mut batch = mei.batch(&mut run, vec![requested(&call)]);
    batch.full_outputs.push(FullOutput { call: call.clone(), text: "long".repeat(1_000).into() });
    ok(mei.store.append(batch, Urgency::Now).await);
    assert_eq!(ok(mei.store.whole_output(call.clone()).await).len(), 4_000);
    assert_eq!(mei.store.whole_output(call.next_repetition()).await, Err(StoreError::NotFound("output")));
}

fn answered(question: &Question, answer: Answer) -> Fact {
    Fact::ApprovalAnswered {
        approval: question.approval,
        call: question.call_id().cloned(),
        answer,
        by: "mei".into(),
    }
}

pub async fn an_approval_is_settled_once(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let call = CallId::new(run.run, 1, 0);
    let asked = question(&mei, &call, Timestamp(i64::MAX));
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    assert_eq!(row(&mei, &run).await.state, CallState::Asked);
    assert_eq!(ok(mei.store.approvals(mei.scope(), ApprovalFilter::Pending(Page::first(99))).await).len(), 1);

    let approve = Answer::approve();
    ok(mei.append(&mut run, vec![answered(&asked, approve.clone())]).await);
    assert_eq!(row(&mei, &run).await.state, CallState::Approved);
    let held = ok(mei.store.approval(mei.scope(), asked.approval).await);
    assert!(matches!(&held.state, ApprovalState::Answered { answer, .. } if *answer == approve));
    assert_eq!(ok(mei.store.approvals(mei.scope(), ApprovalFilter::Pending(Page::first(99))).await), []);

    let reject = answered(&asked, Answer::Reject { reason: String::new() });
    let second = mei.batch(&mut run, vec![reject]);
    assert_eq!(mei.store.append(second, Urgency::Now).await, Err(StoreError::AlreadyAnswered));
    let all = ApprovalFilter::All(Page::first(9));
    assert_eq!(ok(mei.store.approvals(mei.scope(), all).await), [held]);
}

pub async fn a_question_of_the_model_holds_its_call_until_the_result_of_its_reply(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "greet me").await;
    let call = CallId::new(run.run, 1, 0);
    let permission = question(&mei, &call, Timestamp(i64::MAX));
    let About::Permission { call: about, .. } = permission.about.clone() else { panic!("{permission:?}") };
    let asked = UserQuestion {
        question: "谁?".into(),
        form: ReplyForm::Choice { options: vec![FormOption { value: "Mei".into(), title: None }] },
    };
    let about = About::User { call: about, asked: Box::new(asked) };
    let asked = Question { about, ..permission };
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    assert_eq!(row(&mei, &run).await.state, CallState::Asked);
    let open = ok(mei.store.approvals(mei.scope(), ApprovalFilter::Pending(Page::first(9))).await);
    assert_eq!(open.iter().map(|held| &held.question).collect::<Vec<_>>(), [&asked]);

    let reply = Answer::Reply { value: "Mei".into() };
    ok(mei.append(&mut run, vec![answered(&asked, reply.clone())]).await);
    assert_eq!(row(&mei, &run).await.state, CallState::Asked, "until its result is on record");
    let held = ok(mei.store.approval(mei.scope(), asked.approval).await);
    assert!(matches!(&held.state, ApprovalState::Answered { answer, .. } if *answer == reply));
    let second = mei.batch(&mut run, vec![answered(&asked, Answer::Decline { reason: String::new() })]);
    assert_eq!(mei.store.append(second, Urgency::Now).await, Err(StoreError::AlreadyAnswered));
}

pub async fn open_questions_are_withdrawn_when_the_run_ends(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let call = CallId::new(run.run, 1, 0);
    let asked = question(&mei, &call, Timestamp(i64::MAX));
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    mei.finish(&mut run, "stopped").await;
    let held = ok(mei.store.approval(mei.scope(), asked.approval).await);
    assert_eq!(held.state, ApprovalState::Withdrawn);
}

pub async fn questions_past_their_time_are_found(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let call = CallId::new(run.run, 1, 0);
    let asked = question(&mei, &call, Timestamp(1_000));
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    assert_eq!(ok(mei.store.expired_approvals(Timestamp(999)).await), []);
    let late = ok(mei.store.expired_approvals(Timestamp(1_000)).await);
    assert_eq!(late.iter().map(helve_store::Approval::id).collect::<Vec<_>>(), [asked.approval]);
}
