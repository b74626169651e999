//! Who may begin.
//!
//! A run that does not exist yet is let in or refused before anything of it is on record, so whatever was acknowledged
//! goes on. Runs that are on record wait for their turn like all others (`helve-agent/drive/turn.rs`, `recover.rs`), but are never
//! refused.

use helve_agent::{ShareSettings, find_exhausted_budget};
use helve_guard::{AdmissionPermit, Rejected};
use helve_store::{IdempotencyKey, StoreError};
use helve_types::{RunId, UserId};

use crate::{Shared, StartError};

impl Shared {
    /// What the same request has begun. It is found whatever has changed since, and however many others wait: there is
    /// nothing to let in.
    pub(super) async fn find_run_of_key(
        &self,
        user: &UserId,
        key: Option<&IdempotencyKey>,
    ) -> Result<Option<RunId>, StoreError> {
        let Some(key) = key else { return Ok(None) };
        self.env().store.find_run_of_key(user.clone(), key.clone(), self.env().world.now()).await
    }

    /// Whether the user may keep more.
    async fn check_user_storage(&self, user: &UserId) -> Result<(), StartError> {
        let ShareSettings { waiting_runs_max, bytes_max } = self.env().settings.share;
        let share = self.env().store.storage_share_of(user.clone()).await?;
        if share.waiting_runs >= waiting_runs_max {
            return Err(StartError::TooManyWaiting { waiting: share.waiting_runs, max: waiting_runs_max });
        }
        if share.bytes >= bytes_max {
            return Err(StartError::UserStorageFull { bytes: share.bytes, max: bytes_max });
        }
        Ok(())
    }

    /// Refuses what would begin with nothing left to use.
    pub(super) async fn check_user_budget(&self, user: &UserId, agent: &str) -> Result<(), StartError> {
        let accounts = self.env().load_day_accounts(user, agent).await?;
        let Some(because) = find_exhausted_budget(&accounts, &self.env().settings.budgets.currency) else {
            return Ok(());
        };
        self.env().budget_counters.count_refused();
        let now = self.env().world.now();
        let renews_at = now.next_day();
        let after_s = u32::try_from(renews_at.since_ms(now).div_ceil(1_000)).unwrap_or(u32::MAX);
        Err(StartError::BudgetSpent { because: Box::new(because), renews_at, after_s })
    }

    /// Waits for the user's turn, as long as the settings allow.
    pub(super) async fn admit_run(&self, user: &UserId) -> Result<AdmissionPermit, StartError> {
        if self.context.shutdown.closing.is_cancelled() {
            return Err(StartError::Closing);
        }
        if self.env().settings.disk.is_low() {
            return Err(StartError::StorageFull);
        }
        self.check_user_storage(user).await?;
        let turn = tokio::select! {
            turn = self.context.admission.enter(&user.0) => turn,
            () = self.context.shutdown.closing.cancelled() => return Err(StartError::Closing),
        };
        turn.map_err(|why| self.to_start_error(why))
    }

    /// Who waited in vain for so long may as well come back after as long again.
    fn to_start_error(&self, why: Rejected) -> StartError {
        let after_s = self.env().settings.runs.wait.as_secs().clamp(1, 60);
        let after_s = u32::try_from(after_s).unwrap_or(60);
        match why {
            Rejected::CallerLimit => StartError::ShareTaken { after_s },
            Rejected::TotalLimit => StartError::Full { after_s },
        }
    }
}
