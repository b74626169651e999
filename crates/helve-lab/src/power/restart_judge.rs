//! One world in which the power was cut: its disk, its ledger and its clients, judged before and after a new start.

use std::path::Path;

use super::disk::Image;
use crate::check::{Evidence, Violation, check};
use crate::client::ClientLog;
use crate::database::StoreKind;
use crate::drive::{Lab, Round, ServerCommand};
use crate::ledger::LedgerEntry;
use crate::snapshot::Snapshot;
use crate::tools::CLIENT_TOOL;

/// The only thing beside the database that somebody relies on.
pub(super) const KEY: &str = "data/session.key";

pub(super) struct RestartJudge {
    pub(super) image: Image,
    /// As the system saw it: the key that signs cookies, which is not in the database.
    pub(super) key: Option<Vec<u8>>,
    pub(super) ledger: Vec<LedgerEntry>,
    pub(super) clients: Vec<ClientLog>,
}

impl RestartJudge {
    /// Builds it in `dir`, and says what is wrong with it as it is.
    pub(super) async fn check_restart(&self, dir: &Path) -> anyhow::Result<Vec<Violation>> {
        self.build(dir)?;
        let mut wrong = check_evidence(dir, self.ledger.clone(), self.clients.clone(), false).await?;
        let left = self.image.get(KEY).cloned().flatten();
        if left.is_some() && left != self.key {
            // Half a key, or one of zeros, can be guessed.
            wrong.push(Violation { rule: "KEY", what: format!("the key that signs cookies is {left:?}") });
        }
        Ok(wrong)
    }

    /// Starts a server there, lets everything come to its end, and says what is wrong then.
    pub(super) async fn start(
        &self,
        command: &ServerCommand,
        dir: &Path,
        seed: u64,
    ) -> anyhow::Result<Vec<Violation>> {
        let round = Round { command, dir, seed, kills: &[], mutant: None, store: StoreKind::Sqlite };
        let mut lab = Lab::build(&round).await?;
        match lab.finish().await {
            Ok(()) => check_evidence(dir, lab.ledger.entries()?, self.clients.clone(), true).await,
            Err(error) => {
                let log = std::fs::read_to_string(dir.join("server.log")).unwrap_or_default();
                let what = format!("the server does not start: {error:#}; {}", log.trim());
                Ok(vec![Violation { rule: "START", what }])
            }
        }
    }

    fn build(&self, dir: &Path) -> anyhow::Result<()> {
        for (name, content) in &self.image {
            let path = dir.join(name);
            match content {
                None => std::fs::create_dir_all(path)?,
                Some(bytes) => std::fs::write(path, bytes)?,
            }
        }
        let lines: Result<Vec<String>, _> = self.ledger.iter().map(serde_json::to_string).collect();
        let text: String = lines?.iter().map(|line| format!("{line}\n")).collect();
        Ok(std::fs::write(dir.join("ledger.jsonl"), text)?)
    }
}

/// What disk, ledger and clients say while no server runs.
async fn check_evidence(
    dir: &Path,
    ledger: Vec<LedgerEntry>,
    clients: Vec<ClientLog>,
    at_end: bool,
) -> anyhow::Result<Vec<Violation>> {
    let (data, scratch) = (dir.join("data"), dir.join("snapshot"));
    let judged = tokio::task::spawn_blocking(move || match Snapshot::read_copy(&data, &scratch) {
        Ok(disk) => {
            let mut wrong = check(&Evidence::new(disk, ledger, clients, at_end));
            wrong.retain(|violation| !is_of_clients(violation));
            wrong
        }
        Err(error) => {
            vec![Violation { rule: "I8", what: format!("the database cannot be read: {error:#}") }]
        }
    });
    Ok(judged.await?)
}

/// What clients do themselves is in no record of the server's, so nobody can say whether it had happened at the cut.
fn is_of_clients(violation: &Violation) -> bool {
    violation.rule == "I6" && violation.what.contains(&format!("of `{CLIENT_TOOL}`"))
}
