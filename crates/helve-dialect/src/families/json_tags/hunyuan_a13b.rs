//! `<tool_calls>[…]</tool_calls>` beside `<think>` and `<answer>`: Hunyuan-A13B.
//!
//! Odd here: the answer stands in tags of its own, and a residue of the template may precede it.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["</tool_calls>"], ..JsonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "hunyuan_a13b",
    models: "Hunyuan-A13B",
    sample: r#"<tool_calls>[{"name": "get_weather", "arguments": {"city": "¤"}}]</tool_calls>"#,
    openers: &[Opener {
        mark: Mark::Tag("<tool_calls>"),
        then: Lookahead::Json,
        grammar: Grammar::Json(&GRAMMAR),
    }],
    silent: &["<answer>", "</answer>", "助手："],
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
            &[
                (
                    r#"<think>a</think><answer><tool_calls>[{"name": "time", "arguments": {}}]</tool_calls></answer>"#,
                    "think a | call time {}",
                ),
                ("助手：你好。", "say 你好。"),
                ("我的助手：小明会来。", "say 我的助手：小明会来。"),
            ],
        );
    }
}
