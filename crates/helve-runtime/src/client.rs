//! Calls that clients run: claims and results are passed to the run; clients that went silent are looked for.

use helve_agent::{ClientClaim, ClientResult, Command, CommandError};
use helve_store::{Execution, ExecutionFilter, ExecutionPage, Scope, StoreError};
use helve_types::{CallId, CallState, Question, RunId, UserId};

use crate::{Runtime, Shared};

/// Names that clients give themselves are no longer than this.
const CLIENT_CHARS_MAX: usize = 64;
const AT_ONCE: usize = 500;
impl Runtime {
    /// Gives a call to a client. The same client gets the same again, which tells that it is still at it.
    pub async fn claim(
        &self,
        scope: Scope,
        run: RunId,
        call: CallId,
        client: String,
        by: UserId,
    ) -> Result<ClientClaim, CommandError> {
        let is_name = !client.is_empty()
            && client.len() <= CLIENT_CHARS_MAX
            && client.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_name {
            return Err(CommandError::BadClient);
        }
        if let Some(given) = self.shared.context.leases.renew(&call, &client, &by.0) {
            return Ok(given);
        }
        self.shared.env().store.run(scope, run).await?;
        self.command(run, |reply| Command::Claim { call, client, by, reply }).await
    }

    /// Brings the client's result of a call that it has claimed.
    pub async fn deliver(
        &self,
        scope: Scope,
        run: RunId,
        delivered: ClientResult,
    ) -> Result<(), CommandError> {
        self.shared.env().store.run(scope, run).await?;
        self.command(run, |reply| Command::Deliver { delivered: Box::new(delivered), reply }).await
    }

    /// Tells runs of clients that went silent, and of calls that nobody took.
    pub(super) async fn sweep_clients(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        for found in shared.calls_in(CallState::Claimed, ExecutionFilter::default()).await? {
            shared.context.leases.watch(found.record.run, &found.record.call.id);
        }
        let long_ago = shared.env().world.now().plus_ms(-Question::OPEN_MS);
        // Up to and including: what is looked for was requested before.
        let asked = ExecutionFilter { to: Some(long_ago.plus_ms(1)), ..ExecutionFilter::default() };
        let untaken = shared.calls_in(CallState::Delegated, asked).await?;
        let untaken = untaken
            .into_iter()
            .map(|found| found.record)
            .filter(|record| record.started_at.is_some_and(|since| since <= long_ago))
            .map(|record| (record.run, record.call.id));
        for (run, call) in shared.context.leases.over().into_iter().chain(untaken) {
            shared.send(run, Command::Overdue { call });
        }
        Ok(())
    }
}

impl Shared {
    async fn calls_in(
        &self,
        state: CallState,
        filter: ExecutionFilter,
    ) -> Result<Vec<Execution>, StoreError> {
        let filter = ExecutionFilter { state: Some(state), ..filter };
        let mut found: Vec<Execution> = vec![];
        loop {
            let page = ExecutionPage { before: found.last().map(Execution::mark), limit: AT_ONCE };
            let more = self.env().store.executions(Scope::Everyone, filter.clone(), page).await?;
            let is_last = more.len() < AT_ONCE;
            found.extend(more);
            if is_last {
                return Ok(found);
            }
        }
    }
}
