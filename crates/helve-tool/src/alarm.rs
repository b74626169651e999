//! Telling somebody that a tool went down or came back.

use std::sync::Arc;

use helve_guard::Change;
use helve_types::{Timestamp, World};
use serde::Serialize;

use crate::permit::millis;

/// A breaker has opened or closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alarm {
    pub tool: String,
    pub kind: AlarmKind,
    /// In our words: what the other side said may be nobody's business.
    pub because: String,
    pub at: Timestamp,
    /// When calls are tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlarmKind {
    /// Calls are held back.
    Opened,
    /// Calls pass again.
    Closed,
}

/// Who is told. Called in the middle of a call, so it must neither wait nor fail.
pub type Alarms = Arc<dyn Fn(Alarm) + Send + Sync>;

/// What a tool rings when its breaker changes.
#[derive(Clone)]
pub(crate) struct Bell {
    pub(crate) world: World,
    pub(crate) alarms: Option<Alarms>,
}

impl Bell {
    /// Logs the change and tells whoever listens.
    pub(crate) fn ring(&self, tool: &str, change: Change, because: &str) {
        let (kind, retry_after) = match change {
            Change::Opened(pause) => {
                tracing::warn!(tool, ?pause, because, "the breaker opened: calls are held back");
                (AlarmKind::Opened, Some(pause))
            }
            Change::Closed => {
                tracing::info!(tool, because, "the breaker closed: calls pass again");
                (AlarmKind::Closed, None)
            }
        };
        let Some(alarms) = &self.alarms else { return };
        alarms(Alarm {
            tool: tool.into(),
            kind,
            because: because.into(),
            at: self.world.now(),
            retry_after_ms: retry_after.map(millis),
        });
    }
}
