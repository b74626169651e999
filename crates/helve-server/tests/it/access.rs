//! Who gets in, on every route there is.

use helve_store::TokenRights;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::house::{House, reply};

/// Every operation of the OpenAPI document, with the right it asks for.
async fn operations(house: &House) -> Vec<(Method, String, Option<String>)> {
    let document = house.get_json("/openapi.json").await;
    let mut all = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let right = operation["x-helve-right"].as_str().map(str::to_owned);
            let nothing = "0190163d-8694-739b-aea5-966c26f8ad91";
            let path = ["run", "call", "conversation", "approval", "tool"]
                .iter()
                .fold(path.clone(), |path, name| path.replace(&format!("{{{name}}}"), nothing));
            all.push((method, path, right));
        }
    }
    all
}

#[tokio::test]
async fn every_route_asks_every_credential_the_same_question() {
    let house = House::new([]).await;
    let operations = operations(&house).await;
    assert!(operations.len() >= 24, "{}", operations.len());
    let chat = house.token("mei", TokenRights::Chat).await;
    let (id, _) = chat.split_once('.').unwrap();
    let wrong = [
        String::new(),
        "Bearer ".into(),
        "Bearer nonsense".into(),
        format!("Bearer {id}.{}", "0".repeat(64)),
        format!("Basic {chat}"),
        format!("Bearer {}", &chat[..chat.len() - 1]),
    ];
    for (method, path, right) in &operations {
        let ask = |authorization: &str| {
            let request = house.request(method.clone(), path).json(&json!({}));
            if authorization.is_empty() { request } else { request.header("authorization", authorization) }
        };
        for credential in &wrong {
            let status = ask(credential).send().await.unwrap().status();
            let refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS);
            // Signing in with an empty body is a bad request; everything public is simply answered.
            assert_eq!(refused, right.is_some(), "{method} {path} with `{credential}`: {status}");
        }
    }
    // Guessing stops being answered after a while, so the right tokens are tried in a house of their own.
    drop(house);
    let house = House::new([]).await;
    let chat_of = house.token("mei", TokenRights::Chat).await;
    let admin_of = house.token("root", TokenRights::Admin).await;
    for (method, path, right) in &operations {
        for (token, is_admin) in [(&chat_of, false), (&admin_of, true)] {
            let request = house.request(method.clone(), path).bearer_auth(token).json(&json!({}));
            let status = request.send().await.unwrap().status();
            let let_in = !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            let may = right.as_deref() != Some("admin") || is_admin;
            let signs_in = path == "/api/session" && method == Method::POST;
            assert!(let_in == may || signs_in, "{method} {path} admin {is_admin}: {status}");
        }
    }
}

#[tokio::test]
async fn without_a_token_this_machine_may_do_everything() {
    let house = House::new([]).await;
    let session = house.get_json("/api/session").await;
    assert_eq!(session, json!({"needed": false, "signed_in": true, "user": "local", "admin": true}));
    assert_eq!(house.get("/api/conversations").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn the_page_signs_in_with_a_token_and_out_again() {
    let house = House::new([]).await;
    let token = house.token("mei", TokenRights::Chat).await;
    assert_eq!(house.get_json("/api/session").await["signed_in"], false);
    let wrong = house.post("/api/session", json!({"token": "no"})).await;
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    let signed_in = house.post("/api/session", json!({"token": token})).await;
    assert_eq!(signed_in.status(), StatusCode::NO_CONTENT);
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(token.split_once('.').unwrap().1), "the cookie holds the secret");
    let value = cookie.split(';').next().unwrap();

    let with = |page: bool| {
        let request = house.request(Method::GET, "/api/conversations").header("cookie", value);
        if page { request.header("x-helve-page", "1") } else { request }
    };
    assert_eq!(with(true).send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(with(false).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let out = house.request(Method::DELETE, "/api/session").send().await.unwrap();
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn a_token_sees_and_acts_for_its_own_user_only() {
    let house = House::new([reply("say Hello Mei."), reply("say Hello Li.")]).await;
    let mei = house.token("mei", TokenRights::Chat).await;
    let li = house.token("li", TokenRights::Chat).await;
    let root = house.token("root", TokenRights::Admin).await;
    let post = |token: &str, body: Value| {
        house.request(Method::POST, "/api/runs").bearer_auth(token).json(&body).send()
    };
    let started: Value = post(&mei, json!({"message": "hi"})).await.unwrap().json().await.unwrap();
    let run = started["run"].as_str().unwrap().to_owned();
    let conversation = started["conversation"].as_str().unwrap().to_owned();

    let status = async |token: &str, path: String| {
        house.request(Method::GET, &path).bearer_auth(token).send().await.unwrap().status()
    };
    for path in [
        format!("/api/runs/{run}"),
        format!("/api/runs/{run}/events"),
        format!("/api/conversations/{conversation}"),
        format!("/api/conversations/{conversation}/messages"),
    ] {
        assert_eq!(status(&li, path.clone()).await, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(status(&root, path.clone()).await, StatusCode::OK, "{path}");
    }
    let as_mei = post(&li, json!({"message": "hi", "user": "mei"})).await.unwrap();
    assert_eq!(as_mei.status(), StatusCode::FORBIDDEN);
    let into_hers = post(&li, json!({"message": "hi", "conversation": conversation})).await.unwrap();
    assert_eq!(into_hers.status(), StatusCode::NOT_FOUND);
    let for_li = post(&root, json!({"message": "hi", "user": "li"})).await.unwrap();
    assert_eq!(for_li.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn other_sites_pages_are_kept_out_of_every_route() {
    let house = House::new([]).await;
    for (method, path, _) in operations(&house).await {
        let ask = |name: &'static str, value: &'static str| {
            house.request(method.clone(), &path).header(name, value).json(&json!({})).send()
        };
        let cases = [
            ("host", "evil.test", StatusCode::MISDIRECTED_REQUEST),
            ("origin", "http://evil.test", StatusCode::FORBIDDEN),
            ("origin", "null", StatusCode::FORBIDDEN),
            ("sec-fetch-site", "cross-site", StatusCode::FORBIDDEN),
        ];
        for (name, value, status) in cases {
            assert_eq!(ask(name, value).await.unwrap().status(), status, "{method} {path} {name}: {value}");
        }
    }
    let answer = house.get("/api/models").await;
    assert!(answer.headers().keys().all(|name| !name.as_str().starts_with("access-control-")));
}

#[tokio::test]
async fn a_revoked_token_is_refused() {
    let house = House::new([]).await;
    let kept = house.token("mei", TokenRights::Chat).await;
    let revoked = house.token("li", TokenRights::Chat).await;
    let id = revoked.split_once('.').unwrap().0.to_owned();
    helve_store::Store::revoke_token(&*house.store, id, house.world.now()).await.unwrap();
    house.app.refresh_access().await.unwrap();
    let ask = async |token: &str| {
        house.request(Method::GET, "/api/models").bearer_auth(token).send().await.unwrap().status()
    };
    assert_eq!(ask(&kept).await, StatusCode::OK);
    assert_eq!(ask(&revoked).await, StatusCode::UNAUTHORIZED);
}
