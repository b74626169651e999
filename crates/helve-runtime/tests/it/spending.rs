//! What a model is asked with, and what the answer costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use helve_model::{
    Model, ModelError, ModelErrorKind, ModelRequest, ModelStream, Reply, ScriptedModel, ToolMode,
};
use helve_runtime::{
    AgentSettings, Frame, ModelOptions, Models, PerMillion, Price, PriceSource, Runtime, RuntimeSettings,
    StartInput, StartRequest, StartedRun,
};
use helve_store::{Log, MemoryStore, Scope, Views};
use helve_tool::Registry;
use helve_types::{Fact, Live, Mode, ModelParams, RunId, Spent, StopReason, Usage, World};

use crate::lab::{mei, settle};

/// Says what a script says and remembers the parameters it was asked with.
struct Attentive {
    script: ScriptedModel,
    params: ModelParams,
    asked_with: Arc<Mutex<Vec<ModelParams>>>,
}

impl Model for Attentive {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn tool_mode(&self) -> ToolMode {
        ToolMode::Fixed(Mode::Native)
    }

    fn params(&self) -> &ModelParams {
        &self.params
    }

    fn ask(&self, request: &ModelRequest<'_>) -> ModelStream {
        self.asked_with.lock().unwrap().push(request.params.clone());
        self.script.ask(request)
    }
}

struct Shop {
    store: Arc<MemoryStore>,
    runtime: Runtime,
    asked_with: Arc<Mutex<Vec<ModelParams>>>,
}

impl Shop {
    fn new(replies: impl IntoIterator<Item = Reply>, params: ModelParams, agent: AgentSettings) -> Self {
        Self::over(Arc::new(MemoryStore::new()), replies, params, agent)
    }

    /// The same shop after a stop, whose model says something else.
    fn restarted(&self, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::over(self.store.clone(), replies, ModelParams::default(), AgentSettings::default())
    }

    fn over(
        store: Arc<MemoryStore>,
        replies: impl IntoIterator<Item = Reply>,
        params: ModelParams,
        agent: AgentSettings,
    ) -> Self {
        let asked_with = Arc::new(Mutex::new(vec![]));
        let model = Attentive { script: ScriptedModel::new(replies), params, asked_with: asked_with.clone() };
        let units = |units| PerMillion::from_units(units).unwrap();
        let price = Price {
            input: units(3.0),
            cached: units(0.3),
            cache_write: units(3.75),
            output: units(15.0),
            from: PriceSource::Configured,
        };
        let high = ModelParams { seed: Some(4), top_p: Some(0.4), ..ModelParams::default() };
        let options = ModelOptions {
            price: Some(price),
            variants: BTreeMap::from([("high".to_owned(), high)]),
            ..ModelOptions::default()
        };
        let mut models = Models::new();
        models.add(Arc::new(model), options);
        let settings = RuntimeSettings { agents: vec![agent], ..RuntimeSettings::default() };
        let registry = Arc::new(Registry::new());
        let runtime = Runtime::new(store.clone(), World::deterministic(), models, registry, settings);
        Self { store, runtime, asked_with }
    }

    fn selling(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::new(replies, ModelParams::default(), AgentSettings::default())
    }

    async fn ask(&self, change: impl FnOnce(StartRequest) -> StartRequest) -> StartedRun {
        let input = StartInput::Message { conversation: None, text: "hello".into() };
        let mut started = self.runtime.start_run(change(StartRequest::new(mei(), input))).await.unwrap();
        settle(&mut started.follower).await;
        started
    }

    async fn steps(&self, run: RunId) -> Vec<(StopReason, Spent)> {
        let events = self.store.events(run, 0, 999).await.unwrap();
        let step = |fact: &Fact| match fact {
            Fact::StepFinished { reason, .. } => Some((*reason, Spent::from_fact(fact)?)),
            _ => None,
        };
        events.iter().filter_map(|recorded| step(&recorded.event.fact)).collect()
    }
}

