//! `<tool_call>f<arg_key>k</arg_key><arg_value>V</arg_value></tool_call>`: GLM 4.7 and 5, Ling 3.
//!
//! Odd here: no line breaks, otherwise as GLM 4.5, and one reader serves both. A call without arguments is nothing
//! but its name in tags.

use super::glm45;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "glm47",
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
            &[
                (
                    "<tool_call>search<arg_key>query</arg_key><arg_value>5</arg_value><arg_key>limit</arg_key><arg_value>5</arg_value></tool_call><tool_call>time</tool_call>",
                    "call search {\"query\": \"5\", \"limit\": 5} | call time {}",
                ),
                (
                    "</think><tool_call>search<arg_key>query</arg_key><arg_value>a</arg_value>",
                    "call search {\"query\": \"a\"}",
                ),
                ("<tool_call>not a name</tool_call>", "say <tool_call>not a name</tool_call>"),
            ],
        );
    }
}
