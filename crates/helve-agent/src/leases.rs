//! How long a client may be silent about a call that it has.
//!
//! Only liveness hangs on it: whether a result counts is decided by the log. So it lives in memory and on this process's
//! clock, and after a restart every claim gets its whole time again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use helve_types::{CallId, RunId};
use tokio::time::{Instant, sleep, sleep_until};

use crate::client_results::ClientClaim;

/// A client that is silent for this long has lost its call.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// Much less than a lease, so that none that begins meanwhile is overlooked.
const LOOK: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Leases(Mutex<HashMap<CallId, Lease>>);

struct Lease {
    run: RunId,
    until: Instant,
    /// When the claim began, where it went through this process.
    since: Option<Instant>,
    /// Its end was told to the run.
    told: bool,
    /// Known where the claim went through this process.
    holder: Option<Holder>,
}

/// Who has a call, and what they were given.
pub(crate) struct Holder {
    pub(crate) client: String,
    pub(crate) by: String,
    pub(crate) given: ClientClaim,
}

impl Leases {
    fn lock_leases(&self) -> MutexGuard<'_, HashMap<CallId, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client has the call from now on.
    pub(crate) fn begin_lease(&self, run: RunId, call: &CallId, holder: Holder) {
        let now = Instant::now();
        let lease = Lease { run, until: now + LEASE, since: Some(now), told: false, holder: Some(holder) };
        self.lock_leases().insert(call.clone(), lease);
    }

    /// The client that has the call has sent a sign of life: what it was given, if it has it.
    pub fn renew_lease(&self, call: &CallId, client: &str, by: &str) -> Option<ClientClaim> {
        let mut held = self.lock_leases();
        let lease = held.get_mut(call).filter(|lease| !lease.told)?;
        let holder = lease.holder.as_ref().filter(|holder| holder.client == client && holder.by == by)?;
        lease.until = Instant::now() + LEASE;
        Some(holder.given.clone())
    }

    /// A claim that this process may not know of.
    pub fn begin_lease_if_missing(&self, run: RunId, call: &CallId) {
        let fresh = || Lease { run, until: Instant::now() + LEASE, since: None, told: false, holder: None };
        self.lock_leases().entry(call.clone()).or_insert_with(fresh);
    }

    /// How long the client has had the call, if it took it from this process.
    pub(crate) fn held_duration(&self, call: &CallId) -> Option<Duration> {
        self.lock_leases().get(call)?.since.map(|since| since.elapsed())
    }

    pub fn end_lease(&self, call: &CallId) {
        self.lock_leases().remove(call);
    }

    /// The run is over, and no client has any of its calls.
    pub(crate) fn end_leases_of_run(&self, run: RunId) {
        self.lock_leases().retain(|_, lease| lease.run != run);
    }

    /// Whether the client was silent for too long. One that is unknown to this process was not.
    pub(crate) fn is_expired(&self, call: &CallId) -> bool {
        self.lock_leases().get(call).is_some_and(|lease| lease.until <= Instant::now())
    }

    /// Every call whose client was silent for too long.
    pub fn take_expired(&self) -> Vec<(RunId, CallId)> {
        let now = Instant::now();
        let mut held = self.lock_leases();
        let over = held.iter_mut().filter(|(_, lease)| lease.until <= now);
        over.map(|(call, lease)| {
            lease.told = true;
            (lease.run, call.clone())
        })
        .collect()
    }

    /// Waits until a client has been silent for too long and its run does not know.
    pub async fn wait_for_expiry(&self) {
        loop {
            let first =
                self.lock_leases().values().filter(|lease| !lease.told).map(|lease| lease.until).min();
            let now = Instant::now();
            match first {
                Some(until) if until <= now => return,
                Some(until) => sleep_until(until.min(now + LOOK)).await,
                None => sleep(LOOK).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;
    use uuid::Uuid;

    use super::*;

    fn run() -> RunId {
        RunId(Uuid::from_u128(1))
    }

    fn call(index: u32) -> CallId {
        CallId::new(run(), 1, index)
    }

    fn begin(leases: &Leases, index: u32) {
        let given = ClientClaim {
            result_token: "token".into(),
            tool: "browser_js_eval".into(),
            arguments: "{}".into(),
            lease: LEASE,
        };
        leases.begin_lease(run(), &call(index), Holder { client: "tab".into(), by: "mei".into(), given });
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_client_that_has_the_call_renews_it() {
        let leases = Leases::default();
        begin(&leases, 0);
        assert!(leases.renew_lease(&call(0), "other tab", "mei").is_none());
        assert!(leases.renew_lease(&call(0), "tab", "eve").is_none());
        assert!(leases.renew_lease(&call(1), "tab", "mei").is_none());
        assert_eq!(leases.renew_lease(&call(0), "tab", "mei").unwrap().result_token, "token");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_lasts_as_long_as_its_client_is_heard() {
        let leases = Leases::default();
        begin(&leases, 0);
        begin(&leases, 1);
        advance(LEASE / 2).await;
        assert!(leases.renew_lease(&call(1), "tab", "mei").is_some());
        assert!(!leases.is_expired(&call(0)));
        assert_eq!(leases.held_duration(&call(1)), Some(LEASE / 2), "however often it is heard");
        leases.wait_for_expiry().await;
        assert!(leases.is_expired(&call(0)));
        assert_eq!(leases.take_expired(), [(run(), call(0))]);
        assert!(!leases.is_expired(&call(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_from_before_a_restart_gets_its_whole_time() {
        let leases = Leases::default();
        assert!(!leases.is_expired(&call(0)));
        leases.begin_lease_if_missing(run(), &call(0));
        advance(LEASE - Duration::from_millis(1)).await;
        leases.begin_lease_if_missing(run(), &call(0));
        assert!(!leases.is_expired(&call(0)));
        advance(Duration::from_millis(1)).await;
        assert!(leases.is_expired(&call(0)), "to be seen once more does not renew it");
        leases.end_lease(&call(0));
        assert_eq!(leases.take_expired(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_run_was_told_is_not_waited_for_again() {
        let leases = Leases::default();
        begin(&leases, 0);
        leases.wait_for_expiry().await;
        assert_eq!(leases.take_expired().len(), 1);
        let again = tokio::time::timeout(LEASE * 10, leases.wait_for_expiry()).await;
        assert!(again.is_err());
        assert_eq!(leases.take_expired().len(), 1, "but a run that did not act is told again");
    }
}
