//! Speaking to a server as its clients do: the commands for people have no other way to a run.
//!
//! `reach` finds the server or starts one inside this process, `Client` asks it, `follow` reads a run as it happens, and
//! `views` are its answers as far as the commands need them. What is shown of them passes `visible` first.

mod find;
mod follow;
mod reach;
mod running;
mod views;
mod visible;

use std::time::Duration;

use anyhow::Context;
use helve_egress::Url;
use helve_types::Notice;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) use self::find::{all_approvals, approval_of, run_of};
pub(crate) use self::follow::{Following, Seen};
pub(crate) use self::reach::{Reach, Reached};
pub(crate) use self::running::{answering, leave_note};
pub(crate) use self::views::{Approval, ApprovalState, ApproverRole, Run, when};
pub(crate) use self::visible::{in_gutter, line, prose_in_gutter, text};
use crate::i18n::{Language, language, tr, words};

/// How long an answer that is no stream may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a call of a tool or a probe of a model may take, which the server bounds before.
const LONG_PATIENCE: Duration = Duration::from_secs(24 * 3600);
const CONNECT: Duration = Duration::from_secs(5);
/// The server says something every 15 seconds, be it nothing: who is silent for longer is gone.
const SILENCE: Duration = Duration::from_secs(45);
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A server, and the right to ask it.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    /// Waits for an answer that is silent until it is there.
    patient: reqwest::Client,
    base: Url,
    token: Option<SecretString>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The server says no.
    #[error("{}", no(.detail, *.status, .code, .more))]
    Refused { status: u16, code: String, detail: String, more: Value },

    /// It is unknown whether the request was received.
    #[error("{}", tr!("the server at {server} does not answer ({why}); start it with `helve serve`, or name another with --server", server = .server, why = .why))]
    Gone { server: String, why: String },

    #[error("{}", tr!("the answer from {server} is not understood: {why}", server = .server, why = .why))]
    Odd { server: String, why: String },
}

impl ClientError {
    pub(crate) fn is_refused_with(&self, wanted: u16) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == wanted)
    }
}

fn no(detail: &str, status: u16, code: &str, more: &Value) -> String {
    let hint = match code {
        "token_needed" | "wrong_token" => tr!("; put the token into the environment variable HELVE_TOKEN"),
        _ => String::new(),
    };
    if let Some(sentence) = sentence(code, more) {
        return sentence + &hint;
    }
    if detail.is_empty() {
        tr!("the server answers {status}", status = status)
    } else {
        format!("{}{hint}", line(detail))
    }
}

/// The server speaks English; where another language is chosen, its code is what is told.
fn sentence(code: &str, more: &Value) -> Option<String> {
    if language() == Language::English {
        return None;
    }
    sentence_in(helve_types::Language::Chinese, code, more)
}

fn sentence_in(language: helve_types::Language, code: &str, more: &Value) -> Option<String> {
    let mut of_problem = json!({"code": code});
    if let Some(params) = more.get("params") {
        of_problem["params"] = params.clone();
    }
    // What came of a call says more than that it was refused.
    let notice = more.get("notice").cloned().unwrap_or(of_problem);
    let notice: Notice = serde_json::from_value(notice).ok()?;
    // More may follow it in the same line.
    Some(line(notice.sentence(language)?.trim_end_matches(['。', '.'])))
}

