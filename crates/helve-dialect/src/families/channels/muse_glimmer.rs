//! `<|start|>assistant to=f<|message|><atem:function_calls>…`: Muse Glimmer, and Beam with its bare `rfl:` parameters.
//!
//! Odd here: the recipient is the channel: `self` reasons, `user` answers, anyone else is called. The prompt holds the
//! first `<|start|>assistant`. A call quoted in another channel stays text, its head included. Names come doubled.

use super::body::find_recipient;
use super::{ChannelGrammar, HeadRoute, HeadSign};
use crate::body::{ChannelScope, ChannelTurn};
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::function_xml::{Element, TagGrammar};
use crate::{Dialect, Tools};

/// The calls of Muse and Beam: `<atem:invoke name="tool.f">` with its parameters, or parameters alone where the head of the
/// message names the tool.
static GRAMMAR: TagGrammar = TagGrammar {
    namespaces: &["atem:", "rfl:"],
    elements: &[
        ("function_calls", Element::Wrapper),
        ("invoke", Element::Call),
        ("parameter", Element::Parameter),
        ("|eom|", Element::End),
        ("|eot|", Element::End),
    ],
    one_line_in: "rfl:",
    headed: true,
    name: tool_name,
    ..TagGrammar::PLAIN
};

static HEAD: ChannelGrammar = ChannelGrammar {
    signs: &[
        ("<|message|>", HeadSign::Message("")),
        ("<|eom|>", HeadSign::Over),
        ("<|eot|>", HeadSign::Over),
    ],
    route: route_head,
};

const SCOPE: &ChannelScope = &ChannelScope { opens: &[], closes: &["<|eom|>", "<|eot|>"] };

const HEADED: Lookahead = Lookahead::Recipient(&["<|message|>"]);

pub(super) const OPENERS: &[Opener] = &[
    Opener { mark: Mark::Tag("<|start|>"), then: HEADED, grammar: Grammar::Channel(&HEAD) },
    Opener { mark: Mark::Start, then: HEADED, grammar: Grammar::Channel(&HEAD) },
    Opener {
        mark: Mark::Tag("<atem:function_calls>"),
        then: Lookahead::Words(&["<atem:invoke"]),
        grammar: Grammar::Tags(&GRAMMAR),
    },
];

pub(super) const OVER: &[&str] = &["<|eom|>", "<|eot|>"];

pub(super) const STRAYS: &[&str] =
    &["<|message|>", "</atem:parameter>", "</atem:invoke>", "</atem:function_calls>", "</rfl:parameter>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "muse_glimmer",
    models: "Muse Glimmer",
    sample: "<|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name=\"get_weather\">\n<atem:parameter name=\"city\">¤</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>",
    openers: OPENERS,
    reasoning: &[],
    over: OVER,
    strays: STRAYS,
    ..Dialect::PLAIN
};

fn route_head(head: &str, _: &'static str, tools: &Tools) -> Option<HeadRoute> {
    match find_recipient(head) {
        Some(name) => HeadRoute::to_call((GRAMMAR.name)(name, tools), Grammar::Tags(&GRAMMAR)),
        None if head.contains("to=self") => HeadRoute::to_turn(ChannelTurn::Reasoning(SCOPE)),
        None => HeadRoute::to_turn(ChannelTurn::Answer(SCOPE)),
    }
}

/// A doubled name, `f.f`, where only `f` is declared.
fn tool_name<'n>(name: &'n str, tools: &Tools) -> &'n str {
    match name.split_once('.') {
        Some((first, second)) if first == second && tools.resolve(first).is_some() => first,
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
                    " to=self<|message|>Maybe <atem:function_calls>\n<atem:invoke name=\"time\">\n</atem:invoke>\n</atem:function_calls> no.<|eom|><|start|>assistant to=user<|message|>I will not.<|eot|>",
                    "think Maybe <atem:function_calls>\n<atem:invoke name=\"time\">\n</atem:invoke>\n</atem:function_calls> no. | say I will not.",
                ),
                (
                    "<|start|>assistant to=user<|message|>Hm.<|eom|><|start|>assistant to=search.search<|message|><atem:function_calls>\n<atem:invoke name=\"search.search\">\n<atem:parameter name=\"query\">a\n</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>",
                    "say Hm. | call search {\"query\": \"a\\n\"}",
                ),
                (
                    "<|start|>assistant to=search<|message|><rfl:parameter name=\"query\">x</rfl:parameter><|eot|>",
                    "call search {\"query\": \"x\"}",
                ),
                ("to=a<b is false", "say to=a<b is false"),
            ],
        );
    }
}
