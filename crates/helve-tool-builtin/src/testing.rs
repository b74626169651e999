//! What the tests of all tools share.

use helve_egress::{Egress, EgressSettings};
use helve_tool::{CallContext, Request, Tool, ToolError};
use helve_types::ToolOutput;
use serde_json::Value;

use crate::Settings;

impl Settings {
    pub(crate) fn for_tests() -> Self {
        // The provider may have been installed by another test.
        _ = rustls::crypto::ring::default_provider().install_default();
        Self::new(Egress::new(EgressSettings::default()).unwrap(), "/nonexistent/notes")
    }
}

pub(crate) fn context(user: &str) -> CallContext {
    CallContext::for_tests(user)
}

pub(crate) async fn call(
    tool: &dyn Tool,
    arguments: Value,
    cx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    tool.call(Request { arguments: &arguments }, cx).await
}
