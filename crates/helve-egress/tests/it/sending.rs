//! What leaves, and what an error says of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use helve_egress::header::{HeaderName, HeaderValue};
use helve_egress::{
    Bounds, Egress, EgressError, EgressSettings, LookUpName, Method, NameFuture, Outgoing, Url,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{Server, TestReply, egress, settings};

#[tokio::test]
async fn a_request_is_sent_as_it_is_and_nothing_is_added_that_tells_about_us() {
    let server = Server::new(TestReply::with("200 OK", "x-more: 1\r\n", "fine")).await;
    let mut request = Outgoing::new(Method::POST, server.url("/a/b?c=d"));
    request.headers.insert("x-own", HeaderValue::from_static("1"));
    request.body = Some(Bytes::from_static(b"{\"a\":1}"));
    let answer = egress().send(request).await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["x-more"]),
        (200, &HeaderValue::from_static("1"))
    );
    assert_eq!(answer.read_text().await.unwrap(), "fine");
    let heard = server.only();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    lines[1..].sort_unstable();
    let host = format!("host: 127.0.0.1:{}", server.port);
    let agent = concat!("user-agent: helve/", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        lines,
        [
            "POST /a/b?c=d HTTP/1.1",
            "accept-encoding: identity",
            "accept: */*",
            "content-length: 7",
            &host,
            agent,
            "x-own: 1"
        ]
    );
    assert_eq!(body, "{\"a\":1}");
}

#[tokio::test]
async fn headers_and_methods_that_are_not_a_tools_are_refused_before_anything_is_sent() {
    let (server, egress) = (Server::new(TestReply::with("200 OK", "", "")).await, egress());
    for name in [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "upgrade",
        "proxy-authorization",
        "te",
        "trailer",
        "expect",
        "accept-encoding",
        "cookie",
        "referer",
    ] {
        let mut request = Outgoing::new(Method::GET, server.url("/"));
        request.headers.insert(HeaderName::from_static(name), HeaderValue::from_static("x"));
        let Err(EgressError::Refused(told)) = egress.send(request).await else { panic!("{name}") };
        assert!(told.contains(&format!("`{name}` is not a tool's to set")), "{told}");
    }
    for method in [Method::CONNECT, Method::TRACE] {
        let refused = egress.send(Outgoing::new(method, server.url("/"))).await;
        assert!(matches!(refused, Err(EgressError::Refused(_))));
    }
    assert!(server.heard().is_empty());
    // A line break never gets as far as a request.
    assert!(HeaderValue::from_str("a\r\nx-smuggled: 1").is_err());
}

#[tokio::test]
async fn an_error_says_whether_anything_can_have_left() {
    let egress = egress();
    let send = async |url: &str| {
        egress.send(Outgoing::new(Method::GET, Url::parse(url).unwrap())).await.unwrap_err()
    };
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    assert_eq!(
        send(&format!("http://127.0.0.1:{gone}/?q=private")).await,
        EgressError::NotSent(format!("`127.0.0.1:{gone}` cannot be reached"))
    );
    // A server without TLS never gets as far as the request.
    let deaf = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = deaf.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = deaf.accept().await.unwrap();
        _ = stream.write_all(b"HTTP/1.1 400 this is no TLS\r\n\r\n").await;
        _ = stream.read(&mut [0; 4_096]).await;
    });
    let expected = format!("`127.0.0.1:{port}` has no certificate that is trusted, or speaks no TLS");
    assert_eq!(send(&format!("https://127.0.0.1:{port}/")).await, EgressError::NotSent(expected));
    let silent = Server::new(TestReply::Close).await;
    let told = send(silent.url("/").as_str()).await;
    assert_eq!(told, EgressError::Lost("the connection broke off before an answer".into()));
    assert_eq!(silent.heard().len(), 1, "it was sent once");
}

#[tokio::test]
async fn a_name_that_cannot_be_looked_up_is_not_sent_to() {
    let nobody = Arc::new(|_| -> NameFuture { Box::pin(async { Err(std::io::ErrorKind::NotFound.into()) }) });
    let egress = Egress::with_resolver(settings(), nobody).unwrap();
    let told =
        egress.send(Outgoing::new(Method::GET, Url::parse("https://gone.example.com/").unwrap())).await;
    let expected = "there is no host `gone.example.com`, or it cannot be looked up now";
    assert_eq!(told.unwrap_err(), EgressError::NotSent(expected.into()));
}

#[tokio::test]
async fn a_proxy_is_used_only_if_the_operator_names_it_and_then_for_everything_that_is_allowed() {
    let proxy = Server::new(TestReply::with("200 OK", "", "through the proxy")).await;
    let url = Url::parse("http://plain.example.com/x").unwrap();
    let through = EgressSettings { http: true, proxy: Some(proxy.url("")), ..settings() };
    let through = Egress::new(through).unwrap();
    let answer = through.send(Outgoing::new(Method::GET, url)).await.unwrap();
    assert_eq!(answer.read_text().await.unwrap(), "through the proxy");
    assert!(proxy.only().starts_with("GET http://plain.example.com/x HTTP/1.1\r\n"));
    for closed in
        ["http://10.0.0.1/", "http://localhost/", "http://metadata.google.internal/", "http://[::1]/"]
    {
        let refused = through.send(Outgoing::new(Method::GET, Url::parse(closed).unwrap())).await;
        assert!(matches!(refused, Err(EgressError::Refused(_))), "{closed}");
    }
    assert_eq!(proxy.heard().len(), 1);
}

#[test]
fn what_the_operator_sets_wrongly_is_told() {
    let told = Egress::new(EgressSettings { allow: vec!["*.lan".into()], ..settings() }).unwrap_err();
    assert_eq!(told.to_string(), "`*.lan` has a `*`, but places are matched exactly; name each host");
    let proxy = Url::parse("http://me:hush@proxy.lan:3128").ok();
    assert!(!format!("{:?}", EgressSettings { proxy, ..settings() }).contains("hush"));
}

#[tokio::test]
async fn connections_are_kept_and_shared_by_requests_to_the_same_place() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine").await;
                }
            });
        }
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let here: LookUpName = Arc::new(move |_| -> NameFuture {
        count.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap()]) })
    });
    let allow = vec![format!("keep.example.com:{port}")];
    let egress = Egress::with_resolver(EgressSettings { allow, ..settings() }, here).unwrap();
    let url = Url::parse(&format!("http://keep.example.com:{port}/")).unwrap();
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (egress, url) = (egress.clone(), url.clone());
        all.spawn(async move {
            for _ in 0..5 {
                let mut request = Outgoing::new(Method::GET, url.clone());
                request.bounds = Bounds { silence: Duration::MAX, total: Duration::MAX, ..request.bounds };
                assert_eq!(egress.send(request).await.unwrap().read_text().await.unwrap(), "fine");
            }
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
    // A name is looked up for a connection, not for a request; another port of the host is another place.
    assert!(asked.load(Ordering::Relaxed) < 500, "{asked:?}");
    let other = Url::parse("http://keep.example.com:1/").unwrap();
    assert!(matches!(egress.send(Outgoing::new(Method::GET, other)).await, Err(EgressError::Refused(_))));
}
