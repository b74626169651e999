//! One round: a data directory, a crowd of clients, and a server that is killed again and again.
//!
//! After each death all clients come to rest, then disk, ledger and logs are judged, and only then is the server
//! started again: recovery hides what was lost. At the end everything gets its time to finish and is judged once
//! more.

use std::path::Path;

use anyhow::Context;

use super::lab::Lab;
use super::plan::Kill;
use super::process::ServerCommand;
use super::tally::KillTally;
use crate::check::Violation;
use crate::database::StoreKind;
use crate::mutants::Mutant;

/// Everything a round is made of.
pub struct Round<'a> {
    pub command: &'a ServerCommand,
    /// Empty, and left to whoever made it.
    pub dir: &'a Path,
    pub seed: u64,
    pub kills: &'a [Kill],
    pub mutant: Option<Mutant>,
    pub store: StoreKind,
}

/// What was found wrong, and after which kill.
#[derive(Debug, Clone)]
pub struct KillFinding {
    /// None at the end of the round.
    pub kill: Option<(usize, Kill)>,
    pub violations: Vec<Violation>,
}

/// How a round went: to its first finding, or to its end.
#[derive(Debug)]
pub struct RoundOutcome {
    pub tally: KillTally,
    pub finding: Option<KillFinding>,
}

impl Round<'_> {
    pub async fn run(&self) -> anyhow::Result<RoundOutcome> {
        let mut lab = Lab::build(self).await?;
        for (number, kill) in self.kills.iter().enumerate() {
            lab.kill_once(*kill).await.with_context(|| format!("kill {number}, {kill}"))?;
            let violations = lab.check_evidence(false).await?;
            if !violations.is_empty() {
                return lab.found(KillFinding { kill: Some((number, *kill)), violations });
            }
        }
        lab.finish().await?;
        let mut violations = lab.check_evidence(true).await?;
        if violations.is_empty() {
            lab.wait_a_week().await?;
            violations = lab.check_evidence(true).await?;
        }
        if !violations.is_empty() {
            return lab.found(KillFinding { kill: None, violations });
        }
        Ok(RoundOutcome { tally: lab.tally, finding: None })
    }

    /// A load without kills: one server, brought to rest a few times.
    pub async fn run_calmly(&self) -> anyhow::Result<RoundOutcome> {
        let mut lab = Lab::build(self).await?;
        lab.work_and_rest().await?;
        let violations = lab.check_evidence(true).await?;
        if !violations.is_empty() {
            return lab.found(KillFinding { kill: None, violations });
        }
        Ok(RoundOutcome { tally: lab.tally, finding: None })
    }
}
