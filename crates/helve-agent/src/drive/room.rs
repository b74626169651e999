//! Making room: when a question is too long for its model, or nearly, what it is shown of the past becomes shorter.
//!
//! `compact` decides what is left out and what is summed up; here the summary is asked for, and all of it is on record
//! before the shorter question is asked. At most once a step because the question has become long, and once because
//! the model's server has refused it.

mod rest;
mod summary;

use std::sync::Arc;

use helve_dialect::Language;
use helve_model::Model;
use helve_model::fleet::Window;
use helve_model::fleet::prompt_mode::profile_of;
use helve_model::fleet::tokens::{Ratio, of_request, of_text};
use helve_types::{CallId, Compaction, Fact, Mode, ModelParams, RunInput, Spent, Summary, Usage};
use tokio::time::Instant;

pub(crate) use self::rest::Rests;
use self::summary::{Task, Written};
use super::model::Quest;
use super::{DriveError, Driver};
use crate::compact::{Cut, Goal, Keeper, Past, Plan, is_worth_it, prompt};
use crate::transcript::{Output, placed, summed_up};

/// What was done in a step to make room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Room {
    was_made: bool,
    /// The model's server said that the question is too long.
    pub(super) was_refused: bool,
}

/// Why room is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Long,
    Refused,
}

/// A plan for a question, with everything that it takes to carry it out.
struct Sketch {
    plan: Plan,
    tokens: u64,
    ratio: Ratio,
    window: Option<Window>,
    /// Of the outputs that are left out, those that no summary stands for.
    pruned_after_cut: Vec<CallId>,
    task: Option<Task>,
}

impl Driver {
    /// Makes room if the question has become long.
    pub(super) async fn look_for_room(
        &mut self,
        model: &Arc<dyn Model>,
        mode: &Mode,
        quest: &mut Quest,
    ) -> Result<(), DriveError> {
        if !quest.room.was_made && !quest.room.was_refused {
            quest.room.was_made = self.make_room(model, mode, quest, Why::Long).await?;
        }
        Ok(())
    }

    /// Makes room because the question was refused for its length; false if there is none.
    pub(super) async fn make_room_at_once(
        &mut self,
        model: &Arc<dyn Model>,
        mode: &Mode,
        quest: &mut Quest,
    ) -> Result<bool, DriveError> {
        quest.room.was_refused = true;
        self.make_room(model, mode, quest, Why::Refused).await
    }

    async fn make_room(
        &mut self,
        model: &Arc<dyn Model>,
        mode: &Mode,
        quest: &mut Quest,
        why: Why,
    ) -> Result<bool, DriveError> {
        if !self.shared.env.settings.compaction.enabled {
            return Ok(false);
        }
        let Some(sketch) = self.sketch(&**model, mode, quest, why) else { return Ok(false) };
        let before = sketch.tokens;
        if why == Why::Refused {
            self.shared.models.learn_too_long(model.name(), before);
        }
        // What did not help will not help before much more was said.
        if why == Why::Long && self.no_room_at.is_some_and(|at| before < at + at / 10) {
            return Ok(false);
        }
        let compaction = self.carried_out(sketch, model, mode, quest).await?;
        let (run, model) = (self.run.id(), model.name());
        let Some(compaction) = compaction else {
            if self.cancelled_by.is_none() {
                tracing::warn!(%run, model, tokens = before, ?why, "the conversation is long and cannot be made shorter");
                self.no_room_at = Some(before);
            }
            return Ok(false);
        };
        tracing::info!(
            %run, model, ?why, before, after = compaction.tokens_after, outputs = compaction.pruned.len(),
            summary = compaction.summary.is_some(), "the model is shown less of the past from here on"
        );
        self.shared.env.world.fate.at("history.before_compacted");
        self.journal.record(Fact::HistoryCompacted(compaction)).await?;
        self.shared.env.world.fate.at("history.after_compacted");
        self.absorb();
        Ok(true)
    }

    /// What there is to do about the question, if anything.
    fn sketch(&self, model: &dyn Model, mode: &Mode, quest: &Quest, why: Why) -> Option<Sketch> {
        let (models, settings) = (&self.shared.models, &self.shared.env.settings.compaction);
        let params = self.params(model, quest);
        let window = models.window(model.name(), &params);
        if why == Why::Long && window.is_none() {
            return None;
        }
        let fingerprint = models.fingerprint(model.name());
        let profile = profile_of(mode, &self.shared.env.settings.profiles);
        let asking = self.asking(model, fingerprint.as_ref(), profile, &params, quest);
        let whole = of_request(&asking.request());
        let mut ratio = models.ratio(model.name());
        if let (Why::Refused, Some(window)) = (why, window) {
            // It was too long, so it was at least as long as it may be.
            if ratio.corrected(whole) < window.for_question() {
                ratio = Ratio::new(window.for_question(), whole);
            }
        }
        let turns = placed(&self.history, &self.run, asking.reader);
        let keeper = match self.run.setup().input {
            RunInput::Client { .. } => Keeper::Client,
            RunInput::Conversation | RunInput::Call => Keeper::Server(self.history.len()),
        };
        let past = Past::new(&turns, whole, keeper, ratio);
        let tokens = past.whole();
        let goal = match (why, window) {
            (Why::Long, Some(window)) => Goal::within(window, settings),
            (Why::Long, None) => return None,
            (Why::Refused, window) => Goal::below(tokens, window, settings),
        };
        let plan = past.plan(&goal)?;
        let (mut pruned_after_cut, mut task) = (vec![], None);
        if let Some(cut) = plan.cut {
            let after = turns[cut.turns..].iter().filter_map(|placed| match placed.place.output {
                Output::Of(call) => Some(call),
                Output::Stays | Output::OfClient => None,
            });
            pruned_after_cut = after.filter(|call| plan.pruned.contains(call)).cloned().collect();
            task = Some(self.task(model, &turns[..cut.turns], &cut, tokens));
        }
        Some(Sketch { plan, tokens, ratio, window, pruned_after_cut, task })
    }

