//! Who gets in, on every route there is.

use helve_server::Network;
use helve_store::TokenRights;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply};

/// Every operation of the OpenAPI document, with the right it asks for.
async fn operations(server: &TestServer) -> Vec<(Method, String, Option<String>)> {
    let document = server.get_json("/openapi.json").await;
    let mut all = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let right = operation["x-helve-right"].as_str().map(str::to_owned);
            let nothing = "0190163d-8694-739b-aea5-966c26f8ad91";
            let path = ["run", "call", "conversation", "approval", "allowance", "tool"]
                .iter()
                .fold(path.clone(), |path, name| path.replace(&format!("{{{name}}}"), nothing));
            all.push((method, path, right));
        }
    }
    all
}

#[tokio::test]
async fn every_route_asks_every_credential_the_same_question() {
    let server = TestServer::new([]).await;
    let operations = operations(&server).await;
    assert!(operations.len() >= 24, "{}", operations.len());
    for (method, path, right) in &operations {
        // Guessing is refused after a while, so each route is tried in a server of its own.
        let server = TestServer::new([]).await;
        let chat = server.token("mei", TokenRights::Chat).await;
        let (id, _) = chat.split_once('.').unwrap();
        let wrong = [
            String::new(),
            "Bearer ".into(),
            "Bearer nonsense".into(),
            format!("Bearer {id}.{}", "0".repeat(64)),
            format!("Basic {chat}"),
            format!("Bearer {}", &chat[..chat.len() - 1]),
        ];
        for credential in &wrong {
            let mut request = server.request(method.clone(), path).json(&json!({}));
            if !credential.is_empty() {
                request = request.header("authorization", credential);
            }
            let status = request.send().await.unwrap().status();
            assert_ne!(status, StatusCode::TOO_MANY_REQUESTS, "{method} {path}");
            // Signing in with an empty body is a bad request; everything public is simply answered.
            let refused = status == StatusCode::UNAUTHORIZED;
            assert_eq!(refused, right.is_some(), "{method} {path} with `{credential}`: {status}");
        }
    }
    let chat_of = server.token("mei", TokenRights::Chat).await;
    let admin_of = server.token("root", TokenRights::Admin).await;
    for (method, path, right) in &operations {
        for (token, is_admin) in [(&chat_of, false), (&admin_of, true)] {
            let request = server.request(method.clone(), path).bearer_auth(token).json(&json!({}));
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
    let server = TestServer::new([]).await;
    let session = server.get_json("/api/session").await;
    let ways = json!({"token": true, "password": false});
    assert_eq!(
        session,
        json!({"needed": false, "signed_in": true, "user": "local", "admin": true, "groups": [], "ways": ways})
    );
    assert_eq!(server.get("/api/conversations").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn the_page_signs_in_with_a_token_and_out_again() {
    let server = TestServer::new([]).await;
    let token = server.token("mei", TokenRights::Chat).await;
    assert_eq!(server.get_json("/api/session").await["signed_in"], false);
    let wrong = server.post("/api/session", json!({"token": "no"})).await;
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    let signed_in = server.post("/api/session", json!({"token": token})).await;
    assert_eq!(signed_in.status(), StatusCode::NO_CONTENT);
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(token.split_once('.').unwrap().1), "the cookie holds the secret");
    let value = cookie.split(';').next().unwrap();

    let with = |page: bool| {
        let request = server.request(Method::GET, "/api/conversations").header("cookie", value);
        if page { request.header("x-helve-page", "1") } else { request }
    };
    assert_eq!(with(true).send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(with(false).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let out = server.request(Method::DELETE, "/api/session").send().await.unwrap();
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn a_token_sees_and_acts_for_its_own_user_only() {
    let server = TestServer::new([reply("say Hello Mei."), reply("say Hello Li.")]).await;
    let mei = server.token("mei", TokenRights::Chat).await;
    let li = server.token("li", TokenRights::Chat).await;
    let root = server.token("root", TokenRights::Admin).await;
    let post = |token: &str, body: Value| {
        server.request(Method::POST, "/api/runs").bearer_auth(token).json(&body).send()
    };
    let started: Value = post(&mei, json!({"message": "hi"})).await.unwrap().json().await.unwrap();
    let run = started["run"].as_str().unwrap().to_owned();
    let conversation = started["conversation"].as_str().unwrap().to_owned();

    let status = async |token: &str, path: String| {
        server.request(Method::GET, &path).bearer_auth(token).send().await.unwrap().status()
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
    let server = TestServer::new([]).await;
    for (method, path, _) in operations(&server).await {
        let ask = |name: &'static str, value: &'static str| {
            server.request(method.clone(), &path).header(name, value).json(&json!({})).send()
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
    let answer = server.get("/api/models").await;
    assert!(answer.headers().keys().all(|name| !name.as_str().starts_with("access-control-")));
}

#[tokio::test]
async fn a_revoked_token_is_refused() {
    let server = TestServer::new([]).await;
    let kept = server.token("mei", TokenRights::Chat).await;
    let revoked = server.token("li", TokenRights::Chat).await;
    let id = revoked.split_once('.').unwrap().0.to_owned();
    server.revoke_token(id).await;
    let ask = async |token: &str| {
        server.request(Method::GET, "/api/models").bearer_auth(token).send().await.unwrap().status()
    };
    assert_eq!(ask(&kept).await, StatusCode::OK);
    assert_eq!(ask(&revoked).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn revoking_the_last_token_lets_nobody_in() {
    let server = TestServer::new([]).await;
    let token = server.token("mei", TokenRights::Chat).await;
    let id = token.split_once('.').unwrap().0.to_owned();
    server.revoke_token(id).await;
    assert_eq!(server.get("/api/conversations").await.status(), StatusCode::UNAUTHORIZED);
    let session = server.get_json("/api/session").await;
    assert_eq!((&session["needed"], &session["signed_in"]), (&json!(true), &json!(false)));
    assert_eq!(session.get("user"), None);
}

/// Shows a wrong token so often that an eleventh would be one too many.
async fn guess(server: &TestServer, path: &str) {
    for _ in 0..10 {
        let request = server.request(Method::GET, path).bearer_auth("guess");
        assert_ne!(request.send().await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    }
}

#[tokio::test]
async fn after_ten_wrong_tokens_nothing_from_that_address_is_looked_at_in_whatever_form_it_comes() {
    for path in ["/api/models", "/api/session"] {
        let server = TestServer::new([]).await;
        let right = server.token("mei", TokenRights::Chat).await;
        let cookie = sign_in(&server, &right).await;
        guess(&server, path).await;
        let get = |path: &str| server.request(Method::GET, path);
        let of_page = |path: &str| get(path).header("cookie", &cookie).header("x-helve-page", "1");
        let sign_in =
            |token: &str| server.request(Method::POST, "/api/session").json(&json!({"token": token}));
        for request in [
            get("/api/models").bearer_auth("guess"),
            get("/api/session").bearer_auth("guess"),
            get("/api/models").bearer_auth(&right),
            get("/api/session").bearer_auth(&right),
            of_page("/api/models"),
            of_page("/api/session"),
            sign_in("guess"),
            sign_in(&right),
        ] {
            let refused = request.send().await.unwrap();
            assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
            let seconds: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=60).contains(&seconds), "{seconds}");
            assert_eq!(refused.json::<Value>().await.unwrap()["code"], "too_many_guesses");
        }
        // Who shows nothing is told what to show, and what is for everybody is answered.
        assert_eq!(server.get("/api/models").await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(server.get("/healthz").await.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_address_of_the_client_counts_and_elsewhere_nobodys_word_does() {
    let proxies = vec![Network::parse("127.0.0.1").unwrap()];
    for (proxies, others_are_let_in) in [(proxies, true), (vec![], false)] {
        let server =
            TestServer::with_options(ServerOptions { proxies, ..ServerOptions::default() }, []).await;
        let right = server.token("mei", TokenRights::Chat).await;
        let from = async |address: &str, token: &str| {
            let request = server.request(Method::GET, "/api/models").header("x-forwarded-for", address);
            request.bearer_auth(token).send().await.unwrap().status()
        };
        for _ in 0..10 {
            assert_eq!(from("2001:db8::1", "guess").await, StatusCode::UNAUTHORIZED);
        }
        assert_eq!(from("2001:db8::2", &right).await, StatusCode::TOO_MANY_REQUESTS, "the same /64");
        let other = from("2001:db8:0:1::1", &right).await;
        assert_eq!(other == StatusCode::OK, others_are_let_in, "{other}");
    }
}

#[tokio::test]
async fn a_stream_that_is_open_goes_on_while_its_address_is_refused() {
    let server = TestServer::new([reply("say one two three")]).await;
    let right = server.token("mei", TokenRights::Chat).await;
    let request = server.request(Method::POST, "/api/agent").bearer_auth(&right);
    let stream = request.json(&json!({"message": "count"})).send().await.unwrap();
    guess(&server, "/api/models").await;
    assert!(stream.text().await.unwrap().contains("three"));
}

#[tokio::test]
async fn a_session_is_dead_after_sign_out_and_another_is_not() {
    let server = TestServer::new([]).await;
    let first = sign_in(&server, &server.token("mei", TokenRights::Chat).await).await;
    let second = sign_in(&server, &server.token("mei", TokenRights::Chat).await).await;
    let sign_out = async |cookie: &str, page: bool| {
        let request = server.request(Method::DELETE, "/api/session").header("cookie", cookie);
        let request = if page { request.header("x-helve-page", "1") } else { request };
        assert_eq!(request.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    };
    sign_out(&first, false).await;
    assert_eq!(by_cookie(&server, &first).await, StatusCode::OK, "a foreign page signs nobody out");
    sign_out(&first, true).await;
    assert_eq!(by_cookie(&server, &first).await, StatusCode::UNAUTHORIZED);
    assert_eq!(by_cookie(&server, &second).await, StatusCode::OK);
    // It is on record, so a restart does not bring it back.
    assert_eq!(helve_store::Access::ended_sessions(&*server.store).await.unwrap().len(), 1);
}

#[tokio::test]
async fn under_https_the_cookie_is_for_this_host_and_https_alone() {
    let https_hosts = vec!["helve.example".to_owned()];
    let server =
        TestServer::with_options(ServerOptions { https_hosts, ..ServerOptions::default() }, []).await;
    let token = server.token("mei", TokenRights::Chat).await;
    let sign_in = |host: Option<&str>| {
        let request = server.request(Method::POST, "/api/session").json(&json!({"token": token}));
        host.into_iter().fold(request, |request, host| request.header("host", host)).send()
    };
    let cookie_of = |answer: reqwest::Response| answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    let secure = cookie_of(sign_in(Some("helve.example")).await.unwrap());
    assert!(secure.starts_with("__Host-helve_session=") && secure.contains("; Secure"), "{secure}");
    let plain = cookie_of(sign_in(None).await.unwrap());
    assert!(plain.starts_with("helve_session=") && !plain.contains("Secure"), "{plain}");
    let value = |cookie: &str| cookie.split(';').next().unwrap().to_owned();
    let by = async |host: Option<&str>, cookie: &str| {
        let request = server.request(Method::GET, "/api/models").header("cookie", value(cookie));
        let request = host.into_iter().fold(request, |request, host| request.header("host", host));
        request.header("x-helve-page", "1").send().await.unwrap().status()
    };
    assert_eq!(by(Some("helve.example"), &secure).await, StatusCode::OK);
    assert_eq!(by(Some("helve.example"), &plain).await, StatusCode::UNAUTHORIZED);
    assert_eq!(by(None, &plain).await, StatusCode::OK);
    assert_eq!(by(None, &secure).await, StatusCode::UNAUTHORIZED);
}

async fn sign_in(server: &TestServer, token: &str) -> String {
    let signed_in = server.post("/api/session", json!({"token": token})).await;
    assert_eq!(signed_in.status(), StatusCode::NO_CONTENT);
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

async fn by_cookie(server: &TestServer, cookie: &str) -> StatusCode {
    let request = server.request(Method::GET, "/api/models").header("cookie", cookie);
    request.header("x-helve-page", "1").send().await.unwrap().status()
}

#[tokio::test]
async fn another_token_in_the_configuration_ends_the_sessions_of_the_old_one() {
    let with = |token| {
        TestServer::with_options(ServerOptions { token: Some(token), ..ServerOptions::default() }, [])
    };
    let old = with("correct horse").await;
    let cookie = sign_in(&old, "correct horse").await;
    assert!(!cookie.contains("horse"), "{cookie}");
    assert_eq!(by_cookie(&old, &cookie).await, StatusCode::OK);
    assert_eq!(by_cookie(&with("correct horse").await, &cookie).await, StatusCode::OK);
    assert_eq!(by_cookie(&with("battery staple").await, &cookie).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn who_has_no_token_learns_only_whether_the_server_is_ready() {
    let server = TestServer::new([]).await;
    server.token("mei", TokenRights::Chat).await;
    assert_eq!(server.get_json("/readyz").await, json!({"service": "helve", "ready": true}));
    let document = server.get_json("/openapi.json").await;
    for path in ["/openapi.json", "/readyz", "/healthz"] {
        assert!(document["paths"][path]["get"].is_object(), "{path}");
        assert!(document["paths"][path]["get"].get("security").is_none(), "{path}");
    }
}

/// Time stands still but for timers; the model says a word every second.
#[tokio::test(start_paused = true)]
async fn a_busy_stream_ends_soon_after_its_token_is_revoked() {
    let story = helve_model::Reply::new().text(&"word ".repeat(1_000)).done();
    let pace = std::time::Duration::from_secs(1);
    let server = TestServer::with_options(ServerOptions { pace, ..ServerOptions::default() }, [story]).await;
    let token = server.token("mei", TokenRights::Chat).await;
    let request = server.request(Method::POST, "/api/agent").bearer_auth(&token);
    let stream = request.json(&json!({"message": "a story"})).send().await.unwrap();
    let id = token.split_once('.').unwrap().0.to_owned();
    server.revoke_token(id).await;
    let words = stream.text().await.unwrap_or_default().matches("word").count();
    assert!(words <= 30, "{words} words were heard");
}
