//! Compaction: when a question is too long for its model, or nearly, what it is shown of the past becomes shorter.
//!
//! `compact` decides what is left out and what is summed up; here the summary is asked for, and all of it is on record
//! before the shorter question is asked. At most once a step because the question has become long, and once because
//! the model's server has refused it.

use std::sync::Arc;

use helve_dialect::Language;
use helve_model::Model;
use helve_model::fleet::Window;
use helve_model::fleet::prompt_mode::find_profile;
use helve_model::fleet::tokens::{EstimateRatio, estimate_request_tokens, estimate_text_tokens};
use helve_types::{CallId, Compaction, Fact, Mode, ModelParams, RunInput, Summary, Usage};
use tokio::time::Instant;

use super::ModelStep;
use super::summary::{SummaryResult, SummaryTask};
use crate::ask::hide_agents_arguments;
use crate::compact::{CompactionGoal, HistoryOwner, ShorteningPlan, SummaryCut, TurnHistory, saves_enough};
use crate::drive::DriveError;
use crate::transcript::{Output, format_summary, place_turns};

/// What was done in a step to make the past shorter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CompactionState {
    was_done: bool,
    /// The model's server said that the question is too long.
    pub(super) was_refused: bool,
}

/// Why the past is made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompactionReason {
    Long,
    Refused,
}

/// A plan for a question, with everything that it takes to carry it out.
struct CompactionPlan {
    plan: ShorteningPlan,
    tokens: u64,
    ratio: EstimateRatio,
    window: Option<Window>,
    /// Of the outputs that are left out, those that no summary stands for.
    pruned_after_cut: Vec<CallId>,
    task: Option<SummaryTask>,
}

