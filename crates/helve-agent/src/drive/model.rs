//! Asking for one message: the run's own model, as often as it takes, and then those that stand in for it.
//!
//! `retry` decides what to do after each failure; here it is done, told to readers who saw something, and logged.

mod hooks;
mod try_once;

use std::sync::Arc;
use std::time::Duration;

use helve_model::fleet::retry::{self, FailedAttempt, RetryDecision, Tally};
use helve_model::{Model, ModelErrorKind, ToolMode};
use helve_types::{Fact, Mode, PartId, RunState, Spent, StepEdge, StopReason, ToolChoice};
use tokio::time::Instant;

use self::hooks::Hooked;
use self::try_once::Try;
use super::room::{Room, no_room};
use super::{DriveError, Driver};
use crate::listen::Broken;
use crate::run::{ModelMessage, ModelMessagePart, Tools};

/// How long a question waits until it is known what its model can do.
const PROBE_PATIENCE: Duration = Duration::from_secs(20);

/// One step while its answer is being asked for.
pub(super) struct Quest {
    pub(super) step: u32,
    pub(super) attempt: u32,
    pub(super) tools: Tools,
    /// When the step's time is over.
    until: Instant,
    /// Who is asked when the model that is asked now is given up.
    others: Vec<Arc<dyn Model>>,
    /// How often the model that is asked now was asked.
    tries: u32,
    /// How often readers were told that what they saw is void because it broke off.
    restarts: u32,
    tally: Tally,
    /// What a model said in place of a call that was required; it is asked once more.
    words: Option<String>,
    /// What readers saw last of the text of an answer that broke off.
    cut_text: Vec<(PartId, String)>,
    hooked: Hooked,
    pub(super) room: Room,
}

impl Quest {
    pub(super) fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

impl Driver {
    pub(super) async fn ask_model(
        &mut self,
        step: u32,
        attempt: u32,
        tools: Tools,
    ) -> Result<(), DriveError> {
        let now = Instant::now();
        let mut route = self.shared.models.route(&self.run.setup().model, now);
        if route.is_empty() {
            let name = &self.run.setup().model;
            let message = format!("the model `{name}` is not configured any more");
            return self.fail("unknown_model", message).await;
        }
        let model = route.remove(0);
        if self.stands_in(&*model).is_some() {
            let (run, own) = (self.run.id(), &self.run.setup().model);
            tracing::info!(%run, model = %own, instead = model.name(), "the model failed lately and is left alone");
        }
        // Of a step that is repeated after a restart the snapshot before its first attempt counts.
        if !self.run.is_step_opened(step) {
            self.snapshot_step(StepEdge::Before, step, model.name()).await?;
        }
        if self.cancelled_by.is_some() {
            return Ok(());
        }
        let Some(hooked) = self.hooked(&*model, step).await? else { return Ok(()) };
        let until = now + self.shared.env.settings.step_time_max;
        self.pursue(
            model,
            Quest {
                step,
                attempt,
                tools,
                until,
                others: route,
                tries: 0,
                restarts: 0,
                tally: Tally::default(),
                words: None,
                cut_text: vec![],
                hooked,
                room: Room::default(),
            },
        )
        .await
    }

    /// Asks until there is an answer or nothing is left to try.
    async fn pursue(&mut self, mut model: Arc<dyn Model>, mut quest: Quest) -> Result<(), DriveError> {
        loop {
            self.get_to_know(&*model).await?;
            let mode = self.mode(&*model);
            self.look_for_room(&model, &mode, &mut quest).await?;
            if self.cancelled_by.is_some() {
                return Ok(());
            }
            self.begin_try(&*model, &mut quest);
            let began = Instant::now();
            let tried = self.try_once(&*model, &mode, &quest).await?;
            if let Some(counters) = self.shared.models.counters(model.name()) {
                counters.record_request(tried.how(), began.elapsed());
            }
            let broken = match tried {
                Try::Heard(heard) => {
                    self.shared.models.health(model.name(), |health| health.record_answer(began.elapsed()));
                    if !self.wants_call_instead(&heard, &quest) {
                        return self.take(heard, &*model, &quest).await;
                    }
                    self.insist(heard, &*model, &mut quest).await?;
                    continue;
                }
                Try::Stopped(heard) => {
                    return self.take(heard, &*model, &quest).await;
                }
                Try::Broken(broken, seen) => {
                    if !seen.is_empty() {
                        quest.cut_text = seen;
                    }
                    broken
                }
            };
            let other = self.next_other(&quest);
            let next = self.decide(&*model, &mode, &quest, &broken, other);
            let Broken { error, shown } = broken;
            quest.restarts += u32::from(shown);
            let (run, name) = (self.run.id(), model.name());
            tracing::warn!(%run, model = name, tries = quest.tries, shown, %error, ?next, "the model gave no answer");
            match (next, other) {
                (RetryDecision::RetryInPrompt, _) => {
                    self.shared.models.learn_no_native_tools(name);
                    self.void(&mut quest, shown, error.message).await?;
                    quest.tries = 0;
                }
                (RetryDecision::Compact, _) => {
                    self.void(&mut quest, shown, error.message.clone()).await?;
                    if !self.make_room_at_once(&model, &mode, &mut quest).await?
                        && self.cancelled_by.is_none()
                    {
                        let told = quest.tally.describe_failure(&no_room(&error.message));
                        return self.fail_after(&mut quest, error.code(), told).await;
                    }
                    quest.tries = 0;
                }
                (RetryDecision::Retry(pause), _) => {
                    self.void(&mut quest, shown, error.message).await?;
                    self.pause(pause).await?;
                }
                (RetryDecision::Fallback, Some(other)) => {
                    model = quest.others.drain(..=other).next_back().unwrap_or(model);
                    quest.tries = 0;
                    let because = format!("{}; `{}` is asked instead", error.message, model.name());
                    self.void(&mut quest, shown, because).await?;
                }
                (RetryDecision::Fallback, None) | (RetryDecision::GiveUp, _) => {
                    let code = error.code();
                    let told = match error.kind {
                        ModelErrorKind::TooLong => no_room(&error.message),
                        _ => error.message,
                    };
                    let told = quest.tally.describe_failure(&told);
                    return self.fail_after(&mut quest, code, told).await;
                }
            }
            if self.cancelled_by.is_some() {
                return Ok(());
            }
        }
    }

