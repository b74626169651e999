//! `<function=f>{…}</function>`: Llama 3.1 as prompted by Meta, Functionary 3.1.
//!
//! Odd here: the tag is that of Qwen3-Coder; the bracket behind it makes the difference. Code follows a
//! `<|python_tag|>`, and counts where an interpreter is declared.

use super::{FramedGrammar, FramedSign, read_plain_name};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::families::json_tags::llama3_json;

static GRAMMAR: FramedGrammar = FramedGrammar {
    signs: &[
        ("<function=", FramedSign::Call),
        (">", FramedSign::Arguments),
        ("</function>", FramedSign::End),
    ],
    closers: &["</function>"],
    read_name: read_plain_name,
    ..FramedGrammar::PLAIN
};

pub(crate) static DIALECT: Dialect = Dialect {
    name: "llama31_function_tag",
    models: "Llama 3.1 as prompted by Meta, Functionary 3.1",
    sample: r#"<function=get_weather>{"city": "¤"}</function>"#,
    openers: &[
        Opener {
            mark: Mark::Tag("<function="),
            then: Lookahead::Name(&[">{", "></function>"]),
            grammar: Grammar::Framed(&GRAMMAR),
        },
        llama3_json::CODE_OPENER,
    ],
    strays: &["</function>"],
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
                    r#"So: <function=search>{"query": "</function>"}</function>"#,
                    r#"say So:  | call search {"query": "</function>"}"#,
                ),
                (
                    "<function=time>{}</function>\n<function=time>{}</function> ok",
                    "call time {} | call time {} | say  ok",
                ),
                (r#"<function=search>{"query": "ha"#, "cut search"),
                ("<function=time>\n</function>", "call time {}"),
                // Without arguments only the name vouches for the call.
                ("Use <function=foo></function> here.", "say Use <function=foo></function> here."),
                (
                    "<function=time></function><function=foo></function> So.",
                    "call time {} | broken foo | say  So.",
                ),
                ("Write <function=name> to call.", "say Write <function=name> to call."),
            ],
        );
    }
}
