//! Frames of Ollama, and the events decoded from them.
//!
//! Text, calls, cuts and the dropped call were recorded from Ollama 0.9.3. Thinking, two calls at once and errors follow
//! its documentation and its source, because the recorded model produces none of them.

use expect_test::{Expect, expect};

use super::*;
use crate::scenario::{read, words};

/// "What time is it in Paris?", with a tool that knows.
const RECORDED_CALL: &str = r#"{"model":"smollm2-tools","created_at":"2026-11-16T06:53:48.245503665Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_time","arguments":{"city":"Paris"}}}]},"done":false}
{"model":"smollm2-tools","created_at":"2026-11-16T06:53:48.393304715Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":854847168,"load_duration":60076741,"prompt_eval_count":441,"prompt_eval_duration":113956000,"eval_count":31,"eval_duration":610773000}"#;
/// "Weather in Oslo?", without a tool for it; the model called one nevertheless.
const RECORDED_SWALLOW: &str = r#"{"model":"smollm2-tools","created_at":"2026-11-16T06:53:49.411794973Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":984995127,"load_duration":15078036,"prompt_eval_count":438,"prompt_eval_duration":89759000,"eval_count":30,"eval_duration":829744000}"#;

fn check(lines: &str, expected: Expect) {
    expected.assert_eq(&read(decoder(), lines));
}

