//! Calls written as JSON: between tags, in a fence, or alone.
//!
//! The body reads any number of objects — in arrays, one after another, with or without separators — and ends each
//! one where its JSON ends, never by looking for the closing tag: a tag inside a string is data. Text that is not
//! JSON is read loosely only to find its end, then repaired as a whole.

pub(crate) mod apertus;
pub(crate) mod apriel;
mod body;
pub(crate) mod cohere_cmd;
pub(crate) mod command_r_plus;
pub(crate) mod content_only;
pub(crate) mod ernie45;
pub(crate) mod gigachat3;
pub(crate) mod granite;
pub(crate) mod granite_20b_fc;
pub(crate) mod hermes;
pub(crate) mod hunyuan_a13b;
pub(crate) mod internlm;
pub(crate) mod jamba;
pub(crate) mod json_bare;
pub(crate) mod json_fenced;
pub(crate) mod llama3_json;
pub(crate) mod longcat;
pub(crate) mod nemotron_deci;
pub(crate) mod phi4_mini;
pub(crate) mod sarashina;
pub(crate) mod xlam;

pub(crate) use body::JsonBody;

use crate::body::Evidence;
use crate::envelope::EnvelopeRules;

/// What encloses the JSON.
pub(crate) struct JsonGrammar {
    /// The closing tags; the section may end without one.
    pub(crate) close: &'static [&'static str],
    /// Another mark stands before the JSON. The look-ahead has seen it, and the bracket behind it.
    pub(crate) led: bool,
    /// The members of an object, mostly one, are named after tools, and their values are the arguments.
    pub(crate) keyed: bool,
    /// Arguments must be there, and be an object.
    pub(crate) strict: bool,
    /// Tools that mean that none is called.
    pub(crate) names_of_no_tool: &'static [&'static str],
    /// Tools that are none: what calls them is the answer, and stays text as it is written.
    pub(crate) answers: &'static [&'static str],
    /// Objects are written as Python's. Elsewhere, without a mark, they are calls only if the tools are known.
    pub(crate) python: bool,
}

impl JsonGrammar {
    /// What a grammar is unless it says otherwise.
    pub(crate) const PLAIN: Self = Self {
        close: &[],
        led: false,
        keyed: false,
        strict: false,
        names_of_no_tool: &[],
        answers: &[],
        python: false,
    };

    fn envelope_rules(&self, standing: Evidence) -> EnvelopeRules {
        EnvelopeRules { gated: standing == Evidence::Alone, keyed: self.keyed, strict: self.strict }
    }
}
