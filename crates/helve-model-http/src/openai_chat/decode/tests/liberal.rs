//! What servers send that no documentation says.

use expect_test::expect;

use super::check;

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
            complete 0
            call 1 b g
            arguments 1 {}
            complete 1
            finished Stop
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
            complete 0
            call 1 - g
            arguments 1 {"y"
            arguments 1 :2}
            complete 1
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
            complete 0
            finished ToolCalls
        "#]],
    );
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

#[test]
fn a_call_that_is_said_to_be_whole_but_is_cut_is_cut() {
    for reason in ["tool_calls", "stop"] {
        let frames = r#"
            {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\": \"lon"}}]}}]}
            {"choices":[{"delta":{},"finish_reason":"REASON"}]}
        "#;
        let expected = expect![[r#"
            call 0 a f
            arguments 0 {"x": "lon
            finished Length
        "#]];
        check(&frames.replace("REASON", reason), expected);
    }
    // No arguments at all, and arguments that are wrong but whole, are another matter.
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{x}"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":""}}]},"finish_reason":"tool_calls"}]}
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {x}
            complete 0
            call 1 b g
            complete 1
            finished ToolCalls
        "#]],
    );
}

#[test]
fn whole_calls_in_one_piece_and_arguments_before_the_name_are_understood() {
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"x\""}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":":1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}
        {"choices":[{"delta":{"tool_calls":null},"finish_reason":"stop"}]}
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {"x":1}
            complete 0
            call 1 b g
            arguments 1 {}
            complete 1
            finished Stop
        "#]],
    );
}

