//! `<tool_calls>⏎<tool_call>f<arg_key>k</arg_key><arg_value>V</arg_value></tool_call>⏎</tool_calls>`: Hunyuan 4, as
//! Hunyuan 3 without `<tool_sep>`.

use super::hy_v3;
use crate::Dialect;

pub(crate) static DIALECT: Dialect =
    Dialect { name: "hy_v4", openers: hy_v3::OPENERS, strays: hy_v3::STRAYS, ..Dialect::PLAIN };

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
                    "a<tool_calls><tool_call>search<arg_key>query</arg_key><arg_value>x</arg_value></tool_call><tool_call>time</tool_call></tool_ca",
                    "say a | call search {\"query\": \"x\"} | call time {}",
                ),
                (
                    "a<tool_calls><tool_call>run<arg_key>x</arg_key>none</tool_call></tool_calls>b",
                    "say a | broken run | say b",
                ),
            ],
        );
    }
}
