//! Probing models on request, and remembering what came out.

use helve_agent::{Agent, ProbeError};
use helve_store::{Page, RunFilter, Scope, StoreError};
use helve_types::ModelProfile;

use crate::Runtime;

/// So many of the latest runs tell which model each user chose last.
const RUNS_RECALLED: usize = 200;

impl Runtime {
    /// Asks a model what it can do, keeps the answer, and goes by it from now on.
    pub async fn probe(
        &self,
        model: &str,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<ModelProfile, ProbeError> {
        self.shared.context.probe(model, progress).await
    }

    /// Takes in what is known of the models from earlier, and from other processes.
    pub async fn recall_profiles(&self) -> Result<(), StoreError> {
        for (model, profile) in self.shared.env().store.model_profiles().await? {
            self.shared.context.models.learn_profile(&model, profile);
        }
        Ok(())
    }

    /// Finds in the latest runs which model each user chose last. A model that an agent brings was nobody's choice.
    pub async fn recall_choices(&self) -> Result<(), StoreError> {
        let latest = self
            .shared
            .env()
            .store
            .runs(Scope::Everyone, RunFilter::default(), Page::first(RUNS_RECALLED))
            .await?;
        // The oldest first, so that the latest counts.
        for run in latest.into_iter().rev() {
            let of_agent = |agent: &Agent| {
                agent.settings.name == run.setup.agent
                    && agent.settings.model.as_ref() == Some(&run.setup.model)
            };
            if !self.shared.env().agents.iter().any(of_agent) {
                self.shared.context.models.remember_choice(
                    &run.user,
                    &run.setup.model,
                    run.setup.model_is_chosen,
                );
            }
        }
        Ok(())
    }
}
