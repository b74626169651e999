//! A whole server on a free port: scripted model, simple tools, store in memory.

use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use futures_util::StreamExt;
use helve_model::{Model, ModelRequest, ModelStream, Reply, ScriptedModel, ToolMode};
use helve_runtime::{
    AdmissionSettings, AgentSettings, Budgets, ModelOptions, Models, Runtime, RuntimeSettings, ShareSettings,
};
use helve_server::{
    AccessSettings, App, AppParts, ListenSettings, Network, ServerLimits, new_token, router, serve,
};
use helve_store::{Access, ActFor, AuditEntry, Disk, MemoryStore, TokenRights};
use helve_tool::{
    BreakerSettings, CachePolicy, CacheScope, CallContext, Catalogue, DefinitionError, Guards, LimitSettings,
    Limits, Registry, Request, Rule, Tool, ToolBuilder, ToolError, ToolFuture,
};
use helve_types::{
    Auth, Effect, ModelParams, Notice, Reason, ToolDefinition, ToolOutput, ToolSpec, UserId, World,
};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::openapi::{Misfits, check_answer};

struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        let q = request.arguments["q"].as_str().unwrap_or_default();
        let said = format!("{} {q}", self.0.name);
        Box::pin(async move { Ok(ToolOutput::text(said)) })
    }
}

pub(crate) fn spec(name: &str, effect: Effect) -> ToolSpec {
    ToolSpec::new(
        name,
        format!("Does {name}."),
        json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}),
        effect,
    )
}

/// Makes everything but what needs the secret `gone`.
fn maker() -> ToolBuilder {
    Arc::new(|definition: &ToolDefinition, _| {
        if matches!(&definition.endpoint.auth, Auth::Bearer { secret, .. } if secret == "gone") {
            return Err(DefinitionError::new(
                "endpoint.auth.secret",
                Notice::definition_other("there is no secret `gone`"),
            ));
        }
        let ToolDefinition { name, description, parameters, .. } = definition.clone();
        let spec = ToolSpec {
            tags: definition.tags.clone(),
            ..ToolSpec::new(name, description, parameters, definition.effect())
        };
        Ok((Arc::new(Echo(spec)) as Arc<dyn Tool>, guards()))
    })
}

/// One of each, so that all of them have something to tell.
fn guards() -> Guards {
    Guards {
        limits: Limits { tool: Some(LimitSettings::default()), user: None },
        breaker: Some(BreakerSettings::default()),
        cache: Some(CachePolicy { ttl: Duration::from_secs(60), scope: CacheScope::User }),
        ..Guards::default()
    }
}

/// Says one word at a time, so that readers see the answer grow.
struct PacedModel {
    script: Arc<ScriptedModel>,
    pace: Duration,
}

impl Model for PacedModel {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn tool_mode(&self) -> ToolMode {
        self.script.tool_mode()
    }

    fn params(&self) -> &ModelParams {
        self.script.params()
    }

    fn ask(&self, request: &ModelRequest<'_>) -> ModelStream {
        let pace = self.pace;
        Box::pin(self.script.ask(request).then(move |event| async move {
            tokio::time::sleep(pace).await;
            event
        }))
    }
}

/// What is unusual about a server.
pub(crate) struct ServerOptions {
    /// The token of the configuration.
    pub(crate) token: Option<&'static str>,
    pub(crate) max_steps: u32,
    /// How long the model takes for each word.
    pub(crate) pace: Duration,
    /// What is said about the model.
    pub(crate) options: ModelOptions,
    /// What is wrong with it.
    pub(crate) problem: Option<&'static str>,
    /// Besides those that every server has.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// What the operator says about calls.
    pub(crate) rules: Vec<Rule>,
    /// In the place of those that every server has.
    pub(crate) agents: Option<Vec<AgentSettings>>,
    pub(crate) budgets: Budgets,
    /// How many runs at a time.
    pub(crate) runs: AdmissionSettings,
    pub(crate) limits: ServerLimits,
    pub(crate) disk: Arc<Disk>,
    /// How much one user may keep.
    pub(crate) share: ShareSettings,
    /// The host names of the server, and those reached by https.
    pub(crate) https_hosts: Vec<String>,
    pub(crate) proxies: Vec<Network>,
    /// Changes the parts of the application; gets the server's address.
    pub(crate) change_parts: Option<ChangeParts>,
}