    fn begin_try(&self, model: &dyn Model, quest: &mut Quest) {
        if quest.tries == 0 {
            self.shared.models.health(model.name(), |health| health.budget.asked(Instant::now()));
        }
        quest.tries += 1;
        quest.tally.count(model.name());
    }

    /// The first of the others whose answer can be expected in time.
    fn next_other(&self, quest: &Quest) -> Option<usize> {
        let left = quest.time_left();
        let usual =
            |model: &dyn Model| self.shared.models.health(model.name(), |health| health.usual_duration());
        quest.others.iter().position(|other| retry::fits_in_time(left, usual(&**other)))
    }

    /// What to do about a failure; what that means for the model's health is noted at once.
    fn decide(
        &self,
        model: &dyn Model,
        mode: &Mode,
        quest: &Quest,
        broken: &Broken,
        other: Option<usize>,
    ) -> RetryDecision {
        let (now, chance) = (Instant::now(), self.shared.env.world.chance());
        let Broken { error, shown } = broken;
        let tries_max = retry::tries_max(&self.params(model, quest));
        self.shared.models.health(model.name(), |health| {
            let failed = FailedAttempt {
                error,
                shown: *shown,
                tries: quest.tries,
                tries_max,
                restarts: quest.restarts,
                may_prompt: *mode == Mode::Native && self.asked_mode(model) == ToolMode::Auto,
                may_compact: self.shared.env.settings.compaction.enabled && !quest.room.was_refused,
                in_budget: health.budget.has_one(now),
                has_fallback: other.is_some(),
                time_left: quest.time_left(),
                usual: health.usual_duration(),
                chance,
            };
            let next = retry::decide(&failed);
            tracing::debug!(run = %self.run.id(), model = model.name(), ?failed, ?next, "what is done about it");
            if let RetryDecision::Retry(_) = next {
                health.budget.spend();
            }
            if let ModelErrorKind::Unavailable | ModelErrorKind::Broken | ModelErrorKind::Key = error.kind {
                if let Some(pause) = error.retry_after {
                    health.record_pause(now, pause);
                }
                if let RetryDecision::Fallback | RetryDecision::GiveUp = next {
                    health.record_given_up(now);
                }
            }
            next
        })
    }

    /// Tells readers that what they saw of the step does not count, and puts on record what it took. If it was neither
    /// seen nor paid for, there is nothing to tell.
    pub(super) async fn void(
        &mut self,
        quest: &mut Quest,
        shown: bool,
        because: String,
    ) -> Result<(), DriveError> {
        let spent = self.lost.take().map(|lost| lost.spent);
        if !shown && spent.is_none() {
            return Ok(());
        }
        quest.attempt += 1;
        let (step, attempt) = (quest.step, quest.attempt);
        self.journal.record(Fact::StepRestarted { step, attempt, because, spent }).await?;
        // The message that follows says which attempt it is of.
        self.absorb();
        Ok(())
    }

    /// Whether an answer is words where a call was required, and the model has not been reminded of it yet.
    fn wants_call_instead(&self, heard: &ModelMessage, quest: &Quest) -> bool {
        let required = matches!(self.run.choice(), ToolChoice::Required | ToolChoice::Named(_));
        let could_call = quest.tools == Tools::Offered && self.kit.toolbox.specs().next().is_some();
        let chose_words = matches!(heard.reason, StopReason::Stop | StopReason::Other);
        required && could_call && chose_words && heard.calls.is_empty() && quest.words.is_none()
    }

