//! One step: the run's own model is asked as often as it takes, and then those that stand in for it; the message is put
//! on record.
//!
//! `fleet::retry` decides what to do after each failure; here it is done, told to readers who saw something, and logged.
//! `attempt` asks once, `collect` reads the stream, `compaction` makes the past shorter where it is too long.

mod attempt;
mod collect;
mod compaction;
mod cost;
mod hooks;
mod summary;
mod summary_pauses;

use std::sync::Arc;
use std::time::Duration;

use helve_model::fleet::retry::{self, FailedAttempt, RetryDecision, Tally};
use helve_model::{Model, ModelError, ModelErrorKind, ToolMode};
use helve_types::{Fact, Mode, PartId, RunState, Spent, StepEdge, StopReason, ToolChoice};
use tokio::time::Instant;

use self::attempt::Attempt;
use self::collect::BrokenAnswer;
pub(crate) use self::collect::WrittenCall;
use self::compaction::{CompactionState, add_too_long_advice};
pub(crate) use self::cost::UnrecordedCost;
use self::hooks::HookedRequest;
pub(crate) use self::summary_pauses::SummaryPauses;
use crate::drive::{DriveError, Driver};
use crate::driven::DrivenRun;
use crate::run::{ModelMessage, ModelMessagePart, Tools};

/// How long a question waits until it is known what its model can do.
const PROBE_PATIENCE: Duration = Duration::from_secs(20);

/// One step while its answer is being asked for.
pub(crate) struct ModelStep<'a> {
    driver: &'a mut Driver,
    terms: StepTerms,
    attempt: u32,
    /// Who is asked when the model that is asked now is given up.
    others: Vec<Arc<dyn Model>>,
    attempts: Attempts,
    compaction: CompactionState,
}

/// What holds for all attempts at a step.
struct StepTerms {
    step: u32,
    tools: Tools,
    /// When the step's time is over.
    until: Instant,
    hooked: HookedRequest,
}

/// What the attempts so far came to.
#[derive(Default)]
struct Attempts {
    /// How often the model that is asked now was asked.
    tries: u32,
    /// How often readers were told that what they saw is void because it broke off.
    restarts: u32,
    tally: Tally,
    /// What a model said in place of a call that was required; it is asked once more.
    words: Option<String>,
    /// What readers saw last of the text of an answer that broke off.
    cut_text: Vec<(PartId, String)>,
}

impl<'a> ModelStep<'a> {
    /// Asks for the message of a step, and records it.
    pub(crate) async fn run_step(
        driver: &'a mut Driver,
        step: u32,
        attempt: u32,
        tools: Tools,
    ) -> Result<(), DriveError> {
        let now = Instant::now();
        let run = driver.driven.run.id();
        let setup = driver.driven.run.setup();
        let own = setup.model.clone();
        let mut others = driver.driven.shared.models.models_to_try(&own, &setup.fallback_models, now);
        if others.is_empty() {
            let message = format!("the model `{own}` is not configured any more");
            return Box::pin(fail_run(driver, "unknown_model", message)).await;
        }
        let model = others.remove(0);
        if model.name() != own {
            tracing::info!(%run, model = %own, instead = model.name(), "model skipped: cooling down after failures");
        }
        // Of a step that is repeated after a restart the snapshot before its first attempt counts.
        if !driver.driven.run.has_snapshot_before(step) {
            Box::pin(driver.run_snapshot_hooks(StepEdge::Before, step, model.name())).await?;
        }
        if driver.driven.is_stopped() {
            return Ok(());
        }
        let Some(hooked) = Box::pin(HookedRequest::ask_hooks(driver, &*model, step)).await? else {
            return Ok(());
        };
        let until = now + driver.driven.shared.env.settings.step_time_max;
        let asked = Self {
            driver,
            terms: StepTerms { step, tools, until, hooked },
            attempt,
            others,
            attempts: Attempts::default(),
            compaction: CompactionState::default(),
        };
        asked.ask_with_retries(model).await
    }

    fn driven(&self) -> &DrivenRun {
        &self.driver.driven
    }

