//! Why a row is not built, saved or deleted.

use helve_store::StoreError;
use helve_types::Notice;

/// What is wrong with a definition, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {}", .problem.english())]
pub struct DefinitionError {
    /// The path of the field, such as `endpoint.url_template`.
    pub field: String,
    /// What is wrong and what to do about it.
    pub problem: Notice,
    /// What the operator may grant, where nothing else is wrong: for a tool the host and port on this machine.
    pub consent: Option<String>,
}

impl DefinitionError {
    pub fn new(field: impl Into<String>, problem: Notice) -> Self {
        Self { field: field.into(), problem, consent: None }
    }

    /// The same for people.
    pub fn notice(&self) -> Notice {
        Notice::definition_problem(&self.field, self.problem.clone())
    }
}

/// Why a change of a row is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error(transparent)]
    Definition(#[from] DefinitionError),

    #[error("`{0}` exists already; change it, or choose another name")]
    Exists(String),

    #[error("`{0}` does not exist")]
    Missing(String),

    #[error("`{0}` is what was agreed to; nothing else is offered")]
    NoOffer(String),

    #[error("what is offered about `{0}`, or the row itself, has changed meanwhile; look at it again")]
    OfferChanged(String),

    #[error("the row has changed meanwhile and is at version {0} now; read it again and decide anew")]
    Changed(u32),

    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A version that was not the expected one is a conflict between two people, not a failure of the store.
pub(crate) fn save_error(error: StoreError) -> RowError {
    match error {
        StoreError::Changed(version) => RowError::Changed(version),
        other => other.into(),
    }
}
