//! Cuts the power: what a disk may hold after it, and whether the server can live with that.
//!
//! A killed process cannot tell a synced page from one that the system still holds; a disk can. So the server runs with
//! `preload/record.c` loaded into it, which writes down (`record`) what it does to its files and what it says, in one
//! order. `disk` follows the record and says what is left at any moment of it; `observations` says what clients and ledger had
//! been told at that moment. `server_record` makes the records; `restart_judge` puts an image on a disk, judges it, starts the real server
//! on it, lets everything come to its end, and judges it again; `campaign` does so many times and counts.

mod campaign;
mod disk;
mod observations;
mod record;
mod restart_judge;
mod server_record;
mod shim;
mod tally;

use helve_store_sql::Syncs;

pub use self::campaign::{FailedCut, PowerCutPlan, PowerVerdict};
pub use self::tally::PowerTally;

/// When the store syncs, by name.
pub fn syncs(name: &str) -> Result<Syncs, String> {
    match name {
        "commits" => Ok(Syncs::Commits),
        "checkpoints" => Ok(Syncs::Checkpoints),
        "never" => Ok(Syncs::Never),
        other => Err(format!("there is no `{other}`; use commits, checkpoints or never")),
    }
}

pub(crate) fn syncs_name(syncs: Syncs) -> &'static str {
    match syncs {
        Syncs::Commits => "commits",
        Syncs::Checkpoints => "checkpoints",
        Syncs::Never => "never",
    }
}
