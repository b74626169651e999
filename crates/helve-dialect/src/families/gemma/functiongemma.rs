//! `<start_function_call>call:f{k:<escape>V<escape>}<end_function_call>`: FunctionGemma.
//!
//! Odd here: text between the marks may be a number or a list; the schema decides, or else its looks.

use super::GemmaGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: GemmaGrammar = GemmaGrammar {
    quote: "<escape>",
    close: "<end_function_call>",
    next: &["<start_function_call>", "<start_function_response>", "<end_of_turn>", "<eos>"],
    decodes: true,
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "functiongemma",
    models: "FunctionGemma",
    sample: "<start_function_call>call:get_weather{city:<escape>¤<escape>}<end_function_call>",
    openers: &[Opener {
        mark: Mark::Tag("<start_function_call>"),
        then: Lookahead::Words(&["call:"]),
        grammar: Grammar::Gemma(&GRAMMAR),
    }],
    silent: &["<start_function_response>"],
    strays: &["<escape>", "<end_function_call>"],
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
                    "<start_function_call>call:search{query:<escape>5<escape>,limit:<escape>5<escape>}<end_function_call>",
                    "call search {\"query\": \"5\", \"limit\": 5}",
                ),
                (
                    "<start_function_call>call:search{query:<escape>x <end_function_call> y<escape>}<end_function_call>",
                    "call search {\"query\": \"x <end_function_call> y\"}",
                ),
                // Text that was left open does not swallow what follows its call.
                (
                    "<start_function_call>call:search{query:<escape>abc}<end_function_call>\nSo.<start_function_call>call:search{query:<escape>x<escape>}<end_function_call>",
                    "broken search | say \nSo. | call search {\"query\": \"x\"}",
                ),
                (
                    "<start_function_call>call:search{query:<escape>abc}<end_function_call>So.",
                    "broken search | say So.",
                ),
                // Commas too many are no part of a key.
                (
                    "<start_function_call>call:search{limit:2,,query:<escape>x <escape>}<end_function_call>",
                    "call search {\"limit\": 2, \"query\": \"x \"}",
                ),
                (
                    "<start_function_call>call:search{,limit:2}<end_function_call>",
                    "call search {\"limit\": 2}",
                ),
            ],
        );
    }

    #[test]
    fn what_is_too_deep_to_be_read_again_stays_text() {
        let lists = format!("{}{}", "[".repeat(124), "]".repeat(124));
        let text = |value: &str| format!("<start_function_call>call:f{{a:{value}}}<end_function_call>");
        check(
            &DIALECT,
            &[
                (&text(&format!("[<escape>{lists}<escape>]")), &format!("call f {{\"a\": [{lists}]}}")),
                (
                    &text(&format!("[[<escape>{lists}<escape>]]")),
                    &format!("call f {{\"a\": [[\"{lists}\"]]}}"),
                ),
            ],
        );
    }
}
