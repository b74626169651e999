//! Definitions as they were: a run goes on with the versions it was started with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use helve_store::StoreError;

use crate::{DefinitionKind, Registrar, RowCatalogue};

/// Earlier versions that some run still holds, by name and hash, so that all runs with one version share what was
/// built of it.
pub(crate) struct HeldVersions<B>(Mutex<HashMap<(String, String), Weak<B>>>);

impl<B> Default for HeldVersions<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B> HeldVersions<B> {
    pub(crate) fn insert(&self, name: &str, hash: &str, built: &Arc<B>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, built| built.strong_count() > 0);
        held.insert((name.to_owned(), hash.to_owned()), Arc::downgrade(built));
    }

    fn get(&self, name: &str, hash: &str) -> Option<Arc<B>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(&(name.to_owned(), hash.to_owned()))?.upgrade()
    }
}

/// What became of a version that a run was started with.
pub enum PinnedVersion<B> {
    Built(Arc<B>),
    /// It was a row once and cannot be built any more.
    Broken,
    /// No row was ever saved with this hash.
    NotSaved,
}

impl<K: DefinitionKind> RowCatalogue<K> {
    /// The version with this hash, also if the row was changed or deleted since.
    pub async fn pinned(
        &self,
        registrar: &impl Registrar<K>,
        name: &str,
        hash: &str,
    ) -> Result<PinnedVersion<K::Built>, StoreError> {
        if let Some(built) = self.pinned.get(name, hash) {
            return Ok(PinnedVersion::Built(built));
        }
        let versions = self.table.versions(name).await?;
        let Some(row) = versions.iter().rev().find(|row| row.hash == hash) else {
            return Ok(PinnedVersion::NotSaved);
        };
        registrar.prepare(&row.definition).await;
        match self.build(registrar, &row.definition) {
            Ok(built) => {
                registrar.prepare_pinned(row, &built);
                self.pinned.insert(name, hash, &built);
                Ok(PinnedVersion::Built(built))
            }
            Err(problem) => {
                let kind = K::KIND.as_str();
                tracing::warn!(kind, name, hash, %problem, "earlier version cannot be built; run continues without it");
                Ok(PinnedVersion::Broken)
            }
        }
    }
}
