//! A call in a code fence: JSON after ```` ```json ```` or a plain ```` ``` ````.
//!
//! Odd here: documentation looks the same. The fence must be the last thing in the message and the tool declared.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};

pub(crate) const OPENER: Opener = Opener {
    mark: Mark::Fence(&["", "json", "JSON", "tool_call", "tool_calls"]),
    then: Then::Json,
    grammar: Grammar::Json(&JsonGrammar { close: &[] }),
};

pub(crate) static DIALECT: Dialect = Dialect { name: "json_fenced", openers: &[OPENER], ..Dialect::PLAIN };
