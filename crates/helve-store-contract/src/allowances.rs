//! Consent that outlives its call, and questions by the page.

use helve_types::{About, Always, Answer, ApprovalKind, CallId, Fact, Question, Timestamp, Within};
use serde_json::json;

use super::{Actor, Started, Subject, ok, question, requested};
use helve_store::{
    Allowance, AllowanceFilter, AllowanceKey, ApprovalFilter, AuditEntry, Page, Place, Scope, StoreError,
};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

async fn ask(actor: &Actor, run: &mut Started, index: u32, kind: ApprovalKind) -> Question {
    let call = CallId::new(run.run, 1, index);
    let mut asked = question(actor, &call, Timestamp(i64::MAX));
    if kind == ApprovalKind::Budget {
        asked.about = About::Budget;
    }
    ok(actor.append(run, vec![requested(&call), Fact::ApprovalAsked(asked.clone())]).await);
    asked
}

async fn answer(actor: &Actor, run: &mut Started, asked: &Question, answer: Answer) {
    let (approval, call) = (asked.approval, asked.call_id().cloned());
    let fact = Fact::ApprovalAnswered { approval, call, answer, by: "root".into() };
    ok(actor.append(run, vec![fact]).await);
}

fn always(within: Within, days: u32) -> Answer {
    let arguments = [("to".to_owned(), json!("*@example.com"))].into();
    Answer::Approve { arguments: None, always: Some(Always { within, arguments, days: Some(days) }) }
}

fn key(actor: &Actor) -> AllowanceKey {
    AllowanceKey {
        user: actor.user.clone(),
        agent: "default".into(),
        tool: "send_mail".into(),
        version: "v1".into(),
    }
}

fn revoked(at: Timestamp) -> AuditEntry {
    AuditEntry::new(at, "mei", "allowance.revoked", "")
}

async fn listed(actor: &Actor, filter: AllowanceFilter) -> Vec<Allowance> {
    ok(actor.store.allowances(actor.scope(), filter, Page::first(99)).await)
}

