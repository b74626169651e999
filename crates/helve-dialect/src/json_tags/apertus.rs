//! `<|tools_prefix|>[{"f": {…}}, {"g": {…}}]<|tools_suffix|>`: Apertus.
//!
//! Odd here: the name of the only member is the name of the tool.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Reasoning, Then};

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["<|tools_suffix|>"], keyed: true, ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "apertus",
    openers: &[Opener {
        mark: Mark::Tag("<|tools_prefix|>"),
        then: Then::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
    reasoning: &[Reasoning { open: "<|inner_prefix|>", close: "<|inner_suffix|>" }],
    silent: &["<|assistant_end|>"],
    strays: &["<|tools_suffix|>"],
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
                    r#"<|inner_prefix|>a<|inner_suffix|>b<|tools_prefix|>[{"search": {"query": "x"}}, {"time": {}}]<|tools_suffix|>"#,
                    r#"think a | say b | call search {"query": "x"} | call time {}"#,
                ),
                (
                    r#"<|tools_prefix|>[{"name": "search", "arguments": {"query": "x"}}, {"arguments": {}, "name": "time"}]<|tools_suffix|>"#,
                    r#"call search {"query": "x"} | call time {}"#,
                ),
                (
                    r#"<|tools_prefix|>[{"search": {"query": "x"} , "time": {}, "f": {"a": {"b": 1}}}]<|tools_suffix|> So."#,
                    r#"call search {"query": "x"} | call time {} | call f {"a": {"b": 1}} | say  So."#,
                ),
                (
                    "<|tools_prefix|>[{'search': {'query': 'x'}, 'time': {}}]<|tools_suffix|>",
                    r#"call search {"query": "x"} (Quotes) | call time {} (Quotes)"#,
                ),
                (
                    r#"<|tools_prefix|>[{"search": {"query": "x"}, "time": {"#,
                    r#"call search {"query": "x"} | cut time"#,
                ),
                (r#"<|tools_prefix|>[{"time": {}"#, "cut time"),
            ],
        );
    }
}
