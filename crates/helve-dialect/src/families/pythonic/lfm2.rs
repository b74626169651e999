//! `<|tool_call_start|>[f(a='x'), g()]<|tool_call_end|>`: LFM2.
//!
//! Odd here: JSON may stand between the marks too. Any word may be the name of an argument. The body is sometimes
//! repeated behind the end mark.

use super::PythonGrammar;
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::json_tags::JsonGrammar;

const MARK: Mark = Mark::Tag("<|tool_call_start|>");

static JSON: JsonGrammar = JsonGrammar { close: &["<|tool_call_end|>"], ..JsonGrammar::PLAIN };

static PYTHON: PythonGrammar = PythonGrammar { close: &["<|tool_call_end|>"], ..PythonGrammar::PLAIN };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "lfm2",
    models: "LFM2",
    sample: "<|tool_call_start|>[get_weather(city=\"¤\")]<|tool_call_end|>",
    openers: &[
        Opener { mark: MARK, then: Lookahead::Json, grammar: Grammar::Json(&JSON) },
        Opener { mark: MARK, then: Lookahead::Function, grammar: Grammar::Python(&PYTHON) },
        // Nothing at all.
        Opener { mark: MARK, then: Lookahead::Words(&["<|tool_call_end|>"]), grammar: Grammar::Json(&JSON) },
    ],
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
                ("<|tool_call_start|>[time()]; so <|tool_call_end|>", "call time {} | say ; so "),
                ("<|tool_call_start|>[time()]; <|tool_call_end|> so", "call time {} | say  so"),
                ("<|tool_call_start|>[time(), so on", "call time {} | say , so on"),
                ("<|tool_call_start|>[time()], [", "call time {} | say , ["),
                ("<|tool_call_start|>[time()]<", "call time {} | say <"),
                ("So. <|tool_call_start|>\n<|tool_call_end|> Ok.", "say So.  Ok."),
                ("Now:<|tool_call_start|>", "say Now: | cut"),
                (
                    "A <|tool_call_start|> and <|tool_call_end|>.",
                    "say A <|tool_call_start|> and <|tool_call_end|>.",
                ),
            ],
        );
    }
}
