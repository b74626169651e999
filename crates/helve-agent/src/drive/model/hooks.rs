//! What the operator's hooks want of a question, asked once for each step.

use helve_model::Model;
use helve_tool::{HookQuestion, HookRefusal};
use helve_types::ModelParams;

use crate::drive::{DriveError, Driver};

/// What hooks have made of a step's question.
#[derive(Debug, Default)]
pub(super) struct Hooked {
    pub(super) system: Option<String>,
    pub(super) params: Option<ModelParams>,
}

impl Hooked {
    /// The parameters with those of the hooks over them, whichever model is asked.
    pub(super) fn over(&self, params: ModelParams) -> ModelParams {
        match &self.params {
            Some(laid) => laid.clone().over(&params),
            None => params,
        }
    }
}

impl Driver {
    /// Asks the hooks. None if somebody stopped the run meanwhile, or if a hook did, and then it has failed.
    pub(super) async fn hooked(
        &mut self,
        model: &dyn Model,
        step: u32,
    ) -> Result<Option<Hooked>, DriveError> {
        let shared = self.shared.clone();
        let setup = self.run.setup().clone();
        if !shared.env.settings.hooks.wait_for_questions(&setup.agent) {
            return Ok(Some(Hooked::default()));
        }
        let user = self.user.clone();
        let question = HookQuestion {
            run: self.run.id(),
            conversation: self.conversation,
            agent: &setup.agent,
            user: &user,
            model: model.name(),
            step,
        };
        let hooks = &shared.env.settings.hooks;
        let mut asked: Option<Result<Hooked, HookRefusal>> = None;
        let ask = async {
            let params = shared.models.params(model, &setup);
            asked = Some(
                async {
                    Ok(Hooked {
                        system: hooks.system_prompt(&question, &setup.system).await?,
                        params: hooks.params(&question, &params).await?,
                    })
                }
                .await,
            );
        };
        self.unless_stopped(ask).await?;
        match asked {
            None => Ok(None),
            Some(Ok(hooked)) => Ok(Some(hooked)),
            Some(Err(refusal)) => {
                self.fail("hook_refused", refusal.to_string()).await?;
                Ok(None)
            }
        }
    }
}
