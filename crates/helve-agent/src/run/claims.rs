//! Which client has which call, and what came of it: whose result counts, and which is the same again.
//!
//! A claim outlives its call in the machine: a client whose reply was lost may bring its result once more when the run
//! has long gone on.

use std::collections::BTreeMap;

use helve_types::{CallId, Fact, Stage, Trail};
use serde::{Deserialize, Serialize};

use crate::command::CommandError;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Claims(BTreeMap<CallId, Claim>);

/// A call that a client has claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// As it calls itself.
    pub(crate) client: String,
    /// Whose client it is.
    pub(crate) by: String,
    /// What it was given.
    pub(crate) arguments: String,
    end: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum End {
    /// Its result counts, and this is the mark on it.
    Delivered(String),
    /// It was silent too long, or the run was stopped.
    Lost,
    /// The same, and a result that came afterwards is kept.
    Late,
}

/// What becomes of a result that a client brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Delivery {
    Counts,
    /// It is here already.
    Same,
    /// It comes too late to count, and is kept.
    Late,
    Refused(CommandError),
}

impl Claims {
    pub(super) fn record_claim(&mut self, call: &CallId, client: &str, by: &str, arguments: &str) {
        let claim = Claim { client: client.into(), by: by.into(), arguments: arguments.into(), end: None };
        self.0.insert(call.clone(), claim);
    }

    /// Takes in what became of a call, if a client had it.
    pub(super) fn apply(&mut self, fact: &Fact) {
        let Some(claim) = fact.call().and_then(|call| self.0.get_mut(call)) else { return };
        match fact {
            Fact::ToolFinished { trail, .. } | Fact::ToolFailed { trail, .. } => {
                claim.end = Some(recorded_result_hash(trail).map_or(End::Lost, End::Delivered));
            }
            Fact::ToolUnknown { .. } => claim.end = Some(End::Lost),
            Fact::ToolLate { .. } => claim.end = Some(End::Late),
            _ => {}
        }
    }

    pub(crate) fn find_claim(&self, call: &CallId) -> Option<&Claim> {
        self.0.get(call)
    }
}

fn recorded_result_hash(trail: &Trail) -> Option<String> {
    trail.0.iter().find_map(|stage| match stage {
        Stage::Client { brought, .. } => Some(brought.clone()),
        _ => None,
    })
}

impl Claim {
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.end, Some(End::Lost | End::Late))
    }

    /// What becomes of a result with this mark.
    pub(crate) fn judge_delivery(&self, mark: &str) -> Delivery {
        match &self.end {
            None => Delivery::Counts,
            Some(End::Delivered(first)) if first == mark => Delivery::Same,
            Some(End::Delivered(_)) => Delivery::Refused(CommandError::AlreadyBrought),
            Some(End::Lost) => Delivery::Late,
            Some(End::Late) => Delivery::Refused(CommandError::ClaimLost),
        }
    }
}

#[cfg(test)]
mod tests {
    use helve_types::{OnUnknown, RunId, Timestamp, ToolOutput};
    use uuid::Uuid;

    use super::*;

    fn call() -> CallId {
        CallId::new(RunId(Uuid::from_u128(1)), 1, 0)
    }

    fn after(facts: impl IntoIterator<Item = Fact>) -> Delivery {
        let mut claims = Claims::default();
        claims.record_claim(&call(), "tab", "mei", "{}");
        facts.into_iter().for_each(|fact| claims.apply(&fact));
        claims.find_claim(&call()).unwrap().judge_delivery("this")
    }

    fn finished(mark: &str) -> Fact {
        let brought = mark.to_owned();
        let trail = Trail(vec![Stage::Client { name: "tab".into(), ms: 1, brought }]);
        Fact::ToolFinished { call: call(), output: ToolOutput::text("42"), trail }
    }

    fn lost() -> Fact {
        let (because, then) = ("silence".into(), OnUnknown::AskUser);
        let trail = Trail::default();
        Fact::ToolUnknown {
            call: call(),
            sent_at: Timestamp(1),
            because,
            request: None,
            checked: None,
            then,
            trail,
            labels: None,
        }
    }

    fn late() -> Fact {
        Fact::ToolLate { call: call(), output: ToolOutput::text("42") }
    }

    #[test]
    fn the_first_result_counts_and_the_same_again_is_no_second_one() {
        assert_eq!(after([]), Delivery::Counts);
        assert_eq!(after([finished("this")]), Delivery::Same);
        assert_eq!(after([finished("that")]), Delivery::Refused(CommandError::AlreadyBrought));
    }

    #[test]
    fn a_result_after_the_claim_was_lost_is_kept_once() {
        assert_eq!(after([lost()]), Delivery::Late);
        assert_eq!(after([lost(), late()]), Delivery::Refused(CommandError::ClaimLost));
    }
}
