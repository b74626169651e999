//! One trial: a model server that fails, the real client, the agent's loop, and what became of the run.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::StreamExt;
use helve_lab::mock::{Mock, Protocol, Script, first_words};
use helve_model::ToolMode;
use helve_model_http::{HttpModel, HttpModelSettings, Timeouts, build_client_with};
use helve_runtime::{Frame, ModelOptions, Models, Runtime, RuntimeSettings, StartInput, StartRequest};
use helve_store::MemoryStore;
use helve_tool::{CallContext, Guards, Registry, Request, Tool, ToolFuture};
use helve_types::{
    Effect, Fact, FailPoints, Live, Mode, ModelParams, PartId, PartKind, ToolOutput, ToolSpec, UserId, World,
};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::table::{ARGUMENTS, WORDS};

pub(super) struct Trial {
    pub(super) protocol: &'static Protocol,
    pub(super) server: Server,
    pub(super) script: String,
    pub(super) hasty: bool,
    pub(super) stream: bool,
}

/// Who is at the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    Mock,
    /// Nobody.
    Absent,
    /// Somebody who never takes the connection.
    Deaf,
    /// The mock, which is spoken to in TLS and has none.
    Tls,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The answer, or the code of the failure.
    pub(super) end: Result<String, String>,
    /// How many questions the server read.
    pub(super) questions: usize,
    /// How many connections it had, where that says more.
    pub(super) connections: Option<usize>,
    /// How often readers were told to forget what they had seen.
    pub(super) restarts: usize,
    /// How many of these say what the attempt took, which is put on record also where readers had seen nothing of it.
    pub(super) paid: usize,
    /// How often the tool ran.
    pub(super) ran: usize,
    /// How much was said besides words.
    pub(super) fat: usize,
}

impl Verdict {
    pub(super) fn answered(ran: usize) -> Self {
        Self {
            end: Ok(first_words(WORDS)),
            questions: 2,
            connections: None,
            restarts: 0,
            paid: 0,
            ran,
            fat: 0,
        }
    }

    pub(super) fn failed(code: &str, questions: usize, restarts: usize) -> Self {
        Self { end: Err(code.into()), questions, connections: None, restarts, paid: 0, ran: 0, fat: 0 }
    }

    /// As far as it can be held against what is expected: where readers have nothing to forget, it does no harm to tell
    /// them so together with what an attempt took.
    pub(super) fn beside(self, expected: &Self) -> Self {
        let restarts = if expected.restarts == 0 { self.restarts - self.paid } else { self.restarts };
        Self { restarts, paid: 0, ..self }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = if self.stream { "in pieces" } else { "whole" };
        write!(f, "{} {form} {:?} {}", self.protocol.name, self.server, self.script)
    }
}

/// Short enough to test with, and long enough for a machine that is busy.
const HASTY: Timeouts = Timeouts {
    connect: Duration::from_millis(400),
    idle: Duration::from_millis(2_000),
    total: Duration::from_millis(4_000),
};

static CALM_CLIENT: LazyLock<reqwest::Client> =
    LazyLock::new(|| build_client_with(&Timeouts::default()).unwrap());
static HASTY_CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| build_client_with(&HASTY).unwrap());

struct Look {
    spec: ToolSpec,
    ran: Arc<AtomicUsize>,
}

impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let found = format!("found {}", request.arguments["q"].as_str().unwrap_or_default());
        Box::pin(async move { Ok(ToolOutput::text(found)) })
    }
}

impl Trial {
    /// What became of the run; or what must never be.
    pub(super) async fn run(self) -> Result<Verdict, String> {
        let script = Script::parse(&self.script)?;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mock = Mock::start(listener, script, FailPoints::default()).unwrap();
        let (address, _held) = match self.server {
            Server::Mock | Server::Tls => (mock.address(), vec![]),
            Server::Absent => (TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap(), vec![]),
            Server::Deaf => deaf().await,
        };
        let scheme = if self.server == Server::Tls { "https" } else { "http" };
        let ran = Arc::new(AtomicUsize::new(0));
        let runtime = self.runtime(&format!("{scheme}://{address}{}", self.protocol.base), &ran);
        let input = StartInput::Message { conversation: None, text: "find it".into() };
        let request = StartRequest { stream: self.stream, ..StartRequest::new(UserId("mei".into()), input) };
        let mut started = runtime.start_run(request).await.unwrap();
        let mut heard = ModelReply::default();
        while let Some(frame) = started.follower.next().await {
            heard.take(frame.unwrap())?;
        }
        let counts = self.server != Server::Mock || self.script.contains("slam,round=1,args");
        Ok(Verdict {
            end: heard.end.ok_or("the run has no end")?,
            questions: mock.questions(),
            connections: counts.then(|| mock.connections()),
            restarts: heard.restarts,
            paid: heard.paid,
            ran: ran.load(Ordering::SeqCst),
            fat: heard.fat,
        })
    }

