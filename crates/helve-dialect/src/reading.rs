//! What the parser is told before the first byte.

use crate::{Dialect, Tools};

/// How a message is to be read.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Only this dialect is looked for; `None` finds it.
    pub dialect: Option<&'static Dialect>,
    pub tools: Tools,
    /// The prompt has already opened the reasoning, so the text begins inside it.
    pub reasoning_open: bool,
}

impl Reading {
    /// Finds the dialect from the text and the declared tools.
    pub fn any(tools: Tools) -> Self {
        Self { dialect: None, tools, reasoning_open: false }
    }

    /// Reads one dialect and no other.
    pub fn of(dialect: &'static Dialect, tools: Tools) -> Self {
        Self { dialect: Some(dialect), tools, reasoning_open: false }
    }

    /// Reads whatever dialect is written. Of those that begin with ordinary words, and so are never found, only the
    /// expected one is noticed.
    pub fn expecting(dialect: Option<&'static Dialect>, tools: Tools) -> Self {
        match dialect {
            Some(dialect) if !dialect.is_found() => Self::of(dialect, tools),
            _ => Self::any(tools),
        }
    }

    /// The text begins inside the reasoning.
    pub fn reasoning_open(self, reasoning_open: bool) -> Self {
        Self { reasoning_open, ..self }
    }
}
