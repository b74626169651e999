//! What the parser is told before the first byte.

use crate::registry::Live;
use crate::{Dialect, Tools};

/// How a message is to be read.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Only this dialect is looked for; `None` finds it.
    pub(crate) dialect: Option<&'static Dialect>,
    /// What that means in marks, looked up once for all messages.
    pub(crate) live: &'static Live,
    pub(crate) tools: Tools,
    pub(crate) reasoning_open: bool,
}

impl Reading {
    /// Reads one dialect and no other if one is given, and else finds it.
    pub fn new(dialect: Option<&'static Dialect>, tools: Tools) -> Self {
        Self { dialect, live: Live::of(dialect), tools, reasoning_open: false }
    }

    /// Finds the dialect from the text and the declared tools.
    pub fn any(tools: Tools) -> Self {
        Self::new(None, tools)
    }

    /// Reads one dialect and no other.
    pub fn of(dialect: &'static Dialect, tools: Tools) -> Self {
        Self::new(Some(dialect), tools)
    }

    /// Reads whatever dialect is written. Of those that begin with ordinary words, and so are never found, only the
    /// expected one is noticed.
    pub fn expecting(dialect: Option<&'static Dialect>, tools: Tools) -> Self {
        Self::new(dialect.filter(|dialect| !dialect.is_found()), tools)
    }

    /// The tools that may be called.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Whether the prompt has already opened the reasoning, so that the text begins inside it.
    pub fn reasoning_open(self, reasoning_open: bool) -> Self {
        Self { reasoning_open, ..self }
    }
}

impl Default for Reading {
    /// Nothing is known.
    fn default() -> Self {
        Self::any(Tools::unknown())
    }
}
