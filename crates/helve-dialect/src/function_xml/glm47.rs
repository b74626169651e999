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
                // A call that is written out in a value is data, and so are the names of tags.
                (
                    "<tool_call>search<arg_key>query</arg_key><arg_value>Doc: <tool_call>f<arg_key>a</arg_key><arg_value>b</arg_value></tool_call><tool_call>time</tool_call>.</arg_value></tool_call>",
                    "call search {\"query\": \"Doc: <tool_call>f<arg_key>a</arg_key><arg_value>b</arg_value></tool_call><tool_call>time</tool_call>.\"}",
                ),
                (
                    "<tool_call>search<arg_key>query</arg_key><arg_value>the tags <tool_call> and <arg_value></arg_value></tool_call>",
                    "call search {\"query\": \"the tags <tool_call> and <arg_value>\"}",
                ),
                // The call's closing tag ends a value that nothing else has ended.
                (
                    "<tool_call>search<arg_key>query</arg_key><arg_value>a</tool_call>\n<tool_call>search<arg_key>query</arg_key><arg_value>b</tool_call>\n",
                    "call search {\"query\": \"a\"} | call search {\"query\": \"b\"}",
                ),
                // So does the key of another, where the call awaits it.
                (
                    "<tool_call>search<arg_key>query</arg_key><arg_value>a<arg_key>limit</arg_key><arg_value>3</arg_value></tool_call>",
                    "call search {\"query\": \"a\", \"limit\": 3}",
                ),
                (
                    "<tool_call>search<arg_key>query</arg_key><arg_value>a <arg_key>limit</arg_key> <arg_value>3</arg_value> b</arg_value></tool_call>",
                    "call search {\"query\": \"a <arg_key>limit</arg_key> <arg_value>3</arg_value> b\"}",
                ),
                (
                    "<tool_call>search<arg_key>query</arg_key><arg_value>the <arg_key> tag, <arg_key>limit</arg_key>, and <arg_key>x</arg_key><arg_value>3</arg_value></tool_call>",
                    "call search {\"query\": \"the <arg_key> tag, <arg_key>limit</arg_key>, and <arg_key>x</arg_key><arg_value>3\"}",
                ),
                ("<tool_call>search<arg_key>query</arg_key><arg_value>a</tool_call> b", "cut search"),
                ("<tool_call>not a name</tool_call>", "say <tool_call>not a name</tool_call>"),
            ],
        );
    }
}
