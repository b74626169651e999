//! The floor: the least a server can do for an agent turn. No storage, no guards, no permissions, one tool.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::load::{HttpClient, client};

type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

#[derive(Clone)]
struct Floor {
    client: HttpClient,
    model: Arc<str>,
}

pub(crate) fn serve(port: u16, model: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _inside = runtime.enter();
    let floor = Floor { client: client(), model: format!("http://{model}/v1/chat/completions").into() };
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    runtime.block_on(serve_http(address, move |request| {
        let floor = floor.clone();
        async move { floor.turn(request).await }
    }))
}

/// Answers every request on its connection, without an end.
pub(crate) async fn serve_http<A>(
    address: SocketAddr,
    answer: impl Fn(Request<Incoming>) -> A + Clone + Send + 'static,
) -> anyhow::Result<()>
where
    A: Future<Output = anyhow::Result<Response<Body>>> + Send + 'static,
{
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service_fn(answer.clone());
        tokio::spawn(async move {
            _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Floor {
    /// Ask the model, run the tool, ask again, pass the answer on.
    async fn turn(&self, request: Request<Incoming>) -> anyhow::Result<Response<Body>> {
        let body: Value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
        let stream = body["stream"] != false;
        // Without one the model is asked once, and what it says is passed on.
        let tools = body["tools"] != false;
        let mut messages = vec![json!({"role": "user", "content": body["message"]})];
        if stream {
            let (pieces, received) = mpsc::unbounded_channel::<Bytes>();
            let floor = self.clone();
            tokio::spawn(async move {
                if tools {
                    let call = floor.ask_streaming(&messages, tools, None).await?;
                    messages.extend(run(call));
                }
                floor.ask_streaming(&messages, tools, Some(&pieces)).await?;
                _ = pieces.send(Bytes::from_static(b"data: [DONE]\n\n"));
                anyhow::Ok(())
            });
            let frames = futures_util::stream::unfold(received, |mut received| async {
                let piece = received.recv().await?;
                Some((Ok(Frame::data(piece)), received))
            });
            let body = UnsyncBoxBody::new(StreamBody::new(frames));
            return Ok(Response::builder().header("content-type", "text/event-stream").body(body)?);
        }
        let answer = self.ask(&messages).await?;
        messages.extend(run(answer["choices"][0]["message"]["tool_calls"][0].clone()));
        let answer = self.ask(&messages).await?;
        let content = json!({"content": answer["choices"][0]["message"]["content"]}).to_string();
        let body = Full::new(Bytes::from(content)).map_err(|never| match never {}).boxed_unsync();
        Ok(Response::builder().header("content-type", "application/json").body(body)?)
    }

    fn question(
        &self,
        messages: &[Value],
        tools: bool,
        stream: bool,
    ) -> anyhow::Result<Request<Full<Bytes>>> {
        let tool = json!({"type": "function", "function": {
            "name": "calculator", "description": "Calculates.", "parameters": {"type": "object"}}});
        let mut body = json!({"model": "mock", "messages": messages, "stream": stream});
        if tools {
            body["tools"] = json!([tool]);
        }
        Ok(Request::post(&*self.model)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))?)
    }

    async fn ask(&self, messages: &[Value]) -> anyhow::Result<Value> {
        let response = self.client.request(self.question(messages, true, false)?).await?;
        Ok(serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?)
    }

    /// Reads the stream; text goes out at once, the pieces of a call are put together and returned.
    async fn ask_streaming(
        &self,
        messages: &[Value],
        tools: bool,
        pieces: Option<&mpsc::UnboundedSender<Bytes>>,
    ) -> anyhow::Result<Value> {
        let response = self.client.request(self.question(messages, tools, true)?).await?;
        let mut frames = BodyStream::new(response.into_body());
        let mut call = json!({"id": "", "type": "function", "function": {"name": "", "arguments": ""}});
        let mut buffer = String::new();
        while let Some(frame) = frames.next().await {
            let Ok(data) = frame?.into_data() else { continue };
            buffer.push_str(std::str::from_utf8(&data)?);
            while let Some(end) = buffer.find("\n\n") {
                let event: String = buffer.drain(..end + 2).collect();
                let data = event.trim().strip_prefix("data: ").unwrap_or_default();
                if data.is_empty() || data == "[DONE]" {
                    continue;
                }
                let chunk: Value = serde_json::from_str(data)?;
                let delta = &chunk["choices"][0]["delta"];
                if let (Some(text), Some(pieces)) = (delta["content"].as_str(), pieces) {
                    let piece = format!("data: {}\n\n", json!({"content": text}));
                    _ = pieces.send(Bytes::from(piece));
                }
                join(&mut call, &delta["tool_calls"][0]);
            }
        }
        Ok(call)
    }
}

fn join(call: &mut Value, piece: &Value) {
    if let Some(id) = piece["id"].as_str() {
        call["id"] = id.into();
    }
    for field in ["name", "arguments"] {
        if let Some(more) = piece["function"][field].as_str() {
            let all = call["function"][field].as_str().unwrap_or_default().to_owned() + more;
            call["function"][field] = all.into();
        }
    }
}

/// The tool: its answer does not depend on anything.
fn run(call: Value) -> [Value; 2] {
    let id = call["id"].clone();
    [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": "435"}),
    ]
}