pub(crate) type ChangeParts = Box<dyn FnOnce(&mut AppParts, &str) + Send>;

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            token: None,
            max_steps: 10,
            pace: Duration::ZERO,
            options: ModelOptions::default(),
            problem: None,
            tools: vec![],
            rules: vec![],
            agents: None,
            budgets: Budgets::default(),
            runs: RuntimeSettings::default().runs,
            limits: ServerLimits::default(),
            disk: Arc::default(),
            share: ShareSettings::default(),
            https_hosts: vec![],
            proxies: vec![],
            change_parts: None,
        }
    }
}

pub(crate) struct TestServer {
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) app: App,
    pub(crate) runtime: Runtime,
    pub(crate) world: World,
    pub(crate) catalogue: Arc<Catalogue>,
    stop: CancellationToken,
    /// Answers that are not as the document says.
    misfits: Misfits,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.cancel();
        if !std::thread::panicking() {
            self.misfits.assert_none();
        }
    }
}

impl TestServer {
    pub(crate) async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with_options(ServerOptions::default(), replies).await
    }

    pub(crate) async fn with_options(plan: ServerOptions, replies: impl IntoIterator<Item = Reply>) -> Self {
        let world = World::deterministic();
        let store = Arc::new(MemoryStore::new());
        let model = Arc::new(ScriptedModel::new(replies));
        let registry = Arc::new(Registry::new());
        for spec in [spec("look", Effect::Read), spec("send", Effect::NonIdempotent)] {
            registry.register(Arc::new(Echo(spec)), guards(), &world).unwrap();
        }
        for tool in plan.tools {
            registry.register(tool, guards(), &world).unwrap();
        }
        let mut models = Models::new();
        let speaker = if plan.pace.is_zero() {
            model.clone() as Arc<dyn Model>
        } else {
            Arc::new(PacedModel { script: model.clone(), pace: plan.pace })
        };
        models.add(speaker, plan.options);
        let agent = AgentSettings { max_steps: plan.max_steps, ..AgentSettings::default() };
        let clerk = AgentSettings { name: "clerk".into(), ..AgentSettings::default() };
        let agents = plan.agents.unwrap_or_else(|| vec![agent, clerk]);
        let (rules, budgets, runs, disk) = (plan.rules, plan.budgets, plan.runs, plan.disk);
        let share = plan.share;
        let settings =
            RuntimeSettings { agents, rules, budgets, runs, share, disk, ..RuntimeSettings::default() };
        let catalogue = Arc::new(Catalogue::new(registry, store.clone(), world.clone(), maker()));
        let runtime = Runtime::with_catalogue(catalogue.clone(), models, settings);
        let access = AccessSettings {
            token: plan.token.map(Into::into),
            hosts: plan.https_hosts.clone(),
            only_this_machine: true,
            https_hosts: plan.https_hosts,
            trusted_proxies: plan.proxies.clone(),
            session_key: [7; 32],
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let problem = plan.problem;
        let mut parts = AppParts {
            model_problems: Box::new(move |_| {
                problem.map(|text| Reason::new(text, Notice::model_without_key("KEY")))
            }),
            ..AppParts::new(runtime.clone(), access, plan.limits)
        };
        if let Some(change) = plan.change_parts {
            change(&mut parts, &url);
        }
        let app = App::new(parts);
        app.set_ready();
        let stop = CancellationToken::new();
        let listening = ListenSettings { limits: plan.limits, proxies: plan.proxies };
        let misfits = Misfits::default();
        let routes = router(app.clone());
        misfits.read_document(app.openapi_document().unwrap());
        let routes = routes.layer(from_fn_with_state(misfits.clone(), check_answer));
        tokio::spawn(serve(vec![listener], routes, listening, stop.clone()));
        Self { url, client: client(), store, model, app, runtime, world, catalogue, stop, misfits }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    pub(crate) async fn get_json(&self, path: &str) -> Value {
        self.get(path).await.json().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.request(Method::POST, path).json(&body).send().await.unwrap()
    }

    /// Posts and returns the whole stream as text.
    pub(crate) async fn post_text(&self, path: &str, body: Value) -> String {
        let response = self.post(path, body).await;
        assert_eq!(response.status(), StatusCode::OK);
        self.readable(&response.text().await.unwrap())
    }

    /// Starts a run and returns its id and its conversation's.
    pub(crate) async fn start(&self, message: &str) -> (String, String) {
        let response = self.post("/api/runs", json!({"message": message})).await;
        assert_eq!(response.status(), StatusCode::CREATED);
        let body: Value = response.json().await.unwrap();
        (body["run"].as_str().unwrap().into(), body["conversation"].as_str().unwrap().into())
    }

    /// Waits until the run is over or waits for somebody.
    pub(crate) async fn settled(&self, run: &str) -> String {
        loop {
            let state =
                self.get_json(&format!("/api/runs/{run}")).await["state"].as_str().unwrap().to_owned();
            if state != "running" {
                return state;
            }
            tokio::task::yield_now().await;
        }
    }

    /// A token for `user`, after which the server asks everybody for one.
    pub(crate) async fn token(&self, user: &str, rights: TokenRights) -> String {
        self.token_for(user, rights, ActFor::OnlySelf).await
    }

    pub(crate) fn audit_entry(&self) -> AuditEntry {
        AuditEntry::new(self.world.now(), "operator", "token.changed", "")
    }

    /// The same, which may act for others.
    pub(crate) async fn token_for(&self, user: &str, rights: TokenRights, act_for: ActFor) -> String {
        let (token, shown) = new_token(&self.world, UserId(user.into()), rights, act_for, "test".into());
        self.store.create_token(token, self.audit_entry()).await.unwrap();
        self.app.refresh_access().await.unwrap();
        shown
    }

    pub(crate) async fn revoke_token(&self, id: String) {
        self.store.revoke_token(id, self.audit_entry()).await.unwrap();
        self.app.refresh_access().await.unwrap();
    }

    /// Text with the ids that differ between runs taken out.
    pub(crate) fn readable(&self, text: &str) -> String {
        let mut readable = String::new();
        for line in text.lines() {
            let mut line = line.to_owned();
            let is_id =
                |piece: &str| piece.len() == 36 && piece.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
            let found: Vec<String> = line
                .split(|c: char| !c.is_ascii_hexdigit() && c != '-')
                .filter(|piece| is_id(piece))
                .map(str::to_owned)
                .collect();
            for id in found {
                line = line.replace(&id, "ID");
            }
            readable.push_str(&line);
            readable.push('\n');
        }
        readable
    }
}

fn client() -> Client {
    _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// A reply from `say …`, `think …` and `call tool {json}`, divided by ` | `.
pub(crate) fn reply(line: &str) -> Reply {
    let mut reply = Reply::new();
    for beat in line.split(" | ") {
        let (verb, rest) = beat.split_once(' ').unwrap();
        reply = match verb {
            "think" => reply.reasoning(rest),
            "say" => reply.text(rest),
            "call" => {
                let (tool, arguments) = rest.split_once(' ').unwrap();
                reply.call(tool, arguments)
            }
            other => panic!("a model cannot `{other}`"),
        };
    }
    reply.done()
}

/// The outcome of its calls is unknown.
pub(crate) struct LostTool(ToolSpec);

impl LostTool {
    pub(crate) fn checked_by(other: &str) -> Self {
        Self(ToolSpec { check_tool: Some(other.into()), ..spec("lose", Effect::NonIdempotent) })
    }
}

impl Tool for LostTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn preview(&self, _: Request<'_>, _: &CallContext) -> Option<String> {
        Some("POST https://mail.example/send".into())
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Err(ToolError::Lost("the line went dead".into())) })
    }
}
