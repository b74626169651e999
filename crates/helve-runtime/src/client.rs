//! Clients that run calls: runs are told of those that went silent, and of calls that none took.

use std::sync::Arc;

use helve_agent::Command;
use helve_store::{Execution, ExecutionFilter, ExecutionPage, Scope, StoreError};
use helve_types::{CallState, Question};

use crate::Shared;

/// Names that clients give themselves are no longer than this.
const CLIENT_CHARS_MAX: usize = 64;
const AT_ONCE: usize = 500;

/// Whether a client may call itself so.
pub(crate) fn is_valid_client_name(client: &str) -> bool {
    !client.is_empty()
        && client.len() <= CLIENT_CHARS_MAX
        && client.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Tells runs about clients that went silent and calls that no client claimed.
pub(crate) async fn sweep_client_calls(shared: &Arc<Shared>) -> Result<(), StoreError> {
    for found in shared.list_calls_in_state(CallState::Claimed, ExecutionFilter::default()).await? {
        shared.context.leases.begin_lease_if_missing(found.record.run, &found.record.call.id);
    }
    let long_ago = shared.env().world.now().plus_ms(-Question::OPEN_MS);
    // Up to and including: what is looked for was requested before.
    let asked = ExecutionFilter { to: Some(long_ago.plus_ms(1)), ..ExecutionFilter::default() };
    let untaken = shared.list_calls_in_state(CallState::Delegated, asked).await?;
    let untaken = untaken
        .into_iter()
        .map(|found| found.record)
        .filter(|record| record.started_at.is_some_and(|since| since <= long_ago))
        .map(|record| (record.run, record.call.id));
    for (run, call) in shared.context.leases.take_expired().into_iter().chain(untaken) {
        shared.send_to_driver_or_resume(run, Command::Overdue { call });
    }
    Ok(())
}

impl Shared {
    async fn list_calls_in_state(
        &self,
        state: CallState,
        filter: ExecutionFilter,
    ) -> Result<Vec<Execution>, StoreError> {
        let filter = ExecutionFilter { state: Some(state), ..filter };
        let mut found: Vec<Execution> = vec![];
        loop {
            let page = ExecutionPage { before: found.last().map(Execution::to_mark), limit: AT_ONCE };
            let more = self.env().store.executions(Scope::Everyone, filter.clone(), page).await?;
            let is_last = more.len() < AT_ONCE;
            found.extend(more);
            if is_last {
                return Ok(found);
            }
        }
    }
}