#[test]
fn streams_text() {
    check(
        include_str!("../fixtures/streams-text.jsonl"),
        expect![[r#"
        text "The"
        text " capital"
        text " of"
        text " France"
        text " is"
        text " Paris"
        text "."
        usage 16 8 cached 0 reasoning 0
        finished Stop
    "#]],
    );
}

#[test]
fn streams_a_tool_call() {
    check(
        RECORDED_CALL,
        expect![[r#"
            call 0 - get_time
            arguments 0 {"city":"Paris"}
            complete 0
            usage 441 31 cached 0 reasoning 0
            finished ToolCalls
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
            text "I will look."
            call 0 call_8k2 time
            arguments 0 {"zone":"UTC"}
            complete 0
            usage 20 15 cached 0 reasoning 0
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
            arguments 0 {"zone":"UTC"}
            complete 0
            call 1 - time
            arguments 1 {"zone":"UTC"}
            complete 1
            usage 20 30 cached 0 reasoning 0
            finished ToolCalls
        "#]],
    );
}

#[test]
fn cut_by_length() {
    check(
        include_str!("../fixtures/cut-by-length.jsonl"),
        expect![[r#"
        text "I"
        text "'m"
        text " so"
        text " glad"
        text " you"
        usage 12 5 cached 0 reasoning 0
        finished Length
    "#]],
    );
}

#[test]
fn a_dropped_call_is_an_error_and_no_empty_answer() {
    check(
        RECORDED_SWALLOW,
        expect![[r#"
        usage 438 30 cached 0 reasoning 0
        Broken: the model wrote 30 tokens, but Ollama sent none of them: probably a call to an unknown tool or with wrong arguments; `tools = "prompt"` shows what the model writes
    "#]],
    );
    // Also with white space in the answer.
    check(
        r#"
        {"message":{"role":"assistant","content":"\n"},"done":false}
        {"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":9}
        "#,
        expect![[r#"
            text "\n"
            usage 7 9 cached 0 reasoning 0
            Broken: the model wrote 9 tokens, but Ollama sent none of them: probably a call to an unknown tool or with wrong arguments; `tools = "prompt"` shows what the model writes
        "#]],
    );
}

#[test]
fn an_answer_with_only_reasoning_is_complete() {
    let lines = r#"
        {"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}
        {"message":{"role":"assistant","content":"\n"},"done":false}
        {"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":9}
    "#;
    check(
        lines,
        expect![[r#"
            reasoning "hm"
            text "\n"
            usage 7 9 cached 0 reasoning 0
            finished Stop
        "#]],
    );
}

#[test]
fn an_answer_without_tokens_is_empty_and_complete() {
    check(
        r#"{"message":{"content":""},"done":true,"done_reason":"stop","eval_count":0}"#,
        expect![[r#"
        usage 0 0 cached 0 reasoning 0
        finished Stop
    "#]],
    );
    check(
        r#"{"done":true,"done_reason":"load"}"#,
        expect![[r#"
        usage 0 0 cached 0 reasoning 0
        finished Other
    "#]],
    );
}

#[test]
fn fails_in_band() {
    check(
        include_str!("../fixtures/fails-in-band.jsonl"),
        expect![[r#"
            text "Hel"
            Broken: the model server reported an error: an error was encountered while running the model: unexpected EOF
        "#]],
    );
    check(
        r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#,
        expect![[r#"
        NoTools: the model server reported an error: registry.ollama.ai/library/gemma:2b does not support tools
    "#]],
    );
}

#[test]
fn reports_overload() {
    check(
        include_str!("../fixtures/reports-overload.jsonl"),
        expect![[r#"
            Unavailable: the model server reported an error: server busy, please try again.  maximum pending requests exceeded
        "#]],
    );
}

#[test]
fn a_stream_that_ends_early_is_an_error() {
    check(
        r#"{"message":{"role":"assistant","content":"Hel"},"done":false}"#,
        expect![[r#"
        text "Hel"
        Broken: the model's answer broke off: the stream ended before the answer did
    "#]],
    );
    check(
        "",
        expect![[r#"
        Broken: the model's answer broke off: the stream ended before the answer did
    "#]],
    );
    check(
        "<html>proxy</html>",
        expect![[r#"
        Broken: the model server sent something that is not an answer of Ollama (expected value at line 1 column 1): <html>proxy</html>
    "#]],
    );
}

#[test]
fn arguments_and_ids_are_read_in_every_shape() {
    check(
        r#"
        {"message":{"tool_calls":[{"id":"call_x","function":{"index":0,"name":"f","arguments":{"z":1,"a":[true]}}}]},"done":false}
        {"message":{"tool_calls":[{"function":{"name":"g","arguments":"{\"y\":2}"}},{"function":{"name":"h","arguments":null}},{"function":{"name":"i"}}]},"done":false}
        {"message":null,"done":true,"eval_count":3}
        "#,
        expect![[r#"
            call 0 call_x f
            arguments 0 {"z":1,"a":[true]}
            complete 0
            call 1 - g
            arguments 1 {"y":2}
            complete 1
            call 2 - h
            complete 2
            call 3 - i
            complete 3
            usage 0 3 cached 0 reasoning 0
            finished ToolCalls
        "#]],
    );
}

#[test]
fn a_complete_answer_gives_the_same_events_as_a_stream() {
    let mut events = VecDeque::new();
    decode_complete(include_str!("../fixtures/whole-answer.json"), &mut events).unwrap();
    expect![[r#"
        call 0 - get_time
        arguments 0 {"city":"Paris"}
        complete 0
        usage 441 31 cached 0 reasoning 0
        finished ToolCalls
    "#]]
    .assert_eq(&words(&events));
    assert!(decode_complete(r#"{"message":{"content":"Hel"},"done":false}"#, &mut VecDeque::new()).is_err());
}

#[test]
fn an_answer_that_is_cut_anywhere_is_an_error() {
    for whole in [
        include_str!("../fixtures/streams-text.jsonl"),
        RECORDED_CALL,
        include_str!("../fixtures/reasons-then-calls.jsonl"),
    ] {
        let whole = whole.trim_end();
        assert!(read(decoder(), whole).contains("finished"));
        for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let told = read(decoder(), &whole[..end]);
            assert!(told.contains("Broken: ") && !told.contains("finished"), "{told}");
        }
    }
}

#[test]
fn a_call_without_a_name_is_kept() {
    check(
        r#"
        {"message":{"tool_calls":[{"function":{"name":"","arguments":{"x":1}}},{"function":{"name":null}},{"id":"c"}]},"done":false}
        {"message":null,"done":true,"done_reason":"stop","eval_count":3}
        "#,
        expect![[r#"
            call 0 - 
            arguments 0 {"x":1}
            complete 0
            call 1 - 
            complete 1
            call 2 c 
            complete 2
            usage 0 3 cached 0 reasoning 0
            finished ToolCalls
        "#]],
    );
}
