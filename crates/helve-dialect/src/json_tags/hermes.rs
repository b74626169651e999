//! `<tool_call>{"name": …, "arguments": …}</tool_call>`: Hermes, Qwen up to 3, QwQ, Granite 4 and many fine-tunes.
//!
//! Odd here: `arguments` often comes before `name`, is sometimes a string with JSON inside, and Hermes-2-Pro on
//! Mistral quotes like Python. The closing tag may be missing, several objects or an array may share one tag.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "hermes",
    openers: &[Opener {
        mark: Mark::Tag("<tool_call>"),
        then: Then::Json,
        grammar: Grammar::Json(&JsonGrammar { close: &["</tool_call>"] }),
    }],
    ..Dialect::PLAIN
};
