//! Runs whose agents are rows: they go on with the version they were started with.

use std::sync::Arc;

use helve_model::{Reply, ScriptedModel};
use helve_runtime::{
    AgentChange, ModelOptions, Models, Runtime, RuntimeSettings, StartError, StartInput, StartRequest,
    StartedRun, read_agent,
};
use helve_store::{ApprovalFilter, Log, MemoryStore, Page, Scope, Views};
use helve_tool::{CallContext, Catalogue, Guards, Registry, Request, Tool, ToolFuture};
use helve_types::{Answer, Effect, Fact, RunId, ToolOutput, ToolSpec, World};
use serde_json::{Value, json};

use crate::lab::{mei, reply, settle};

struct Send(ToolSpec);

impl Tool for Send {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Ok(ToolOutput::text("sent".to_owned())) })
    }
}

/// A server over what is kept.
async fn open(store: &Arc<MemoryStore>, models: &[&Arc<ScriptedModel>]) -> Runtime {
    let (registry, world) = (Arc::new(Registry::new()), World::real());
    let parameters = json!({"type": "object", "properties": {}});
    let spec = ToolSpec::new("send".to_owned(), "Sends.".to_owned(), parameters, Effect::NonIdempotent);
    registry.register(Arc::new(Send(spec)), Guards::default(), &world).unwrap();
    let catalogue = Arc::new(Catalogue::without_rows(registry, store.clone(), world));
    let mut known = Models::new();
    for model in models {
        known.add((*model).clone(), ModelOptions::default());
    }
    let runtime = Runtime::with_catalogue(catalogue, known, RuntimeSettings::default());
    runtime.agents().refresh().await.unwrap();
    runtime
}

fn script(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies))
}

async fn make(runtime: &Runtime, definition: Value) {
    runtime.create_agent(read_agent(definition).unwrap(), "mei").await.unwrap();
}

async fn ask(runtime: &Runtime, agent: &str) -> Result<StartedRun, StartError> {
    let input = StartInput::Message { conversation: None, text: "send it".into() };
    let request = StartRequest { agent: Some(agent.into()), ..StartRequest::new(mei(), input) };
    runtime.start_run(request).await
}

async fn approve(runtime: &Runtime, store: &MemoryStore, run: RunId) {
    let held = store.approvals(Scope::Everyone, ApprovalFilter::Pending(Page::first(9))).await.unwrap();
    let approval = held.into_iter().find(|held| held.run == run).unwrap().question.approval;
    runtime.answer_approval(Scope::Everyone, approval, Answer::approve(), "mei".into()).await.unwrap();
}

async fn outputs(store: &MemoryStore, run: RunId) -> Vec<String> {
    let log = store.events(run, 0, 99).await.unwrap();
    let output = |fact: Fact| match fact {
        Fact::ToolFinished { output, .. } => Some(output.text),
        Fact::ToolRefused { failure, .. } | Fact::ToolFailed { failure, .. } => Some(failure.message),
        _ => None,
    };
    log.into_iter().filter_map(|recorded| output(recorded.event.fact)).collect()
}

fn clerk(prompt: &str) -> Value {
    json!({"name": "clerk", "id": "u-1", "model": "scripted", "system_prompt": prompt, "tools": ["send"]})
}

#[tokio::test]
async fn a_run_whose_agent_was_deleted_goes_on_after_a_restart_with_the_agent_as_it_was() {
    let store = Arc::new(MemoryStore::new());
    let model = script([reply("call send {}"), reply("say Done.")]);
    let before = open(&store, &[&model]).await;
    make(&before, clerk("You send letters.")).await;
    let mut started = ask(&before, "u-1").await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let record = store.run(Scope::Everyone, started.run).await.unwrap();
    assert_eq!(record.setup.agent, "clerk");
    assert!(record.setup.agent_version.is_some());
    before.delete_agent("clerk", None, "mei").await.unwrap();
    before.shut_down(std::time::Duration::ZERO).await;

    let after = open(&store, &[&model]).await;
    assert!(matches!(ask(&after, "clerk").await, Err(StartError::UnknownAgent { .. })));
    approve(&after, &store, started.run).await;
    let mut follower = after.follow_run(started.run, 0);
    while settle(&mut follower).await != "run.finished" {}
    assert_eq!(outputs(&store, started.run).await, ["sent"]);
    assert!(model.asked().iter().all(|asked| asked.contains("You send letters.")), "{:?}", model.asked());
}

#[tokio::test]
async fn an_edit_of_an_agent_changes_later_runs_only() {
    let store = Arc::new(MemoryStore::new());
    let model = script([reply("call send {}"), reply("say Done."), reply("say New.")]);
    let runtime = open(&store, &[&model]).await;
    make(&runtime, clerk("You send letters.")).await;
    let mut first = ask(&runtime, "clerk").await.unwrap();
    assert_eq!(settle(&mut first.follower).await, "waiting_approval");
    // The next version may not send anything.
    let change = AgentChange::Patch(json!({"system_prompt": "You do nothing.", "tools": []}));
    runtime.update_agent("u-1", change, Some(1), "mei").await.unwrap();
    approve(&runtime, &store, first.run).await;
    assert_eq!(settle(&mut first.follower).await, "run.finished");
    assert_eq!(outputs(&store, first.run).await, ["sent"]);
    let mut second = ask(&runtime, "clerk").await.unwrap();
    assert_eq!(settle(&mut second.follower).await, "run.finished");
    let prompts = model.asked();
    assert!(prompts[1].contains("You send letters."), "{}", prompts[1]);
    assert!(prompts[2].contains("You do nothing."), "{}", prompts[2]);
    let pinned = store.run(Scope::Everyone, second.run).await.unwrap().setup;
    assert!(pinned.tools.is_empty());
}

#[tokio::test]
async fn an_agent_that_another_process_made_is_there_after_a_refresh() {
    let store = Arc::new(MemoryStore::new());
    let model = script([reply("say Hm.")]);
    let (server, command) = (open(&store, &[&model]).await, open(&store, &[&model]).await);
    make(&command, clerk("Hm.")).await;
    assert!(server.agents().find("clerk").is_none());
    assert!(server.agents().refresh().await.unwrap());
    assert!(server.agents().find("u-1").is_some());
    assert!(!server.agents().refresh().await.unwrap());
}

#[tokio::test]
async fn what_an_agent_says_about_one_of_its_tools_holds_for_its_calls() {
    let store = Arc::new(MemoryStore::new());
    let model = script([reply("call send {}"), reply("say Done.")]);
    let runtime = open(&store, &[&model]).await;
    let allowed = json!([{"name": "send", "config": {"permission": "allow"}}]);
    make(&runtime, json!({"name": "clerk", "tools": allowed})).await;
    let mut started = ask(&runtime, "clerk").await.unwrap();
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(outputs(&store, started.run).await, ["sent"]);
}
