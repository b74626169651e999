//! Calls that clients run: who has one, and what they bring.

use std::time::Duration;

use helve_store::{Execution, ExecutionFilter, ExecutionPage, RunJournal, Scope, StoreError};
use helve_types::{CallId, CallState, Fact, Failure, Question, RunId, Seal, ToolOutput, UserId};

use super::{Runtime, Shared};
use crate::command::{Command, CommandError};
use crate::run::{Delivery, Run};

/// Names that clients give themselves are no longer than this.
const CLIENT_CHARS_MAX: usize = 64;
const AT_ONCE: usize = 500;
/// What the marks are for, so that none fits elsewhere.
const TOKEN: &str = "helve result token 1";
const RESULT: &str = "helve client result 1";

/// What a client gets that has claimed a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientClaim {
    /// Goes back with the result.
    pub result_token: String,
    pub tool: String,
    /// JSON text.
    pub arguments: String,
    /// A client that is not heard for this long has lost the call.
    pub lease: Duration,
}

/// What a client brings for a call that it has claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivered {
    pub call: CallId,
    pub result_token: String,
    /// Who brings it.
    pub by: UserId,
    /// The output, or why there is none.
    pub result: Result<ToolOutput, Failure>,
}

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
        if let Some(given) = self.shared.leases.renew(&call, &client, &by.0) {
            return Ok(given);
        }
        self.shared.store.run(scope, run).await?;
        self.command(run, |reply| Command::Claim { call, client, by, reply }).await
    }

    /// Brings the client's result of a call that it has claimed.
    pub async fn deliver(&self, scope: Scope, run: RunId, delivered: Delivered) -> Result<(), CommandError> {
        self.shared.store.run(scope, run).await?;
        self.command(run, |reply| Command::Deliver { delivered: Box::new(delivered), reply }).await
    }

    /// Tells runs of clients that went silent, and of calls that nobody took.
    pub(super) async fn sweep_clients(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        for found in shared.calls_in(CallState::Claimed, ExecutionFilter::default()).await? {
            shared.leases.watch(found.record.run, &found.record.call.id);
        }
        let long_ago = shared.world.now().plus_ms(-Question::OPEN_MS);
        // Up to and including: what is looked for was requested before.
        let asked = ExecutionFilter { to: Some(long_ago.plus_ms(1)), ..ExecutionFilter::default() };
        let untaken = shared.calls_in(CallState::Delegated, asked).await?;
        let untaken = untaken
            .into_iter()
            .map(|found| found.record)
            .filter(|record| record.started_at.is_some_and(|since| since <= long_ago))
            .map(|record| (record.run, record.call.id));
        for (run, call) in shared.leases.over().into_iter().chain(untaken) {
            shared.send(run, Command::Overdue { call });
        }
        Ok(())
    }
}

impl Shared {
    /// The installation's seal, whose key is read once.
    pub(crate) async fn seal(&self) -> Result<&Seal, StoreError> {
        let read = || async { Ok(Seal::new(self.store.signing_key(self.world.secret()).await?)) };
        self.seal.get_or_try_init(read).await
    }

    async fn calls_in(
        &self,
        state: CallState,
        filter: ExecutionFilter,
    ) -> Result<Vec<Execution>, StoreError> {
        let filter = ExecutionFilter { state: Some(state), ..filter };
        let mut found: Vec<Execution> = vec![];
        loop {
            let page = ExecutionPage { before: found.last().map(Execution::mark), limit: AT_ONCE };
            let more = self.store.executions(Scope::Everyone, filter.clone(), page).await?;
            let is_last = more.len() < AT_ONCE;
            found.extend(more);
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Answers whoever speaks to a run that is over. A result that comes after the end changes nothing, but it is kept.
    pub(crate) async fn answer_over(&self, run: &Run, journal: &RunJournal, command: Command) {
        match command {
            Command::Deliver { delivered, reply } => {
                let answer = self.deliver_over(run, journal, &delivered).await;
                _ = reply.send(answer);
            }
            Command::Cancel { reply, .. } => _ = reply.send(Ok(())),
            Command::Overdue { call } => self.leases.end(&call),
            other => {
                let late = other.late(run);
                other.reply(late);
            }
        }
    }

    async fn deliver_over(
        &self,
        run: &Run,
        journal: &RunJournal,
        delivered: &Delivered,
    ) -> Result<(), CommandError> {
        match judge(run, self.seal().await?, delivered) {
            Delivery::Same => Ok(()),
            Delivery::Counts | Delivery::Late => {
                keep_late(journal, delivered).await?;
                Err(CommandError::Over)
            }
            Delivery::Refused(
                error @ (CommandError::WrongToken | CommandError::NoToken | CommandError::AlreadyBrought),
            ) => Err(error),
            Delivery::Refused(_) => Err(CommandError::Over),
        }
    }
}

/// Keeps a result that does not count.
pub(crate) async fn keep_late(journal: &RunJournal, delivered: &Delivered) -> Result<(), StoreError> {
    let Ok(output) = &delivered.result else { return Ok(()) };
    journal.commit(Fact::ToolLate { call: delivered.call.clone(), output: output.clone() }).await
}

/// The token of whoever claims a call under these names.
pub(crate) fn token(seal: &Seal, run: RunId, call: &CallId, by: &str, client: &str, given: &str) -> String {
    seal.mark(TOKEN, &[&run.to_string(), &call.to_string(), by, given, client])
}

/// By which a result is known when it comes again.
pub(crate) fn mark(seal: &Seal, result: &Result<ToolOutput, Failure>) -> String {
    match result {
        Ok(output) => {
            let data = output.data.as_ref().map(ToString::to_string).unwrap_or_default();
            seal.mark(RESULT, &["result", &output.text, &data])
        }
        Err(failure) => seal.mark(RESULT, &["error", &failure.message]),
    }
}

/// Whether what somebody brings counts, as far as the log says.
pub(crate) fn judge(run: &Run, seal: &Seal, delivered: &Delivered) -> Delivery {
    let Delivered { call, result_token, by, result } = delivered;
    if result_token.is_empty() {
        return Delivery::Refused(CommandError::NoToken);
    }
    let Some(claim) = run.claim(call) else {
        return Delivery::Refused(if run.is_untaken(call) {
            CommandError::NotClaimed
        } else {
            CommandError::NotWaiting
        });
    };
    let (run_id, call_id) = (run.id().to_string(), call.to_string());
    let words = [&*run_id, &call_id, &by.0, &claim.arguments, &claim.client];
    if !seal.fits(result_token, TOKEN, &words) {
        return Delivery::Refused(CommandError::WrongToken);
    }
    claim.judge(&mark(seal, result))
}
