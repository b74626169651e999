//! Users with rows and their groups: what their credentials are good for.

use std::collections::BTreeSet;

use helve_store::{
    Access, ActFor, AuditEntry, GroupChange, GroupRecord, TokenRights, UserChange, UserRecord,
};
use helve_types::{Timestamp, UserId};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::test_server::TestServer;

fn line() -> AuditEntry {
    AuditEntry::new(Timestamp(1), "test", "user.saved", "")
}

async fn save(server: &TestServer, user: UserRecord, expected: u32) {
    let change = UserChange { user, expected, ends_sessions: false, audit: line() };
    server.store.save_user(change).await.unwrap();
    server.app.refresh_access().await.unwrap();
}

async fn status(server: &TestServer, path: &str, token: &str) -> StatusCode {
    server.request(Method::GET, path).bearer_auth(token).send().await.unwrap().status()
}

#[tokio::test]
async fn a_token_may_do_no_more_than_its_user_and_that_at_once() {
    let server = TestServer::new([]).await;
    let token = server.token("mei", TokenRights::Admin).await;
    let admins = "/api/tools/nothing/grants";
    assert_eq!(status(&server, admins, &token).await, StatusCode::NOT_FOUND);
    let mei = UserRecord::new(UserId("mei".into()), Timestamp(1));
    save(&server, UserRecord { role: TokenRights::Admin, ..mei.clone() }, 0).await;
    assert_eq!(status(&server, admins, &token).await, StatusCode::NOT_FOUND);
    save(&server, mei, 1).await;
    assert_eq!(status(&server, admins, &token).await, StatusCode::FORBIDDEN);
    assert_eq!(status(&server, "/api/models", &token).await, StatusCode::OK);
}

#[tokio::test]
async fn nothing_that_a_disabled_user_shows_is_accepted_and_nobody_acts_for_it() {
    let server = TestServer::new([]).await;
    let token = server.token("mei", TokenRights::Chat).await;
    let service = server.token_for("bot", TokenRights::Chat, ActFor::Everybody).await;
    let mei = UserRecord::new(UserId("mei".into()), Timestamp(1));
    save(&server, UserRecord { disabled: true, ..mei.clone() }, 0).await;
    let refused = server.request(Method::GET, "/api/models").bearer_auth(&token).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let problem: serde_json::Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "user_disabled");
    assert_eq!(status(&server, "/api/conversations?user=mei", &service).await, StatusCode::FORBIDDEN);
    assert_eq!(status(&server, "/api/conversations?user=li", &service).await, StatusCode::OK);
    save(&server, mei, 1).await;
    assert_eq!(status(&server, "/api/models", &token).await, StatusCode::OK);
    assert_eq!(status(&server, "/api/conversations?user=mei", &service).await, StatusCode::OK);
}

#[tokio::test]
async fn the_session_names_the_groups_that_the_user_has_now() {
    let server = TestServer::new([]).await;
    let token = server.token("mei", TokenRights::Chat).await;
    let session = async || {
        let answer = server.request(Method::GET, "/api/session").bearer_auth(&token).send().await.unwrap();
        answer.json::<serde_json::Value>().await.unwrap()
    };
    assert_eq!(session().await["groups"], json!([]));
    let group = GroupRecord::new("sales", Timestamp(1));
    server.store.save_group(GroupChange { group, expected: 0, audit: line() }).await.unwrap();
    let mei = UserRecord::new(UserId("mei".into()), Timestamp(1));
    save(&server, UserRecord { groups: BTreeSet::from(["sales".to_owned()]), ..mei.clone() }, 0).await;
    assert_eq!(session().await["groups"], json!(["sales"]));
    save(&server, mei, 1).await;
    assert_eq!(session().await["groups"], json!([]));
}
