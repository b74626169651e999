//! `<tool_call>f⏎<arg_key>k</arg_key>⏎<arg_value>V</arg_value>⏎</tool_call>`: GLM 4.5 and 4.6.
//!
//! Odd here: the name is plain text behind the tag of Hermes. The line break behind it may be the two characters
//! `\n`. Values are verbatim; where no schema types them, what looks like JSON is JSON.

use super::{Element, TagGrammar};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: TagGrammar = TagGrammar {
    elements: &[
        ("tool_call", Element::NamedByText),
        ("arg_key", Element::Key),
        ("arg_value", Element::Value),
    ],
    ..TagGrammar::PLAIN
};

pub(super) const OPENERS: &[Opener] = &[Opener {
    mark: Mark::Tag("<tool_call>"),
    then: Lookahead::Name(&["<arg_key>", "</tool_call>", "\\n"]),
    grammar: Grammar::Tags(&GRAMMAR),
}];

pub(super) const SILENT: &[&str] = &["<|user|>", "<|observation|>"];

pub(super) const STRAYS: &[&str] =
    &["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</tool_call>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "glm45",
    models: "GLM 4.5 and 4.6",
    sample: "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>¤</arg_value>\n</tool_call>",
    openers: OPENERS,
    silent: SILENT,
    strays: STRAYS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                (
                    "So.\n<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>  a </tool_call> b</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
                    "say So.\n | call search {\"query\": \"  a </tool_call> b\", \"limit\": 3}",
                ),
                (
                    "<tool_call>other\\n<arg_key>a</arg_key>\\n<arg_value>[1]</arg_value>\\n</tool_call>",
                    "call other {\"a\": [1]}",
                ),
                ("<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>San Fr", "cut search"),
                ("The <tool_call> tag.", "say The <tool_call> tag."),
            ],
        );
    }
}
