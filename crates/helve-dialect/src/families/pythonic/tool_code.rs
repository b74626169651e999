//! `<tool_code>…</tool_code>` and ```` ```tool_code ````: Gemma 2 and 3, Gemini, and Helve's own `xml_tag` profile.
//!
//! Odd here: the inside is Python or JSON. Python may be wrapped in `print(…)` and called through `default_api`.

use super::PythonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::json_tags::JsonGrammar;

const TAG: Mark = Mark::Tag("<tool_code>");
/// What stands behind a fence of calls; examples of code are not written so.
pub(crate) const WORD: &str = "tool_code";
const FENCE: Mark = Mark::Fence(&[WORD]);

static JSON: JsonGrammar = JsonGrammar { close: &["</tool_code>"], ..JsonGrammar::PLAIN };
static PYTHON: PythonGrammar =
    PythonGrammar { close: &["</tool_code>"], prefixes: &["default_api."], ..PythonGrammar::PLAIN };
static FENCED: PythonGrammar =
    PythonGrammar { close: &["</tool_code>"], prefixes: &["default_api."], fenced: true };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "tool_code",
    models: "Gemma 2 and 3, Gemini, and Helve's own `xml_tag` profile",
    sample: "<tool_code>get_weather(city=\"¤\")</tool_code>",
    openers: &[
        Opener { mark: TAG, then: Lookahead::Json, grammar: Grammar::Json(&JSON) },
        Opener { mark: TAG, then: Lookahead::Python, grammar: Grammar::Python(&PYTHON) },
        Opener { mark: FENCE, then: Lookahead::Json, grammar: Grammar::Json(&JSON) },
        Opener { mark: FENCE, then: Lookahead::Python, grammar: Grammar::Python(&FENCED) },
    ],
    strays: &["</tool_code>"],
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
                    r#"<tool_code>search(query="x", limit=1)</tool_code>"#,
                    r#"call search {"query": "x", "limit": 1}"#,
                ),
                (r#"<tool_code>{"name": "f", "arguments": {"a": 1}}</tool_code>"#, r#"call f {"a": 1}"#),
                (
                    "<tool_code>\nprint(default_api.search(query='x'))\n</tool_code>",
                    r#"call search {"query": "x"}"#,
                ),
                (
                    "<tool_code>[time(), search(query='a')]</tool_code>",
                    r#"call time {} | call search {"query": "a"}"#,
                ),
                (
                    "<tool_code>r = time()\n# then\ntime()</tool_code> ok",
                    "call time {} | call time {} | say  ok",
                ),
                ("```tool_code\nprint(search(query=\"x\"))\n```", r#"call search {"query": "x"}"#),
                (
                    "So. ```tool_code\nsearch(query=\"x\")\n```\nI will wait.\n```tool_code\ntime()\n```",
                    "say So.  | call search {\"query\": \"x\"} | say \nI will wait.\n | call time {}",
                ),
                ("<tool_code>print(time())\nprint(so)</tool_code>", "call time {} | say print(so)"),
                ("<tool_code>time()\nx = 5 apples", "call time {} | say x = 5 apples"),
                ("<tool_code>time()\n# Result\nIt is so.", "call time {} | say # Result\nIt is so."),
                ("<tool_code>time()  # now", "call time {}"),
                ("<tool_code>time();\n# now\n", "call time {}"),
                ("```tool_code\ntime()  # now\n```", "call time {}"),
                (
                    "```tool_code\nr = time();\n# so\nprint(search(query='x'))\n```\nSo.",
                    "call time {} | call search {\"query\": \"x\"} | say \nSo.",
                ),
                (
                    "```tool_code\ntime()\nprint(so)\n```\nSo.",
                    "say ```tool_code\ntime()\nprint(so)\n```\nSo.",
                ),
                ("<tool_code>search('x')</tool_code>", r#"call search {"query": "x"}"#),
                (
                    "<tool_code>f(a={'k': (1, True)}, b=None)</tool_code>",
                    r#"call f {"a": {"k": [1, true]}, "b": null}"#,
                ),
                ("<tool_code>f(a={{'k': 1}})</tool_code>", r#"call f {"a": {"k": 1}} (Closers)"#),
                ("<tool_code>f(a={1, {'k': 1}})</tool_code>", "broken f"),
                ("<tool_code>f(a=('x'\n'y'), b=(1,))</tool_code>", r#"call f {"a": "xy", "b": [1]}"#),
                ("<tool_code>f(s='</tool_code>')</tool_code>", r#"call f {"s": "</tool_code>"}"#),
                ("<tool_code>time()", "call time {}"),
                ("<tool_code>search(query=x + 1)</tool_code> so", "broken search | say  so"),
                ("<tool_code>search(query=\"ha", "cut search"),
                ("<tool_code>import os</tool_code>", "say <tool_code>import os</tool_code>"),
                ("```tool_code\nother()\n```", "say ```tool_code\nother()\n```"),
                ("The <tool_code> tag.", "say The <tool_code> tag."),
            ],
        );
    }
    #[test]
    fn a_comment_of_any_length_may_stand_between_calls() {
        let (long, lines) = (format!("#{}\n", "x".repeat(256)), format!("# {}\n", "x".repeat(50)).repeat(6));
        for comment in [long, lines] {
            for text in [
                format!("<tool_code>time()\n{comment}search(query=\"x\")</tool_code>"),
                format!("<tool_code>print(time())\n{comment}search(query=\"x\")"),
                format!("<tool_code>[time(), {comment}search(query=\"x\")]</tool_code>"),
                format!("```tool_code\ntime()\n{comment}search(query=\"x\")\n```"),
            ] {
                check(&DIALECT, &[(&text, r#"call time {} | call search {"query": "x"}"#)]);
            }
        }
    }
}
