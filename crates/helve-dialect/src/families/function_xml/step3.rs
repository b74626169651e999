//! `<｜tool_calls_begin｜>⏎<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="f">⏎<steptml:parameter name="k">V…`:
//! Step 3.
//!
//! Odd here: the marks of DeepSeek with plain underscores around elements of its own. Values are trimmed.

use super::{Element, Framing, TagGrammar};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: TagGrammar = TagGrammar {
    namespaces: &["steptml:"],
    elements: &[
        ("｜tool_calls_begin｜", Element::Skip),
        ("｜tool_call_begin｜", Element::Kind),
        ("｜tool_sep｜", Element::Skip),
        ("｜tool_call_end｜", Element::Skip),
        ("invoke", Element::Call),
        ("parameter", Element::Parameter),
        ("｜tool_calls_end｜", Element::End),
    ],
    framing: Framing::Trimmed,
    ..TagGrammar::PLAIN
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "step3",
    models: "Step 3",
    sample: "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"get_weather\">\n<steptml:parameter name=\"city\">¤</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
    openers: &[
        Opener {
            mark: Mark::Tag("<｜tool_calls_begin｜>"),
            then: Lookahead::Words(&["<｜tool_call_begin｜>function<｜tool_sep｜><steptml:"]),
            grammar: Grammar::Tags(&GRAMMAR),
        },
        Opener {
            mark: Mark::Tag("<｜tool_call_begin｜>"),
            then: Lookahead::Words(&["function<｜tool_sep｜><steptml:"]),
            grammar: Grammar::Tags(&GRAMMAR),
        },
        Opener {
            mark: Mark::Tag("<steptml:invoke name="),
            then: Lookahead::Anything,
            grammar: Grammar::Tags(&GRAMMAR),
        },
    ],
    strays: &[
        "<｜tool_sep｜>",
        "</steptml:parameter>",
        "</steptml:invoke>",
        "<｜tool_call_end｜>",
        "<｜tool_calls_end｜>",
    ],
    sections: &[("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>")],
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
                    "Hm.\n<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"search\">\n<steptml:parameter name=\"query\"> x </steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>\nDone.",
                    "say Hm.\n | call search {\"query\": \"x\"} | say \nDone.",
                ),
                (
                    "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"search\">\n<steptml:parameter name=\"query\">x</steptml:invoke><｜tool_call_end｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"time\">\n</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
                    "call search {\"query\": \"x\"} | call time {}",
                ),
                // Words between calls are text, and so is any but `function` before the separator.
                (
                    "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"time\">\n</steptml:invoke><｜tool_call_end｜>\nNow:\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"time\">\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_call_begin｜>so<｜tool_sep｜><steptml:invoke name=\"time\">\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
                    "call time {} | say \nNow:\n | call time {} | say so | call time {}",
                ),
                // Without a wrapper, text behind a call is text.
                (
                    "Hm. <steptml:invoke name=\"search\">\n<steptml:parameter name=\"query\">x</steptml:parameter>\n</steptml:invoke> Done.",
                    "say Hm.  | call search {\"query\": \"x\"} | say  Done.",
                ),
                // Without their prefix, tags inside a value are data.
                (
                    "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"search\">\n<steptml:parameter name=\"query\"><x>\n<parameter name=\"limit\">2</parameter>\n</invoke>\n</x></steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
                    r#"call search {"query": "<x>\n<parameter name=\"limit\">2</parameter>\n</invoke>\n</x>"}"#,
                ),
                (
                    "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"time\">\n</steptml:invoke>",
                    "call time {}",
                ),
            ],
        );
    }
}
