//! A webhook: JSON that is sent to an address of the operator's, with a few tries.

use std::time::Duration;

use helve_egress::header::{CONTENT_TYPE, HeaderValue};
use helve_egress::{Bounds, Credential, Egress, EgressSettings, Method, Outgoing, StatusCode, Url};
use serde::Serialize;

use crate::outlet::outlet;

const TRIES_MAX: u32 = 3;
/// Before the second try; four times as long before the third.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Where something is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    pub webhook: Url,
    /// The name of the secret that is sent as a bearer token.
    pub secret: Option<String>,
}

/// An address that can be told something.
pub struct Webhook {
    egress: Egress,
    settings: WebhookSettings,
    first_pause: Duration,
}

impl Webhook {
    /// It may be reached wherever it is, since the operator named it.
    pub fn new(ways: &EgressSettings, settings: WebhookSettings) -> anyhow::Result<Self> {
        Self::with_pause(ways, settings, FIRST_PAUSE)
    }

    pub(crate) fn with_pause(
        ways: &EgressSettings,
        settings: WebhookSettings,
        first_pause: Duration,
    ) -> anyhow::Result<Self> {
        let egress = outlet(ways, &settings.webhook)?;
        Ok(Self { egress, settings, first_pause })
    }

    /// Sends it until it is taken, or says why it was not.
    pub async fn deliver(&self, message: &impl Serialize) -> Result<(), String> {
        let body = serde_json::to_vec(message).map_err(|error| error.to_string())?;
        let mut pause = self.first_pause;
        let mut tries = 1;
        loop {
            match self.post(body.clone()).await {
                Ok(()) => return Ok(()),
                Err(Setback { because, for_good }) if for_good || tries == TRIES_MAX => return Err(because),
                Err(Setback { because, .. }) => {
                    tracing::warn!(because, tries, "webhook not reached: retrying")
                }
            }
            tokio::time::sleep(pause).await;
            pause *= 4;
            tries += 1;
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), Setback> {
        let mut request = Outgoing::new(Method::POST, self.settings.webhook.clone());
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = Some(body.into());
        request.credential = self.settings.secret.clone().map(|secret| Credential::Bearer { secret });
        request.bounds = Bounds { total: Duration::from_secs(10), ..Bounds::default() };
        let answer = self.egress.send(request).await;
        let status =
            answer.map_err(|error| Setback { because: error.to_string(), for_good: false })?.status();
        if status.is_success() {
            return Ok(());
        }
        let again = status.is_server_error()
            || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
        Err(Setback { because: format!("the webhook answered {status}"), for_good: !again })
    }
}

/// Why a try was in vain.
struct Setback {
    because: String,
    /// Another one would be, too.
    for_good: bool,
}
