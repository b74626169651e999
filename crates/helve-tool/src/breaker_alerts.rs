//! Reports that a tool went down or came back.

use std::sync::Arc;

use helve_guard::Change;
use helve_types::{Timestamp, World};
use serde::Serialize;

use crate::permit::to_ms;

/// A breaker has opened or closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BreakerAlert {
    pub tool: String,
    pub kind: BreakerAlertKind,
    /// In our words: what the other side said may be private.
    pub because: String,
    pub at: Timestamp,
    /// When calls are tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerAlertKind {
    /// Calls are held back.
    Opened,
    /// Calls pass again.
    Closed,
}

/// Receives the alerts. Called in the middle of a call, so it must neither wait nor fail.
pub type AlertReceiver = Arc<dyn Fn(BreakerAlert) + Send + Sync>;

/// Where a tool reports that its breaker has changed.
#[derive(Clone)]
pub(crate) struct BreakerAlerts {
    pub(crate) world: World,
    pub(crate) receiver: Option<AlertReceiver>,
}

impl BreakerAlerts {
    /// Logs the change and passes it to the receiver, if there is one.
    pub(crate) fn notify(&self, tool: &str, change: Change, because: &str) {
        let (kind, retry_after) = match change {
            Change::Opened(pause) => {
                tracing::warn!(tool, ?pause, because, "breaker opened");
                (BreakerAlertKind::Opened, Some(pause))
            }
            Change::Closed => {
                tracing::info!(tool, because, "breaker closed");
                (BreakerAlertKind::Closed, None)
            }
        };
        let Some(receiver) = &self.receiver else { return };
        receiver(BreakerAlert {
            tool: tool.into(),
            kind,
            because: because.into(),
            at: self.world.now(),
            retry_after_ms: retry_after.map(to_ms),
        });
    }
}
