//! One connection: reads questions, plays answers. HTTP/1.1 by hand, since a library would not do what a broken
//! server does, byte by byte.

use helve_types::FailPoints;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answer::{End, ResponseChunk, ScriptedResponse};

const HEAD_BYTES_MAX: usize = 64 << 10;
const BODY_BYTES_MAX: usize = 64 << 20;
/// So much is written at once; tokens that come together go out together.
const WRITE_BYTES: usize = 32 << 10;
/// A client that speaks TLS begins with this byte, and is told that there is none.
const TLS_HANDSHAKE: u8 = 0x16;
const TLS_ALERT: &[u8] = &[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28];

#[derive(Debug)]
pub(super) struct HttpRequest {
    pub(super) method: String,
    /// The path and the query, as they came.
    pub(super) target: String,
    /// The key that was sent along, if one was.
    pub(super) key: Option<String>,
    pub(super) body: Vec<u8>,
}

pub(super) struct Connection {
    stream: TcpStream,
    /// Read, and not yet used.
    read: Vec<u8>,
    /// To be written.
    out: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        // Tokens are small and wanted at once.
        _ = stream.set_nodelay(true);
        Self { stream, read: vec![], out: vec![] }
    }

    /// Ends it as if the machine had lost its power.
    pub(super) fn reset(self) {
        _ = self.stream.set_zero_linger();
    }

    /// The next question; none when the client has gone, or cannot be understood.
    pub(super) async fn read_request(&mut self) -> Option<HttpRequest> {
        let end = loop {
            if self.read.first() == Some(&TLS_HANDSHAKE) {
                _ = self.stream.write_all(TLS_ALERT).await;
                return None;
            }
            if let Some(at) = self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            if self.read.len() > HEAD_BYTES_MAX {
                return None;
            }
            self.more().await?;
        };
        let head = String::from_utf8_lossy(&self.read[..end]).into_owned();
        let mut words = head.lines().next()?.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let length = field(&head, "content-length").map_or(Some(0), |length| length.parse().ok());
        let length: usize = length.filter(|length| *length <= BODY_BYTES_MAX)?;
        if field(&head, "expect").is_some() {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?;
        }
        let (start, stop) = (end + 4, end + 4 + length);
        while self.read.len() < stop {
            self.more().await?;
        }
        let body = self.read[start..stop].to_vec();
        let key = field(&head, "authorization").map(str::to_owned);
        self.read.drain(..stop);
        Some(HttpRequest { method, target, key, body })
    }

    async fn more(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.read).await.ok()?;
        (read > 0).then_some(())
    }

    /// Whether the connection takes another question.
    pub(super) async fn send(mut self, answer: ScriptedResponse, failpoints: &FailPoints) -> Option<Self> {
        let mut writing = ResponseWriter { line: &mut self, left: answer.cut };
        let whole = writing.write_chunks(answer.pieces, failpoints).await;
        match (whole, answer.end) {
            (Err(WriteEnd::Cut), _) | (Ok(()), End::Reset) => {
                self.reset();
                None
            }
            (Err(WriteEnd::Gone), _) | (Ok(()), End::Close) => None,
            (Ok(()), End::Hush) => {
                // Until the client has had enough.
                while self.more().await.is_some() {
                    self.read.clear();
                }
                None
            }
            (Ok(()), End::Keep) => Some(self),
        }
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (held, value) = line.split_once(':')?;
        held.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// Why no more is written.
enum WriteEnd {
    /// As many bytes are out as are to go out.
    Cut,
    Gone,
}

struct ResponseWriter<'a> {
    line: &'a mut Connection,
    left: Option<usize>,
}

impl ResponseWriter<'_> {
    async fn write_chunks(
        &mut self,
        pieces: Vec<ResponseChunk>,
        failpoints: &FailPoints,
    ) -> Result<(), WriteEnd> {
        for piece in pieces {
            match piece {
                ResponseChunk::Raw(bytes) => self.write_bytes(&bytes).await?,
                ResponseChunk::Chunk(bytes) => {
                    self.line.out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
                    self.line.out.extend_from_slice(&bytes);
                    self.write_bytes(b"\r\n").await?;
                }
                ResponseChunk::Drip(bytes, pause) => {
                    self.write_bytes(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
                    for byte in bytes {
                        self.write_bytes(&[byte]).await?;
                        self.flush().await?;
                        tokio::time::sleep(pause).await;
                    }
                    self.write_bytes(b"\r\n").await?;
                }
                ResponseChunk::Pause(pause) => {
                    self.flush().await?;
                    tokio::time::sleep(pause).await;
                }
                ResponseChunk::Half => {
                    self.flush().await?;
                    failpoints.reach("mock.half_said");
                }
                ResponseChunk::Repeat(bytes) => loop {
                    self.write_bytes(&bytes).await?;
                },
            }
        }
        self.flush().await
    }

    async fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), WriteEnd> {
        self.line.out.extend_from_slice(bytes);
        if self.line.out.len() < WRITE_BYTES {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), WriteEnd> {
        let mut out = std::mem::take(&mut self.line.out);
        let cut = self.left.is_some_and(|left| left <= out.len());
        if let Some(left) = &mut self.left {
            out.truncate(*left);
            *left -= out.len();
        }
        self.line.stream.write_all(&out).await.map_err(|_| WriteEnd::Gone)?;
        out.clear();
        self.line.out = out;
        if cut { Err(WriteEnd::Cut) } else { Ok(()) }
    }
}
