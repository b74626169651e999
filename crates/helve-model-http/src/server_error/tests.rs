//! Errors that servers really send, and their classification.

use helve_model::ModelErrorKind::{Broken, Key, NoTools, Refused, TooLong, Unavailable};
use serde_json::json;

use super::*;

fn openai(text: &str) -> String {
    json!({"error": {"message": text, "type": "x"}}).to_string()
}

#[test]
fn responses_are_classified_by_status_and_message() {
    let coded = |code: &str| json!({"error": {"message": "no", "code": code}}).to_string();
    let cases = [
        (401, openai("Incorrect API key provided"), Key),
        (401, openai("this key does not support tools"), Key),
        (403, openai("you may not"), Key),
        (408, String::new(), Unavailable),
        (425, String::new(), Unavailable),
        (429, openai("Rate limit reached, too many tokens per minute"), Unavailable),
        (500, openai("oops"), Unavailable),
        (502, "<html>bad gateway</html>".into(), Unavailable),
        (503, "<html>busy</html>".into(), Unavailable),
        (504, String::new(), Unavailable),
        (529, String::new(), Unavailable),
        (400, openai("gemma:2b does not support tools"), NoTools),
        (400, r#"{"error": "gemma:2b does not support tools"}"#.into(), NoTools),
        (404, openai("No endpoints found that support tool use."), NoTools),
        (500, openai("tools param requires --jinja flag"), NoTools),
        (400, openai("\"auto\" tool choice requires --enable-auto-tool-choice to be set"), NoTools),
        (400, openai("maximum context length is 8192 tokens"), TooLong),
        (400, coded("context_length_exceeded"), TooLong),
        (400, openai("the request exceeds the available context size"), TooLong),
        (500, openai("the request exceeds the available context size"), TooLong),
        (413, String::new(), TooLong),
        (400, openai("prompt is too long: 210000 tokens > 200000 maximum"), TooLong),
        (
            400,
            openai("The input token count (12) exceeds the maximum number of tokens allowed (8)."),
            TooLong,
        ),
        (400, openai("API key not valid. Please pass a valid API key."), Key),
        (404, openai("The model `x` does not exist"), Refused),
        (400, openai("temperature must be a number"), Refused),
        (422, r#"{"message": {"detail": [{"msg": "Extra inputs are not permitted"}]}}"#.into(), Refused),
        (400, coded("content_policy_violation"), Refused),
        (400, coded("data_inspection_failed"), Refused),
        (403, openai("Your chosen model requires moderation and your input was flagged"), Refused),
        (402, openai("Insufficient Balance"), Key),
        (429, coded("insufficient_quota"), Key),
    ];
    for (status, body, kind) in cases {
        assert_eq!(from_response(status, &body).kind, kind, "{status} {body}");
    }
}

#[test]
fn a_refusal_that_names_tools_means_that_the_model_has_no_tools() {
    let pydantic = r#"{"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}"#;
    let cases = [
        (400, openai("该模型不支持工具调用"), NoTools),
        (422, openai("`tools` is not supported"), NoTools),
        (400, openai("unknown field `tools`"), NoTools),
        (400, openai("Unrecognized request argument supplied: tools"), NoTools),
        (422, pydantic.into(), NoTools),
        (400, openai("This model doesn't support function calling"), NoTools),
        (400, openai("Unexpected parameter: tool_choice"), NoTools),
        (400, r#"{"error": "registry.ollama.ai/library/x does not support tools"}"#.into(), NoTools),
        // The server accepts tools, but not this definition.
        (
            400,
            openai("Invalid schema for function 'f': unknown keyword in tools[0].function.parameters"),
            Refused,
        ),
        (400, openai("tools.0.custom.input_schema: unsupported keyword"), Refused),
        (400, openai("unknown field `temperatur`"), Refused),
        (429, openai("tools are not available now, too many requests"), Unavailable),
    ];
    for (status, body, kind) in cases {
        assert_eq!(from_response(status, &body).kind, kind, "{status} {body}");
    }
}

#[test]
fn error_messages_say_what_to_do() {
    let cases = [
        (404, openai("no such model"), "404: no such model; check the name of the model and the address"),
        (429, json!({"error": {"message": "quota", "code": "insufficient_quota"}}).to_string(), "top it up"),
        (402, openai("Insufficient Balance"), "402: Insufficient Balance; the account has nothing left"),
        (400, openai("content_filter"), "its rules on content do not allow this"),
        (400, r#"{"detail": [{"msg": "field required"}]}"#.into(), "answered 400: field required"),
        (400, r#"[{"error": {"code": 400, "message": "Bad schema"}}]"#.into(), "answered 400: Bad schema"),
        (500, String::new(), "answered 500: no reason given"),
        (400, r#"{"error": {"code": 7}}"#.into(), r#"answered 400: {"error": {"code": 7}}"#),
    ];
    for (status, body, expected) in cases {
        let told = from_response(status, &body).message;
        assert!(told.contains(expected), "{told}\n{expected}");
    }
    assert!(from_response(500, &"x".repeat(10_000)).message.len() < 600);
}

#[test]
fn errors_inside_a_stream_are_classified_by_code_and_message() {
    let cases = [
        (json!({"type": "overloaded_error", "message": "Overloaded"}), Unavailable),
        (json!({"message": "The engine is overloaded", "type": "server_error"}), Unavailable),
        (json!({"code": "rate_limit_exceeded", "message": "slow down"}), Unavailable),
        (json!({"code": 502, "message": "Provider returned error"}), Unavailable),
        (json!({"code": 503, "status": "UNAVAILABLE", "message": "later"}), Unavailable),
        (json!({"code": 429, "message": "slow down"}), Unavailable),
        (json!({"code": "context_length_exceeded", "message": "no"}), TooLong),
        (json!({"code": 401, "message": "No auth"}), Key),
        (json!({"type": "authentication_error", "message": "no"}), Key),
        (json!({"type": "api_error", "message": "no"}), Unavailable),
        (json!({"type": "timeout_error", "message": "no"}), Unavailable),
        (json!({"type": "permission_error", "message": "no"}), Key),
        (json!({"type": "request_too_large", "message": "no"}), TooLong),
        (json!({"type": "billing_error", "message": "no"}), Key),
        (json!({"type": "not_found_error", "message": "no"}), Refused),
        (json!({"status": "INTERNAL", "message": "no"}), Unavailable),
        (json!({"status": "DEADLINE_EXCEEDED", "message": "no"}), Unavailable),
        (json!({"status": "UNAUTHENTICATED", "message": "no"}), Key),
        (json!({"status": "NOT_FOUND", "message": "no"}), Refused),
        (json!({"status": "FAILED_PRECONDITION", "message": "no"}), Refused),
        (json!({"code": "insufficient_quota", "message": "no"}), Key),
        (json!({"code": "content_filter", "message": "no"}), Refused),
        (json!({"type": "invalid_request_error", "message": "no"}), Refused),
        (json!("an error was encountered while running the model: unexpected EOF"), Broken),
        (json!("registry.ollama.ai/library/gemma:2b does not support tools"), NoTools),
        (json!({"message": "something else"}), Broken),
        (json!({"code": 200, "message": "odd"}), Broken),
        (json!(null), Broken),
        (json!([]), Broken),
    ];
    for (error, kind) in cases {
        assert_eq!(from_stream(&error).kind, kind, "{error}");
    }
    assert_eq!(from_stream(&json!({"message": "gone"})).message, "the model server reported an error: gone");
}
