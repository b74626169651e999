//! A call without any markup: `{"tool": "search_web", "query": …}`, `{"tool_calls": […]}` and their relatives.
//!
//! Odd here: nothing but its place and its name tells it from an answer in JSON. So it must name a declared tool and
//! be the whole message or its end. Models told not to fence it fence it all the same; Llama puts a tag before it.

use super::{JsonGrammar, json_fenced};
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "json_bare",
    openers: &[
        Opener { mark: Mark::Alone, then: Then::Object, grammar: Grammar::Json(&JsonGrammar { close: &[] }) },
        json_fenced::OPENER,
    ],
    silent: &["<|python_tag|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>"],
    ..Dialect::PLAIN
};
