//! What the operator lets single tools have, as it is kept; and how `MemoryStore` keeps it.

use std::collections::BTreeMap;

use helve_types::{Timestamp, ToolGrant};

use crate::StoreError;

/// A consent to one tool. It ends when it is revoked or when the tool is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGrantRow {
    pub tool: String,
    pub grant: ToolGrant,
    pub by: String,
    pub at: Timestamp,
}

#[derive(Default)]
pub(crate) struct GrantShelf(BTreeMap<(String, ToolGrant), ToolGrantRow>);

impl GrantShelf {
    pub(crate) fn all(&self) -> Vec<ToolGrantRow> {
        self.0.values().cloned().collect()
    }

    pub(crate) fn put(&mut self, grant: ToolGrantRow) {
        self.0.insert((grant.tool.clone(), grant.grant.clone()), grant);
    }

    pub(crate) fn revoke(&mut self, tool: &str, grant: &ToolGrant) -> Result<(), StoreError> {
        let key = (tool.to_owned(), grant.clone());
        self.0.remove(&key).map(drop).ok_or(StoreError::NotFound("grant"))
    }

    pub(crate) fn forget(&mut self, tool: &str) {
        self.0.retain(|(of, _), _| of != tool);
    }
}
