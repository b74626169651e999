//! `<|tool_call|>[{"name": …, "arguments": …}, …]`: Granite 3.
//!
//! Odd here: a token in 3.0 and a string in 3.1, neither ever closed, or just the array. The reasoning of 3.2 is marked
//! by plain words, and 3.3 puts its answer in `<response>` tags; both are heeded only where the dialect is given.

use super::{JsonGrammar, hermes, json_bare};
use crate::Dialect;
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener};
use crate::families::reasoning::think_granite;

static GRAMMAR: JsonGrammar = JsonGrammar::PLAIN;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "granite",
    models: "Granite 3",
    sample: r#"<|tool_call|>[{"name": "get_weather", "arguments": {"city": "¤"}}]"#,
    openers: &[
        Opener { mark: Mark::Tag("<|tool_call|>"), then: Lookahead::Json, grammar: Grammar::Json(&GRAMMAR) },
        hermes::OPENER,
        json_bare::OPENER,
    ],
    given: GivenMarks {
        reasoning: think_granite::MARKS,
        silent: &["<response>", "</response>"],
        ..GivenMarks::NOTHING
    },
    strays: &["</tool_call>"],
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{check, check_given};

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                (r#"<|tool_call|> [{"name": "time", "arguments": {}}]"#, "call time {}"),
                (r#"[{"name": "time", "arguments": {}}]"#, "call time {}"),
            ],
        );
    }

    #[test]
    fn reasoning() {
        check_given(
            &DIALECT,
            &[
                (
                    "Here is my thought process:\nSo.\nHere is my response:\n<|tool_call|>[{\"name\": \"time\", \"arguments\": {}}]",
                    "think So. | call time {}",
                ),
                ("<think>So.</think><response>Hi.</response>", "think So. | say Hi."),
            ],
        );
    }
}
