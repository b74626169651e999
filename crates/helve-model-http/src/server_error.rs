//! Classifies the errors of model servers by what the caller can do next.
//!
//! The rules are the same for all protocols, and for errors with a status and errors inside a stream that began with
//! success. They use the status if it is specific, and otherwise phrases that vendors really send. An error that matches
//! no rule is a refusal before an answer and a break inside one.

use helve_model::{ModelError, ModelErrorKind};
use serde_json::Value;

/// The longest part of a server's message that error messages contain.
const SHOWN_CHARS_MAX: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorCause {
    NoTools,
    Key,
    /// The account has no credit.
    NoCredit,
    /// The vendor's rules on content forbid the request or the answer.
    Policy,
    TooLong,
    Overloaded,
    /// The address or the name of the model is wrong.
    NotFound,
    Refused,
    Broken,
}

/// Phrases that are specific to missing tool support.
const NO_TOOLS: &[&str] = &[
    "support tool use",
    "function calling is not",
    // vLLM and llama.cpp that were started without their tool parsers.
    "--enable-auto-tool-choice",
    "tools param requires --jinja",
];

/// Names of members that only a request with tools has.
const TOOL_NAMES: &[&str] = &[
    "tools",
    "tool use",
    "tool_use",
    "tool call",
    "tool_call",
    "tool choice",
    "tool_choice",
    "function call",
    "function_call",
    "functions",
    "工具",
    "函数调用",
];

/// Phrases for something that a server does not accept.
const NOT_TAKEN: &[&str] = &[
    "not support",
    "n't support",
    "unsupported",
    "not permitted",
    "not allowed",
    "not enabled",
    "not available",
    "not implemented",
    "unknown",
    "unrecognized",
    "unrecognised",
    "unexpected",
    "不支持",
    "暂未支持",
    "未支持",
    "未知",
    "未开通",
];

/// Phrases for a mistake in the definition of one tool, such as `tools[0].function.parameters`: the server accepts tools.
const ONE_TOOL: &[&str] =
    &["tools[", "tools.", "tools/", "\"tools\",0", "\"tools\", 0", "schema", "parameters"];

const NO_CREDIT: &[&str] = &[
    "insufficient_quota",
    "insufficient balance",
    "insufficient_balance",
    "insufficient credits",
    "billing_hard_limit",
    "billing_not_active",
    "billing_error",
    "credit balance is too low",
    "arrearage",
    "accountoverdue",
];

const POLICY: &[&str] = &[
    "content_policy",
    "content policy",
    "content_filter",
    "content management policy",
    "content_management_policy",
    "responsibleaipolicy",
    "data_inspection_failed",
    "datainspectionfailed",
    "sensitivecontent",
    "moderation",
    "usage policies",
];

const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "context size",
    "context_window",
    "exceed_context_size",
    "too many tokens",
    "prompt is too long",
    "input is too long",
    "token count exceeds",
    "exceeds the maximum number of tokens",
    "request_too_large",
    "range of input length",
];

const OVERLOADED: &[&str] = &[
    "overload",
    "rate_limit",
    "rate limit",
    "ratelimit",
    "too many requests",
    "unavailable",
    "resource_exhausted",
    "server_error",
    "api_error",
    "internal",
    "deadline_exceeded",
    "aborted",
    "server busy",
    "server is busy",
    "at capacity",
    "timed out",
    "timeout",
    "try again later",
];

/// Gemini sends these with status 400.
const KEY_NOT_VALID: &[&str] = &["api key not valid", "api key expired"];

const KEY: &[&str] = &[
    "invalid_api_key",
    "incorrect api key",
    "invalid api key",
    "authentication_error",
    "unauthenticated",
    "permission_error",
    "permission_denied",
];

const NOT_FOUND: &[&str] = &["model_not_found", "model not found", "not_found", "try pulling it first"];

const REFUSED: &[&str] = &["invalid_request", "invalid_argument", "failed_precondition", "bad_request"];

/// The error of a response with an error status.
pub(crate) fn from_response(status: u16, body: &str) -> ModelError {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let message = match &parsed {
        Some(value) => find_message(value).unwrap_or_else(|| body.trim().to_owned()),
        None => body.trim().to_owned(),
    };
    let words = format!("{} {message}", parsed.as_ref().map(join_codes).unwrap_or_default()).to_lowercase();
    // The position of the mistake, such as `["body", "tools"]`, may be outside the message, so the whole body is searched.
    let cause = match is_refusal_of_tools(Some(status), &beginning_of(body).to_lowercase()) {
        true => ErrorCause::NoTools,
        false => classify(Some(status), &words),
    };
    model_error(cause, Some(status), &message)
}

/// Whether a server refuses a request because of its tools. The caller then repeats the request without them.
fn is_refusal_of_tools(status: Option<u16>, words: &str) -> bool {
    let mentions = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    matches!(status, None | Some(400 | 404 | 405 | 415 | 422 | 501))
        && mentions(TOOL_NAMES)
        && mentions(NOT_TAKEN)
        && !mentions(ONE_TOOL)
}

