//! `<|tools_prefix|>[{"f": {…}}, {"g": {…}}]<|tools_suffix|>`: Apertus.
//!
//! Odd here: the name of a member, mostly the only one, is the name of the tool.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::reasoning::think_apertus;

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["<|tools_suffix|>"], keyed: true, ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "apertus",
    models: "Apertus",
    sample: r#"<|tools_prefix|>[{"get_weather": {"city": "¤"}}]<|tools_suffix|>"#,
    openers: &[Opener {
        mark: Mark::Tag("<|tools_prefix|>"),
        then: Lookahead::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
    reasoning: think_apertus::MARKS,
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
                    r#"<|tools_prefix|>[{"search": {"query": "x"} , "time": {}, "f": {"a": 1}}]<|tools_suffix|> So."#,
                    r#"call search {"query": "x"} | call time {} | call f {"a": 1} | say  So."#,
                ),
                (r#"<|tools_prefix|>[{"f": {"a": {"b": 1}}}]<|tools_suffix|>"#, r#"call f {"a": {"b": 1}}"#),
                (
                    r#"<|tools_prefix|>[{"search": {"query": "x"}, "id": "1"}, {"id": "2", "time": {}}]<|tools_suffix|>"#,
                    r#"call search {"query": "x"} | call time#2 {}"#,
                ),
                (
                    r#"<|tools_prefix|>[{"why": ["because"], "search": {"query": "x"}, "note": "so", "name": "y"}]<|tools_suffix|>"#,
                    r#"call search {"query": "x"}"#,
                ),
                (
                    "<|tools_prefix|>[{'note': 'so', 'search': {'query': 'x'}, 'id': '1'}]<|tools_suffix|>",
                    r#"call search {"query": "x"} (Quotes)"#,
                ),
                (
                    r#"<|tools_prefix|>[{"id": "1", "name": "time", "arguments": {}}]<|tools_suffix|>"#,
                    "call time#1 {}",
                ),
                (
                    r#"<|tools_prefix|>[{"type": "function", "function": {"name": "time", "arguments": {}}}]<|tools_suffix|>"#,
                    "call time {}",
                ),
                (
                    r#"<|tools_prefix|>[{"time": null}, {"search": "{\"query\": \"x\"}"}]<|tools_suffix|>"#,
                    r#"call time {} | call search {"query": "x"} (Encoding)"#,
                ),
                (r#"<|tools_prefix|>[{"id": "1", "note": "so"}]<|tools_suffix|>"#, "broken"),
                (
                    r#"<|tools_prefix|>[{"time": {}, "search" {"query": "x"}}]<|tools_suffix|>"#,
                    "call time {} | broken",
                ),
                // The name of a parameter is no argument.
                (
                    r#"<|tools_prefix|>[{"search": "query": "x"}}, {"time": {}}]<|tools_suffix|>"#,
                    "broken search | call time {}",
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
