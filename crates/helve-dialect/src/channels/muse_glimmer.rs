//! `<|start|>assistant to=f<|message|><atem:function_calls>…`: Muse Glimmer, and Beam with its bare `rfl:` parameters.
//!
//! Odd here: the recipient is the channel: `self` reasons, `user` answers, anyone else is called. The prompt holds the
//! first `<|start|>assistant`. A call quoted in another channel stays text, its head included. Names come doubled.

use super::{ChannelGrammar, Part, Route, recipient};
use crate::body::{Scope, Turn};
use crate::dialect::{Grammar, Mark, Opener, Then};
use crate::function_xml::muse::GRAMMAR;
use crate::{Dialect, Tools};

static HEAD: ChannelGrammar = ChannelGrammar {
    signs: &[("<|message|>", Part::Message("")), ("<|eom|>", Part::Over), ("<|eot|>", Part::Over)],
    route,
};

const SCOPE: &Scope = &Scope { opens: &[], closes: &["<|eom|>", "<|eot|>"] };

const HEADED: Then = Then::Recipient(&["<|message|>"]);

pub(super) const OPENERS: &[Opener] = &[
    Opener { mark: Mark::Tag("<|start|>"), then: HEADED, grammar: Grammar::Channel(&HEAD) },
    Opener { mark: Mark::Start, then: HEADED, grammar: Grammar::Channel(&HEAD) },
    Opener {
        mark: Mark::Tag("<atem:function_calls>"),
        then: Then::Words(&["<atem:invoke"]),
        grammar: Grammar::Tags(&GRAMMAR),
    },
];

pub(super) const OVER: &[&str] = &["<|eom|>", "<|eot|>"];

pub(super) const STRAYS: &[&str] =
    &["<|message|>", "</atem:parameter>", "</atem:invoke>", "</atem:function_calls>", "</rfl:parameter>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "muse_glimmer",
    openers: OPENERS,
    reasoning: &[],
    over: OVER,
    strays: STRAYS,
    ..Dialect::PLAIN
};

fn route(head: &str, _: &'static str, tools: &Tools) -> Option<Route> {
    match recipient(head) {
        Some(name) => Route::call((GRAMMAR.name)(name, tools), Grammar::Tags(&GRAMMAR)),
        None if head.contains("to=self") => Route::to(Turn::Reasoning(SCOPE)),
        None => Route::to(Turn::Answer(SCOPE)),
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
