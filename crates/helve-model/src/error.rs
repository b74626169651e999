//! Why a model gave no complete answer, by what may be done next.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// For the operator and the person who waits; never holds a key.
    pub message: String,
    pub retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// The server cannot be reached, or is too busy: asking again may help.
    Unavailable,
    /// The answer broke off: it can be asked for again, from the start.
    Broken,
    /// The model cannot call tools natively; in the text it may.
    NoTools,
    /// The conversation is too long for the model.
    TooLong,
    /// The key is missing or wrong, or its account has nothing left: another model may still answer.
    Key,
    /// The request itself is refused; asking again will not help.
    Refused,
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// A word for events and answers.
    pub fn code(&self) -> &'static str {
        match self.kind {
            ModelErrorKind::Unavailable => "model_unavailable",
            ModelErrorKind::Broken => "model_broke_off",
            ModelErrorKind::NoTools => "model_without_tools",
            ModelErrorKind::TooLong => "context_overflow",
            ModelErrorKind::Key => "model_key",
            ModelErrorKind::Refused => "model_refused",
        }
    }
}
