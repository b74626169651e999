//! Tests of the demo model through its port.

use expect_test::{Expect, expect};
use futures_util::StreamExt;
use helve_types::{Effect, ToolChoice, ToolSpec};
use serde_json::json;

use super::*;
use crate::{Needs, Turn, TurnCall};

fn tools() -> Vec<ToolSpec> {
    ["calculator", "time", "search_web", "browser_js_eval", "save_note"]
        .map(|name| ToolSpec::new(name, name, json!({"type": "object"}), Effect::Read))
        .to_vec()
}

async fn said(turns: Vec<Turn<'_>>) -> String {
    said_with(&tools(), turns).await
}

async fn said_with(tools: &[ToolSpec], turns: Vec<Turn<'_>>) -> String {
    let params = ModelParams::default();
    let request = ModelRequest {
        system: "".into(),
        stable: 0,
        turns,
        tools: tools.iter().collect(),
        tool_choice: &ToolChoice::Auto,
        params: &params,
        form: None,
        needs: Needs::default(),
        stop: &[],
        stream: true,
    };
    let mut text = String::new();
    let mut kind = "";
    let mut stream = DemoModel::without_delay().ask(&request);
    while let Some(event) = stream.next().await {
        let begins_call = matches!(event, Ok(ModelEvent::CallStarted { .. }));
        let (next, piece) = match event.unwrap() {
            ModelEvent::Reasoning(piece) => ("thinks: ", piece),
            ModelEvent::Text(piece) => ("says: ", piece),
            ModelEvent::CallStarted { tool, .. } => ("calls: ", tool + " "),
            ModelEvent::CallArguments { text, .. } => ("calls: ", text),
            ModelEvent::Finished(reason) => ("ends: ", format!("{reason:?}")),
            ModelEvent::CallFinished { .. } | ModelEvent::Usage(_) | ModelEvent::Echo(_) => continue,
        };
        if kind != next || begins_call {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(next);
            kind = next;
        }
        text.push_str(&piece);
    }
    text
}

async fn check(message: &str, expected: Expect) {
    expected.assert_eq(&said(vec![Turn::User(message.into())]).await);
}

