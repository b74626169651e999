//! What the parser is told before the first byte.

use std::sync::Arc;

use crate::registry::ActiveMarks;
use crate::{Dialect, Profile, Quotable, Tools};

/// How a message is to be read.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Only this dialect is looked for; `None` finds it.
    pub(crate) dialect: Option<&'static Dialect>,
    /// What that means in marks, looked up once for all messages.
    pub(crate) live: &'static ActiveMarks,
    pub(crate) tools: Tools,
    pub(crate) reasoning_open: bool,
    pub(crate) strict: Option<Strict>,
}

/// What tells a call that is meant from a quotation, in the message of a run.
#[derive(Debug, Clone)]
pub(crate) struct Strict {
    pub(crate) quotable: Arc<Quotable>,
    /// What calls without marks begin with where they are written as the model was told; empty where nothing was.
    pub(crate) own_beginning: String,
}

impl Reading {
    /// Reads one dialect and no other if one is given, and else finds it.
    pub fn new(dialect: Option<&'static Dialect>, tools: Tools) -> Self {
        Self { dialect, live: ActiveMarks::for_dialect(dialect), tools, reasoning_open: false, strict: None }
    }

    /// Finds the dialect from the text and the declared tools.
    pub fn any(tools: Tools) -> Self {
        Self::new(None, tools)
    }

    /// Reads one dialect and no other.
    pub fn for_dialect(dialect: &'static Dialect, tools: Tools) -> Self {
        Self::new(Some(dialect), tools)
    }

    /// Reads whatever dialect is written. Of those that begin with ordinary words, and so are never found, only the
    /// expected one is noticed.
    pub fn expecting(dialect: Option<&'static Dialect>, tools: Tools) -> Self {
        Self::new(dialect.filter(|dialect| !dialect.is_found_by_marks()), tools)
    }

    /// The tools that may be called.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Reads no calls: all is text but the reasoning, where the model's server leaves that in the text. The tools are those
    /// that are called otherwise.
    pub fn without_calls(tools: Tools) -> Self {
        Self { live: ActiveMarks::for_reasoning(), ..Self::any(tools) }
    }

    /// A call counts only if it begins a line, or if only calls and blanks follow it up to the end of the message; and one
    /// that repeats a text which may be quoted is a quotation wherever it stands. Without marks a call that begins a line
    /// counts, whatever follows it, if it is written as the profile shows.
    pub fn strict(self, quotable: Arc<Quotable>, profile: Option<&Profile>) -> Self {
        let own_beginning = profile.map(Profile::call_beginning).unwrap_or_default();
        Self { strict: Some(Strict { quotable, own_beginning }), ..self }
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
