//! `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": …}]<|END_ACTION|>`: Command R7B and Command A.
//!
//! Odd here: reasoning and answer stand between tokens of their own. Marks around what is cited, `<co: 0:[1,2]>…</co:
//! 0:[1,2]>`, are left out.

use super::JsonGrammar;
use crate::Dialect;
use crate::body::ChannelTurn;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::channels::{ChannelGrammar, HeadRoute, HeadSign};
use crate::families::reasoning::think_cohere;

static GRAMMAR: JsonGrammar = JsonGrammar { close: &["<|END_ACTION|>"], ..JsonGrammar::PLAIN };

static CITATION: ChannelGrammar = ChannelGrammar {
    signs: &[(">", HeadSign::Message(""))],
    route: |_, _, _| HeadRoute::to_turn(ChannelTurn::On),
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "cohere_cmd",
    models: "Command R7B and Command A",
    sample: r#"<|START_ACTION|>[{"tool_name": "get_weather", "parameters": {"city": "¤"}}]<|END_ACTION|>"#,
    openers: &[
        Opener {
            mark: Mark::Tag("<|START_ACTION|>"),
            then: Lookahead::Json,
            grammar: Grammar::Json(&GRAMMAR),
        },
        Opener { mark: Mark::Tag("<co: "), then: Lookahead::Sources, grammar: Grammar::Channel(&CITATION) },
        Opener { mark: Mark::Tag("</co: "), then: Lookahead::Sources, grammar: Grammar::Channel(&CITATION) },
    ],
    reasoning: think_cohere::MARKS,
    silent: &[
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_TEXT|>",
        "<|END_TEXT|>",
        "<|END_OF_TURN_TOKEN|>",
        "<|CHATBOT_TOKEN|>",
    ],
    strays: &["<|END_ACTION|>"],
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
                    r#"<|START_THINKING|>a<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", "tool_name": "time", "parameters": {}}]<|END_ACTION|>"#,
                    "think a | call time#0 {}",
                ),
                (
                    "<|START_THINKING|>It <co: 0>is</co: 0> so.<|END_THINKING|><|START_RESPONSE|>Rome is <co: 0:[1,2], 1:[0]>dry</co: 0:[1,2], 1:[0]>, `so`.<|END_RESPONSE|>",
                    "think It is so. | say Rome is dry, `so`.",
                ),
                ("A <co: x> and `<co: 0>`.", "say A <co: x> and `<co: 0>`."),
                ("<|START_RESPONSE|>Hi.<|END_RESPONSE|>", "say Hi."),
            ],
        );
    }
}
