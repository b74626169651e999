//! Reasoning, `[BEGIN FINAL RESPONSE]`, and `<tool_calls>[…]</tool_calls>`: Apriel 1.6.
//!
//! Odd here: the reasoning begins with plain words that stand in the prompt, so it is not looked for unasked.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener, Reasoning};

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["</tool_calls>"], ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "apriel",
    models: "Apriel 1.6",
    sample: r#"<tool_calls>[{"name": "get_weather", "arguments": {"city": "¤"}}]</tool_calls>"#,
    openers: &[Opener {
        mark: Mark::Tag("<tool_calls>"),
        then: Lookahead::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
    reasoning: &[Reasoning { open: "Here are my reasoning steps:", close: "[BEGIN FINAL RESPONSE]" }],
    found: false,
    strays: &["</tool_calls>"],
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check_given;

    #[test]
    fn cases() {
        check_given(
            &DIALECT,
            &[(
                r#"Here are my reasoning steps: a [BEGIN FINAL RESPONSE]<tool_calls>[{"name": "time", "arguments": {}}]</tool_calls>"#,
                "think a  | call time {}",
            )],
        );
    }
}
