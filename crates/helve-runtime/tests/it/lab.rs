//! A runtime with scripted models, tools that do what their names say, and a store in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::Expect;
use futures_util::StreamExt;
use helve_model::{Model, Reply, ScriptedModel, ToolMode};
use helve_runtime::{
    AgentSettings, Follower, Frame, ModelOptions, Models, Runtime, RuntimeSettings, StartInput, StartRequest,
    StartedRun,
};
use helve_store::{ApprovalFilter, MemoryStore, Page, Scope, Store};
use helve_store_sql::{DataDir, PostgresSettings, PostgresStore};
use helve_tool::{CallContext, Guards, Registry, Request, Tool, ToolError, ToolFuture};
use helve_types::{
    Effect, Fact, FailPoints, Mode, OnUnknown, Question, RunId, StepSnapshot, Timestamp, ToolOutput,
    ToolSpec, UserId, World,
};
use serde_json::json;

/// What each tool does is in its name.
pub(crate) struct LabTool {
    spec: ToolSpec,
    runs: Arc<AtomicU32>,
}

pub(crate) fn spec(name: &str, effect: Effect) -> ToolSpec {
    ToolSpec::new(
        name,
        format!("Does {name}."),
        json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}),
        effect,
    )
}

impl Tool for LabTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, request: Request<'_>, _: &CallContext) -> Option<String> {
        self.spec.check_tool.as_ref().map(|_| format!("POST {}", request.arguments))
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        let before = self.runs.fetch_add(1, Ordering::Relaxed);
        let q = request.arguments["q"].as_str().unwrap_or_default().to_owned();
        Box::pin(async move {
            match self.spec.name.as_str() {
                "look" if q.starts_with("long") => {
                    Ok(ToolOutput::text(format!("found {q}: {}", "many words ".repeat(400))))
                }
                // Somebody sets the clock while it looks, which takes seven milliseconds.
                "look" if let Some(ms) = q.strip_prefix("clock ") => {
                    cx.world.clock.shift_date_ms(ms.parse().unwrap_or(0));
                    cx.world.clock.advance_ms(7);
                    Ok(ToolOutput::text("found it"))
                }
                "look" => Ok(ToolOutput::text(format!("found {q}"))),
                "send" => Ok(ToolOutput::text(format!("sent {q}"))),
                "ping" => Ok(ToolOutput::text("pong")),
                "poll" => Ok(ToolOutput::text(format!("{before} of many are done"))),
                "fail" => Err(ToolError::Declined("no luck".into())),
                "lose" | "lose_softly" => Err(ToolError::Lost("the line went dead".into())),
                "report" => {
                    cx.progress.report("half ");
                    cx.progress.report("way");
                    Ok(ToolOutput::text("reported"))
                }
                _ => std::future::pending().await,
            }
        })
    }
}

pub(crate) struct Lab<S = MemoryStore> {
    pub(crate) store: Arc<S>,
    /// The first of the models.
    pub(crate) model: Arc<ScriptedModel>,
    models: Vec<(Arc<ScriptedModel>, ModelOptions)>,
    pub(crate) runtime: Runtime,
    pub(crate) runs: Arc<AtomicU32>,
    pub(crate) world: World,
    registry: Arc<Registry>,
    settings: RuntimeSettings,
}

pub(crate) fn mei() -> UserId {
    UserId("mei".into())
}

impl Lab {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with_model(ScriptedModel::new(replies), RuntimeSettings::default())
    }

    /// With a model whose server leaves native calls in the text.
    pub(crate) fn with_calls_in_text(replies: impl IntoIterator<Item = Reply>) -> Self {
        let options = ModelOptions { calls_in_text: Some(true), ..ModelOptions::default() };
        let model = Arc::new(ScriptedModel::new(replies));
        Self::with_models(vec![(model, options)], RuntimeSettings::default())
    }

    pub(crate) fn with_model(model: ScriptedModel, settings: RuntimeSettings) -> Self {
        Self::with_models(vec![(Arc::new(model), ModelOptions::default())], settings)
    }

    /// The first is the default.
    pub(crate) fn with_models(
        models: Vec<(Arc<ScriptedModel>, ModelOptions)>,
        settings: RuntimeSettings,
    ) -> Self {
        let world = World::deterministic();
        let runs = Arc::new(AtomicU32::new(0));
        let registry = Self::registry(spec("send", Effect::NonIdempotent), &runs, &world);
        Self::assemble(Arc::new(MemoryStore::new()), models, world, registry, runs, settings)
    }

    /// The same server after a stop: nothing is left but the store.
    pub(crate) fn restarted(&self) -> Self {
        self.restarted_with(self.models.clone())
    }
}

