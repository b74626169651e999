//! What becomes of results that users bring in their own words.

use expect_test::{Expect, expect};

use super::*;

fn message(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage { role, content: content.into(), reasoning: String::new(), calls: vec![], call_id: None }
}

fn called(ids: &[&str]) -> ChatMessage {
    let call = |id: &&str| ChatCall { id: (*id).into(), name: "eval".into(), arguments: "{}".into() };
    ChatMessage { calls: ids.iter().map(call).collect(), ..message(ChatRole::Assistant, "") }
}

/// All of them, since nothing is left out.
fn turns_of(messages: &[ChatMessage]) -> Vec<Turn<'_>> {
    let mut turns = vec![];
    add_client_turns(messages, &ShownHistory::default(), &mut turns);
    turns.into_iter().map(|placed| placed.turn).collect()
}

/// What the model hears after calls `a` and `b`, when the user says these things.
fn check(said: &[&str], expected: Expect) {
    let mut messages = vec![message(ChatRole::User, "go"), called(&["a", "b"])];
    messages.extend(said.iter().map(|said| message(ChatRole::User, said)));
    let turns = turns_of(&messages);
    let lines: Vec<String> = turns[2..]
        .iter()
        .map(|turn| match turn {
            Turn::User(said) => format!("user: {said}"),
            Turn::Result { id, text, is_error, .. } => {
                format!("{} {id}: {text}", if *is_error { "error" } else { "result" })
            }
            Turn::Assistant { text, .. } => format!("assistant: {text}"),
        })
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn every_value_is_told_as_it_is_written() {
    let with = |a: &str, b: &str| {
        format!(
            r#"[{{"tool_call_result": {{"toolCallId": "a", "result": {a}}}}}, {{"tool_call_result": {{"toolCallId": "b", "result": {b}}}}}]"#
        )
    };
    check(
        &[&with("76127", r#""two\nlines""#)],
        expect![[r#"
            result a: 76127
            result b: two
            lines"#]],
    );
    check(
        &[&with(r#"{"x": [1, {}]}"#, "null")],
        expect![[r#"
            result a: {"x": [1, {}]}
            result b: null"#]],
    );
    check(
        &[&with("123456789012345678901234567890", "[1.0, true]")],
        expect![[r#"
            result a: 123456789012345678901234567890
            result b: [1.0, true]"#]],
    );
}

#[test]
fn results_come_one_by_one_together_or_fenced() {
    let a = r#"{"tool_call_result": {"toolCallId": "a", "result": 1}}"#;
    let b = r#"{"tool_call_result": {"tool_call_id": "b"}}"#;
    let both = || {
        expect![[r#"
            result a: 1
            result b: null"#]]
    };
    check(&[a, b], both());
    check(&[b, a], both());
    check(&[&format!("{a}\n{b}")], both());
    check(&[&format!("```json\n{a}\n```"), &format!("```\n{b}\n```")], both());
    check(&[&format!("  ```json\n[{a},\n{b}]\n```\n")], both());
}

#[test]
fn an_error_is_told_as_one() {
    check(
        &[
            r#"{"tool_call_result": {"toolCallId": "a", "error": "no \"eval\" here"}}"#,
            r#"{"tool_call_result": {"toolCallId": "b", "result": null, "error": {"code": 7}}}"#,
        ],
        expect![[r#"
            error a: Error: no "eval" here
            error b: Error: {"code": 7}"#]],
    );
}

#[test]
fn words_in_between_are_heard_after_the_results() {
    check(
        &["wait", r#"{"tool_call_result": {"toolCallId": "b", "result": 2}}"#, "well?"],
        expect![[r#"
            error a: Error: the client sent no result for this call.
            result b: 2
            user: wait
            user: well?"#]],
    );
}

#[test]
fn what_names_no_call_that_waits_is_what_the_user_says() {
    let unknown = r#"{"tool_call_result": {"toolCallId": "z", "result": 1}}"#;
    check(
        &[unknown],
        expect![[r#"
            error a: Error: the client sent no result for this call.
            error b: Error: the client sent no result for this call.
            user: {"tool_call_result": {"toolCallId": "z", "result": 1}}"#]],
    );
    // One of several, and one that comes twice.
    let a = r#"{"tool_call_result": {"toolCallId": "a", "result": 1}}"#;
    check(
        &[&format!("[{a}, {unknown}]"), a],
        expect![[r#"
            result a: 1
            error b: Error: the client sent no result for this call.
            user: {"tool_call_result": {"toolCallId": "z", "result": 1}}
            user: {"tool_call_result": {"toolCallId": "a", "result": 1}}"#]],
    );
}

#[test]
fn what_only_looks_like_a_result_is_what_the_user_says() {
    for said in [
        r#"{"tool_call_result": {"toolCallId": "a", "result": 1"#,
        r#"{"tool_call_result": {"toolCallId": "a", "result": 1}} is what I got"#,
        r#"What is {"tool_call_result": {"toolCallId": "a", "result": 1}}?"#,
        r#"{"tool_call_result": {"toolCallId": 1, "result": 1}}"#,
        r#"{"tool_call_result": "a"}"#,
        r#"[{"tool_call_result": {"toolCallId": "a", "result": 1}}, "and"]"#,
        "```json x\n{}\n``` tool_call_result",
        &format!(r#"{{"tool_call_result": {}1{}}}"#, "[".repeat(500), "]".repeat(500)),
    ] {
        let messages = [called(&["a"]), message(ChatRole::User, said)];
        let turns = turns_of(&messages);
        assert_eq!(turns[2], Turn::User(said.into()), "{said}");
        assert!(matches!(&turns[1], Turn::Result { is_error: true, .. }), "{said}");
    }
}

#[test]
fn without_a_call_before_it_a_result_is_what_the_user_says() {
    let said = r#"{"tool_call_result": {"toolCallId": "a", "result": 1}}"#;
    let messages = [message(ChatRole::User, said)];
    let turns = turns_of(&messages);
    assert_eq!(turns, [Turn::User(said.into())]);
}
