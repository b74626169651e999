//! What the tests of this crate share: a server that answers as it is told, and calls that come from nowhere.

use std::sync::{Arc, Mutex};

use helve_egress::{Egress, EgressSettings, Secret, Secrets};
use helve_tool::{BuiltTool, CallContext, DefinitionError, Request, ToolError};
use helve_types::{ToolDefinition, ToolOutput};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::HttpTools;

pub(crate) const SECRET: &str = "canary-0123456789-secret";

/// May reach this machine, and knows one secret for it.
pub(crate) fn tools() -> HttpTools {
    // The provider may have been installed by another test.
    _ = rustls::crypto::ring::default_provider().install_default();
    let secret = Secret {
        name: "weather".into(),
        value: SecretString::from(SECRET),
        hosts: vec!["127.0.0.1".into(), "api.example.com".into()],
    };
    let settings = EgressSettings {
        allow: vec!["127.0.0.1".into()],
        secrets: Secrets::new(vec![secret]),
        ..EgressSettings::default()
    };
    HttpTools::new(Egress::new(settings).unwrap())
}

/// A definition that is right, with some members replaced.
pub(crate) fn definition(changes: Value) -> ToolDefinition {
    let mut definition = json!({
        "name": "weather",
        "description": "The weather in a city.",
        "endpoint": {"url_template": "https://api.example.com/v1/{city}/now"},
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "units": {"type": "string"}},
            "required": ["city"]
        }
    });
    merge(&mut definition, changes);
    serde_json::from_value(definition).unwrap()
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (name, change) in changes {
                // A schema is replaced as a whole.
                match into.get_mut(&name) {
                    Some(held) if name != "parameters" => merge(held, change),
                    _ => _ = into.insert(name, change),
                }
            }
        }
        (into, change) => *into = change,
    }
}

pub(crate) fn make(changes: Value) -> Result<BuiltTool, DefinitionError> {
    tools().build_tool(&definition(changes), &Arc::default())
}

pub(crate) fn context() -> CallContext {
    CallContext::for_tests("mei")
}

/// What the server does with each request.
#[derive(Clone)]
pub(crate) enum TestReply {
    /// Says this and closes.
    Say(Vec<u8>),
    /// Says these one by one.
    Pieces(Vec<Vec<u8>>),
    /// Says this and then nothing more, for ever.
    SayAndHang(Vec<u8>),
    /// Sends an answer without an end, in chunks.
    Flood(&'static str),
    /// Says the request's own head as its body.
    Echo,
}

pub(crate) struct TestHttpServer {
    pub(crate) url: String,
    /// The requests as they came: head and body.
    heard: Arc<Mutex<Vec<String>>>,
}

impl TestHttpServer {
    pub(crate) async fn new(reply: TestReply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let notes = heard.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, reply.clone(), notes.clone()));
            }
        });
        Self { url, heard }
    }

    /// `headers` are whole lines.
    pub(crate) async fn saying(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Self {
        Self::new(TestReply::Say(response(status, headers, body.as_ref()))).await
    }

    pub(crate) async fn json(body: Value) -> Self {
        Self::saying("200 OK", "content-type: application/json\r\n", body.to_string()).await
    }

    /// Calls a tool at `path` of this server.
    pub(crate) async fn call(
        &self,
        path: &str,
        changes: Value,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        self.call_in(&context(), path, changes, arguments).await
    }

    pub(crate) async fn call_in(
        &self,
        cx: &CallContext,
        path: &str,
        changes: Value,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        let mut definition = definition(changes);
        definition.endpoint.url_template = format!("{}{path}", self.url);
        let (tool, _) = tools().build_tool(&definition, &Arc::default()).unwrap();
        tool.call(Request { arguments: &arguments }, cx).await
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

pub(crate) fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

async fn serve(mut stream: TcpStream, reply: TestReply, heard: Arc<Mutex<Vec<String>>>) {
    let Some(request) = read(&mut stream).await else { return };
    heard.lock().unwrap().push(request.clone());
    let mut written = Ok(());
    match reply {
        TestReply::Say(bytes) => written = stream.write_all(&bytes).await,
        TestReply::Pieces(pieces) => {
            for piece in pieces {
                written = written.and(stream.write_all(&piece).await);
                _ = stream.flush().await;
                tokio::task::yield_now().await;
            }
        }
        TestReply::SayAndHang(bytes) => {
            _ = stream.write_all(&bytes).await;
            std::future::pending().await
        }
        TestReply::Flood(headers) => {
            let head = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n{headers}\r\n");
            written = stream.write_all(head.as_bytes()).await;
            let chunk = [b"1000\r\n".as_slice(), &[b'0'; 4_096], b"\r\n"].concat();
            while written.is_ok() {
                written = stream.write_all(&chunk).await;
            }
        }
        TestReply::Echo => {
            let head = request.split("\r\n\r\n").next().unwrap_or_default();
            let body = json!({"head": head}).to_string();
            written = stream
                .write_all(&response("200 OK", "content-type: application/json\r\n", body.as_bytes()))
                .await;
        }
    }
    // Whoever hangs up early is what some tests are about.
    _ = written;
}

async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut request = vec![];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        let mut piece = [0; 4_096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => request.extend_from_slice(&piece[..read]),
        }
    }
}