impl<S: Store> Lab<S> {
    fn registry(send: ToolSpec, runs: &Arc<AtomicU32>, world: &World) -> Arc<Registry> {
        let registry = Arc::new(Registry::new());
        let soft =
            ToolSpec { on_unknown: OnUnknown::TellModel, ..spec("lose_softly", Effect::NonIdempotent) };
        for spec in [
            spec("look", Effect::Read),
            send,
            spec("fail", Effect::Read),
            spec("lose", Effect::NonIdempotent),
            soft,
            spec("report", Effect::Read),
            spec("poll", Effect::Read),
            spec("hang", Effect::Read),
            // Whatever it is given is fine.
            ToolSpec { parameters: json!({"type": "object"}), ..spec("ping", Effect::Read) },
        ] {
            let tool = LabTool { spec, runs: runs.clone() };
            registry.register(Arc::new(tool), Guards { attempts: 1, ..Guards::default() }, world).unwrap();
        }
        registry
    }

    fn assemble(
        store: Arc<S>,
        scripted: Vec<(Arc<ScriptedModel>, ModelOptions)>,
        world: World,
        registry: Arc<Registry>,
        runs: Arc<AtomicU32>,
        settings: RuntimeSettings,
    ) -> Self {
        let mut models = Models::new();
        for (model, options) in &scripted {
            models.add(model.clone() as Arc<dyn Model>, options.clone());
        }
        let runtime = Runtime::new(store.clone(), world.clone(), models, registry.clone(), settings.clone());
        let model = scripted[0].0.clone();
        Self { store, model, models: scripted, runtime, runs, world, registry, settings }
    }

    /// With one tool more.
    pub(crate) fn register(&self, tool: Arc<dyn Tool>, guards: Guards) {
        self.registry.register(tool, guards, &self.world).unwrap();
    }

    /// The same, after somebody has configured other models.
    pub(crate) fn restarted_with(&self, models: Vec<(Arc<ScriptedModel>, ModelOptions)>) -> Self {
        Self::assemble(
            self.store.clone(),
            models,
            self.world.clone(),
            self.registry.clone(),
            self.runs.clone(),
            self.settings.clone(),
        )
    }

    /// The same, after an upgrade that defines `send` otherwise.
    pub(crate) fn upgraded(&self, send: ToolSpec) -> Self {
        let registry = Self::registry(send, &self.runs, &self.world);
        let (models, settings) = (self.models.clone(), self.settings.clone());
        Self::assemble(self.store.clone(), models, self.world.clone(), registry, self.runs.clone(), settings)
    }

    /// The same, after somebody has configured it otherwise.
    pub(crate) fn restarted_as(&self, settings: RuntimeSettings) -> Self {
        let (models, registry) = (self.models.clone(), self.registry.clone());
        Self::assemble(self.store.clone(), models, self.world.clone(), registry, self.runs.clone(), settings)
    }

    /// The same server, which breaks down at a labelled point.
    pub(crate) fn dying_at(&self, fatal: &'static str) -> Self {
        let failpoints = FailPoints::new(move |label| assert_ne!(label, fatal, "this is where it dies"));
        let world = World { failpoints, ..self.world.clone() };
        Self::assemble(
            self.store.clone(),
            self.models.clone(),
            world,
            self.registry.clone(),
            self.runs.clone(),
            self.settings.clone(),
        )
    }

    pub(crate) async fn start(&self, text: &str) -> StartedRun {
        let input = StartInput::Message { conversation: None, text: text.into() };
        self.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap()
    }

    /// Waits until it is on record that the run was taken up so often.
    pub(crate) async fn taken_up(&self, run: RunId, times: u32) {
        let line = format!("run.resumed resume {times}\n");
        while !self.log(run).await.contains(&line) {
            tokio::task::yield_now().await;
        }
    }

