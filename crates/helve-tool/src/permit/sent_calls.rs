//! What a limiter has to know of the time before it: a restart does not begin the window anew.

use std::time::Duration;

use helve_guard::Limiter;
use helve_store::StoreError;
use helve_types::UserId;

use super::Permit;
use crate::CallContext;

/// What another process sent arrived at the latest so long after it was put on record, or when this one began.
const ARRIVED_WITHIN: Duration = Duration::from_secs(10);

/// Above so many a window the limit is approximate anyway.
const RECALLED_MAX: usize = 100_000;

impl Permit {
    /// Tells the limiter, once, what was sent before it was made: to the tool by everybody, or by one user.
    pub(super) async fn count_sent_calls(
        &self,
        limiter: &Limiter,
        user: Option<&UserId>,
        cx: &CallContext,
    ) -> Result<(), StoreError> {
        let settings = limiter.status().settings;
        let Some(max) = settings.per_window else { return Ok(()) };
        limiter
            .count_earlier_once(async {
                let within = settings.window + ARRIVED_WITHIN;
                let max = RECALLED_MAX.min(max as usize);
                let sent = cx.journal.sends(&self.tool.spec.name, user, within, max).await?;
                let ours = self.tool.guarding.since.elapsed();
                Ok(sent.into_iter().map(|age| latest_arrival(age, ours)).collect())
            })
            .await
    }
}

/// How long ago a request arrived at the latest that was put on record so long ago, where this process is so old.
fn latest_arrival(recorded: Duration, ours: Duration) -> Duration {
    match recorded <= ours {
        true => recorded,
        false => recorded.saturating_sub(ARRIVED_WITHIN).max(ours),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_process_sent_may_have_arrived_until_this_one_began() {
        let ages = |recorded, ours| {
            latest_arrival(Duration::from_secs(recorded), Duration::from_secs(ours)).as_secs()
        };
        assert_eq!(ages(5, 30), 5, "its own");
        assert_eq!(ages(31, 30), 30);
        assert_eq!(ages(50, 30), 40);
        assert_eq!(ages(3, 0), 0);
    }
}
