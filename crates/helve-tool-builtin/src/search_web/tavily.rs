//! One search over HTTP: what is sent, and what each way of failing means.

use std::time::Duration;

use helve_tool::ToolError;
use helve_types::Timestamp;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Depth;
use crate::Settings;

/// Twenty results have a tenth of this.
const ANSWER_BYTES_MAX: usize = 1 << 20;
const ERROR_CHARS_MAX: usize = 300;
/// Nobody waits longer, whatever the server asks for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

#[derive(Debug, Serialize)]
pub(super) struct Search<'a> {
    pub(super) query: &'a str,
    pub(super) max_results: u8,
    pub(super) search_depth: Depth,
    pub(super) include_answer: bool,
}

/// What was found. Whatever else Tavily tells is left out.
#[derive(Debug, Deserialize)]
pub(super) struct Found {
    #[serde(default)]
    pub(super) answer: Option<String>,
    pub(super) results: Vec<Hit>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hit {
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) score: Option<f64>,
}

pub(super) struct Tavily {
    client: Client,
    url: String,
    key: SecretString,
}

impl Tavily {
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let key = settings.tavily_key.clone().filter(|key| !key.expose_secret().trim().is_empty())?;
        let url = format!("{}/search", settings.tavily_url.trim_end_matches('/'));
        Some(Self { client: settings.http.clone(), url, key })
    }

    pub(super) async fn search(&self, search: &Search<'_>, now: Timestamp) -> Result<Found, ToolError> {
        // Both are the operator's to correct, and nothing is sent before.
        let url = Url::parse(&self.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| {
            declined("the address of the search service is wrong; operator: correct the Tavily base URL")
        })?;
        let request = self.client.post(url).header(AUTHORIZATION, self.bearer()?).json(search);
        let response = request.send().await.map_err(|error| unsent(&error))?;
        let (status, retry_after) = (response.status(), retry_after(response.headers(), now));
        let body = self.body(response).await;
        if status == StatusCode::OK {
            let body = body?;
            return serde_json::from_str(&body)
                .map_err(|_| ToolError::Lost("the search service's answer could not be read".into()));
        }
        Err(refused(status, retry_after, &reason(&body.unwrap_or_default())))
    }

    fn bearer(&self) -> Result<HeaderValue, ToolError> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.key.expose_secret().trim()))
            .map_err(|_| {
                declined("TAVILY_API_KEY has characters that no key can have; operator: correct it")
            })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// The text of the answer, as far as it is not too long; an answer that repeats the key does not do so here.
    async fn body(&self, mut response: Response) -> Result<String, ToolError> {
        let lost = |why: &str| ToolError::Lost(format!("the search service's answer {why}"));
        let too_long = || lost("is larger than 1 MiB and was not read");
        if response.content_length().is_some_and(|bytes| bytes > ANSWER_BYTES_MAX as u64) {
            return Err(too_long());
        }
        let mut body = vec![];
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > ANSWER_BYTES_MAX => return Err(too_long()),
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) if error.is_timeout() => return Err(lost("did not come in time")),
                Err(_) => return Err(lost("broke off")),
            }
        }
        Ok(String::from_utf8_lossy(&body).replace(self.key.expose_secret().trim(), "[key]"))
    }
}

fn declined(message: &str) -> ToolError {
    ToolError::Declined(message.into())
}

/// The error's own text holds the address, which is the operator's business.
fn unsent(error: &reqwest::Error) -> ToolError {
    if error.is_connect() {
        ToolError::NotSent("the search service cannot be reached".into())
    } else if error.is_timeout() {
        ToolError::Lost("the search service did not answer in time".into())
    } else {
        ToolError::Lost("the connection to the search service broke off".into())
    }
}

fn refused(status: StatusCode, retry_after: Option<Duration>, reason: &str) -> ToolError {
    let code = status.as_u16();
    let said = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    match code {
        401 | 403 => ToolError::Declined(format!(
            "the search service does not accept this server's key ({code}){said}; answer from what you know and say \
             that you could not search. Operator: check TAVILY_API_KEY"
        )),
        429 => busy(code, retry_after, &said),
        503 if retry_after.is_some() => busy(code, retry_after, &said),
        300..=399 => ToolError::Declined(format!(
            "the search service has moved ({code}) and is not followed; operator: correct the Tavily base URL"
        )),
        400..=499 => ToolError::Declined(format!("the search service refused the search ({code}){said}")),
        _ => ToolError::Lost(format!("the search service failed ({code}){said}")),
    }
}

fn busy(code: u16, retry_after: Option<Duration>, said: &str) -> ToolError {
    ToolError::Busy { message: format!("the search service is too busy ({code}){said}"), retry_after }
}

/// The pause that the server asks for, in seconds or until a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = jiff::fmt::rfc2822::parse(text).ok()?;
            let until = Timestamp(date.timestamp().as_millisecond());
            Duration::from_millis(until.since_ms(now))
        }
    };
    Some(pause.min(RETRY_AFTER_MAX))
}

/// What an error body says: `{"detail": {"error": "…"}}`, or one of its relatives.
fn reason(body: &str) -> String {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let detail = parsed.get("detail").unwrap_or(&parsed);
    let said = [detail.get("error"), detail.get("message"), Some(detail)];
    let said = said.into_iter().flatten().find_map(Value::as_str).unwrap_or_default();
    let words: Vec<&str> = said.trim_end_matches(['.', ' ']).split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(ERROR_CHARS_MAX).collect()
}
