//! Answers that are given again, shared between equal calls, and kept as the last good ones.
//!
//! What is kept is the tool's own output: neither what a hook made of it nor what stood in for it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use helve_guard::{Cache, CacheOutcome, KeyParts, LastGood, Scope, WorkResult};
use helve_types::{FailureKind, Stage, ToolOutput, Trail, canonical_json};
use serde_json::Value;

use super::Permit;
use crate::outcome::{Outcome, Stop};
use crate::{CachePolicy, CacheScope, CallContext};

type OutputCache = Cache<Arc<ToolOutput>, Stop>;

impl Permit {
    pub(super) async fn run_cached(
        &self,
        policy: CachePolicy,
        cache: &OutputCache,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<ToolOutput, Stop> {
        if cx.skip.cache {
            trail.push(Stage::Skipped { guard: "cache".into() });
        }
        if cx.skip.cache || policy.ttl.is_zero() {
            return self.run_and_store(policy, cache, cx, trail).await;
        }
        let key = self.cache_key(policy.scope, cx);
        let parts = key.to_parts(self);
        let mut inner = Trail::default();
        let terms = self.tool.guarding.cache_lifetime(policy);
        let cached = cache.run(&parts, terms, async || match self.run_with_retries(cx, &mut inner).await {
            Ok(output) => WorkResult::Store(Arc::new(output)),
            Err(stop) if concerns_caller_only(&stop) => WorkResult::FailedAlone(stop),
            Err(stop) => WorkResult::Failed(stop),
        });
        let found = tokio::select! {
            // The run that makes the call notices the stop by itself; a run that waits for another's call does not.
            biased;
            found = cached => found,
            () = cx.cancel.cancelled() => return Err(Stop::cancelled()),
        };
        let outcome = found.as_ref().map_or(CacheOutcome::Miss, |found| found.outcome);
        trail.push(Stage::Cache {
            found: match outcome {
                CacheOutcome::Hit => "hit",
                CacheOutcome::Miss => "miss",
                CacheOutcome::Shared => "shared",
            }
            .into(),
        });
        trail.0.append(&mut inner.0);
        Ok(Arc::unwrap_or_clone(found?.value))
    }

    /// Runs the call whatever is kept, and keeps what it brings.
    async fn run_and_store(
        &self,
        policy: CachePolicy,
        cache: &OutputCache,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<ToolOutput, Stop> {
        let pending = cache.reserve(&self.cache_key(policy.scope, cx).to_parts(self));
        let output = self.run_with_retries(cx, trail).await?;
        pending.keep(Arc::new(output.clone()), self.tool.guarding.cache_lifetime(policy));
        Ok(output)
    }

    /// The last good answer to this call, if it is no older than that.
    pub(crate) fn find_last_good(
        &self,
        age_max: Duration,
        cx: &CallContext,
    ) -> Option<(ToolOutput, Duration)> {
        let (policy, cache) = self.tool.guarding.cache.as_ref()?;
        let LastGood { value, age } = cache.last_good(&self.cache_key(policy.scope, cx).to_parts(self))?;
        (age <= age_max).then(|| (Arc::unwrap_or_clone(value), age))
    }

    fn cache_key<'a>(&'a self, scope: CacheScope, cx: &'a CallContext) -> Key<'a> {
        Key {
            whose: scope.owner_in_context(cx),
            version: self.tool.version_hash(),
            identity: self.identity(cx),
            arguments: self.cache_arguments(),
        }
    }

    /// A hash of the ids that the tool is told: what it answers may be about them.
    fn identity(&self, cx: &CallContext) -> [u8; 32] {
        let told = self.tool.tool.as_ref().map(|tool| tool.told_ids(cx)).unwrap_or_default();
        if told.is_empty() {
            return [0; 32];
        }
        let mut hash = blake3::Hasher::new();
        for id in told {
            hash.update(&(id.len() as u64).to_le_bytes()).update(id.as_bytes());
        }
        hash.finalize().into()
    }

    /// The arguments, without those that make no difference.
    fn cache_arguments(&self) -> Cow<'_, str> {
        let ignored = &self.tool.guarding.settings.cache_ignore;
        match &self.arguments.value {
            Value::Object(members) if members.keys().any(|name| ignored.contains(name)) => {
                let mut members = members.clone();
                members.retain(|name, _| !ignored.contains(name));
                Cow::Owned(canonical_json(&Value::Object(members)))
            }
            _ => Cow::Borrowed(&self.arguments.canonical),
        }
    }
}

/// What makes two calls of a tool the same.
struct Key<'a> {
    whose: Cow<'a, str>,
    version: [u8; 32],
    identity: [u8; 32],
    arguments: Cow<'a, str>,
}

impl Key<'_> {
    fn to_parts<'a>(&'a self, permit: &'a Permit) -> KeyParts<'a> {
        KeyParts {
            scope: Scope { tenant: "", tool: &permit.tool.spec.name, id: &self.whose },
            tool_version: &self.version,
            identity: &self.identity,
            arguments: &self.arguments,
        }
    }
}

/// Stops that say nothing about the tool, only about this caller.
fn concerns_caller_only(stop: &Stop) -> bool {
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
