//! `all⏎text>>>f⏎{…}`: Functionary 3.2.
//!
//! Odd here: the prompt ends with the first `>>>`, so the text begins with a recipient and a line break. The recipient
//! `python` takes code. Too plain to be looked for unasked, and `>>>` is a mark only right before a recipient and a line
//! break: a shift, or a prompt of Python, is text.

use super::{ChannelGrammar, HeadRoute, HeadSign};
use crate::body::{ChannelScope, ChannelTurn, Evidence};
use crate::dialect::{Grammar, Lookahead, Mark, Opener, is_name_char};
use crate::families::framed::{FramedGrammar, FramedSign, TextGrammar};
use crate::{Dialect, Tools};

static HEAD: ChannelGrammar = ChannelGrammar { signs: &[("\n", HeadSign::Message(""))], route: route_head };

/// The first head, whose mark the prompt holds.
static FIRST: ChannelGrammar = ChannelGrammar {
    signs: &[("\n", HeadSign::Message(""))],
    route: |head, kind, tools| {
        let head = head.trim_start();
        route_head(head.strip_prefix(">>>").unwrap_or(head), kind, tools)
    },
};

static ARGUMENTS: FramedGrammar = FramedGrammar {
    signs: &[(">>>", FramedSign::Beyond), ("<|eot_id|>", FramedSign::Close)],
    closers: &["<|eot_id|>"],
    bracket_ends_head: true,
    ..FramedGrammar::PLAIN
};

static CODE: FramedGrammar = FramedGrammar {
    text: TextGrammar {
        signs: &[
            (">>>", FramedSign::Beyond),
            ("<|eot_id|>", FramedSign::Close),
            ("<|eom_id|>", FramedSign::Close),
        ],
        code: true,
        heads: Some(is_recipient),
        ..TextGrammar::NONE
    },
    ..FramedGrammar::PLAIN
};

const SCOPE: &ChannelScope = &ChannelScope { opens: &[">>>"], closes: &["<|eot_id|>", "<|eom_id|>"] };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "functionary_v32",
    models: "Functionary 3.2",
    sample: "get_weather\n{\"city\": \"¤\"}",
    openers: &[
        Opener { mark: Mark::Start, then: Lookahead::Anything, grammar: Grammar::Channel(&FIRST) },
        Opener { mark: Mark::Tag(">>>"), then: Lookahead::Anything, grammar: Grammar::Channel(&HEAD) },
    ],
    reasoning: &[],
    found: false,
    ..Dialect::PLAIN
};

fn route_head(head: &str, _: &'static str, tools: &Tools) -> Option<HeadRoute> {
    match head.trim_end() {
        "all" => HeadRoute::to_turn(ChannelTurn::Answer(SCOPE)),
        "python" => HeadRoute::to_call("python", Grammar::Framed(&CODE)),
        name if is_recipient(name, tools) => HeadRoute::to_call(name, Grammar::Framed(&ARGUMENTS)),
        _ => None,
    }
}

/// Whether this may be the name of a recipient.
fn is_recipient(name: &str, tools: &Tools) -> bool {
    matches!(name, "all" | "python")
        || !name.is_empty() && name.chars().all(is_name_char) && Evidence::Alone.accepts_name(name, tools)
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
                (">>>search\n{\"query\": \"x\"}>>>all\nSo.", "call search {\"query\": \"x\"} | say So."),
                (">>>all\nSo >>>", "say So >>>"),
                (
                    "search\n{\"query\": \"x\"}\nThat is all.",
                    "call search {\"query\": \"x\"} | say That is all.",
                ),
                ("all\nshift a >>> b here", "say shift a >>> b here"),
                ("all\nx = a>>>b\ny >>> time\n>>>c", "say x = a>>>b\ny >>> time\n>>>c"),
                ("Yes\nNo", "say Yes\nNo"),
                (
                    "python\ndef f():\n    \"\"\"\n    >>> f()\n    >>>f\n    \"\"\"\n    return a>>>",
                    r#"call python {"code": "def f():\n    \"\"\"\n    >>> f()\n    >>>f\n    \"\"\"\n    return a>>>"}"#,
                ),
                (
                    "python\nx = {1}\nprint(x)>>>all\nSo.",
                    r#"call python {"code": "x = {1}\nprint(x)"} | say So."#,
                ),
            ],
        );
    }
}
