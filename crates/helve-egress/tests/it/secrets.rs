//! Who gets a secret, and that nobody hears of it afterwards.

use std::sync::{Arc, Mutex};

use helve_egress::{
    Credential, Egress, EgressError, EgressSettings, Method, OnWithheld, Outgoing, Secret, Secrets, Withheld,
};
use secrecy::SecretString;

use crate::server::{CANARY, Server, TestReply, egress, settings};

fn asking(server: &Server, credential: Credential) -> Outgoing {
    Outgoing { credential: Some(credential), ..Outgoing::new(Method::GET, server.url("/x?a=b")) }
}

fn bearer(secret: &str) -> Credential {
    Credential::Bearer { secret: secret.into() }
}

#[tokio::test]
async fn a_secret_goes_where_its_credential_says() {
    for (credential, expected) in [
        (bearer("weather"), "authorization: Bearer tok-canary-7c1f/9\r\n"),
        (
            Credential::Header { name: "X-Key".into(), secret: "weather".into() },
            "x-key: tok-canary-7c1f/9\r\n",
        ),
        (
            Credential::Header { name: "Cookie".into(), secret: "weather".into() },
            "cookie: tok-canary-7c1f/9\r\n",
        ),
        (
            Credential::Query { name: "key".into(), secret: "weather".into() },
            "GET /x?a=b&key=tok-canary-7c1f%2F9 HTTP",
        ),
        (
            Credential::Basic { username: "mei".into(), secret: "weather".into() },
            "authorization: Basic bWVpOnRvay1jYW5hcnktN2MxZi85\r\n",
        ),
    ] {
        let server = Server::new(TestReply::with("200 OK", "", "")).await;
        egress().send(asking(&server, credential)).await.unwrap();
        assert!(server.only().contains(expected), "{}", server.only());
    }
}

#[tokio::test]
async fn a_secret_that_a_host_must_not_have_is_withheld_and_nothing_is_sent() {
    let server = Server::new(TestReply::with("200 OK", "", "")).await;
    let other_port = format!("127.0.0.1:{}", server.port + 1);
    let this_port = format!("127.0.0.1:{}", server.port);
    for (hosts, fine) in [
        (vec!["127.0.0.1"], true),
        (vec![this_port.as_str()], true),
        (vec!["api.example.com", &this_port], true),
        (vec![], false),
        (vec!["api.example.com"], false),
        (vec![other_port.as_str()], false),
        (vec!["127.0.0.0/8"], false),
        (vec!["*"], false),
    ] {
        let hosts = hosts.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let secret = Secret { name: "s".into(), value: SecretString::from(CANARY), hosts: hosts.clone() };
        let told = Arc::new(Mutex::new(vec![]));
        let listener = told.clone();
        let on_withheld = Some(OnWithheld::new(move |withheld| listener.lock().unwrap().push(withheld)));
        let egress =
            Egress::new(EgressSettings { secrets: Secrets::new(vec![secret]), on_withheld, ..settings() })
                .unwrap();
        let before = server.heard().len();
        let answer = egress.send(asking(&server, bearer("s"))).await;
        assert_eq!(answer.is_ok(), fine, "{hosts:?}");
        assert_eq!(server.heard().len() - before, usize::from(fine), "{hosts:?}");
        let expected = Withheld { secret: "s".into(), host: this_port.clone() };
        assert_eq!(*told.lock().unwrap(), if fine { vec![] } else { vec![expected] });
        if let Err(error) = answer {
            let expected =
                format!("Operator: if it may have it, add \"{this_port}\" to `hosts` in `[secrets.s]`");
            assert!(error.to_string().ends_with(&expected) && !error.to_string().contains(CANARY), "{error}");
        }
    }
}

