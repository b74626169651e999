//! `<seed:tool_call>` around the functions and parameters of Qwen3-Coder: Seed-OSS.
//!
//! Odd here: the reasoning has its own tags, with notes on the budget inside.

use super::{Element, Framing, TagGrammar, Untyped, qwen3_coder};
use crate::Dialect;
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener};
use crate::families::reasoning::think_seed;

static GRAMMAR: TagGrammar = TagGrammar {
    elements: &[
        ("seed:tool_call", Element::Wrapper),
        ("function", Element::Call),
        ("parameter", Element::Parameter),
        ("param", Element::Parameter),
    ],
    framing: Framing::OneLine,
    untyped: Untyped::Text,
    ..TagGrammar::PLAIN
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "seed_oss",
    models: "Seed-OSS",
    sample: "<seed:tool_call>\n<function=get_weather>\n<parameter=city>¤</parameter>\n</function>\n</seed:tool_call>",
    openers: &[Opener {
        mark: Mark::Tag("<seed:tool_call>"),
        then: Lookahead::Words(&["<function"]),
        grammar: Grammar::Tags(&GRAMMAR),
    }],
    // Behind words between two calls.
    given: GivenMarks {
        openers: &[Opener {
            mark: Mark::Tag("<function="),
            then: qwen3_coder::BARE,
            grammar: Grammar::Tags(&GRAMMAR),
        }],
        ..GivenMarks::NOTHING
    },
    reasoning: think_seed::MARKS,
    silent: think_seed::SILENT,
    strays: &["</parameter>", "</param>", "</function>", "</seed:tool_call>"],
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
                    "<seed:think>a</seed:think><seed:tool_call>\n<function=search>\n<parameter=query>x</parameter>\n</function>\n</seed:tool_call>",
                    r#"think a | call search {"query": "x"}"#,
                ),
                ("<seed:tool_call>\n<function=time>\n</function>\n", "call time {}"),
            ],
        );
    }
}