fn spent(input_tokens: u64, output_tokens: u64, cost_nanos: u64) -> Spent {
    let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
    Spent { usage, cost_nanos: Some(cost_nanos) }
}

fn reported(input_tokens: u64, output_tokens: u64) -> Usage {
    spent(input_tokens, output_tokens, 0).usage
}

#[tokio::test]
async fn a_step_its_message_its_run_and_its_conversation_know_what_it_cost() {
    let shop = Shop::selling([Reply::new().text("Hello.").done()]);
    let started = shop.ask(|request| request).await;
    let expected = spent(10, 5, 10 * 3_000 + 5 * 15_000);
    assert_eq!(shop.steps(started.run).await, [(StopReason::Stop, expected)]);
    assert_eq!(shop.store.run(Scope::Everyone, started.run).await.unwrap().spent, expected);
    let conversation = started.conversation.unwrap();
    assert_eq!(shop.store.conversation(Scope::Everyone, conversation).await.unwrap().spent, expected);
    let messages = shop.store.messages(Scope::Everyone, conversation).await.unwrap();
    assert_eq!(messages[1].steps[0].cost_nanos, expected.cost_nanos);
    assert_eq!(messages[1].steps[0].model, "scripted");
}

#[tokio::test]
async fn tries_that_broke_off_are_paid_beside_the_step_that_follows_them() {
    let broken = ModelError::new(ModelErrorKind::Broken, "cut");
    let shop = Shop::selling([
        Reply::new().usage(reported(100, 1)).text("Hel").fails(broken),
        Reply::new().text("Hello.").done(),
    ]);
    let started = shop.ask(|request| request).await;
    assert_eq!(shop.steps(started.run).await, [(StopReason::Stop, spent(10, 5, 10 * 3_000 + 5 * 15_000))]);
    let expected = spent(110, 6, 110 * 3_000 + 6 * 15_000);
    assert_eq!(shop.store.run(Scope::Everyone, started.run).await.unwrap().spent, expected);
}

#[tokio::test(start_paused = true)]
async fn what_broken_tries_took_is_not_forgotten_when_the_server_stops() {
    let cut = |text: &str| {
        let broken = ModelError::new(ModelErrorKind::Broken, "cut");
        // Also where nothing of it was shown.
        let reply = Reply::new().usage(reported(100, 1));
        if text.is_empty() { reply.fails(broken) } else { reply.text(text).fails(broken) }
    };
    let shop = Shop::selling([cut("Hel"), cut(""), Reply::new().hangs()]);
    let input = StartInput::Message { conversation: None, text: "hello".into() };
    let mut started = shop.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    for _ in 0..2 {
        crate::lab::until(&mut started.follower, "step.restarted").await;
    }
    shop.runtime.shut_down(std::time::Duration::ZERO).await;

    let next = shop.restarted([Reply::new().text("Hello.").done()]);
    assert_eq!(next.runtime.resume_interrupted_runs().await.unwrap(), 1);
    assert_eq!(settle(&mut next.runtime.follow_run(started.run, 0)).await, "run.finished");
    let expected = spent(210, 7, 210 * 3_000 + 7 * 15_000);
    assert_eq!(next.store.run(Scope::Everyone, started.run).await.unwrap().spent, expected);
    let today = World::deterministic().now().day();
    let used = next.store.usage_of_day(today, mei(), "default".into()).await.unwrap();
    assert_eq!((used.user.tokens, used.user.cost_nanos), (217, expected.cost_nanos.unwrap()));
}

