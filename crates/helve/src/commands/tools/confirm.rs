//! What only the operator can agree to, asked in the terminal.

use crate::i18n::tr;
use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};

use helve_tool::DefinitionError;

/// Which hosts on this machine tools may reach; each is asked about once.
pub(super) struct Consents {
    allow_all: bool,
    answers: BTreeMap<String, bool>,
}

impl Consents {
    pub(super) fn new(allow_all: bool) -> Self {
        Self { allow_all, answers: BTreeMap::new() }
    }

    /// Whether the operator agrees to what alone keeps a tool from being made.
    pub(super) fn given(&mut self, tool: &str, refused: &DefinitionError) -> bool {
        let Some(place) = &refused.consent else { return false };
        let ask = || {
            ask(&tr!(
                "The tool `{tool}` would reach `{place}` on this machine. Allow it?",
                tool = tool,
                place = place
            ))
        };
        self.allow_all || *self.answers.entry(place.clone()).or_insert_with(|| ask().unwrap_or(false))
    }
}

/// The answer of the person at the terminal; nothing where there is none.
pub(super) fn ask(question: &str) -> Option<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    let mut err = std::io::stderr().lock();
    _ = write!(err, "{question} [y/N] ").and_then(|()| err.flush());
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是"))
}
