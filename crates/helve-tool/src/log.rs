//! What the log says of a call: one line when it is over, and on `debug` one for each stage it passed.
//!
//! A reader of the trail, so that no stage logs for itself. Which call, run and request a line belongs to is said by the
//! spans around it. Arguments and messages may be confidential: they are in the record, which has a
//! scope, and in the log only on `debug`.

use std::time::Duration;

use helve_types::{Stage, Trail};
use tracing::{debug, info};

use crate::permit::to_ms;
use crate::{Outcome, Unknown};

pub(crate) fn log_outcome(outcome: &Outcome, trail: &Trail, took: Duration) {
    for stage in &trail.0 {
        log_stage(stage);
    }
    let ms = to_ms(took);
    let from_cache = trail.from_cache();
    match outcome {
        Outcome::Finished(_) => info!(outcome = "finished", ms, from_cache, "the call is over"),
        Outcome::Failed(failure) => {
            info!(outcome = "failed", failure = failure.kind.as_str(), ms, "the call is over");
            debug!(problem = failure.message, "why it failed");
        }
        Outcome::Refused(failure) => {
            info!(outcome = "refused", failure = failure.kind.as_str(), ms, "the call is over");
            debug!(problem = failure.message, "why it was refused");
        }
        Outcome::Unknown(Unknown { because, .. }) => {
            info!(outcome = "unknown", ms, "call outcome unknown");
            debug!(problem = because, "call outcome unknown: details");
        }
        Outcome::Asked(_) => info!(outcome = "asked", "person asked about the call"),
        Outcome::Subagent(started) => info!(subagent = %started.run, "call given to another agent"),
        Outcome::Delegated { .. } => info!(outcome = "delegated", "call given to the client"),
    }
}

fn log_stage(stage: &Stage) {
    match stage {
        Stage::Resolve { repaired_from, .. } => debug!(stage = "resolve", repaired_from, "found the tool"),
        Stage::Check { problem, repairs } => {
            debug!(stage = "check", problem, repairs = repairs.join(", "), "checked the arguments")
        }
        Stage::Judge { verdict, rule } => debug!(stage = "judge", verdict, rule, "judged"),
        Stage::Cache { found } => debug!(stage = "cache", found, "looked into the cache"),
        Stage::Limit { waited_ms, refused } => {
            debug!(stage = "limit", waited_ms, refused, "passed the limit")
        }
        Stage::Breaker { state } => debug!(stage = "breaker", state, "asked the breaker"),
        Stage::Run { attempt, ms } => debug!(stage = "run", attempt, ms, "ran the tool"),
        Stage::Hook { name, did } => debug!(stage = "hook", name, did, "asked a hook"),
        Stage::Fallback { by, because, age_ms, .. } => {
            debug!(stage = "fallback", by, because, age_ms, "something stood in for the tool");
        }
        Stage::Skipped { guard } => debug!(stage = "skipped", guard, "left a guard out"),
        Stage::Client { name, ms, .. } => debug!(stage = "client", client = name, ms, "the client ran it"),
        Stage::Bound { whole_bytes, kept_bytes } => {
            debug!(stage = "bound", whole_bytes, kept_bytes, "cut the output");
        }
    }
}
