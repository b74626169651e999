//! Hooks before a model is asked.

use helve_types::ModelParams;

use super::{HookPoint, HookQuestion, HookResult, Hooks, SYSTEM_BYTES_MAX};

/// The model must not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hook `{hook}` keeps the model from being asked: {because}")]
pub struct HookRefusal {
    pub hook: String,
    pub because: String,
}

impl Hooks {
    /// Whether any hook wants to be asked before a question of this agent's.
    pub fn has_question_hooks(&self, agent: &str) -> bool {
        let at = |point| self.hooks_at(point, agent).next().is_some();
        !self.is_empty() && (at(HookPoint::SystemPrompt) || at(HookPoint::Params))
    }

    /// The system prompt as the hooks leave it; none if they leave it as it is.
    pub async fn ask_for_system_prompt(
        &self,
        question: &HookQuestion<'_>,
        system: &str,
    ) -> Result<Option<String>, HookRefusal> {
        let mut changed: Option<String> = None;
        for placed in self.hooks_at(HookPoint::SystemPrompt, question.agent) {
            let now = changed.as_deref().unwrap_or(system);
            let mut answer = placed.ask_in_time(placed.hook.system_prompt(question, now)).await;
            if matches!(&answer, HookResult::Change(system) if system.len() > SYSTEM_BYTES_MAX) {
                answer = placed.result_after_failure(&format!(
                    "its system prompt has more than {SYSTEM_BYTES_MAX} bytes"
                ));
            }
            if let Some(system) = answer.into_result(placed.name())? {
                changed = Some(system);
            }
        }
        Ok(changed)
    }

    /// What the hooks lay over the parameters; none if nothing.
    pub async fn ask_for_params(
        &self,
        question: &HookQuestion<'_>,
        params: &ModelParams,
    ) -> Result<Option<ModelParams>, HookRefusal> {
        let mut laid: Option<ModelParams> = None;
        for placed in self.hooks_at(HookPoint::Params, question.agent) {
            let now = laid.clone().map_or_else(|| params.clone(), |laid| laid.with_defaults(params));
            let answer = placed.ask_in_time(placed.hook.params(question, &now)).await;
            if let Some(more) = answer.into_result(placed.name())? {
                laid = Some(match &laid {
                    Some(before) => more.with_defaults(before),
                    None => more,
                });
            }
        }
        Ok(laid)
    }
}

impl<T> HookResult<T> {
    fn into_result(self, hook: &str) -> Result<Option<T>, HookRefusal> {
        let refusal = |because: String| HookRefusal { hook: hook.into(), because };
        match self {
            Self::Nothing | Self::FailedButGoOn => Ok(None),
            Self::Change(change) => Ok(Some(change)),
            Self::Refused(reason) => Err(refusal(reason)),
            Self::Failed => Err(refusal("it could not be asked; see the log".into())),
        }
    }
}
