//! What a kind of definition is.

use std::fmt::Debug;

use helve_store::{RowKind, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A definition as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBody {
    /// JSON.
    pub json: String,
    pub enabled: bool,
}

/// What rows of one kind are, and what can be granted to them.
pub trait Kind: Debug + Clone + Copy + PartialEq + Eq + Send + Sync + 'static {
    const KIND: RowKind;
    type Definition: Debug + Clone + PartialEq + Send + Sync + 'static;
    type Grant: Debug + Clone + PartialEq + Eq + Serialize + DeserializeOwned + Send + Sync + 'static;

    fn name(definition: &Self::Definition) -> &str;

    /// Changes with everything that a run or a person's consent depends on.
    fn hash(definition: &Self::Definition) -> String;

    fn encode(definition: &Self::Definition) -> Result<StoredBody, StoreError>;

    fn decode(json: &str, enabled: bool) -> Result<Self::Definition, StoreError>;
}
