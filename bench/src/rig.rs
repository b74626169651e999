//! The same agent turn with rig: a public agent library behind the floor's bare HTTP server. It keeps nothing either.

use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response};
use rig::agent::{Agent, AgentBuilder, MultiTurnStreamItem};
use rig::providers::openai::OpenAIConfig;
use rig::streaming::{Item, StreamEvent};
use rig::tool::PortableTool;
use serde_json::{Value, json};

use crate::floor::serve_http;

type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// A model that calls its tool twice has gone wrong.
const TURNS_MAX: usize = 3;

struct Calculator;

impl PortableTool for Calculator {
    const NAME: &'static str = "calculator";
    type Args = Value;
    type Output = String;
    type Error = std::convert::Infallible;

    fn description(&self) -> String {
        "Calculates.".into()
    }

    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }

    async fn call(&self, _: Value) -> Result<String, Self::Error> {
        Ok("435".into())
    }
}

pub(crate) fn serve(port: u16, model: &str) -> anyhow::Result<()> {
    // rig builds its HTTP client with TLS, also for an address without it.
    helve::assemble::install_tls();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _inside = runtime.enter();
    let config = OpenAIConfig::new("none").with_base_url(format!("http://{model}/v1"));
    let agent = AgentBuilder::new(config.client().chat("mock")).tool(Calculator).build();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    runtime.block_on(serve_http(address, move |request| turn(agent.clone(), request)))
}

async fn turn(agent: Agent, request: Request<Incoming>) -> anyhow::Result<Response<Body>> {
    let body: Value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
    let prompt = body["message"].as_str().unwrap_or_default().to_owned();
    if body["stream"] == false {
        let answer = agent.prompt(prompt).max_turns(TURNS_MAX).await?;
        let content = json!({"content": answer.output()}).to_string();
        let body = Full::new(Bytes::from(content)).map_err(|never| match never {}).boxed_unsync();
        return Ok(Response::builder().header("content-type", "application/json").body(body)?);
    }
    let items = agent.prompt(prompt).max_turns(TURNS_MAX).stream();
    let pieces = items.filter_map(async |item| match item {
        Ok(MultiTurnStreamItem::StreamAssistantItem(Item::Event(StreamEvent::Text { text, .. }))) => {
            let piece = format!("data: {}\n\n", json!({"content": text}));
            Some(Ok(Frame::data(Bytes::from(piece))))
        }
        _ => None,
    });
    let end = futures_util::stream::once(async { Ok(Frame::data(Bytes::from_static(b"data: [DONE]\n\n"))) });
    let body = UnsyncBoxBody::new(StreamBody::new(pieces.chain(end)));
    Ok(Response::builder().header("content-type", "text/event-stream").body(body)?)
}
