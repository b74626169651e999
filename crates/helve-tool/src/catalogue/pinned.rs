//! Tools as they were: a run goes on with the definitions it was started with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use helve_store::StoreError;

use super::Catalogue;
use crate::Registered;
use crate::offload::make_ready;

/// Earlier versions that some run still holds, so that all who go on with one share its guards.
#[derive(Default)]
pub(super) struct Pinned(Mutex<HashMap<(String, String), Weak<Registered>>>);

impl Pinned {
    pub(super) fn remember(&self, tool: &Arc<Registered>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, tool| tool.strong_count() > 0);
        held.insert((tool.spec.name.clone(), tool.version.clone()), Arc::downgrade(tool));
    }

    fn get(&self, name: &str, version: &str) -> Option<Arc<Registered>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(&(name.to_owned(), version.to_owned()))?.upgrade()
    }
}

impl Catalogue {
    /// The tool that a run was started with, also if it was changed or deleted since. A tool that comes with Helve is
    /// what it is now. None for one that does not exist any more or cannot be made again.
    pub async fn pinned(&self, name: &str, version: &str) -> Result<Option<Arc<Registered>>, StoreError> {
        let now = self.registry.get(name);
        if now.as_ref().is_some_and(|tool| tool.version() == version) {
            return Ok(now);
        }
        if let Some(held) = self.pinned.get(name, version) {
            return Ok(Some(held));
        }
        let versions = self.store.tool_versions(name.into()).await?;
        let Some(row) = versions.iter().rev().find(|row| row.hash == version) else {
            return Ok(now.filter(|_| !self.owns(name)));
        };
        make_ready(vec![row.definition.parameters.clone()]).await;
        match self.make(&row.definition) {
            Ok(made) => {
                if !self.owns(name) {
                    made.set_enabled(row.definition.enabled && !self.held_off.contains(name));
                }
                let made = Arc::new(made);
                self.pinned.remember(&made);
                Ok(Some(made))
            }
            Err(problem) => {
                tracing::warn!(tool = name, version, %problem, "a run's tool cannot be made again; it goes on without it");
                Ok(None)
            }
        }
    }
}
