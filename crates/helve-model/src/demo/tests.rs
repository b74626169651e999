//! The demo model from outside.

use expect_test::{Expect, expect};
use futures_util::StreamExt;
use helve_types::{Effect, OnUnknown, ToolChoice, ToolSpec};
use serde_json::json;

use super::*;
use crate::{Turn, TurnCall};

fn tools() -> Vec<ToolSpec> {
    ["calculator", "time", "search_web", "browser_js_eval", "save_note"]
        .map(|name| ToolSpec {
            name: name.into(),
            title: None,
            description: name.into(),
            parameters: json!({"type": "object"}),
            effect: Effect::Read,
            tags: vec![],
            examples: vec![],
            client: false,
            on_unknown: OnUnknown::AskUser,
            check_tool: None,
        })
        .to_vec()
}

async fn said(turns: Vec<Turn<'_>>) -> String {
    let tools = tools();
    let params = ModelParams::default();
    let request = ModelRequest {
        system: "".into(),
        turns,
        tools: tools.iter().collect(),
        tool_choice: &ToolChoice::Auto,
        params: &params,
        stream: true,
    };
    let mut text = String::new();
    let mut kind = "";
    let mut stream = DemoModel::hurried().ask(&request);
    while let Some(event) = stream.next().await {
        let begins_call = matches!(event, Ok(ModelEvent::CallStarted { .. }));
        let (next, piece) = match event.unwrap() {
            ModelEvent::Reasoning(piece) => ("thinks: ", piece),
            ModelEvent::Text(piece) => ("says: ", piece),
            ModelEvent::CallStarted { tool, .. } => ("calls: ", tool + " "),
            ModelEvent::CallArguments { text, .. } => ("calls: ", text),
            ModelEvent::Finished(reason) => ("ends: ", format!("{reason:?}")),
            ModelEvent::Usage(_) => continue,
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
async fn a_sum_is_left_to_the_calculator() {
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
async fn the_answer_is_made_of_the_results() {
    let turns = vec![
        Turn::User("what is 12.5% of 3,480?".into()),
        Turn::Assistant {
            text: "".into(),
            reasoning: "".into(),
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
async fn it_says_what_it_is_when_it_understands_nothing() {
    let said = said(vec![Turn::User("你好".into())]).await;
    assert!(said.contains("演示模型"), "{said}");
}

#[tokio::test]
async fn whatever_it_offers_it_does() {
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