#[tokio::test]
async fn a_step_that_fails_for_good_is_on_record_with_what_was_spent_on_it() {
    let refused = ModelError::new(ModelErrorKind::Refused, "no");
    let shop = Shop::selling([Reply::new().usage(reported(100, 1)).fails(refused)]);
    let started = shop.ask(|request| request).await;
    let expected = spent(100, 1, 100 * 3_000 + 15_000);
    assert_eq!(shop.steps(started.run).await, [(StopReason::Failed, expected)]);
    let messages = shop.store.messages(Scope::Everyone, started.conversation.unwrap()).await.unwrap();
    assert_eq!(messages[1].steps[0].cost_nanos, expected.cost_nanos);
}

#[tokio::test]
async fn a_failure_that_took_nothing_leaves_no_step() {
    let refused = ModelError::new(ModelErrorKind::Refused, "no");
    let shop = Shop::selling([Reply::new().fails(refused)]);
    let started = shop.ask(|request| request).await;
    assert_eq!(shop.steps(started.run).await, []);
}

#[tokio::test]
async fn a_stopped_step_counts_what_the_vendor_had_reported() {
    let shop = Shop::selling([Reply::new().usage(reported(100, 1)).text("Well, ").hangs()]);
    let input = StartInput::Message { conversation: None, text: "hello".into() };
    let mut started = shop.runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    while let Some(frame) = started.follower.next().await {
        if let Frame::Live(Live::PartStarted { .. }) = frame.unwrap() {
            break;
        }
    }
    shop.runtime.cancel_run(Scope::Everyone, started.run, "mei".into()).await.unwrap();
    settle(&mut started.follower).await;
    let expected = spent(100, 1, 100 * 3_000 + 15_000);
    assert_eq!(shop.steps(started.run).await, [(StopReason::Cancelled, expected)]);
}

#[tokio::test]
async fn a_vendor_that_reports_nothing_leaves_the_cost_unknown() {
    let shop = Shop::selling([Reply::new().text("Hello.").cut_by_length()]);
    let started = shop.ask(|request| request).await;
    assert_eq!(shop.steps(started.run).await, [(StopReason::Length, Spent::default())]);
}

/// Each layer says one thing more than the layer above it; what it says holds where nothing above speaks.
#[tokio::test]
async fn the_request_wins_over_the_variant_over_the_agent_over_the_model() {
    let model = ModelParams {
        temperature: Some(0.1),
        max_tokens: Some(1),
        seed: Some(1),
        top_p: Some(0.1),
        ..ModelParams::default()
    };
    let of_agent =
        ModelParams { max_tokens: Some(3), seed: Some(3), top_p: Some(0.3), ..ModelParams::default() };
    let agent = AgentSettings { params: of_agent, ..AgentSettings::default() };
    let shop = Shop::new([Reply::new().text("Hello.").done()], model, agent);
    let started = shop
        .ask(|request| StartRequest {
            variant: Some("high".into()),
            params: ModelParams { top_p: Some(0.5), ..ModelParams::default() },
            ..request
        })
        .await;
    let expected = ModelParams {
        temperature: Some(0.1), // the model
        max_tokens: Some(3),    // the agent
        seed: Some(4),          // the variant
        top_p: Some(0.5),       // the request
        ..ModelParams::default()
    };
    assert_eq!(*shop.asked_with.lock().unwrap(), [expected]);
    let record = shop.store.run(Scope::Everyone, started.run).await.unwrap();
    assert_eq!(record.setup.variant.as_deref(), Some("high"));
}

#[tokio::test]
async fn a_request_may_choose_another_variant_than_its_agent() {
    let agent = AgentSettings { model: Some("scripted:high".into()), ..AgentSettings::default() };
    let replies = || [Reply::new().text("Hello.").done()];
    let shop = Shop::new(replies(), ModelParams::default(), agent.clone());
    shop.ask(|request| request).await;
    assert_eq!(shop.asked_with.lock().unwrap()[0].seed, Some(4));
    let shop = Shop::new(replies(), ModelParams::default(), agent);
    shop.ask(|request| StartRequest { model: Some("scripted".into()), ..request }).await;
    assert_eq!(shop.asked_with.lock().unwrap()[0].seed, None);
}
