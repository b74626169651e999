//! The guards that a definition asks for, within what is sensible, laid over those that a tool comes with.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use helve_guard::{BreakerSettings, LimitSettings};
use helve_types::{BreakerTerms, CacheTerms, Effect, Fallback, Notice, RateLimit, ToolDefinition};

use super::{CachePolicy, Guards, Limits, Rate, RateTerms};
use crate::DefinitionError;

pub(super) const TIMEOUT_MS_MIN: u64 = 100;
pub(super) const TIMEOUT_MS_MAX: u64 = 600_000;
pub(super) const ATTEMPTS_MAX: u32 = 5;
const WAIT_MS: u64 = 5_000;
const WAIT_MS_MAX: u64 = 60_000;
const OPEN_MS_MAX: u64 = 3_600_000;
/// The cache gives nothing again after a day, and keeps nothing beyond a week.
const TTL_MS_MAX: u64 = 24 * 3_600_000;
const LAST_GOOD_MS_MAX: u64 = 7 * TTL_MS_MAX;
pub(super) const OUTPUT_BYTES_MIN: u32 = 256;
pub(super) const OUTPUT_BYTES_MAX: u32 = 1 << 20;

impl Guards {
    /// These guards with what a definition says about them; `effect` is what the tool does, which the definition
    /// may leave to another layer.
    pub fn with_definition(
        self,
        definition: &ToolDefinition,
        effect: Effect,
    ) -> Result<Self, DefinitionError> {
        let mut guards = self;
        if let Some(timeout) = definition.endpoint.timeout_ms.map(NonZeroU64::get) {
            check_range("endpoint.timeout_ms", timeout, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX)?;
            guards.timeout = Duration::from_millis(timeout);
        }
        if let Some(attempts) = definition.attempts.map(NonZeroU32::get) {
            check_range("attempts", attempts.into(), 1, ATTEMPTS_MAX.into())?;
            guards.attempts = attempts;
        }
        if let Some(bytes) = definition.output_bytes_max.map(NonZeroU32::get) {
            check_range("output_bytes_max", bytes.into(), OUTPUT_BYTES_MIN.into(), OUTPUT_BYTES_MAX.into())?;
            guards.output_bytes_max = bytes as usize;
        }
        if let Some(asked) = definition.rate_limit {
            guards.limits = read_limits(guards.limits, asked)?;
        }
        if let Some(asked) = &definition.breaker {
            guards.breaker = Some(read_breaker(guards.breaker.unwrap_or_default(), asked)?);
        }
        if let Some(asked) = definition.cache {
            guards.cache = Some(read_cache(asked, effect)?);
        }
        if let Some(asked) = &definition.fallback {
            check_fallback(asked, &definition.name, effect)?;
            guards.fallback = Some(asked.clone());
        }
        Ok(guards)
    }
}

pub(super) fn check_range(field: &str, value: u64, min: u64, max: u64) -> Result<(), DefinitionError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(DefinitionError::new(field, Notice::definition_out_of_range(value, min, max)))
}

pub(super) fn read_limits(held: Limits, asked: RateLimit) -> Result<Limits, DefinitionError> {
    let RateLimit { concurrent, wait_ms, .. } = asked;
    let terms = RateTerms {
        per_minute: asked.per_minute,
        per_minute_and_user: asked.per_minute_and_user,
        per_window: asked.per_window,
        per_window_and_user: asked.per_window_and_user,
        window_ms: asked.window_ms,
    };
    let wrong = |(field, what)| DefinitionError::new(format!("rate_limit.{field}"), what);
    let [tool, user] = terms.to_rates().map_err(wrong)?;
    if let Some(wait) = wait_ms {
        check_range("rate_limit.wait_ms", wait, 0, WAIT_MS_MAX)?;
    }
    let laid = |held: Option<LimitSettings>, concurrent: Option<NonZeroU32>, rate: Option<Rate>| {
        // How long to wait says nothing where there is nothing to wait for.
        if held.is_none() && concurrent.is_none() && rate.is_none() {
            return None;
        }
        let unheld = LimitSettings { wait: Duration::from_millis(WAIT_MS), ..LimitSettings::default() };
        let held = Rate::apply_to_limit(rate, held.unwrap_or(unheld));
        Some(LimitSettings {
            concurrent: concurrent.map(NonZeroU32::get).or(held.concurrent),
            wait: wait_ms.map_or(held.wait, Duration::from_millis),
            ..held
        })
    };
    Ok(Limits { tool: laid(held.tool, concurrent, tool), user: laid(held.user, None, user) })
}

