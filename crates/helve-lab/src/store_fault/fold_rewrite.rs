//! Bugs of the kind "taken up from something else than the log": a run that is claimed is told another past.

use std::sync::Arc;

use helve_store::{Claimed, Store};
use helve_types::{Fact, Usage, canonical_json};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::StoreFault;
use crate::tools::{KINDS, ToolParts, spec};

pub(crate) struct FoldRewrite<F> {
    tell: F,
}

impl<F: Fn(&mut Fact) + Send + Sync + 'static> StoreFault for FoldRewrite<F> {
    fn claimed(&self, _: &Arc<dyn Store>, claimed: &mut Claimed) {
        claimed.events.iter_mut().for_each(|recorded| (self.tell)(&mut recorded.event.fact));
    }
}

/// What was used up is forgotten when the run changes hands.
pub(crate) fn usage_forgotten() -> FoldRewrite<impl Fn(&mut Fact)> {
    let tell = |fact: &mut Fact| {
        if let Fact::StepFinished { usage, .. } = fact {
            *usage = Usage::default();
        }
    };
    FoldRewrite { tell }
}

/// A consent holds for whatever the tool has become.
pub(crate) fn consent_unbound(bench: ToolParts) -> FoldRewrite<impl Fn(&mut Fact)> {
    let tell = move |fact: &mut Fact| {
        let Fact::ApprovalAsked(question) = fact else { return };
        let Some(call) = question.call() else { return };
        let Some(kind) = KINDS.iter().find(|kind| kind.name == call.tool) else { return };
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let (version, effect) = (spec(kind, &bench).version(), call.effect);
        let bound = json!({"tool": kind.name, "version": version, "effect": effect, "arguments": arguments});
        let hash = Sha256::digest(canonical_json(&bound));
        question.binding = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    };
    FoldRewrite { tell }
}
