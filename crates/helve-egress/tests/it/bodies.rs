//! How much of an answer is read, and for how long. The clock stands still unless everybody waits.

use std::time::Duration;

use helve_egress::{Bounds, EgressError, Method, Outgoing};

use crate::server::{Server, TestReply, egress};

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

async fn read(server: &Server, bounds: Bounds) -> Result<Vec<u8>, EgressError> {
    let request = Outgoing { bounds, ..Outgoing::new(Method::GET, server.url("/")) };
    egress().send(request).await?.read_bytes().await
}

#[tokio::test]
async fn an_answer_without_end_is_read_no_further_than_its_bound() {
    let chunk = [b"1000\r\n".as_slice(), &[b' '; 4_096], b"\r\n"].concat();
    let server = Server::new(TestReply::Flood(CHUNKED.to_vec(), chunk)).await;
    let bounds = Bounds { bytes_max: 100_000, ..Bounds::default() };
    let told = read(&server, bounds).await.unwrap_err();
    assert_eq!(told, EgressError::TooLarge("the answer is larger than 100000 bytes and was not read".into()));
}

#[tokio::test]
async fn an_answer_of_exactly_the_bound_is_read_and_one_byte_more_is_not() {
    let bounds = Bounds { bytes_max: 1_000, ..Bounds::default() };
    let fits = Server::new(TestReply::with("200 OK", "", [b'x'; 1_000])).await;
    assert_eq!(read(&fits, bounds).await.unwrap().len(), 1_000);
    let more = Server::new(TestReply::with("200 OK", "", [b'x'; 1_001])).await;
    assert!(matches!(read(&more, bounds).await, Err(EgressError::TooLarge(_))));
}

#[tokio::test]
async fn an_answer_that_is_announced_too_large_is_not_begun() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n".to_vec();
    let server = Server::new(TestReply::SayAndHang(head)).await;
    let request = Outgoing::new(Method::GET, server.url("/"));
    let answer = egress().send(request).await.unwrap();
    // Its head can be looked at all the same.
    assert_eq!(answer.headers()["content-length"], "104857600");
    assert!(matches!(answer.read_bytes().await, Err(EgressError::TooLarge(_))));
}

#[tokio::test]
async fn an_answer_shorter_than_it_says_broke_off_and_a_longer_one_ends_where_it_says() {
    let short = b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nshort".to_vec();
    let told = read(&Server::new(TestReply::Say(short)).await, Bounds::default()).await.unwrap_err();
    assert_eq!(told, EgressError::Lost("the answer broke off".into()));
    let long = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nshort and more".to_vec();
    assert_eq!(read(&Server::new(TestReply::Say(long)).await, Bounds::default()).await.unwrap(), b"short");
    let chunked = [CHUNKED, b"5\r\nshort\r\n"].concat();
    let told = read(&Server::new(TestReply::Say(chunked)).await, Bounds::default()).await.unwrap_err();
    assert_eq!(told, EgressError::Lost("the answer broke off".into()));
}

/// Gzip of a kilobyte of zeros, thirty-five times its size. Nothing is unpacked, so that a larger bomb is no worse.
const BOMB: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 99, 96, 24, 5, 163, 96, 20, 140, 84, 0, 0, 46, 175, 181, 239, 0, 4, 0, 0,
];

#[tokio::test]
async fn a_compressed_answer_is_not_unpacked_and_its_status_is_known() {
    for encoding in ["gzip", "br", "deflate", "zstd", "gzip, gzip", "identity, gzip"] {
        let reply = TestReply::with("200 OK", &format!("content-encoding: {encoding}\r\n"), BOMB);
        let server = Server::new(reply).await;
        let answer = egress().send(Outgoing::new(Method::GET, server.url("/"))).await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        let told = answer.read_bytes().await.unwrap_err();
        let expected = format!(
            "the answer is compressed ({encoding}) although it was asked for as it is, and was not read"
        );
        assert_eq!(told, EgressError::Lost(expected));
        assert!(server.only().contains("accept-encoding: identity\r\n"));
    }
    let plain = Server::new(TestReply::with("200 OK", "content-encoding: identity\r\n", "plain")).await;
    assert_eq!(read(&plain, Bounds::default()).await.unwrap(), b"plain");
    let empty = Server::new(TestReply::with("204 No Content", "content-encoding: gzip\r\n", "")).await;
    assert_eq!(read(&empty, Bounds::default()).await.unwrap(), b"");
}

#[tokio::test(start_paused = true)]
async fn a_byte_a_second_lasts_no_longer_than_the_total() {
    let began = tokio::time::Instant::now();
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n".to_vec();
    let told = read(&Server::new(TestReply::Drip(head)).await, Bounds::default()).await.unwrap_err();
    assert_eq!(told, EgressError::Lost("the answer did not come in time".into()));
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn silence_is_given_up_before_the_head_and_within_the_body() {
    let bounds = Bounds { silence: Duration::from_secs(20), ..Bounds::default() };
    for (said, told) in [
        (b"".to_vec(), "the other side did not answer in time"),
        (b"HTTP/1.1 200 OK\r\n".to_vec(), "the other side did not answer in time"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_vec(), "the answer did not come in time"),
    ] {
        let began = tokio::time::Instant::now();
        let server = Server::new(TestReply::SayAndHang(said)).await;
        assert_eq!(read(&server, bounds).await.unwrap_err(), EgressError::Lost(told.into()));
        assert_eq!(began.elapsed().as_secs(), 20, "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_share_one_total() {
    let server = Server::deciding(|line| match line {
        "GET / HTTP/1.1" => TestReply::redirect(302, "/slow"),
        _ => TestReply::Drip(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n".to_vec()),
    });
    let server = server.await;
    let began = tokio::time::Instant::now();
    let request = Outgoing { redirects: 3, ..Outgoing::new(Method::GET, server.url("/")) };
    let told = egress().send(request).await.unwrap().read_bytes().await.unwrap_err();
    assert_eq!(told, EgressError::Lost("the answer did not come in time".into()));
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test]
async fn a_server_that_says_to_go_on_without_end_is_given_up_and_left() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4_096];
        _ = tokio::io::AsyncReadExt::read(&mut socket, &mut request).await.unwrap();
        let line = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
        while tokio::io::AsyncWriteExt::write_all(&mut socket, line.as_bytes()).await.is_ok() {}
    });
    let bounds = Bounds { silence: Duration::from_millis(200), ..Bounds::default() };
    let request = Outgoing { bounds, ..Outgoing::new(Method::GET, url.parse().unwrap()) };
    let told = egress().send(request).await.unwrap_err();
    assert_eq!(told, EgressError::Lost("the other side did not answer in time".into()));
    // Nobody reads it any more, or this would never end.
    server.await.unwrap();
}
