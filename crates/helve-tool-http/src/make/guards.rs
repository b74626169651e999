//! The guards that a definition asks for, within what is sensible.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use helve_tool::{BreakerSettings, CachePolicy, CacheScope, DefinitionError, Guards, LimitSettings, Limits};
use helve_types::{BreakerTerms, CacheSharing, CacheTerms, Effect, RateLimit, ToolDefinition};

const TIMEOUT_MS: u64 = 30_000;
const TIMEOUT_MS_MIN: u64 = 100;
const TIMEOUT_MS_MAX: u64 = 600_000;
const ATTEMPTS: u32 = 2;
const ATTEMPTS_MAX: u32 = 5;
const WAIT_MS: u64 = 5_000;
const WAIT_MS_MAX: u64 = 60_000;
const OPEN_MS_MAX: u64 = 3_600_000;
const TTL_MS_MAX: u64 = 7 * 24 * 3_600_000;
const OUTPUT_BYTES_MAX: u32 = 1 << 20;

pub(super) fn guards(definition: &ToolDefinition, effect: Effect) -> Result<Guards, DefinitionError> {
    let attempts = definition.attempts.map_or(ATTEMPTS, NonZeroU32::get);
    within("attempts", attempts.into(), 1, ATTEMPTS_MAX.into())?;
    let output = definition.output_bytes_max.map(NonZeroU32::get);
    if let Some(output) = output {
        within("output_bytes_max", output.into(), 256, OUTPUT_BYTES_MAX.into())?;
    }
    let mut guards = Guards {
        timeout: Duration::from_millis(timeout(definition)?),
        attempts,
        limits: limits(definition.rate_limit.unwrap_or_default())?,
        breaker: Some(breaker(definition.breaker.as_ref())?),
        cache: definition.cache.map(|terms| cache(terms, effect)).transpose()?,
        fallback: fallback(definition, effect)?,
        ..Guards::default()
    };
    if let Some(output) = output {
        guards.output_bytes_max = output as usize;
    }
    Ok(guards)
}

/// In milliseconds.
pub(super) fn timeout(definition: &ToolDefinition) -> Result<u64, DefinitionError> {
    let timeout = definition.endpoint.timeout_ms.map_or(TIMEOUT_MS, NonZeroU64::get);
    within("endpoint.timeout_ms", timeout, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX)?;
    Ok(timeout)
}

fn within(field: &str, value: u64, min: u64, max: u64) -> Result<(), DefinitionError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(DefinitionError::new(field, format!("{value} is not between {min} and {max}")))
}

fn limits(written: RateLimit) -> Result<Limits, DefinitionError> {
    let wait = written.wait_ms.unwrap_or(WAIT_MS);
    within("rate_limit.wait_ms", wait, 0, WAIT_MS_MAX)?;
    let limit = |concurrent: Option<NonZeroU32>, per_minute: Option<NonZeroU32>| {
        (concurrent.is_some() || per_minute.is_some()).then(|| LimitSettings {
            concurrent: concurrent.map(NonZeroU32::get),
            per_window: per_minute.map(NonZeroU32::get),
            window: Duration::from_secs(60),
            wait: Duration::from_millis(wait),
            ..LimitSettings::default()
        })
    };
    Ok(Limits {
        tool: limit(written.concurrent, written.per_minute),
        user: limit(None, written.per_minute_and_user),
    })
}

fn breaker(written: Option<&BreakerTerms>) -> Result<BreakerSettings, DefinitionError> {
    let mut settings = BreakerSettings::default();
    let Some(written) = written else { return Ok(settings) };
    if let Some(failures) = written.failures {
        settings.failures_in_row = failures.get();
    }
    if let Some(open) = written.open_ms {
        within("breaker.open_ms", open.get(), 1, OPEN_MS_MAX)?;
        settings.open = Duration::from_millis(open.get());
        settings.open_max = settings.open_max.max(settings.open);
    }
    for status in &written.failure_statuses {
        within("breaker.failure_statuses", u64::from(*status), 400, 499)?;
    }
    Ok(settings)
}

fn cache(terms: CacheTerms, effect: Effect) -> Result<CachePolicy, DefinitionError> {
    if effect != Effect::Read {
        return Err(DefinitionError::new(
            "cache",
            "only a tool that reads can be answered from memory; say `\"effect\": \"read\"` if this one does",
        ));
    }
    within("cache.ttl_ms", terms.ttl_ms.get(), 1, TTL_MS_MAX)?;
    let scope = match terms.scope {
        CacheSharing::Params => CacheScope::Everyone,
        CacheSharing::User => CacheScope::User,
    };
    Ok(CachePolicy { ttl: Duration::from_millis(terms.ttl_ms.get()), scope })
}

fn fallback(
    definition: &ToolDefinition,
    effect: Effect,
) -> Result<Option<helve_types::Fallback>, DefinitionError> {
    let Some(fallback) = &definition.fallback else { return Ok(None) };
    if fallback.tool.as_ref() == Some(&definition.name) {
        return Err(DefinitionError::new("fallback.tool", "a tool cannot stand in for itself"));
    }
    if let Some(last_good) = fallback.last_good_ms {
        within("fallback.last_good_ms", last_good.get(), 1, TTL_MS_MAX)?;
        if effect != Effect::Read {
            return Err(DefinitionError::new(
                "fallback.last_good_ms",
                "an old answer of a tool that changes something says nothing; name a `tool` instead",
            ));
        }
    }
    Ok(Some(fallback.clone()))
}