#[test]
fn usage_is_found_wherever_it_is() {
    let usage = r#"{"prompt_tokens":7,"completion_tokens":3,"prompt_cache_hit_tokens":2}"#;
    let last = [
        // The last chunk of a choice (DeepSeek), the choice itself (Moonshot), without choices, and where Groq had it.
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":USAGE}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":USAGE}]}"#,
        "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n{\"choices\":[],\"usage\":USAGE}",
        "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n{\"choices\":null,\"usage\":USAGE}",
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":USAGE}}"#,
    ];
    for frames in last {
        let expected = expect![[r#"
            usage 7 3 cached 2 reasoning 0
            finished Stop
        "#]];
        check(&frames.replace("USAGE", usage), expected);
    }
}

#[test]
fn a_refusal_is_shown_and_known_for_one() {
    check(
        r#"
        {"choices":[{"delta":{"role":"assistant","content":"","refusal":null}}]}
        {"choices":[{"delta":{"refusal":"I can't "}}]}
        {"choices":[{"delta":{"refusal":"do that."}}]}
        {"choices":[{"delta":{},"finish_reason":"stop"}]}
        "#,
        expect![[r#"
            text "I can't "
            text "do that."
            finished ContentFilter
        "#]],
    );
}

#[test]
fn thoughts_among_the_parts_of_the_content_are_thoughts() {
    check(
        r#"
        {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}
        {"choices":[{"delta":{"content":[{"type":"thinking","thinking":" well"},{"type":"text","text":"yes"}]},"finish_reason":"stop"}]}
        "#,
        expect![[r#"
            reasoning "hm"
            reasoning " well"
            text "yes"
            finished Stop
        "#]],
    );
}

#[test]
fn details_of_reasoning_are_put_together_and_kept_for_the_vendor() {
    check(
        r#"
        {"choices":[{"delta":{"reasoning":"The ","reasoning_details":[{"type":"reasoning.text","text":"The ","index":0,"format":"anthropic-claude-v1"}]}}]}
        {"choices":[{"delta":{"reasoning":"clock.","reasoning_details":[{"type":"reasoning.text","text":"clock.","index":0}]}}]}
        {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"sig","index":0}]}}]}
        {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"abc","id":"r1","index":1}]}}]}
        {"choices":[{"delta":{"content":"It is noon."},"finish_reason":"stop"}]}
        "#,
        expect![[r#"
            reasoning "The "
            reasoning "clock."
            text "It is noon."
            echo {"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"sig","text":"The clock.","type":"reasoning.text"},{"data":"abc","id":"r1","index":1,"type":"reasoning.encrypted"}]}
            finished Stop
        "#]],
    );
    // Where the details are all there is, they are also what people see.
    check(
        r#"{"choices":[{"message":{"content":"42","reasoning_details":[{"type":"reasoning.summary","summary":"easy"}]},"finish_reason":"stop"}]}"#,
        expect![[r#"
            reasoning "easy"
            text "42"
            echo {"reasoning_details":[{"summary":"easy","type":"reasoning.summary"}]}
            finished Stop
        "#]],
    );
}

#[test]
fn thoughts_that_only_the_vendor_can_read_are_kept() {
    check(
        r#"
        {"choices":[{"delta":{"reasoning_content":"hm","encrypted_content":"AB"}}]}
        {"choices":[{"delta":{"content":"ok","encrypted_content":"CD"},"finish_reason":"stop","moderation_hit_type":null}]}
        "#,
        expect![[r#"
            reasoning "hm"
            text "ok"
            echo {"encrypted_content":"ABCD"}
            finished Stop
        "#]],
    );
}

#[test]
fn what_means_nothing_changes_nothing() {
    check(
        r#"
        {"id":"c","object":"chat.completion.chunk","choices":null,"error":null}
        {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":null},"finish_reason":null}],"error":""}
        {"choices":[{"index":1,"delta":{"content":"another choice"}}]}
        {"choices":[{"index":0,"delta":null,"finish_reason":""}]}
        {"choices":[{"index":null,"delta":{"content":"yes","obfuscation":"xx"},"logprobs":null}]}
        {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
        [DONE]
        [DONE]
        "#,
        expect![[r#"
            text "yes"
            finished Stop
        "#]],
    );
}

#[test]
fn the_mark_of_the_end_ends_a_message_that_gave_no_reason() {
    check(
        r#"
        {"choices":[{"delta":{"content":"Hello."}}]}
        [DONE]
        "#,
        expect![[r#"
            text "Hello."
            finished Stop
        "#]],
    );
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}
        [DONE]
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {"x":
            arguments 0 1}
            finished ToolCalls
        "#]],
    );
    // A stream of nothing is no answer.
    check(
        "[DONE]",
        expect![[r#"
            Broken: the model's answer broke off: the stream ended before the answer did
        "#]],
    );
}

#[test]
fn a_call_that_is_not_whole_at_the_mark_of_the_end_was_cut() {
    for arguments in [r#"{\"x\":"#, ""] {
        let told = crate::scenario::read(
            super::decoder(),
            &format!(
                r#"
                {{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"f","arguments":"{arguments}"}}}}]}}}}]}}
                {{"choices":[{{"delta":{{"tool_calls":[{{"index":1,"id":"b","function":{{"name":"g","arguments":"{{}}"}}}}]}}}}]}}
                [DONE]
                "#
            ),
        );
        assert!(told.ends_with("finished Length\n"), "{told}");
    }
}

#[test]
fn a_call_without_a_name_does_not_vanish() {
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"","arguments":"{\"x\":1}"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"arguments":"{}"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":2,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"index":3,"function":{"name":null}}]},"finish_reason":"tool_calls"}]}
        [DONE]
        "#,
        expect![[r#"
            call 2 c f
            arguments 2 {}
            complete 2
            call 0 a 
            arguments 0 {"x":1}
            call 1 b 
            arguments 1 {}
            finished ToolCalls
        "#]],
    );
}

#[test]
fn arguments_are_passed_on_with_what_they_say_twice() {
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1,"x":2}}}]},"finish_reason":"tool_calls"}]}
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {"x":1,"x":2}
            complete 0
            finished ToolCalls
        "#]],
    );
}

#[test]
fn a_call_is_complete_at_the_finish_reason_and_only_once() {
    check(
        r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}
        {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}
        {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}
        {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}
        "#,
        expect![[r#"
            call 0 a f
            arguments 0 {}
            complete 0
            usage 7 3 cached 0 reasoning 0
            finished ToolCalls
        "#]],
    );
}