#[tokio::test]
async fn arithmetic_becomes_a_call_of_the_calculator() {
    check(
        "what is 12.5% of 3,480?",
        expect![[r#"
            thinks: This is arithmetic. Guessing digits is how models go wrong; the calculator is exact.
            calls: calculator {"expression":"12.5% of 3,480"}
            ends: ToolCalls"#]],
    )
    .await;
}

#[tokio::test]
async fn independent_questions_become_parallel_calls() {
    check(
        "What time is it in Tokyo and Paris?",
        expect![[r#"
            thinks: There are 2 things to find out, and none depends on another, so I ask for them at once.
            calls: time {"zone":"Asia/Tokyo"}
            calls: time {"zone":"Europe/Paris"}
            ends: ToolCalls"#]],
    )
    .await;
}

#[tokio::test]
async fn the_answer_contains_the_results() {
    let turns = vec![
        Turn::User("what is 12.5% of 3,480?".into()),
        Turn::Assistant {
            text: "".into(),
            reasoning: "".into(),
            echo: None,
            calls: vec![TurnCall {
                id: "c1".into(),
                tool: "calculator".into(),
                arguments: r#"{"expression": "12.5% of 3,480"}"#.into(),
            }],
        },
        Turn::Result { id: "c1".into(), tool: "calculator".into(), text: "435".into(), is_error: false },
    ];
    assert_eq!(said(turns).await, "says: 12.5% of 3,480 = **435**\nends: Stop");
}

#[tokio::test]
async fn the_model_introduces_itself_when_no_rule_matches() {
    let said = said(vec![Turn::User("你好".into())]).await;
    assert!(said.contains("演示模型"), "{said}");
}

#[tokio::test]
async fn every_example_of_the_introduction_leads_to_a_call() {
    for greeting in ["hello", "你好"] {
        let offers = said(vec![Turn::User(greeting.into())]).await;
        let offers: Vec<&str> = offers.lines().filter_map(|line| line.strip_prefix("- ")).collect();
        assert_eq!(offers.len(), 5, "{offers:?}");
        for offer in offers {
            let answer = said(vec![Turn::User(offer.into())]).await;
            assert!(answer.contains("calls: "), "{offer}: {answer}");
        }
    }
}

#[tokio::test]
async fn every_suggestion_of_the_page_leads_to_a_call() {
    for texts in [
        include_str!("../../../../web/src/lib/i18n/en.ts"),
        include_str!("../../../../web/src/lib/i18n/zh.ts"),
    ] {
        let (_, block) = texts.split_once("suggestions: [").unwrap();
        let (block, _) = block.split_once("\n    ],").unwrap();
        let suggestions: Vec<&str> =
            block.split("text: '").skip(1).map(|rest| rest.split_once("' }").unwrap().0).collect();
        assert_eq!(suggestions.len(), 4, "{suggestions:?}");
        for suggestion in suggestions {
            let answer = said(vec![Turn::User(suggestion.into())]).await;
            assert!(answer.contains("calls: ") && !answer.contains("search_web"), "{suggestion}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_tool_of_the_operator_is_called_when_the_message_names_it() {
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let two = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]});
    let tools = [("opening_hours", json!({"type": "object"})), ("word_count", text), ("two_things", two)]
        .map(|(name, parameters)| ToolSpec::new(name, name, parameters, Effect::Read));
    let cases = [
        ("what are the opening hours?", Some("calls: opening_hours {}")),
        ("请用 opening_hours 查一下营业时间", Some("calls: opening_hours {}")),
        ("do a word count of: brevity", Some(r#"calls: word_count {"text":"brevity"}"#)),
        ("word count", None),
        ("two things: one", None),
    ];
    for (message, expected) in cases {
        let answer = said_with(&tools, vec![Turn::User(message.into())]).await;
        let called = answer.lines().find(|line| line.starts_with("calls: "));
        assert_eq!(called, expected, "{answer}");
    }
}

/// The answer to a request in prompt mode: tools in the system prompt, results in the user's messages.
async fn prompted(system: &str, turns: Vec<Turn<'_>>) -> String {
    let params = ModelParams::default();
    let request = ModelRequest {
        system: system.into(),
        stable: 0,
        turns,
        tools: vec![],
        tool_choice: &ToolChoice::None,
        params: &params,
        form: None,
        needs: Needs::default(),
        stop: &[],
        stream: true,
    };
    let mut text = String::new();
    let mut stream = DemoModel::without_delay().ask(&request);
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ModelEvent::Text(piece) => text.push_str(&piece),
            ModelEvent::CallStarted { .. } | ModelEvent::CallArguments { .. } => panic!("a native call"),
            ModelEvent::Finished(reason) => assert_eq!(reason, StopReason::Stop),
            ModelEvent::CallFinished { .. }
            | ModelEvent::Reasoning(_)
            | ModelEvent::Usage(_)
            | ModelEvent::Echo(_) => {}
        }
    }
    text
}

fn user(text: &str) -> Turn<'_> {
    Turn::User(text.into())
}

fn wrote(text: &str) -> Turn<'_> {
    Turn::Assistant { text: text.into(), reasoning: "".into(), echo: None, calls: vec![] }
}

const JSON_STRICT: &str = r#"Be brief.

You can use tools. To use a tool, answer with one JSON object and nothing else:

{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "NAME", "arguments": "{}"}}]}

The tools:
- calculator: Computes exactly, any time.
  parameters: {}
- save_note: Keeps a note.
  parameters: {}"#;

const XML_TAG: &str = r#"Write <tool_code>{"name": "NAME", "arguments": {}}</tool_code>

The tools:
<tool>
{"name": "calculator", "description": "Computes.", "parameters": {}}
</tool>
<tool>
{"name": "time", "description": "Tells the time.", "parameters": {}}
</tool>"#;

