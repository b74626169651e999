//! Tools are built from definitions and registered with all others.

use std::sync::Arc;

use helve_rows::{DefinitionError, GrantSet, Registrar};
use helve_types::{Notice, ToolDefinition, ToolGrant};

use super::check::check;
use super::grants::ToolGrants;
use super::kind::{ToolRow, ToolRowKind};
use super::{BuiltTool, Catalogue, CatalogueError, inside};
use crate::offload::compile_ahead;
use crate::{Registered, RegistryError};

impl Registrar<ToolRowKind> for Catalogue {
    type Error = CatalogueError;

    async fn prepare(&self, definition: &ToolDefinition) {
        compile_ahead(vec![definition.parameters.clone()]).await;
    }

    fn check_new(&self, definition: &ToolDefinition) -> Result<(), CatalogueError> {
        self.check_name_is_free(&definition.name)?;
        self.check_id_is_free(definition)
    }

    fn check_definition(&self, definition: &ToolDefinition) -> Result<(), DefinitionError> {
        check(definition)
    }

    fn build(
        &self,
        definition: &ToolDefinition,
        grants: &Arc<GrantSet<ToolGrant>>,
    ) -> Result<Arc<Registered>, DefinitionError> {
        check(definition)?;
        let name = &definition.name;
        let before = self.registry.get(name);
        if before.is_some() && !self.rows.is_built(name) {
            let problem = match self.is_from_folder(name) {
                true => Notice::definition_name_of_program(),
                false => Notice::definition_name_of_builtin(),
            };
            return Err(DefinitionError::new("name", problem));
        }
        let built = match inside::target_name(definition) {
            Some(target) => self.build_internal(definition, target)?,
            None => (self.builder)(definition, &Arc::new(ToolGrants::from(grants.clone())))?,
        };
        self.build_guarded(name, definition.hash(), built, before.as_deref())
    }

    fn register(&self, row: &ToolRow, built: &Arc<Registered>, is_agreed: bool) {
        built.guarding.set_limits();
        _ = self.registry.replace(built.clone());
        built.set_agreed(is_agreed);
        self.set_switch(built, row.definition.enabled);
    }

    fn unregister(&self, name: &str) {
        _ = self.registry.unregister(name);
    }

    fn set_agreed(&self, name: &str, is_agreed: bool) {
        if let Some(tool) = self.registry.get(name) {
            tool.set_agreed(is_agreed);
            // The generation grows with it, which tells agents to look at their tools again.
            _ = self.registry.set_enabled(name, tool.is_enabled());
        }
    }

    fn is_registered(&self, name: &str) -> bool {
        self.registry.get(name).is_some()
    }

    fn apply_switches(&self, switches: &[(String, bool)]) {
        for tool in self.registry.list() {
            let name = &tool.spec().name;
            if !self.rows.is_built(name) {
                let switched = switches.iter().find(|(named, _)| named == name);
                self.set_switch(&tool, switched.is_none_or(|(_, enabled)| *enabled));
            }
        }
    }

    fn prepare_pinned(&self, row: &ToolRow, built: &Registered) {
        if !self.rows.is_built(row.name()) {
            built.set_enabled(row.definition.enabled && !self.held_off.contains(row.name()));
        }
    }
}

impl Catalogue {
    /// A tool under the operator's guards, as the next version of the one `before` it.
    pub(super) fn build_guarded(
        &self,
        name: &str,
        version: String,
        (tool, guards): BuiltTool,
        before: Option<&Registered>,
    ) -> Result<Arc<Registered>, DefinitionError> {
        let guards = (self.overrides)(name, guards);
        let registered =
            Registered::for_row(tool, version, guards, &self.registry.registry_parts(&self.world));
        let unfit = |error: RegistryError| {
            DefinitionError::new("parameters", Notice::definition_other(&error.to_string()))
        };
        let registered = registered.map_err(unfit)?;
        let registered = self.registry.attach_tool(registered);
        Ok(Arc::new(match before {
            Some(before) => registered.into_next_version(before),
            None => registered,
        }))
    }

    /// A tool that leads to one that comes with Helve.
    fn build_internal(
        &self,
        definition: &ToolDefinition,
        target: &str,
    ) -> Result<BuiltTool, DefinitionError> {
        if let Some(found) = self.registry.get(target).filter(|_| !self.rows.is_built(target)) {
            return inside::build_internal_tool(definition, &found);
        }
        let tools = self.registry.list();
        let names =
            tools.iter().map(|tool| tool.spec().name.as_str()).filter(|name| !self.rows.is_built(name));
        let known: Vec<_> = names.map(|name| format!("`internal://{name}`")).collect();
        let problem = Notice::definition_inside_unknown(target, &known.join(", "));
        Err(DefinitionError::new("endpoint.url_template", problem))
    }

    pub(super) fn set_switch(&self, tool: &Registered, enabled: bool) {
        let name = &tool.spec().name;
        // The generation grows with it, which tells agents to look at their tools again.
        _ = self.registry.set_enabled(name, enabled && !self.held_off.contains(name));
    }
}
