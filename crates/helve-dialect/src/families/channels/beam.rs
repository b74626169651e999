//! `<|start|>assistant to=f<|message|><rfl:parameter name="k">V</rfl:parameter>…`: Beam.
//!
//! Odd here: the head names the tool, and the message is nothing but its parameters, whose
//! values one line break on either side may frame. Otherwise as Muse Glimmer.

use super::muse_glimmer;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "beam",
    models: "Beam",
    sample: "<|start|>assistant to=get_weather<|message|><rfl:parameter name=\"city\">¤</rfl:parameter><|eot|>",
    openers: muse_glimmer::OPENERS,
    reasoning: &[],
    over: muse_glimmer::OVER,
    strays: muse_glimmer::STRAYS,
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
                    "to=search<|message|><rfl:parameter name=\"query\">x</rfl:parameter>\n<rfl:parameter name=\"limit\">3</rfl:parameter><|eot|>",
                    "call search {\"query\": \"x\", \"limit\": 3}",
                ),
                (
                    "to=search<|message|><rfl:parameter name=\"query\">\nx\n\n</rfl:parameter><|eot|>",
                    r#"call search {"query": "x\n"}"#,
                ),
                (
                    "to=time<|message|><|eom|><|start|>assistant to=time<|message|>\n<|eom|><|start|>assistant to=user<|message|>So.<|eot|>",
                    "call time {} | call time {} | say So.",
                ),
                // Without the prefix, a tag inside a value is data. Of two parameters of one name, the second counts.
                (
                    "to=search<|message|><rfl:parameter name=\"query\">\n<a>\n<parameter name=\"limit\">2</parameter>\n</a>\n</rfl:parameter><|eot|>",
                    r#"call search {"query": "<a>\n<parameter name=\"limit\">2</parameter>\n</a>"}"#,
                ),
                (
                    "to=search<|message|><rfl:parameter name=\"query\">x</rfl:parameter><rfl:parameter name=\"query\">y</rfl:parameter><|eot|>",
                    r#"call search {"query": "x", "query": "y"}"#,
                ),
                // What is no parameter is text, with the head before it.
                (
                    "to=time<|message|><|eot|><|start|>assistant to=time<|message|></rfl:parameter>so<|eot|>",
                    "call time {} | say assistant to=time<|message|>so",
                ),
                ("to=time<|message|>", "cut time"),
            ],
        );
    }
}
