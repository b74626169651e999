//! What a status other than success means.

use std::time::Duration;

use helve_model::{ModelError, ModelErrorKind};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// Nobody waits longer, whatever the server asks for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// The pause that a server asks for, in seconds; dates are rare and not worth a clock here.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

/// How vendors say that a conversation is too long.
const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "too many tokens",
    "prompt is too long",
    "exceeds the maximum number of tokens",
];

pub(super) fn refusal(status: u16, retry_after: Option<Duration>, body: &str) -> ModelError {
    let said = message(body);
    let lower = said.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let kind = match status {
        401 | 403 => ModelErrorKind::Key,
        // Gemini's way.
        400 if says(&["api key not valid", "api key expired"]) => ModelErrorKind::Key,
        408 | 425 | 429 | 500..=599 => ModelErrorKind::Unavailable,
        _ if says(&["does not support tools", "tool use is not supported", "tools are not supported"]) => {
            ModelErrorKind::NoTools
        }
        413 => ModelErrorKind::TooLong,
        _ if says(TOO_LONG) => ModelErrorKind::TooLong,
        _ => ModelErrorKind::Refused,
    };
    let message = match kind {
        ModelErrorKind::Key => {
            // What a server says about a key is for the operator alone.
            tracing::debug!(status, said, "the model server refuses the key");
            format!("the model server refuses the key ({status}); check it, and that it may use this model")
        }
        _ => format!("the model server answered {status}: {said}"),
    };
    ModelError { kind, message, retry_after }
}

/// What an error body says, in the shapes that are about.
fn message(body: &str) -> String {
    const SHOWN_MAX: usize = 500;
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let said = parsed.as_ref().and_then(|value| {
        let error = value.get("error").unwrap_or(value);
        error.get("message").or_else(|| error.get("detail")).unwrap_or(error).as_str()
    });
    let said = said.unwrap_or(body).trim();
    if said.is_empty() { "no reason given".into() } else { said.chars().take(SHOWN_MAX).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_by_what_can_be_done_about_it() {
        let openai = |text: &str| format!(r#"{{"error": {{"message": "{text}", "type": "x"}}}}"#);
        let cases = [
            (401, openai("Incorrect API key provided"), ModelErrorKind::Key),
            (429, openai("Rate limit reached"), ModelErrorKind::Unavailable),
            (503, "<html>busy</html>".into(), ModelErrorKind::Unavailable),
            (529, String::new(), ModelErrorKind::Unavailable),
            (400, openai("gemma:2b does not support tools"), ModelErrorKind::NoTools),
            (400, r#"{"error": "gemma:2b does not support tools"}"#.into(), ModelErrorKind::NoTools),
            (400, openai("maximum context length is 8192 tokens"), ModelErrorKind::TooLong),
            (404, openai("The model `x` does not exist"), ModelErrorKind::Refused),
            (400, openai("prompt is too long: 210000 tokens > 200000 maximum"), ModelErrorKind::TooLong),
            (
                400,
                openai(
                    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                ),
                ModelErrorKind::TooLong,
            ),
            (400, openai("API key not valid. Please pass a valid API key."), ModelErrorKind::Key),
        ];
        for (status, body, kind) in cases {
            assert_eq!(refusal(status, None, &body).kind, kind, "{status} {body}");
        }
        let told = refusal(404, None, &openai("no such model")).message;
        assert_eq!(told, "the model server answered 404: no such model");
    }

    #[test]
    fn a_pause_of_years_is_not_believed() {
        let asked = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(asked("2"), Some(Duration::from_secs(2)));
        assert_eq!(asked("1000000000"), Some(RETRY_AFTER_MAX));
        assert_eq!(asked("-1"), None);
        assert_eq!(asked("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }
}
