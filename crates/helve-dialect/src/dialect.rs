//! The shape of a dialect: its marks, what follows them, and the grammar of what they enclose.
//!
//! A dialect is data. Its file is `src/<family>/<name>.rs` with one `DIALECT` and a table of cases; the automaton
//! that reads the inside of a call belongs to the family and lives in `src/<family>/mod.rs`.
//!
//! To add one: write that file, say in its `//!` what is odd, add its `mod` line to the family and its row to the
//! registry, and its bits to `guarantees/soup.rs`. A new family adds a variant to [`Grammar`] and to `Body`; a new kind
//! of look-ahead adds one to [`Then`].

use std::fmt;

use crate::envelope;
use crate::json_tags::JsonGrammar;
use crate::pythonic::PythonGrammar;
use crate::reasoning;

/// One way in which models write tool calls as text.
pub struct Dialect {
    /// The name in FORMATS.md, in configuration and in results.
    pub name: &'static str,
    /// What begins a call. Where dialects share a mark, the first in the registry whose look-ahead fits wins.
    pub(crate) openers: &'static [Opener],
    /// How its models mark reasoning.
    pub(crate) reasoning: &'static [Reasoning],
    /// Marks that carry nothing and are left out wherever they stand, such as end tokens.
    pub(crate) silent: &'static [&'static str],
}

impl Dialect {
    /// What a dialect is unless it says otherwise.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        openers: &[],
        reasoning: reasoning::think::MARKS,
        silent: &["<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"],
    };
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dialect").field(&self.name).finish()
    }
}

/// What begins a call.
pub(crate) struct Opener {
    pub(crate) mark: Mark,
    pub(crate) then: Then,
    pub(crate) grammar: Grammar,
}

#[derive(Clone, Copy)]
pub(crate) enum Mark {
    /// A text that stands anywhere outside code.
    Tag(&'static str),
    /// A code fence with one of these words behind it, standing last in the message.
    Fence(&'static [&'static str]),
    /// No mark at all: the call itself, as the whole message or at its end, naming a declared tool.
    Alone,
}

/// What must follow a mark, blanks aside, to make it one. Whatever fails stays text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// An object or an array of objects.
    Json,
    /// The same with the name of a call's member: all that an unmarked call may begin with.
    Object,
    /// A name, or a list or comment before it.
    Python,
}

/// Whether the text after a mark fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    No,
    /// More text is needed.
    Unsure,
}

impl Then {
    /// Judges the text behind the mark, blanks left out.
    pub(crate) fn fits(self, text: &str) -> Fit {
        let Some(first) = text.chars().next() else {
            return Fit::Unsure;
        };
        match self {
            Self::Python if first.is_alphabetic() || matches!(first, '_' | '[' | '#') => Fit::Yes,
            Self::Json if first == '{' => Fit::Yes,
            Self::Json => follows(text, "[{").map_or_else(|fit| fit, |_| Fit::Yes),
            Self::Object => {
                let object = text.strip_prefix('[').unwrap_or(text);
                follows(object, "{\"").map_or_else(|fit| fit, envelope::may_begin_with)
            }
            Self::Python => Fit::No,
        }
    }

    /// A cheap first look at the few bytes at hand with which an unmarked call may begin.
    pub(crate) fn may_begin(self, bytes: &[u8]) -> bool {
        match (self, bytes) {
            (Self::Object, [b'{', b'"', letter, ..]) => letter.is_ascii_lowercase(),
            (Self::Object, [b'{', second, ..]) => *second == b'"' || is_blank(*second as char),
            (Self::Object, [b'[', b'{', third, ..]) => *third == b'"' || is_blank(*third as char),
            (Self::Object, [b'[', second, ..]) => *second == b'{' || is_blank(*second as char),
            (Self::Object, _) => true,
            _ => false,
        }
    }
}

/// What follows the beginning that must be there.
fn follows<'t>(text: &'t str, beginning: &str) -> Result<&'t str, Fit> {
    match text.strip_prefix(beginning) {
        Some(rest) => Ok(rest),
        None if beginning.starts_with(text) => Err(Fit::Unsure),
        None => Err(Fit::No),
    }
}

/// The four blanks of JSON, which are also those that frame markup.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// How the inside of a call is written: one variant per family.
#[derive(Clone, Copy)]
pub(crate) enum Grammar {
    Json(&'static JsonGrammar),
    Python(&'static PythonGrammar),
}

/// The marks around reasoning.
pub(crate) struct Reasoning {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_needs_what_follows_it() {
        assert_eq!(Then::Json.fits("{"), Fit::Yes);
        assert_eq!(Then::Json.fits("tag"), Fit::No);
        assert_eq!(Then::Json.fits("[1"), Fit::No);
        assert_eq!(Then::Python.fits("f("), Fit::Yes);
        assert_eq!(Then::Object.fits("{"), Fit::Unsure);
        assert_eq!(Then::Object.fits("{a"), Fit::No);
        assert_eq!(Then::Object.fits("[{"), Fit::Unsure);
        assert_eq!(Then::Object.fits("{\"na"), Fit::Unsure);
        assert_eq!(Then::Object.fits("{\"name\""), Fit::Yes);
        assert_eq!(Then::Object.fits("{\"names\""), Fit::No);
        assert_eq!(Then::Object.fits("{\"age"), Fit::No);
        assert_eq!(Then::Object.fits("[1"), Fit::No);
    }
}
