//! A server of our own, which notes what it is told and says what a test wants.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_egress::{Egress, EgressSettings, Secret, Secrets, Url};
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a request, whose first line it may look at.
#[derive(Clone)]
pub(crate) enum TestReply {
    /// Says this and closes.
    Say(Vec<u8>),
    /// Says this and then nothing more, for ever.
    SayAndHang(Vec<u8>),
    /// Says this, and then a byte every second.
    Drip(Vec<u8>),
    /// Says this, and then the second piece again and again.
    Flood(Vec<u8>, Vec<u8>),
    /// Says the pieces one by one.
    Pieces(Vec<Vec<u8>>),
    /// Closes without a word.
    Close,
}

impl TestReply {
    pub(crate) fn with(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
            body.len()
        );
        Self::Say([head.as_bytes(), body].concat())
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::with(&format!("{status} Moved"), &format!("location: {location}\r\n"), "moved")
    }
}

pub(crate) struct Server {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn new(reply: TestReply) -> Self {
        Self::deciding(move |_| reply.clone()).await
    }

    /// A reply for each request, by its first line.
    pub(crate) async fn deciding(reply: impl Fn(&str) -> TestReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, reply) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(reply));
        let notes = heard.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (notes, reply) = (notes.clone(), reply.clone());
                tokio::spawn(async move {
                    let Some(request) = read(&mut stream).await else { return };
                    let reply = reply(request.lines().next().unwrap_or_default());
                    notes.lock().unwrap().push(request);
                    answer(stream, reply).await;
                });
            }
        });
        Self { port, heard }
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap()
    }

    /// The requests as they came, head and body.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn only(&self) -> String {
        let heard = self.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard[0].clone()
    }
}

async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut request = vec![];
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text.into_owned());
            }
        }
        let mut piece = [0; 4_096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => request.extend_from_slice(&piece[..read]),
        }
    }
}

async fn answer(mut stream: TcpStream, reply: TestReply) {
    let mut say = async |bytes: &[u8]| stream.write_all(bytes).await.is_ok();
    match reply {
        TestReply::Close => {}
        TestReply::Say(bytes) => _ = say(&bytes).await,
        TestReply::SayAndHang(bytes) => {
            say(&bytes).await;
            std::future::pending().await
        }
        TestReply::Drip(head) => {
            let mut open = say(&head).await;
            while open {
                tokio::time::sleep(Duration::from_secs(1)).await;
                open = say(b"x").await;
            }
        }
        TestReply::Flood(head, again) => {
            let mut open = say(&head).await;
            while open {
                open = say(&again).await;
            }
        }
        TestReply::Pieces(pieces) => {
            for piece in pieces {
                say(&piece).await;
                // Each piece is a packet of its own.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

pub(crate) const CANARY: &str = "tok-canary-7c1f/9";

/// What tests begin with: this machine is allowed, and there is one secret for it.
pub(crate) fn settings() -> EgressSettings {
    // The provider may have been installed by another test.
    _ = rustls::crypto::ring::default_provider().install_default();
    let secret =
        Secret { name: "weather".into(), value: SecretString::from(CANARY), hosts: vec!["127.0.0.1".into()] };
    EgressSettings {
        allow: vec!["127.0.0.1".into()],
        secrets: Secrets::new(vec![secret]),
        ..EgressSettings::default()
    }
}

pub(crate) fn egress() -> Egress {
    Egress::new(settings()).unwrap()
}
