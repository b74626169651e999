//! Asking the model for one message, as often as it takes.

use std::time::Duration;

use helve_model::{Model, ModelError, ModelErrorKind, ToolMode};
use helve_types::{Fact, Mode, RunState};

use super::{DriveError, Driver};
use crate::ask::{Asking, profile_of};
use crate::listen::{Broken, Listener};
use crate::retry::{self, Next, Tried};
use crate::run::{Heard, Tools};

/// How one try at asking ended.
enum Try {
    Heard(Heard),
    /// A person stopped it; this is what had been said.
    Stopped(Heard),
    Broken(Broken),
}

impl Driver {
    pub(super) async fn ask_model(
        &mut self,
        step: u32,
        attempt: u32,
        tools: Tools,
    ) -> Result<(), DriveError> {
        let Some(model) = self.model.clone() else {
            let name = &self.run.setup().model;
            let message = format!("the model `{name}` is not configured any more");
            return self.fail("unknown_model", message).await;
        };
        let mut mode = self.mode(&*model);
        let mut attempt = attempt;
        let mut tried = Tried::default();
        loop {
            tried.tries += 1;
            let broken = match self.try_once(&*model, &mode, step, attempt, tools).await? {
                Try::Heard(heard) | Try::Stopped(heard) => {
                    self.shared.world.fate.at("model.heard");
                    // Durable together with whatever is committed next, and before it.
                    self.journal.note(self.run.heard(heard));
                    self.shared.world.fate.at("model.noted");
                    return Ok(());
                }
                Try::Broken(broken) => broken,
            };
            let Broken { error, shown } = broken;
            tracing::warn!(run = %self.run.id(), model = model.name(), %error, shown, "the model gave no answer");
            match retry::next(&error, shown, tried, &self.asked_mode(&*model), &mode) {
                Next::InPrompt => {
                    self.shared.models.learn_no_native_tools(model.name());
                    mode = self.mode(&*model);
                    tried.tries = 0;
                }
                Next::Again(pause) => self.pause(pause).await?,
                Next::Restart(pause) => {
                    tried.restarts += 1;
                    attempt += 1;
                    let because = error.message.clone();
                    self.journal.commit(Fact::StepRestarted { step, attempt, because }).await?;
                    self.pause(pause).await?;
                }
                Next::GiveUp => return self.fail(error.code(), error.message).await,
            }
            if self.cancelled_by.is_some() {
                return Ok(());
            }
        }
    }

    /// How the model is to call tools, as the request says or else the configuration.
    fn asked_mode(&self, model: &dyn Model) -> ToolMode {
        self.run.setup().mode.clone().map_or_else(|| model.tool_mode(), ToolMode::Fixed)
    }

    fn mode(&self, model: &dyn Model) -> Mode {
        let wanted = self.run.setup().mode.clone();
        wanted.unwrap_or_else(|| self.shared.models.mode(model, &self.shared.settings.default_profile))
    }

    async fn try_once(
        &mut self,
        model: &dyn Model,
        mode: &Mode,
        step: u32,
        attempt: u32,
        tools: Tools,
    ) -> Result<Try, DriveError> {
        let shared = self.shared.clone();
        let profile = profile_of(mode, &shared.settings.profiles);
        if let (Mode::Prompt(name), None) = (mode, profile) {
            let message = format!("there is no prompt profile `{name}`");
            let error = ModelError::new(ModelErrorKind::Refused, message);
            return Ok(Try::Broken(Broken { error, shown: false }));
        }
        let params = self.run.setup().params.clone().over(model.params());
        let asking = Asking {
            run: &self.run,
            model: model.name(),
            history: &self.history,
            kit: &self.kit,
            tools,
            params: &params,
            profile,
            holds: model.holds(),
        };
        let feed = self.feed.clone();
        let mut listener = Listener::new(&feed, step, attempt, asking.reading());
        let stream = model.ask(&asking.request());
        let ended = {
            let mut hearing = std::pin::pin!(listener.hear(stream));
            loop {
                tokio::select! {
                    // The stream first: tokens are the common case.
                    biased;
                    ended = &mut hearing => break Some(ended),
                    Some(command) = self.commands.recv() => {
                        self.obey(command).await?;
                        if self.cancelled_by.is_some() {
                            break None;
                        }
                    }
                    () = shared.halt.cancelled() => return Err(DriveError::Halted),
                }
            }
        };
        if let Some(dialect) = listener.dialect() {
            shared.models.learn_dialect(model.name(), dialect);
        }
        Ok(match ended {
            None => Try::Stopped(listener.stopped(mode.clone())),
            Some(Ok(())) => Try::Heard(listener.heard(mode.clone(), tools)),
            Some(Err(broken)) => Try::Broken(broken),
        })
    }

    /// Waits before the next try, but not for longer than anybody wants.
    async fn pause(&mut self, pause: Duration) -> Result<(), DriveError> {
        let pause = pause.mul_f64(0.5 + self.shared.world.chance() / 2.0);
        let until = tokio::time::Instant::now() + pause;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Ok(()),
                Some(command) = self.commands.recv() => {
                    self.obey(command).await?;
                    if self.cancelled_by.is_some() {
                        return Ok(());
                    }
                }
                () = self.shared.halt.cancelled() => return Err(DriveError::Halted),
            }
        }
    }

    async fn fail(&mut self, code: &str, message: String) -> Result<(), DriveError> {
        let failed = Fact::RunFailed { code: code.into(), message };
        self.end(vec![failed], RunState::Failed).await.map(drop)
    }
}