    /// The log of a run as words.
    pub(crate) async fn log(&self, run: RunId) -> String {
        let events = self.store.events(run, 0, 999).await.unwrap();
        let mut text = String::new();
        for recorded in events {
            let line = format!("{} {}", recorded.event.seq, words(&recorded.event.fact));
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Starts a run with this message, and compares its log when it has come to rest.
    async fn check_script(&self, message: &str, expected: &Expect) {
        let mut started = self.start(message).await;
        settle(&mut started.follower).await;
        expected.assert_eq(&self.log(started.run).await);
    }

    pub(crate) async fn check_log(&self, run: RunId, expected: Expect) {
        expected.assert_eq(&self.log(run).await);
    }

    /// The open questions, oldest first.
    pub(crate) async fn questions(&self) -> Vec<Question> {
        let held =
            self.store.approvals(Scope::Everyone, ApprovalFilter::Pending(Page::first(99))).await.unwrap();
        held.into_iter().map(|held| held.question).collect()
    }
}

/// Follows a run until it is over or waits, and returns how it stands.
pub(crate) async fn settle(follower: &mut Follower) -> &'static str {
    while let Some(frame) = follower.next().await {
        if let Frame::Event(recorded) = frame.unwrap() {
            match &recorded.event.fact {
                fact if fact.is_last() => return fact.kind(),
                Fact::RunWaiting { state } => return state.as_str(),
                _ => {}
            }
        }
    }
    "ended"
}

/// Follows a run until an event of this kind.
pub(crate) async fn until(follower: &mut Follower, kind: &str) {
    while let Some(frame) = follower.next().await {
        if let Frame::Event(recorded) = frame.unwrap()
            && recorded.event.fact.kind() == kind
        {
            return;
        }
    }
    panic!("there was no {kind}");
}

fn words(fact: &Fact) -> String {
    let detail = match fact {
        Fact::RunStarted(started) => started.text.clone(),
        Fact::StepRestarted { attempt, because, .. } => format!("attempt {attempt}: {because}"),
        Fact::ReasoningFinished { text, .. }
        | Fact::TextFinished { text, .. }
        | Fact::TextCutOff { text, .. } => text.clone(),
        Fact::ToolRequested { tool, arguments, replaces, .. } => {
            let again = if replaces.is_some() { " again" } else { "" };
            format!("{tool} {arguments}{again}")
        }
        Fact::ToolStarted { tool, attempt, arguments, .. } => match arguments {
            Some(edited) => format!("{tool} attempt {attempt} with {edited}"),
            None => format!("{tool} attempt {attempt}"),
        },
        Fact::ToolDelegated { tool, .. } | Fact::ToolDiscarded { tool, .. } => tool.clone(),
        Fact::SubagentStarted(started) => {
            let how = if started.background { " in the background" } else { "" };
            format!("{}{how}: {}", started.agent, started.task)
        }
        Fact::SubagentAsked(asked) => {
            let asker = asked.question.asker.as_ref().map_or("?", |asker| &asker.agent);
            format!("{asker}: {}", asked.question.call().map_or("", |call| &call.tool))
        }
        Fact::SubagentAnswered(answered) => format!("{} by {}", json!(answered.answer), answered.by),
        Fact::SubagentEnded(ended) => format!("{:?} with {} calls", ended.state, ended.used.calls),
        Fact::ToolClaimed { client, by, .. } => format!("{client} by {by}"),
        Fact::MessageQueued { text, by, .. } => format!("{text} by {by}"),
        Fact::MessageTaken { step, .. } => format!("for step {step}"),
        Fact::BudgetSpent { because, .. } => because.clone(),
        Fact::HistoryCompacted(compaction) => {
            let summary = compaction.summary.as_ref().map_or("", |summary| &summary.text);
            format!("{} outputs pruned {summary}", compaction.pruned.len())
        }
        Fact::ToolFinished { output, .. } | Fact::ToolLate { output, .. } => output.text.clone(),
        Fact::ToolFailed { failure, .. } | Fact::ToolRefused { failure, .. } => failure.message.clone(),
        Fact::ToolUnknown { because, .. } => because.clone(),
        Fact::ApprovalAsked(question) => match question.call() {
            Some(call) => format!("{} {}", call.tool, call.arguments),
            None => " {}".into(),
        },
        Fact::ApprovalAnswered { answer, by, .. } => format!("{} by {by}", json!(answer)),
        Fact::ApprovalVoted { answer, by, .. } => format!("{} by {by}", json!(answer)),
        Fact::ApprovalReminded { .. } | Fact::ApprovalEscalated { .. } => String::new(),
        Fact::StepFinished { reason, mode, model, attempt, .. } => {
            let by = model.as_ref().map(|model| format!(" by {model}")).unwrap_or_default();
            let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            format!("{reason:?} {mode}{by}{attempt}")
        }
        Fact::StepSnapshot(StepSnapshot { step, edge, hook, snapshot, notice }) => {
            let came = match (snapshot, notice) {
                (Some(id), _) => id.to_string(),
                (None, notice) => notice.as_ref().map_or_else(String::new, |notice| notice.code.clone()),
            };
            format!("{edge:?} {step} {hook}: {came}")
        }
        Fact::RunWaiting { state } => state.as_str().into(),
        Fact::RunResumed { resume } => format!("resume {resume}"),
        Fact::RunFinished { ending } => format!("{ending:?}"),
        Fact::RunFailed { code, message, .. } => format!("{code}: {message}"),
        Fact::RunCancelled(cancelled) => format!("by {}", cancelled.by),
    };
    format!("{} {detail}", fact.kind())
}

/// A reply from a line such as `think hm | say Let me look. | call look {"q": "x"}`.
pub(crate) fn reply(line: &str) -> Reply {
    let mut reply = Reply::new();
    for beat in line.split(" | ") {
        let (verb, rest) = beat.trim().split_once(' ').unwrap_or((beat.trim(), ""));
        reply = match verb {
            "think" => reply.reasoning(rest),
            "say" => reply.text(&rest.replace("\\n", "\n")),
            "call" => {
                let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
                reply.call(tool, arguments)
            }
            other => panic!("a model cannot `{other}`"),
        };
    }
    reply.done()
}

/// Runs a script of one `user:` line and any number of `model:` lines to its end.
pub(crate) async fn check(script: &str, expected: Expect) {
    let mut user = "";
    let mut mode = Mode::Native;
    let mut max_steps = 10;
    let mut replies = vec![];
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (who, what) = line.split_once(':').unwrap();
        match who {
            "user" => user = what.trim(),
            "model" => replies.push(reply(what.trim())),
            "mode" => mode = what.trim().parse().unwrap(),
            "max_steps" => max_steps = what.trim().parse().unwrap(),
            other => panic!("nobody is called `{other}`"),
        }
    }
    let agent = AgentSettings { max_steps, ..AgentSettings::default() };
    let settings = RuntimeSettings { agents: vec![agent], ..RuntimeSettings::default() };
    let model = || ScriptedModel::new(replies.clone()).in_mode(ToolMode::Fixed(mode.clone()));
    let lab = Lab::with_model(model(), settings.clone());
    lab.check_script(user, &expected).await;
    if let Some(store) = open_postgres().await {
        let world = World::deterministic();
        let runs = Arc::new(AtomicU32::new(0));
        let registry = Lab::<PostgresStore>::registry(spec("send", Effect::NonIdempotent), &runs, &world);
        let models = vec![(Arc::new(model()), ModelOptions::default())];
        let lab = Lab::assemble(Arc::new(store), models, world, registry, runs, settings);
        lab.check_script(user, &expected).await;
        lab.store.close().await.unwrap();
    }
}

/// A store in a new database of the PostgreSQL of the tests, if there is one.
async fn open_postgres() -> Option<PostgresStore> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var("HELVE_TEST_POSTGRES") else {
        let reason = "there is no PostgreSQL; `cargo run -p xtask -- with-postgres cargo test` starts one";
        helve_test_support::skip_test("transcripts on PostgreSQL", reason);
        return None;
    };
    let name = format!("runtime_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let (client, connection) = tokio_postgres::connect(&server, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let (place, _) = server.rsplit_once('/').unwrap();
    let settings = PostgresSettings::parse(&format!("{place}/{name}").into()).unwrap();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap().keep();
    Some(PostgresStore::open(DataDir::lock(&folder).unwrap(), &settings, Timestamp(1)).await.unwrap())
}
