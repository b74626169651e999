//! Users with rows and their groups: what their credentials are good for.

use std::collections::BTreeSet;

use helve_store::{
    Access, ActFor, AuditEntry, GroupChange, GroupRecord, TokenRights, UserChange, UserRecord,
};
use helve_types::{Timestamp, UserId};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply};

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
    let problem: Value = refused.json().await.unwrap();
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
        answer.json::<Value>().await.unwrap()
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

async fn send(
    server: &TestServer,
    method: Method,
    path: &str,
    token: &str,
    body: Value,
) -> (StatusCode, Value) {
    let request = server.request(method, path).bearer_auth(token);
    let request = if body.is_null() { request } else { request.json(&body) };
    let answer = request.send().await.unwrap();
    let status = answer.status();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

#[tokio::test]
async fn users_and_groups_are_made_changed_and_deleted_by_administrators() {
    let server = TestServer::new([]).await;
    let admin = server.token("root", TokenRights::Admin).await;
    let mei = server.token("mei", TokenRights::Chat).await;
    let ask = async |method, path: &str, body| send(&server, method, path, &admin, body).await;
    let group = json!({"name": "sales", "display_name": "Sales", "member_day": {"calls": 5}});
    assert_eq!(ask(Method::POST, "/api/groups", group.clone()).await.0, StatusCode::CREATED);
    assert_eq!(ask(Method::POST, "/api/groups", group).await.0, StatusCode::CONFLICT);
    assert_eq!(ask(Method::POST, "/api/groups", json!({"name": "a b"})).await.1["code"], "bad_group");
    let user = json!({"id": "mei", "name": "Mei Lin", "email": "mei@example.com", "groups": ["sales"]});
    let (code, made) = ask(Method::POST, "/api/users", user).await;
    assert_eq!(
        (code, &made["role"], &made["member_of"]),
        (StatusCode::CREATED, &json!("chat"), &json!(["sales"]))
    );
    let me = send(&server, Method::GET, "/api/me", &mei, Value::Null).await.1;
    assert_eq!(me, json!({"id": "mei", "name": "Mei Lin", "groups": ["sales"], "rights": "chat"}));

    // A change for another version than the one there is changes nothing.
    let stale =
        server.request(Method::PATCH, "/api/users/mei").bearer_auth(&admin).header("if-match", "\"7\"");
    let stale = stale.json(&json!({"disabled": true})).send().await.unwrap();
    assert_eq!(stale.status(), StatusCode::CONFLICT);
    assert_eq!(
        ask(Method::PATCH, "/api/users/mei", json!({"groups": ["nothing"]})).await.0,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        ask(Method::PATCH, "/api/users/mei", json!({"rights": "admin"})).await.1["code"],
        "unknown_field"
    );
    let identities = json!({"identities": [{"issuer": "https://id.example", "subject": "1"}]});
    assert_eq!(ask(Method::PATCH, "/api/users/mei", identities.clone()).await.0, StatusCode::OK);
    let taken = json!({"id": "li", "identities": identities["identities"]});
    assert_eq!(ask(Method::POST, "/api/users", taken).await.1["code"], "taken");

    assert_eq!(
        ask(Method::PUT, "/api/groups/sales/members/tom", Value::Null).await.0,
        StatusCode::NO_CONTENT
    );
    let sales = ask(Method::GET, "/api/groups/sales", Value::Null).await.1;
    assert_eq!((&sales["members"], &sales["member_day"]), (&json!(["mei", "tom"]), &json!({"calls": 5})));
    assert_eq!(
        ask(Method::DELETE, "/api/groups/sales/members/mei", Value::Null).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(send(&server, Method::GET, "/api/me", &mei, Value::Null).await.1["groups"], json!([]));
    assert_eq!(ask(Method::DELETE, "/api/groups/sales", Value::Null).await.0, StatusCode::NO_CONTENT);
    assert_eq!(ask(Method::DELETE, "/api/users/mei", Value::Null).await.0, StatusCode::NO_CONTENT);
    assert_eq!(status(&server, "/api/me", &mei).await, StatusCode::UNAUTHORIZED, "its token went with it");
    for (method, path) in
        [(Method::GET, "/api/users"), (Method::GET, "/api/groups"), (Method::GET, "/api/users/tom")]
    {
        let chat = server.token("tom", TokenRights::Chat).await;
        assert_eq!(send(&server, method, path, &chat, Value::Null).await.0, StatusCode::FORBIDDEN);
    }
    let actions: Vec<String> = server.store.audit_entries().into_iter().map(|entry| entry.action).collect();
    for action in [
        "group.created",
        "user.created",
        "user.changed",
        "group.member_added",
        "group.member_removed",
        "user.deleted",
    ] {
        assert!(actions.iter().any(|known| known == action), "{action}: {actions:?}");
    }
}

#[tokio::test]
async fn a_user_makes_tokens_for_itself_alone_and_sees_no_others() {
    let server = TestServer::new([]).await;
    let admin = server.token("root", TokenRights::Admin).await;
    let mei = server.token("mei", TokenRights::Chat).await;
    let make = async |token: &str, body| send(&server, Method::POST, "/api/tokens", token, body).await;
    let (status, made) = make(&mei, json!({"note": "laptop"})).await;
    assert_eq!((status, &made["user"]), (StatusCode::CREATED, &json!("mei")));
    let secret = made["secret"].as_str().unwrap().to_owned();
    assert_eq!(send(&server, Method::GET, "/api/me", &secret, Value::Null).await.1["id"], "mei");
    for more in [json!({"user": "li"}), json!({"rights": "admin"}), json!({"act_for": "*"})] {
        assert_eq!(make(&mei, more).await.1["code"], "admin_needed");
    }
    let (_, service) = make(&admin, json!({"user": "bot", "act_for": "mei,li"})).await;
    assert_eq!(service["act_for"], "mei,li");
    let list = send(&server, Method::GET, "/api/tokens", &mei, Value::Null).await.1;
    let owners: Vec<&Value> = list["tokens"].as_array().unwrap().iter().map(|token| &token["user"]).collect();
    assert_eq!(owners, ["mei", "mei"]);
    assert!(!list.to_string().contains(secret.split_once('.').unwrap().1));
    let bots = format!("/api/tokens/{}", service["id"].as_str().unwrap());
    assert_eq!(send(&server, Method::DELETE, &bots, &mei, Value::Null).await.0, StatusCode::NOT_FOUND);
    assert_eq!(send(&server, Method::DELETE, &bots, &admin, Value::Null).await.0, StatusCode::NO_CONTENT);
    let own = format!("/api/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(send(&server, Method::DELETE, &own, &mei, Value::Null).await.0, StatusCode::NO_CONTENT);
    assert_eq!(send(&server, Method::GET, "/api/me", &secret, Value::Null).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_password_signs_in_until_it_is_changed_and_guesses_are_limited() {
    let server = TestServer::new([]).await;
    let admin = server.token("root", TokenRights::Admin).await;
    let ask = async |method, path: &str, body| send(&server, method, path, &admin, body).await.0;
    assert_eq!(ask(Method::POST, "/api/users", json!({"id": "mei"})).await, StatusCode::CREATED);
    let give = async |password: &str| {
        ask(Method::PUT, "/api/users/mei/password", json!({"password": password})).await
    };
    assert_eq!(give("short").await, StatusCode::BAD_REQUEST);
    assert_eq!(give("correct horse").await, StatusCode::NO_CONTENT);
    let sign_in = async |user: &str, password: &str| {
        let answer = server.post("/api/session", json!({"user": user, "password": password})).await;
        let cookie = answer.headers().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
        (
            answer.status(),
            cookie.and_then(|cookie| Some(cookie.split_once(';')?.0.to_owned())).unwrap_or_default(),
        )
    };
    let who = async |cookie: &str| {
        let request = server.request(Method::GET, "/api/session").header("cookie", cookie);
        let answer = request.header("x-helve-page", "1").send().await.unwrap();
        answer.json::<Value>().await.unwrap()["user"].clone()
    };
    let (status, cookie) = sign_in("mei", "correct horse").await;
    assert_eq!((status, who(&cookie).await), (StatusCode::NO_CONTENT, json!("mei")));
    let own =
        server.request(Method::PUT, "/api/me/password").header("cookie", &cookie).header("x-helve-page", "1");
    let change = own.json(&json!({"current": "wrong", "new": "battery staple"}));
    assert_eq!(change.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(give("battery staple").await, StatusCode::NO_CONTENT);
    assert_eq!(who(&cookie).await, Value::Null, "another password ends the sessions");
    let (_, cookie) = sign_in("mei", "battery staple").await;
    assert_eq!(ask(Method::PATCH, "/api/users/mei", json!({"disabled": true})).await, StatusCode::OK);
    assert_eq!(who(&cookie).await, Value::Null);
    assert_eq!(ask(Method::PATCH, "/api/users/mei", json!({"disabled": false})).await, StatusCode::OK);
    assert_eq!(who(&cookie).await, Value::Null, "the session does not come back");
    // One wrong password was counted above. Unknown names count as well.
    for number in 0..9 {
        let user = if number % 2 == 0 { "mei" } else { "nobody" };
        assert_eq!(sign_in(user, "guess").await.0, StatusCode::UNAUTHORIZED, "{number}");
    }
    assert_eq!(sign_in("mei", "battery staple").await.0, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn an_agent_is_its_groups_alone_and_a_run_ends_when_its_user_leaves_the_group() {
    let story = helve_model::Reply::new().text("thinking ").done();
    let agents = ["default", "clerk"].map(|name| helve_runtime::AgentSettings {
        name: name.into(),
        groups: if name == "clerk" { vec!["sales".into()] } else { vec![] },
        ..helve_runtime::AgentSettings::default()
    });
    let options = ServerOptions { agents: Some(agents.into()), ..ServerOptions::default() };
    let server = TestServer::with_options(options, [reply(r#"call send {"q": "x"}"#), story]).await;
    let admin = server.token("root", TokenRights::Admin).await;
    let mei = server.token("mei", TokenRights::Chat).await;
    let ask = async |method, path: &str, body| send(&server, method, path, &admin, body).await.0;
    let start = async || {
        let body = json!({"message": "send x", "agent": "clerk"});
        send(&server, Method::POST, "/api/runs", &mei, body).await
    };
    assert_eq!(ask(Method::POST, "/api/groups", json!({"name": "sales"})).await, StatusCode::CREATED);
    assert_eq!(start().await.1["code"], "unknown_agent");
    assert_eq!(ask(Method::PUT, "/api/groups/sales/members/mei", Value::Null).await, StatusCode::NO_CONTENT);
    let (status, started) = start().await;
    assert_eq!(status, StatusCode::CREATED);
    let run = format!("/api/runs/{}", started["run"].as_str().unwrap());
    let state = async || {
        loop {
            let state = send(&server, Method::GET, &run, &mei, Value::Null).await.1;
            if state["state"] != "running" {
                return state;
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(state().await["state"], "waiting_approval");
    assert_eq!(
        ask(Method::DELETE, "/api/groups/sales/members/mei", Value::Null).await,
        StatusCode::NO_CONTENT
    );
    let listed = send(&server, Method::GET, "/api/approvals", &mei, Value::Null).await.1;
    let approval = format!("/api/approvals/{}", listed["approvals"][0]["approval"].as_str().unwrap());
    _ = send(&server, Method::POST, &approval, &mei, json!({"decision": "approve"})).await;
    let over = state().await;
    assert_eq!(over["state"], "failed", "{over}");
    let events = server.request(Method::GET, &format!("{run}/events")).bearer_auth(&mei);
    let events = events.send().await.unwrap().text().await.unwrap();
    assert!(events.contains("access_withdrawn"), "{events}");
    assert_eq!(start().await.1["code"], "unknown_agent");
}
