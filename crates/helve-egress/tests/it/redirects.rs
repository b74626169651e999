//! Redirects: every status, to the same origin and to another, with everything on board that must not go along.

use bytes::Bytes;
use helve_egress::header::HeaderValue;
use helve_egress::{Credential, EgressError, Incoming, Method, Outgoing};

use crate::server::{CANARY, Server, TestReply, egress};

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// Everything that a tool can put into a request, each with something to look for.
fn laden(method: &Method, server: &Server, credential: Credential) -> Outgoing {
    let mut request = Outgoing::new(method.clone(), server.url("/start?q=query-canary"));
    for (name, value) in [
        ("x-api-key", "header-canary"),
        ("authorization", "Bearer header-canary"),
        ("content-type", "text/x-canary"),
        ("x-custom", "header-canary"),
        ("user-agent", "agent-canary"),
    ] {
        request.headers.insert(name, HeaderValue::from_static(value));
    }
    request.body = (*method == Method::POST).then(|| Bytes::from_static(b"body-canary"));
    request.credential = Some(credential);
    request.redirects = 3;
    request
}

fn credentials() -> [Credential; 4] {
    let secret = || "weather".to_owned();
    [
        Credential::Bearer { secret: secret() },
        Credential::Header { name: "x-secret".into(), secret: secret() },
        Credential::Query { name: "key".into(), secret: secret() },
        Credential::Basic { username: "me-canary".into(), secret: secret() },
    ]
}

async fn text(answer: Result<Incoming, EgressError>) -> String {
    answer.unwrap().read_text().await.unwrap()
}

#[tokio::test]
async fn redirects_are_not_followed_unless_the_tool_asks_for_it() {
    let egress = egress();
    for status in STATUSES {
        let server = Server::new(TestReply::redirect(status, "/next")).await;
        let answer = egress.send(Outgoing::new(Method::GET, server.url("/"))).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["location"]),
            (status, &HeaderValue::from_static("/next"))
        );
        assert_eq!(server.heard().len(), 1);
    }
}

#[tokio::test]
async fn another_origin_sees_nothing_of_what_the_first_one_got() {
    let egress = egress();
    for status in STATUSES {
        for credential in credentials() {
            let there = Server::new(TestReply::with("200 OK", "", "there")).await;
            let here = Server::new(TestReply::redirect(status, there.url("/end").as_str())).await;
            let answer = egress.send(laden(&Method::GET, &here, credential)).await;
            assert_eq!(text(answer).await, "there");
            assert!(here.only().contains("header-canary"));
            let seen = there.only().to_lowercase();
            assert!(seen.starts_with("get /end http/1.1"), "{seen}");
            assert!(!seen.contains("canary") && !seen.contains("referer"), "{status}: {seen}");
        }
    }
}

#[tokio::test]
async fn a_post_that_is_sent_elsewhere_becomes_a_bare_question_or_is_not_followed() {
    let egress = egress();
    for status in STATUSES {
        let there = Server::new(TestReply::with("200 OK", "", "there")).await;
        let here = Server::new(TestReply::redirect(status, there.url("/end").as_str())).await;
        let answer = egress.send(laden(&Method::POST, &here, credentials()[0].clone())).await;
        if status >= 307 {
            let expected = "the answer is a redirect of a POST to another host, which is not followed";
            assert_eq!(answer.unwrap_err(), EgressError::Refused(expected.into()));
            assert!(there.heard().is_empty());
            continue;
        }
        assert_eq!(text(answer).await, "there");
        let seen = there.only().to_lowercase();
        assert!(seen.starts_with("get /end ") && !seen.contains("canary"), "{status}: {seen}");
    }
}