const HERMES: &str = r#"<tools>
{"type": "function", "function": {"name": "calculator", "description": "Computes.", "parameters": {}}}
{"type": "function", "function": {"name": "time", "description": "Tells.", "parameters": {}}}
</tools>

<tool_call>
{"name": "NAME", "arguments": {"PARAMETER": "VALUE"}}
</tool_call>"#;

#[tokio::test]
async fn in_prompt_mode_calls_have_the_format_of_the_prompt() {
    let sum = "what is 2^64 - 1?";
    let answer = prompted(JSON_STRICT, vec![user(sum)]).await;
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&answer).unwrap(),
        json!({"tool_calls": [{"id": "call_1", "type": "function", "function":
            {"name": "calculator", "arguments": "{\"expression\":\"2^64 - 1\"}"}}]})
    );
    assert_eq!(
        prompted(XML_TAG, vec![user("what time is it in Paris, and what is 2^64?")]).await,
        "<tool_code>{\"name\": \"time\", \"arguments\": {\"zone\":\"Europe/Paris\"}}</tool_code>\n\
         <tool_code>{\"name\": \"calculator\", \"arguments\": {\"expression\":\"2^64\"}}</tool_code>"
    );
    assert_eq!(
        prompted(HERMES, vec![user(sum)]).await,
        "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\":\"2^64 - 1\"}}\n</tool_call>"
    );
}

#[tokio::test]
async fn in_prompt_mode_only_described_tools_are_called() {
    // The word is in the description of another tool.
    let time = prompted(JSON_STRICT, vec![user("what time is it in Tokyo?")]).await;
    assert!(time.contains("demo model"), "{time}");
    let nothing = prompted("You tell the time.", vec![user("what time is it?")]).await;
    assert!(nothing.contains("demo model"), "{nothing}");
    let own = prompted("Say CALL calculator to use it.\ncalculator: computes", vec![user("2 * 2")]).await;
    assert!(own.contains("demo model"), "{own}");
}

#[tokio::test]
async fn advice_for_models_in_a_refusal_is_not_repeated_to_people() {
    for (asked, expected) in [
        ("remember that the meeting is at nine", "You did not allow `save_note`, so I did not do it."),
        ("记住：明天九点开会", "你没有允许 `save_note`，所以我没有执行。"),
    ] {
        let turns = vec![
            user(asked),
            wrote("<tool_code>{\"name\": \"save_note\", \"arguments\": {\"text\": \"nine\"}}</tool_code>"),
            user(
                "<tool_result><id>r:1:0</id><content>Error: the user did not allow this call: no reason was given; \
                 do not repeat it, go on without it</content></tool_result>",
            ),
        ];
        assert_eq!(prompted(XML_TAG, turns).await, expected);
    }
}

#[tokio::test]
async fn in_prompt_mode_results_in_text_are_answered() {
    let example = [
        user("What is 1 + 1?"),
        wrote(
            r#"{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "calculator", "arguments": "{\"expression\": \"1 + 1\"}"}}]}"#,
        ),
        user(
            "These are the results of your tool calls:\n{\"tool_call_result\": {\"toolCallId\": \"call_1\", \"result\": 2}}\nBase your answer on these results.",
        ),
        wrote("It is 2."),
    ];
    let asked = [
        user("what is 6 * 7, and save nothing?"),
        wrote(
            r#"{"tool_calls": [{"id": "b", "type": "function", "function": {"name": "calculator", "arguments": "{\"expression\":\"6 * 7\"}"}}]}"#,
        ),
        user(
            "These are the results of your tool calls:\n{\"tool_call_result\": {\"toolCallId\": \"b\", \"result\": 42}}\nBase your answer on these results.",
        ),
    ];
    let turns: Vec<_> = example.into_iter().chain(asked).collect();
    assert_eq!(prompted(JSON_STRICT, turns).await, "6 * 7 = **42**");

    let turns = vec![
        user("巴黎现在几点？另外 6*7 呢"),
        wrote(
            "<tool_code>{\"name\": \"time\", \"arguments\": {\"zone\": \"Europe/Paris\"}}</tool_code>\n\
             <tool_code>{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6*7\"}}</tool_code>",
        ),
        user(
            "以下是你调用工具得到的结果：\n<tool_result><id>r:1:0</id><content>Monday 9:00\nCET</content></tool_result>\n\
             <tool_result><id>r:1:1</id><content>Error: busy</content></tool_result>\n请根据这些结果回答。",
        ),
    ];
    let answer = prompted(XML_TAG, turns).await;
    assert!(answer.starts_with("Europe/Paris 的时间是 **Monday 9:00**。"), "{answer}");
    assert!(answer.contains("`calculator` 没有给出结果：busy"), "{answer}");

    let turns = vec![
        user("what is 2^64?"),
        wrote(
            "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"2^64\"}}\n</tool_call>",
        ),
        user(
            "<tool_response>\n{\"name\": \"calculator\", \"content\": 18446744073709551616}\n</tool_response>\n\
             These are the results of your tool calls. Base your answer on them.",
        ),
    ];
    assert_eq!(prompted(HERMES, turns).await, "2^64 = **18446744073709551616**");
}

