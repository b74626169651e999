//! A hook behind HTTP: the question is posted, the answer is the body.

use std::time::Duration;

use helve_egress::header::{CONTENT_TYPE, HeaderValue};
use helve_egress::{Bounds, Credential, Egress, EgressSettings, Method, Outgoing, Url};
use helve_tool::HookError;

use super::ANSWER_BYTES_MAX;
use crate::outlet::outlet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpHook {
    pub url: Url,
    /// The name of the secret that is sent as a bearer token.
    pub secret: Option<String>,
}

impl HttpHook {
    pub(super) fn ready(&self, egress: &EgressSettings, time: Duration) -> anyhow::Result<Ready> {
        Ok(Ready { hook: self.clone(), egress: outlet(egress, &self.url)?, time })
    }
}

/// The hook and the way to it.
pub(super) struct Ready {
    hook: HttpHook,
    egress: Egress,
    time: Duration,
}

impl Ready {
    pub(super) async fn exchange(&self, question: Vec<u8>) -> Result<Vec<u8>, HookError> {
        let mut request = Outgoing::new(Method::POST, self.hook.url.clone());
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = Some(question.into());
        request.credential = self.hook.secret.clone().map(|secret| Credential::Bearer { secret });
        request.bounds = Bounds { bytes_max: ANSWER_BYTES_MAX, silence: self.time, total: self.time };
        let failed = |error: helve_egress::EgressError| HookError(error.to_string());
        let answer = self.egress.send(request).await.map_err(failed)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(HookError(format!("it answered {status}")));
        }
        answer.read_bytes().await.map_err(failed)
    }
}
