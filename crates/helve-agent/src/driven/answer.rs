//! A person's answer to a question, as it reaches the run: what cannot be meant, or comes too late, does not count.

use helve_store::NewFacts;
use helve_tool::{Ballot, DECLINE_CHARS_MAX, VoteEffect, VoteRefusal, check_reply};
use helve_types::{Answer, ApprovalId, Fact, Question, RunState, Timestamp};

use super::DrivenRun;
use crate::command::{BY_TIME, CommandError};
use crate::drive::DriveError;

impl DrivenRun {
    /// Puts the answer on record, if it counts.
    pub(crate) async fn record_answer_or_expiry(
        &mut self,
        approval: ApprovalId,
        answer: Answer,
        by: String,
    ) -> Result<Result<(), CommandError>, DriveError> {
        let Some(question) = self.run.find_open_question(approval).cloned() else {
            return Ok(Err(CommandError::NotOpen));
        };
        // The deadline counts, not the next sweep.
        if answer != Answer::Expire && self.shared.env.world.now() >= question.expires_at {
            self.record_answer(question, Answer::Expire, BY_TIME.into()).await?;
            return Ok(Err(CommandError::Expired));
        }
        if let Err(error) = self.check_answer(&question, &answer).await {
            return Ok(Err(error));
        }
        let effect = match self.judge_vote(&question, &answer, &by) {
            Ok(effect) => effect,
            Err(refusal) => return Ok(Err(refusal)),
        };
        match effect {
            VoteEffect::Counted { .. } => {
                self.shared.env.world.failpoint("approval.before_vote");
                self.journal.commit(Fact::ApprovalVoted { approval, answer, by }).await?;
                self.shared.env.world.failpoint("approval.after_vote");
                Ok(Ok(()))
            }
            VoteEffect::Decides => self.record_answer(question, answer, by).await.map(Ok),
        }
    }

    /// What the answer of this person does to the question, where approvers are named.
    fn judge_vote(&self, question: &Question, answer: &Answer, by: &str) -> Result<VoteEffect, CommandError> {
        let Some(approvers) = question.approvers.as_deref().filter(|_| *answer != Answer::Expire) else {
            return Ok(VoteEffect::Decides);
        };
        if matches!(answer, Answer::Approve { always: Some(_), .. }) {
            let why = "approvers are named for this call, and each of its calls is theirs to decide; answer it once";
            return Err(CommandError::BadAlways(why.into()));
        }
        let state = self.run.votes_on(question.approval);
        let ballot = Ballot {
            approvers,
            escalated: state.escalated,
            requester: &self.origin.user.0,
            votes: &state.votes,
        };
        let groups_of = |user: &str| self.shared.env.groups_of_user(user);
        // The same vote again changes nothing.
        let again = state.votes.iter().find(|vote| vote.by == by);
        match ballot.judge_vote(by, answer, &groups_of) {
            Err(VoteRefusal::AlreadyVoted)
                if again.is_some_and(|vote| vote.answer.is_same_decision(answer)) =>
            {
                Err(CommandError::VotedBefore)
            }
            judged => Ok(judged?),
        }
    }

    /// Puts on record that the time for a reminder or for others has come, once each.
    pub(crate) async fn record_due_notice(&mut self, approval: ApprovalId) -> Result<(), DriveError> {
        let Some(question) = self.run.find_open_question(approval) else { return Ok(()) };
        let Some(approvers) = question.approvers.clone() else { return Ok(()) };
        let (now, state) = (self.shared.env.world.now(), self.run.votes_on(approval));
        // An open question is asked as long before its end as any.
        let asked_at = question.expires_at.plus_ms(-Question::OPEN_MS);
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if !state.escalated && is_due(approvers.escalate_at(asked_at)) {
            self.journal.commit(Fact::ApprovalEscalated { approval }).await?;
        }
        if !state.reminded && is_due(approvers.remind_at(asked_at)) {
            self.journal.commit(Fact::ApprovalReminded { approval }).await?;
        }
        Ok(())
    }

    /// What keeps an answer from settling its question, which then stays open.
    fn check_answer(
        &self,
        question: &Question,
        answer: &Answer,
    ) -> impl Future<Output = Result<(), CommandError>> + Send + use<> {
        let fits = answer.fits(question.kind());
        let edit = match (question.call(), answer) {
            (Some(call), Answer::Approve { arguments: Some(edited), .. }) if fits => {
                Some((self.call_context(&call.id, 0, None), call.tool.clone(), edited.clone()))
            }
            _ => None,
        };
        let reply = match (question.asked_by_model(), answer) {
            _ if !fits => Ok(()),
            (Some(asked), Answer::Reply { value }) => {
                check_reply(&asked.form, value).map_err(CommandError::BadReply)
            }
            (Some(_), Answer::Decline { reason }) if reason.chars().count() > DECLINE_CHARS_MAX => {
                Err(CommandError::DeclineTooLong)
            }
            _ => Ok(()),
        };
        let in_vain = question.repeats() && question.binding.is_empty();
        let pipeline = self.tools.pipeline.clone();
        async move {
            if !fits {
                return Err(CommandError::DoesNotFit);
            }
            reply?;
            let Some((cx, tool, edited)) = edit else { return Ok(()) };
            if in_vain {
                let why = "this call cannot be made, whatever its arguments; answer without new ones, or in its place";
                return Err(CommandError::BadEdit(why.into(), None));
            }
            let checked = pipeline.check_edit(&tool, &edited, &cx).await;
            checked.map_err(|failure| CommandError::BadEdit(failure.message, failure.notice))
        }
    }

    async fn record_answer(
        &mut self,
        question: Question,
        answer: Answer,
        by: String,
    ) -> Result<(), DriveError> {
        self.shared.env.world.failpoint("approval.before_answer");
        let (approval, call) = (question.approval, question.call_id().cloned());
        let fact = Fact::ApprovalAnswered { approval, call, answer, by };
        self.journal.commit(NewFacts { state: Some(RunState::Running), ..fact.into() }).await?;
        self.shared.env.world.failpoint("approval.after_answer");
        Ok(())
    }
}
