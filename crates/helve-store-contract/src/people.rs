//! Users, groups, and the sessions of the page.

use std::collections::BTreeSet;

use helve_store::{
    ActFor, AuditEntry, GroupChange, GroupRecord, Identity, PasswordHash, ProviderSession, SessionRecord,
    SessionsToEnd, StoreError, Token, TokenRights, USER_SESSIONS_MAX, UserChange, UserKind, UserRecord,
};
use helve_types::{AgentBudget, Timestamp, UserId};

use super::{Subject, ok};

fn line(action: &str) -> AuditEntry {
    AuditEntry::new(Timestamp(9), "root", action, "x").about("mei")
}

fn user(id: &str) -> UserRecord {
    UserRecord::new(UserId(id.into()), Timestamp(1))
}

fn identity(subject: &str) -> Identity {
    Identity {
        issuer: "https://id.example".into(),
        subject: subject.into(),
        claims: BTreeSet::from(["/staff".to_owned()]),
        is_admin: true,
        seen_at: Some(Timestamp(2)),
    }
}

fn change(user: &UserRecord, expected: u32) -> UserChange {
    UserChange { user: user.clone(), expected, ends_sessions: false, audit: line("user.saved") }
}

async fn save_group(store: &Subject, name: &str) -> GroupRecord {
    let group = GroupRecord::new(name, Timestamp(1));
    ok(store.save_group(GroupChange { group, expected: 0, audit: line("group.saved") }).await)
}

fn session(number: u8, user: &str, provider: Option<ProviderSession>) -> SessionRecord {
    SessionRecord {
        secret_hash: [number; 32],
        user: UserId(user.into()),
        started_at: Timestamp(100 + i64::from(number)),
        expires_at: Timestamp(1_000),
        provider,
    }
}

fn provided(subject: &str, sid: Option<&str>) -> Option<ProviderSession> {
    let issuer = "https://id.example".into();
    Some(ProviderSession { issuer, subject: subject.into(), sid: sid.map(str::to_owned) })
}

async fn begin(store: &Subject, session: SessionRecord) {
    ok(store.create_session(session, line("session.started")).await);
}

async fn open_sessions(store: &Subject) -> Vec<u8> {
    ok(store.sessions().await).iter().map(|session| session.secret_hash[0]).collect()
}

pub async fn a_user_is_read_as_it_was_saved_and_each_change_counts(store: Subject) {
    assert_eq!(ok(store.users().await), []);
    save_group(&store, "sales").await;
    let mei = UserRecord {
        name: "Mei 梅\0".into(),
        email: Some("mei@example.com".into()),
        kind: UserKind::ServiceAccount,
        role: TokenRights::Admin,
        groups: BTreeSet::from(["sales".to_owned()]),
        disabled: true,
        password: Some(PasswordHash("$argon2id$x".into())),
        identities: vec![identity("1"), identity("2")],
        signed_in_at: Some(Timestamp(3)),
        ..user("mei")
    };
    let saved = ok(store.save_user(change(&mei, 0)).await);
    assert_eq!(saved, UserRecord { version: 1, ..mei.clone() });
    ok(store.save_user(change(&user("li"), 0)).await);
    let next = UserRecord { identities: vec![identity("2")], groups: BTreeSet::new(), ..mei.clone() };
    assert_eq!(ok(store.save_user(change(&next, 1)).await).version, 2);
    let users = ok(store.users().await);
    assert_eq!(users, [UserRecord { version: 1, ..user("li") }, UserRecord { version: 2, ..next }]);
    assert_eq!(store.save_user(change(&mei, 1)).await, Err(StoreError::Changed(2)));
    assert_eq!(store.save_user(change(&mei, 0)).await, Err(StoreError::Changed(2)));
    assert_eq!(store.save_user(change(&user("tom"), 1)).await, Err(StoreError::Changed(0)));
    assert_eq!(ok(store.users().await), users);
}

pub async fn an_identity_is_one_users_until_it_is_given_up(store: Subject) {
    let mei = UserRecord { identities: vec![identity("1")], ..user("mei") };
    ok(store.save_user(change(&mei, 0)).await);
    let li = UserRecord { identities: vec![identity("1")], ..user("li") };
    assert_eq!(store.save_user(change(&li, 0)).await, Err(StoreError::Taken("identity")));
    assert_eq!(ok(store.users().await).len(), 1);
    ok(store.delete_user(mei.id, Some(1), line("user.deleted")).await);
    ok(store.save_user(change(&li, 0)).await);
}

pub async fn a_deleted_user_leaves_no_tokens_sessions_or_memberships(store: Subject) {
    save_group(&store, "sales").await;
    let mei = UserRecord { groups: BTreeSet::from(["sales".to_owned()]), ..user("mei") };
    ok(store.save_user(change(&mei, 0)).await);
    for (id, owner) in [("t1", "mei"), ("t2", "li")] {
        let token = Token {
            id: id.into(),
            secret_hash: [7; 32],
            user: UserId(owner.into()),
            rights: TokenRights::Chat,
            act_for: ActFor::OnlySelf,
            note: String::new(),
            created_at: Timestamp(1),
            revoked_at: None,
        };
        ok(store.create_token(token, line("token.created")).await);
    }
    begin(&store, session(1, "mei", None)).await;
    begin(&store, session(2, "li", None)).await;
    let delete = |id: &str, expected| store.delete_user(UserId(id.into()), expected, line("user.deleted"));
    assert_eq!(delete("mei", Some(2)).await, Err(StoreError::Changed(1)));
    assert_eq!(delete("tom", None).await, Err(StoreError::NotFound("user")));
    ok(delete("mei", Some(1)).await);
    assert_eq!(ok(store.users().await), []);
    assert_eq!(open_sessions(&store).await, [2]);
    let revoked: Vec<_> = ok(store.tokens().await).into_iter().map(|token| token.revoked_at).collect();
    assert_eq!(revoked, [Some(Timestamp(9)), None]);
    ok(store.save_user(change(&user("mei"), 0)).await);
    assert_eq!(ok(store.users().await)[0].groups, BTreeSet::new());
    // A user that is known by a token alone is found as well.
    ok(delete("li", None).await);
    assert!(ok(store.tokens().await).iter().all(|token| token.revoked_at.is_some()));
    assert!(open_sessions(&store).await.is_empty());
}

