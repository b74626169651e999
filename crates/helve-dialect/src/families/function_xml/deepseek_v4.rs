//! `<｜DSML｜tool_calls>…`: DeepSeek V4, as V3.2 with another wrapper.

use super::deepseek_v32;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "deepseek_v4",
    models: "DeepSeek V4",
    sample: "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">¤</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    openers: deepseek_v32::OPENERS,
    strays: deepseek_v32::STRAYS,
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
                    "<think>a</think>\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter name=\"arguments\" string=\"false\">{\"query\": \"x\"}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
                    "think a | call search {\"query\": \"x\"}",
                ),
                // Without their prefix, tags inside a value are data; but one may close it that lost its own.
                (
                    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter name=\"query\" string=\"true\"><x>\n<parameter name=\"limit\">2</parameter>\n</invoke>\n</tool_calls></x></｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
                    r#"call search {"query": "<x>\n<parameter name=\"limit\">2</parameter>\n</invoke>\n</tool_calls></x>"}"#,
                ),
                (
                    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter name=\"query\" string=\"true\">x</parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
                    r#"call search {"query": "x"}"#,
                ),
                (
                    "<｜DSML｜tool_calls>\n<invoke name=\"search\">\n<parameter name=\"query\" string=\"true\">x</parameter>\n</invoke>\n</｜DSML｜tool_calls>",
                    r#"call search {"query": "x"}"#,
                ),
                // An invocation that another follows is over.
                (
                    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"time\">\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter name=\"query\" string=\"true\">x</｜DSML｜parameter>\n<｜DSML｜invoke name=\"time\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
                    r#"call time {} | call search {"query": "x"} | call time {}"#,
                ),
                (
                    "<||DSML||tool_calls>\n<||DSML||invoke name=\"search\">\n<||DSML||parameter name=\"query\" string=\"true\">x</||DSML||parameter>\n</||DSML||invoke>\n</||DSML||tool_calls>",
                    "call search {\"query\": \"x\"}",
                ),
                (
                    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter name=\"query\" string=\"true\">x",
                    "cut search",
                ),
            ],
        );
    }
}