    /// What is put on record, if it makes the question shorter.
    async fn carried_out(
        &mut self,
        sketch: Sketch,
        model: &Arc<dyn Model>,
        mode: &Mode,
        quest: &mut Quest,
    ) -> Result<Option<Compaction>, DriveError> {
        let Sketch { plan, tokens, ratio, window, pruned_after_cut, task } = sketch;
        let pruning = Compaction {
            step: quest.step,
            pruned: plan.pruned,
            client_messages: plan.client_messages,
            summary: None,
            tokens_before: tokens,
            tokens_after: plan.tokens_pruned,
        };
        if let (Some(cut), Some(task)) = (plan.cut, task) {
            let (conversation, shared) = (self.conversation, self.shared.clone());
            let tries = shared.rests.is_over(conversation, Instant::now());
            let Written { text, model: writer, spent } = match tries {
                true => self.summary(task, model, window, quest.time_left() / 2).await?,
                false => Written { text: None, model: String::new(), spent: Spent::default() },
            };
            if self.cancelled_by.is_some() {
                self.lose_spent(mode, quest.step, quest.attempt, spent);
                return Ok(None);
            }
            let tokens_after = |text: &str| cut.tokens_left + ratio.corrected(of_text(&summed_up(text, &[])));
            match text.map(|text| (tokens_after(&text), text)) {
                Some((after, text)) if is_worth_it(tokens, after) => {
                    shared.rests.succeeded(conversation);
                    let summary = self.stands_for(&cut, text, writer, spent.usage, spent.cost_nanos);
                    return Ok(Some(Compaction {
                        pruned: pruned_after_cut,
                        summary: Some(summary),
                        tokens_after: after,
                        ..pruning
                    }));
                }
                // It is longer than what it was to stand for, or there is none.
                _ if tries => {
                    shared.rests.failed(conversation, Instant::now());
                    self.lose_spent(mode, quest.step, quest.attempt, spent);
                    let because = "a summary of the conversation came to nothing".into();
                    self.void(quest, false, because).await?;
                }
                _ => {}
            }
            // What is longer than the model reads is not sent, where leaving out the oldest turns can make it fit.
            let note = left_out(helve_dialect::language_of(self.run.text()));
            let after = tokens_after(note);
            if window.is_some_and(|window| pruning.tokens_after > window.tokens) && is_worth_it(tokens, after)
            {
                let summary = self.stands_for(&cut, note.into(), BY_NOBODY.into(), Usage::default(), None);
                return Ok(Some(Compaction {
                    pruned: pruned_after_cut,
                    summary: Some(summary),
                    tokens_after: after,
                    ..pruning
                }));
            }
        }
        Ok(is_worth_it(tokens, pruning.tokens_after).then_some(pruning))
    }

    fn stands_for(
        &self,
        cut: &Cut,
        text: String,
        model: String,
        usage: Usage,
        cost_nanos: Option<u64>,
    ) -> Summary {
        let last = cut.message.checked_sub(1).and_then(|last| self.history.get(last));
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
    pub(super) fn learn_tokens(&self, model: &dyn Model, params: &ModelParams, estimated: u64, usage: Usage) {
        let models = &self.shared.models;
        let counted = usage.input_tokens;
        let window = models.window(model.name(), params);
        let is_full = window.is_some_and(|window| counted + window.tokens / 20 >= window.tokens);
        if counted > 0 && !is_full {
            models.learn_ratio(model.name(), counted, estimated);
        }
    }
}

/// Who stands in the place of a summary's author where there is no summary.
const BY_NOBODY: &str = "helve";

/// What stands in place of turns that were left out without a summary.
fn left_out(language: Language) -> &'static str {
    match language {
        Language::English => {
            "(The beginning of this conversation was left out here: it is too long, and it could not be summed up. Say so \
             if something from it is needed.)"
        }
        Language::Chinese => "（这段对话的开头在此省略：它太长，且无法生成摘要。如需要其中的内容，请说明。）",
    }
}

/// What a person is told when nothing more can be left out.
pub(super) fn no_room(error: &str) -> String {
    format!(
        "{error}; the conversation is too long for the model and cannot be made shorter: begin a new one, send a shorter \
         message, or use a model that reads more"
    )
}
