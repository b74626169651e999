//! `<tool_call>{"name": …, "arguments": …}</tool_call>`: Hermes, Qwen up to 3, QwQ, Granite 4 and many fine-tunes.
//!
//! Odd here: `arguments` often comes before `name`, is sometimes a string with JSON inside, and Hermes-2-Pro on
//! Mistral quotes like Python. The closing tag may be missing, several objects or an array may share one
//! tag, the tag may come twice, and the JSON may stand in a fence.

use super::JsonGrammar;
use crate::Dialect;
use crate::dialect::{GivenMarks, Grammar, Lookahead, Mark, Opener};
use crate::families::reasoning::scratch_pad;

static GRAMMAR: JsonGrammar = JsonGrammar { close: CLOSE, ..JsonGrammar::PLAIN };

/// A line break may be the two characters `\n`.
const CLOSE: &[&str] = &["</tool_call>", "\\n</tool_call>"];

static SPELT: JsonGrammar = JsonGrammar { led: true, close: CLOSE, ..JsonGrammar::PLAIN };

pub(super) const OPENER: Opener =
    Opener { mark: Mark::Tag("<tool_call>"), then: Lookahead::Json, grammar: Grammar::Json(&GRAMMAR) };

/// The tag written twice.
static DOUBLED: JsonGrammar = JsonGrammar { led: true, close: &["</tool_call>"], ..JsonGrammar::PLAIN };

/// A fence between the tag and the JSON, as small models write it; what closes behind it is a stray.
static FENCED: JsonGrammar = JsonGrammar { led: true, close: &["```"], ..JsonGrammar::PLAIN };

