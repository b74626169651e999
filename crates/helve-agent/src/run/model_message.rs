//! What the model said, and how it goes on record: a complete message, all of it or nothing.

use helve_types::{
    CallId, Fact, Failure, FailureKind, Fingerprint, Mode, ModelParams, Notice, PartId, StopReason, Trail,
    Usage,
};
use serde_json::Value;

use super::Run;

/// A complete message of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelMessage {
    pub parts: Vec<ModelMessagePart>,
    pub calls: Vec<ModelMessageCall>,
    pub reason: StopReason,
    pub usage: Usage,
    pub mode: Mode,
    pub cost_nanos: Option<u64>,
    /// Who answered, if it was not the run's own model.
    pub model: Option<String>,
    /// Who that was, whatever its name comes to mean.
    pub fingerprint: Option<Fingerprint>,
    /// What the vendor wants back with it.
    pub echo: Option<Value>,
    /// What hooks laid over the parameters of the question.
    pub params: Option<ModelParams>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelMessagePart {
    Text { part: PartId, text: String },
    Reasoning { part: PartId, text: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelMessageCall {
    pub part: Option<PartId>,
    pub provider_id: Option<String>,
    pub tool: String,
    pub arguments: String,
    /// What was repaired in the arguments.
    pub repairs: Vec<String>,
    /// It is on record as what the model wrote, and must never run.
    pub flaw: Option<Flaw>,
}

/// Why something that was meant as a call is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The message ended inside of it.
    Cut,
    /// It cannot be read in exactly one way.
    Broken,
}

impl Flaw {
    /// What the model is told.
    fn to_failure(self, tool: &str) -> Failure {
        let message = match self {
            Self::Cut => format!(
                "the call of `{tool}` was cut off before its end, so it did not run; call again, and say less before and in the call"
            ),
            Self::Broken => format!(
                "the call of `{tool}` cannot be read, so it did not run; call again with one JSON object as its arguments, all text in it between double quotes"
            ),
        };
        let notice = match self {
            Self::Cut => Notice::call_cut_off(),
            Self::Broken => Notice::call_unreadable(),
        };
        Failure::new(FailureKind::BadArguments, message).with_notice(notice)
    }
}

impl Run {
    /// Facts recorded for a complete message of the model.
    pub fn facts_of_message(&self, message: ModelMessage) -> Vec<Fact> {
        let step = self.step + 1;
        let mut facts = Vec::with_capacity(message.parts.len() + message.calls.len() + 1);
        facts.extend(message.parts.into_iter().map(|part| match part {
            ModelMessagePart::Text { part, text } => Fact::TextFinished { step, part, text },
            ModelMessagePart::Reasoning { part, text } => Fact::ReasoningFinished { step, part, text },
        }));
        let mut refused = vec![];
        for (index, ModelMessageCall { part, provider_id, tool, arguments, repairs, flaw }) in
            (0..).zip(message.calls)
        {
            let call = CallId::new(self.id, step, index);
            if let Some(flaw) = flaw {
                let failure = flaw.to_failure(&tool);
                refused.push(Fact::ToolRefused { call: call.clone(), failure, trail: Trail::default() });
            }
            facts.push(Fact::ToolRequested {
                step,
                call,
                provider_id,
                tool,
                arguments,
                part,
                replaces: None,
                repairs,
            });
        }
        facts.push(Fact::StepFinished {
            step,
            attempt: self.restarts + 1,
            reason: message.reason,
            mode: message.mode,
            usage: message.usage,
            cost_nanos: message.cost_nanos,
            model: message.model,
            fingerprint: message.fingerprint,
            echo: message.echo,
            params: message.params,
        });
        facts.extend(refused);
        facts
    }
}