pub async fn an_answer_for_always_is_kept_with_it(store: Subject) {
    let mei = Actor::new(store, "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let asked = ask(&mei, &mut run, 0, ApprovalKind::Permission).await;
    let once = ask(&mei, &mut run, 1, ApprovalKind::Permission).await;
    let budget = ask(&mei, &mut run, 2, ApprovalKind::Budget).await;
    answer(&mei, &mut run, &once, Answer::approve()).await;
    answer(&mei, &mut run, &budget, always(Within::Agent, 1)).await;
    assert_eq!(listed(&mei, AllowanceFilter::All).await, [], "nobody said always about a call");

    answer(&mei, &mut run, &asked, always(Within::Conversation, 2)).await;
    let held = listed(&mei, AllowanceFilter::All).await.remove(0);
    let expected = Allowance {
        id: asked.approval,
        user: mei.user.clone(),
        agent: "default".into(),
        tool: "send_mail".into(),
        version: "v1".into(),
        within: Within::Conversation,
        run: run.run,
        conversation: run.conversation,
        arguments: [("to".to_owned(), json!("*@example.com"))].into(),
        by: "root".into(),
        created_at: held.created_at,
        expires_at: held.created_at.plus_ms(2 * DAY_MS),
        revoked_at: None,
    };
    assert_eq!(held, expected);
    assert_eq!(ok(mei.store.allowances_in_force(key(&mei), held.created_at).await), [held]);
}

pub async fn a_consent_is_found_for_its_own_tool_until_its_time_is_up_or_it_is_taken_back(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    let asked = ask(&mei, &mut run, 0, ApprovalKind::Permission).await;
    answer(&mei, &mut run, &asked, always(Within::Agent, 1)).await;
    let held = listed(&mei, AllowanceFilter::All).await.remove(0);
    let (now, over) = (held.created_at, held.expires_at);
    let found = async |key: AllowanceKey, at| ok(store.allowances_in_force(key, at).await).len();
    assert_eq!(found(key(&mei), now).await, 1);
    assert_eq!(found(key(&mei), over).await, 0);
    assert_eq!(found(AllowanceKey { version: "v2".into(), ..key(&mei) }, now).await, 0);
    assert_eq!(found(AllowanceKey { tool: "send".into(), ..key(&mei) }, now).await, 0);
    assert_eq!(found(AllowanceKey { agent: "clerk".into(), ..key(&mei) }, now).await, 0);
    let li = Actor::new(store.clone(), "li");
    assert_eq!(found(key(&li), now).await, 0);
    assert_eq!(listed(&li, AllowanceFilter::All).await, []);

    let not_theirs = store.revoke_allowance(li.scope(), held.id, revoked(now)).await;
    assert_eq!(not_theirs, Err(StoreError::NotFound("allowance")));
    assert_eq!(listed(&mei, AllowanceFilter::InForce(now)).await.len(), 1);
    assert_eq!(listed(&mei, AllowanceFilter::InForce(over)).await, []);
    for later in [0, 5] {
        let gone = ok(store.revoke_allowance(mei.scope(), held.id, revoked(now.plus_ms(later))).await);
        assert_eq!(gone.revoked_at, Some(now), "the first time counts");
    }
    assert_eq!(found(key(&mei), now).await, 0);
    assert_eq!(listed(&mei, AllowanceFilter::InForce(now)).await, []);
    assert_eq!(listed(&mei, AllowanceFilter::All).await.len(), 1);
}

pub async fn a_consent_for_a_run_is_in_force_no_longer_than_the_run(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    for (index, within) in (0..).zip([Within::Run, Within::Conversation]) {
        let asked = ask(&mei, &mut run, index, ApprovalKind::Permission).await;
        answer(&mei, &mut run, &asked, always(within, 30)).await;
    }
    let now = listed(&mei, AllowanceFilter::All).await.remove(0).created_at;
    assert_eq!(listed(&mei, AllowanceFilter::InForce(now)).await.len(), 2);
    mei.finish(&mut run, "sent").await;
    let left: Vec<_> =
        listed(&mei, AllowanceFilter::InForce(now)).await.iter().map(|held| held.within).collect();
    assert_eq!(left, [Within::Conversation]);
    assert_eq!(listed(&mei, AllowanceFilter::All).await.len(), 2);
}

pub async fn a_consent_goes_with_its_conversation_unless_it_reaches_further(store: Subject) {
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "send").await;
    for (index, within) in (0..).zip([Within::Run, Within::Conversation, Within::Agent]) {
        let asked = ask(&mei, &mut run, index, ApprovalKind::Permission).await;
        answer(&mei, &mut run, &asked, always(within, 30)).await;
    }
    mei.finish(&mut run, "sent").await;
    assert_eq!(listed(&mei, AllowanceFilter::All).await.len(), 3);
    let Some(conversation) = run.conversation else { panic!("the run has a conversation") };
    ok(store.delete_conversation(mei.scope(), conversation).await);
    let left: Vec<_> = listed(&mei, AllowanceFilter::All).await.iter().map(|held| held.within).collect();
    assert_eq!(left, [Within::Agent]);
}

pub async fn open_questions_are_read_by_the_page(store: Subject) {
    let (mei, li) = (Actor::new(store.clone(), "mei"), Actor::new(store.clone(), "li"));
    let mut run = mei.start(Place::Nowhere, "send").await;
    let mut asked = vec![];
    for index in 0..5 {
        asked.push(ask(&mei, &mut run, index, ApprovalKind::Permission).await.approval);
    }
    let mut other = li.start(Place::Nowhere, "send").await;
    ask(&li, &mut other, 0, ApprovalKind::Permission).await;
    let page = async |scope: Scope, offset, limit| {
        let filter = ApprovalFilter::Pending(Page { offset, limit });
        ok(store.approvals(scope, filter).await).iter().map(helve_store::Approval::id).collect::<Vec<_>>()
    };
    let all = page(mei.scope(), 0, 99).await;
    assert_eq!(all.len(), 5);
    assert!(asked.iter().all(|id| all.contains(id)));
    assert_eq!(page(mei.scope(), 0, 2).await, all[..2]);
    assert_eq!(page(mei.scope(), 2, 2).await, all[2..4]);
    assert_eq!(page(mei.scope(), 4, 2).await, all[4..]);
    assert_eq!(page(Scope::Everyone, 0, 99).await.len(), 6);
    assert_eq!(page(Scope::Everyone, 5, 99).await.len(), 1);
}