#[tokio::test]
async fn in_prompt_mode_search_results_are_read_from_their_frames() {
    let turns = vec![
        user("search the web for rust and what is 6 * 7?"),
        wrote(
            "<tool_call>{\"name\": \"search_web\", \"arguments\": {\"query\": \"rust\"}}</tool_call>\n\
             <tool_call>{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}</tool_call>",
        ),
        user(
            "<tool_response>\n{\"name\": \"calculator\", \"content\": 42}\n</tool_response>\n\n\
             These are the results of your web search:\n<search_results>\n1. Rust\n</search_results>",
        ),
    ];
    let answer = prompted(HERMES, turns).await;
    assert!(answer.contains("6 * 7 = **42**") && answer.contains("the search found:\n\n1. Rust"), "{answer}");
}

#[tokio::test]
async fn search_results_before_a_message_are_not_part_of_the_message() {
    let asked = "Reference material:\n<search_results>\n1. What time is it in Rome?\n</search_results>\n\nwhat is 6 * 7?";
    let answer = said(vec![user(asked)]).await;
    assert!(answer.contains("calculator") && !answer.contains("Rome"), "{answer}");
}

#[tokio::test]
async fn in_prompt_mode_a_message_after_an_answer_is_a_new_message() {
    let turns = vec![
        user("what is 6 * 7?"),
        wrote(
            "<tool_call>{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6 * 7\"}}</tool_call>",
        ),
        user("<tool_response>\n{\"name\": \"calculator\", \"content\": 42}\n</tool_response>"),
        wrote("6 * 7 = **42**"),
        user("and 6 * 8?"),
    ];
    let answer = prompted(HERMES, turns).await;
    assert!(answer.contains("6 * 8") && answer.starts_with("<tool_call>"), "{answer}");
}

#[tokio::test]
async fn after_the_result_of_a_clients_tool_the_answer_is_in_the_language_of_the_question() {
    let call = |text: &'static str| Turn::Assistant {
        text: text.into(),
        reasoning: "".into(),
        echo: None,
        calls: vec![],
    };
    let result = r#"{"tool_call_result": {"toolCallId": "call_1", "result": 76127}}"#;
    let history = |question: &'static str| {
        vec![
            Turn::User(question.into()),
            call(
                r#"{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "browser_js_eval", "arguments": "{}"}}]}"#,
            ),
            Turn::User(result.into()),
        ]
    };
    let told = said(history("计算 1000 以内的所有素数之和。")).await;
    assert!(told.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)), "{told}");
    let told = said(history("Add all primes below 1000.")).await;
    assert!(told.is_ascii(), "{told}");
    // A sum is in no language; the conversation goes on in its own.
    let sum = said(vec![Turn::User("你好".into()), call("你好！"), Turn::User("12 + 30".into())]).await;
    assert!(sum.contains("计算器"), "{sum}");
}
