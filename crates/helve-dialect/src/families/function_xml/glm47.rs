//! `<tool_call>f<arg_key>k</arg_key><arg_value>V</arg_value></tool_call>`: GLM 4.7 and 5, Ling 3.
//!
//! Odd here: no line breaks, otherwise as GLM 4.5, and one reader serves both. A call without arguments is nothing
//! but its name in tags.

use super::glm45;
use crate::Dialect;

pub(crate) static DIALECT: Dialect = Dialect {
    name: "glm47",
    models: "GLM 4.7 and 5, Ling 3",
    sample: "<tool_call>get_weather<arg_key>city</arg_key><arg_value>¤</arg_value></tool_call>",
    openers: glm45::OPENERS,
    silent: glm45::SILENT,
    strays: glm45::STRAYS,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{check, check_found, check_given};

    #[test]
    fn what_follows_a_call_is_judged_anew() {
        let json = r#"<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>"#;
        let tags =
            "<tool_call>\n<function=search>\n<parameter=query>x</parameter>\n</function>\n</tool_call>";
        let open = "<tool_call>search<arg_key>query</arg_key><arg_value>y</arg_value>";
        for behind in [json, tags] {
            let text = format!("<tool_call>time</tool_call>\n{behind}");
            check_found(&[(&text, r#"call time {} | call search {"query": "x"}"#)]);
            let text = format!("{open}{behind}");
            check_found(&[(&text, r#"call search {"query": "y"} | call search {"query": "x"}"#)]);
        }
        let said = json.replace("<tool_call>", "").replace("</tool_call>", "");
        let text = format!("<tool_call>time</tool_call>{json}");
        check_given(&DIALECT, &[(&text, &format!("call time {{}} | say {said}"))]);
    }

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
                // The call ends with its closing tag, and reasoning with the call that nothing in it closes.
                (
                    "<think>hm\n<tool_call>search<arg_key>query</arg_key><arg_value>a </think> b</arg_value></tool_call>",
                    "think hm | call search {\"query\": \"a </think> b\"}",
                ),
                (
                    "<think>like <tool_call>time</think>ok <tool_call>time</tool_call>",
                    "think like <tool_call>time | say ok  | call time {}",
                ),
                (
                    "<tool_call>search<arg_key>query</arg_key><arg_value>a</arg_value><arg_key>limit</arg_key></tool_call>",
                    "broken search",
                ),
                ("<tool_call>not a name</tool_call>", "say <tool_call>not a name</tool_call>"),
            ],
        );
    }
}