    fn time_left(&self) -> Duration {
        self.terms.until.saturating_duration_since(Instant::now())
    }

    /// Asks until there is an answer or nothing is left to try.
    async fn ask_with_retries(mut self, mut model: Arc<dyn Model>) -> Result<(), DriveError> {
        loop {
            self.probe_if_unknown(&*model).await?;
            let mode = self.mode_for(&*model);
            self.compact_if_long(&model, &mode).await?;
            if self.driven().is_stopped() {
                return Ok(());
            }
            let broken = match self.request_and_record_health(&*model, &mode).await? {
                Attempt::Complete(message) if self.must_ask_again_for_call(&message) => {
                    Box::pin(self.prepare_call_reminder(message, &*model)).await?;
                    continue;
                }
                Attempt::Complete(message) | Attempt::Stopped(message) => {
                    return self.record_message(message, &*model).await;
                }
                Attempt::Broken(broken, seen) => {
                    if !seen.is_empty() {
                        self.attempts.cut_text = seen;
                    }
                    broken
                }
            };
            match Box::pin(self.handle_failure(model, &mode, broken)).await? {
                Some(next) if !self.driven().is_stopped() => model = next,
                _ => return Ok(()),
            }
        }
    }

    /// Asks once; how that went is noted with the model.
    async fn request_and_record_health(
        &mut self,
        model: &dyn Model,
        mode: &Mode,
    ) -> Result<Attempt, DriveError> {
        let shared = self.driven().shared.clone();
        if self.attempts.tries == 0 {
            shared.models.with_health(model.name(), |health| health.budget.earn_for_question(Instant::now()));
        }
        self.attempts.tries += 1;
        self.attempts.tally.count_try(model.name());
        let began = Instant::now();
        let attempt = self.request_once(model, mode).await?;
        if let Some(counters) = shared.models.counters(model.name()) {
            counters.record_request(attempt.request_outcome(), began.elapsed());
        }
        if let Attempt::Complete(_) = attempt {
            shared.models.with_health(model.name(), |health| health.record_answer(began.elapsed()));
        }
        Ok(attempt)
    }

    /// Does what is to be done about a failure. Gives the model that is asked next; none where the step is over.
    async fn handle_failure(
        &mut self,
        model: Arc<dyn Model>,
        mode: &Mode,
        broken: BrokenAnswer,
    ) -> Result<Option<Arc<dyn Model>>, DriveError> {
        let other = self.next_fallback();
        let decision = self.decide_retry_and_record_health(&*model, mode, &broken, other);
        let BrokenAnswer { error, shown } = broken;
        self.attempts.restarts += u32::from(shown);
        let (run, name, tries) = (self.driven().run.id(), model.name(), self.attempts.tries);
        tracing::warn!(%run, model = name, tries, shown, %error, ?decision, "model gave no answer");
        match (decision, other) {
            (RetryDecision::RetryInPrompt, _) => {
                self.driven().shared.models.learn_no_native_tools(name);
                self.discard_attempt(shown, error.message).await?;
                self.attempts.tries = 0;
                Ok(Some(model))
            }
            (RetryDecision::Compact, _) => {
                self.discard_attempt(shown, error.message.clone()).await?;
                self.compact_and_retry(model, mode, error).await
            }
            (RetryDecision::Retry(pause), _) => {
                self.discard_attempt(shown, error.message).await?;
                self.driver.wait_unless_stopped(tokio::time::sleep(pause)).await?;
                Ok(Some(model))
            }
            (RetryDecision::Fallback, Some(other)) => {
                let next = self.others.drain(..=other).next_back().unwrap_or(model);
                self.attempts.tries = 0;
                let because = format!("{}; `{}` is asked instead", error.message, next.name());
                self.discard_attempt(shown, because).await?;
                Ok(Some(next))
            }
            (RetryDecision::Fallback, None) | (RetryDecision::GiveUp, _) => {
                self.give_up(&error).await?;
                Ok(None)
            }
        }
    }