pub(super) fn read_breaker(
    held: BreakerSettings,
    asked: &BreakerTerms,
) -> Result<BreakerSettings, DefinitionError> {
    let mut breaker = held;
    if let Some(failures) = asked.failures {
        breaker.failures_in_row = failures.get();
    }
    if let Some(open) = asked.open_ms.map(NonZeroU64::get) {
        check_range("breaker.open_ms", open, 1, OPEN_MS_MAX)?;
        breaker.open = Duration::from_millis(open);
        breaker.open_max = breaker.open_max.max(breaker.open);
    }
    for status in &asked.failure_statuses {
        check_range("breaker.failure_statuses", u64::from(*status), 400, 499)?;
    }
    Ok(breaker)
}

pub(super) fn read_cache(asked: CacheTerms, effect: Effect) -> Result<CachePolicy, DefinitionError> {
    if effect != Effect::Read {
        return Err(DefinitionError::new("cache", Notice::definition_cache_needs_read()));
    }
    check_range("cache.ttl_ms", asked.ttl_ms.get(), 1, TTL_MS_MAX)?;
    Ok(CachePolicy { ttl: Duration::from_millis(asked.ttl_ms.get()), scope: asked.scope.into() })
}

fn check_fallback(asked: &Fallback, name: &str, effect: Effect) -> Result<(), DefinitionError> {
    if asked.tool.as_deref() == Some(name) {
        return Err(DefinitionError::new("fallback.tool", Notice::definition_fallback_itself()));
    }
    let Some(age) = asked.last_good_ms else { return Ok(()) };
    check_range("fallback.last_good_ms", age.get(), 1, LAST_GOOD_MS_MAX)?;
    if effect != Effect::Read {
        let problem = Notice::definition_last_good_needs_read();
        return Err(DefinitionError::new("fallback.last_good_ms", problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::CacheScope;

    fn asked(of: Guards, effect: Effect, wishes: Value) -> Result<Guards, DefinitionError> {
        let mut definition = json!({
            "name": "weather", "description": "The weather.", "endpoint": {"url_template": "https://a.example"}
        });
        let wishes = wishes.as_object().unwrap().clone();
        definition.as_object_mut().unwrap().extend(wishes);
        of.with_definition(&serde_json::from_value(definition).unwrap(), effect)
    }

    #[test]
    fn guards_are_what_the_definition_says() {
        let wishes = json!({
            "endpoint": {"url_template": "https://a.example", "timeout_ms": 1500},
            "rate_limit": {"concurrent": 5, "per_minute": 60, "per_minute_and_user": 6, "wait_ms": 0},
            "cache": {"ttl_ms": 60000, "scope": "agent"},
            "breaker": {"failures": 3, "open_ms": 400000, "failure_statuses": [403]},
            "fallback": {"last_good_ms": 1000, "tool": "other"},
            "attempts": 1,
            "output_bytes_max": 1000
        });
        let guards = asked(Guards::default(), Effect::Read, wishes).unwrap();
        assert_eq!((guards.timeout, guards.attempts), (Duration::from_millis(1500), 1));
        let (tool, user) = (guards.limits.tool.unwrap(), guards.limits.user.unwrap());
        assert_eq!((tool.concurrent, tool.per_window, tool.wait), (Some(5), Some(60), Duration::ZERO));
        assert_eq!((user.concurrent, user.per_window), (None, Some(6)));
        let cache = guards.cache.unwrap();
        assert_eq!((cache.ttl, cache.scope), (Duration::from_secs(60), CacheScope::Agent));
        let breaker = guards.breaker.unwrap();
        assert_eq!((breaker.failures_in_row, breaker.open), (3, Duration::from_secs(400)));
        assert!(breaker.open_max >= breaker.open);
        assert_eq!(guards.fallback.unwrap().tool.as_deref(), Some("other"));
        assert_eq!(guards.output_bytes_max, 1000);
    }

    #[test]
    fn a_window_has_the_length_that_is_said() {
        let limits = |wishes: Value| {
            let asked = asked(Guards::default(), Effect::Read, json!({"rate_limit": wishes})).unwrap().limits;
            [asked.tool, asked.user].map(|limit| limit.map(|it| (it.per_window, it.window.as_millis())))
        };
        let hour = json!({"per_window": 50, "window_ms": 3_600_000});
        assert_eq!(limits(hour), [Some((Some(50), 3_600_000)), None]);
        let both = json!({"per_minute": 5, "per_window_and_user": 2, "window_ms": 100});
        assert_eq!(limits(both), [Some((Some(5), 60_000)), Some((Some(2), 100))]);
        let day = json!({"per_window": 1, "per_minute_and_user": 2, "window_ms": 86_400_000});
        assert_eq!(limits(day), [Some((Some(1), 86_400_000)), Some((Some(2), 60_000))]);
    }

    #[test]
    fn what_it_does_not_say_stays_as_the_tool_comes() {
        let five = LimitSettings { concurrent: Some(5), per_window: Some(9), ..LimitSettings::default() };
        let held = Guards {
            timeout: Duration::from_secs(7),
            limits: Limits { tool: Some(five), user: None },
            cache: Some(CachePolicy { ttl: Duration::from_secs(1), scope: CacheScope::User }),
            cache_ignore: vec!["nonce".into()],
            drops: vec!["other".into()],
            ..Guards::default()
        };
        let same = asked(held.clone(), Effect::Read, json!({})).unwrap();
        assert_eq!(format!("{same:?}"), format!("{held:?}"));
        let wishes = json!({"rate_limit": {"per_minute": 60, "wait_ms": 10}});
        let over = asked(held, Effect::Read, wishes).unwrap();
        let limit = over.limits.tool.unwrap();
        let wait = Duration::from_millis(10);
        assert_eq!((limit.concurrent, limit.per_window, limit.wait), (Some(5), Some(60), wait));
        assert!(over.limits.user.is_none() && over.breaker.is_none());
        assert_eq!(over.cache_ignore, ["nonce"]);
        let waits = asked(Guards::default(), Effect::Read, json!({"rate_limit": {"wait_ms": 10}})).unwrap();
        assert!(waits.limits.tool.is_none());
    }

    #[test]
    fn what_is_beyond_reason_is_refused_with_its_field() {
        let url = "https://a.example";
        for (effect, wishes, expected) in [
            (
                Effect::Read,
                json!({"endpoint": {"url_template": url, "timeout_ms": 50}}),
                "`endpoint.timeout_ms`: 50 is not between 100 and 600000",
            ),
            (
                Effect::Read,
                json!({"rate_limit": {"wait_ms": 100000}}),
                "`rate_limit.wait_ms`: 100000 is not between 0 and 60000",
            ),
            (
                Effect::Read,
                json!({"rate_limit": {"per_window": 1, "window_ms": 99}}),
                "`rate_limit.window_ms`: 99 is not between 100 and 86400000",
            ),
            (
                Effect::Read,
                json!({"rate_limit": {"per_window_and_user": 1, "window_ms": 86400001}}),
                "`rate_limit.window_ms`: 86400001 is not between 100 and 86400000",
            ),
            (
                Effect::Read,
                json!({"rate_limit": {"per_window": 1, "per_minute": 1, "window_ms": 1000}}),
                "`rate_limit.per_window`: `per_minute` is said too; leave one of them out",
            ),
            (
                Effect::Read,
                json!({"rate_limit": {"per_window_and_user": 1, "per_minute_and_user": 1, "window_ms": 1000}}),
                "`rate_limit.per_window_and_user`: `per_minute_and_user` is said too; leave one of them out",
            ),
            (
                Effect::Read,
                json!({"rate_limit": {"per_window": 1}}),
                "`rate_limit.per_window`: it needs `window_ms`, the length of the window",
            ),
            (
                Effect::Read,
                json!({"rate_limit": {"per_minute": 1, "window_ms": 1000}}),
                "`rate_limit.window_ms`: it needs `per_window` or `per_window_and_user`, how many calls the window may have",
            ),
            (Effect::Read, json!({"attempts": 9}), "`attempts`: 9 is not between 1 and 5"),
            (
                Effect::Read,
                json!({"output_bytes_max": 9}),
                "`output_bytes_max`: 9 is not between 256 and 1048576",
            ),
            (
                Effect::Read,
                json!({"breaker": {"failure_statuses": [500]}}),
                "`breaker.failure_statuses`: 500 is not between 400 and 499",
            ),
            (
                Effect::Read,
                json!({"breaker": {"open_ms": 3600001}}),
                "`breaker.open_ms`: 3600001 is not between 1 and 3600000",
            ),
            (
                Effect::Read,
                json!({"cache": {"ttl_ms": 86400001}}),
                "`cache.ttl_ms`: 86400001 is not between 1 and 86400000",
            ),
            (
                Effect::Read,
                json!({"fallback": {"last_good_ms": 604800001}}),
                "`fallback.last_good_ms`: 604800001 is not between 1 and 604800000",
            ),
            (
                Effect::Idempotent,
                json!({"cache": {"ttl_ms": 1000}}),
                "`cache`: only a tool that reads can be answered from memory; say `\"effect\": \"read\"` if this one does",
            ),
            (
                Effect::NonIdempotent,
                json!({"fallback": {"last_good_ms": 1000}}),
                "`fallback.last_good_ms`: an old answer of a tool that changes something says nothing; name a `tool` \
                 instead",
            ),
            (
                Effect::Read,
                json!({"fallback": {"tool": "weather"}}),
                "`fallback.tool`: a tool cannot stand in for itself",
            ),
        ] {
            let wrong = asked(Guards::default(), effect, wishes.clone()).unwrap_err();
            assert_eq!(wrong.to_string(), expected, "{wishes}");
        }
    }
}
