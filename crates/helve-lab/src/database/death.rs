//! How a database server dies under a server of ours, and when.

use std::fmt;
use std::time::Duration;

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatabaseDeath {
    /// SIGKILL to its first process; the others end when they notice.
    Killed,
    /// Its own program ends all of its processes at once.
    Immediate,
    /// Its own program ends all connections and closes the files.
    Fast,
}

impl fmt::Display for DatabaseDeath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "killed",
            Self::Immediate => "stopped at once",
            Self::Fast => "stopped",
        })
    }
}

/// One death of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseKill {
    pub death: DatabaseDeath,
    /// So long after Helve was ready.
    pub after: Duration,
    /// So long it is not there, and then as long as it takes to start.
    pub away: Duration,
    /// So long Helve goes on when it is back; with `None` Helve is killed while it is away.
    pub survived_for: Option<Duration>,
}

impl fmt::Display for DatabaseKill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (how, after, away) = (self.death, ms(self.after), ms(self.away));
        write!(f, "PostgreSQL {how} {after:.1} ms after Helve was ready, away for {away:.1} ms, ")?;
        match self.survived_for {
            Some(time) => write!(f, "Helve killed {:.1} ms after it was back", ms(time)),
            None => f.write_str("Helve killed meanwhile"),
        }
    }
}