/// The part of a body that is searched for phrases.
fn beginning_of(body: &str) -> &str {
    &body[..body.floor_char_boundary(4 << 10)]
}

/// The error inside a stream: the value of `error`, or the whole frame.
pub(crate) fn from_stream(error: &Value) -> ModelError {
    let message = find_message(error).unwrap_or_else(|| error.to_string());
    let words = format!("{} {message}", join_codes(error)).to_lowercase();
    let status =
        error_object(error).get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    model_error(classify(status.filter(|status| (400..600).contains(status)), &words), None, &message)
}

fn classify(status: Option<u16>, words: &str) -> ErrorCause {
    let mentions = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    match status {
        Some(401) => ErrorCause::Key,
        Some(400) if mentions(KEY_NOT_VALID) => ErrorCause::Key,
        _ if mentions(NO_TOOLS) || is_refusal_of_tools(status, words) => ErrorCause::NoTools,
        Some(402) => ErrorCause::NoCredit,
        // Some vendors send 429 for an empty account; waiting would not help then.
        _ if mentions(NO_CREDIT) => ErrorCause::NoCredit,
        // Before TOO_LONG: a limit of tokens per minute is no limit of the request's length.
        Some(429) => ErrorCause::Overloaded,
        _ if mentions(TOO_LONG) => ErrorCause::TooLong,
        Some(408 | 425 | 500..=599) => ErrorCause::Overloaded,
        _ if mentions(POLICY) => ErrorCause::Policy,
        Some(403) => ErrorCause::Key,
        // Gemini sends 400 for a wrong key.
        Some(400) if mentions(KEY) => ErrorCause::Key,
        Some(413) => ErrorCause::TooLong,
        Some(404) => ErrorCause::NotFound,
        Some(_) if mentions(NOT_FOUND) => ErrorCause::NotFound,
        Some(_) => ErrorCause::Refused,
        None if mentions(OVERLOADED) => ErrorCause::Overloaded,
        None if mentions(KEY) => ErrorCause::Key,
        None if mentions(NOT_FOUND) => ErrorCause::NotFound,
        None if mentions(REFUSED) => ErrorCause::Refused,
        None => ErrorCause::Broken,
    }
}

fn model_error(cause: ErrorCause, status: Option<u16>, message: &str) -> ModelError {
    let message: String = message.chars().take(SHOWN_CHARS_MAX).collect();
    let message = if message.is_empty() { "no reason given".to_owned() } else { message };
    let answered = match status {
        Some(status) => format!("the model server answered {status}: {message}"),
        None => format!("the model server reported an error: {message}"),
    };
    let (kind, message) = match cause {
        ErrorCause::Key => {
            // The server's message may contain parts of the key, so only the log of the operator has it.
            tracing::debug!(status, message, "model server refused the key");
            let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
            let message =
                format!("the model server refuses the key{status}; check it, and that it may use this model");
            (ModelErrorKind::Key, message)
        }
        ErrorCause::NoCredit => {
            let advice = "the account has nothing left to pay with: top it up, or use another model";
            (ModelErrorKind::Key, format!("{answered}; {advice}"))
        }
        ErrorCause::Policy => {
            (ModelErrorKind::Refused, format!("{answered}; its rules on content do not allow this"))
        }
        ErrorCause::NotFound => {
            let advice = "check the name of the model and the address of its server";
            (ModelErrorKind::Refused, format!("{answered}; {advice}"))
        }
        ErrorCause::NoTools => (ModelErrorKind::NoTools, answered),
        ErrorCause::TooLong => (ModelErrorKind::TooLong, answered),
        ErrorCause::Overloaded => (ModelErrorKind::Unavailable, answered),
        ErrorCause::Refused => (ModelErrorKind::Refused, answered),
        ErrorCause::Broken => (ModelErrorKind::Broken, answered),
    };
    ModelError::new(kind, message)
}

/// The error object inside a list or under the key `error`.
fn error_object(value: &Value) -> &Value {
    let value = value.get(0).unwrap_or(value);
    value.get("error").filter(|error| !error.is_null()).unwrap_or(value)
}

/// The message of an error, in the shapes that vendors use.
fn find_message(value: &Value) -> Option<String> {
    fn find_text(value: &Value, depth: u8) -> Option<&str> {
        match value {
            Value::String(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Value::Array(items) if depth > 0 => find_text(items.first()?, depth - 1),
            Value::Object(_) if depth > 0 => ["error", "message", "detail", "msg", "error_msg"]
                .iter()
                .find_map(|key| find_text(value.get(*key)?, depth - 1)),
            _ => None,
        }
    }
    find_text(value, 5).map(str::to_owned)
}

/// The error codes, separated by blanks.
fn join_codes(value: &Value) -> String {
    let error = error_object(value);
    let named = ["code", "type", "status"].iter().filter_map(|key| error.get(*key)?.as_str());
    named.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
