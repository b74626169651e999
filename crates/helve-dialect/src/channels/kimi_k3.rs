//! `<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="k" type="string"<|sep|>V…`: Kimi K3.
//!
//! Odd here: elements spelt with tokens. `think`, `response` and `tools` are channels; an argument says its own type.
//! Blanks around names are tolerated, and the prompt may have opened any channel. A call inside the text of one is on
//! trial until that channel is closed.

use super::{ChannelGrammar, HeadRoute, HeadSign};
use crate::Dialect;
use crate::body::{ChannelScope, ChannelTurn};
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::function_xml::kimi_k3::GRAMMAR;
use helve_json::is_blank;

static OPEN: ChannelGrammar = ChannelGrammar {
    signs: &[
        ("<|sep|>", HeadSign::Message("")),
        ("<|open|>", HeadSign::Again),
        ("<|end_of_msg|>", HeadSign::Over),
    ],
    route: |head, _, _| {
        HeadRoute::to(match head.trim() {
            "think" => ChannelTurn::Reasoning(SCOPE),
            "response" => ChannelTurn::Answer(SCOPE),
            name if name.contains(is_blank) && !name.contains('=') => return None,
            _ => ChannelTurn::Over,
        })
    },
};

static CLOSE: ChannelGrammar = ChannelGrammar {
    signs: &[("<|sep|>", HeadSign::Message("")), ("<|end_of_msg|>", HeadSign::Over)],
    // Only these two hold text. The end of the message settles nothing: what was called in them counts.
    route: |head, _, _| {
        HeadRoute::to(match head.trim() {
            "think" | "response" => ChannelTurn::Over,
            "tools" | "call" | "argument" | "json" | "message" => ChannelTurn::On,
            _ => return None,
        })
    },
};

const SCOPE: &ChannelScope = &ChannelScope { opens: &["<|open|>"], closes: &["<|close|>", "<|end_of_msg|>"] };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "kimi_k3",
    models: "Kimi K3",
    sample: "<|open|>tools<|sep|><|open|>call tool=\"get_weather\" index=\"1\"<|sep|><|open|>argument key=\"city\" type=\"string\"<|sep|>¤<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    openers: &[
        Opener {
            mark: Mark::Tag("<|open|>"),
            then: Lookahead::Words(&["tools", "call", "argument"]),
            grammar: Grammar::Tags(&GRAMMAR),
        },
        Opener { mark: Mark::Tag("<|open|>"), then: Lookahead::Anything, grammar: Grammar::Channel(&OPEN) },
        Opener { mark: Mark::Tag("<|close|>"), then: Lookahead::Anything, grammar: Grammar::Channel(&CLOSE) },
    ],
    reasoning: &[],
    silent: &["<|end_of_msg|>"],
    strays: &["<|sep|>"],
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
                    "<|open|>think<|sep|>step<|close|>think<|sep|><|open|>response<|sep|>Now.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"search\" index=\"1\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>1 < 2<|close|>argument<|sep|><|open|>argument key=\"limit\" type=\"number\"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>",
                    "think step | say Now. | call search {\"query\": \"1 < 2\", \"limit\": 3}",
                ),
                (
                    "<|open|> tools <|sep|><|open|> call tool=\"time\" <|sep|><|close|> call <|sep|><|open|>call tool=\"search\"<|sep|><|open|>json<|sep|>{\"query\": \"x\"}<|close|>json<|sep|><|close|>call<|sep|>",
                    "call time {} | call search {\"query\": \"x\"}",
                ),
                ("answer<|close|>response<|sep|>", "say answer"),
                ("<|close|>think<|sep|><|open|>response", ""),
                // A call in a channel that is closed later is a quotation, also where it is itself not closed.
                (
                    "<|open|>think<|sep|>Maybe <|open|>tools<|sep|><|open|>call tool=\"time\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|> no.<|close|>think<|sep|><|open|>response<|sep|>A<|close|>response<|sep|>",
                    "think Maybe <|open|>tools<|sep|><|open|>call tool=\"time\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|> no. | say A",
                ),
                (
                    "<|open|>response<|sep|>Write <|open|>call tool=\"time\"<|sep|><|close|>call<|sep|> so.<|close|>response<|sep|>",
                    "say Write <|open|>call tool=\"time\"<|sep|><|close|>call<|sep|> so.",
                ),
                (
                    "<|open|>response<|sep|>Write <|open|>call tool=\"f\"<|sep|> so.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"time\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
                    "say Write <|open|>call tool=\"f\"<|sep|> so. | call time {}",
                ),
                (
                    "<|open|>think<|sep|>The `<|open|>call` mark.<|close|>think<|sep|><|open|>response<|sep|>A",
                    "think The `<|open|>call` mark. | say A",
                ),
                // In a channel that nothing closes but the end of the message, it counts.
                (
                    "<|open|>think<|sep|>So.<|open|>tools<|sep|><|open|>call tool=\"time\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>",
                    "think So. | call time {}",
                ),
                (
                    "<|open|>response<|sep|>So.<|open|>tools<|sep|><|open|>call tool=\"time\"<|sep|><|close|>call<|sep|><|end_of_msg|>",
                    "say So. | call time {}",
                ),
                // What begins like a tag inside a value hides no tag behind it.
                (
                    "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>the <|open|> mark<|close|>argument<|sep|><|close|>call<|sep|>",
                    "call search {\"query\": \"the <|open|> mark\"}",
                ),
            ],
        );
    }
}
