//! Tools as they were: a run goes on with the definitions it was started with.

use std::sync::Arc;

use helve_rows::PinnedVersion;
use helve_store::StoreError;

use super::Catalogue;
use crate::Registered;

impl Catalogue {
    /// The tool that a run was started with, also if it was changed or deleted since. A tool that comes with Helve is
    /// what it is now. None for one that does not exist any more or cannot be built again.
    pub async fn find_version(
        &self,
        name: &str,
        version: &str,
    ) -> Result<Option<Arc<Registered>>, StoreError> {
        let now = self.registry.get(name);
        if now.as_ref().is_some_and(|tool| tool.version() == version) {
            return Ok(now);
        }
        Ok(match self.rows.pinned(self, name, version).await? {
            PinnedVersion::Built(tool) => Some(tool),
            PinnedVersion::Broken => None,
            PinnedVersion::NotSaved => now.filter(|_| !self.rows.is_built(name)),
        })
    }
}
