//! The scenarios of every protocol; `liberal` has further deviations of servers.

mod liberal;

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
            complete 0
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
            complete 0
            complete 1
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
fn a_stream_that_ends_early_is_an_error() {
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
fn a_complete_answer_gives_the_same_events_as_a_stream() {
    let mut events = VecDeque::new();
    decode_complete(include_str!("../fixtures/whole-answer.json"), &mut events).unwrap();
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
fn fails_in_band() {
    check(
        include_str!("../fixtures/fails-in-band.jsonl"),
        expect![[r#"
            text "Hel"
            Unavailable: the model server reported an error: The server had an error while processing your request
        "#]],
    );
    check(
        "not json at all",
        expect![[r#"
            Broken: the model server sent something that is not a chat completion (expected ident at line 1 column 2): not json at all
        "#]],
    );
    let cases = [
        (
            r#"{"error":{"code":502,"message":"Provider disconnected"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
            "Unavailable",
        ),
        (
            r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":429,"message":"slow down"}}]}"#,
            "Unavailable",
        ),
        (r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#, "Broken"),
        (r#"{"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}"#, "Unavailable"),
        (
            r#"{"error":{"message":"This model's maximum context length is 4096","code":"context_length_exceeded"}}"#,
            "TooLong",
        ),
        (r#"{"error":"x does not support tools"}"#, "NoTools"),
    ];
    for (frame, kind) in cases {
        let told = read(decoder(), frame);
        assert!(told.starts_with(&format!("{kind}: ")), "{frame}\n{told}");
    }
}

#[test]
fn an_answer_that_is_cut_anywhere_is_an_error() {
    for whole in [
        include_str!("../fixtures/streams-text.jsonl"),
        include_str!("../fixtures/reasons-then-calls.jsonl"),
        include_str!("../fixtures/calls-two-tools-at-once.jsonl"),
    ] {
        // With a finish reason the answer is complete, even if more frames are missing.
        let finish = whole.lines().take_while(|line| !line.contains("finish_reason\":\"")).count();
        let frames: Vec<&str> = whole.lines().take(finish + 1).collect();
        let whole = frames.join("\n");
        assert!(read(decoder(), &whole).contains("finished"));
        for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let told = read(decoder(), &whole[..end]);
            assert!(told.contains("Broken: ") && !told.contains("finished"), "{told}");
        }
    }
}