#[tokio::test]
async fn the_same_origin_gets_the_request_again_as_the_standard_says() {
    let egress = egress();
    for status in STATUSES {
        for method in [Method::GET, Method::POST] {
            let server = Server::deciding(move |line| match line.contains("/start") {
                true => TestReply::redirect(status, "/end?x=1"),
                false => TestReply::with("200 OK", "", "end"),
            });
            let server = server.await;
            let credential = Credential::Query { name: "key".into(), secret: "weather".into() };
            assert_eq!(text(egress.send(laden(&method, &server, credential)).await).await, "end");
            let [first, second] = server.heard().try_into().unwrap();
            let key = "key=tok-canary-7c1f%2F9";
            assert!(first.contains(&format!("/start?q=query-canary&{key} ")), "{first}");
            let again = if status >= 307 { method.clone() } else { Method::GET };
            assert!(second.starts_with(&format!("{again} /end?x=1&{key} ")), "{status}: {second}");
            assert!(second.contains("x-api-key: header-canary"));
            assert_eq!(second.contains("body-canary"), again == Method::POST, "{status}: {second}");
            assert!(!second.to_lowercase().contains("referer"), "{second}");
        }
    }
}

#[tokio::test]
async fn a_redirect_that_carries_the_secret_elsewhere_is_not_followed() {
    let egress = egress();
    let there = Server::new(TestReply::with("200 OK", "", "there")).await;
    for echoed in [CANARY.to_owned(), CANARY.replace('/', "%2F"), CANARY.replace('/', "%2f")] {
        let here = Server::new(TestReply::redirect(302, there.url(&format!("/?k={echoed}")).as_str())).await;
        let told = egress.send(laden(&Method::GET, &here, credentials()[0].clone())).await.unwrap_err();
        assert!(told.to_string().contains("would give a secret away") && !told.to_string().contains(&echoed));
    }
    assert!(there.heard().is_empty());
}

#[tokio::test]
async fn no_more_than_three_hops_are_followed_whatever_is_asked() {
    let egress = egress();
    for (asked, requests) in [(1, 2), (3, 4), (200, 4)] {
        let server = Server::new(TestReply::redirect(302, "/again")).await;
        let request = Outgoing { redirects: asked, ..Outgoing::new(Method::GET, server.url("/")) };
        let told = egress.send(request).await.unwrap_err();
        assert!(
            matches!(&told, EgressError::Refused(why) if why.contains("one redirect after another")),
            "{told:?}"
        );
        assert_eq!(server.heard().len(), requests);
    }
}

#[tokio::test]
async fn a_redirect_to_a_place_that_is_not_public_is_refused_on_every_hop() {
    let egress = egress();
    for (method, status) in [(Method::GET, 302), (Method::GET, 307), (Method::POST, 307)] {
        for closed in [
            "http://10.0.0.1/",
            "http://169.254.169.254/latest",
            "http://[::1]/",
            "http://localhost/",
            "file:///etc/passwd",
        ] {
            let server = Server::deciding(move |line| match line.contains("/start") {
                true => TestReply::redirect(status, "/middle"),
                false => TestReply::redirect(status, closed),
            });
            let server = server.await;
            let told = egress.send(laden(&method, &server, credentials()[0].clone())).await.unwrap_err();
            assert!(matches!(told, EgressError::Refused(_)), "{closed}: {told:?}");
            assert_eq!(server.heard().len(), 2);
        }
    }
}

#[tokio::test]
async fn nobody_knows_what_a_post_has_done_whose_redirect_cannot_be_followed() {
    let egress = egress();
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for location in ["http://10.0.0.1/".to_owned(), format!("http://127.0.0.1:{gone}/"), "http://[".into()] {
        for (status, unknown) in [(302, true), (303, true), (307, false)] {
            let server = Server::new(TestReply::redirect(status, &location)).await;
            let told =
                egress.send(laden(&Method::POST, &server, credentials()[0].clone())).await.unwrap_err();
            assert_eq!(matches!(told, EgressError::Lost(_)), unknown, "{status} {location}: {told:?}");
        }
    }
}
