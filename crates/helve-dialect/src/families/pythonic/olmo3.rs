//! `<function_calls>⏎f(a=1)⏎g(b="x")⏎</function_calls>`: OLMo 3.
//!
//! Odd here: the tag is also Claude's; calls stand on lines of their own, without brackets.

use super::PythonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: PythonGrammar = PythonGrammar { close: &["</function_calls>"], ..PythonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "olmo3",
    models: "OLMo 3",
    sample: "<function_calls>\nget_weather(city=\"¤\")\n</function_calls>",
    openers: &[Opener {
        mark: Mark::Tag("<function_calls>"),
        then: Lookahead::Function,
        grammar: Grammar::Python(&GRAMMAR),
    }],
    strays: &["</function_calls>"],
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
                "<function_calls>\nsearch(query=\"x\", limit=null)\ntime()\n</function_calls>",
                r#"call search {"query": "x", "limit": null} | call time {}"#,
            )],
        );
    }
}
