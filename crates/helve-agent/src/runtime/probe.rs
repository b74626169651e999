//! Probing models, and remembering what came out.

use helve_dialect::Profile;
use helve_model::ModelError;
use helve_store::StoreError;
use helve_types::ModelProfile;

use super::Runtime;
use crate::ask::profile_of;
use crate::probe::Probe;

/// The profiles that a model without native calls is tried with, after the operator's own choice: from what small
/// models follow best to what the others still understand.
const TRIED: [&str; 4] = ["hermes", "json_strict", "llama3_json", "xml_tag"];

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
        let shared = &self.shared;
        let unknown = || ProbeError::Unknown(model.to_owned());
        let asked = shared.models.get(model).ok_or_else(unknown)?;
        let subject = &shared.models.options(model).ok_or_else(unknown)?.subject;
        let probe = Probe::new(&**asked, subject, shared.world.now(), self.profiles_to_try(), progress);
        let profile = probe.run().await?;
        shared.store.keep_model_profile(model.to_owned(), profile.clone()).await?;
        shared.models.learn_profile(model, profile.clone());
        Ok(profile)
    }

    /// Takes in what is known of the models from earlier, and from other processes.
    pub async fn recall_profiles(&self) -> Result<(), StoreError> {
        for (model, profile) in self.shared.store.model_profiles().await? {
            self.shared.models.learn_profile(&model, profile);
        }
        Ok(())
    }

    fn profiles_to_try(&self) -> Vec<&Profile> {
        let own = self.default_profile();
        let names = std::iter::once(own).chain(TRIED.into_iter().filter(|name| *name != own));
        let named = |name: &str| {
            profile_of(&helve_types::Mode::Prompt(name.to_owned()), &self.shared.settings.profiles)
        };
        names.filter_map(named).collect()
    }
}
