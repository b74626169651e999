//! `<tool_calls>[{"name": …, "arguments": …}, …]</tool_calls>`: Jamba.
//!
//! Odd here: one block with an array holds all calls; Hunyuan 3 writes other things behind the same tag.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["</tool_calls>"], ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "jamba",
    models: "Jamba",
    sample: r#"<tool_calls>[{"name": "get_weather", "arguments": {"city": "¤"}}]</tool_calls>"#,
    openers: &[Opener {
        mark: Mark::Tag("<tool_calls>"),
        then: Lookahead::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
    strays: &["</tool_calls>"],
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
                    r#"So.<tool_calls>[{"name": "time", "arguments": {}}, {"name": "time", "arguments": {}}]</tool_calls>"#,
                    "say So. | call time {} | call time {}",
                ),
                (
                    r#"<tool_calls>[{"name": "time", "arguments": {"a": 1}]</tool_calls>"#,
                    r#"call time {"a": 1} (Closers)"#,
                ),
            ],
        );
    }
}
