//! The effect ledger: the world outside, which remembers what was done to it.
//!
//! `POST /effects` carries out an effect: appends it to a file, syncs, answers. It knows nothing of Helve, and an
//! effect once begun happens even when its caller dies meanwhile. It is dumb on purpose: only a request of class
//! `idempotent` is recognised by its key; everything else that is asked twice happens twice, and can be counted.

mod behaviour;
mod entry;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use helve_types::{Clock, Effect, FailPoints};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode, header};
use tokio::net::TcpListener;

use self::behaviour::{EffectBehaviour, ReplyFault};
pub use self::entry::{EffectRequest, LedgerEntry, read};
use crate::web::{ConnectionDropped, ServerTask};

/// A running ledger; it ends when this is dropped.
pub struct Ledger {
    serving: ServerTask,
    path: PathBuf,
}

impl Ledger {
    pub fn start(listener: TcpListener, path: &Path, failpoints: FailPoints) -> std::io::Result<Self> {
        let book = Arc::new(Mutex::new(LedgerFile::open(path)?));
        let handle = move |request| {
            let (book, failpoints) = (book.clone(), failpoints.clone());
            // On a task of its own: what has begun is not undone by a caller that leaves.
            let carried_out = tokio::spawn(async move { carry_out(request, &book, &failpoints).await });
            async move { carried_out.await.unwrap_or(Err(ConnectionDropped)) }
        };
        Ok(Self { serving: ServerTask::start(listener, handle)?, path: path.to_owned() })
    }

    pub fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    pub fn url(&self) -> String {
        format!("http://{}/effects", self.address())
    }

    /// Everything that has happened so far.
    pub fn entries(&self) -> std::io::Result<Vec<LedgerEntry>> {
        read(&self.path)
    }
}

/// Runs the ledger until the process ends.
pub fn serve_forever(address: SocketAddr, path: &Path) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let ledger = Ledger::start(TcpListener::bind(address).await?, path, FailPoints::default())?;
        println!("listening on {}", ledger.url());
        ledger.serving.serve_forever().await;
        Ok(())
    })
}

type Reply = Response<Full<Bytes>>;

async fn carry_out(
    request: Request<Incoming>,
    book: &Arc<Mutex<LedgerFile>>,
    failpoints: &FailPoints,
) -> Result<Reply, ConnectionDropped> {
    if (request.method(), request.uri().path()) != (&Method::POST, "/effects") {
        return Ok(reply(StatusCode::NOT_FOUND, "the ledger has only POST /effects"));
    }
    let key = request.headers().get("idempotency-key").and_then(|key| key.to_str().ok());
    let key = key.unwrap_or_default().to_owned();
    // Half a request is none.
    let body = request.into_body().collect().await.map_err(|_| ConnectionDropped)?.to_bytes();
    let order: EffectRequest = match serde_json::from_slice(&body) {
        Ok(order) => order,
        Err(error) => return Ok(reply(StatusCode::BAD_REQUEST, &error.to_string())),
    };
    let manner = match EffectBehaviour::parse(order.payload["then"].as_str().unwrap_or_default()) {
        Ok(manner) => manner,
        Err(error) => return Ok(reply(StatusCode::BAD_REQUEST, &error)),
    };
    tokio::time::sleep(manner.wait).await;
    let book = book.clone();
    let written = tokio::task::spawn_blocking(move || {
        book.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write(order, key, &manner)
            .map(|kept| (kept, manner))
    });
    let ((answer, instead), manner) = match written.await {
        Ok(Ok(written)) => written,
        _ => return Ok(reply(StatusCode::SERVICE_UNAVAILABLE, "the ledger cannot be written")),
    };
    if instead.is_none_or(ReplyFault::happens) {
        failpoints.reach("ledger.executed");
    }
    tokio::time::sleep(manner.slow).await;
    match instead {
        None => Ok(reply(StatusCode::OK, &answer)),
        Some(ReplyFault::Error) => {
            Ok(reply(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong afterwards"))
        }
        Some(ReplyFault::Drop) => Err(ConnectionDropped),
        Some(ReplyFault::Decline) => Ok(reply(StatusCode::UNPROCESSABLE_ENTITY, "no, and nothing was done")),
        Some(ReplyFault::Busy) => {
            let mut busy = reply(StatusCode::TOO_MANY_REQUESTS, "too busy; nothing was done");
            busy.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("0"));
            Ok(busy)
        }
    }
}

fn reply(status: StatusCode, text: &str) -> Reply {
    let mut response = Response::new(Full::from(text.to_owned()));
    *response.status_mut() = status;
    response
}

/// The file, and what must be known of it.
struct LedgerFile {
    file: File,
    last: u64,
    /// How often each key has come, also where nothing was done.
    asked: HashMap<String, u32>,
    /// The receipt of each idempotent effect, by its key.
    receipts: HashMap<String, u64>,
}

impl LedgerFile {
    fn open(path: &Path) -> std::io::Result<Self> {
        let mut book = Self {
            last: 0,
            asked: HashMap::new(),
            receipts: HashMap::new(),
            file: OpenOptions::new().create(true).append(true).open(path)?,
        };
        for entry in read(path)? {
            book.last = entry.n;
            *book.asked.entry(entry.key.clone()).or_default() += 1;
            if entry.class == Effect::Idempotent {
                book.receipts.entry(entry.key).or_insert(entry.receipt);
            }
        }
        Ok(book)
    }

    /// Makes the effect happen, unless it was told otherwise, and says how it is to be answered.
    fn write(
        &mut self,
        order: EffectRequest,
        key: String,
        manner: &EffectBehaviour,
    ) -> std::io::Result<(String, Option<ReplyFault>)> {
        let asked = self.asked.entry(key.clone()).or_default();
        *asked += 1;
        let instead = manner.instead.filter(|_| !manner.once || *asked == 1);
        if instead.is_some_and(|instead| !instead.happens()) {
            return Ok((String::new(), instead));
        }
        let n = self.last + 1;
        let known = (order.class == Effect::Idempotent).then(|| self.receipts.get(&key).copied()).flatten();
        let receipt = known.unwrap_or(n);
        let note = order.payload["note"].as_str().unwrap_or_default();
        let entry = LedgerEntry {
            n,
            receipt,
            answer: format!("receipt {receipt} for {} ({note}) of {}", order.tool, order.user),
            call: order.call,
            key: key.clone(),
            tool: order.tool,
            class: order.class,
            user: order.user,
            at_once: order.at_once,
            at_ms: Clock::System.now().0,
            payload: order.payload,
        };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        self.last = n;
        if entry.class == Effect::Idempotent {
            self.receipts.insert(key, receipt);
        }
        Ok((entry.answer, instead))
    }
}
