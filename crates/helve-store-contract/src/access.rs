//! What belongs to the whole server.

use helve_types::{Finding, ModelProfile, Timestamp, UserId};

use super::{Subject, ok};
use helve_store::{ActFor, AuditEntry, StoreError, Token, TokenRights};

fn line(at: i64) -> AuditEntry {
    AuditEntry::new(Timestamp(at), "mei", "access.changed", "t1")
}

pub async fn a_revoked_token_stays_listed_as_revoked(store: Subject) {
    let token = Token {
        id: "t1".into(),
        secret_hash: [7; 32],
        user: UserId("mei".into()),
        rights: TokenRights::Admin,
        act_for: ActFor::Users(vec![UserId("li".into()), UserId("mei".into())]),
        note: "laptop".into(),
        created_at: Timestamp(1),
        revoked_at: None,
    };
    ok(store.create_token(token.clone(), line(1)).await);
    assert_eq!(ok(store.tokens().await), std::slice::from_ref(&token));
    ok(store.revoke_token("t1".into(), line(5)).await);
    assert_eq!(ok(store.tokens().await), [Token { revoked_at: Some(Timestamp(5)), ..token }]);
    assert_eq!(store.revoke_token("t2".into(), line(5)).await, Err(StoreError::NotFound("token")));
}

pub async fn an_ended_session_is_kept_and_of_one_token_the_last_hundred(store: Subject) {
    assert_eq!(ok(store.ended_sessions().await), []);
    ok(store.end_session("t1".into(), Timestamp(7), line(1)).await);
    ok(store.end_session("t1".into(), Timestamp(7), line(1)).await);
    ok(store.end_session("t2".into(), Timestamp(7), line(1)).await);
    let both = [("t1".to_owned(), Timestamp(7)), ("t2".to_owned(), Timestamp(7))];
    assert_eq!(ok(store.ended_sessions().await), both);
    for at in 100..300 {
        ok(store.end_session("t1".into(), Timestamp(at), line(1)).await);
    }
    let ended = ok(store.ended_sessions().await);
    let of_first: Vec<_> = ended.iter().filter(|(token, _)| token == "t1").map(|(_, at)| at.0).collect();
    assert_eq!(of_first, (200..300).collect::<Vec<_>>());
    assert_eq!(ended.len(), 101);
}

pub async fn an_installation_has_one_key(store: Subject) {
    assert_eq!(ok(store.signing_key([1; 32]).await), [1; 32]);
    assert_eq!(ok(store.signing_key([2; 32]).await), [1; 32]);
}

pub async fn a_models_newest_profile_is_the_one_that_is_kept(store: Subject) {
    assert!(ok(store.model_profiles().await).is_empty());
    let first = ModelProfile::unknown(Timestamp(1), "llama at http://localhost");
    let newest = ModelProfile { native: Finding::no("it said so"), at: Timestamp(2), ..first.clone() };
    for profile in [&first, &newest] {
        ok(store.keep_model_profile("local".into(), profile.clone()).await);
    }
    assert_eq!(ok(store.model_profiles().await), [("local".to_owned(), newest)]);
}

pub async fn a_healthy_store_says_so(store: Subject) {
    ok(store.check().await);
    let entry = AuditEntry::new(Timestamp(1), "mei", "breaker.reset", "search_web");
    ok(store.record_audit(entry).await);
    ok(store.close().await);
}
