//! Tools that are neither built in nor rows: programs in the folder of tools, found when the folder is read.
//!
//! The source that finds them places them here; the catalogue gives them the operator's guards and their stored switch,
//! and lists those that cannot be used with their problem. Only their switch is kept in the store.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use helve_store::StoreError;
use helve_types::Notice;

use super::{BuiltTool, Catalogue, DefinitionError, ListedTool};
use crate::Registered;

/// A tool that was found outside the store.
#[derive(Clone)]
pub(super) struct Placed {
    /// What is registered, or why nothing is.
    made: Result<Arc<Registered>, DefinitionError>,
}

pub(super) type PlacedTools = RwLock<BTreeMap<String, Placed>>;

impl Catalogue {
    /// Registers a tool that was found outside the store, in the place of its earlier version, or lists why it cannot
    /// be used. `version` changes with everything that the tool does.
    pub async fn register_from_folder(
        &self,
        name: &str,
        version: String,
        made: Result<BuiltTool, DefinitionError>,
    ) -> Result<(), StoreError> {
        let _lock = self.rows.lock().await;
        let made = made.and_then(|made| self.register_placed(name, version, made));
        let switches = self.rows.table().switches().await?;
        let on = switches.iter().find(|(named, _)| named == name).is_none_or(|(_, on)| *on);
        match &made {
            Ok(tool) => {
                tool.guarding.set_limits();
                self.registry.replace(tool.clone());
                self.set_switch(tool, on);
            }
            Err(_) if self.is_from_folder(name) => _ = self.registry.unregister(name),
            Err(_) => {}
        }
        self.placed_mut().insert(name.to_owned(), Placed { made });
        Ok(())
    }

    /// Takes away a tool that was placed; runs that use it keep it until they end.
    pub async fn unregister_from_folder(&self, name: &str) {
        let _lock = self.rows.lock().await;
        if let Some(Placed { made: Ok(_) }) = self.placed_mut().remove(name) {
            _ = self.registry.unregister(name);
        }
    }

    fn register_placed(
        &self,
        name: &str,
        version: String,
        built: BuiltTool,
    ) -> Result<Arc<Registered>, DefinitionError> {
        let before = self.registry.get(name);
        if !self.is_from_folder(name) {
            self.check_name_is_free(name).map_err(|error| {
                DefinitionError::new("name", Notice::definition_other(&error.to_string()))
            })?;
        }
        self.build_guarded(name, version, built, before.as_deref())
    }

    /// Whether the registered tool of this name was placed.
    pub(super) fn is_from_folder(&self, name: &str) -> bool {
        let placed = self.placed.read().unwrap_or_else(PoisonError::into_inner);
        placed.get(name).is_some_and(|placed| placed.made.is_ok())
    }

    /// The placed tools that cannot be used.
    pub(super) fn list_broken_from_folder(&self) -> Vec<ListedTool> {
        let placed = self.placed.read().unwrap_or_else(PoisonError::into_inner);
        let broken = placed.iter().filter_map(|(name, placed)| Some((name, placed.made.as_ref().err()?)));
        broken.map(|(name, problem)| ListedTool::broken(name, problem.clone())).collect()
    }

    fn placed_mut(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<String, Placed>> {
        self.placed.write().unwrap_or_else(PoisonError::into_inner)
    }
}
