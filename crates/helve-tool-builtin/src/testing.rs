//! What the tests of all tools share: a call that comes from nowhere, in a world that stands still.

use std::sync::Arc;

use helve_egress::{Egress, EgressSettings};
use helve_store::{MemoryStore, RunJournal};
use helve_tool::{CallContext, Progress, Request, Tool, ToolError, Toolbox};
use helve_types::{CallId, ToolOutput, UserId, World};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::Settings;

impl Settings {
    pub(crate) fn for_tests() -> Self {
        // The provider may have been installed by another test.
        _ = rustls::crypto::ring::default_provider().install_default();
        Self::new(Egress::new(EgressSettings::default()).unwrap(), "/nonexistent/notes")
    }
}

pub(crate) fn context(user: &str) -> CallContext {
    let world = World::still();
    let run = world.run_id();
    let store = Arc::new(MemoryStore::new());
    CallContext {
        run,
        conversation: None,
        message: None,
        call: CallId::new(run, 1, 0),
        user: UserId(user.into()),
        agent: "default".into(),
        attempts_before: 0,
        grant: None,
        toolbox: Arc::new(Toolbox::default()),
        journal: RunJournal::new(store, world.clone(), run, 1, 0, Arc::new(|_| {})),
        cancel: CancellationToken::new(),
        progress: Progress::default(),
        world,
    }
}

pub(crate) async fn call(
    tool: &dyn Tool,
    arguments: Value,
    cx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    tool.call(Request { arguments: &arguments }, cx).await
}
