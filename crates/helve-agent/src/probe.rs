//! Probing models: before their first question, or on request.

use std::sync::Arc;

use helve_dialect::Profile;
use helve_model::ModelError;
use helve_model::fleet::Probe;
use helve_model::fleet::prompt_mode::find_profile;
use helve_store::StoreError;
use helve_types::{Mode, ModelProfile};
use tokio::task::JoinHandle;

use crate::context::DriverContext;

/// The profiles that a model without native calls is tried with, after the operator's own choice: from what small
/// models follow best to what the others still understand.
const TRIED: [&str; 4] = ["small", "hermes", "json_strict", "xml_tag"];

#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("there is no model `{0}`")]
    Unknown(String),

    #[error(transparent)]
    Model(#[from] ModelError),

    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DriverContext {
    /// The probe goes on if its caller is gone.
    pub(crate) fn probe_in_background(self: &Arc<Self>, model: &str) -> JoinHandle<()> {
        let (shared, model) = (self.clone(), model.to_owned());
        self.tasks.spawn(async move {
            let mut unwatched = |_: &str| {};
            tokio::select! {
                () = shared.shutdown.closing.cancelled() => {}
                found = shared.probe_model(&model, &mut unwatched) => match found {
                    Ok(profile) => tracing::info!(
                        model,
                        native = ?profile.native.is,
                        prompt = profile.prompt,
                        questions = profile.questions,
                        "model probed before its first question"
                    ),
                    Err(error) => tracing::warn!(model, %error, "model probe failed"),
                },
            }
        })
    }

    /// A caller that comes during a probe waits for its result.
    pub async fn probe_model(
        &self,
        model: &str,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<ModelProfile, ProbeError> {
        let unknown = || ProbeError::Unknown(model.to_owned());
        let asked = self.models.get(model).ok_or_else(unknown)?;
        let options = self.models.options(model).ok_or_else(unknown)?;
        let known = self.models.profile(model);
        let probing = self.models.probe_lock(model);
        let _alone = probing.lock().await;
        if let Some(found) = self.models.profile(model)
            && !known.is_some_and(|known| Arc::ptr_eq(&known, &found))
        {
            return Ok((*found).clone());
        }
        let probe =
            Probe::new(&*asked, &options.subject, self.env.world.now(), self.profiles_to_try(), progress);
        let profile = probe.run().await?;
        self.env.store.keep_model_profile(model.to_owned(), profile.clone()).await?;
        self.models.learn_profile(model, profile.clone());
        Ok(profile)
    }

    fn profiles_to_try(&self) -> Vec<&Profile> {
        let own = &*self.env.settings.default_profile;
        let names = std::iter::once(own).chain(TRIED.into_iter().filter(|name| *name != own));
        names
            .filter_map(|name| find_profile(&Mode::Prompt(name.to_owned()), &self.env.settings.profiles))
            .collect()
    }
}
