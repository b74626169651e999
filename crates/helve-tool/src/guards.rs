//! What protects a tool from its callers and its callers from it.

mod definition;
mod link;
mod rate;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use helve_guard::{
    Breaker, BreakerSettings, Cache, CacheLifetime, CacheSettings, KeyedLimiter, LimitSettings, Limiter,
};
use helve_types::{CacheSharing, Effect, Fallback, ToolOutput};
use tokio::time::Instant;

pub(crate) use self::link::LinkGuards;
pub use self::rate::{Rate, RateTerms};
use crate::outcome::Stop;
use crate::{CallContext, JsonBounds};

/// How one tool is guarded.
#[derive(Debug, Clone)]
pub struct Guards {
    /// The longest that one attempt may take.
    pub timeout: Duration,
    /// How often a call may be sent, where its effect class allows to send it again.
    pub attempts: u32,
    pub limits: Limits,
    pub breaker: Option<BreakerSettings>,
    /// What the breaker takes for a failure, besides a tool that says that it is not well.
    pub failures: Failures,
    pub cache: Option<CachePolicy>,
    /// Arguments that make no difference to the answer, such as an id that is new in each call.
    pub cache_ignore: Vec<String>,
    /// What stands in for the tool while it is held back or failing.
    pub fallback: Option<Fallback>,
    /// Tools whose stored answers to a user end when this one was sent for that user: what they read, this one writes.
    pub drops: Vec<String>,
    /// How much of an output the model gets.
    pub output_bytes_max: usize,
    /// How deep and wide arguments may be.
    pub json: JsonBounds,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// For all users together.
    pub tool: Option<LimitSettings>,
    /// For each user.
    pub user: Option<LimitSettings>,
}

/// Which ends of an attempt count against the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// It did not answer in time.
    pub timeout: bool,
    /// It was sent, and the connection or the tool broke off.
    pub lost: bool,
    /// It could not be reached.
    pub not_sent: bool,
}

impl Default for Failures {
    fn default() -> Self {
        Self { timeout: true, lost: true, not_sent: true }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    /// Zero gives no answer again, and only keeps it for a fallback that wants the last good one.
    pub ttl: Duration,
    pub scope: CacheScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// Equal arguments give equal answers to everybody.
    Everyone,
    User,
    /// Everybody who asks for the same agent.
    Agent,
    /// One conversation; without one, one run.
    Conversation,
}

impl Default for Guards {
    /// For a tool that works inside this process: nothing to protect but time and space.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            attempts: 2,
            limits: Limits::default(),
            breaker: None,
            failures: Failures::default(),
            cache: None,
            cache_ignore: vec![],
            fallback: None,
            drops: vec![],
            output_bytes_max: 48 << 10,
            json: JsonBounds::default(),
        }
    }
}

/// The guards of one registered tool, at work; clones share what they have seen.
#[derive(Clone)]
pub(crate) struct ActiveGuards {
    pub(crate) settings: Guards,
    pub(crate) limiter: Option<Limiter>,
    pub(crate) user_limiter: Option<Arc<KeyedLimiter>>,
    pub(crate) breaker: Option<Breaker>,
    pub(crate) cache: Option<(CachePolicy, Cache<Arc<ToolOutput>, Stop>)>,
    /// When the first version of the tool was made here: what was sent before was sent by another process.
    pub(crate) since: Instant,
}

/// Each tool has a cache of its own, so that unrelated tools share neither a lock nor a bound.
const CACHE: CacheSettings =
    CacheSettings { bytes_max: 16 << 20, entry_bytes_max: 256 << 10, tenant_bytes_max: 16 << 20 };

/// More users than this at a time share the last limiter's refusal.
const LIMITED_USERS_MAX: usize = 10_000;