pub async fn a_group_is_read_as_it_was_saved_and_deleted_with_its_memberships(store: Subject) {
    let mut sales = GroupRecord::new("sales", Timestamp(1));
    sales.display_name = "Sales 销售".into();
    sales.claims = BTreeSet::from(["/staff/sales".to_owned(), "x".to_owned()]);
    sales.grants.member_day = AgentBudget { calls: Some(7), money: Some(0.5), ..AgentBudget::default() };
    let save = |group: &GroupRecord, expected| {
        store.save_group(GroupChange { group: group.clone(), expected, audit: line("group.saved") })
    };
    assert_eq!(ok(save(&sales, 0).await).version, 1);
    assert_eq!(save(&sales, 0).await, Err(StoreError::Changed(1)));
    let next = GroupRecord { claims: BTreeSet::new(), ..sales };
    ok(save(&next, 1).await);
    assert_eq!(ok(store.groups().await), [GroupRecord { version: 2, ..next.clone() }]);
    let mut mei = user("mei");
    mei.groups.insert("nobody".into());
    assert_eq!(store.save_user(change(&mei, 0)).await, Err(StoreError::NotFound("group")));
    mei.groups = BTreeSet::from(["sales".to_owned()]);
    ok(store.save_user(change(&mei, 0)).await);
    let delete = |expected| store.delete_group("sales".into(), expected, line("group.deleted"));
    assert_eq!(delete(Some(1)).await, Err(StoreError::Changed(2)));
    ok(delete(Some(2)).await);
    assert_eq!(delete(None).await, Err(StoreError::NotFound("group")));
    ok(save(&next, 0).await);
    assert_eq!(
        ok(store.users().await)[0].groups,
        BTreeSet::new(),
        "a new group has no members of the old one"
    );
}

pub async fn sessions_end_one_by_one_by_user_and_by_what_the_provider_knows(store: Subject) {
    begin(&store, session(1, "mei", None)).await;
    begin(&store, session(2, "mei", provided("m", Some("s1")))).await;
    begin(&store, session(3, "li", provided("l", Some("s2")))).await;
    begin(&store, session(4, "li", provided("l", None))).await;
    begin(&store, session(5, "li", None)).await;
    let kept = ok(store.sessions().await);
    assert_eq!(kept[1], session(2, "mei", provided("m", Some("s1"))));
    let end = |which| store.end_sessions(which, line("session.ended"));
    let issuer = || "https://id.example".to_owned();
    let foreign =
        SessionsToEnd::OfProviderSession { issuer: "https://other.example".into(), sid: "s1".into() };
    assert_eq!(ok(end(foreign).await), 0);
    let by_sid = SessionsToEnd::OfProviderSession { issuer: issuer(), sid: "s1".into() };
    assert_eq!(ok(end(by_sid).await), 1);
    assert_eq!(open_sessions(&store).await, [1, 3, 4, 5]);
    assert_eq!(ok(end(SessionsToEnd::OfSubject { issuer: issuer(), subject: "l".into() }).await), 2);
    assert_eq!(ok(end(SessionsToEnd::One { secret_hash: [1; 32] }).await), 1);
    assert_eq!(open_sessions(&store).await, [5]);
    assert_eq!(ok(end(SessionsToEnd::OfUser(UserId("li".into()))).await), 1);
    assert!(open_sessions(&store).await.is_empty());
}

pub async fn of_a_users_sessions_the_last_are_kept_and_expired_ones_go(store: Subject) {
    let max = u8::try_from(USER_SESSIONS_MAX).unwrap_or(u8::MAX);
    begin(&store, session(200, "li", None)).await;
    for number in 0..max + 2 {
        begin(&store, session(number, "mei", None)).await;
    }
    let of_mei: Vec<u8> = open_sessions(&store).await.into_iter().filter(|number| *number != 200).collect();
    assert_eq!(of_mei, (2..max + 2).collect::<Vec<_>>());
    let late = SessionRecord { started_at: Timestamp(1_000), ..session(201, "tom", None) };
    begin(&store, late).await;
    assert_eq!(open_sessions(&store).await, [201]);
}

pub async fn a_users_sessions_end_with_a_change_that_says_so(store: Subject) {
    ok(store.save_user(change(&user("mei"), 0)).await);
    begin(&store, session(1, "mei", None)).await;
    begin(&store, session(2, "li", None)).await;
    ok(store.save_user(change(&user("mei"), 1)).await);
    assert_eq!(open_sessions(&store).await, [1, 2]);
    ok(store.save_user(UserChange { ends_sessions: true, ..change(&user("mei"), 2) }).await);
    assert_eq!(open_sessions(&store).await, [2]);
}
