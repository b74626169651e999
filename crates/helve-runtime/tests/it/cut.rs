//! T44 where tools are described in the prompt: a call that the model wrote into its text and that was cut off, after any
//! of its characters, never runs; and what runs is always the whole of it.

use std::sync::atomic::Ordering;

use helve_dialect::{CallView, Profile};
use helve_model::{ModelError, ModelErrorKind, Reply, ScriptedModel, ToolMode};
use helve_runtime::RuntimeSettings;
use helve_store::{Log, Views};
use helve_types::{Fact, Mode, PartState};
use serde_json::{Value, json};

use crate::lab::{Lab, mei, settle};

const ARGUMENTS: &str = r#"{"q": "茶 and \"tea\", {not} <this>"}"#;

/// How the text ends after so much of it.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The connection is lost.
    Broken,
    /// The model reached its limit.
    Length,
    /// The server says that this was all.
    Stop,
}

/// Runs the beginning of a text in place of an answer, and gives how often the tool ran, with what.
async fn ran(profile: &str, text: &str, end: End) -> (u32, Vec<String>) {
    let reply = Reply::new().text(text);
    let reply = match end {
        End::Broken => reply.fails(ModelError::new(ModelErrorKind::Refused, "gone")),
        End::Length => reply.cut_by_length(),
        End::Stop => reply.done(),
    };
    let mode = ToolMode::Fixed(Mode::Prompt(profile.into()));
    let lab = Lab::with_model(ScriptedModel::new([reply]).in_mode(mode), RuntimeSettings::default());
    let mut started = lab.start("please look").await;
    settle(&mut started.follower).await;
    let log = lab.store.events(started.run, 0, 99).await.unwrap();
    let begun = log.iter().filter(|recorded| matches!(recorded.event.fact, Fact::ToolStarted { .. })).count();
    let ran = lab.runs.load(Ordering::Relaxed);
    assert_eq!(ran as usize, begun, "whatever ran is on record");
    let conversation = started.conversation.unwrap();
    let messages = lab.store.messages(helve_store::Scope::User(mei()), conversation).await.unwrap();
    let tools = messages.iter().flat_map(|message| message.tools());
    let with = tools.filter(|tool| tool.state == PartState::Completed).map(|tool| tool.input.clone());
    (ran, with.collect())
}

#[tokio::test(start_paused = true)]
async fn t44_a_call_cut_at_every_character_in_every_profile_never_runs() {
    let whole: Value = serde_json::from_str(ARGUMENTS).unwrap();
    for name in Profile::names() {
        let profile = Profile::named(name).unwrap();
        let call = [CallView { id: "call_1", name: "look", arguments: ARGUMENTS }];
        let text = format!("Let me look.\n{}", profile.call(&call));
        let (complete, with) = ran(name, &text, End::Stop).await;
        assert_eq!(complete, 1, "{name} is understood when it is whole: {text}");
        assert_eq!(serde_json::from_str::<Value>(&with[0]).unwrap(), whole, "{name}");
        assert_eq!(ran(name, &text, End::Broken).await.0, 0, "{name}: whole, but the message never ended");
        for (bytes, _) in text.char_indices() {
            let begun = &text[..bytes];
            assert_eq!(ran(name, begun, End::Broken).await.0, 0, "{name}, broken off after {begun:?}");
            for end in [End::Length, End::Stop] {
                let (_, with) = ran(name, begun, end).await;
                for with in with {
                    let with: Value = serde_json::from_str(&with).unwrap_or(json!(with));
                    assert_eq!(with, whole, "{name}, {end:?} after {begun:?}");
                }
            }
        }
    }
}
