//! A model server that answers as it is told, for tests and as the floor of benchmarks.
//!
//! Speaks the protocols in `PROTOCOLS`, in pieces and whole. A question is read into an `ModelRequest`; the script says
//! what is `ScriptedText`; the protocol gives it a form; `answer` puts in what goes wrong; `connection` plays it. It holds no
//! script of its own beyond a default: see `Script`. Frames are made beforehand, so that what is measured through
//! it is not the mock.

mod answer;
mod anthropic_messages;
mod connection;
mod date;
mod distortion;
mod fault;
mod gemini;
mod model_request;
mod ollama;
mod openai_chat;
mod protocol;
mod script;
mod scripted_text;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use helve_types::FailPoints;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use self::answer::{Ask, ScriptedResponse};
use self::connection::{Connection, HttpRequest};
pub use self::fault::{FAULTS, Fault, FaultWord};
use self::protocol::Route;
pub use self::protocol::{PROTOCOLS, Protocol};
pub use self::script::{Finish, Ids, RetryAfter, Script};
use self::scripted_text::ScriptedText;
pub use self::scripted_text::{first_words, word_at};

/// A running mock; it ends, with all its connections, when this is dropped.
pub struct Mock {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    default: Script,
    failpoints: FailPoints,
    /// How often a request with a fault of limited number has come.
    seen: Mutex<HashMap<u64, u32>>,
    connections: AtomicUsize,
    questions: AtomicUsize,
    refused: AtomicUsize,
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Mock {
    /// `default` is for requests that bring no script.
    pub fn start(listener: TcpListener, default: Script, failpoints: FailPoints) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            default,
            failpoints,
            seen: Mutex::default(),
            connections: AtomicUsize::new(0),
            questions: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        });
        Ok(Self { address, shared: shared.clone(), accepting: tokio::spawn(accept(listener, shared)) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a model's `base_url` has to be for OpenAI's protocol.
    pub fn base_url(&self) -> String {
        self.base_url_of(&openai_chat::PROTOCOL)
    }

    pub fn base_url_of(&self, protocol: &Protocol) -> String {
        format!("http://{}{}", self.address, protocol.base)
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many questions were read to their end.
    pub fn questions(&self) -> usize {
        self.shared.questions.load(Ordering::SeqCst)
    }

    /// How many of them were too long.
    pub fn refused(&self) -> usize {
        self.shared.refused.load(Ordering::SeqCst)
    }
}

/// Runs the mock until the process ends; `default` is for requests that bring no script.
pub fn serve_forever(address: SocketAddr, default: Script) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let mut mock = Mock::start(TcpListener::bind(address).await?, default, FailPoints::default())?;
        println!("listening on http://{}", mock.address());
        for protocol in PROTOCOLS {
            println!("  {:<20} base_url = \"{}\"", protocol.name, mock.base_url_of(protocol));
        }
        _ = (&mut mock.accepting).await;
        Ok(())
    })
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                shared.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(shared.clone().serve_connection(Connection::new(stream)));
            }
            // Those that are over are let go of.
            Some(_) = connections.join_next() => {}
        }
    }
}

impl Shared {
    async fn serve_connection(self: Arc<Self>, mut line: Connection) {
        // Nothing was asked yet, so only the default can say so.
        if self.default.fault == Some(Fault::Slam) && self.fault_applies(&self.default, b"") {
            return line.reset();
        }
        while let Some(question) = line.read_request().await {
            let answer = self.answer(&question).await;
            match line.send(answer, &self.failpoints).await {
                Some(more) => line = more,
                None => return,
            }
        }
    }

    async fn answer(&self, question: &HttpRequest) -> ScriptedResponse {
        let (path, query) = question.target.split_once('?').unwrap_or((&question.target, ""));
        let path = unescaped(path);
        if question.method == "GET" {
            // Two share an address, and the first of them is enough for both.
            let catalogue = PROTOCOLS.iter().find(|protocol| protocol.catalogue.0 == path);
            if let Some(protocol) = catalogue {
                return ScriptedResponse::json(200, "", protocol.catalogue.1);
            }
        }
        let routed = PROTOCOLS.iter().find_map(|protocol| Some((*protocol, (protocol.route)(&path)?)));
        let Some((protocol, route)) = routed.filter(|_| question.method == "POST") else {
            return ScriptedResponse::json(404, "", r#"{"error":{"message":"the mock has no such door"}}"#);
        };
        self.questions.fetch_add(1, Ordering::SeqCst);
        let in_query = query.split_once("script=").map(|(_, script)| unescaped(script));
        match self.respond(question, protocol, route, in_query.as_deref()).await {
            Ok(answer) => answer,
            Err(message) => ScriptedResponse::json(400, "", &(protocol.error)(400, &message).to_string()),
        }
    }

    async fn respond(
        &self,
        question: &HttpRequest,
        protocol: &Protocol,
        route: Route,
        in_query: Option<&str>,
    ) -> Result<ScriptedResponse, String> {
        let asked = (protocol.read)(&question.body).map_err(|error| error.to_string())?;
        let model = route.model.as_deref().unwrap_or(&asked.model);
        let own = in_query.or_else(|| Script::find(model, &asked.user)).map(Script::parse).transpose()?;
        let script = own.as_ref().unwrap_or(&self.default);
        let tokens = question.body.len().div_ceil(4);
        if let Some(fits) = script.window.filter(|fits| tokens > *fits) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Ok(ScriptedResponse::json(400, "", &(protocol.too_long)(tokens, fits).to_string()));
        }
        let fault = script.fault.filter(|_| script.round.is_none_or(|round| round == asked.round));
        // A connection that was to be slammed would not stand.
        let fault = fault.filter(|fault| *fault != Fault::Slam && self.fault_applies(script, &question.body));
        if !script.delay.is_zero() {
            tokio::time::sleep(script.delay).await;
        }
        let mut said = ScriptedText::new(script, &asked);
        if script.window.is_some() && script.usage.is_none() {
            said.input_tokens = tokens;
        }
        Ok(ScriptedResponse::to(Ask {
            protocol,
            script,
            target: &question.target,
            key: question.key.as_deref(),
            said,
            stream: asked.stream.or(route.stream).unwrap_or(false),
            fault,
        }))
    }

    /// Whether the fault still happens to this request.
    fn fault_applies(&self, script: &Script, body: &[u8]) -> bool {
        let Some(times) = script.times else { return true };
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let count = seen.entry(hasher.finish()).or_default();
        *count += 1;
        *count <= times
    }
}

/// A part of an address without its `%XX`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| more.get(..2)).flatten();
        let byte = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[2..] } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
