//! What the drivers of a process share besides the environment: the models, and whose turn it is.

use helve_guard::Admission;
use helve_model::fleet::Models;
use helve_store::RunJournal;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client_results::{ClientResult, judge_client_result, record_late_result};
use crate::command::{Command, CommandError};
use crate::environment::Environment;
use crate::leases::Leases;
use crate::run::{Delivery, Run};
use crate::step::SummaryPauses;

/// What a driver works with that is not its run's own.
pub struct DriverContext {
    pub env: Environment,
    pub models: Models,
    /// Decides whose turn it is to be at work.
    pub admission: Admission,
    pub leases: Leases,
    pub(crate) summary_pauses: SummaryPauses,
    pub tasks: TaskTracker,
    pub shutdown: Shutdown,
}

/// How the process ends, in two steps.
#[derive(Default)]
pub struct Shutdown {
    /// No new runs are taken.
    pub closing: CancellationToken,
    /// Everything stops where it is; the log says where to go on.
    pub halt: CancellationToken,
}

impl DriverContext {
    pub fn new(env: Environment, models: Models) -> Self {
        Self {
            admission: Admission::new(env.settings.runs),
            env,
            models,
            leases: Leases::default(),
            summary_pauses: SummaryPauses::default(),
            tasks: TaskTracker::new(),
            shutdown: Shutdown::default(),
        }
    }

    /// Answers a command to a run that is over. A result that comes after the end changes nothing, but it is kept.
    pub async fn answer_command_of_ended_run(&self, run: &Run, journal: &RunJournal, command: Command) {
        match command {
            Command::Deliver { delivered, reply } => {
                let answer = self.accept_result_of_ended_run(run, journal, &delivered).await;
                _ = reply.send(answer);
            }
            Command::Cancel { reply, .. } => _ = reply.send(Ok(())),
            Command::Overdue { call } => self.leases.end_lease(&call),
            Command::SubagentChanged { .. } => {
                if let Some(host) = self.env.subagent_host() {
                    host.report_to_conversation(run.id());
                }
            }
            other => {
                let late = other.reply_after_run_ended(run);
                other.send_reply(late);
            }
        }
    }

    async fn accept_result_of_ended_run(
        &self,
        run: &Run,
        journal: &RunJournal,
        delivered: &ClientResult,
    ) -> Result<(), CommandError> {
        match judge_client_result(run, self.env.load_seal().await?, delivered) {
            Delivery::Same => Ok(()),
            Delivery::Counts | Delivery::Late => {
                record_late_result(journal, delivered).await?;
                Err(CommandError::Over)
            }
            Delivery::Refused(
                error @ (CommandError::WrongToken | CommandError::NoToken | CommandError::AlreadyBrought),
            ) => Err(error),
            Delivery::Refused(_) => Err(CommandError::Over),
        }
    }
}
