//! One try at one model, while people may still speak.

use helve_dialect::Profile;
use helve_model::fleet::RequestOutcome;
use helve_model::fleet::prompt_mode::profile_of;
use helve_model::fleet::tokens::of_request;
use helve_model::{Model, ModelError, ModelErrorKind};
use helve_types::{Fingerprint, Mode, ModelParams, PartId};
use tokio::time::Instant;

use super::Quest;
use crate::ask::Asking;
use crate::drive::{DriveError, Driver};
use crate::listen::{Broken, Listener};
use crate::run::ModelMessage;
use crate::transcript::Reader;

/// How one try at asking ended.
pub(super) enum Try {
    Heard(ModelMessage),
    /// A person stopped it; this is what had been said.
    Stopped(ModelMessage),
    /// It broke off; this much of its text was seen.
    Broken(Broken, Vec<(PartId, String)>),
}

impl Try {
    /// For those who count.
    pub(super) fn how(&self) -> RequestOutcome {
        match self {
            Self::Heard(_) => RequestOutcome::Answered,
            Self::Stopped(_) => RequestOutcome::Stopped,
            Self::Broken(broken, _) => RequestOutcome::Failed(broken.error.kind),
        }
    }
}

impl Driver {
    pub(super) async fn try_once(
        &mut self,
        model: &dyn Model,
        mode: &Mode,
        quest: &Quest,
    ) -> Result<Try, DriveError> {
        let shared = self.shared.clone();
        let profile = profile_of(mode, &shared.env.settings.profiles);
        if let (Mode::Prompt(name), None) = (mode, profile) {
            let message = format!("there is no prompt profile `{name}`");
            let error = ModelError::new(ModelErrorKind::Refused, message);
            return Ok(Try::Broken(Broken { error, shown: false }, vec![]));
        }
        let params = self.params(model, quest);
        let fingerprint = self.shared.models.fingerprint(model.name());
        let asking = self.asking(model, fingerprint.as_ref(), profile, &params, quest);
        let feed = self.feed.clone();
        let after_seq = self.journal.pending_seq();
        let mut listener =
            Listener::new(&feed, quest.step, quest.attempt, after_seq, asking.reading(), asking.results());
        let asked = Instant::now();
        let request = asking.request();
        let estimated = shared.env.settings.compaction.enabled.then(|| of_request(&request));
        let mut stream = model.ask(&request);
        drop(request);
        let ended = loop {
            tokio::select! {
                // The stream before people: tokens are the common case.
                biased;
                read = listener.read_on(&mut stream) => match read {
                    Ok(Some(call)) => self.begin_early(quest, call).await?,
                    Ok(None) => break Ended::Itself(Ok(())),
                    Err(broken) => break Ended::Itself(Err(broken)),
                },
                Some(command) = self.commands.recv() => {
                    self.obey(command).await?;
                    if self.cancelled_by.is_some() {
                        break Ended::ByPerson;
                    }
                }
                () = shared.shutdown.halt.cancelled() => return Err(DriveError::Halted),
                () = tokio::time::sleep_until(quest.until) => break Ended::ByTime,
            }
        };
        // Dropping it stops the model.
        drop(stream);
        if let (Some(first), Some(counters)) = (listener.first_at(), shared.models.counters(model.name())) {
            counters.record_first_token(first - asked);
        }
        if let Some(estimated) = estimated {
            self.learn_tokens(model, &params, estimated, listener.usage());
        }
        if let Some(dialect) = listener.dialect() {
            shared.models.learn_dialect(model.name(), dialect);
        }
        let heard = match ended {
            Ended::ByPerson => {
                let stopped = listener.stopped(mode.clone());
                self.discard_early_reads().await?;
                return Ok(Try::Stopped(self.priced(model, stopped)));
            }
            Ended::Itself(heard) => heard,
            Ended::ByTime => {
                let message = format!("the model `{}` did not answer in the time of the step", model.name());
                listener.cut_off(ModelError::new(ModelErrorKind::Unavailable, message))
            }
        };
        Ok(match heard {
            Ok(()) => {
                let heard = listener.heard(mode.clone(), quest.tools);
                self.discard_unrequested_reads(&heard).await?;
                Try::Heard(self.priced(model, heard))
            }
            Err(broken) => {
                self.discard_early_reads().await?;
                self.lose(model, mode, quest.step, quest.attempt, listener.usage());
                Try::Broken(broken, listener.cut_text())
            }
        })
    }
}

impl Driver {
    /// What the model is asked with for this step.
    pub(in crate::drive) fn params(&self, model: &dyn Model, quest: &Quest) -> ModelParams {
        quest.hooked.over(self.shared.models.params(model, self.run.setup()))
    }

    /// Everything that the question of this step is made of.
    pub(in crate::drive) fn asking<'a>(
        &'a self,
        model: &'a dyn Model,
        fingerprint: Option<&'a Fingerprint>,
        profile: Option<&'a Profile>,
        params: &'a ModelParams,
        quest: &'a Quest,
    ) -> Asking<'a> {
        let models = &self.shared.models;
        let choice = self.run.choice();
        Asking {
            run: &self.run,
            system: quest.hooked.system.as_deref().unwrap_or(&self.run.setup().system),
            reader: Reader { model: model.name(), fingerprint },
            history: &self.history,
            kit: &self.kit,
            tools: quest.tools,
            params,
            needs: models.needs(model.name()),
            profile,
            choice,
            holds: model.form_support(),
            takes_choice: models.accepts_choice(model, choice, params),
            words: quest.words.as_deref(),
            reasoning_open: models.reasoning_open(model.name()),
            calls_in_text: models.calls_in_text(model.name()),
        }
    }
}

/// What ended the hearing.
enum Ended {
    Itself(Result<(), Broken>),
    ByPerson,
    ByTime,
}
