//! What the operator's hooks want of a question, asked once for each step.

use helve_model::Model;
use helve_tool::{HookQuestion, HookRefusal};
use helve_types::ModelParams;

use super::fail_run;
use crate::drive::{DriveError, Driver};

/// What hooks have made of a step's question.
#[derive(Debug, Default)]
pub(super) struct HookedRequest {
    pub(super) system: Option<String>,
    pub(super) params: Option<ModelParams>,
}

impl HookedRequest {
    /// The parameters with those of the hooks over them, whichever model is asked.
    pub(super) fn apply_to_params(&self, params: ModelParams) -> ModelParams {
        match &self.params {
            Some(laid) => laid.clone().with_defaults(&params),
            None => params,
        }
    }

    /// Asks the hooks. None if a person or a hook stopped the run; a hook's stop is a failure.
    pub(super) async fn ask_hooks(
        driver: &mut Driver,
        model: &dyn Model,
        step: u32,
    ) -> Result<Option<Self>, DriveError> {
        let shared = driver.driven.shared.clone();
        let hooks = &shared.env.settings.hooks;
        let setup = driver.driven.run.setup().clone();
        if !hooks.has_question_hooks(&setup.agent) {
            return Ok(Some(Self::default()));
        }
        let user = driver.driven.origin.user.clone();
        let question = HookQuestion {
            run: driver.driven.run.id(),
            conversation: driver.driven.origin.conversation,
            agent: &setup.agent,
            user: &user,
            model: model.name(),
            step,
        };
        let mut asked: Option<Result<Self, HookRefusal>> = None;
        let ask = async {
            let params = shared.models.params(model, &setup);
            let hooked = async {
                Ok(Self {
                    system: hooks.ask_for_system_prompt(&question, &setup.system).await?,
                    params: hooks.ask_for_params(&question, &params).await?,
                })
            };
            asked = Some(hooked.await);
        };
        driver.wait_unless_stopped(ask).await?;
        match asked {
            None => Ok(None),
            Some(Ok(hooked)) => Ok(Some(hooked)),
            Some(Err(refusal)) => {
                fail_run(driver, "hook_refused", refusal.to_string()).await?;
                Ok(None)
            }
        }
    }
}
