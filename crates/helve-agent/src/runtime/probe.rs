//! Probing models, and remembering what came out.

use std::sync::Arc;

use helve_dialect::Profile;
use helve_model::ModelError;
use helve_model::fleet::Probe;
use helve_model::fleet::prompt_mode::profile_of;
use helve_store::{Page, RunFilter, Scope, StoreError};
use helve_types::{Mode, ModelProfile};
use tokio::task::JoinHandle;

use super::{Runtime, Shared};
use crate::agents::Agent;

/// The profiles that a model without native calls is tried with, after the operator's own choice: from what small
/// models follow best to what the others still understand.
const TRIED: [&str; 4] = ["small", "hermes", "json_strict", "xml_tag"];

/// So many of the latest runs tell which model each user chose last.
const RUNS_RECALLED: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("there is no model `{0}`")]
    Unknown(String),

    #[error(transparent)]
    Model(#[from] ModelError),

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Runtime {
    /// Asks a model what it can do, keeps the answer, and goes by it from now on.
    pub async fn probe(
        &self,
        model: &str,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<ModelProfile, ProbeError> {
        self.shared.probe(model, progress).await
    }

    /// Takes in what is known of the models from earlier, and from other processes.
    pub async fn recall_profiles(&self) -> Result<(), StoreError> {
        for (model, profile) in self.shared.store.model_profiles().await? {
            self.shared.models.learn_profile(&model, profile);
        }
        Ok(())
    }

    /// Finds in the latest runs which model each user chose last. A model that an agent brings was nobody's choice.
    pub async fn recall_choices(&self) -> Result<(), StoreError> {
        let latest =
            self.shared.store.runs(Scope::Everyone, RunFilter::default(), Page::first(RUNS_RECALLED)).await?;
        // The oldest first, so that the latest counts.
        for run in latest.into_iter().rev() {
            let of_agent = |agent: &Agent| {
                agent.settings.name == run.setup.agent
                    && agent.settings.model.as_ref() == Some(&run.setup.model)
            };
            if !self.shared.agents.iter().any(of_agent) {
                self.shared.models.remember_choice(&run.user, &run.setup.model, run.setup.model_is_chosen);
            }
        }
        Ok(())
    }
}

impl Shared {
    /// The probe goes on if nobody waits for it any more.
    pub(crate) fn probe_in_background(self: &Arc<Self>, model: &str) -> JoinHandle<()> {
        let (shared, model) = (self.clone(), model.to_owned());
        self.tasks.spawn(async move {
            let mut unwatched = |_: &str| {};
            tokio::select! {
                () = shared.closing.cancelled() => {}
                found = shared.probe(&model, &mut unwatched) => match found {
                    Ok(profile) => tracing::info!(
                        model,
                        native = ?profile.native.is,
                        prompt = profile.prompt,
                        questions = profile.questions,
                        "a model that was new here was asked what it can do"
                    ),
                    Err(error) => tracing::warn!(model, %error, "the model could not be asked what it can do"),
                },
            }
        })
    }

    /// Whoever asks while somebody else does waits for that answer, and takes it.
    async fn probe(
        &self,
        model: &str,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<ModelProfile, ProbeError> {
        let unknown = || ProbeError::Unknown(model.to_owned());
        let asked = self.models.get(model).ok_or_else(unknown)?;
        let options = self.models.options(model).ok_or_else(unknown)?;
        let known = self.models.profile(model);
        let probing = self.models.probing(model);
        let _alone = probing.lock().await;
        if let Some(found) = self.models.profile(model)
            && !known.is_some_and(|known| Arc::ptr_eq(&known, &found))
        {
            return Ok((*found).clone());
        }
        let probe = Probe::new(&*asked, &options.subject, self.world.now(), self.profiles_to_try(), progress);
        let profile = probe.run().await?;
        self.store.keep_model_profile(model.to_owned(), profile.clone()).await?;
        self.models.learn_profile(model, profile.clone());
        Ok(profile)
    }

    fn profiles_to_try(&self) -> Vec<&Profile> {
        let own = &*self.settings.default_profile;
        let names = std::iter::once(own).chain(TRIED.into_iter().filter(|name| *name != own));
        names.filter_map(|name| profile_of(&Mode::Prompt(name.to_owned()), &self.settings.profiles)).collect()
    }
}
