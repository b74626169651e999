//! A model that is new here, from its first question on.

use std::sync::Arc;
use std::time::Duration;

use helve_model::{Reply, ScriptedModel, ToolMode};
use helve_runtime::{ModelOptions, Models, Runtime, RuntimeSettings, StartInput, StartRequest};
use helve_store::{MemoryStore, Rows};
use helve_tool::Registry;
use helve_types::World;

use crate::lab::{mei, settle};

fn runtime(store: &Arc<MemoryStore>, model: &Arc<ScriptedModel>) -> Runtime {
    let mut models = Models::new();
    let options = ModelOptions { subject: "m at here".into(), probe: true, ..ModelOptions::default() };
    models.add(model.clone(), options);
    let registry = Arc::new(Registry::new());
    Runtime::new(store.clone(), World::deterministic(), models, registry, RuntimeSettings::default())
}

async fn ask(runtime: &Runtime, text: &str) -> &'static str {
    let input = StartInput::Message { conversation: None, text: text.into() };
    let started = runtime.start_run(StartRequest::new(mei(), input)).await.unwrap();
    settle(&mut runtime.follow_run(started.run, 0)).await
}

fn says(text: &str) -> Reply {
    Reply::new().text(text).done()
}

#[tokio::test(start_paused = true)]
async fn a_stranger_is_probed_before_its_first_question_and_never_again() {
    // It only talks, but writes a call in the default profile when it is shown one.
    let call = r#"{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "time", "arguments": "{\"zone\": \"Asia/Tokyo\"}"}}]}"#;
    let probe = [says("It is late."), says("I cannot know."), says(call)];
    let answers = [says("Hello."), says("Hello again."), says("And again.")];
    let model = Arc::new(ScriptedModel::new(probe.into_iter().chain(answers)).in_mode(ToolMode::Auto));
    let store = Arc::new(MemoryStore::new());
    let first = runtime(&store, &model);
    assert_eq!(ask(&first, "hi").await, "run.finished");
    assert_eq!(first.models().tool_mode(&*model, "hermes").to_string(), "prompt:json_strict");
    assert_eq!(ask(&first, "hi again").await, "run.finished");
    assert_eq!(store.model_profiles().await.unwrap().len(), 1);

    let restarted = runtime(&store, &model);
    restarted.load_model_profiles().await.unwrap();
    assert_eq!(ask(&restarted, "still there?").await, "run.finished");
    assert_eq!(model.asked().len(), 6, "three questions of the probe, three of ours");
}

#[tokio::test(start_paused = true)]
async fn two_who_ask_at_once_what_a_model_can_do_share_the_answer() {
    let call = r#"{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "time", "arguments": "{\"zone\": \"Asia/Tokyo\"}"}}]}"#;
    let slowly = |text| says(text).after(Duration::from_secs(1));
    let probe = || [slowly("It is late."), slowly("I cannot know."), slowly(call)];
    let model = Arc::new(ScriptedModel::new(probe().into_iter().chain(probe())).in_mode(ToolMode::Auto));
    let runtime = runtime(&Arc::new(MemoryStore::new()), &model);
    let (mut unwatched, mut neither) = (|_: &str| {}, |_: &str| {});
    let (one, other) = tokio::join!(
        runtime.probe_model("scripted", &mut unwatched),
        runtime.probe_model("scripted", &mut neither)
    );
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(model.asked().len(), 3, "the model was asked once");
    runtime.probe_model("scripted", &mut unwatched).await.unwrap();
    assert_eq!(model.asked().len(), 6, "who asks later has it asked again");
}

#[tokio::test(start_paused = true)]
async fn a_question_does_not_wait_for_ever_until_its_model_is_known() {
    let model = ScriptedModel::new([Reply::new().hangs(), says("Hello.")]).in_mode(ToolMode::Auto);
    let model = Arc::new(model);
    let runtime = runtime(&Arc::new(MemoryStore::new()), &model);
    assert_eq!(ask(&runtime, "hi").await, "run.finished");
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_model_whose_prompt_opens_the_reasoning_is_found_out_and_read_so() {
    let call = r#"Once more.</think>{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "time", "arguments": "{\"zone\": \"Asia/Tokyo\"}"}}]}"#;
    let probe = [says("The clock.</think>It is late."), says("Again.</think>I cannot know."), says(call)];
    let answer = says("They greet.</think>\nHello.");
    let model = Arc::new(ScriptedModel::new(probe.into_iter().chain([answer])).in_mode(ToolMode::Auto));
    let store = Arc::new(MemoryStore::new());
    let runtime = runtime(&store, &model);
    assert_eq!(ask(&runtime, "hi").await, "run.finished");
    assert!(runtime.models().begins_inside_reasoning("scripted"));
    let profile = store.model_profiles().await.unwrap().pop().unwrap().1;
    assert!(profile.reasons.is_yes() && profile.reasoning_open.is_yes(), "{profile:?}");
}
