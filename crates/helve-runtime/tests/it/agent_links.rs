//! Tools as agents have them: arguments that agents decide about, and guards of their own.

use std::sync::{Arc, Mutex};

use helve_model::{Reply, ScriptedModel};
use helve_runtime::{
    AgentChange, ModelOptions, Models, Runtime, RuntimeSettings, StartError, StartInput, StartRequest,
    StartedRun, read_agent,
};
use helve_store::{ApprovalFilter, Log, MemoryStore, Page, Scope, Views};
use helve_tool::{CallContext, Catalogue, Guards, Registry, Request, Tool, ToolFuture};
use helve_types::{Answer, Effect, Fact, RunId, ToolOutput, ToolSpec, UserId, World};
use serde_json::{Value, json};

use crate::lab::{mei, reply, settle};

/// A tool that keeps what it is called with.
struct Kept {
    spec: ToolSpec,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Tool for Kept {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        let mut calls = self.calls.lock().unwrap();
        calls.push(request.arguments.clone());
        let output = ToolOutput::text(format!("answer {}", calls.len()));
        Box::pin(async { Ok(output) })
    }
}

struct LinkLab {
    store: Arc<MemoryStore>,
    model: Arc<ScriptedModel>,
    runtime: Runtime,
    calls: Arc<Mutex<Vec<Value>>>,
}

/// A server with a tool that reads and one that sends.
async fn open(store: &Arc<MemoryStore>, model: Arc<ScriptedModel>) -> LinkLab {
    let (registry, world, calls) = (Arc::new(Registry::new()), World::real(), Arc::default());
    let parameters = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Which city"},
            "days": {"type": "integer", "default": 3},
            "account": {"type": "string"}
        },
        "required": ["city", "days"],
        "additionalProperties": false
    });
    for (name, effect) in [("forecast", Effect::Read), ("send", Effect::NonIdempotent)] {
        let spec = ToolSpec::new(name.to_owned(), "Works.".to_owned(), parameters.clone(), effect);
        let tool = Kept { spec, calls: Arc::clone(&calls) };
        registry.register(Arc::new(tool), Guards::default(), &world).unwrap();
    }
    let catalogue = Arc::new(Catalogue::without_rows(registry, store.clone(), world));
    let mut models = Models::new();
    models.add(model.clone(), ModelOptions::default());
    let runtime = Runtime::with_catalogue(catalogue, models, RuntimeSettings::default());
    runtime.agents().refresh().await.unwrap();
    LinkLab { store: store.clone(), model, runtime, calls }
}

async fn lab(replies: impl IntoIterator<Item = Reply>) -> LinkLab {
    open(&Arc::new(MemoryStore::new()), Arc::new(ScriptedModel::new(replies))).await
}

impl LinkLab {
    async fn make(&self, definition: Value) -> Result<(), String> {
        let made = self.runtime.create_agent(read_agent(definition).unwrap(), "mei").await;
        made.map(drop).map_err(|error| error.to_string())
    }

    async fn start(&self, user: UserId, draft: bool) -> Result<StartedRun, StartError> {
        let input = StartInput::Message { conversation: None, text: "go".into() };
        let request = StartRequest { agent: Some("clerk".into()), draft, ..StartRequest::new(user, input) };
        self.runtime.start_run(request).await
    }

    /// A run of the agent to its end.
    async fn run(&self) -> RunId {
        let mut started = self.start(mei(), false).await.unwrap();
        assert_eq!(settle(&mut started.follower).await, "run.finished");
        started.run
    }

    /// What came of the calls of a run.
    async fn outcomes(&self, run: RunId) -> Vec<String> {
        let log = self.store.events(run, 0, 99).await.unwrap();
        let outcome = |fact: Fact| match fact {
            Fact::ToolFinished { output, .. } => Some(output.text),
            Fact::ToolRefused { failure, .. } | Fact::ToolFailed { failure, .. } => Some(failure.message),
            _ => None,
        };
        log.into_iter().filter_map(|recorded| outcome(recorded.event.fact)).collect()
    }

    fn calls(&self) -> Vec<Value> {
        self.calls.lock().unwrap().clone()
    }
}

fn clerk(tool: &str, config: Value) -> Value {
    json!({"name": "clerk", "tools": [{"name": tool, "config": config}]})
}

