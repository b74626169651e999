//! T44: a call that was cut off never runs. The connection is cut after every single byte of the message with the call,
//! in every protocol, in pieces and whole; what counts is the tool's own ledger.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use futures_util::{StreamExt, stream};
use helve_lab::mock::{Mock, PROTOCOLS, Protocol, Script};
use helve_model::ToolMode;
use helve_model_http::{HttpModel, HttpModelSettings, Timeouts, build_client_with};
use helve_runtime::{ModelOptions, Models, Runtime, RuntimeSettings, StartInput, StartRequest};
use helve_store::{Log, MemoryStore};
use helve_tool::{Action, CallContext, Guards, Registry, Request, Rule, Tool, ToolFuture};
use helve_types::{
    Effect, Fact, FailPoints, Mode, ModelParams, StopReason, ToolOutput, ToolSpec, UserId, World,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const ARGUMENTS: &str = r#"{"to":"mei","text":"茶 and \"tea\""}"#;
const AT_ONCE: usize = 32;
/// No message is longer than this, head included.
const BYTES_MAX: usize = 8_000;
/// So many cuts behind the end must all find the message complete.
const BEYOND: usize = 64;

static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| build_client_with(&Timeouts::default()).unwrap());

/// Sends something, once for each time it is called, and cannot take it back.
struct Send {
    spec: ToolSpec,
    sent: Arc<AtomicUsize>,
}

impl Tool for Send {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        let whole: Value = serde_json::from_str(ARGUMENTS).unwrap();
        assert_eq!(*request.arguments, whole, "nothing but the whole of it is ever sent");
        self.sent.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(ToolOutput::text("sent")) })
    }
}

struct Office {
    runtime: Runtime,
    store: Arc<MemoryStore>,
    sent: Arc<AtomicUsize>,
    _mock: Mock,
}

impl Office {
    async fn new(protocol: &Protocol) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mock = Mock::start(listener, Script::default(), FailPoints::default()).unwrap();
        let settings = HttpModelSettings {
            name: "mock".into(),
            vendor: None,
            protocol: Some(protocol.name.into()),
            model: "mock".into(),
            base_url: Some(mock.base_url_of(protocol)),
            key_env: None,
            key: Some("key-of-the-lab".into()),
            tool_mode: ToolMode::Fixed(Mode::Native),
            params: ModelParams::default(),
        };
        let mut models = Models::new();
        models.add(Arc::new(HttpModel::new(settings, CLIENT.clone()).unwrap()), ModelOptions::default());
        let parameters = json!({
            "type": "object",
            "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
        });
        let spec = ToolSpec::new("send", "Sends a message.", parameters, Effect::NonIdempotent);
        let (registry, world, sent) =
            (Registry::new(), World::deterministic(), Arc::new(AtomicUsize::new(0)));
        registry.register(Arc::new(Send { spec, sent: sent.clone() }), Guards::default(), &world).unwrap();
        let store = Arc::new(MemoryStore::new());
        let rules = vec![Rule { tool: Some("send".into()), ..Rule::new(Action::Allow) }];
        let settings = RuntimeSettings { rules, ..RuntimeSettings::default() };
        let runtime = Runtime::new(store.clone(), world, models, Arc::new(registry), settings);
        Self { runtime, store, sent, _mock: mock }
    }

    /// Whether the message counted, after a cut behind so many bytes of it; and that its call ran if and only if it did.
    async fn cut(&self, bytes: usize, stream: bool) -> bool {
        let text = format!("please [[tools=send,lead=1,text=1,cut={bytes},round=0,args={ARGUMENTS}]]");
        let input = StartInput::Message { conversation: None, text };
        let request = StartRequest { stream, ..StartRequest::new(UserId("mei".into()), input) };
        let mut started = self.runtime.start_run(request).await.unwrap();
        while started.follower.next().await.is_some() {}
        let log = self.store.events(started.run, 0, 99).await.unwrap();
        let facts = || log.iter().map(|recorded| &recorded.event.fact);
        let complete = facts().any(|fact| {
            matches!(fact, Fact::StepFinished { step: 1, reason, .. } if *reason != StopReason::Failed)
        });
        let begun = facts().filter(|fact| matches!(fact, Fact::ToolStarted { .. })).count();
        assert_eq!(
            begun,
            usize::from(complete),
            "cut after {bytes} bytes: {:?}",
            facts().collect::<Vec<_>>()
        );
        complete
    }
}

async fn cut_everywhere(protocol: &'static Protocol, in_pieces: bool) {
    let world = Office::new(protocol).await;
    let mut cuts = stream::iter(0..BYTES_MAX).map(|bytes| world.cut(bytes, in_pieces)).buffered(AT_ONCE);
    let (mut incomplete, mut complete) = (0, 0);
    while let Some(counted) = cuts.next().await {
        match counted {
            true => complete += 1,
            false => {
                assert_eq!(complete, 0, "{}: incomplete after it was complete", protocol.name);
                incomplete += 1;
            }
        }
        if complete == BEYOND {
            break;
        }
    }
    drop(cuts);
    let name = protocol.name;
    assert!(complete == BEYOND && incomplete > 200, "{name}: {incomplete} incomplete, {complete} complete");
    let sent = world.sent.load(Ordering::SeqCst);
    // Those that were under way when enough was seen were cut behind the end, too.
    assert!((BEYOND..BEYOND + AT_ONCE).contains(&sent), "{name}: {sent} sent, {complete} complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn t44_a_call_cut_at_every_byte_of_a_stream_never_runs() {
    let _turn = super::TURN.lock().await;
    helve::assemble::install_tls();
    for protocol in PROTOCOLS {
        cut_everywhere(protocol, true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t44_a_call_cut_at_every_byte_of_a_whole_answer_never_runs() {
    let _turn = super::TURN.lock().await;
    helve::assemble::install_tls();
    for protocol in PROTOCOLS {
        cut_everywhere(protocol, false).await;
    }
}
