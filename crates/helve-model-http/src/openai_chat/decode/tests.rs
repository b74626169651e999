//! What servers really send, and what is made of it.

use expect_test::{Expect, expect};

use super::*;
use crate::scenario::{read, words};

/// Each line is the data of a frame.
fn check(frames: &str, expected: Expect) {
    expected.assert_eq(&read(decoder(), frames));
}

#[test]
fn streams_text() {
    check(
        include_str!("../fixtures/streams-text.jsonl"),
        expect![[r#"
            text "Hel"
            text "lo."
            usage 9 2 cached 4 reasoning 0
            finished Stop
        "#]],
    );
}

#[test]
fn reasons_then_calls() {
    check(
        include_str!("../fixtures/reasons-then-calls.jsonl"),
        expect![[r#"
            reasoning "The clock "
            reasoning "knows."
            call 0 call_a time
            arguments 0 {"zone":
            arguments 0  "UTC"}
            usage 20 15 cached 0 reasoning 7
            finished ToolCalls
        "#]],
    );
}

#[test]
fn calls_two_tools_at_once() {
    check(
        include_str!("../fixtures/calls-two-tools-at-once.jsonl"),
        expect![[r#"
            call 0 call_a time
            arguments 0 {"zone":
            call 1 call_b calculator
            arguments 1 {"expression":
            arguments 0  "UTC"}
            arguments 1  "1+1"}
            finished ToolCalls
        "#]],
    );
}

#[test]
fn one_index_with_two_ids_is_two_calls() {
    check(
        r#"
        {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}
        {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}
        {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {}
            call 1 b g
            arguments 1 {}
            finished ToolCalls
        "#]],
    );
}

#[test]
fn a_missing_index_and_an_object_for_arguments_are_understood() {
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"function":{"name":"g","arguments":"{\"y\""}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":2}"}}]},"finish_reason":"tool_calls"}]}
        [DONE]
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {"x":1}
            call 1 - g
            arguments 1 {"y"
            arguments 1 :2}
            finished ToolCalls
        "#]],
    );
}

#[test]
fn an_empty_name_and_id_repeated_in_each_piece_change_nothing() {
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"{}"}}]}}]}
        {"choices":[{"delta":{"content":null},"finish_reason":"tool_calls"}]}
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {}
            finished ToolCalls
        "#]],
    );
}

#[test]
fn cut_by_length() {
    check(
        include_str!("../fixtures/cut-by-length.jsonl"),
        expect![[r#"
        call 0 call_a save_note
        arguments 0 {"text": "lon
        finished Length
    "#]],
    );
}

#[test]
fn a_stream_that_ends_early_is_never_taken_for_an_answer() {
    check(
        r#"{"choices":[{"delta":{"content":"Hel"}}]}"#,
        expect![[r#"
            text "Hel"
            Broken: the model's answer broke off: the stream ended before the answer did
        "#]],
    );
}

#[test]
fn reports_overload() {
    check(
        include_str!("../fixtures/reports-overload.jsonl"),
        expect![[r#"
        Unavailable: the model server reported an error: The engine is overloaded
    "#]],
    );
}

#[test]
fn fails_in_band() {
    check(
        include_str!("../fixtures/fails-in-band.jsonl"),
        expect![[r#"
        text "Hel"
        Broken: the model server reported an error: The server had an error while processing your request
    "#]],
    );
    check(
        "not json at all",
        expect![[r#"
        Broken: the model server sent something that is not a chat completion (expected ident at line 1 column 2): not json at all
    "#]],
    );
}

#[test]
fn a_whole_answer_is_read_like_a_stream() {
    let mut events = VecDeque::new();
    whole(include_str!("../fixtures/whole-answer.json"), &mut events).unwrap();
    expect![[r#"
        reasoning "easy"
        text "42"
        call 0 call_a time
        arguments 0 {"zone": "UTC"}
        usage 5 6 cached 0 reasoning 0
        finished ToolCalls
    "#]]
    .assert_eq(&words(&events));
}

#[test]
fn content_in_parts_is_joined() {
    check(
        r#"{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}"#,
        expect![[r#"
            text "ab"
            finished Stop
        "#]],
    );
}

#[test]
fn reasoning_under_two_names_is_told_once() {
    check(
        r#"{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"},"finish_reason":"stop"}]}"#,
        expect![[r#"
            reasoning "hm"
            finished Stop
        "#]],
    );
}
