//! A run and the clients that run its calls: they claim one, they bring its result, or they go silent.

use std::time::Duration;

use helve_tool::{ClientReport, Outcome};
use helve_types::{CallId, Fact, Failure, FailureKind, Notice, Question, ToolCall, UserId};

use super::Calls;
use crate::client_results::{
    ClientClaim, ClientResult, hash_result, judge_client_result, make_result_token, record_late_result,
};
use crate::command::{CommandError, Reply};
use crate::drive::DriveError;
use crate::driven::DrivenRun;
use crate::leases::{Holder, LEASE};
use crate::run::{CallData, Delivery};

const SILENT: &str = "the client that had the call went silent";

/// Gives the call to the client, if no other client has it. The claim is recorded before the client is answered.
pub(crate) async fn record_claim(
    driven: &DrivenRun,
    call: &CallId,
    client: &str,
    by: &UserId,
) -> Result<Result<ClientClaim, CommandError>, DriveError> {
    let Some(held) = driven.run.find_call(call) else {
        return Ok(Err(why_not_claimable(driven, call)));
    };
    let tool = held.call.name.clone();
    let (given, is_new) = match &held.data {
        CallData::Delegated { assignment, .. } => (assignment.arguments.clone(), true),
        CallData::Claimed { assignment, client: other, by: user, .. } => {
            if other != client || *user != by.0 {
                return Ok(Err(CommandError::ClaimedElsewhere));
            }
            (assignment.arguments.clone(), false)
        }
        _ => return Ok(Err(why_not_claimable(driven, call))),
    };
    let given = ClientClaim {
        result_token: make_result_token(
            driven.shared.env.load_seal().await?,
            driven.run.id(),
            call,
            &by.0,
            client,
            &given,
        ),
        tool,
        arguments: given,
        lease: LEASE,
    };
    if is_new {
        driven.shared.env.world.failpoint("client.before_claim");
        let (client, by) = (client.to_owned(), by.0.clone());
        driven.journal.commit(Fact::ToolClaimed { call: call.clone(), client, by }).await?;
        driven.shared.env.world.failpoint("client.after_claim");
    }
    let holder = Holder { client: client.into(), by: by.0.clone(), given: given.clone() };
    driven.shared.leases.begin_lease(driven.run.id(), call, holder);
    Ok(Ok(given))
}

fn why_not_claimable(driven: &DrivenRun, call: &CallId) -> CommandError {
    match driven.run.find_claim(call) {
        Some(claim) if claim.is_lost() => CommandError::ClaimLost,
        _ => CommandError::NotWaiting,
    }
}

impl Calls {
    /// Accepts a client's result. Hooks may take a while, so it runs like a call in flight.
    pub(crate) async fn handle_client_result(
        &mut self,
        driven: &DrivenRun,
        delivered: ClientResult,
        reply: Reply,
    ) -> Result<(), DriveError> {
        let seal = driven.shared.env.load_seal().await?;
        let answer = match judge_client_result(&driven.run, seal, &delivered) {
            // The first one is not on record yet.
            Delivery::Counts if self.in_flight_calls.contains(&delivered.call) => Err(CommandError::Busy),
            Delivery::Counts => {
                let mark = hash_result(seal, &delivered.result);
                self.record_result_in_background(driven, delivered, mark, reply);
                return Ok(());
            }
            Delivery::Same => Ok(()),
            Delivery::Late => {
                record_late_result(&driven.journal, &delivered).await?;
                Err(CommandError::ClaimLost)
            }
            Delivery::Refused(error) => Err(error),
        };
        _ = reply.send(answer);
        Ok(())
    }

    fn record_result_in_background(
        &mut self,
        driven: &DrivenRun,
        delivered: ClientResult,
        mark: String,
        reply: Reply,
    ) {
        let ClientResult { call: id, result, .. } = delivered;
        let Some((call, at, client, trail)) = driven.run.find_call(&id).and_then(|held| match &held.data {
            CallData::Claimed { at, assignment, client, .. } => {
                let call = ToolCall { arguments: assignment.arguments.clone(), ..held.call.clone() };
                Some((call, *at, client.clone(), assignment.trail.clone()))
            }
            _ => None,
        }) else {
            _ = reply.send(Err(CommandError::NotWaiting));
            return;
        };
        // A claim from before a restart is as old as the log says.
        let in_log = || Duration::from_millis(driven.journal.now().since_ms(at));
        let took = driven.shared.leases.held_duration(&id).unwrap_or_else(in_log);
        let report = ClientReport { result, client, took, mark, trail };
        let (pipeline, cx) = (driven.tools.pipeline.clone(), driven.call_context(&id, 0, None));
        let shared = driven.shared.clone();
        self.in_flight_calls.insert(id.clone());
        self.in_flight.push(Box::pin(async move {
            let taken_in = pipeline.record_client_result(&call, report, &cx).await.map(drop);
            shared.leases.end_lease(&id);
            let answer = taken_in.clone().map_err(|helve_tool::Fault::Journal(error)| error.into());
            _ = reply.send(answer);
            (id, taken_in)
        }));
    }

    /// Ends a call whose client went silent, or that no client claimed in time. A client that answered meanwhile keeps it.
    pub(crate) async fn end_overdue_call(
        &mut self,
        driven: &DrivenRun,
        id: &CallId,
    ) -> Result<(), DriveError> {
        let Some(held) = driven.run.find_call(id) else {
            driven.shared.leases.end_lease(id);
            return Ok(());
        };
        let cx = driven.call_context(id, 0, None);
        match &held.data {
            CallData::Claimed { at, assignment, .. } => {
                if driven.shared.leases.is_expired(id) && !self.in_flight_calls.contains(id) {
                    let call = ToolCall { arguments: assignment.arguments.clone(), ..held.call.clone() };
                    driven.tools.pipeline.record_unknown(&call, *at, SILENT.into(), &cx).await?;
                    driven.shared.leases.end_lease(id);
                }
            }
            CallData::Delegated { at, .. } => {
                if at.plus_ms(Question::OPEN_MS) <= driven.shared.env.world.now() {
                    let told = format!(
                        "`{}` was to run on the user's side and no client ran it in time; go on without it",
                        held.call.name
                    );
                    let notice = Notice::client_did_not_run(&held.call.name);
                    let failure = Failure::new(FailureKind::Unanswered, told).with_notice(notice);
                    let outcome = Outcome::Refused(failure);
                    driven.tools.pipeline.settle_call(id, outcome, &cx).await?;
                }
            }
            _ => driven.shared.leases.end_lease(id),
        }
        Ok(())
    }
}
