//! One attempt at one model, while people may still speak.

use helve_dialect::Profile;
use helve_model::fleet::RequestOutcome;
use helve_model::fleet::prompt_mode::find_profile;
use helve_model::fleet::tokens::estimate_request_tokens;
use helve_model::{Model, ModelError, ModelErrorKind, ModelStream};
use helve_types::{Fingerprint, Mode, ModelParams, PartId, Spent, Usage};
use tokio::time::Instant;

use super::ModelStep;
use super::collect::{BrokenAnswer, StreamCollector, WrittenCall};
use super::cost::compute_and_count_cost;
use crate::ask::RequestBuilder;
use crate::drive::DriveError;
use crate::run::{ModelMessage, Tools};
use crate::transcript::Reader;

/// How one attempt ended.
pub(super) enum Attempt {
    Complete(ModelMessage),
    /// A person stopped it; this is what had been said.
    Stopped(ModelMessage),
    /// It broke off; this much of its text was seen.
    Broken(BrokenAnswer, Vec<(PartId, String)>),
}

impl Attempt {
    fn missing_profile(name: &str) -> Self {
        let message = format!("there is no prompt profile `{name}`");
        let error = ModelError::new(ModelErrorKind::Refused, message);
        Self::Broken(BrokenAnswer { error, shown: false }, vec![])
    }

    /// For the model's counters.
    pub(super) fn request_outcome(&self) -> RequestOutcome {
        match self {
            Self::Complete(_) => RequestOutcome::Answered,
            Self::Stopped(_) => RequestOutcome::Stopped,
            Self::Broken(broken, _) => RequestOutcome::Failed(broken.error.kind),
        }
    }
}

/// What ended the reading of a stream.
enum StreamEnd {
    Itself(Result<(), BrokenAnswer>),
    ByPerson,
    ByTime,
}

