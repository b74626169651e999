//! Calls as Gemma writes them: `call:f{k:<|"|>text<|"|>,n:42,o:{…},a:[…]}`.
//!
//! Names of members are bare, text stands between marks of its own and may hold anything else, and bare words are
//! numbers, `true`, `false`, `null` or text. Turned into JSON as it streams.

mod body;
pub(crate) mod functiongemma;
pub(crate) mod gemma4;

pub(crate) use body::GemmaBody;

use crate::Tools;
use helve_json::byte_search::begins;
use helve_json::coerce;

/// The marks of one Gemma.
pub(crate) struct GemmaGrammar {
    /// Around text.
    pub(crate) quote: &'static str,
    /// Behind the call.
    pub(crate) close: &'static str,
    /// What follows a call if it is markup: what opens another comes first, and the other marks that open something or
    /// end the turn.
    pub(crate) next: &'static [&'static str],
    /// Text between its marks is JSON where it looks so.
    pub(crate) decodes: bool,
}

impl GemmaGrammar {
    /// The mark that stands at the beginning of the text.
    #[inline]
    fn find_sign(&'static self, text: &str) -> GemmaSign {
        let bytes = text.as_bytes();
        if begins(bytes, self.quote) {
            return GemmaSign::Quote;
        }
        if begins(bytes, self.close) {
            return GemmaSign::Close;
        }
        let cut = |mark: &&'static str| mark.starts_with(text);
        if let Some(mark) = [self.quote, self.close].into_iter().find(|mark| cut(mark)) {
            return GemmaSign::Cut(mark);
        }
        match self.next.iter().find(|mark| begins(bytes, mark) || cut(mark)) {
            Some(mark) if text.len() < mark.len() => GemmaSign::Cut(mark),
            Some(mark) if *mark == self.next[0] => GemmaSign::Open,
            Some(_) => GemmaSign::Over,
            None => GemmaSign::None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GemmaSign {
    Quote,
    Close,
    /// Another call begins.
    Open,
    /// Something else begins, or the turn is over.
    Over,
    /// As far as the text goes, it may be this one.
    Cut(&'static str),
    None,
}

/// What stands before the name.
const CALL: &str = "call:";

/// No name is longer.
const NAME_MAX: usize = 256;

/// Text that may be JSON: what the schema of the parameter says, and else what it looks like.
fn json_of_text(text: &str, tool: &str, parameter: Option<&str>, tools: &Tools) -> String {
    match parameter {
        Some(parameter) => tools.type_value(tool, parameter, text),
        None => coerce::coerce_untyped(text),
    }
}

/// A bare word: what it looks like, unless the schema of the parameter knows better. Text would stand in quotes.
fn json_of_word(word: &str, tool: &str, parameter: Option<&str>, tools: &Tools) -> String {
    let word = word.trim();
    match (parameter, word) {
        (Some(parameter), "null" | "None") if tools.is_text_parameter(tool, parameter) != Some(true) => {
            "null".to_owned()
        }
        (Some(parameter), _) => tools.type_value(tool, parameter, word),
        (None, "None") => "null".to_owned(),
        (None, "True") => "true".to_owned(),
        (None, "False") => "false".to_owned(),
        (None, _) => coerce::coerce_untyped(word),
    }
}
