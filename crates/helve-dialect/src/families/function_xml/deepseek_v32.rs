//! `<｜DSML｜function_calls>⏎<｜DSML｜invoke name="f">⏎<｜DSML｜parameter name="k" string="true">V</｜DSML｜parameter>…`: DeepSeek V3.2.
//!
//! Odd here: a parameter says itself whether it is text or JSON. The body of an invocation may be a JSON object, an
//! invocation may close itself, and a single `arguments` may wrap all of them. Models vary the bars around `DSML`, and
//! end tags with one.

use super::{Element, TagGrammar};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

static GRAMMAR: TagGrammar = TagGrammar {
    namespaces: &["｜DSML｜", "｜｜DSML｜｜", "|DSML|", "||DSML||", "‖DSML‖"],
    barred: true,
    elements: &[
        ("function_calls", Element::Wrapper),
        ("tool_calls", Element::Wrapper),
        ("calls", Element::Wrapper),
        ("invoke", Element::Call),
        ("parameter", Element::Parameter),
    ],
    cdata: true,
    wraps: &["arguments", "input"],
    reopens: false,
    ..TagGrammar::PLAIN
};

const fn opener(mark: &'static str) -> Opener {
    Opener {
        mark: Mark::Tag(mark),
        then: Lookahead::Words(&["function_calls", "tool_calls", "calls", "invoke"]),
        grammar: Grammar::Tags(&GRAMMAR),
    }
}

pub(super) const OPENERS: &[Opener] = &[
    opener("<｜DSML｜"),
    opener("<｜｜DSML｜｜"),
    opener("<|DSML|"),
    opener("<||DSML||"),
    opener("<‖DSML‖"),
];

pub(super) const STRAYS: &[&str] = &[
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
    "</｜DSML｜function_calls>",
    "</｜DSML｜tool_calls>",
    "</｜DSML｜ parameter>",
    "</｜DSML｜ invoke>",
    "</｜DSML｜ calls>",
];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "deepseek_v32",
    models: "DeepSeek V3.2",
    sample: "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">¤</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    openers: OPENERS,
    strays: STRAYS,
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
                    "Hm.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" string=\"true\">1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" string=\"false\">[1, \"x\"]</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"time\"/>\n</｜DSML｜function_calls>",
                    "say Hm.\n\n | call f {\"a\": \"1\", \"b\": [1, \"x\"]} | call time {}",
                ),
                (
                    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n{\"a\": 1}\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                    "call f {\"a\": 1}",
                ),
                (
                    "<|DSML|function_calls|\n<|DSML|invoke name=\"f\"|\n<|DSML|parameter name=\"a|b\" string=\"true\"|x | <|y</|DSML|parameter|\n</|DSML|invoke|\n</|DSML|function_calls|",
                    "call f {\"a|b\": \"x | <|y\"}",
                ),
                (
                    "<｜DSML｜function_calls｜>\n<｜DSML｜invoke name=\"f\"｜>\n<｜DSML｜parameter name=\"a\" string=\"true\"｜>x</｜DSML｜parameter｜>\n</｜DSML｜invoke｜>\n</｜DSML｜function_calls｜> So.",
                    "call f {\"a\": \"x\"} | say  So.",
                ),
                // Text wraps the arguments only where the tool has no such parameter, and no other follows.
                (
                    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter name=\"arguments\" string=\"true\"> {\"query\": \"x\"}\n</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                    r#"call search {"query": "x"}"#,
                ),
                (
                    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter name=\"input\" string=\"true\">{\"query\": \"x\"}</｜DSML｜parameter>\n<｜DSML｜parameter name=\"query\" string=\"true\">y</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                    r#"call search {"input": "{\"query\": \"x\"}", "query": "y"}"#,
                ),
                (
                    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"input\" string=\"true\">{}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                    r#"call f {"input": "{}"}"#,
                ),
                (
                    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" string=\"false\">{'b': True}</｜DSML｜parameter>\n<｜DSML｜parameter name=\"c\" string=\"false\">None</｜DSML｜parameter>\n<｜DSML｜parameter name=\"d\" string=\"false\">b'x'</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                    r#"call f {"a": {"b": true}, "c": null, "d": "b'x'"}"#,
                ),
                // A call that words inside another introduce is quoted, and its arguments are nobody's.
                (
                    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\nLike <｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                    "call f {} | say \nLike <｜DSML｜invoke name=\"g\">\n",
                ),
                (
                    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\nLike <｜DSML｜invoke name=\"g\"><｜DSML｜parameter name=\"a\" string=\"true\">x</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                    "broken f",
                ),
                ("<｜DSML｜ is a mark.", "say <｜DSML｜ is a mark."),
            ],
        );
    }
}
