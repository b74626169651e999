//! `<|tool_call_start|>[f(a='x'), g()]<|tool_call_end|>`: LFM2.
//!
//! Odd here: JSON may stand between the marks too. Any word may be the name of an argument. The body is sometimes
//! repeated behind the end mark.

use super::PythonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Mark, Opener, Then};
use crate::json_tags::JsonGrammar;

const MARK: Mark = Mark::Tag("<|tool_call_start|>");

static JSON: JsonGrammar = JsonGrammar { close: &["<|tool_call_end|>"], ..JsonGrammar::PLAIN };

static PYTHON: PythonGrammar = PythonGrammar { close: &["<|tool_call_end|>"], ..PythonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "lfm2",
    openers: &[
        Opener { mark: MARK, then: Then::Json, grammar: Grammar::Json(&JSON) },
        Opener { mark: MARK, then: Then::Function, grammar: Grammar::Python(&PYTHON) },
    ],
    silent: &["<|tool_call_end|>"],
    strays: &["<|tool_call_end|>"],
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
                    r#"Hm. <|tool_call_start|>[a.b(from='x', class=007), time()]<|tool_call_end|>"#,
                    r#"say Hm.  | call a.b {"from": "x", "class": 7} | call time {}"#,
                ),
                (
                    r#"<|tool_call_start|>[{"name": "time", "arguments": {}}]<|tool_call_end|>"#,
                    "call time {}",
                ),
            ],
        );
    }
}