#[tokio::test]
async fn a_secret_that_does_not_exist_or_cannot_be_sent_is_told_by_its_name() {
    let server = Server::new(TestReply::with("200 OK", "", "")).await;
    let told = egress().send(asking(&server, bearer("nope"))).await.unwrap_err();
    let EgressError::Refused(told) = told else { panic!("{told:?}") };
    assert!(
        told.starts_with("there is no secret `nope`, so nothing was sent. Operator: add `[secrets.nope]`"),
        "{told}"
    );
    let broken = Secret {
        name: "b".into(),
        value: SecretString::from("line\nbreak"),
        hosts: vec!["127.0.0.1".into()],
    };
    let egress = Egress::new(EgressSettings { secrets: Secrets::new(vec![broken]), ..settings() }).unwrap();
    let told = egress.send(asking(&server, bearer("b"))).await.unwrap_err().to_string();
    assert!(
        told.contains("the secret `b` has characters that no header can have") && !told.contains("line"),
        "{told}"
    );
    let framing = Credential::Header { name: "Host".into(), secret: "b".into() };
    assert!(matches!(egress.send(asking(&server, framing)).await, Err(EgressError::Refused(_))));
    assert!(server.heard().is_empty());
}

#[tokio::test]
async fn plain_http_is_not_enough_for_a_secret_unless_the_place_is_listed() {
    let secret = Secret {
        name: "s".into(),
        value: SecretString::from(CANARY),
        hosts: vec!["plain.example.com".into()],
    };
    let settings = EgressSettings { http: true, secrets: Secrets::new(vec![secret]), ..settings() };
    let egress = Egress::new(settings).unwrap();
    let url = helve_egress::Url::parse("http://plain.example.com/").unwrap();
    let request = Outgoing { credential: Some(bearer("s")), ..Outgoing::new(Method::GET, url) };
    let told = egress.send(request).await.unwrap_err().to_string();
    assert!(
        told.contains("`s` is not sent over plain HTTP") && told.contains("allow = [\"plain.example.com\"]"),
        "{told}"
    );
}

#[tokio::test]
async fn a_server_that_echoes_the_secret_is_heard_without_it() {
    let basic = "bWVpOnRvay1jYW5hcnktN2MxZi85";
    let body =
        format!("one {CANARY} two tok-canary-7c1f%2F9 three {basic} four \"tok-canary-7c1f\\/9\" five");
    let server =
        Server::new(TestReply::with("200 OK", &format!("x-echo: {CANARY}\r\nx-other: 1\r\n"), &body)).await;
    let answer = egress().send(asking(&server, bearer("weather"))).await.unwrap();
    assert_eq!(answer.headers()["x-echo"], "[secret]");
    assert_eq!(answer.headers()["x-other"], "1");
    assert!(!format!("{answer:?}").contains("canary"));
    let text = answer.read_text().await.unwrap();
    assert!(!text.contains("canary") && !text.contains("dG9rLWNhbmFyeS"), "{text}");
    assert_eq!(text.matches("[secret]").count(), 4, "{text}");
    let answer = egress().send(asking(&server, bearer("weather"))).await.unwrap();
    assert_eq!(answer.read_bytes().await.unwrap(), text.as_bytes());
}

#[tokio::test]
async fn a_secret_that_comes_in_two_pieces_is_caught_and_text_is_cut_between_characters() {
    let pieces: Vec<Vec<u8>> = [
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nkey tok-can".as_bytes(),
        "ary-7c1f/9 end \u{4f60}".as_bytes(),
        &"\u{597d}".as_bytes()[..1],
        &"\u{597d}!".as_bytes()[1..],
    ]
    .map(<[u8]>::to_vec)
    .into();
    let server = Server::new(TestReply::Pieces(pieces)).await;
    let mut answer = egress().send(asking(&server, bearer("weather"))).await.unwrap();
    let mut said = String::new();
    while let Some(piece) = answer.read_text_piece().await.unwrap() {
        assert!(!piece.contains('\u{fffd}'), "{piece}");
        said.push_str(&piece);
    }
    assert_eq!(said, "key [secret] end \u{4f60}\u{597d}!");
    assert_eq!(answer.read_text_piece().await, Ok(None));
}
