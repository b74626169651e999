//! `<|message_model|>f<|content_invoke_tool_json|>{"name": "f", "args": {…}}<|end_message|>`: Inkling.
//!
//! Odd here: every block has a type, and any order of blocks occurs. The name before the block is redundant and must
//! not be shown, nor where the prompt holds the `<|message_model|>` before it.

use super::{ChannelGrammar, HeadRoute, HeadSign};
use crate::Dialect;
use crate::body::{ChannelScope, ChannelTurn};
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::json_tags::JsonGrammar;

static HEAD: ChannelGrammar = ChannelGrammar {
    signs: &[
        ("<|content_thinking|>", HeadSign::Message("thinking")),
        ("<|content_text|>", HeadSign::Message("text")),
        ("<|content_invoke_tool_text|>", HeadSign::Message("text")),
        ("<|content_tool_error|>", HeadSign::Message("text")),
        ("<|content_invoke_tool_json|>", HeadSign::Message("call")),
    ],
    route: |_, kind, _| {
        HeadRoute::to_turn(match kind {
            "thinking" => ChannelTurn::Reasoning(SCOPE),
            "call" => ChannelTurn::Call(Grammar::Json(&CALL)),
            _ => ChannelTurn::Answer(SCOPE),
        })
    },
};

/// A message whose block has no type.
static UNTYPED: ChannelGrammar = ChannelGrammar {
    signs: &[(MESSAGE, HeadSign::Message(""))],
    route: |_, _, _| HeadRoute::to_turn(ChannelTurn::Answer(SCOPE)),
};

/// The same in the middle of a line, where a blank behind the mark shows that the text is about the mark.
static INLINE: ChannelGrammar = ChannelGrammar {
    signs: &[(MESSAGE, HeadSign::Message(""))],
    route: |head, _, _| HeadRoute::to_turn(ChannelTurn::Answer(SCOPE)).filter(|_| head.is_empty()),
};

static CALL: JsonGrammar =
    JsonGrammar { close: &["<|end_message|>", "<|content_model_end_sampling|>"], ..JsonGrammar::PLAIN };

const MESSAGE: &str = "<|message_model|>";

/// A name that stands before a call. Before anything else it is text.
const NAMED: Lookahead = Lookahead::Name(&["<|content_invoke_tool_json|>", "<|content_invoke_tool_text|>"]);

const SCOPE: &ChannelScope = &ChannelScope {
    opens: &[
        MESSAGE,
        "<|content_thinking|>",
        "<|content_text|>",
        "<|content_invoke_tool_json|>",
        "<|content_invoke_tool_text|>",
        "<|content_tool_error|>",
    ],
    closes: &["<|end_message|>", "<|content_model_end_sampling|>"],
};

const fn opener(mark: &'static str) -> Opener {
    Opener { mark: Mark::Tag(mark), then: Lookahead::Anything, grammar: Grammar::Channel(&HEAD) }
}

pub(crate) static DIALECT: Dialect = Dialect {
    name: "inkling",
    models: "Inkling",
    sample: r#"<|message_model|>get_weather<|content_invoke_tool_json|>{"name": "get_weather", "args": {"city": "¤"}}<|end_message|>"#,
    openers: &[
        Opener { mark: Mark::Tag(MESSAGE), then: NAMED, grammar: Grammar::Channel(&HEAD) },
        Opener { mark: Mark::Tag(MESSAGE), then: Lookahead::Line, grammar: Grammar::Channel(&UNTYPED) },
        Opener { mark: Mark::Tag(MESSAGE), then: Lookahead::Anything, grammar: Grammar::Channel(&INLINE) },
        opener("<|content_thinking|>"),
        opener("<|content_text|>"),
        Opener {
            mark: Mark::Tag("<|content_invoke_tool_json|>"),
            then: Lookahead::Json,
            grammar: Grammar::Channel(&HEAD),
        },
        opener("<|content_invoke_tool_text|>"),
        opener("<|content_tool_error|>"),
        Opener { mark: Mark::Start, then: NAMED, grammar: Grammar::Channel(&HEAD) },
    ],
    reasoning: &[],
    over: &["<|end_message|>", "<|content_model_end_sampling|>"],
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
                    "<|content_thinking|>one<|end_message|><|message_model|><|content_text|>mid<|end_message|><|message_model|>time<|content_invoke_tool_json|>{\"name\": \"time\", \"args\": {}}<|end_message|><|content_model_end_sampling|>",
                    "think one | say mid | call time {}",
                ),
                (
                    "<|content_invoke_tool_json|>{\"name\": \"search\", \"args\": {\"query\": \"<|end_message|>\"}}",
                    "call search {\"query\": \"<|end_message|>\"}",
                ),
                (
                    "time<|content_invoke_tool_json|>{\"name\": \"time\", \"args\": {}}<|end_message|>",
                    "call time {}",
                ),
                ("hello<|content_model_end_sampling|>", "say hello"),
                ("<|message_model|>plain text<|end_message|><|message_model|>So", "say plain textSo"),
                ("<|message_model|><|message_model|> plain<|content_text|>So", "say plainSo"),
                ("<|message_model|><|content_tool_error|>bad<|end_message|>", "say bad"),
                (
                    "<|content_thinking|>The <|content_invoke_tool_json|> mark.<|end_message|><|content_text|>So.<|end_message|>",
                    "think The <|content_invoke_tool_json|> mark. | say So.",
                ),
                ("<|content_invoke_tool_json|>{\"name\": \"search\", \"args", "cut search"),
                ("The mark <|message_model|> is a mark.", "say The mark <|message_model|> is a mark."),
                ("So.<|message_model|>More.<|message_model|><|content_text|>All.", "say So.More.All."),
                (
                    "<|content_thinking|>The <|message_model|> mark.<|end_message|><|message_model|> So be it.",
                    "think The <|message_model|> mark. | say So be it.",
                ),
            ],
        );
    }

    #[test]
    fn a_mark_that_is_talked_about_hides_no_call_of_others() {
        let text =
            "The mark <|message_model|> is not used here.\n\n<tool_call>{\"name\": \"time\"}</tool_call>";
        let read = crate::read(text, crate::Reading::default(), None);
        assert_eq!((read.calls.len(), read.dialect), (1, Some("hermes")));
        assert_eq!(read.content, "The mark <|message_model|> is not used here.\n\n");
    }
}