impl ActiveGuards {
    /// `chance` seeds the jitter of the breaker.
    pub(crate) fn new(settings: Guards, effect: Effect, chance: u64) -> Self {
        // Only what changes nothing can be answered from memory.
        let kept = settings
            .last_good_age_max()
            .map(|_| CachePolicy { ttl: Duration::ZERO, scope: CacheScope::User });
        let cache = settings.cache.or(kept).filter(|_| effect == Effect::Read);
        Self {
            limiter: settings.limits.tool.map(Limiter::new),
            user_limiter: settings
                .limits
                .user
                .map(|limit| Arc::new(KeyedLimiter::new(limit, LIMITED_USERS_MAX))),
            breaker: settings.breaker.map(|settings| Breaker::new(settings, chance)),
            cache: cache.map(|policy| (policy, Cache::new(CACHE, output_bytes))),
            since: Instant::now(),
            settings,
        }
    }

    /// The guards with all that those of another version have seen: who calls, who was let in, what failed. Only where
    /// a guard has come to mean something else does it begin anew. Limits hold as they were until `set_limits`.
    pub(crate) fn with_history_of(mut self, before: &Self) -> Self {
        self.since = before.since;
        if let (Some(limiter), Some(held)) = (&mut self.limiter, &before.limiter) {
            *limiter = held.clone();
        }
        if let (Some(limiter), Some(held)) = (&mut self.user_limiter, &before.user_limiter) {
            *limiter = held.clone();
        }
        if self.settings.breaker == before.settings.breaker {
            self.breaker = before.breaker.clone();
        }
        // The version is part of every key, so no answer crosses; but whose an answer is, is said in terms of the scope.
        if let (Some((policy, cache)), Some((held_policy, held))) = (&mut self.cache, &before.cache)
            && policy.scope == held_policy.scope
        {
            *cache = held.clone();
        }
        self
    }

    /// Lets this version's limits hold for all that share its limiters.
    pub(crate) fn set_limits(&self) {
        let Limits { tool, user } = &self.settings.limits;
        if let (Some(limiter), Some(settings)) = (&self.limiter, tool) {
            limiter.reconfigure(*settings);
        }
        if let (Some(limiter), Some(settings)) = (&self.user_limiter, user) {
            limiter.reconfigure(*settings);
        }
    }

    /// The cache where it only keeps the last good answers, if the tool wants those.
    pub(crate) fn last_good_cache(&self) -> Option<(CachePolicy, Cache<Arc<ToolOutput>, Stop>)> {
        self.settings.last_good_age_max()?;
        let (policy, cache) = self.cache.clone()?;
        Some((CachePolicy { ttl: Duration::ZERO, ..policy }, cache))
    }

    /// How long an answer serves, as it is and as the last good one.
    pub(crate) fn cache_lifetime(&self, policy: CachePolicy) -> CacheLifetime {
        let keep = self.settings.last_good_age_max().unwrap_or_default().saturating_sub(policy.ttl);
        CacheLifetime { ttl: policy.ttl, keep }
    }
}

impl From<CacheSharing> for CacheScope {
    fn from(sharing: CacheSharing) -> Self {
        match sharing {
            CacheSharing::Params => Self::Everyone,
            CacheSharing::User => Self::User,
            CacheSharing::Agent => Self::Agent,
            CacheSharing::Conversation => Self::Conversation,
        }
    }
}

impl CacheScope {
    /// Who shares the answer. A tool's cache has one scope, so a user and an agent of one name cannot meet in it.
    pub(crate) fn owner_in_context(self, cx: &CallContext) -> Cow<'_, str> {
        match self {
            Self::Everyone => Cow::Borrowed(""),
            Self::User => Cow::Borrowed(&cx.user.0),
            Self::Agent => Cow::Borrowed(&cx.agent),
            Self::Conversation => {
                Cow::Owned(cx.conversation.map_or_else(|| cx.run.to_string(), |id| id.to_string()))
            }
        }
    }
}

impl Guards {
    /// How old an answer may be that stands in for a new one.
    pub(crate) fn last_good_age_max(&self) -> Option<Duration> {
        let age = self.fallback.as_ref()?.last_good_ms?;
        Some(Duration::from_millis(age.get()))
    }
}

fn output_bytes(output: &Arc<ToolOutput>) -> usize {
    let extras = output.data.as_ref().map_or(0, |data| data.to_string().len());
    let files: usize = output.files.iter().map(|file| file.bytes.len()).sum();
    let attachments: usize = output.attachments.iter().map(|file| file.url.len()).sum();
    output.text.len() + extras + attachments + files
}
