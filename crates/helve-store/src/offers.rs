//! What tools from outside have become, until a person says what is to become of that; and how `MemoryStore` keeps it.

use std::collections::BTreeMap;

use helve_types::{Timestamp, ToolDefinition};

use crate::StoreError;

/// A definition that a tool's origin offers in the place of the one that a person agreed to. As long as it is there, the
/// tool is in quarantine.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOffer {
    /// Where it is from: the tag of a document's tools.
    pub origin: String,
    pub definition: ToolDefinition,
    /// The hash of the definition that it was compared with.
    pub over: String,
    pub at: Timestamp,
}

impl ToolOffer {
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

#[derive(Default)]
pub(crate) struct OfferShelf(BTreeMap<String, ToolOffer>);

impl OfferShelf {
    pub(crate) fn all(&self) -> Vec<ToolOffer> {
        self.0.values().cloned().collect()
    }

    pub(crate) fn put(&mut self, offer: ToolOffer) {
        self.0.insert(offer.name().to_owned(), offer);
    }

    pub(crate) fn has(&self, name: &str) -> Result<(), StoreError> {
        self.0.get(name).map(drop).ok_or(StoreError::NotFound("offer"))
    }

    pub(crate) fn drop(&mut self, name: &str) {
        self.0.remove(name);
    }
}
