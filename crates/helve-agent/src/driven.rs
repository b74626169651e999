//! A run while it is driven: its machine, the log that the machine is folded from, and what the run was started with.

mod answer;
mod budget;
mod messages;
mod subagents;

use std::sync::Arc;

use helve_store::{RunJournal, resets_crash_count};
use helve_tool::{CallContext, Early, Grant, Progress, SkippedGuards};
use helve_types::{CallId, ConversationId, Message, PartId, Taint, UserId};
use tokio_util::sync::CancellationToken;

pub(crate) use self::budget::Allowed;
pub use self::subagents::background_notice;
pub(crate) use self::subagents::{SubagentResult, background_output, own_words};
use crate::agents::RunTools;
use crate::context::DriverContext;
use crate::feed::Feed;
use crate::run::{PRE_SEARCH_STEP, Run};

/// Held by a run that was interrupted until the step in which it was is done.
pub type StepHold = Box<dyn Send + Sync>;

/// What the caller of a direct call wants of it.
#[derive(Debug, Clone, Default)]
pub struct DirectCall {
    /// Guards that are left out.
    pub skip: SkippedGuards,
    /// Where its output goes while it runs, besides the feed.
    pub progress: Progress,
}

pub(crate) struct DrivenRun {
    pub(crate) shared: Arc<DriverContext>,
    pub(crate) run: Run,
    pub(crate) journal: RunJournal,
    pub(crate) feed: Arc<Feed>,
    pub(crate) origin: RunOrigin,
    pub(crate) tools: Arc<RunTools>,
    pub(crate) stop: StopRequest,
    pub(crate) hold: Option<StepHold>,
    pub(crate) direct: DirectCall,
}

/// Whose run it is, and what was said before it.
pub(crate) struct RunOrigin {
    pub(crate) user: UserId,
    pub(crate) conversation: Option<ConversationId>,
    /// The conversation before the run.
    pub(crate) history: Vec<Message>,
}

/// Whether a person has stopped the run.
#[derive(Default)]
pub(crate) struct StopRequest {
    /// Stops the model and the tools.
    token: CancellationToken,
    pub(crate) by: Option<String>,
}

impl StopRequest {
    /// The first to stop a run has stopped it.
    pub(crate) fn stop(&mut self, by: String) {
        self.by.get_or_insert(by);
        self.token.cancel();
    }
}

impl DrivenRun {
    /// Applies what was written, so that the machine knows what the log says.
    pub(crate) fn apply_written_facts(&mut self) {
        for recorded in self.journal.take_written() {
            self.run.apply(recorded.event.at, &recorded.event.fact);
            if resets_crash_count(&recorded.event.fact) {
                self.hold = None;
            }
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.by.is_some()
    }

    /// Whether the user may still use the agent. What a group gives ends with the membership, not with the sign-in.
    pub(crate) fn has_access(&self) -> bool {
        let (people, user) = (self.shared.env.people.current(), &self.origin.user);
        !people.is_disabled(user) && self.tools.audience.admits(user, &people.groups_of(user))
    }

    /// What the pipeline is told about a call.
    pub(crate) fn call_context(
        &self,
        call: &CallId,
        attempts_before: u32,
        grant: Option<Grant>,
    ) -> CallContext {
        let (feed, part, journal) = (self.feed.clone(), PartId::from(call), self.journal.clone());
        let DirectCall { skip, progress } = self.direct.clone();
        let held = self.run.find_call(call);
        let tool = held.map(|held| held.call.name.clone()).unwrap_or_default();
        // The words of a person, and no model that could have been talked into it has seen them.
        let taint = match held {
            Some(held) if held.step == PRE_SEARCH_STEP => Taint::default(),
            _ => self.run.taint_at_request(),
        };
        CallContext {
            run: self.run.id(),
            conversation: self.origin.conversation,
            message: Some(self.run.message().id),
            call: call.clone(),
            user: self.origin.user.clone(),
            groups: self.shared.env.people.current().groups_of(&self.origin.user),
            agent: self.run.setup().agent.clone(),
            request_id: self.run.setup().request_id.clone(),
            language: self.run.language(),
            attempts_before,
            grant,
            taint: Arc::new(taint),
            subagent: None,
            asker: self.asker(),
            skip,
            early: Early::No,
            toolbox: self.tools.toolbox.clone(),
            journal: self.journal.clone(),
            cancel: self.stop.token.clone(),
            progress: Progress::new(move |piece| {
                progress.report(piece);
                feed.push_progress(&part, &tool, piece, journal.pending_seq());
            }),
            world: self.shared.env.world.clone(),
        }
    }
}
