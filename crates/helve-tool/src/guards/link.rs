//! The guards that an agent asks for at one of its tools.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use helve_guard::BreakerSettings;
use helve_types::{AgentToolCache, AgentToolConfig, Effect, Notice};

use super::definition::{
    ATTEMPTS_MAX, OUTPUT_BYTES_MAX, OUTPUT_BYTES_MIN, TIMEOUT_MS_MAX, TIMEOUT_MS_MIN, check_range,
    read_breaker, read_cache, read_limits,
};
use super::{CachePolicy, Guards, Limits};
use crate::DefinitionError;

/// What an agent says about the guards of one of its tools; what it does not say is the tool's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkGuards {
    timeout: Option<Duration>,
    attempts: Option<u32>,
    output_bytes_max: Option<usize>,
    /// Besides the tool's own.
    pub(crate) limits: Limits,
    pub(crate) breaker: Option<BreakerSettings>,
    /// None within is no cache.
    #[expect(clippy::option_option, reason = "said to be off, and not said at all, are two things")]
    pub(crate) cache: Option<Option<CachePolicy>>,
}

impl LinkGuards {
    /// `held` are the tool's own guards.
    pub(crate) fn new(
        held: &Guards,
        config: &AgentToolConfig,
        effect: Effect,
    ) -> Result<Self, DefinitionError> {
        let timeout = config.timeout_ms.map(NonZeroU64::get);
        if let Some(timeout) = timeout {
            check_range("timeout_ms", timeout, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX)?;
        }
        let attempts = config.attempts.map(NonZeroU32::get);
        if let Some(attempts) = attempts {
            check_range("attempts", attempts.into(), 1, ATTEMPTS_MAX.into())?;
        }
        let bytes = config.output_bytes_max.map(NonZeroU32::get);
        if let Some(bytes) = bytes {
            check_range("output_bytes_max", bytes.into(), OUTPUT_BYTES_MIN.into(), OUTPUT_BYTES_MAX.into())?;
        }
        let breaker = match &config.breaker {
            Some(asked) if !asked.failure_statuses.is_empty() => {
                return Err(DefinitionError::new(
                    "breaker.failure_statuses",
                    Notice::definition_agent_link_statuses(),
                ));
            }
            Some(asked) => Some(read_breaker(held.breaker.unwrap_or_default(), asked)?),
            None => None,
        };
        let cache = match config.cache {
            None => None,
            Some(AgentToolCache::Off) => Some(None),
            Some(AgentToolCache::On(terms)) => Some(Some(read_cache(terms, effect)?)),
        };
        Ok(Self {
            timeout: timeout.map(Duration::from_millis),
            attempts,
            output_bytes_max: bytes.map(|bytes| bytes as usize),
            limits: config
                .rate_limit
                .map_or_else(|| Ok(Limits::default()), |asked| read_limits(Limits::default(), asked))?,
            breaker,
            cache,
        })
    }

    /// As the guards of a tool that has no others.
    pub(crate) fn as_guards(&self) -> Guards {
        Guards {
            limits: self.limits.clone(),
            breaker: self.breaker,
            cache: self.cache.flatten(),
            ..Guards::default()
        }
    }

    /// The tool's settings as the agent has them.
    pub(crate) fn lay_over(&self, held: &Guards) -> Guards {
        Guards {
            timeout: self.timeout.unwrap_or(held.timeout),
            attempts: self.attempts.unwrap_or(held.attempts),
            output_bytes_max: self.output_bytes_max.unwrap_or(held.output_bytes_max),
            ..held.clone()
        }
    }
}
