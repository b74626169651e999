//! A call without any markup: `{"tool": "search_web", "query": …}`, `{"tool_calls": […]}` and their relatives.
//!
//! Odd here: nothing but its place and its name tells it from an answer in JSON. So it must name a declared tool and
//! be the whole message or its end. Models told not to fence it fence it all the same; Llama puts a tag before it.

use super::{JsonGrammar, json_fenced, sarashina};
use crate::Dialect;
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener};

pub(super) const OPENER: Opener =
    Opener { mark: Mark::Alone, then: Lookahead::Object, grammar: Grammar::Json(&JsonGrammar::PLAIN) };

/// A list in Python's quotes is found as Sarashina's.
pub(super) const GIVEN: GivenMarks = GivenMarks { openers: &[sarashina::ALONE], ..GivenMarks::NOTHING };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "json_bare",
    models: "any model that is asked for JSON",
    sample: r#"{"name": "get_weather", "arguments": {"city": "¤"}}"#,
    openers: &[OPENER, json_fenced::OPENER],
    given: GIVEN,
    silent: &["<|python_tag|>"],
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
                    r#"{"tool": "search", "query": "rust", "limit": 3}"#,
                    r#"call search {"query": "rust", "limit": 3}"#,
                ),
                (r#"{"name": "search", "arguments": {"query": "x"}}"#, r#"call search {"query": "x"}"#),
                ("\n{\"tool_name\": \"search\", \"parameters\": {}} \n", "call search {}"),
                (
                    r#"{"query": "rust", "limit": 3, "tool": "search"}"#,
                    r#"call search {"query": "rust", "limit": 3}"#,
                ),
                (r#"So: {"query": "rust", "tool": "search"}"#, r#"say So:  | call search {"query": "rust"}"#),
                (r#"{"query": "rust", "tool": "other"}"#, r#"say {"query": "rust", "tool": "other"}"#),
                (r#"{"query": "rust", "name": "search"}"#, r#"say {"query": "rust", "name": "search"}"#),
                (
                    r#"{"query": "rust", "tool": "search", "year": 1}"#,
                    r#"call search {"query": "rust", "year": 1}"#,
                ),
                (r#"{"query": "rust"}"#, r#"say {"query": "rust"}"#),
                (r#"{"query": "ru"#, r#"say {"query": "ru"#),
                (r#"{"tool": "search"}"#, "call search {}"),
                (r#"{"name": "search", "query": "x"}"#, r#"call search {"query": "x"}"#),
                (r#"{"tool": "search", "name": "x"}"#, "call search {}"),
                (
                    r#"{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{\"query\": \"x\"}"}}, {"name": "time", "arguments": {}}]}"#,
                    r#"call search#c1 {"query": "x"} | call time {}"#,
                ),
                (
                    r#"[{"name": "search", "arguments": {}}, {"function": "time"}]"#,
                    "call search {} | call time {}",
                ),
                (r#"{"name": "search"}; {"name": "time"}"#, "call search {} | call time {}"),
                (
                    r#"{"name": "time", "arguments": {}}; {"name": "time", "arguments": {}};"#,
                    "call time {} | call time {} | say ;",
                ),
                (r#"[{"name": "time", "arguments": {}}], ["#, "call time {} | say , ["),
                (r#"<|python_tag|>{"name": "search", "parameters": {}}<|eom_id|>"#, "call search {}"),
                (
                    r#"<|python_tag|>{"name": "search", "parameters": {}}<|python_tag|>{"tool": "time"}"#,
                    "call search {} | call time {}",
                ),
                (
                    r#"I will search. {"name": "Search", "arguments": {}}"#,
                    "say I will search.  | call Search {}",
                ),
                ("```json\n{\"name\": \"time\", \"arguments\": {}}\n```", "call time {}"),
                (
                    r#"{"name": "search", "arguments": {'query': 'x'}}"#,
                    r#"call search {"query": "x"} (Quotes)"#,
                ),
                (
                    r#"{"name": "search", "arguments": {{"query": "x"}}}"#,
                    r#"call search {"query": "x"} (Closers)"#,
                ),
                (
                    "{'name': 'search', 'arguments': {'query': \"it's\", 'limit': None}}",
                    r#"call search {"query": "it's", "limit": null} (Quotes, Words)"#,
                ),
                (
                    "So. {'type': 'function', 'function': {'name': 'time'}}",
                    "say So.  | call time {} (Quotes)",
                ),
                ("[{'name': 'time', 'arguments': {}}]", "call time {} (Quotes)"),
                ("{'name': 'Bingo', 'arguments': {}}", "say {'name': 'Bingo', 'arguments': {}}"),
                ("{'name': 'time', 'arguments': {}} is so.", "say {'name': 'time', 'arguments': {}} is so."),
                ("`{'name': 'time'}` {'names': 1} {'nam", "say `{'name': 'time'}` {'names': 1} {'nam"),
                ("{'name': 'time', 'arguments': {'a", "say {'name': 'time', 'arguments': {'a"),
                (
                    r#"{"name": "search", "arguments": {}} is how."#,
                    r#"say {"name": "search", "arguments": {}} is how."#,
                ),
                (r#"{"name": "other", "arguments": {}}"#, r#"say {"name": "other", "arguments": {}}"#),
                (r#"{"name": "search", "age": 30}"#, r#"say {"name": "search", "age": 30}"#),
                (r#"{"result": 42}"#, r#"say {"result": 42}"#),
                (r#"`{"name": "search"}`"#, r#"say `{"name": "search"}`"#),
                (r#"{"name": "search", "arguments": {"query": "ha"#, "cut search"),
                (
                    r#"{"type": "function", "function": {"name": "search", "description": "Finds.", "parameters": {"type": "object"}}}"#,
                    r#"say {"type": "function", "function": {"name": "search", "description": "Finds.", "parameters": {"type": "object"}}}"#,
                ),
                ("[1] and {a}", "say [1] and {a}"),
            ],
        );
    }
}
