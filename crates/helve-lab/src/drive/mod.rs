//! Kills the server in every way it can think of, and says what came of it.

mod campaign;
mod lab;
mod plan;
mod process;
mod round;
mod tally;

pub use self::campaign::{Campaign, Failure, Verdict};
pub use self::plan::{KILLS_PER_ROUND, Kill, Where, plan};
pub use self::process::ServerCommand;
pub use self::round::{Finding, Outcome, Round};
pub use self::tally::{Counted, Tally};
