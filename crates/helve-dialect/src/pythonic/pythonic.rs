//! `[f(a=1, b="x"), g()]`: Llama 3.2 and 4, and every model that is asked for Python.
//!
//! Odd here: no mark but the bracket. In a list at the very beginning, declared names are proof enough; elsewhere the
//! list must be the end of the message. Fences, missing brackets and stray tags around the list occur.

use super::PythonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};

const TAG: Mark = Mark::Tag("<|python_start|>");

static TAGGED: PythonGrammar = PythonGrammar { close: &["<|python_end|>"], ..PythonGrammar::PLAIN };

static ALONE: PythonGrammar = PythonGrammar::PLAIN;

pub(super) const OPENERS: &[Opener] = &[
    Opener { mark: TAG, then: Then::Function, grammar: Grammar::Python(&TAGGED) },
    Opener { mark: Mark::Alone, then: Then::Function, grammar: Grammar::Python(&ALONE) },
    Opener { mark: Mark::Start, then: Then::Function, grammar: Grammar::Python(&ALONE) },
    Opener {
        mark: Mark::Fence(&["python", "py", ""]),
        then: Then::Function,
        grammar: Grammar::Python(&ALONE),
    },
];

pub(super) const SILENT: &[&str] = &["<|python_tag|>", "<|eot|>", "<|eom|>", "<end_code>"];

pub(super) const STRAYS: &[&str] = &["<|python_end|>"];

pub(crate) static DIALECT: Dialect =
    Dialect { name: "pythonic", openers: OPENERS, silent: SILENT, strays: STRAYS, ..Dialect::PLAIN };

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
                ("[time()]\n\nThis calls it.", "call time {} | say This calls it."),
                (r#"time()"#, "call time {}"),
                ("```python\n[time()]\n```", "call time {}"),
                ("```py\ntime()\n```<end_code>", "call time {}"),
                (
                    r#"Use [link text](url) and [Wikipedia](https://x.org)."#,
                    "say Use [link text](url) and [Wikipedia](https://x.org).",
                ),
                (r#"[other(a=1)]"#, "say [other(a=1)]"),
                (r#"[search(query="#, "cut search"),
            ],
        );
    }
}
