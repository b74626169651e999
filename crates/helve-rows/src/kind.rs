//! What a kind of definition is, and what builds and registers its rows.

use std::fmt::{Debug, Display};
use std::sync::Arc;

use helve_store::{RowKind, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{DefinitionError, DefinitionRow, GrantSet, RowError};

/// What rows of one kind are, what they are built into, and what can be granted to them.
pub trait DefinitionKind: Debug + Clone + Copy + PartialEq + Eq + Send + Sync + 'static {
    const KIND: RowKind;
    type Definition: Debug + Clone + PartialEq + Send + Sync + 'static;
    type Grant: Debug
        + Display
        + Clone
        + PartialEq
        + Eq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static;
    /// What works as the definition says.
    type Built: Send + Sync + 'static;

    fn name(definition: &Self::Definition) -> &str;

    /// Changes with everything that a run or a person's consent depends on, and not with the switch.
    fn hash(definition: &Self::Definition) -> String;

    fn is_enabled(definition: &Self::Definition) -> bool;

    fn set_enabled(definition: &mut Self::Definition, enabled: bool);

    /// Whether the row belongs to an origin, which may then offer other definitions of it.
    fn has_origin(definition: &Self::Definition, origin: &str) -> bool;

    /// The grant that a `DefinitionError` asks the operator for.
    fn grant_for(consent: String) -> Self::Grant;

    /// JSON without the switch, which the store keeps beside it.
    fn encode(definition: &Self::Definition) -> Result<String, StoreError>;

    /// A definition from its JSON; its switch is set afterwards.
    fn decode(json: &str) -> Result<Self::Definition, StoreError>;
}

/// Builds definitions of one kind and knows where that is registered.
pub trait Registrar<K: DefinitionKind>: Send + Sync {
    type Error: From<RowError> + Send;

    /// Does the slow part of a build ahead, where it keeps no other work waiting.
    fn prepare(&self, definition: &K::Definition) -> impl Future<Output = ()> + Send;

    /// Whether a new row with this definition would be in the way of anything.
    fn check_new(&self, definition: &K::Definition) -> Result<(), Self::Error>;

    /// Whether the definition can be kept at all, whatever it is built into.
    fn check_definition(&self, definition: &K::Definition) -> Result<(), DefinitionError>;

    fn build(
        &self,
        definition: &K::Definition,
        grants: &Arc<GrantSet<K::Grant>>,
    ) -> Result<Arc<K::Built>, DefinitionError>;

    /// Registers what was built in place of what had its name. `is_agreed` is false for a row in quarantine.
    fn register(&self, row: &DefinitionRow<K>, built: &Arc<K::Built>, is_agreed: bool);

    fn unregister(&self, name: &str);

    /// Puts what is registered into quarantine, or takes it out.
    fn set_agreed(&self, name: &str, is_agreed: bool);

    /// Whether something is registered under this name, be it a row or not.
    fn is_registered(&self, name: &str) -> bool;

    /// Sets the switches of what is registered and is no row; what is not named is on.
    fn apply_switches(&self, switches: &[(String, bool)]);

    /// Called for a version that was built again for a run, and is not registered.
    fn prepare_pinned(&self, row: &DefinitionRow<K>, built: &K::Built);
}
