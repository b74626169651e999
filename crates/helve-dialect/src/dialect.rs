//! The shape of a dialect: its marks, what follows them, and the grammar of what they enclose.
//!
//! A dialect is data. Its file is `families/<family>/<name>.rs` with one `DIALECT` and a table of cases; the automaton that
//! reads the inside of a call belongs to the family, and is in its `body.rs`.
//!
//! How to add one is in CONTRIBUTING.md.

use std::fmt;

use crate::families::channels::ChannelGrammar;
use crate::families::framed::FramedGrammar;
use crate::families::function_xml::TagGrammar;
use crate::families::gemma::GemmaGrammar;
use crate::families::json_tags::JsonGrammar;
use crate::families::nested_xml::NestedGrammar;
use crate::families::pythonic::PythonGrammar;
use crate::families::reasoning;
pub(crate) use crate::lookahead::{Fit, Lookahead};

/// One way in which models write tool calls as text.
pub struct Dialect {
    /// The name in FORMATS.md, in configuration and in results.
    pub name: &'static str,
    /// The models that write so.
    pub models: &'static str,
    /// A call of `get_weather` as they write it, with `¤` for the city; where the dialect marks only reasoning, `¤` is thought,
    /// and where it marks nothing, text.
    pub sample: &'static str,
    /// What begins a call. Where dialects share a mark, the first in the registry whose look-ahead fits wins.
    pub(crate) openers: &'static [Opener],
    /// What else it has where it is given: ordinary words, which are not looked for unasked.
    pub(crate) given: GivenMarks,
    /// How its models mark reasoning.
    pub(crate) reasoning: &'static [Reasoning],
    /// Marks that carry nothing and are left out wherever they stand, besides the end tokens that all have.
    pub(crate) silent: &'static [&'static str],
    /// Marks that stand inside its calls and end them. Behind a call of its own they are strays and left out, as its
    /// openers are; before any they are text.
    pub(crate) strays: &'static [&'static str],
    /// The special tokens around a section of several calls, which opens and closes. Until it is closed, its marks mean what
    /// they say, whatever else is written in it.
    pub(crate) sections: &'static [(&'static str, &'static str)],
    /// Marks that end a message of a channel, and mean nothing elsewhere.
    pub(crate) over: &'static [&'static str],
    /// Marks after which nothing the model writes is its own to say, such as an observation it made up.
    pub(crate) ends_output: &'static [&'static str],
    /// Looked for even when no dialect is given. What begins with ordinary words is not.
    pub(crate) found: bool,
}

impl Dialect {
    /// Whether it is looked for without being given. What begins with ordinary words is not.
    pub fn is_found_by_marks(&self) -> bool {
        self.found
    }

    /// Whether its models write calls in it, and not only reasoning or text.
    pub fn has_calls(&self) -> bool {
        self.sample.contains("get_weather")
    }

    /// Whether its sample is a call that begins with a mark by which calls are told from text wherever they stand.
    pub fn begins_with_mark(&self) -> bool {
        self.opener_of_sample().is_some()
    }

    /// Whether its sample is a call that begins with the head of a message.
    pub fn begins_with_head(&self) -> bool {
        self.opener_of_sample().is_some_and(|opener| matches!(opener.grammar, Grammar::Channel(_)))
    }

    fn opener_of_sample(&self) -> Option<&Opener> {
        let begins = |opener: &Opener| match opener.mark {
            Mark::Tag(mark) => self.sample.starts_with(mark),
            _ => false,
        };
        self.openers.iter().find(|opener| self.has_calls() && begins(opener))
    }

    /// All of its marks, whatever they mean.
    pub(crate) fn marks(&self) -> Vec<&'static str> {
        let openers = self.openers.iter().chain(self.given.openers);
        let tags = openers.filter_map(|opener| match opener.mark {
            Mark::Tag(mark) => Some(mark),
            _ => None,
        });
        let thoughts = self.reasoning.iter().chain(self.given.reasoning);
        let thoughts = thoughts.flat_map(|thought| [thought.open, thought.close]);
        let sections = self.sections.iter().flat_map(|(open, close)| [*open, *close]);
        let rest = [self.silent, self.given.silent, self.strays, self.over, self.ends_output];
        tags.chain(thoughts).chain(sections).chain(rest.into_iter().flatten().copied()).collect()
    }

    /// Whether the mark opens a section of several calls.
    pub(crate) fn opens_section(&self, mark: &str) -> bool {
        self.sections.iter().any(|(open, _)| *open == mark)
    }

    /// Whether the text ends with a mark that closes one.
    pub(crate) fn closes_section(&self, text: &str) -> bool {
        self.sections.iter().any(|(_, close)| text.ends_with(close))
    }

    /// What a dialect is unless it says otherwise.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        models: "",
        sample: "",
        openers: &[],
        given: GivenMarks::NOTHING,
        reasoning: reasoning::think::MARKS,
        silent: &[],
        strays: &[],
        sections: &[],
        over: &[],
        ends_output: &[],
        found: true,
    };
}

/// The tokens that end a model's turn, left out wherever they stand: what a model writes says little about which of them it
/// was trained with. All begin with the same byte, so that looking for them costs no more than looking for one.
pub(crate) const END_TOKENS: &[&str] = &[
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<end_of_turn>",
    "</s>",
    "<｜end▁of▁sentence｜>",
];

/// The one of them that is a tag of HTML too: left out only where no text follows it.
pub(crate) const HTML_END_TOKEN: &str = "</s>";

/// The tags around a tool's result, as the prompts of many models have them. A model that writes them makes a result up, or
/// repeats one, and a call inside is not its own.
pub(crate) const RESULTS: &[(&str, &str)] = &[
    ("<tool_response>", "</tool_response>"),
    ("<tool_result>", "</tool_result>"),
    ("<function_results>", "</function_results>"),
];

/// The first of each pair.
pub const RESULT_MARKS: [&str; RESULTS.len()] = [RESULTS[0].0, RESULTS[1].0, RESULTS[2].0];

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dialect").field(&self.name).finish()
    }
}

/// The marks of a dialect that mean something only where it is given.
pub(crate) struct GivenMarks {
    pub(crate) openers: &'static [Opener],
    pub(crate) reasoning: &'static [Reasoning],
    pub(crate) silent: &'static [&'static str],
}

impl GivenMarks {
    pub(crate) const NOTHING: Self = Self { openers: &[], reasoning: &[], silent: &[] };
}

/// What begins a call.
pub(crate) struct Opener {
    pub(crate) mark: Mark,
    pub(crate) then: Lookahead,
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
    /// No mark, but the beginning of the message: what the prompt has opened.
    Start,
}

/// How the inside of a call is written: one variant per family.
#[derive(Clone, Copy)]
pub(crate) enum Grammar {
    Json(&'static JsonGrammar),
    Python(&'static PythonGrammar),
    Tags(&'static TagGrammar),
    Nested(&'static NestedGrammar),
    Framed(&'static FramedGrammar),
    Gemma(&'static GemmaGrammar),
    /// No call, but the head of a message that may be one.
    Channel(&'static ChannelGrammar),
}

/// The marks around reasoning.
#[derive(Clone, Copy)]
pub(crate) struct Reasoning {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
}

/// What tools' names are made of.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/')
}
