//! `tool_choice`: what a request says the model has to do about tools, in every way of calling them.

use expect_test::expect;
use helve_model::{Reply, ScriptedModel, ToolMode};
use helve_runtime::{RuntimeSettings, StartInput, StartRequest};
use helve_types::{Mode, ToolChoice};

use crate::lab::{Lab, mei, reply, settle};

const LOOK: &str = r#"call look {"q": "x"}"#;
const LOOK_IN_TEXT: &str = r#"say <tool_call>{"name": "look", "arguments": {"q": "x"}}</tool_call>"#;

fn lab(model: ScriptedModel) -> Lab {
    Lab::with_model(model, RuntimeSettings::default())
}

fn prompted(replies: impl IntoIterator<Item = Reply>) -> Lab {
    lab(ScriptedModel::new(replies).in_mode(ToolMode::Fixed(Mode::Prompt("hermes".into()))))
}

async fn log(lab: &Lab, text: &str, tool_choice: ToolChoice) -> String {
    let input = StartInput::Message { conversation: None, text: text.into() };
    let request = StartRequest { tool_choice, ..StartRequest::new(mei(), input) };
    let mut started = lab.runtime.start_run(request).await.unwrap();
    settle(&mut started.follower).await;
    lab.log(started.run).await
}

/// The lines of each request that say something about the choice.
fn choices(lab: &Lab) -> Vec<Vec<String>> {
    let says = |line: &&str| {
        line.starts_with("choice:") || line.contains("must be called") || line.contains("必须调用")
    };
    lab.model.asked().iter().map(|asked| asked.lines().filter(says).map(str::to_owned).collect()).collect()
}

#[tokio::test]
async fn a_required_call_is_passed_on_and_after_it_the_model_is_free() {
    let lab = lab(ScriptedModel::new([reply(LOOK), reply("say It is there.")]));
    expect![[r#"
        1 run.started go
        2 tool.requested look {"q": "x"}
        3 step.finished ToolCalls native
        4 tool.started look attempt 1
        5 tool.finished found x
        6 text.finished It is there.
        7 step.finished Stop native
        8 run.finished Answered
    "#]]
    .assert_eq(&log(&lab, "go", ToolChoice::Required).await);
    assert_eq!(choices(&lab), [vec!["choice: required".to_owned()], vec![]]);
}

#[tokio::test]
async fn a_named_call_is_required_until_that_tool_was_called() {
    let ping = reply("call ping {}");
    let lab = lab(ScriptedModel::new([ping, reply(LOOK), reply("say It is there.")]));
    log(&lab, "go", ToolChoice::Named("look".into())).await;
    let named = || vec!["choice: look".to_owned()];
    assert_eq!(choices(&lab), [named(), named(), vec![]]);
}

#[tokio::test]
async fn a_server_that_knows_only_auto_is_told_in_words() {
    let lab = lab(ScriptedModel::new([reply(LOOK), reply("say It is there.")]).only_auto());
    log(&lab, "go", ToolChoice::Required).await;
    expect![[r#"
        system: A tool must be called now: reply with a tool call.
        user: go
        tools: fail hang look lose lose_softly ping poll report send
    "#]]
    .assert_eq(&lab.model.asked()[0]);
    assert_eq!(choices(&lab)[1], Vec::<String>::new());
}

#[tokio::test]
async fn in_the_prompt_it_is_said_in_words_too_and_in_the_language_of_the_conversation() {
    let lab = prompted([reply(LOOK_IN_TEXT), reply("say 找到了。")]);
    log(&lab, "帮我查一下", ToolChoice::Named("look".into())).await;
    assert_eq!(
        choices(&lab),
        [vec!["现在必须调用工具 `look`：请以对 `look` 的调用作答。".to_owned()], vec![]]
    );
    let lab = prompted([reply(LOOK_IN_TEXT), reply("say It is there.")]);
    log(&lab, "go", ToolChoice::Required).await;
    assert_eq!(
        choices(&lab),
        [vec!["A tool must be called now: reply with a tool call.".to_owned()], vec![]]
    );
}

#[tokio::test]
async fn without_a_choice_of_tools_the_prompt_does_not_describe_them() {
    let lab = prompted([reply("say Hello.")]);
    log(&lab, "hello", ToolChoice::None).await;
    assert_eq!(lab.model.asked(), ["user: hello\n"]);
}

#[tokio::test]
async fn words_in_place_of_a_required_call_are_void_and_the_model_is_asked_once_more() {
    let lab = lab(ScriptedModel::new([reply("say I would rather talk."), reply(LOOK), reply("say There.")]));
    expect![[r#"
        1 run.started go
        2 step.restarted attempt 2: a tool call was required and the model answered in words
        3 tool.requested look {"q": "x"}
        4 step.finished ToolCalls native, attempt 2
        5 tool.started look attempt 1
        6 tool.finished found x
        7 text.finished There.
        8 step.finished Stop native
        9 run.finished Answered
    "#]]
    .assert_eq(&log(&lab, "go", ToolChoice::Required).await);
    expect![[r#"
        system: A tool must be called now: reply with a tool call.
        user: go
        assistant: I would rather talk.
        user: That was no tool call. A tool must be called now: reply with a tool call.
        tools: fail hang look lose lose_softly ping poll report send
        choice: required
    "#]]
    .assert_eq(&lab.model.asked()[1]);
}

#[tokio::test]
async fn words_a_second_time_are_taken_and_the_run_says_that_the_call_is_missing() {
    let lab = prompted([reply("say I would rather talk."), reply("say I told you.")]);
    expect![[r#"
        1 run.started go
        2 step.restarted attempt 2: a tool call was required and the model answered in words
        3 text.finished I told you.
        4 step.finished Stop prompt:hermes, attempt 2
        5 run.finished WithoutCall
    "#]]
    .assert_eq(&log(&lab, "go", ToolChoice::Required).await);
}

#[tokio::test]
async fn what_a_refused_answer_cost_is_counted() {
    let lab = lab(ScriptedModel::new([reply("say I would rather talk."), reply("say I told you.")]));
    let input = StartInput::Message { conversation: None, text: "go".into() };
    let tool_choice = ToolChoice::Required;
    let request = StartRequest { tool_choice, ..StartRequest::new(mei(), input) };
    let mut started = lab.runtime.start_run(request).await.unwrap();
    settle(&mut started.follower).await;
    let scope = helve_store::Scope::User(mei());
    let record = helve_store::Views::run(&*lab.store, scope, started.run).await.unwrap();
    // Each answer of a script costs ten and five.
    let usage = record.spent.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (20, 10));
}

#[tokio::test]
async fn the_agent_named_default_is_asked_where_none_is_named_wherever_it_stands() {
    let agent = |name: &str| helve_runtime::AgentSettings {
        name: name.into(),
        system: format!("I am {name}."),
        ..helve_runtime::AgentSettings::default()
    };
    let agents = vec![agent("first"), agent("default"), agent("last")];
    let settings = helve_runtime::RuntimeSettings { agents, ..Default::default() };
    let lab = Lab::with_model(helve_model::ScriptedModel::new([reply("say Hi.")]), settings);
    let mut started = lab.start("hello").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert!(lab.model.asked()[0].contains("I am default."), "{:?}", lab.model.asked());
}
