//! `all⏎text>>>f⏎{…}`: Functionary 3.2.
//!
//! Odd here: the prompt ends with the first `>>>`, so the text begins with a recipient and a line break. The recipient
//! `python` takes code. Too plain to be looked for unasked.

use super::{ChannelGrammar, Part, Route};
use crate::body::{Scope, Turn};
use crate::dialect::{Grammar, Mark, Opener, Then, is_name};
use crate::framed::{FramedGrammar, Sign};
use crate::{Dialect, Tools};

static HEAD: ChannelGrammar = ChannelGrammar { signs: &[("\n", Part::Message(""))], route };

static ARGUMENTS: FramedGrammar = FramedGrammar {
    signs: &[(">>>", Sign::Beyond(">>>".len())), ("<|eot_id|>", Sign::Close)],
    closers: &["<|eot_id|>"],
    bracket_ends_head: true,
    noisy: true,
    ..FramedGrammar::PLAIN
};

static CODE: FramedGrammar = FramedGrammar {
    text: &[(">>>", ">>>".len()), ("<|eot_id|>", 0), ("<|eom_id|>", 0)],
    code: true,
    ..FramedGrammar::PLAIN
};

const SCOPE: Scope = &[">>>", "<|eot_id|>", "<|eom_id|>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "functionary_v32",
    openers: &[
        Opener { mark: Mark::Start, then: Then::Anything, grammar: Grammar::Channel(&HEAD) },
        Opener { mark: Mark::Tag(">>>"), then: Then::Anything, grammar: Grammar::Channel(&HEAD) },
    ],
    reasoning: &[],
    found: false,
    ..Dialect::PLAIN
};

fn route(head: &str, _: &'static str, _: &Tools) -> Option<Route> {
    match head.trim() {
        "all" => Route::to(Turn::Answer(SCOPE)),
        "python" => Route::call("python", Grammar::Framed(&CODE)),
        name if !name.is_empty() && name.chars().all(is_name) => {
            Route::call(name, Grammar::Framed(&ARGUMENTS))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check_given;

    #[test]
    fn cases() {
        check_given(
            &DIALECT,
            &[
                ("all\nHello.\nYou?", "say Hello.\nYou?"),
                ("Hello there.\nYou?", "say Hello there.\nYou?"),
                (
                    "all\nSo.\n>>>search\n{\"query\": \">>>\"}>>>time\n{}",
                    "say So.\n | call search {\"query\": \">>>\"} | call time {}",
                ),
                (
                    "python\nx = {1}\nprint(x)>>>all\nSo.",
                    r#"call python {"code": "x = {1}\nprint(x)"} | say So."#,
                ),
            ],
        );
    }
}
