//! A web server of a few lines, for tests of what is sent to one.

use std::collections::VecDeque;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::webhook::{Webhook, WebhookSettings};

/// A webhook at this address that does not wait long between its tries.
pub(crate) fn webhook_at(url: &str) -> Webhook {
    crate::assemble::install_tls();
    let settings = WebhookSettings { webhook: url.parse().unwrap(), secret: None };
    let (ways, pause) = (helve_egress::EgressSettings::default(), std::time::Duration::from_millis(1));
    Webhook::with_pause(&ways, settings, pause).unwrap()
}

/// Answers one request after the other with what it was given, and remembers them; then it is silent.
pub(crate) struct HttpStub {
    address: String,
    requests: mpsc::UnboundedReceiver<Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) body: String,
}

impl HttpStub {
    pub(crate) async fn start(answers: impl IntoIterator<Item = (u16, &'static str)>) -> Self {
        crate::assemble::install_tls();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (seen, requests) = mpsc::unbounded_channel();
        let mut answers: VecDeque<_> = answers.into_iter().collect();
        tokio::spawn(async move {
            while let Some((status, body)) = answers.pop_front() {
                let (stream, _) = listener.accept().await.unwrap();
                let request = serve(stream, status, body).await;
                _ = seen.send(request);
            }
            // Who comes now waits for an answer.
            let mut silent = vec![];
            while let Ok((stream, _)) = listener.accept().await {
                silent.push(stream);
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn request(&mut self) -> Seen {
        self.requests.recv().await.unwrap()
    }
}

async fn serve(stream: TcpStream, status: u16, answer: &str) -> Seen {
    let mut stream = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    stream.read_line(&mut line).await.unwrap();
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.unwrap();
        let header = header.trim().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        answer.len()
    );
    stream.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
    Seen { line: line.trim().to_owned(), body: String::from_utf8(body).unwrap() }
}
