//! `[f(a=1, b="x"), g()]`: Llama 3.2 and 4, and every model that is asked for Python.
//!
//! Odd here: no mark but the bracket. In a list at the very beginning, declared names are proof enough; elsewhere the
//! list must be the end of the message. Fences, missing brackets and stray tags around the list occur.

use super::PythonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::json_tags::JsonGrammar;

const TAG: Mark = Mark::Tag("<|python_start|>");

static TAGGED: PythonGrammar = PythonGrammar { close: &["<|python_end|>"], ..PythonGrammar::PLAIN };

static ALONE: PythonGrammar = PythonGrammar::PLAIN;

static FENCED: PythonGrammar = PythonGrammar { fenced: true, ..PythonGrammar::PLAIN };

static JSON: JsonGrammar = JsonGrammar { close: &["<|python_end|>"], ..JsonGrammar::PLAIN };

pub(super) const OPENERS: &[Opener] = &[
    Opener { mark: TAG, then: Lookahead::Function, grammar: Grammar::Python(&TAGGED) },
    Opener { mark: TAG, then: Lookahead::Json, grammar: Grammar::Json(&JSON) },
    Opener { mark: Mark::Alone, then: Lookahead::Function, grammar: Grammar::Python(&ALONE) },
    Opener { mark: Mark::Start, then: Lookahead::Function, grammar: Grammar::Python(&ALONE) },
    Opener {
        mark: Mark::Fence(&["python", "py", ""]),
        then: Lookahead::Function,
        grammar: Grammar::Python(&FENCED),
    },
];

pub(super) const SILENT: &[&str] = &["<|python_tag|>", "<|eot|>", "<|eom|>", "<end_code>"];

pub(super) const STRAYS: &[&str] = &["<|python_end|>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "pythonic",
    models: "Llama 3.2 and 4, and every model that is asked for Python",
    sample: r#"[get_weather(city="¤")]"#,
    openers: OPENERS,
    silent: SILENT,
    strays: STRAYS,
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
                    r#"[search(query="a, b", limit=-1), time()]"#,
                    r#"call search {"query": "a, b", "limit": -1} | call time {}"#,
                ),
                (r#"Here: [search(query='x')]"#, r#"say Here:  | call search {"query": "x"}"#),
                (r#"<|python_start|>[time()]<|python_end|> So."#, "call time {} | say  So."),
                (
                    r#"<|python_start|>{"name": "time", "parameters": {}}<|python_end|> So."#,
                    "call time {} | say  So.",
                ),
                ("<|python_start|>[time().x]<|python_end|>", "broken time"),
                ("[time() + time()]", "say [time() + time()]"),
                (r#"[search("x", query="y")]"#, r#"say [search("x", query="y")]"#),
                (r#"[search(limit=1, "x")]"#, r#"say [search(limit=1, "x")]"#),
                ("[time()]\n\nThis calls it.", "call time {} | say This calls it."),
                ("[time()]\n\n[1] https://x", "call time {} | say [1] https://x"),
                ("[time()], and more", "call time {} | say , and more"),
                ("[time()]; [time()], [1]", "call time {} | call time {} | say , [1]"),
                ("[time()] [x] so", "call time {} | say [x] so"),
                ("[time()], [", "call time {} | say , ["),
                ("time()\nprint(so)", "call time {} | say print(so)"),
                ("time();", "call time {} | say ;"),
                (r#"time()"#, "call time {}"),
                ("```python\n[time()]\n```", "call time {}"),
                ("```py\ntime()\n```<end_code>", "call time {}"),
                ("```python\ntime(); # now\ntime();\n```", "call time {} | call time {}"),
                ("```python\n[time()],\n```", "call time {}"),
                ("```python\n[time()], so\n```", "say ```python\n[time()], so\n```"),
                (
                    r#"Use [link text](url) and [Wikipedia](https://x.org)."#,
                    "say Use [link text](url) and [Wikipedia](https://x.org).",
                ),
                (r#"[other(a=1)]"#, "say [other(a=1)]"),
                (r#"[search(query="#, "cut search"),
            ],
        );
    }
    #[test]
    fn a_long_comment_between_calls_is_code_in_a_fence_and_text_elsewhere() {
        let comment = format!("#{}", "x".repeat(256));
        let fenced = format!("```python\ntime()\n{comment}\ntime()\n```");
        let alone = format!("time()\n{comment}\ntime()");
        check(
            &DIALECT,
            &[
                (&fenced, "call time {} | call time {}"),
                (&alone, &format!("call time {{}} | say {comment}\ntime()")),
            ],
        );
    }
}
