//! The calls of GLM 4.5: Laguna by Poolside.

use super::glm45;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "poolside_v1",
    models: "Laguna by Poolside",
    sample: "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>¤</arg_value>\n</tool_call>",
    openers: glm45::OPENERS,
    silent: glm45::SILENT,
    strays: glm45::STRAYS,
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
                "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
                "call search {\"query\": \"a\"}",
            )],
        );
    }
}
