//! Why a model gave no complete answer; the kinds differ in what the caller can do next.

use std::time::Duration;

use helve_types::Notice;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// Shown to the operator and the user; never contains a key.
    pub message: String,
    pub retry_after: Option<Duration>,
    /// What exactly is wrong, for people, where the kind says less.
    pub notice: Option<Box<Notice>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// The server cannot be reached or is overloaded; a retry may help.
    Unavailable,
    /// The answer broke off; the request can be retried from the start.
    Broken,
    /// The model cannot call tools natively; prompt mode may work.
    NoTools,
    /// The conversation is too long for the model.
    TooLong,
    /// The key is missing or wrong, or its account has no credit; another model may still answer.
    Key,
    /// The server refuses the request itself; a retry will not help.
    Refused,
}

impl ModelErrorKind {
    /// Whether the same request may succeed a moment later.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Unavailable | Self::Broken)
    }
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, notice: None }
    }

    /// With what a person is told.
    #[must_use]
    pub fn with_notice(self, notice: Notice) -> Self {
        Self { notice: Some(Box::new(notice)), ..self }
    }

    /// The error code in events and HTTP answers.
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
