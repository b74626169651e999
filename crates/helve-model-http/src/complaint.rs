//! What servers say is wrong, and what can be done about it.
//!
//! One reading for all protocols, whether the error came with a status or inside an answer that had begun with
//! success: by the status where it is plain, by the words where it is not. The words are those that vendors
//! really use; whatever none of them fits is taken for a refusal before an answer and for a break within one.

use helve_model::{ModelError, ModelErrorKind};
use serde_json::Value;

/// The longest that people are told of what a server said.
const SHOWN_CHARS_MAX: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    NoTools,
    Key,
    /// Nothing is left to pay with.
    Money,
    /// The words of the question or the answer are not allowed.
    Policy,
    TooLong,
    Busy,
    /// The address or the model's name is wrong.
    NotThere,
    Refused,
    Broken,
}

/// Whole sentences that say it.
const NO_TOOLS: &[&str] = &[
    "support tool use",
    "function calling is not",
    // vLLM and llama.cpp that were started without their tool parsers.
    "--enable-auto-tool-choice",
    "tools param requires --jinja",
];

/// Names of what a request with tools has and others have not.
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

/// What servers say of something that they do not take.
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

/// Where one tool's definition is at fault, such as `tools[0].function.parameters`: the server takes tools.
const ONE_TOOL: &[&str] =
    &["tools[", "tools.", "tools/", "\"tools\",0", "\"tools\", 0", "schema", "parameters"];

const MONEY: &[&str] = &[
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

const BUSY: &[&str] = &[
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

/// Gemini says it with the status of a wrong question.
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

const NOT_THERE: &[&str] = &["model_not_found", "model not found", "not_found", "try pulling it first"];

const REFUSED: &[&str] = &["invalid_request", "invalid_argument", "failed_precondition", "bad_request"];

/// An error that came instead of an answer, with a status.
pub(crate) fn before_answer(status: u16, body: &str) -> ModelError {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let said = match &parsed {
        Some(value) => said(value).unwrap_or_else(|| body.trim().to_owned()),
        None => body.trim().to_owned(),
    };
    let words = format!("{} {said}", parsed.as_ref().map(codes).unwrap_or_default()).to_lowercase();
    // The place of the fault, such as `["body", "tools"]`, may stand beside the words.
    let trouble = match refuses_tools(Some(status), &beginning(body).to_lowercase()) {
        true => Trouble::NoTools,
        false => trouble(Some(status), &words),
    };
    told(trouble, Some(status), &said)
}

/// Whether a server that refuses a request names tools as what it does not take: the model is asked without them then.
fn refuses_tools(status: Option<u16>, words: &str) -> bool {
    let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    matches!(status, None | Some(400 | 404 | 405 | 415 | 422 | 501))
        && says(TOOL_NAMES)
        && says(NOT_TAKEN)
        && !says(ONE_TOOL)
}

/// As much of a body as an error is told in.
fn beginning(body: &str) -> &str {
    &body[..body.floor_char_boundary(4 << 10)]
}

/// An error inside an answer that began with success: what stands under `error`, or the whole frame.
pub(crate) fn in_answer(error: &Value) -> ModelError {
    let said = said(error).unwrap_or_else(|| error.to_string());
    let words = format!("{} {said}", codes(error)).to_lowercase();
    let status = inner(error).get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    told(trouble(status.filter(|status| (400..600).contains(status)), &words), None, &said)
}

fn trouble(status: Option<u16>, words: &str) -> Trouble {
    let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    match status {
        Some(401) => Trouble::Key,
        Some(400) if says(KEY_NOT_VALID) => Trouble::Key,
        _ if says(NO_TOOLS) || refuses_tools(status, words) => Trouble::NoTools,
        Some(402) => Trouble::Money,
        // Some vendors say with the status of a busy server that the account is empty: waiting would not help.
        _ if says(MONEY) => Trouble::Money,
        // How many tokens there may be in a minute is not how many there may be in a question.
        Some(429) => Trouble::Busy,
        _ if says(TOO_LONG) => Trouble::TooLong,
        Some(408 | 425 | 500..=599) => Trouble::Busy,
        _ if says(POLICY) => Trouble::Policy,
        Some(403) => Trouble::Key,
        // Gemini's way.
        Some(400) if says(KEY) => Trouble::Key,
        Some(413) => Trouble::TooLong,
        Some(404) => Trouble::NotThere,
        Some(_) if says(NOT_THERE) => Trouble::NotThere,
        Some(_) => Trouble::Refused,
        None if says(BUSY) => Trouble::Busy,
        None if says(KEY) => Trouble::Key,
        None if says(NOT_THERE) => Trouble::NotThere,
        None if says(REFUSED) => Trouble::Refused,
        None => Trouble::Broken,
    }
}

fn told(trouble: Trouble, status: Option<u16>, said: &str) -> ModelError {
    let said: String = said.chars().take(SHOWN_CHARS_MAX).collect();
    let said = if said.is_empty() { "no reason given".to_owned() } else { said };
    let answered = match status {
        Some(status) => format!("the model server answered {status}: {said}"),
        None => format!("the model server reported an error: {said}"),
    };
    let (kind, message) = match trouble {
        Trouble::Key => {
            // What a server says about a key is for the operator alone.
            tracing::debug!(status, said, "the model server refuses the key");
            let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
            let message =
                format!("the model server refuses the key{status}; check it, and that it may use this model");
            (ModelErrorKind::Key, message)
        }
        Trouble::Money => {
            let advice = "the account has nothing left to pay with: top it up, or use another model";
            (ModelErrorKind::Key, format!("{answered}; {advice}"))
        }
        Trouble::Policy => {
            (ModelErrorKind::Refused, format!("{answered}; its rules on content do not allow this"))
        }
        Trouble::NotThere => {
            let advice = "check the name of the model and the address of its server";
            (ModelErrorKind::Refused, format!("{answered}; {advice}"))
        }
        Trouble::NoTools => (ModelErrorKind::NoTools, answered),
        Trouble::TooLong => (ModelErrorKind::TooLong, answered),
        Trouble::Busy => (ModelErrorKind::Unavailable, answered),
        Trouble::Refused => (ModelErrorKind::Refused, answered),
        Trouble::Broken => (ModelErrorKind::Broken, answered),
    };
    ModelError::new(kind, message)
}

/// The error object itself, below a list and a key `error`.
fn inner(value: &Value) -> &Value {
    let value = value.get(0).unwrap_or(value);
    value.get("error").filter(|error| !error.is_null()).unwrap_or(value)
}

/// What an error says in words, in the shapes that are about.
fn said(value: &Value) -> Option<String> {
    fn words(value: &Value, depth: u8) -> Option<&str> {
        match value {
            Value::String(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Value::Array(items) if depth > 0 => words(items.first()?, depth - 1),
            Value::Object(_) if depth > 0 => ["error", "message", "detail", "msg", "error_msg"]
                .iter()
                .find_map(|key| words(value.get(*key)?, depth - 1)),
            _ => None,
        }
    }
    words(value, 5).map(str::to_owned)
}

/// The words by which programs are to know an error.
fn codes(value: &Value) -> String {
    let error = inner(value);
    let named = ["code", "type", "status"].iter().filter_map(|key| error.get(*key)?.as_str());
    named.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
