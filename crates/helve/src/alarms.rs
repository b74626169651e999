//! Alarms over a webhook: a tool's breaker opened or closed.
//!
//! A call that rings the bell puts the alarm in a bounded queue and goes on; one task sends what is in it, with a few
//! tries each. What does not fit or cannot be delivered is counted and logged, never waited for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use helve_tool::{AlertReceiver, BreakerAlert};
use tokio::sync::mpsc;

use crate::webhook::Webhook;

/// More alarms than this do not wait.
const QUEUE_MAX: usize = 64;

/// A webhook that is told of alarms.
pub struct AlarmLine {
    webhook: Arc<Webhook>,
    queue: mpsc::Sender<BreakerAlert>,
    /// Until the first alarm there is no task that sends.
    unsent: Mutex<Option<mpsc::Receiver<BreakerAlert>>>,
    lost: Arc<AtomicU64>,
}

impl AlarmLine {
    pub fn new(webhook: Webhook) -> Arc<Self> {
        let (queue, unsent) = mpsc::channel(QUEUE_MAX);
        let webhook = Arc::new(webhook);
        Arc::new(Self { webhook, queue, unsent: Mutex::new(Some(unsent)), lost: Arc::default() })
    }

    /// What a registry of tools is given.
    pub fn alarms(self: &Arc<Self>) -> AlertReceiver {
        let line = self.clone();
        Arc::new(move |alarm| line.tell(alarm))
    }

    /// How many alarms could not be delivered.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn tell(&self, alarm: BreakerAlert) {
        self.start();
        if let Err(error) = self.queue.try_send(alarm) {
            let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::error!(%error, lost, "alarm dropped: too many wait to be sent");
        }
    }

    fn start(&self) {
        // Alerts are sent in the middle of a call, where there is a runtime.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let unsent = self.unsent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut unsent) = unsent else { return };
        let (webhook, lost) = (self.webhook.clone(), self.lost.clone());
        runtime.spawn(async move {
            while let Some(alarm) = unsent.recv().await {
                if let Err(because) = webhook.deliver(&alarm).await {
                    let lost = lost.fetch_add(1, Ordering::Relaxed) + 1;
                    tracing::error!(tool = alarm.tool, because, lost, "alarm not delivered");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests;
