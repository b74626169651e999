//! A person's answer to a question, as it reaches the run: what cannot be meant, or comes too late, does not count.

use helve_store::NewFacts;
use helve_tool::{DECLINE_CHARS_MAX, check_reply};
use helve_types::{Answer, ApprovalId, Fact, Question, RunState};

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
        self.record_answer(question, answer, by).await.map(Ok)
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
