//! Kills the server in every way it can think of, and says what came of it.

mod campaign;
mod lab;
mod plan;
pub(crate) mod process;
mod round;
mod tally;

pub(crate) use self::campaign::fast_place;
pub use self::campaign::{Campaign, Failure, KillVerdict};
pub(crate) use self::lab::Lab;
pub use self::plan::{KILLS_PER_ROUND, Kill, LabelFilter, plan};
pub(crate) use self::process::Process;
pub use self::process::ServerCommand;
pub use self::round::{KillFinding, Round, RoundOutcome};
pub use self::tally::{KillTally, ResourceCount};
