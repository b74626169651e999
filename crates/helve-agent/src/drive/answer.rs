//! A person's answer to a question, as it reaches the run: what cannot be meant, or comes too late, does not count.

use helve_store::Entry;
use helve_types::{Answer, ApprovalId, Fact, Question, RunState};

use super::{DriveError, Driver};
use crate::command::{BY_TIME, CommandError};

impl Driver {
    /// Puts the answer on record, if it counts.
    pub(super) async fn answer(
        &mut self,
        approval: ApprovalId,
        answer: Answer,
        by: String,
    ) -> Result<Result<(), CommandError>, DriveError> {
        let Some(question) = self.run.open_question(approval).cloned() else {
            return Ok(Err(CommandError::NotOpen));
        };
        // Time is up when it is, not when somebody notices.
        if answer != Answer::Expire && self.shared.world.now() >= question.expires_at {
            self.settle(question, Answer::Expire, BY_TIME.into()).await?;
            return Ok(Err(CommandError::Expired));
        }
        if let Err(error) = self.check(&question, &answer) {
            return Ok(Err(error));
        }
        self.settle(question, answer, by).await.map(Ok)
    }

    /// What keeps an answer from settling its question, which then stays open.
    fn check(&self, question: &Question, answer: &Answer) -> Result<(), CommandError> {
        if !answer.fits(question.kind) {
            return Err(CommandError::DoesNotFit);
        }
        if let (Some(call), Answer::Approve { arguments: Some(edited), .. }) = (&question.call, answer) {
            let cx = self.context(call, 0, None);
            let checked = self.pipeline.check_edit(&question.tool, edited, &cx);
            checked.map_err(|failure| CommandError::BadEdit(failure.message))?;
        }
        Ok(())
    }

    async fn settle(&mut self, question: Question, answer: Answer, by: String) -> Result<(), DriveError> {
        self.shared.world.fate.at("approval.before_answer");
        let fact = Fact::ApprovalAnswered { approval: question.approval, call: question.call, answer, by };
        self.journal.commit(Entry { state: Some(RunState::Running), ..fact.into() }).await?;
        self.shared.world.fate.at("approval.after_answer");
        Ok(())
    }
}