    /// Makes the past shorter after a question was refused for its length, and asks the same model again if that helps.
    async fn compact_and_retry(
        &mut self,
        model: Arc<dyn Model>,
        mode: &Mode,
        error: ModelError,
    ) -> Result<Option<Arc<dyn Model>>, DriveError> {
        if !self.compact_after_rejection(&model, mode).await? && !self.driven().is_stopped() {
            self.give_up(&error).await?;
            return Ok(None);
        }
        self.attempts.tries = 0;
        Ok(Some(model))
    }

    /// The first of the others whose answer can be expected in time.
    fn next_fallback(&self) -> Option<usize> {
        let left = self.time_left();
        let models = &self.driven().shared.models;
        let usual = |model: &dyn Model| models.with_health(model.name(), |health| health.usual_duration());
        self.others.iter().position(|other| retry::fits_in_time(left, usual(&**other)))
    }

    /// What to do about a failure; what that means for the model's health is noted at once.
    fn decide_retry_and_record_health(
        &self,
        model: &dyn Model,
        mode: &Mode,
        broken: &BrokenAnswer,
        other: Option<usize>,
    ) -> RetryDecision {
        let shared = &self.driven().shared;
        let (now, chance) = (Instant::now(), shared.env.world.random_fraction());
        let BrokenAnswer { error, shown } = broken;
        let tries_max = retry::tries_max(&self.request_params(model));
        shared.models.with_health(model.name(), |health| {
            let failed = FailedAttempt {
                error,
                shown: *shown,
                tries: self.attempts.tries,
                tries_max,
                restarts: self.attempts.restarts,
                may_prompt: *mode == Mode::Native && self.tool_mode_for(model) == ToolMode::Auto,
                may_compact: shared.env.settings.compaction.enabled && !self.compaction.was_refused,
                in_budget: health.budget.allows_retry(now),
                has_fallback: other.is_some(),
                time_left: self.time_left(),
                usual: health.usual_duration(),
                chance,
            };
            let decision = retry::decide_retry(&failed);
            let run = self.driven().run.id();
            tracing::debug!(%run, model = model.name(), ?failed, ?decision, "retry decided");
            if let RetryDecision::Retry(_) = decision {
                health.budget.spend_retry();
            }
            if let ModelErrorKind::Unavailable | ModelErrorKind::Broken | ModelErrorKind::Key = error.kind {
                if let Some(pause) = error.retry_after {
                    health.record_pause(now, pause);
                }
                if let RetryDecision::Fallback | RetryDecision::GiveUp = decision {
                    health.record_failure(now);
                }
            }
            decision
        })
    }

    /// Tells readers that what they saw of the step does not count, and puts on record what it took. If it was neither
    /// seen nor paid for, there is nothing to tell.
    async fn discard_attempt(&mut self, shown: bool, because: String) -> Result<(), DriveError> {
        let spent = self.driver.memory.cost.take_cost();
        if !shown && spent.is_none() {
            return Ok(());
        }
        self.attempt += 1;
        let restarted = Fact::StepRestarted { step: self.terms.step, attempt: self.attempt, because, spent };
        self.driven().journal.record(restarted).await?;
        // The message that follows says which attempt it is of.
        self.driver.driven.apply_written_facts();
        Ok(())
    }

    /// Whether an answer is words where a call was required, and the model has not been reminded of it yet.
    fn must_ask_again_for_call(&self, message: &ModelMessage) -> bool {
        let driven = self.driven();
        let required =
            matches!(driven.run.current_tool_choice(), ToolChoice::Required | ToolChoice::Named(_));
        let could_call = self.terms.tools == Tools::Offered && driven.tools.toolbox.specs().next().is_some();
        let chose_words = matches!(message.reason, StopReason::Stop | StopReason::Other);
        required && could_call && chose_words && message.calls.is_empty() && self.attempts.words.is_none()
    }

