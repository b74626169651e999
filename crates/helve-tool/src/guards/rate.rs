//! What is said about a rate: so many in any minute, or in any window of another length.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use helve_guard::LimitSettings;
use helve_types::Notice;

const MINUTE: Duration = Duration::from_secs(60);
const WINDOW_MS_MIN: u64 = 100;
const WINDOW_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// A rate limit as it is written in a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateTerms {
    pub per_minute: Option<NonZeroU32>,
    pub per_minute_and_user: Option<NonZeroU32>,
    pub per_window: Option<NonZeroU32>,
    pub per_window_and_user: Option<NonZeroU32>,
    pub window_ms: Option<NonZeroU64>,
}

/// So many in any window of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub max: u32,
    pub window: Duration,
}

impl Rate {
    pub fn apply_to_limit(rate: Option<Self>, limit: LimitSettings) -> LimitSettings {
        match rate {
            Some(Self { max, window }) => LimitSettings { per_window: Some(max), window, ..limit },
            None => limit,
        }
    }
}

impl RateTerms {
    /// The rates of the tool and of each of its users; or the field that is wrong, and what is wrong with it.
    pub fn to_rates(self) -> Result<[Option<Rate>; 2], (&'static str, Notice)> {
        let Self { per_minute, per_minute_and_user, per_window, per_window_and_user, window_ms } = self;
        if per_window.is_some() && per_minute.is_some() {
            return Err(("per_window", Notice::definition_rate_twice("per_minute")));
        }
        if per_window_and_user.is_some() && per_minute_and_user.is_some() {
            return Err(("per_window_and_user", Notice::definition_rate_twice("per_minute_and_user")));
        }
        let window = match window_ms.map(NonZeroU64::get) {
            None if per_window.is_some() || per_window_and_user.is_some() => {
                let field = if per_window.is_some() { "per_window" } else { "per_window_and_user" };
                return Err((field, Notice::definition_rate_needs_window()));
            }
            None => MINUTE,
            Some(_) if per_window.is_none() && per_window_and_user.is_none() => {
                return Err(("window_ms", Notice::definition_rate_needs_count()));
            }
            Some(ms) if !(WINDOW_MS_MIN..=WINDOW_MS_MAX).contains(&ms) => {
                let problem = Notice::definition_out_of_range(ms, WINDOW_MS_MIN, WINDOW_MS_MAX);
                return Err(("window_ms", problem));
            }
            Some(ms) => Duration::from_millis(ms),
        };
        let rate = |minute: Option<NonZeroU32>, own: Option<NonZeroU32>| {
            let in_minute = minute.map(|max| Rate { max: max.get(), window: MINUTE });
            in_minute.or(own.map(|max| Rate { max: max.get(), window }))
        };
        Ok([rate(per_minute, per_window), rate(per_minute_and_user, per_window_and_user)])
    }
}