impl Client {
    pub(crate) fn new(address: &str, token: Option<SecretString>) -> anyhow::Result<Self> {
        crate::assemble::install_tls();
        let base = Url::parse(address)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .with_context(|| {
                tr!(
                    "`{address}` is no address of a server; use one such as http://127.0.0.1:8890",
                    address = line(address)
                )
            })?;
        // A proxy is for the way out, and this machine is not out.
        let near = matches!(base.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
        let connecting = || {
            #[expect(clippy::disallowed_methods, reason = "the person's own server, where they say it is")]
            let http = reqwest::Client::builder()
                .connect_timeout(CONNECT)
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                .user_agent(concat!("helve/", env!("CARGO_PKG_VERSION")));
            if near { http.no_proxy() } else { http }
        };
        let patient = connecting().build();
        let http = connecting().read_timeout(SILENCE).build();
        let unmade = || tr!("the HTTP client cannot be made");
        Ok(Self { http: http.with_context(unmade)?, patient: patient.with_context(unmade)?, base, token })
    }

    /// The server, as messages name it.
    pub(crate) fn server(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<T, ClientError> {
        let request = self.request(Method::GET, path, query).timeout(PATIENCE);
        let answer = self.json(request).await?;
        serde_json::from_value(answer).map_err(|error| self.odd(&error))
    }

    /// Posts a body, or none. The key makes a request that was heard and not answered safe to repeat.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<Value, ClientError> {
        let mut request = self.request(Method::POST, path, &[]).timeout(PATIENCE);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        self.json(request).await
    }

    /// Posts something that takes as long as it takes: how long is for the server to bound.
    pub(crate) async fn post_and_wait(&self, path: &str, body: Option<&Value>) -> Result<Value, ClientError> {
        let mut request = self.request_by(&self.patient, Method::POST, path, &[]).timeout(LONG_PATIENCE);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        self.json(request).await
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        self.request_by(&self.http, method, path, query)
    }

    fn request_by(
        &self,
        http: &reqwest::Client,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
    ) -> RequestBuilder {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url.set_query(None);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = http.request(method, url).header(ACCEPT, "application/json");
        let Some(token) = &self.token else { return request };
        match HeaderValue::try_from(format!("Bearer {}", token.expose_secret())) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request.header(AUTHORIZATION, value)
            }
            // No token has such characters, so none is shown and the server says that it wants one.
            Err(_) => request,
        }
    }

    async fn json(&self, request: RequestBuilder) -> Result<Value, ClientError> {
        let response = self.send(request).await?;
        let bytes = self.body(response).await?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|error| self.odd(&error))
    }

    /// An answer that is not a no.
    async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|error| self.gone(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let bytes = self.body(response).await.unwrap_or_default();
        let more: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let member = |name: &str| more[name].as_str().unwrap_or_default().to_owned();
        let (code, detail) = (member("code"), member("detail"));
        if code.is_empty() && status == StatusCode::NOT_FOUND {
            return Err(self.odd(&tr!("it does not know this address")));
        }
        Err(ClientError::Refused { status: status.as_u16(), code, detail, more })
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut bytes = vec![];
        while let Some(chunk) = response.chunk().await.map_err(|error| self.gone(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > ANSWER_BYTES_MAX {
                return Err(self.odd(&tr!("its answer is too long")));
            }
        }
        Ok(bytes)
    }

    fn gone(&self, error: &reqwest::Error) -> ClientError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        ClientError::Gone { server: self.server(), why: line(&words(&cause)) }
    }

    fn odd(&self, why: &dyn std::fmt::Display) -> ClientError {
        ClientError::Odd { server: self.server(), why: line(&words(&why)) }
    }
}

/// A name as a part of a path.
pub(crate) fn segment(name: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~:".contains(byte);
    name.bytes()
        .map(|byte| if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use helve_types::Language::{Chinese, English};

    use super::*;

    #[test]
    fn a_refusal_is_told_by_its_code_and_parameters() {
        let more = json!({"detail": "there is no tool `x`", "params": {"tool": "x\u{1b}[2J"}});
        let told = sentence_in(Chinese, "no_such_tool", &more).unwrap();
        assert_eq!(told, "模型调用了“x⟨U+001B⟩[2J”，但没有这个工具");
        assert_eq!(sentence_in(Chinese, "token_needed", &json!({})).unwrap(), "你还没有登录");
        assert_eq!(sentence_in(English, "token_needed", &json!({})).unwrap(), "You are not signed in");
        assert_eq!(sentence_in(Chinese, "no_such_tool", &json!({})), None, "a parameter is missing");
        assert_eq!(sentence_in(Chinese, "of_a_newer_server", &json!({})), None);
    }
}
