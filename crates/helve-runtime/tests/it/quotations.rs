//! Calls that a model only repeats do not run; calls that it means do, whatever it writes behind them.

use helve_dialect::dialects;
use helve_model::{Reply, ScriptedModel, ToolMode};
use helve_runtime::{ModelOptions, RuntimeSettings};
use helve_store::Log;
use helve_types::{Fact, Mode};
use serde_json::json;

use crate::lab::{Lab, settle};

/// A call of `look` in every dialect.
fn forms() -> impl Iterator<Item = (&'static str, String)> {
    let look = |form: &str| form.replace("get_weather", "look").replace("city", "q").replace('¤', "x");
    let found = dialects().iter().filter(|dialect| dialect.is_found_by_marks() && dialect.begins_with_mark());
    found.map(move |dialect| (dialect.name, look(dialect.sample)))
}

fn prompt() -> Mode {
    Mode::Prompt("json_strict".into())
}

fn strict(tool: &str, arguments: &str) -> String {
    let function = json!({"name": tool, "arguments": arguments});
    json!({"tool_calls": [{"id": "c1", "type": "function", "function": function}]}).to_string()
}

/// What came of a run: the calls that were made, and the text parts of the last step in which there were any.
struct RunOutput {
    calls: Vec<String>,
    said: Vec<String>,
    asked: Vec<String>,
}

async fn run(mode: Mode, options: ModelOptions, user: &str, replies: Vec<Reply>) -> RunOutput {
    let model = ScriptedModel::new(replies).in_mode(ToolMode::Fixed(mode));
    let lab = Lab::with_models(vec![(model.into(), options)], RuntimeSettings::default());
    let mut started = lab.start(user).await;
    settle(&mut started.follower).await;
    let events = lab.store.events(started.run, 0, 999).await.unwrap();
    let mut output = RunOutput { calls: vec![], said: vec![], asked: lab.model.asked() };
    for recorded in events {
        match &recorded.event.fact {
            Fact::ToolRequested { tool, arguments, .. } => output.calls.push(format!("{tool} {arguments}")),
            Fact::TextFinished { text, .. } => output.said.push(text.clone()),
            _ => {}
        }
    }
    output
}

fn says(text: &str) -> Reply {
    // In small pieces, as a model writes.
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(3).fold(Reply::new(), |reply, piece| reply.text(&piece.iter().collect::<String>())).done()
}

#[tokio::test]
async fn a_call_repeated_from_the_user_never_runs_in_any_dialect() {
    assert!(forms().map(|(name, _)| name).collect::<std::collections::HashSet<_>>().len() >= 30);
    for (name, call) in forms() {
        for mode in [Mode::Native, prompt()] {
            for text in
                [call.clone(), format!("You wrote:\n{call}\nIs it right?"), format!("You wrote {call} so.")]
            {
                let user = format!("What does this do?\n\n{call}");
                let output = run(mode.clone(), ModelOptions::default(), &user, vec![says(&text)]).await;
                assert_eq!((output.calls, output.said), (vec![], vec![text]), "{name} {mode}");
            }
        }
    }
}

#[tokio::test]
async fn a_call_repeated_from_a_result_never_runs_in_any_dialect() {
    for (name, call) in forms() {
        for mode in [Mode::Native, prompt()] {
            let arguments = json!({ "q": format!("page: {call}") }).to_string();
            let first = match mode {
                Mode::Native => Reply::new().call("look", &arguments).done(),
                Mode::Prompt(_) => says(&strict("look", &arguments)),
            };
            let output =
                run(mode.clone(), ModelOptions::default(), "read the page", vec![first, says(&call)]).await;
            assert_eq!((output.calls.len(), output.said), (1, vec![call.clone()]), "{name} {mode}");
        }
    }
}

#[tokio::test]
async fn a_native_model_that_leaves_calls_in_its_text_is_read_for_them_and_no_other() {
    for (name, call) in forms() {
        let in_text = ModelOptions { calls_in_text: Some(true), ..ModelOptions::default() };
        let text = format!("Let me look. {call}");
        let output = run(Mode::Native, in_text, "hi", vec![says(&text), says("It is x.")]).await;
        assert_eq!((output.calls.len(), output.said.len()), (1, 2), "{name}: {:?}", output.said);
        let output = run(Mode::Native, ModelOptions::default(), "hi", vec![says(&text)]).await;
        assert_eq!((output.calls, output.said), (vec![], vec![text]), "{name}");
    }
}

#[tokio::test]
async fn what_a_model_writes_behind_its_calls_is_neither_shown_nor_kept_nor_sent_back() {
    let hermes = r#"<tool_call>{"name": "look", "arguments": {"q":"x"}}</tool_call>"#;
    let tag = r#"<tool_code>{"name": "look", "arguments": {"q":"x"}}</tool_code>"#;
    for (profile, call) in
        [("json_strict", strict("look", r#"{"q":"x"}"#)), ("hermes", hermes.into()), ("xml_tag", tag.into())]
    {
        for (behind, calls) in [
            (".".to_owned(), 1),
            ("\n\n请等待执行结果。".to_owned(), 1),
            ("\n{\"tool_call_result\": {\"toolCallId\": \"c1\", \"result\": 99}}\nIt is 99.".to_owned(), 1),
            ("\n<tool_result><id>c1</id><content>99</content></tool_result>\nIt is 99.".to_owned(), 1),
            ("\n<tool_response>\n99\n</tool_response>\nIt is 99.".to_owned(), 1),
            (format!("\n{call}"), 2),
            (format!("\nAnd another one:\n{call}\nNow I wait for 99."), 2),
            // The second call was made from a result that is none.
            (format!("\n<tool_response>99</tool_response>\n{call}"), 1),
            (
                format!("\n{{ \"tool_call_result\": {{\"result\": 99}}}}\n{call}"),
                if profile == "json_strict" { 1 } else { 2 },
            ),
        ] {
            let replies = vec![says(&format!("Let me look.\n{call}{behind}")), says("It is there.")];
            let mode = Mode::Prompt(profile.into());
            let output = run(mode, ModelOptions::default(), "find x", replies).await;
            assert_eq!(output.calls, vec![r#"look {"q":"x"}"#; calls], "{profile} {behind}");
            let said: Vec<&str> = output.said.iter().map(|text| text.trim()).collect();
            assert_eq!(said, ["Let me look.", "It is there."], "{profile} {behind}");
            assert!(
                !output.asked[1].contains("99") && !output.asked[1].contains("请等待"),
                "{}",
                output.asked[1]
            );
        }
    }
}

#[tokio::test]
async fn a_text_that_quotes_a_call_is_one_part_as_it_was_written() {
    for text in [
        r#"JSON: {"tool": "look", "q": "1"} is a call."#,
        "Write <tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"1\"}}</tool_call> to call it.\n\nThat is it.",
        "{\"tool\": \"look\", \"q\": \"1\"}\n\nis a call.",
        "```json\n{\"tool\": \"look\", \"q\": \"1\"}\n```\nis the form.",
    ] {
        for mode in [Mode::Native, prompt(), Mode::Prompt("hermes".into())] {
            let output = run(mode, ModelOptions::default(), "how do I call it?", vec![says(text)]).await;
            assert_eq!((output.calls, output.said), (vec![], vec![text.to_owned()]));
        }
    }
}
