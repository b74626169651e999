//! When to kill: every label in turn, and any moment at all. The same seed plans the same kills.

use std::fmt;
use std::time::Duration;

use crate::database::{DatabaseDeath, DatabaseKill};
use crate::labels::{self, CrashPoint};
use crate::rng::Rng;

/// Kills of one data directory; then a new one is taken, so that each check stays quick.
pub const KILLS_PER_ROUND: usize = 20;

/// How often each label is passed before it strikes, in the sweep that every plan begins with.
const SWEEP: [u32; 3] = [1, 2, 3];

/// One death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    At(CrashPoint),
    /// So long after it was started, ready or not.
    AfterStart(Duration),
    /// So long after it was ready.
    AfterReady(Duration),
    /// The database server dies, and Helve while it is away or later.
    Database(DatabaseKill),
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(point) => write!(f, "at {point}"),
            Self::AfterStart(wait) => write!(f, "{:.1} ms after its start", wait.as_secs_f64() * 1e3),
            Self::AfterReady(wait) => write!(f, "{:.1} ms after it was ready", wait.as_secs_f64() * 1e3),
            Self::Database(kill) => write!(f, "{kill}"),
        }
    }
}

/// Which labels are of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabelFilter {
    /// All labels three times, then a third at labels and the rest at any moment.
    #[default]
    Everywhere,
    /// All labels, again and again: bugs are made for them.
    Labels,
    /// Always there.
    Only(CrashPoint),
    /// No labels.
    AnyMoment,
    /// Only deaths of the database server.
    Database,
}

/// So many kills, in an order that mixes everything.
pub fn plan(seed: u64, kills: usize, places: LabelFilter) -> Vec<Kill> {
    let mut rng = Rng::new(seed);
    let mut plan: Vec<Kill> = match places {
        LabelFilter::Everywhere => sweep(SWEEP.iter()).take(kills).collect(),
        LabelFilter::Labels => sweep(SWEEP.iter().cycle()).take(kills).collect(),
        LabelFilter::Only(point) => vec![Kill::At(point); kills],
        LabelFilter::AnyMoment | LabelFilter::Database => vec![],
    };
    let all: Vec<&'static str> = labels::all().collect();
    while plan.len() < kills {
        plan.push(match rng.below(12) {
            _ if places == LabelFilter::Database => Kill::Database(plan_database_kill(&mut rng)),
            0..4 if places == LabelFilter::Everywhere => {
                let label = *rng.pick(&all);
                let nth = 1 + u32::try_from(rng.below(6)).unwrap_or(0);
                Kill::At(CrashPoint { label, nth })
            }
            0..6 => Kill::AfterStart(Duration::from_micros(rng.below(150_000))),
            _ => Kill::AfterReady(Duration::from_micros(500 + rng.below(399_500))),
        });
    }
    rng.shuffle(&mut plan);
    plan
}

/// How the database server dies under load.
fn plan_database_kill(rng: &mut Rng) -> DatabaseKill {
    let death = match rng.below(10) {
        0..6 => DatabaseDeath::Killed,
        6..9 => DatabaseDeath::Immediate,
        _ => DatabaseDeath::Fast,
    };
    let up_to_ms = |rng: &mut Rng, ms: u64| Duration::from_micros(rng.below(ms * 1_000));
    DatabaseKill {
        death,
        after: up_to_ms(rng, 600),
        away: up_to_ms(rng, 500),
        survived_for: rng.chance(60).then(|| up_to_ms(rng, 1_500)),
    }
}

/// All labels, once for each number of passes.
fn sweep<'a>(passes: impl Iterator<Item = &'a u32>) -> impl Iterator<Item = Kill> {
    passes.flat_map(|nth| labels::all().map(|label| Kill::At(CrashPoint { label, nth: *nth })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_plans_the_same_kills() {
        assert_eq!(plan(1, 300, LabelFilter::Everywhere), plan(1, 300, LabelFilter::Everywhere));
        assert_ne!(plan(1, 300, LabelFilter::Everywhere), plan(2, 300, LabelFilter::Everywhere));
    }

    #[test]
    fn three_hundred_kills_pass_every_label_three_times() {
        let plan = plan(1, 300, LabelFilter::Everywhere);
        assert_eq!(plan.len(), 300);
        for label in labels::all() {
            for nth in SWEEP {
                assert!(plan.contains(&Kill::At(CrashPoint { label, nth })), "{label}:{nth}");
            }
        }
    }
}
