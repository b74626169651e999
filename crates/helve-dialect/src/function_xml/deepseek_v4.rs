//! `<｜DSML｜tool_calls>…`: DeepSeek V4, as V3.2 with another wrapper.

use super::deepseek_v32;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "deepseek_v4",
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
