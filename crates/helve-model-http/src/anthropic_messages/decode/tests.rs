//! Recorded frames of the vendor, and the events decoded from them.

use expect_test::{Expect, expect};

use super::*;
use crate::scenario::{read, words};

/// Each line of `frames` is the data of a frame.
fn check(frames: &str, expected: Expect) {
    expected.assert_eq(&read(decoder(), frames));
}

#[test]
fn streams_text() {
    check(
        include_str!("../fixtures/streams-text.jsonl"),
        expect![[r#"
        usage 2060 1 cached 2048 reasoning 0
        text "Hel"
        text "lo."
        usage 2060 6 cached 2048 reasoning 0
        finished Stop
    "#]],
    );
}

#[test]
fn reasons_then_calls() {
    check(
        include_str!("../fixtures/reasons-then-calls.jsonl"),
        expect![[r#"
            usage 1520 2 cached 0 reasoning 0
            reasoning "The clock "
            reasoning "knows."
            text "Let me look."
            call 0 toolu_01T1x1fJ34qAmk2tNTrN7Up6 time
            arguments 0 {"zone":
            arguments 0  "UTC"}
            complete 0
            usage 1520 89 cached 0 reasoning 0
            echo {"blocks":[{"signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h","thinking":"The clock knows.","type":"thinking"},{"data":"EmwKAhgBEgy3va3pzix","type":"redacted_thinking"},{"text":"Let me look.","type":"text"},{"id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","type":"tool_use"}]}
            finished ToolCalls
        "#]],
    );
}

#[test]
fn calls_two_tools_at_once() {
    check(
        include_str!("../fixtures/calls-two-tools-at-once.jsonl"),
        expect![[r#"
            usage 30 2 cached 0 reasoning 0
            call 0 toolu_01A time
            call 1 toolu_01B calculator
            arguments 1 {"expression"
            arguments 1 : "1+1"}
            complete 1
            usage 30 60 cached 0 reasoning 0
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
            usage 30 2 cached 0 reasoning 0
            call 0 toolu_01A save_note
            arguments 0 {"text": "lon
            complete 0
            call 1 toolu_01B save_note
            usage 30 64 cached 0 reasoning 0
            finished Length
        "#]],
    );
}

#[test]
fn reports_overload() {
    check(
        include_str!("../fixtures/reports-overload.jsonl"),
        expect![[r#"
        Unavailable: the model server reported an error: Overloaded
    "#]],
    );
}

#[test]
fn fails_in_band() {
    check(
        include_str!("../fixtures/fails-in-band.jsonl"),
        expect![[r#"
        usage 9 1 cached 0 reasoning 0
        text "Hel"
        Unavailable: the model server reported an error: Internal server error
    "#]],
    );
}

#[test]
fn a_complete_answer_gives_the_same_events_as_a_stream() {
    let mut events = VecDeque::new();
    decode_complete(include_str!("../fixtures/whole-answer.json"), &mut events).unwrap();
    expect![[r#"
        reasoning "easy"
        text "42"
        call 0 toolu_01A time
        call 1 toolu_01B calendar
        usage 12 6 cached 7 reasoning 0
        arguments 0 {"zone":"UTC"}
        arguments 1 {}
        echo {"blocks":[{"signature":"EqQBCgIYAhIM","thinking":"easy","type":"thinking"},{"text":"42","type":"text"},{"id":"toolu_01A","type":"tool_use"},{"id":"toolu_01B","type":"tool_use"}]}
        finished ToolCalls
    "#]].assert_eq(&words(&events));
}

#[test]
fn a_stream_that_ends_early_is_an_error() {
    let all = include_str!("../fixtures/streams-text.jsonl");
    for lines in 0..all.lines().count() {
        let cut: Vec<&str> = all.lines().take(lines).collect();
        let told = read(decoder(), &cut.join("\n"));
        assert!(told.ends_with("the stream ended before the answer did\n"), "{lines}: {told}");
        assert!(!told.contains("finished"), "{lines}: {told}");
    }
    check(
        r#"{"type": "message_stop"}"#,
        expect![[r#"
        Broken: the model's answer broke off: the stream ended before the answer did
    "#]],
    );
}

#[test]
fn errors_have_the_kind_that_says_what_to_do() {
    let cases = [
        ("overloaded_error", ModelErrorKind::Unavailable),
        ("rate_limit_error", ModelErrorKind::Unavailable),
        ("timeout_error", ModelErrorKind::Unavailable),
        ("authentication_error", ModelErrorKind::Key),
        ("permission_error", ModelErrorKind::Key),
        ("request_too_large", ModelErrorKind::TooLong),
        ("invalid_request_error", ModelErrorKind::Refused),
        ("something_new", ModelErrorKind::Broken),
    ];
    for (kind, expected) in cases {
        let frame =
            json!({"type": "error", "error": {"type": kind, "message": "key 4711 of Mei"}}).to_string();
        let mut events = VecDeque::new();
        for told in [decoder()(Some(&frame), &mut events), decode_complete(&frame, &mut events)] {
            let error = told.unwrap_err();
            assert_eq!(error.kind, expected, "{kind}");
            assert_eq!(error.message.contains("4711"), expected != ModelErrorKind::Key, "{error}");
        }
    }
}

#[test]
fn every_stop_reason_has_a_meaning() {
    for (word, reason) in [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("tool_use", StopReason::ToolCalls),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("refusal", StopReason::ContentFilter),
        ("pause_turn", StopReason::Other),
        ("something_new", StopReason::Other),
    ] {
        assert_eq!(parse_stop_reason(word), reason, "{word}");
    }
}

#[test]
fn unknown_events_and_blocks_are_ignored() {
    check(
        r#"
        {"type":"message_start","message":{}}
        {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}
        {"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"of no block"}}
        {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"So"}}
        {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}
        {"type":"something_new","data":[]}
        {"type":"message_delta","delta":{"stop_reason":"end_turn"}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            text "So"
            finished Stop
        "#]],
    );
    check(
        "not json at all",
        expect![[r#"
        Broken: the model server sent something that is no event of a message (expected ident at line 1 column 2): not json at all
    "#]],
    );
}

#[test]
fn thinking_between_texts_keeps_its_position() {
    check(
        r#"
        {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"First. "}}
        {"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}
        {"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"hm"}}
        {"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"s"}}
        {"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Then."}}
        {"type":"message_delta","delta":{"stop_reason":"end_turn"}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            text "First. "
            reasoning "hm"
            text "Then."
            echo {"blocks":[{"text":"First. ","type":"text"},{"signature":"s","thinking":"hm","type":"thinking"},{"text":"Then.","type":"text"}]}
            finished Stop
        "#]],
    );
}

#[test]
fn the_end_mark_completes_an_answer_without_a_reason() {
    check(
        r#"
        {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}
        [DONE]
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {"x":1}
            finished ToolCalls
        "#]],
    );
    check(
        r#"
        {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}
        [DONE]
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {"x":
            finished Length
        "#]],
    );
    check(
        "[DONE]",
        expect![[r#"
            Broken: the model's answer broke off: the stream ended before the answer did
        "#]],
    );
}

#[test]
fn a_call_without_a_name_is_kept() {
    check(
        r#"
        {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"","input":{"x":1}}}
        {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","input":{}}}
        {"type":"message_delta","delta":{"stop_reason":"tool_use"}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            call 0 a 
            call 1 b 
            arguments 0 {"x":1}
            arguments 1 {}
            finished ToolCalls
        "#]],
    );
}
