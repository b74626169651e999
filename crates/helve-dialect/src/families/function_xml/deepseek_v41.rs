//! `<｜DSML｜ calls>…`: DeepSeek V4.1, as V3.2 with a blank behind the bar and another wrapper, which may be missing.

use super::deepseek_v32;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "deepseek_v41",
    models: "DeepSeek V4.1",
    sample: "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"get_weather\">\n<｜DSML｜ parameter name=\"city\" string=\"true\">¤</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
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
            &[(
                "Sure.\n\n<｜DSML｜ invoke name=\"search\">\n<｜DSML｜ parameter name=\"query\" string=\"true\">\nx</｜DSML｜ parameter>\n</｜DSML｜ invoke>",
                "say Sure.\n\n | call search {\"query\": \"\\nx\"}",
            )],
        );
    }
}
