//! Alarms over a webhook: a tool's breaker opened or closed, and somebody outside is told.
//!
//! A call that rings the bell puts the alarm in a bounded queue and goes on; one task sends what is in it, with a few
//! tries each. What does not fit or cannot be delivered is counted and logged, never waited for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_egress::header::{CONTENT_TYPE, HeaderValue};
use helve_egress::{Bounds, Credential, Egress, Method, Outgoing, StatusCode, Url};
use helve_tool::{Alarm, Alarms};
use tokio::sync::mpsc;

/// More alarms than this do not wait.
const QUEUE_MAX: usize = 64;
const TRIES_MAX: u32 = 3;
/// Before the second try; four times as long before the third.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Where alarms go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmSettings {
    pub webhook: Url,
    /// The name of the secret that is sent as a bearer token.
    pub secret: Option<String>,
}

/// A webhook that can be told.
pub struct Webhook {
    target: Arc<Target>,
    queue: mpsc::Sender<Alarm>,
    /// Until the first alarm there is no task that sends.
    unsent: Mutex<Option<mpsc::Receiver<Alarm>>>,
    lost: Arc<AtomicU64>,
}

struct Target {
    egress: Egress,
    settings: AlarmSettings,
    first_pause: Duration,
}

impl Webhook {
    pub fn new(egress: Egress, settings: AlarmSettings) -> Arc<Self> {
        Self::with_pause(egress, settings, FIRST_PAUSE)
    }

    fn with_pause(egress: Egress, settings: AlarmSettings, first_pause: Duration) -> Arc<Self> {
        let (queue, unsent) = mpsc::channel(QUEUE_MAX);
        let target = Arc::new(Target { egress, settings, first_pause });
        Arc::new(Self { target, queue, unsent: Mutex::new(Some(unsent)), lost: Arc::default() })
    }

    /// What a registry of tools is given.
    pub fn alarms(self: &Arc<Self>) -> Alarms {
        let webhook = self.clone();
        Arc::new(move |alarm| webhook.tell(alarm))
    }

    /// How many alarms could not be delivered.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn tell(&self, alarm: Alarm) {
        self.start();
        if let Err(error) = self.queue.try_send(alarm) {
            let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::error!(%error, lost, "an alarm is dropped: too many wait to be sent");
        }
    }

    fn start(&self) {
        // Whoever rings does so in the middle of a call, where there is a runtime.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let unsent = self.unsent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut unsent) = unsent else { return };
        let (target, lost) = (self.target.clone(), self.lost.clone());
        runtime.spawn(async move {
            while let Some(alarm) = unsent.recv().await {
                if let Err(because) = target.deliver(&alarm).await {
                    let lost = lost.fetch_add(1, Ordering::Relaxed) + 1;
                    tracing::error!(tool = alarm.tool, because, lost, "an alarm could not be delivered");
                }
            }
        });
    }
}

impl Target {
    async fn deliver(&self, alarm: &Alarm) -> Result<(), String> {
        let body = serde_json::to_vec(alarm).map_err(|error| error.to_string())?;
        let mut pause = self.first_pause;
        let mut tries = 1;
        loop {
            match self.post(body.clone()).await {
                Ok(()) => return Ok(()),
                Err(Setback { because, for_good }) if for_good || tries == TRIES_MAX => return Err(because),
                Err(Setback { because, .. }) => tracing::warn!(because, tries, "an alarm is sent again"),
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

#[cfg(test)]
mod tests;
