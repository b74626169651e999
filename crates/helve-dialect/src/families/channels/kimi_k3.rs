//! `<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="k" type="string"<|sep|>V…`: Kimi K3.
//!
//! Odd here: elements spelt with tokens. `think`, `response` and `tools` are channels; an argument says its own type.
//! Blanks around names are tolerated, and the prompt may have opened any channel. A call inside the text of one is on
//! trial until that channel is closed.

use super::{ChannelGrammar, HeadRoute, HeadSign};
use crate::body::{ChannelScope, ChannelTurn};
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::function_xml::{Element, Spelling, TagGrammar};
use crate::{Dialect, Tools};
use helve_json::is_blank;

/// Its calls: elements spelt with tokens, whose arguments say their own types.
pub(crate) static GRAMMAR: TagGrammar = TagGrammar {
    spelling: Spelling::Tokens,
    elements: &[
        ("tools", Element::Wrapper),
        ("call", Element::Call),
        ("argument", Element::Parameter),
        ("json", Element::Json),
        ("message", Element::End),
        ("think", Element::Channel),
        ("response", Element::Channel),
    ],
    name: tool_name,
    ..TagGrammar::PLAIN
};

static OPEN: ChannelGrammar = ChannelGrammar {
    signs: &[
        ("<|sep|>", HeadSign::Message("")),
        ("<|open|>", HeadSign::Again),
        ("<|end_of_msg|>", HeadSign::Over),
    ],
    route: |head, _, _| {
        HeadRoute::to_turn(match head.trim() {
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
        HeadRoute::to_turn(match head.trim() {
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

/// The prefix of Kimi K2 is left out where only the name behind it is declared.
fn tool_name<'n>(name: &'n str, tools: &Tools) -> &'n str {
    match name.strip_prefix("functions.") {
        Some(bare) if tools.resolve(name).is_none() && tools.resolve(bare).is_some() => bare,
        _ => name,
    }
}

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

    #[test]
    fn a_call_that_is_quoted_ends_with_its_channel() {
        let call =
            "<|open|>call tool=\"search\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>a";
        let closed = format!("{call}<|close|>argument<|sep|>");
        let behind =
            "<|open|>tools<|sep|><|open|>call tool=\"time\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>";
        let answer = "<|open|>response<|sep|>A<|close|>response<|sep|>";
        for quoted in [call, &closed] {
            for then in ["", " so.", "<|close|>call<|sep|> so."] {
                let quoted = format!("x {quoted}{then}");
                let thought = format!("<|open|>think<|sep|>{quoted}<|close|>think<|sep|>{answer}{behind}");
                let said = format!("<|open|>response<|sep|>{quoted}<|close|>response<|sep|>{behind}");
                check(
                    &DIALECT,
                    &[
                        (&thought, &format!("think {quoted} | say A | call time {{}}")),
                        (&said, &format!("say {quoted} | call time {{}}")),
                    ],
                );
            }
        }
    }

    #[test]
    fn the_end_of_a_channel_or_of_the_message_ends_a_call_whose_values_are_closed() {
        let call = "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>a<|close|>argument<|sep|>";
        for behind in
            ["<|close|>response<|sep|>", "<|open|>response<|sep|>", "<|close|>message<|sep|><|end_of_msg|>"]
        {
            check(&DIALECT, &[(&format!("{call}{behind}"), "call search {\"query\": \"a\"}")]);
        }
    }

    #[test]
    fn words_inside_a_call_are_text_behind_it() {
        let argument = "<|open|>argument key=\"query\" type=\"string\"<|sep|>a<|close|>argument<|sep|>";
        for (words, expected) in [
            ("So: <b> ", "call search {\"query\": \"a\"} | say So: <b> "),
            ("b<|close|>argument<|sep|>", "broken search"),
            ("<|open|>argment key=\"limit\"<|sep|>", "broken search"),
            ("<|open|>limit <|open|>", "broken search"),
        ] {
            let call = format!(
                "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|>{words}{argument}<|close|>call<|sep|><|close|>tools<|sep|>"
            );
            check(&DIALECT, &[(&call, expected)]);
        }
    }

    #[test]
    fn a_body_that_is_no_object_is_decoded_or_broken() {
        let call = |body: &str| {
            format!(
                "<|open|>tools<|sep|><|open|>call tool=\"functions.search\"<|sep|><|open|>json<|sep|>{body}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            )
        };
        for (body, expected) in [
            (r#"{"query": "x"}"#, r#"call search {"query": "x"}"#),
            (r#" "{\"query\": \"x\"}" "#, r#"call search {"query": "x"} (Encoding)"#),
            ("", "call search {}"),
            ("not json", "broken search"),
            ("[1]", "broken search"),
            (r#""x""#, "broken search"),
        ] {
            check(&DIALECT, &[(&call(body), expected)]);
        }
    }

    #[test]
    fn arguments_that_say_their_type_may_be_written_in_python() {
        for (kind, value, expected) in [
            ("object", "{'a': True}", r#"{"a": true}"#),
            ("array", "['a', None]", r#"["a", null]"#),
            ("boolean", "True", "true"),
            ("null", "None", "null"),
            ("object", "True", r#""True""#),
            ("object", "{'a': b}", r#""{'a': b}""#),
            ("number", "None", r#""None""#),
        ] {
            let call = format!(
                "<|open|>tools<|sep|><|open|>call tool=\"f\"<|sep|><|open|>argument key=\"k\" type=\"{kind}\"<|sep|>{value}<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            );
            check(&DIALECT, &[(&call, &format!("call f {{\"k\": {expected}}}"))]);
        }
    }

    #[test]
    fn a_tag_of_a_channel_inside_a_value_is_data() {
        let value = "the <|close|>think<|sep|> tag, <|open|>response<|sep|> and <|close|>message<|sep|> too";
        let call = format!(
            "<|open|>tools<|sep|><|open|>call tool=\"search\"<|sep|><|open|>argument key=\"query\" type=\"string\"<|sep|>{value}<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
        );
        check(&DIALECT, &[(&call, &format!("call search {{\"query\": \"{value}\"}}"))]);
    }
}
