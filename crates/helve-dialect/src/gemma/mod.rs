//! Calls as Gemma writes them: `call:f{k:<|"|>text<|"|>,n:42,o:{…},a:[…]}`.
//!
//! Names of members are bare, text stands between marks of its own and may hold anything else, and bare words are
//! numbers, `true`, `false`, `null` or text. Turned into JSON as it streams.

mod body;
pub(crate) mod functiongemma;
pub(crate) mod gemma4;
mod state;
mod whole;

pub(crate) use body::GemmaBody;

use crate::calls::WholeCall;
use crate::{Tools, coerce};

/// The marks of one Gemma.
pub(crate) struct GemmaGrammar {
    pub(crate) signs: &'static [(&'static str, Sign)],
    /// Text between its marks is JSON where it looks so.
    pub(crate) decodes: bool,
}

impl GemmaGrammar {
    /// Reads a call at the position, if it lies there whole and in perfect order.
    pub(crate) fn whole<'t>(
        &'static self,
        text: &'t str,
        from: usize,
        tools: &Tools,
    ) -> Option<WholeCall<'t>> {
        whole::read(text, from, self, tools)
    }

    fn mark(&self, sign: Sign) -> &'static str {
        self.signs.iter().find(|(_, known)| *known == sign).map_or("", |(mark, _)| mark)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Around text.
    Quote,
    Close,
}

/// No name is longer.
const NAME_MAX: usize = 256;

/// Text that may be JSON: what the schema of the parameter says, and else what it looks like.
fn json_of_text(text: &str, tool: &str, parameter: Option<&str>, tools: &Tools) -> String {
    match parameter {
        Some(parameter) => tools.typed(tool, parameter, text),
        None => coerce::by_look(text),
    }
}

/// A bare word: what it looks like, unless the schema of the parameter knows better. Text would stand in quotes.
fn json_of_word(word: &str, tool: &str, parameter: Option<&str>, tools: &Tools) -> String {
    let word = word.trim();
    match parameter {
        Some(parameter) if word != "null" || tools.is_text(tool, parameter) == Some(true) => {
            tools.typed(tool, parameter, word)
        }
        _ => coerce::by_look(word),
    }
}