    /// Asks once more, with the answer as a bad example.
    async fn insist(
        &mut self,
        heard: ModelMessage,
        model: &dyn Model,
        quest: &mut Quest,
    ) -> Result<(), DriveError> {
        let (run, model) = (self.run.id(), model.name());
        tracing::warn!(%run, model, "the model answered in words though a call was required; it is asked once more");
        quest.words = Some(words_of(&heard));
        let taken = Spent { usage: heard.usage, cost_nanos: heard.cost_nanos };
        self.lose_spent(&heard.mode, quest.step, quest.attempt, taken);
        quest.tries = 0;
        let because = "a tool call was required and the model answered in words".into();
        self.void(quest, true, because).await
    }

    /// Recorded: durable before any call of it that can change something is sent.
    async fn take(
        &mut self,
        mut heard: ModelMessage,
        model: &dyn Model,
        quest: &Quest,
    ) -> Result<(), DriveError> {
        self.shared.env.world.fate.at("model.heard");
        heard.model = self.stands_in(model);
        heard.fingerprint = self.shared.models.fingerprint(model.name());
        heard.params.clone_from(&quest.hooked.params);
        self.journal.record(self.run.record_message(heard)).await?;
        self.shared.env.world.fate.at("model.noted");
        Ok(())
    }

    /// The model's name, where it is not the run's own.
    fn stands_in(&self, model: &dyn Model) -> Option<String> {
        (model.name() != self.run.setup().model).then(|| model.name().to_owned())
    }

    /// How a request wants the run's own model to call tools. One that stands in for it calls in its own way.
    fn wanted_mode(&self, model: &dyn Model) -> Option<Mode> {
        self.run.setup().mode.clone().filter(|_| self.stands_in(model).is_none())
    }

    fn asked_mode(&self, model: &dyn Model) -> ToolMode {
        self.wanted_mode(model).map_or_else(|| model.tool_mode(), ToolMode::Fixed)
    }

    fn mode(&self, model: &dyn Model) -> Mode {
        let default = &self.shared.env.settings.default_profile;
        self.wanted_mode(model).unwrap_or_else(|| self.shared.models.mode(model, default))
    }

    /// A model that nobody knows is probed before its first question, if that does not take too long: otherwise the
    /// question goes first, and the next one profits.
    async fn get_to_know(&mut self, model: &dyn Model) -> Result<(), DriveError> {
        if self.wanted_mode(model).is_some() || !self.shared.models.needs_probe(model) {
            return Ok(());
        }
        let probe = self.shared.probe_in_background(model.name());
        let known = async {
            _ = tokio::time::timeout(PROBE_PATIENCE, probe).await;
        };
        self.unless_stopped(known).await
    }

    /// Waits before the next try, but not for longer than anybody wants.
    async fn pause(&mut self, pause: Duration) -> Result<(), DriveError> {
        self.unless_stopped(tokio::time::sleep(pause)).await
    }

    /// Waits, while people may speak; if one of them stops the run, no longer.
    pub(super) async fn unless_stopped(&mut self, wait: impl Future<Output = ()>) -> Result<(), DriveError> {
        let mut wait = std::pin::pin!(wait);
        loop {
            tokio::select! {
                () = &mut wait => return Ok(()),
                Some(command) = self.commands.recv() => {
                    self.obey(command).await?;
                    if self.cancelled_by.is_some() {
                        return Ok(());
                    }
                }
                () = self.shared.shutdown.halt.cancelled() => return Err(DriveError::Halted),
            }
        }
    }

    /// Fails; what people have read stays on record.
    async fn fail_after(&mut self, quest: &mut Quest, code: &str, message: String) -> Result<(), DriveError> {
        let step = quest.step;
        let seen = std::mem::take(&mut quest.cut_text).into_iter();
        let seen = seen.map(|(part, text)| Fact::TextCutOff { step, part, text });
        let failed = Fact::RunFailed { code: code.into(), message };
        self.end(seen.chain([failed]).collect(), RunState::Failed).await.map(drop)
    }

    async fn fail(&mut self, code: &str, message: String) -> Result<(), DriveError> {
        let failed = Fact::RunFailed { code: code.into(), message };
        self.end(vec![failed], RunState::Failed).await.map(drop)
    }
}

/// What a message says, without its reasoning.
fn words_of(heard: &ModelMessage) -> String {
    let words = heard.parts.iter().filter_map(|part| match part {
        ModelMessagePart::Text { text, .. } => Some(text.as_str()),
        ModelMessagePart::Reasoning { .. } => None,
    });
    words.collect::<Vec<_>>().join("\n\n")
}
