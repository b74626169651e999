//! Runs whose tools are rows: they go on with the definitions they were started with.

use std::sync::Arc;

use helve_model::{Reply, ScriptedModel};
use helve_runtime::{ModelOptions, Models, Runtime, RuntimeSettings, StartInput, StartRequest, StartedRun};
use helve_store::{ApprovalFilter, Log, MemoryStore, Page, Scope, Views};
use helve_tool::{
    CallContext, Catalogue, Change, Consent, Guards, Outcome, Registry, Request, Tool, ToolBuilder,
    ToolFuture, read_definition,
};
use helve_types::{Answer, Fact, Question, RunId, ToolDefinition, ToolOutput, ToolSpec, World};
use serde_json::json;

use crate::lab::{mei, reply, settle};

/// Says where the call went.
struct Post(ToolSpec, String);

impl Tool for Post {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Ok(ToolOutput::text(format!("sent to {}", self.1))) })
    }
}

fn maker() -> ToolBuilder {
    Arc::new(|definition: &ToolDefinition, _| {
        let ToolDefinition { name, description, parameters, .. } = definition.clone();
        let spec = ToolSpec::new(name, description, parameters, definition.effect());
        let tool = Post(spec, definition.endpoint.url_template.clone());
        Ok((Arc::new(tool) as Arc<dyn Tool>, Guards::default()))
    })
}

fn letter(url: &str) -> ToolDefinition {
    read_definition(json!({
        "name": "letter", "description": "Sends a letter.", "endpoint": {"url_template": url, "method": "POST"}
    }))
    .unwrap()
}

struct Office {
    store: Arc<MemoryStore>,
    catalogue: Arc<Catalogue>,
    runtime: Runtime,
}

impl Office {
    /// A server over what is kept.
    async fn open(store: &Arc<MemoryStore>, model: &Arc<ScriptedModel>) -> Self {
        let (registry, world) = (Arc::new(Registry::new()), World::real());
        let catalogue = Arc::new(Catalogue::new(registry, store.clone(), world, maker()));
        catalogue.refresh().await.unwrap();
        let mut models = Models::new();
        models.add(model.clone(), ModelOptions::default());
        let runtime = Runtime::with_catalogue(catalogue.clone(), models, RuntimeSettings::default());
        Self { store: store.clone(), catalogue, runtime }
    }

    async fn ask(&self) -> StartedRun {
        let input = StartInput::Message { conversation: None, text: "send it".into() };
        self.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap()
    }

    async fn question(&self, run: RunId) -> Question {
        let held =
            self.store.approvals(Scope::Everyone, ApprovalFilter::Pending(Page::first(99))).await.unwrap();
        held.into_iter().find(|held| held.run == run).unwrap().question
    }

    async fn approve(&self, run: RunId) {
        let approval = self.question(run).await.approval;
        let answer = Answer::approve();
        self.runtime.answer_approval(Scope::Everyone, approval, answer, "mei".into()).await.unwrap();
    }

    /// What calls of the run gave.
    async fn outputs(&self, run: RunId) -> Vec<String> {
        let log = self.store.events(run, 0, 99).await.unwrap();
        let output = |fact: Fact| match fact {
            Fact::ToolFinished { output, .. } => Some(output.text),
            Fact::ToolRefused { failure, .. } | Fact::ToolFailed { failure, .. } => Some(failure.message),
            _ => None,
        };
        log.into_iter().filter_map(|recorded| output(recorded.event.fact)).collect()
    }

    async fn questions_asked(&self, run: RunId) -> usize {
        let log = self.store.events(run, 0, 99).await.unwrap();
        log.iter().filter(|recorded| recorded.event.fact.kind() == "approval.asked").count()
    }
}

/// The model sends a letter in every run.
fn script(runs: usize) -> Arc<ScriptedModel> {
    let calls = || [reply("call letter {}"), reply("say Done.")];
    let replies: Vec<Reply> = (0..runs).flat_map(|_| calls()).collect();
    Arc::new(ScriptedModel::new(replies))
}

async fn office_with(model: &Arc<ScriptedModel>) -> Office {
    let office = Office::open(&Arc::default(), model).await;
    office.catalogue.create(letter("https://old.example"), "mei").await.unwrap();
    office
}

