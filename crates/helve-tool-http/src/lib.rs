//! Tools that are rows: HTTP endpoints and OpenAPI documents become tools.
//!
//! A definition is read once, when it is made: its template, its transform, its guards. A call then fills the
//! template, leaves through the egress, and turns the answer into an output. Knows no store and no model.

mod answer;
mod call;
mod internal;
mod json;
mod make;
pub mod openapi;
mod stream;
mod template;
#[cfg(test)]
mod testing;
mod transform;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use helve_egress::Egress;
use helve_tool::{DefinitionError, Made, Tool};
use helve_types::ToolDefinition;

/// Makes tools of definitions.
#[derive(Clone)]
pub struct HttpTools {
    egress: Egress,
    /// What `internal://name` means.
    internal: BTreeMap<String, Arc<dyn Tool>>,
}

impl HttpTools {
    pub fn new(egress: Egress) -> Self {
        Self { egress, internal: BTreeMap::new() }
    }

    /// Lets rows run these tools of Helve's own, by these names.
    pub fn with_internal(self, internal: BTreeMap<String, Arc<dyn Tool>>) -> Self {
        Self { internal, ..self }
    }

    /// The tool that a definition describes, with its guards; or what is wrong with the definition.
    pub fn make(&self, definition: &ToolDefinition) -> Result<Made, DefinitionError> {
        make::make(self, definition)
    }
}

impl fmt::Debug for HttpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let internal: Vec<&String> = self.internal.keys().collect();
        f.debug_struct("HttpTools").field("egress", &self.egress).field("internal", &internal).finish()
    }
}
