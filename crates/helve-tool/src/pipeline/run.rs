//! Runs a call that was admitted: by its own tool, or by its fallback if that cannot be asked.

use std::sync::Arc;

use helve_types::{ToolOutput, Trail};

use super::Pipeline;
use crate::outcome::Stop;
use crate::permit::Permit;
use crate::{CallContext, Registered};

/// An output and the tool that gave it.
pub(crate) struct ToolAnswer {
    pub(crate) output: ToolOutput,
    pub(crate) by: Arc<Registered>,
}

impl Pipeline {
    pub(super) async fn run_with_fallback(
        &self,
        permit: &Permit,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<ToolAnswer, Stop> {
        let cx = &*self.hooks.context_without_progress(&permit.tool, cx);
        match permit.run_once(cx, trail).await {
            Ok(output) => Ok(ToolAnswer { output, by: permit.tool.clone() }),
            Err(stop) if permit.tool.guarding.settings.fallback.is_some() => {
                self.fall_back(permit, stop, cx, trail).await
            }
            Err(stop) => Err(stop),
        }
    }
}