async fn waits(started: &mut StartedRun) {
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
}

#[tokio::test]
async fn an_edit_while_an_approval_waits_changes_later_runs_only() {
    let model = Arc::new(ScriptedModel::new([
        reply("call letter {}"),
        reply("call letter {}"),
        reply("say Done."),
        reply("say Done."),
    ]));
    let office = office_with(&model).await;
    let mut first = office.ask().await;
    waits(&mut first).await;
    let change = Change::Whole(Box::new(letter("https://new.example")));
    office.catalogue.update("letter", change, None, "mei").await.unwrap();
    let mut second = office.ask().await;
    waits(&mut second).await;
    // Nothing differs but where the letter goes, and that is enough.
    let bound =
        [office.question(first.run).await, office.question(second.run).await].map(|asked| asked.binding);
    assert_ne!(bound[0], bound[1]);

    for (started, url) in [(&mut first, "https://old.example"), (&mut second, "https://new.example")] {
        office.approve(started.run).await;
        assert_eq!(settle(&mut started.follower).await, "run.finished");
        assert_eq!(office.outputs(started.run).await, [format!("sent to {url}")]);
        assert_eq!(office.questions_asked(started.run).await, 1);
    }
}

#[tokio::test]
async fn after_a_restart_a_run_has_the_tool_it_was_started_with_though_it_was_changed_and_deleted() {
    let model = script(1);
    let office = office_with(&model).await;
    let mut started = office.ask().await;
    waits(&mut started).await;
    let change = Change::Whole(Box::new(letter("https://new.example")));
    office.catalogue.update("letter", change, None, "mei").await.unwrap();
    office.catalogue.remove("letter", None, "mei").await.unwrap();

    let again = Office::open(&office.store, &model).await;
    assert!(again.catalogue.registry().get("letter").is_none());
    let mut follower = again.runtime.follow_run(started.run, 5);
    again.approve(started.run).await;
    assert_eq!(settle(&mut follower).await, "run.finished");
    assert_eq!(again.outputs(started.run).await, ["sent to https://old.example"]);
}

#[tokio::test]
async fn a_tool_in_quarantine_is_kept_by_runs_that_have_it_and_new_ones_get_none() {
    let model = script(1);
    let office = Office::open(&Arc::default(), &model).await;
    let from = |url: &str| ToolDefinition { tags: vec!["openapi:post".into()], ..letter(url) };
    let offer = async |url: &str| {
        let offered =
            office.catalogue.receive_offer("openapi:post", from(url), Consent::Wanted, None, "mei").await;
        offered.map(drop).unwrap();
    };
    offer("https://old.example").await;
    let mut first = office.ask().await;
    waits(&mut first).await;
    offer("https://evil.example").await;
    office.approve(first.run).await;
    assert_eq!(settle(&mut first.follower).await, "run.finished");
    assert_eq!(office.outputs(first.run).await, ["sent to https://old.example"]);

    let ordered = || {
        let options = helve_runtime::CallOptions::default();
        office.runtime.call_tool(mei(), "letter", "{}", options, Default::default())
    };
    let refused = ordered().await.unwrap().outcome;
    assert!(
        matches!(&refused, Outcome::Refused(failure) if failure.message.contains("helve tools agree letter"))
    );
    model.then(reply("call letter {}"));
    model.then(reply("say I cannot."));
    let mut second = office.ask().await;
    assert_eq!(settle(&mut second.follower).await, "run.finished");
    assert_eq!(office.outputs(second.run).await, ["there is no tool `letter`; the tools are: none"]);

    office.catalogue.reject_offer("letter", "mei").await.unwrap();
    assert!(matches!(ordered().await.unwrap().outcome, Outcome::Finished(_)));
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_off_for_runs_that_wait_with_an_older_version() {
    let model = script(1);
    let office = office_with(&model).await;
    let mut started = office.ask().await;
    waits(&mut started).await;
    let change = Change::Whole(Box::new(letter("https://new.example")));
    office.catalogue.update("letter", change, None, "mei").await.unwrap();
    office.catalogue.set_enabled("letter", false, "mei").await.unwrap();
    office.approve(started.run).await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(office.outputs(started.run).await, ["the tool `letter` is switched off; go on without it"]);
}
