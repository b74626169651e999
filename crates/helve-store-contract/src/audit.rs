//! The audit log.

use helve_store::{
    ActFor, AuditEntry, AuditFilter, AuditHead, AuditRecord, ChainedEntry, StoreError, Token, TokenRights,
    verify_audit,
};
use helve_types::{Answer, CallId, Fact, Timestamp, UserId};

use super::{Actor, Subject, ok, question, requested};

async fn record(store: &Subject, at: i64, by: &str, action: &str, about: Option<&str>) {
    let entry = AuditEntry::new(Timestamp(at), by, action, format!("at {at}"));
    let entry = about.into_iter().fold(entry, |entry, about| entry.about(about));
    ok(store.record_audit(entry).await);
}

async fn verified(store: &Subject) -> AuditHead {
    match ok(verify_audit(&**store, vec![], |_| {}).await) {
        Ok(head) => head,
        Err(broken) => panic!("{broken}"),
    }
}

pub async fn entries_of_the_audit_log_are_a_chain_in_which_people_are_pseudonyms(store: Subject) {
    assert_eq!(ok(store.audit_head().await), AuditHead::default());
    for at in 1..=5 {
        record(&store, at, "mei", "tool.created", (at > 3).then_some("li")).await;
    }
    let chain = ok(store.audit_chain(0, 99).await);
    assert_eq!(chain.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(ok(store.audit_chain(2, 2).await), chain[2..4]);
    assert_eq!(ok(store.audit_head().await), chain[4].head());
    assert_eq!(verified(&store).await, chain[4].head());
    assert!(chain.iter().all(|entry| entry.by == chain[0].by));
    assert_ne!(chain[4].about.as_ref(), Some(&chain[0].by));
    assert!(!format!("{chain:?}").contains("mei"));
}

pub async fn an_entry_is_found_by_each_thing_that_is_known_of_it(store: Subject) {
    record(&store, 1, "mei", "tool.created", None).await;
    record(&store, 2, "li", "tool.created", None).await;
    record(&store, 3, "li", "toolbox.created", Some("mei")).await;
    record(&store, 4, "li", "tool.deleted", None).await;
    let found = async |filter: AuditFilter, limit: usize| -> Vec<u64> {
        ok(store.audit_records(filter, limit).await).iter().map(|record| record.entry.seq).collect()
    };
    let all = AuditFilter::default();
    assert_eq!(found(all.clone(), 99).await, [4, 3, 2, 1]);
    assert_eq!(found(all.clone(), 2).await, [4, 3]);
    assert_eq!(found(AuditFilter { before: Some(3), ..all.clone() }, 99).await, [2, 1]);
    let action = |action: &str| AuditFilter { action: Some(action.into()), ..AuditFilter::default() };
    assert_eq!(found(action("tool"), 99).await, [4, 2, 1]);
    assert_eq!(found(action("tool.created"), 99).await, [2, 1]);
    assert_eq!(found(action("too%"), 99).await, [] as [u64; 0]);
    let user = |user: &str| AuditFilter { user: Some(user.into()), ..AuditFilter::default() };
    assert_eq!(found(user("mei"), 99).await, [3, 1]);
    assert_eq!(found(user("nobody"), 99).await, [] as [u64; 0]);
    let times = AuditFilter { since: Some(Timestamp(2)), until: Some(Timestamp(4)), ..all.clone() };
    assert_eq!(found(times, 99).await, [3, 2]);
    let records = ok(store.audit_records(all, 99).await);
    let names = |record: &AuditRecord| (record.by.clone(), record.about.clone());
    assert_eq!(names(&records[1]), (Some("li".into()), Some("mei".into())));
}

pub async fn a_person_is_forgotten_and_the_chain_stays_whole(store: Subject) {
    record(&store, 1, "mei", "tool.created", None).await;
    record(&store, 2, "li", "tool.created", Some("mei")).await;
    let before = ok(store.audit_chain(0, 99).await);
    let entry = AuditEntry::new(Timestamp(3), "li", "person.erased", "").about("mei");
    ok(store.forget_pseudonym(UserId("mei".into()), entry).await);
    assert_eq!(ok(store.audit_chain(0, 2).await), before);
    assert_eq!(verified(&store).await.seq, 3);
    let of_mei = AuditFilter { user: Some("mei".into()), ..AuditFilter::default() };
    assert_eq!(ok(store.audit_records(of_mei, 99).await), []);
    let records = ok(store.audit_records(AuditFilter::default(), 99).await);
    assert_eq!((records[0].by.as_deref(), records[0].about.as_deref()), (Some("li"), None));
    // What the user does later is not joined to what is forgotten.
    record(&store, 4, "mei", "tool.deleted", None).await;
    let later = ok(store.audit_chain(3, 99).await);
    assert_ne!(later[0].by, before[0].by);
}

pub async fn tokens_sessions_and_answers_leave_their_entries_and_refused_ones_none(store: Subject) {
    let line = |action: &str| AuditEntry::new(Timestamp(9), "admin", action, "t1");
    let token = Token {
        id: "t1".into(),
        secret_hash: [7; 32],
        user: UserId("mei".into()),
        rights: TokenRights::Chat,
        act_for: ActFor::OnlySelf,
        note: String::new(),
        created_at: Timestamp(1),
        revoked_at: None,
    };
    ok(store.create_token(token, line("token.created")).await);
    ok(store.revoke_token("t1".into(), line("token.revoked")).await);
    let refused = store.revoke_token("t2".into(), line("token.revoked")).await;
    assert_eq!(refused, Err(StoreError::NotFound("token")));
    ok(store.end_session("t1".into(), Timestamp(1), line("session.ended")).await);

    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(mei.new_conversation(), "send it").await;
    let call = CallId::new(run.run, 1, 0);
    let question = question(&mei, &call, Timestamp(i64::MAX));
    let (approval, secret) = (question.approval, "not before noon");
    ok(mei.append(&mut run, vec![requested(&call), Fact::ApprovalAsked(question)]).await);
    let answer = Answer::Reject { reason: secret.into() };
    let answered = Fact::ApprovalAnswered { approval, call: Some(call), answer, by: "li".into() };
    ok(mei.append(&mut run, vec![answered.clone()]).await);
    assert_eq!(mei.append(&mut run, vec![answered]).await, Err(StoreError::AlreadyAnswered));

    let chain = ok(store.audit_chain(0, 99).await);
    let actions: Vec<&str> = chain.iter().map(|entry| &*entry.action).collect();
    let expected = ["token.created", "token.revoked", "session.ended", "approval.asked", "approval.answered"];
    assert_eq!(actions, expected);
    let details: Vec<&ChainedEntry> = chain.iter().skip(3).collect();
    assert_eq!(details[0].detail, format!("{approval} permission send_mail hash"));
    assert_eq!(details[1].detail, format!("{approval} reject"));
    assert_eq!(verified(&store).await.seq, 5);
    let answered = ok(store.audit_records(AuditFilter::default(), 1).await);
    assert_eq!((answered[0].by.as_deref(), answered[0].about.as_deref()), (Some("li"), Some("mei")));
}