    /// Asks once more, with the answer as a bad example.
    async fn prepare_call_reminder(
        &mut self,
        message: ModelMessage,
        model: &dyn Model,
    ) -> Result<(), DriveError> {
        let (run, model) = (self.driven().run.id(), model.name());
        tracing::warn!(%run, model, "model wrote no required call: asked once more");
        self.attempts.words = Some(text_of_message(&message));
        let spent = Spent { usage: message.usage, cost_nanos: message.cost_nanos };
        self.driver.memory.cost.add_attempt_cost(&message.mode, (self.terms.step, self.attempt), spent);
        self.attempts.tries = 0;
        let because = "a tool call was required and the model answered in words".into();
        self.discard_attempt(true, because).await
    }

    /// Recorded: durable before any call of it that can change something is sent.
    async fn record_message(
        &mut self,
        mut message: ModelMessage,
        model: &dyn Model,
    ) -> Result<(), DriveError> {
        let driven = self.driven();
        driven.shared.env.world.failpoint("model.heard");
        message.model = self.fallback_name(model);
        message.fingerprint = driven.shared.models.fingerprint(model.name());
        message.params.clone_from(&self.terms.hooked.params);
        driven.journal.record(driven.run.facts_of_message(message)).await?;
        driven.shared.env.world.failpoint("model.noted");
        Ok(())
    }

    /// The name of a fallback model; none for the run's own, whose name is in the setup.
    fn fallback_name(&self, model: &dyn Model) -> Option<String> {
        (model.name() != self.driven().run.setup().model).then(|| model.name().to_owned())
    }

    /// How a request wants the run's own model to call tools. One that stands in for it calls in its own way.
    fn mode_in_request(&self, model: &dyn Model) -> Option<Mode> {
        self.driven().run.setup().mode.clone().filter(|_| self.fallback_name(model).is_none())
    }

    fn tool_mode_for(&self, model: &dyn Model) -> ToolMode {
        self.mode_in_request(model).map_or_else(|| model.tool_mode(), ToolMode::Fixed)
    }

    fn mode_for(&self, model: &dyn Model) -> Mode {
        let shared = &self.driven().shared;
        let default = &shared.env.settings.default_profile;
        self.mode_in_request(model).unwrap_or_else(|| shared.models.tool_mode(model, default))
    }

    /// A model of which nothing is known is probed before its first question, if that does not take too long: otherwise
    /// the question goes first, and the next one profits.
    async fn probe_if_unknown(&mut self, model: &dyn Model) -> Result<(), DriveError> {
        let shared = &self.driven().shared;
        if self.mode_in_request(model).is_some() || !shared.models.needs_probe(model) {
            return Ok(());
        }
        let probe = shared.probe_in_background(model.name());
        let known = async {
            _ = tokio::time::timeout(PROBE_PATIENCE, probe).await;
        };
        Box::pin(self.driver.wait_unless_stopped(known)).await
    }

    /// Ends the run after the last failure; what people have read stays on record.
    async fn give_up(&mut self, error: &ModelError) -> Result<(), DriveError> {
        let told = match error.kind {
            ModelErrorKind::TooLong => add_too_long_advice(&error.message),
            _ => error.message.clone(),
        };
        let message = self.attempts.tally.describe_failure(&told);
        let step = self.terms.step;
        let seen = std::mem::take(&mut self.attempts.cut_text).into_iter();
        let seen = seen.map(|(part, text)| Fact::TextCutOff { step, part, text });
        let notice = error.notice.clone();
        let failed = Fact::RunFailed { code: error.code().into(), message, notice };
        self.driver.end_run(seen.chain([failed]).collect(), RunState::Failed).await.map(drop)
    }
}

async fn fail_run(driver: &mut Driver, code: &str, message: String) -> Result<(), DriveError> {
    let failed = Fact::RunFailed { code: code.into(), message, notice: None };
    driver.end_run(vec![failed], RunState::Failed).await.map(drop)
}

/// What a message says, without its reasoning.
fn text_of_message(message: &ModelMessage) -> String {
    let words = message.parts.iter().filter_map(|part| match part {
        ModelMessagePart::Text { text, .. } => Some(text.as_str()),
        ModelMessagePart::Reasoning { .. } => None,
    });
    words.collect::<Vec<_>>().join("\n\n")
}
