//! Looking for calls: which ones, from where on, and what is told of each.

use std::fmt;
use std::str::FromStr;

use helve_types::{CallId, CallState, RunId, Timestamp, UserId};

use crate::CallRecord;

/// Which calls are looked for; what is not said does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    pub tool: Option<String>,
    pub user: Option<UserId>,
    /// A call in a state that is not its last belongs to a run that is not over.
    pub state: Option<CallState>,
    /// Requested then or later.
    pub from: Option<Timestamp>,
    /// Requested before then.
    pub to: Option<Timestamp>,
    pub run: Option<RunId>,
}

/// Which part of the list. It grows at its beginning, so pages are marked by what they end with and not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionPage {
    /// Only what comes after this one in the list, which is what is older.
    pub before: Option<Mark>,
    pub limit: usize,
}

/// A place in the list of calls.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    pub requested_at: Timestamp,
    pub call: CallId,
}

/// A call with whose it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    pub record: CallRecord,
    pub user: UserId,
    pub agent: String,
}

impl Execution {
    pub fn to_mark(&self) -> Mark {
        Mark { requested_at: self.record.requested_at, call: self.record.call.id.clone() }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.requested_at.0, self.call)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place in the list of calls")]
pub struct MarkError(String);

impl FromStr for Mark {
    type Err = MarkError;

    fn from_str(text: &str) -> Result<Self, MarkError> {
        let wrong = || MarkError(text.to_owned());
        let (at, call) = text.split_once('.').ok_or_else(wrong)?;
        let requested_at = Timestamp(at.parse().map_err(|_| wrong())?);
        Ok(Self { requested_at, call: call.parse().map_err(|_| wrong())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_from_its_text() {
        let run = helve_types::World::deterministic().run_id();
        let mark = Mark {
            requested_at: Timestamp(1_700_000_000_000),
            call: CallId::new(run, 2, 1).next_repetition(),
        };
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for text in ["", "1", "x.y", "1.2.3", "1.'; DROP TABLE tool_calls"] {
            assert!(text.parse::<Mark>().is_err(), "{text}");
        }
    }
}
