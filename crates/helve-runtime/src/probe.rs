//! What is known of models and of users' choices from before this process.

use std::sync::Arc;

use helve_agent::Agent;
use helve_store::{Page, RunFilter, Scope, StoreError};

use crate::Shared;

/// So many of the latest runs tell which model each user chose last.
const RUNS_RECALLED: usize = 200;

/// Takes in what is known of the models from earlier, and from other processes.
pub(crate) async fn load_model_profiles(shared: &Shared) -> Result<(), StoreError> {
    for (model, profile) in shared.env().store.model_profiles().await? {
        shared.context.models.learn_profile(&model, profile);
    }
    Ok(())
}

/// Finds in the latest runs which model each user chose last. A model that an agent brings was not chosen by a user.
pub(crate) async fn load_user_model_choices(shared: &Shared) -> Result<(), StoreError> {
    let latest =
        shared.env().store.runs(Scope::Everyone, RunFilter::default(), Page::first(RUNS_RECALLED)).await?;
    let agents = shared.env().agents.enabled_agents();
    // The oldest first, so that the latest counts.
    for run in latest.into_iter().rev() {
        let of_agent = |agent: &Arc<Agent>| {
            agent.settings.name == run.setup.agent && agent.settings.model.as_ref() == Some(&run.setup.model)
        };
        if !agents.iter().any(of_agent) {
            shared.context.models.record_last_model(&run.user, &run.setup.model, run.setup.model_is_chosen);
        }
    }
    Ok(())
}
