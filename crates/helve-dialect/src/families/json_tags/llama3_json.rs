//! `<|python_tag|>{"name": …, "parameters": …}`, or the object alone: Llama 3.1 and later.
//!
//! Odd here: calls are joined by `;`. Behind the same tag stand built-in tools, `brave_search.call(query="…")`,
//! and code, which counts where an interpreter is declared.

use super::{JsonGrammar, json_bare};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::framed::{self, FramedGrammar, FramedSign, HeadMeaning, TextGrammar};
use crate::families::pythonic::PythonGrammar;

const TAG: Mark = Mark::Tag("<|python_tag|>");

static TAGGED: JsonGrammar = JsonGrammar { close: &["<|eom_id|>", "<|eot_id|>"], ..JsonGrammar::PLAIN };

static BUILT_IN: PythonGrammar =
    PythonGrammar { close: &["<|eom_id|>", "<|eot_id|>"], ..PythonGrammar::PLAIN };

static CODE: FramedGrammar = FramedGrammar {
    signs: &[("<|python_tag|>", FramedSign::Arguments)],
    text: TextGrammar {
        signs: &[("<|eom_id|>", FramedSign::Close), ("<|eot_id|>", FramedSign::Close)],
        code: true,
        ..TextGrammar::NONE
    },
    read_name: |_, tools| match framed::find_interpreter(tools) {
        Some(name) => HeadMeaning::Tool { name: name.to_owned(), id: None },
        None => HeadMeaning::NotACall,
    },
    ..FramedGrammar::PLAIN
};

pub(crate) const CODE_OPENER: Opener =
    Opener { mark: TAG, then: Lookahead::Line, grammar: Grammar::Framed(&CODE) };

pub(crate) static DIALECT: Dialect = Dialect {
    name: "llama3_json",
    models: "Llama 3.1 and later",
    sample: r#"<|python_tag|>{"name": "get_weather", "parameters": {"city": "¤"}}"#,
    openers: &[
        Opener { mark: TAG, then: Lookahead::Json, grammar: Grammar::Json(&TAGGED) },
        Opener { mark: TAG, then: Lookahead::Function, grammar: Grammar::Python(&BUILT_IN) },
        CODE_OPENER,
        json_bare::OPENER,
    ],
    given: json_bare::GIVEN,
    ..Dialect::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;
    use crate::{Reading, Tools, read};

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                (
                    r#"<|python_tag|>{"name": "search", "parameters": {"query": "a; b"}}; {"name": "time", "parameters": {}}<|eom_id|>"#,
                    r#"call search {"query": "a; b"} | call time {}"#,
                ),
                (r#"{"name": "time", "parameters": {}}<|eot_id|>"#, "call time {}"),
                ("The tag <|python_tag|> is special.", "say The tag <|python_tag|> is special."),
                ("{'name': 'time', 'parameters': {}}<|eot_id|>", "call time {} (Quotes)"),
                (
                    r#"<|python_tag|>brave_search.call(query="x")<|eom_id|>"#,
                    r#"call brave_search {"query": "x"}"#,
                ),
                ("A <|python_tag|> token.", "say A <|python_tag|> token."),
            ],
        );
    }

    #[test]
    fn code_needs_an_interpreter() {
        let text = "<|python_tag|>import math\nprint(math.pi)<|eom_id|>";
        let tools = Tools::new([("code_interpreter".to_owned(), serde_json::Value::Null)]);
        let read = |tools| read(text, Reading::any(tools), None);
        let with = read(tools);
        let call = &with.calls[0];
        assert_eq!(call.name, "code_interpreter");
        assert_eq!(call.arguments, r#"{"code": "import math\nprint(math.pi)"}"#);
        assert!(read(Tools::unknown()).calls.is_empty());
    }
}