impl ModelStep<'_> {
    /// Makes the past shorter if the question has become long.
    pub(super) async fn compact_if_long(
        &mut self,
        model: &Arc<dyn Model>,
        mode: &Mode,
    ) -> Result<(), DriveError> {
        if !self.compaction.was_done && !self.compaction.was_refused {
            self.compaction.was_done = self.compact(model, mode, CompactionReason::Long).await?;
        }
        Ok(())
    }

    /// Makes the past shorter because the question was refused for its length; false if it cannot be.
    pub(super) async fn compact_after_rejection(
        &mut self,
        model: &Arc<dyn Model>,
        mode: &Mode,
    ) -> Result<bool, DriveError> {
        self.compaction.was_refused = true;
        self.compact(model, mode, CompactionReason::Refused).await
    }

    async fn compact(
        &mut self,
        model: &Arc<dyn Model>,
        mode: &Mode,
        why: CompactionReason,
    ) -> Result<bool, DriveError> {
        if !self.driven().shared.env.settings.compaction.enabled {
            return Ok(false);
        }
        let Some(plan) = self.plan_compaction(&**model, mode, why) else { return Ok(false) };
        let before = plan.tokens;
        if why == CompactionReason::Refused {
            self.driven().shared.models.learn_rejected_length(model.name(), before);
        }
        // What did not help will not help before much more was said.
        if why == CompactionReason::Long
            && self.driver.memory.not_shortened_at.is_some_and(|at| before < at + at / 10)
        {
            return Ok(false);
        }
        let compaction = Box::pin(self.make_compaction(plan, model, mode)).await?;
        let (run, model) = (self.driven().run.id(), model.name());
        let Some(compaction) = compaction else {
            if !self.driven().is_stopped() {
                tracing::warn!(%run, model, tokens = before, ?why, "conversation too long: it cannot be made shorter");
                self.driver.memory.not_shortened_at = Some(before);
            }
            return Ok(false);
        };
        tracing::info!(
            %run, model, ?why, before, after = compaction.tokens_after, outputs = compaction.pruned.len(),
            summary = compaction.summary.is_some(), "history compacted"
        );
        self.driven().shared.env.world.failpoint("history.before_compacted");
        self.driven().journal.record(Fact::HistoryCompacted(compaction)).await?;
        self.driven().shared.env.world.failpoint("history.after_compacted");
        self.driver.driven.apply_written_facts();
        Ok(true)
    }

    /// What there is to do about the question, if anything.
    fn plan_compaction(
        &self,
        model: &dyn Model,
        mode: &Mode,
        why: CompactionReason,
    ) -> Option<CompactionPlan> {
        let (models, settings) =
            (&self.driven().shared.models, &self.driven().shared.env.settings.compaction);
        let params = self.request_params(model);
        let window = models.window(model.name(), &params);
        if why == CompactionReason::Long && window.is_none() {
            return None;
        }
        let fingerprint = models.fingerprint(model.name());
        let profile = find_profile(mode, &self.driven().shared.env.settings.profiles);
        let asking = self.request_builder(model, fingerprint.as_ref(), profile, &params);
        let whole = estimate_request_tokens(&asking.build_request());
        let mut ratio = models.token_ratio(model.name());
        if let (CompactionReason::Refused, Some(window)) = (why, window) {
            // It was too long, so it was at least as long as it may be.
            if ratio.correct_estimate(whole) < window.question_tokens_max() {
                ratio = EstimateRatio::new(window.question_tokens_max(), whole);
            }
        }
        let mut turns = place_turns(&self.driven().origin.history, &self.driven().run, asking.reader);
        hide_agents_arguments(turns.iter_mut().map(|placed| &mut placed.turn), &self.driven().tools.toolbox);
        let keeper = match self.driven().run.setup().input {
            RunInput::Client { .. } => HistoryOwner::Client,
            RunInput::Conversation | RunInput::Call => {
                HistoryOwner::Server(self.driven().origin.history.len())
            }
        };
        let past = TurnHistory::new(&turns, whole, keeper, ratio);
        let tokens = past.total_tokens();
        let goal = match (why, window) {
            (CompactionReason::Long, Some(window)) => CompactionGoal::from_window(window, settings),
            (CompactionReason::Long, None) => return None,
            (CompactionReason::Refused, window) => {
                CompactionGoal::from_rejected_request(tokens, window, settings)
            }
        };
        let plan = past.plan_compaction(&goal)?;
        let (mut pruned_after_cut, mut task) = (vec![], None);
        if let Some(cut) = plan.cut {
            let after = turns[cut.turns..].iter().filter_map(|placed| match placed.place.output {
                Output::Of(call) => Some(call),
                Output::Stays | Output::OfClient => None,
            });
            pruned_after_cut = after.filter(|call| plan.pruned.contains(call)).cloned().collect();
            task = Some(self.build_summary_task(model, &turns[..cut.turns], &cut, tokens));
        }
        Some(CompactionPlan { plan, tokens, ratio, window, pruned_after_cut, task })
    }

    /// What is put on record, if it makes the question shorter.
    async fn make_compaction(
        &mut self,
        planned: CompactionPlan,
        model: &Arc<dyn Model>,
        mode: &Mode,
    ) -> Result<Option<Compaction>, DriveError> {
        let CompactionPlan { plan, tokens, ratio, window, pruned_after_cut, task } = planned;
        let pruning = Compaction {
            step: self.terms.step,
            pruned: plan.pruned,
            client_messages: plan.client_messages,
            summary: None,
            tokens_before: tokens,
            tokens_after: plan.tokens_pruned,
        };
        let (Some(cut), Some(task)) = (plan.cut, task) else {
            return Ok(saves_enough(tokens, pruning.tokens_after).then_some(pruning));
        };
        let tokens_with = |text: &str| {
            cut.tokens_left + ratio.correct_estimate(estimate_text_tokens(&format_summary(text, &[])))
        };
        let is_shorter = |text: &str| saves_enough(tokens, tokens_with(text));
        let summary = match self.summarize(task, model, mode, window, is_shorter).await? {
            Some((text, SummaryResult { model, spent, .. })) => {
                Some(self.build_summary(&cut, text, model, spent.usage, spent.cost_nanos))
            }
            None if self.driven().is_stopped() => return Ok(None),
            // What is longer than the model reads is not sent, where leaving out the oldest turns can make it fit.
            None => {
                let note = omission_note(helve_dialect::language_of(self.driven().run.input_text()));
                let is_too_long = window.is_some_and(|window| pruning.tokens_after > window.tokens);
                (is_too_long && is_shorter(note))
                    .then(|| self.build_summary(&cut, note.into(), BY_NOBODY.into(), Usage::default(), None))
            }
        };
        Ok(match summary {
            Some(summary) => Some(Compaction {
                pruned: pruned_after_cut,
                tokens_after: tokens_with(&summary.text),
                summary: Some(summary),
                ..pruning
            }),
            None => saves_enough(tokens, pruning.tokens_after).then_some(pruning),
        })
    }

    /// A summary that is short enough, unless the conversation has failed to get one lately. What it took without one is
    /// put on record with the step.
    async fn summarize(
        &mut self,
        task: SummaryTask,
        model: &Arc<dyn Model>,
        mode: &Mode,
        window: Option<Window>,
        is_shorter: impl Fn(&str) -> bool,
    ) -> Result<Option<(String, SummaryResult)>, DriveError> {
        let (conversation, shared) = (self.driven().origin.conversation, self.driven().shared.clone());
        if !shared.summary_pauses.has_passed(conversation, Instant::now()) {
            return Ok(None);
        }
        let mut written = self.write_summary(task, model, window, self.time_left() / 2).await?;
        let attempt = (self.terms.step, self.attempt);
        if self.driven().is_stopped() {
            self.driver.memory.cost.add_attempt_cost(mode, attempt, written.spent);
            return Ok(None);
        }
        if let Some(text) = written.text.take().filter(|text| is_shorter(text)) {
            shared.summary_pauses.record_success(conversation);
            return Ok(Some((text, written)));
        }
        // It is longer than what it was to stand for, or there is none.
        shared.summary_pauses.record_failure(conversation, Instant::now());
        self.driver.memory.cost.add_attempt_cost(mode, attempt, written.spent);
        self.discard_attempt(false, "a summary of the conversation came to nothing".into()).await?;
        Ok(None)
    }

    fn build_summary(
        &self,
        cut: &SummaryCut,
        text: String,
        model: String,
        usage: Usage,
        cost_nanos: Option<u64>,
    ) -> Summary {
        let last = cut.message.checked_sub(1).and_then(|last| self.driven().origin.history.get(last));
        Summary {
            text,
            through: last.map(|message| message.id),
            messages: u32::try_from(cut.message).unwrap_or(u32::MAX),
            through_step: cut.through_step,
            model,
            usage,
            cost_nanos,
        }
    }

    /// Notes how far off the estimate of a question was. What a vendor may have cut to fit says nothing.
    pub(super) fn record_token_ratio(
        &self,
        model: &dyn Model,
        params: &ModelParams,
        estimated: u64,
        usage: Usage,
    ) {
        let models = &self.driven().shared.models;
        let counted = usage.input_tokens;
        let window = models.window(model.name(), params);
        let is_full = window.is_some_and(|window| counted + window.tokens / 20 >= window.tokens);
        if counted > 0 && !is_full {
            models.learn_token_ratio(model.name(), counted, estimated);
        }
    }
}

/// Who stands in the place of a summary's author where there is no summary.
const BY_NOBODY: &str = "helve";

/// What stands in place of turns that were left out without a summary.
fn omission_note(language: Language) -> &'static str {
    match language {
        Language::English => {
            "(The beginning of this conversation was left out here: it is too long, and it could not be summed up. Say so \
             if something from it is needed.)"
        }
        Language::Chinese => "（这段对话的开头在此省略：它太长，且无法生成摘要。如需要其中的内容，请说明。）",
    }
}

/// What a person is told when nothing more can be left out.
pub(super) fn add_too_long_advice(error: &str) -> String {
    format!(
        "{error}; the conversation is too long for the model and cannot be made shorter: begin a new one, send a shorter \
         message, or use a model that reads more"
    )
}
