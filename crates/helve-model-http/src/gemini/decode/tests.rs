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
        text "Hel"
        usage 9 0 cached 0 reasoning 0
        text "lo."
        usage 9 6 cached 4 reasoning 4
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
            usage 20 7 cached 0 reasoning 7
            reasoning "knows."
            text "Let me look."
            usage 20 11 cached 0 reasoning 7
            call 0 k2v7p1qa time
            arguments 0 {"zone":"UTC"}
            complete 0
            usage 20 22 cached 0 reasoning 7
            echo {"parts":[{"text":"Let me look."},{"call":0,"id":"k2v7p1qa","thoughtSignature":"CiQB0e2Kb3k9vE1m"}]}
            finished ToolCalls
        "#]],
    );
}

#[test]
fn calls_two_tools_at_once() {
    check(
        include_str!("../fixtures/calls-two-tools-at-once.jsonl"),
        expect![[r#"
            call 0 - time
            arguments 0 {}
            complete 0
            call 1 - calculator
            arguments 1 {"expression":"1+1"}
            complete 1
            usage 30 12 cached 0 reasoning 0
            finished ToolCalls
        "#]],
    );
}

#[test]
fn cut_by_length() {
    check(
        include_str!("../fixtures/cut-by-length.jsonl"),
        expect![[r#"
        text "It was a dark and"
        usage 9 0 cached 0 reasoning 0
        text " stormy"
        usage 9 8 cached 0 reasoning 0
        finished Length
    "#]],
    );
}

#[test]
fn reports_overload() {
    check(
        include_str!("../fixtures/reports-overload.jsonl"),
        expect![[r#"
        Unavailable: the model server reported an error: The model is overloaded. Please try again later.
    "#]],
    );
}

#[test]
fn fails_in_band() {
    check(
        include_str!("../fixtures/fails-in-band.jsonl"),
        expect![[r#"
        text "Let me look."
        usage 30 4 cached 0 reasoning 0
        Broken: the model wrote a call that cannot be read (MALFORMED_FUNCTION_CALL): Malformed function call: print(default_api.time(zone=UTC))
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
        call 0 - time
        arguments 0 {"zone":"UTC"}
        complete 0
        call 1 - calendar
        arguments 1 {}
        complete 1
        usage 12 15 cached 7 reasoning 9
        echo {"parts":[{"text":"42","thoughtSignature":"CiQB0e2Kb8aa"},{"call":0,"thoughtSignature":"CiQB0e2Kb9bb"},{"call":1}]}
        finished ToolCalls
    "#]].assert_eq(&words(&events));
}

#[test]
fn a_stream_that_ends_early_is_an_error() {
    let all = include_str!("../fixtures/reasons-then-calls.jsonl");
    for lines in 0..all.lines().count() {
        let cut: Vec<&str> = all.lines().take(lines).collect();
        let told = read(decoder(), &cut.join("\n"));
        assert!(told.ends_with("the stream ended before the answer did\n"), "{lines}: {told}");
        assert!(!told.contains("finished"), "{lines}: {told}");
    }
    check(
        "not json at all",
        expect![[r#"
        Broken: the model server sent something that is no generated content (expected ident at line 1 column 2): not json at all
    "#]],
    );
}

#[test]
fn a_blocked_request_is_an_error_of_kind_refused() {
    check(
        r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}"#,
        expect![[r#"
            Refused: the vendor blocks this request (PROHIBITED_CONTENT); rephrase it
        "#]],
    );
}

#[test]
fn errors_have_the_kind_that_says_what_to_do() {
    let cases = [
        ("UNAVAILABLE", ModelErrorKind::Unavailable),
        ("RESOURCE_EXHAUSTED", ModelErrorKind::Unavailable),
        ("INTERNAL", ModelErrorKind::Unavailable),
        ("UNAUTHENTICATED", ModelErrorKind::Key),
        ("PERMISSION_DENIED", ModelErrorKind::Key),
        ("INVALID_ARGUMENT", ModelErrorKind::Refused),
        ("SOMETHING_NEW", ModelErrorKind::Broken),
    ];
    for (status, expected) in cases {
        let frame = json!({"error": {"code": 1, "message": "key 4711 of Mei", "status": status}}).to_string();
        let mut events = VecDeque::new();
        for told in [decoder()(Some(&frame), &mut events), decode_complete(&frame, &mut events)] {
            let error = told.unwrap_err();
            assert_eq!(error.kind, expected, "{status}");
            assert_eq!(error.message.contains("4711"), expected != ModelErrorKind::Key, "{error}");
        }
    }
}

#[test]
fn every_finish_reason_has_a_meaning() {
    for (word, reason) in [
        ("STOP", Ok(StopReason::Stop)),
        ("MAX_TOKENS", Ok(StopReason::Length)),
        ("SAFETY", Ok(StopReason::ContentFilter)),
        ("RECITATION", Ok(StopReason::ContentFilter)),
        ("PROHIBITED_CONTENT", Ok(StopReason::ContentFilter)),
        ("OTHER", Ok(StopReason::Other)),
        ("SOMETHING_NEW", Ok(StopReason::Other)),
        ("MALFORMED_FUNCTION_CALL", Err(ModelErrorKind::Broken)),
        ("UNEXPECTED_TOOL_CALL", Err(ModelErrorKind::Broken)),
        ("TOO_MANY_TOOL_CALLS", Err(ModelErrorKind::Refused)),
        ("MISSING_THOUGHT_SIGNATURE", Err(ModelErrorKind::Refused)),
    ] {
        assert_eq!(parse_stop_reason(word, None).map_err(|error| error.kind), reason, "{word}");
    }
}

#[test]
fn a_signature_at_the_end_stays_a_separate_part() {
    check(
        r#"
        {"candidates":[{"content":{"parts":[{"text":"So "}]}}]}
        {"candidates":[{"content":{"parts":[{"text":"be it."}]}}]}
        {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"sig"}]},"finishReason":"STOP"}]}
        "#,
        expect![[r#"
            text "So "
            text "be it."
            echo {"parts":[{"text":"So be it."},{"text":"","thoughtSignature":"sig"}]}
            finished Stop
        "#]],
    );
}

#[test]
fn only_the_first_candidate_is_read() {
    check(
        r#"
        {"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]},"finishReason":"STOP"},{"index":0,"content":{"parts":[{"text":"yes"},{"inlineData":{}}]},"finishReason":"STOP"}]}
        "#,
        expect![[r#"
            text "yes"
            finished Stop
        "#]],
    );
}

#[test]
fn the_end_mark_completes_an_answer_without_a_reason() {
    check(
        r#"
        {"candidates":[{"content":{"parts":[{"text":"Hello."}]}}]}
        [DONE]
        "#,
        expect![[r#"
            text "Hello."
            finished Stop
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
fn a_call_without_a_name_is_kept_and_duplicate_arguments_stay() {
    check(
        r#"
        {"candidates":[{"content":{"parts":[{"functionCall":{"name":"","args":{"x":1,"x":2}}},{"functionCall":{"name":null,"args":null}},{"functionCall":{}}]},"finishReason":"STOP"}]}
        "#,
        expect![[r#"
            call 0 - 
            arguments 0 {"x":1,"x":2}
            complete 0
            call 1 - 
            arguments 1 {}
            complete 1
            call 2 - 
            arguments 2 {}
            complete 2
            finished ToolCalls
        "#]],
    );
}
