//! Answers that are given again, shared between equal calls, and kept as the last good ones.
//!
//! What is kept is the tool's own output: neither what a hook made of it nor what stood in for it.

use std::sync::Arc;
use std::time::Duration;

use helve_guard::{Cache, How, KeyParts, LastGood, Ran, Scope};
use helve_types::{FailureKind, Stage, ToolOutput, Trail};

use super::{Permit, cancelled};
use crate::outcome::{Outcome, Stop};
use crate::{CachePolicy, CallContext};

type Kept = Cache<Arc<ToolOutput>, Stop>;

impl Permit {
    pub(super) async fn cached(
        &self,
        policy: CachePolicy,
        cache: &Kept,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<ToolOutput, Stop> {
        if cx.skip.cache {
            trail.push(Stage::Skipped { guard: "cache".into() });
        }
        if cx.skip.cache || policy.ttl.is_zero() {
            return self.beside(policy, cache, cx, trail).await;
        }
        let (whose, version) = (policy.scope.whose(cx), self.tool.version_hash());
        let parts = self.parts(&whose, &version);
        let mut inner = Trail::default();
        let terms = self.tool.guarding.terms(policy);
        let cached = cache.run(&parts, terms, async || match self.guarded(cx, &mut inner).await {
            Ok(output) => Ran::Keep(Arc::new(output)),
            Err(stop) if is_own(&stop) => Ran::Withdrawn(stop),
            Err(stop) => Ran::Failed(stop),
        });
        let found = tokio::select! {
            // Whoever runs the call notices the stop by itself; whoever waits for another run's call does not.
            biased;
            found = cached => found,
            () = cx.cancel.cancelled() => return Err(cancelled().into()),
        };
        let how = found.as_ref().map_or(How::Miss, |found| found.how);
        trail.push(Stage::Cache {
            found: match how {
                How::Hit => "hit",
                How::Miss => "miss",
                How::Shared => "shared",
            }
            .into(),
        });
        trail.0.append(&mut inner.0);
        Ok(Arc::unwrap_or_clone(found?.value))
    }

    /// Runs the call whatever is kept, and keeps what it brings.
    async fn beside(
        &self,
        policy: CachePolicy,
        cache: &Kept,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<ToolOutput, Stop> {
        let (whose, version) = (policy.scope.whose(cx), self.tool.version_hash());
        let note = cache.note(&self.parts(&whose, &version));
        let output = self.guarded(cx, trail).await?;
        note.keep(Arc::new(output.clone()), self.tool.guarding.terms(policy));
        Ok(output)
    }

    /// The last good answer to this call, if it is no older than that.
    pub(crate) fn last_good(&self, age_max: Duration, cx: &CallContext) -> Option<(ToolOutput, Duration)> {
        let (policy, cache) = self.tool.guarding.cache.as_ref()?;
        let (whose, version) = (policy.scope.whose(cx), self.tool.version_hash());
        let LastGood { value, age } = cache.last_good(&self.parts(&whose, &version))?;
        (age <= age_max).then(|| (Arc::unwrap_or_clone(value), age))
    }

    fn parts<'a>(&'a self, whose: &'a str, version: &'a [u8; 32]) -> KeyParts<'a> {
        KeyParts {
            scope: Scope { tenant: "", tool: &self.tool.spec.name, id: whose },
            tool_version: version,
            identity: &[0; 32],
            arguments: &self.arguments.canonical,
        }
    }
}

/// Stops that say nothing about the tool, only about this caller.
fn is_own(stop: &Stop) -> bool {
    match stop {
        Stop::Fault(_) => true,
        Stop::Down { .. } => false,
        Stop::Outcome(outcome) => match &**outcome {
            Outcome::Failed(failure) | Outcome::Refused(failure) => {
                matches!(failure.kind, FailureKind::Cancelled | FailureKind::Limited)
            }
            _ => true,
        },
    }
}