impl ModelStep<'_> {
    pub(super) async fn request_once(
        &mut self,
        model: &dyn Model,
        mode: &Mode,
    ) -> Result<Attempt, DriveError> {
        let shared = self.driven().shared.clone();
        let profile = find_profile(mode, &shared.env.settings.profiles);
        if let (Mode::Prompt(name), None) = (mode, profile) {
            return Ok(Attempt::missing_profile(name));
        }
        let params = self.request_params(model);
        let fingerprint = shared.models.fingerprint(model.name());
        let asking = self.request_builder(model, fingerprint.as_ref(), profile, &params);
        let feed = self.driven().feed.clone();
        let after_seq = self.driven().journal.pending_seq();
        let mut collector = StreamCollector::new(
            &feed,
            (self.terms.step, self.attempt),
            after_seq,
            asking.build_reading(),
            asking.invented_result_beginnings(),
        );
        let asked = Instant::now();
        let request = asking.build_request();
        let estimated = shared.env.settings.compaction.enabled.then(|| estimate_request_tokens(&request));
        let stream = model.ask(&request);
        drop(request);
        let ended = self.read_stream_and_commands(&mut collector, stream).await?;
        self.record_first_token_and_dialect(model, &collector, asked);
        if let Some(estimated) = estimated {
            self.record_token_ratio(model, &params, estimated, collector.usage());
        }
        Box::pin(self.finish_attempt(model, mode, collector, ended)).await
    }

    /// Reads the stream, while calls that only read are begun early and people may speak. Then the stream is dropped,
    /// which stops the model.
    async fn read_stream_and_commands(
        &mut self,
        collector: &mut StreamCollector<'_>,
        mut stream: ModelStream,
    ) -> Result<StreamEnd, DriveError> {
        let halt = self.driven().shared.shutdown.halt.clone();
        loop {
            tokio::select! {
                // The stream before people: tokens are the common case.
                biased;
                read = collector.read_until_call_or_end(&mut stream) => match read {
                    Ok(Some(call)) => Box::pin(self.start_early_read_if_allowed(call)).await?,
                    Ok(None) => return Ok(StreamEnd::Itself(Ok(()))),
                    Err(broken) => return Ok(StreamEnd::Itself(Err(broken))),
                },
                Some(command) = self.driver.next_command() => {
                    Box::pin(self.driver.handle_command(command)).await?;
                    if self.driven().is_stopped() {
                        return Ok(StreamEnd::ByPerson);
                    }
                }
                () = halt.cancelled() => return Err(DriveError::Halted),
                () = tokio::time::sleep_until(self.terms.until) => return Ok(StreamEnd::ByTime),
            }
        }
    }

    async fn start_early_read_if_allowed(&mut self, call: WrittenCall) -> Result<(), DriveError> {
        if self.terms.tools == Tools::Withheld {
            return Ok(());
        }
        let attempt = (self.terms.step, self.attempt);
        self.driver.calls.start_early_read_if_allowed(&self.driver.driven, attempt, call).await
    }

    /// Notes what the answer says about the model that gave it.
    fn record_first_token_and_dialect(
        &self,
        model: &dyn Model,
        collector: &StreamCollector<'_>,
        asked: Instant,
    ) {
        let models = &self.driven().shared.models;
        if let (Some(first), Some(counters)) = (collector.first_event_at(), models.counters(model.name())) {
            counters.record_first_token(first - asked);
        }
        if let Some(dialect) = collector.dialect() {
            models.learn_dialect(model.name(), dialect);
        }
    }

    /// Makes a message of what was collected, with its cost.
    async fn finish_attempt(
        &mut self,
        model: &dyn Model,
        mode: &Mode,
        collector: StreamCollector<'_>,
        ended: StreamEnd,
    ) -> Result<Attempt, DriveError> {
        let complete = match ended {
            StreamEnd::ByPerson => {
                let stopped = collector.into_stopped_message(mode.clone());
                self.discard_early_reads().await?;
                return Ok(Attempt::Stopped(self.add_cost_to_message(model, stopped)));
            }
            StreamEnd::Itself(complete) => complete,
            StreamEnd::ByTime => {
                let message = format!("the model `{}` did not answer in the time of the step", model.name());
                collector.broken_unless_finished(ModelError::new(ModelErrorKind::Unavailable, message))
            }
        };
        Ok(match complete {
            Ok(()) => {
                let message = collector.into_message(mode.clone(), self.terms.tools);
                let driver = &mut *self.driver;
                driver.calls.discard_unrequested_reads(&mut driver.driven, &message).await?;
                Attempt::Complete(self.add_cost_to_message(model, message))
            }
            Err(broken) => {
                self.discard_early_reads().await?;
                self.add_failed_cost(model, mode, collector.usage());
                Attempt::Broken(broken, collector.shown_text())
            }
        })
    }

    async fn discard_early_reads(&mut self) -> Result<(), DriveError> {
        let driver = &mut *self.driver;
        driver.calls.discard_early_reads(&mut driver.driven).await
    }

    /// The message with its cost and with what failed attempts took on the way to it.
    fn add_cost_to_message(&mut self, model: &dyn Model, message: ModelMessage) -> ModelMessage {
        let failed = self.driver.memory.cost.take_cost().unwrap_or_default();
        let spent = compute_and_count_cost(&self.driven().shared.models, model, message.usage);
        let Spent { usage, cost_nanos } = failed.plus(spent);
        ModelMessage { usage, cost_nanos, ..message }
    }

    fn add_failed_cost(&mut self, model: &dyn Model, mode: &Mode, usage: Usage) {
        let spent = compute_and_count_cost(&self.driven().shared.models, model, usage);
        self.driver.memory.cost.add_attempt_cost(mode, (self.terms.step, self.attempt), spent);
    }

    /// What the model is asked with for this step.
    pub(super) fn request_params(&self, model: &dyn Model) -> ModelParams {
        let driven = self.driven();
        self.terms.hooked.apply_to_params(driven.shared.models.params(model, driven.run.setup()))
    }

    /// Everything that the question of this step is made of.
    pub(super) fn request_builder<'b>(
        &'b self,
        model: &'b dyn Model,
        fingerprint: Option<&'b Fingerprint>,
        profile: Option<&'b Profile>,
        params: &'b ModelParams,
    ) -> RequestBuilder<'b> {
        let driven = self.driven();
        let models = &driven.shared.models;
        let choice = driven.run.current_tool_choice();
        RequestBuilder {
            run: &driven.run,
            system: self.terms.hooked.system.as_deref().unwrap_or(&driven.run.setup().system),
            reader: Reader { model: model.name(), fingerprint },
            history: &driven.origin.history,
            run_tools: &driven.tools,
            tools: self.terms.tools,
            params,
            needs: models.server_needs(model.name()),
            profile,
            choice,
            holds: model.form_support(),
            takes_choice: models.accepts_choice(model, choice, params),
            words: self.attempts.words.as_deref(),
            reasoning_open: models.begins_inside_reasoning(model.name()),
            calls_in_text: models.leaves_calls_in_text(model.name()),
        }
    }
}
