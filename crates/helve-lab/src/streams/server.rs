//! Where the server is, for readers that outlive it, and plain requests to it.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;

/// A server to talk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamServer {
    /// Counts the starts.
    pub(super) generation: u32,
    pub(super) address: SocketAddr,
}

/// The latest server, as far as anybody knows.
#[derive(Debug, Clone)]
pub(super) struct Servers(watch::Receiver<Option<StreamServer>>);

impl Servers {
    pub(super) fn new() -> (watch::Sender<Option<StreamServer>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// A server that was started after this one, or none if that takes too long.
    pub(super) async fn next_server(&mut self, generation: u32, until: Instant) -> Option<StreamServer> {
        let newer = self.0.wait_for(|server| server.is_some_and(|server| server.generation > generation));
        let found = tokio::time::timeout_at(until.into(), newer).await;
        found.ok()?.ok().and_then(|server| *server)
    }
}

impl StreamServer {
    /// A connection; one with a small buffer can only be filled slowly.
    pub(super) async fn connect(self, buffer: Option<u32>) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        // From another address than the server's: to connect to a port that has just become free, from the same
        // address, can end in a connection with oneself.
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::new(IpAddr::from([127, 0, 0, 2]), 0))?;
        if let Some(buffer) = buffer {
            socket.set_recv_buffer_size(buffer)?;
        }
        #[expect(clippy::disallowed_methods, reason = "the lab's readers ask the server that it started")]
        socket.connect(self.address).await
    }

    /// One request on a connection of its own: status and body.
    pub(super) async fn ask(self, head: &str, body: &str) -> std::io::Result<(u16, String)> {
        let mut stream = self.connect(None).await?;
        let request = format!(
            "{head}Host: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = vec![];
        tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await??;
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        status.map(|status| (status, body.to_owned())).ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    }
}
