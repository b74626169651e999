//! `<tool_calls>⏎<tool_call>f<arg_key>k</arg_key><arg_value>V</arg_value></tool_call>⏎</tool_calls>`: Hunyuan 4, as
//! Hunyuan 3 without `<tool_sep>`.

use super::hy_v3;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "hy_v4",
    models: "Hunyuan 4",
    sample: "<tool_calls:a><tool_call:a>get_weather<arg_key:a>city</arg_key:a><arg_value:a>¤</arg_value:a></tool_call:a></tool_calls:a>",
    openers: hy_v3::OPENERS,
    strays: hy_v3::STRAYS,
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
