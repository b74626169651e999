//! One search over HTTP: what is sent, and what each way of failing means.

use std::time::Duration;

use helve_egress::header::{CONTENT_TYPE, HeaderValue};
use helve_egress::{Bounds, Credential, Egress, EgressError, Method, Outgoing, StatusCode, Url, retry_after};
use helve_tool::ToolError;
use helve_types::{Notice, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SearchDepth;
use crate::Settings;

/// Where searches go unless the operator names another place.
pub const TAVILY_URL: &str = "https://api.tavily.com";
/// The name that the key goes by.
pub const TAVILY_SECRET: &str = "tavily";

const BOUNDS: Bounds = Bounds {
    // Twenty results have a tenth of this.
    bytes_max: 1 << 20,
    silence: Duration::from_secs(15),
    total: Duration::from_secs(60),
};
const ERROR_CHARS_MAX: usize = 300;

#[derive(Debug, Serialize)]
pub(super) struct Search<'a> {
    pub(super) query: &'a str,
    pub(super) max_results: u8,
    pub(super) search_depth: SearchDepth,
    pub(super) include_answer: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) include_raw_content: bool,
}

/// What was found. Whatever else Tavily tells is left out.
#[derive(Debug, Deserialize)]
pub(super) struct TavilyAnswer {
    #[serde(default)]
    pub(super) answer: Option<String>,
    pub(super) results: Vec<TavilyHit>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TavilyHit {
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) raw_content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) score: Option<f64>,
}

pub(super) struct Tavily {
    egress: Egress,
    url: String,
}

impl Tavily {
    /// None without a key.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let egress = settings.search_egress.clone();
        egress.secrets().get(TAVILY_SECRET).filter(|secret| secret.has_value())?;
        let url = format!("{}/search", settings.tavily_url.trim_end_matches('/'));
        Some(Self { egress, url })
    }

    pub(super) async fn search(
        &self,
        search: &Search<'_>,
        now: Timestamp,
    ) -> Result<TavilyAnswer, ToolError> {
        let response = self.egress.send(self.build_request(search)?).await.map_err(transport_error)?;
        let (status, retry_after) = (response.status(), retry_after(response.headers(), now.0));
        let body = response.read_text().await;
        if status == StatusCode::OK {
            return serde_json::from_str(&body.map_err(transport_error)?)
                .map_err(|_| ToolError::Lost("the search service's answer could not be read".into()));
        }
        Err(status_error(status, retry_after, &error_reason(&body.unwrap_or_default())))
    }

    fn build_request(&self, search: &Search<'_>) -> Result<Outgoing, ToolError> {
        // The operator's to correct, and nothing is sent before.
        let url = Url::parse(&self.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| {
            declined_error(
                "the address of the search service is wrong; operator: correct the Tavily base URL",
            )
        })?;
        let body =
            serde_json::to_vec(search).map_err(|_| declined_error("the search cannot be written as JSON"))?;
        let mut request = Outgoing::new(Method::POST, url);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = Some(body.into());
        request.credential = Some(Credential::Bearer { secret: TAVILY_SECRET.into() });
        request.bounds = BOUNDS;
        Ok(request)
    }
}

fn declined_error(message: &str) -> ToolError {
    ToolError::Declined(message.into())
}

/// What is told of the service; where it is, is the operator's business.
fn transport_error(error: EgressError) -> ToolError {
    match error {
        EgressError::Refused(why) => ToolError::Declined(why).with_notice(Notice::egress_refused()),
        EgressError::NotSent(_) => ToolError::NotSent("the search service cannot be reached".into())
            .with_notice(Notice::search_not_reached()),
        EgressError::Lost(why) | EgressError::TooLarge(why) => {
            ToolError::Lost(format!("the search failed: {why}")).with_notice(Notice::search_failed())
        }
    }
}

fn status_error(status: StatusCode, retry_after: Option<Duration>, reason: &str) -> ToolError {
    let code = status.as_u16();
    let said = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let notice = match code {
        401 | 403 => Notice::search_key_refused(code.into()),
        429 => Notice::search_busy(),
        503 if retry_after.is_some() => Notice::search_busy(),
        300..=499 => Notice::search_refused(code.into()),
        _ => Notice::search_failed(),
    };
    let error = match code {
        401 | 403 => ToolError::Declined(format!(
            "the search service does not accept this server's key ({code}){said}; answer from what you know and say \
             that you could not search. Operator: check TAVILY_API_KEY"
        )),
        429 => busy_error(code, retry_after, &said),
        503 if retry_after.is_some() => busy_error(code, retry_after, &said),
        300..=399 => ToolError::Declined(format!(
            "the search service has moved ({code}) and is not followed; operator: correct the Tavily base URL"
        )),
        400..=499 => ToolError::Declined(format!("the search service refused the search ({code}){said}")),
        _ => ToolError::Lost(format!("the search service failed ({code}){said}")),
    };
    error.with_notice(notice)
}

fn busy_error(code: u16, retry_after: Option<Duration>, said: &str) -> ToolError {
    ToolError::Busy { message: format!("the search service is too busy ({code}){said}"), retry_after }
}

/// What an error body says: `{"detail": {"error": "…"}}`, or one of its relatives.
fn error_reason(body: &str) -> String {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let detail = parsed.get("detail").unwrap_or(&parsed);
    let said = [detail.get("error"), detail.get("message"), Some(detail)];
    let said = said.into_iter().flatten().find_map(Value::as_str).unwrap_or_default();
    let words: Vec<&str> = said.trim_end_matches(['.', ' ']).split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(ERROR_CHARS_MAX).collect()
}