pub(super) const OPENERS: &[Opener] = &[
    OPENER,
    Opener {
        mark: Mark::Tag("<tool_call>"),
        then: Lookahead::Words(&["```json{", "```json[{", "```{", "```[{"]),
        grammar: Grammar::Json(&FENCED),
    },
    Opener {
        mark: Mark::Tag("<tool_call>"),
        then: Lookahead::Words(&["<tool_call>{", "<tool_call>[{"]),
        grammar: Grammar::Json(&DOUBLED),
    },
    Opener {
        mark: Mark::Tag("<tool_call>"),
        then: Lookahead::Words(&["\\n{", "\\n[{"]),
        grammar: Grammar::Json(&SPELT),
    },
    // A tag around all calls, as other models have it.
    Opener {
        mark: Mark::Tag("<tool_calls>"),
        then: Lookahead::Words(&["<tool_call>{", "<tool_call>[{"]),
        grammar: Grammar::Json(&DOUBLED),
    },
];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "hermes",
    models: "Hermes, Qwen up to 3, QwQ, Granite 4 and many fine-tunes",
    sample: r#"<tool_call>{"name": "get_weather", "arguments": {"city": "¤"}}</tool_call>"#,
    openers: OPENERS,
    given: GivenMarks { reasoning: scratch_pad::MARKS, ..GivenMarks::NOTHING },
    strays: &["</tool_call>", "</tool_calls>"],
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
                // No call runs without an argument that stands in the wrong place.
                (
                    r#"<tool_call>{"name": "search", "arguments": {}, "query": "x"}</tool_call><tool_call>{"name": "search", "query": "x", "arguments": {"limit": 3}}</tool_call>"#,
                    "broken search | broken search",
                ),
                (
                    r#"<tool_call>{"name": "search", "arguments": {"query": "x"}, "query": "x", "note": 1}</tool_call>"#,
                    r#"call search {"query": "x"}"#,
                ),
                (
                    "So.\n<tool_call>\n```json\n{\"name\": \"time\", \"arguments\": {}}\n```\n</tool_call>\nDone.",
                    "say So.\n | call time {} | say \nDone.",
                ),
                (
                    r#"<tool_call>{"name": "search", "arguments": {"query": 31 * 47, "limit": 3}}</tool_call>"#,
                    r#"call search {"query": "31 * 47", "limit": 3} (Quotes)"#,
                ),
                (
                    r#"<tool_call>{"arguments": {"query": New York}, "name": "search"}</tool_call>"#,
                    r#"call search {"query": "New York"} (Quotes)"#,
                ),
                (
                    r#"<tool_call>{"name": "search", "arguments": {"limit": 31 * 47}}</tool_call>"#,
                    "broken search",
                ),
                (
                    r#"Let me look.<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>"#,
                    r#"say Let me look. | call get_weather {"city": "Rome"}"#,
                ),
                ("<tool_call>\n{\"name\": \"time\"}\n</tool_call>\n", "call time {}"),
                ("<tool_call>\n<tool_call>\n{\"name\": \"time\"}\n</tool_call>\n", "call time {}"),
                (
                    "<scratch_pad>\nSo.\n</scratch_pad>\n<tool_call>{\"name\": \"time\"}</tool_call>",
                    "think So. | call time {}",
                ),
                (r#"<tool_call>{"name": "time", "arguments": null}"#, "call time {}"),
                (
                    "<tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n<tool_call>\n{\"name\":\"b\",\"arguments\":{}}\n</tool_call>",
                    "call a {} | call b {}",
                ),
                (
                    r#"<tool_call>[{"name":"a","parameters":{"x":[1,{}]}}, {"name":"b"}]</tool_call> ok"#,
                    r#"call a {"x":[1,{}]} | call b {} | say  ok"#,
                ),
                (
                    r#"<tool_call>{"name":"a"} {"name":"b"};{"name":"c"}</tool_call>"#,
                    "call a {} | call b {} | call c {}",
                ),
                (
                    r#"<tool_call>{"name": "f", "arguments": "{\"a\": \"\\u00e9\"}"}</tool_call>"#,
                    r#"call f {"a": "\u00e9"} (Encoding)"#,
                ),
                (
                    r#"<tool_call>{"arguments": {"name": "x", "s": "</tool_call>"}, "name": "f"}</tool_call>"#,
                    r#"call f {"name": "x", "s": "</tool_call>"}"#,
                ),
                (
                    "<tool_call>{'name': 'f', 'arguments': {'ok': True, 'x': None,}}</tool_call>",
                    r#"call f {"ok": true, "x": null} (Quotes, Words, Commas)"#,
                ),
                (
                    "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"one\ntwo\"}}</tool_call>",
                    r#"call f {"a": "one\ntwo"} (ControlCharacters)"#,
                ),
                (
                    r#"<tool_call>{"name": "f", "arguments": {"a": "say "hi" now"}}</tool_call>"#,
                    r#"call f {"a": "say \"hi\" now"} (InnerQuotes)"#,
                ),
                (
                    r#"<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>"#,
                    r#"call f {"a": 1} (Closers)"#,
                ),
                (
                    r#"<tool_call>{"name": "f", "arguments": {"a": 1}}}</tool_call>."#,
                    r#"call f {"a": 1} | say ."#,
                ),
                (
                    "<tool_call>\n{{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}}\n</tool_call>",
                    r#"call search {"query": "x"} (Closers)"#,
                ),
                (
                    "<tool_call>{ {'name': 'time'}}\n{{\"name\": \"time\"}}</tool_call>\n<tool_call>{\"name\": \"time\"}</tool_call>",
                    "call time {} (Quotes, Closers) | call time {} (Closers) | call time {}",
                ),
                (
                    r#"<tool_call>{{"name": "search", "arguments": {{"query": "x"}}}}</tool_call>"#,
                    r#"call search {"query": "x"} (Closers)"#,
                ),
                (
                    r#"<tool_call>{"name": "search", "arguments": {{"query": "x"}}}</tool_call>"#,
                    r#"call search {"query": "x"} (Closers)"#,
                ),
                (
                    r#"<tool_call>{"name": "f", "arguments": {"a": {{"b": 1}}, "c": {{}}}}</tool_call>"#,
                    r#"call f {"a": {"b": 1}, "c": {}} (Closers)"#,
                ),
                (r#"<tool_call>{"name": "f", "arguments": {{"a": 1}, {"b": 2}}}</tool_call>"#, "broken f"),
                (r#"<tool_call>{"name": "search", "arguments": {"query"}}</tool_call>"#, "broken search"),
                (r#"<tool_call>{"name": "search", "arguments": ("x", 1)}</tool_call>"#, "broken search"),
                (
                    r#"<tool_call>{"name": "f", "arguments": {"a": (1, 2)}}</tool_call>"#,
                    r#"call f {"a": [1, 2]} (Sequences)"#,
                ),
                ("<tool_call>{{name}}</tool_call>", "say <tool_call>{{name}}</tool_call>"),
                (r#"<tool_call>{"name": "time"} {{so}}"#, "call time {} | say {{so}}"),
                (
                    r#"<tool_call>{{{"name": "time"}}}</tool_call>"#,
                    r#"say <tool_call>{{{"name": "time"}}}</tool_call>"#,
                ),
                (
                    r#"So.<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call>\n<tool_call>{"name": "time"}\n</tool_call>"#,
                    r"say So. | call time {} | say \n | call time {}",
                ),
                (r#"<tool_call>{"name": "time", "arguments": {}}; ["#, "call time {} | say ; ["),
                (r#"<tool_call>{"name": "time", "arguments": {}}, \"#, r"call time {} | say , \"),
                (r#"<tool_call>{"name": "time", "arguments": {}}\"#, r"call time {} | say \"),
                (r#"<tool_call>{"name": "time", "arguments": {}}, </tool"#, "call time {}"),
                ("`<tool_call>{\"name\": \"time\"}; [", "say ` | call time {} | say ; ["),
                ("<think>hm\n<tool_call>{\"name\": \"time\"}; [", "think hm | call time {} | say ; ["),
                (r#"<tool_call>{"name": "time"}\nx"#, r"call time {} | say \nx"),
                (r"<tool_call>\n</tool_call>", r"say <tool_call>\n</tool_call>"),
                ("<tool_call>{name: \"f\", args: {}}</tool_call>", "call f {} (Quotes)"),
                (r#"<tool_call>{"name": "f", "arguments": {"a": "half"#, "cut f"),
                (r#"<tool_call>{"foo": 1}</tool_call>"#, "broken"),
                (r#"<tool_call>{"name": "f", "arguments": {oops}}</tool_call> so"#, "broken f | say  so"),
                ("<tool_call>not json</tool_call>", "say <tool_call>not json</tool_call>"),
                ("Use <tool_call>{ to start.", "say Use <tool_call>{ to start."),
                (
                    "A <tool_call> tag, `<tool_call>{\"name\":\"f\"}</tool_call>`.",
                    "say A <tool_call> tag, `<tool_call>{\"name\":\"f\"}</tool_call>`.",
                ),
                ("<think>hm</think><tool_call>{\"name\":\"f\"}</tool_call>", "think hm | call f {}"),
                ("<think>hm\n<tool_call>{\"name\":\"f\"}</tool_call>", "think hm | call f {}"),
                ("Now:<tool_call>", "say Now: | cut"),
                (
                    "<tool_calls>\n<tool_call>\n{\"name\": \"f\"}\n</tool_call>\n<tool_call>\n{\"name\": \"g\"}\n</tool_call>\n</tool_calls>",
                    "call f {} | call g {}",
                ),
            ],
        );
    }
}
