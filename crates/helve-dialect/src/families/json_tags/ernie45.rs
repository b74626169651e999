//! The calls of Hermes, after reasoning, with plain answers in `<response>` tags: ERNIE 4.5.
//!
//! Odd here: the tags around the answer. They are too common a word to be looked for unasked.

use super::hermes;
use crate::Dialect;
use crate::families::reasoning::think_ernie;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "ernie45",
    models: "ERNIE 4.5",
    sample: r#"<tool_call>{"name": "get_weather", "arguments": {"city": "¤"}}</tool_call>"#,
    openers: hermes::OPENERS,
    silent: think_ernie::ANSWER,
    found: false,
    strays: &["</tool_call>"],
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
            &[
                (
                    "a\n</think>\n\n\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>\n",
                    "say a\n | call time {}",
                ),
                ("<response>\nHi.\n</response>\n", "say \nHi.\n\n"),
            ],
        );
    }
}