    fn runtime(&self, base_url: &str, ran: &Arc<AtomicUsize>) -> Runtime {
        let (client, patience) =
            if self.hasty { (&*HASTY_CLIENT, HASTY) } else { (&*CALM_CLIENT, Timeouts::default()) };
        let settings = HttpModelSettings {
            name: "mock".into(),
            vendor: None,
            protocol: Some(self.protocol.name.into()),
            model: "mock".into(),
            base_url: Some(base_url.into()),
            key_env: None,
            key: Some("key-of-the-lab".into()),
            tool_mode: ToolMode::Fixed(Mode::Native),
            params: ModelParams::default(),
        };
        let model = HttpModel::new(settings, client.clone()).unwrap().with_timeouts(patience);
        let mut models = Models::new();
        models.add(Arc::new(model), ModelOptions::default());
        let parameters =
            json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
        // Not a read, which may begin before its message is complete; early_reads.rs of helve-runtime has those.
        let spec = ToolSpec::new("look", "Looks something up.", parameters, Effect::Idempotent);
        let (registry, world) = (Registry::new(), World::deterministic());
        registry.register(Arc::new(Look { spec, ran: ran.clone() }), Guards::default(), &world).unwrap();
        let store = Arc::new(MemoryStore::new());
        let allow = serde_json::from_value(json!({"tool": "look", "action": "allow"})).unwrap();
        let settings = RuntimeSettings { rules: vec![allow], ..RuntimeSettings::default() };
        Runtime::new(store, world, models, Arc::new(registry), settings)
    }
}

/// An address where connections wait in a line that is full, and what keeps it so.
async fn deaf() -> (std::net::SocketAddr, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = vec![];
    while let Ok(waiting) = tokio::time::timeout(HASTY.connect, TcpStream::connect(address)).await {
        held.push(waiting.unwrap());
    }
    // Lives as long as the runtime of the test.
    tokio::spawn(async move {
        let _listener = listener;
        std::future::pending::<()>().await;
    });
    (address, held)
}

/// What a reader hears of a run, and whether it may hear it.
#[derive(Default)]
struct ModelReply {
    parts: HashMap<PartId, (PartKind, String)>,
    /// What is on record for the step, and thus cannot come again.
    finished: Vec<(u32, u32)>,
    answer: String,
    end: Option<Result<String, String>>,
    restarts: usize,
    paid: usize,
    fat: usize,
}

impl ModelReply {
    fn take(&mut self, frame: Frame) -> Result<(), String> {
        match frame {
            Frame::Live(Live::PartStarted { part, kind, text, .. }) => {
                self.parts.insert(part.clone(), (kind, text));
                self.check(&part)
            }
            Frame::Live(Live::PartDelta { part, text }) => {
                let held = self.parts.get_mut(&part).ok_or("a piece of a part that never began")?;
                held.1.push_str(&text);
                self.check(&part)
            }
            Frame::Live(_) => Ok(()),
            Frame::Event(recorded) => self.record(&recorded.event.fact),
        }
    }

    /// Two attempts that were put together would not be the beginning of anything.
    fn check(&self, part: &PartId) -> Result<(), String> {
        let (kind, text) = &self.parts[part];
        let text = &without_half_characters(text);
        let expected = if *kind == PartKind::Input { arguments().to_owned() } else { first_words(WORDS) };
        let same = match kind {
            // Some servers send an object, which has many spellings.
            PartKind::Input => {
                expected.starts_with(text.as_str()) || serde_json::from_str::<Value>(text).is_ok()
            }
            _ => {
                let (said, fat) = text.split_at(text.find('x').unwrap_or(text.len()));
                expected.starts_with(said) && !fat.contains('w')
            }
        };
        if same { Ok(()) } else { Err(format!("shown: {text:?}")) }
    }

    fn record(&mut self, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::TextFinished { text, step, .. } => {
                let text = without_half_characters(text);
                let said = text.trim_end_matches('x');
                if said != first_words(3) && said != first_words(WORDS) {
                    return Err(format!("recorded: {text:?}"));
                }
                self.once(*step, 0)?;
                self.fat += text.len() - said.len();
                self.answer = said.to_owned();
            }
            Fact::ToolRequested { tool, arguments: written, .. } => {
                let expected: Value = serde_json::from_str(arguments()).unwrap();
                let whole = serde_json::from_str::<Value>(written).is_ok_and(|found| found == expected);
                // Half a call may be on record, as one that never ran.
                if tool != "look" || !(whole || arguments().starts_with(written.as_str())) {
                    return Err(format!("requested: {tool} {written}"));
                }
            }
            Fact::StepFinished { step, .. } => self.once(*step, 1)?,
            Fact::StepRestarted { spent, .. } => {
                self.restarts += 1;
                self.paid += usize::from(spent.is_some());
            }
            Fact::RunFinished { .. } => self.end = Some(Ok(self.answer.clone())),
            Fact::RunFailed { code, .. } => self.end = Some(Err(code.clone())),
            _ => {}
        }
        Ok(())
    }

    fn once(&mut self, step: u32, what: u32) -> Result<(), String> {
        if self.finished.contains(&(step, what)) {
            return Err(format!("step {step} is on record twice"));
        }
        self.finished.push((step, what));
        Ok(())
    }
}

/// Half a character is shown as what it is; the text around it is whole.
fn without_half_characters(text: &str) -> String {
    text.replace('\u{fffd}', "")
}

fn arguments() -> &'static str {
    ARGUMENTS.trim_start_matches("args=")
}
