//! `<longcat_tool_call>{"name": …, "arguments": …}</longcat_tool_call>`: LongCat.
//!
//! Odd here: only the tags, also those around its reasoning.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::reasoning::think_longcat;

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["</longcat_tool_call>"], ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "longcat",
    models: "LongCat",
    sample: r#"<longcat_tool_call>{"name": "get_weather", "arguments": {"city": "¤"}}</longcat_tool_call>"#,
    openers: &[Opener {
        mark: Mark::Tag("<longcat_tool_call>"),
        then: Lookahead::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
    reasoning: think_longcat::MARKS,
    strays: &["</longcat_tool_call>"],
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
            &[(
                r#"<longcat_think>a</longcat_think><longcat_tool_call>{"name": "time", "arguments": {}}</longcat_tool_call>"#,
                "think a | call time {}",
            )],
        );
    }
}
