//! A call in a code fence: JSON after ```` ```json ```` or a plain ```` ``` ````.
//!
//! Odd here: documentation looks the same. The fence must be the last thing in the message and the tool declared.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

pub(crate) const OPENER: Opener = Opener {
    mark: Mark::Fence(&["", "json", "JSON", "tool_call", "tool_calls"]),
    then: Lookahead::Json,
    grammar: Grammar::Json(&JsonGrammar::PLAIN),
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "json_fenced",
    models: "any model that is asked for JSON, and fences it",
    sample: "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"¤\"}}\n```",
    openers: &[OPENER],
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
                ("```json\n{\"name\": \"time\", \"arguments\": {}}\n```", "call time {}"),
                (
                    "Sure:\n\n```\n{\"tool\": \"search\", \"query\": \"x\"}\n```\n",
                    "say Sure:\n\n | call search {\"query\": \"x\"}",
                ),
                ("```json\n{\"name\": \"time\", \"arguments\": {}}", "call time {}"),
                ("Sure. ```json\n{\"name\": \"time\", \"arguments\": {}}\n```", "say Sure.  | call time {}"),
                ("Use ```time``` or ```x\ny.", "say Use ```time``` or ```x\ny."),
                (
                    "```json\n{\"name\": \"time\"}\n```\n```json\n{\"name\": \"search\"}\n```",
                    "call time {} | call search {}",
                ),
                (
                    "```json\n{\"name\": \"time\", \"arguments\": {}}\n```\nThat is the form.",
                    "say ```json\n{\"name\": \"time\", \"arguments\": {}}\n```\nThat is the form.",
                ),
                (
                    "```json\n{'name': 'time', 'arguments': {}}\n```\n```\n[{'name': 'search', 'arguments': {}}]\n```",
                    "call time {} (Quotes) | call search {} (Quotes)",
                ),
                ("```\n{'name': 'Bingo'}\n```", "say ```\n{'name': 'Bingo'}\n```"),
                ("```json\n{'a': 1}\n```", "say ```json\n{'a': 1}\n```"),
                ("```json\n{\"a\": 1}\n```", "say ```json\n{\"a\": 1}\n```"),
                ("```rust\nfn main() {}\n```", "say ```rust\nfn main() {}\n```"),
                ("```\n```", "say ```\n```"),
            ],
        );
    }
}