#[tokio::test]
async fn helve_adds_fixed_arguments_that_the_model_neither_sees_nor_decides() {
    let lab = lab([
        reply(r#"call forecast {"city": "Oslo"}"#),
        reply(r#"call forecast {"city": "Oslo", "account": "eve"}"#),
        reply(r#"call forecast {"city": "Oslo", "days": 9}"#),
        reply("say Done."),
    ])
    .await;
    let config = json!({"arguments": {"account": "acme"}, "hidden_arguments": ["days"]});
    lab.make(clerk("forecast", config)).await.unwrap();
    let run = lab.run().await;
    assert_eq!(lab.calls(), [json!({"city": "Oslo", "days": 3, "account": "acme"})]);
    let outcomes = lab.outcomes(run).await;
    assert_eq!(outcomes[0], "answer 1");
    assert!(outcomes[1].contains("`account` of `forecast` is decided by the agent"), "{outcomes:?}");
    assert!(outcomes[2].contains("`days` of `forecast` is decided by the agent"), "{outcomes:?}");
    // In the calls that it has made the model does not see them either.
    let asked = lab.model.asked();
    assert!(!asked[1].contains("acme") && !asked[1].contains("\"days\""), "{}", asked[1]);
    // People see what was sent.
    let sent = lab.store.calls(run).await.unwrap();
    assert!(sent[0].call.arguments.contains("acme"), "{:?}", sent[0]);
}

#[tokio::test]
async fn a_call_that_waits_for_a_person_over_a_restart_is_sent_with_what_the_agent_decides() {
    let store = Arc::new(MemoryStore::new());
    let model = Arc::new(ScriptedModel::new([reply(r#"call send {"city": "Oslo"}"#), reply("say Done.")]));
    let before = open(&store, model.clone()).await;
    let config = json!({"arguments": {"account": "acme", "days": 1}});
    before.make(clerk("send", config)).await.unwrap();
    let mut started = before.start(mei(), false).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let held = store.approvals(Scope::Everyone, ApprovalFilter::Pending(Page::first(9))).await.unwrap();
    let whole = r#"{"account":"acme","city":"Oslo","days":1}"#;
    assert_eq!(held[0].question.call().unwrap().arguments, whole, "a person sees all of them");
    // What a run was started with holds for it.
    let change = AgentChange::Patch(json!({"tools": ["send"]}));
    before.runtime.update_agent("clerk", change, None, "mei").await.unwrap();
    before.runtime.shut_down(std::time::Duration::ZERO).await;

    let after = open(&store, model).await;
    let mut follower = after.runtime.follow_run(started.run, 0);
    let answer = |arguments: &str| Answer::Approve { arguments: Some(arguments.into()), always: None };
    let approval = held[0].id();
    let other = answer(r#"{"city": "Rome", "account": "eve", "days": 1}"#);
    let refused = after.runtime.answer_approval(Scope::Everyone, approval, other, "mei".into()).await;
    assert!(format!("{refused:?}").contains("decided by the agent"), "{refused:?}");
    let edited = answer(r#"{"city": "Rome"}"#);
    after.runtime.answer_approval(Scope::Everyone, approval, edited, "mei".into()).await.unwrap();
    while settle(&mut follower).await != "run.finished" {}
    assert_eq!(after.calls(), [json!({"city": "Rome", "account": "acme", "days": 1})]);
}

#[tokio::test]
async fn an_agents_limit_holds_for_its_own_calls_and_for_no_others() {
    let call = |city: &str| reply(&format!(r#"call forecast {{"city": "{city}", "days": 1}}"#));
    let lab = lab([call("A"), call("B"), reply("say Done."), call("C"), reply("say Done.")]).await;
    lab.make(clerk("forecast", json!({"rate_limit": {"per_minute": 1, "wait_ms": 0}}))).await.unwrap();
    let outcomes = lab.outcomes(lab.run().await).await;
    assert_eq!(outcomes[0], "answer 1");
    assert!(outcomes[1].contains("cannot be called right now"), "{outcomes:?}");
    // The default agent has the tool as it is.
    let input = StartInput::Message { conversation: None, text: "go".into() };
    let mut started = lab.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(lab.outcomes(started.run).await, ["answer 2"]);
}

#[tokio::test]
async fn a_new_version_of_an_agent_goes_on_with_what_its_limit_has_seen() {
    let call = || reply(r#"call forecast {"city": "A", "days": 1}"#);
    let lab = lab([call(), reply("say Done."), call(), reply("say Done."), call(), reply("say Done.")]).await;
    let limit = |count: u32| json!({"rate_limit": {"per_minute": count, "wait_ms": 0}});
    lab.make(clerk("forecast", limit(1))).await.unwrap();
    assert_eq!(lab.outcomes(lab.run().await).await, ["answer 1"]);
    let change =
        |config| AgentChange::PatchTool { name: "forecast".into(), patch: json!({"config": config}) };
    let attempts = change(json!({"attempts": 1}));
    lab.runtime.update_agent("clerk", attempts, None, "mei").await.unwrap();
    let outcomes = lab.outcomes(lab.run().await).await;
    assert!(outcomes[0].contains("cannot be called right now"), "{outcomes:?}");
    lab.runtime.update_agent("clerk", change(limit(2)), None, "mei").await.unwrap();
    assert_eq!(lab.outcomes(lab.run().await).await, ["answer 2"]);
}

#[tokio::test]
async fn an_agents_cache_serves_its_own_calls() {
    let call = || reply(r#"call forecast {"city": "A", "days": 1}"#);
    let lab = lab([call(), reply("say Done."), call(), reply("say Done.")]).await;
    let cache = json!({"cache": {"ttl_ms": 60000, "scope": "params"}});
    lab.make(clerk("forecast", cache)).await.unwrap();
    for _ in 0..2 {
        assert_eq!(lab.outcomes(lab.run().await).await, ["answer 1"]);
    }
    assert_eq!(lab.calls().len(), 1);
    let told =
        lab.make(json!({"name": "b", "tools": [{"name": "send", "config": {"cache": {"ttl_ms": 1}}}]})).await;
    assert!(told.unwrap_err().contains("tools.0.config.cache"));
}

#[tokio::test]
async fn what_does_not_fit_a_tool_is_refused_and_a_tool_that_has_changed_since_is_left_out() {
    let lab = lab([]).await;
    for (config, field) in [
        (json!({"arguments": {"town": "A"}}), "`tools.0.config.arguments.town`"),
        (json!({"arguments": {"days": "A"}}), "`tools.0.config.arguments.days`"),
        (json!({"hidden_arguments": ["city"]}), "`tools.0.config.hidden_arguments`"),
        (json!({"timeout_ms": 1}), "`tools.0.config.timeout_ms`"),
        (json!({"rate_limit": {"per_window": 1}}), "`tools.0.config.rate_limit.per_window`"),
    ] {
        let told = lab.make(clerk("forecast", config)).await.unwrap_err();
        assert!(told.starts_with(field), "{told}");
    }
    // A tool that comes later is not known yet; what is said about it is looked at when it is there.
    lab.make(clerk("later", json!({"arguments": {"town": "A"}}))).await.unwrap();
    let listed = lab.runtime.agents().get("clerk").unwrap();
    assert!(listed.agent.unwrap().link_problems(lab.runtime.registry()).is_empty());
}

#[tokio::test]
async fn an_agent_for_some_users_does_not_exist_for_others() {
    let lab = lab([reply("say Hm.")]).await;
    lab.make(json!({"name": "clerk", "users": ["m*"]})).await.unwrap();
    lab.run().await;
    let refused = lab.start(UserId("li".into()), false).await.err().unwrap();
    let StartError::UnknownAgent { known, .. } = refused else { panic!("{refused}") };
    assert!(!known.contains("clerk"), "{known}");
}

#[tokio::test]
async fn a_draft_is_tried_without_touching_the_agent_and_then_published() {
    let lab = lab([reply("say New."), reply("say Old."), reply("say Newest.")]).await;
    lab.make(json!({"name": "clerk", "system_prompt": "Old ways.", "enabled": false})).await.unwrap();
    let missing = lab.start(mei(), true).await.err().unwrap();
    assert_eq!(missing, StartError::UnknownDraft("clerk".into()));
    let change = AgentChange::Patch(json!({"system_prompt": "New ways."}));
    let listed = lab.runtime.save_agent_draft("clerk", change, None, "mei").await.unwrap();
    assert_eq!(listed.row.unwrap().version, 1);
    let mut tried = lab.start(mei(), true).await.unwrap();
    assert_eq!(settle(&mut tried.follower).await, "run.finished");
    assert!(lab.model.asked()[0].contains("New ways."));

    let on = AgentChange::Patch(json!({"enabled": true}));
    lab.runtime.update_agent("clerk", on, None, "mei").await.unwrap();
    lab.run().await;
    assert!(lab.model.asked()[1].contains("Old ways."));
    let published = lab.runtime.publish_agent_draft("clerk", Some(2), "mei").await.unwrap();
    assert!(published.draft.is_none() && published.is_enabled());
    lab.run().await;
    assert!(lab.model.asked()[2].contains("New ways."));

    let restored = lab.runtime.restore_agent("clerk", 1, None, "mei").await.unwrap();
    let row = restored.row.unwrap();
    assert_eq!((row.version, row.definition.system_prompt.as_str()), (4, "Old ways."));
    assert!(row.definition.enabled, "the switch stays");
}

#[tokio::test]
async fn a_run_of_a_draft_that_was_discarded_goes_on_after_a_restart() {
    let store = Arc::new(MemoryStore::new());
    let model =
        Arc::new(ScriptedModel::new([reply(r#"call send {"city": "Oslo", "days": 1}"#), reply("say Done.")]));
    let before = open(&store, model.clone()).await;
    before.make(json!({"name": "clerk"})).await.unwrap();
    let change = AgentChange::Patch(json!({"tools": ["send"]}));
    before.runtime.save_agent_draft("clerk", change, None, "mei").await.unwrap();
    let mut started = before.start(mei(), true).await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    before.runtime.agents().discard_draft("clerk", "mei").await.unwrap();
    before.runtime.shut_down(std::time::Duration::ZERO).await;

    let after = open(&store, model).await;
    let held = store.approvals(Scope::Everyone, ApprovalFilter::Pending(Page::first(9))).await.unwrap();
    let mut follower = after.runtime.follow_run(started.run, 0);
    after
        .runtime
        .answer_approval(Scope::Everyone, held[0].id(), Answer::approve(), "mei".into())
        .await
        .unwrap();
    while settle(&mut follower).await != "run.finished" {}
    assert_eq!(after.calls().len(), 1);
}
