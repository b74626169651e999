//! `<function name="f"><param name="k">V</param></function>`: MiniCPM 5.
//!
//! Odd here: no wrapper; values may be CDATA; the tokenizer may lose the blank in a tag or leave it as `Ġ`,
//! and a line break between tags as `Ċ`. A parameter must not come twice.

use super::{Element, TagGrammar};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

pub(super) static GRAMMAR: TagGrammar = TagGrammar {
    elements: &[
        ("function", Element::Call),
        ("functionname", Element::Call),
        ("param", Element::Parameter),
        ("paramname", Element::Parameter),
        ("parameter", Element::Parameter),
    ],
    cdata: true,
    once: true,
    ..TagGrammar::PLAIN
};

const fn opener(mark: &'static str) -> Opener {
    Opener { mark: Mark::Tag(mark), then: Lookahead::Anything, grammar: Grammar::Tags(&GRAMMAR) }
}

pub(crate) static DIALECT: Dialect = Dialect {
    name: "minicpm5",
    models: "MiniCPM 5",
    sample: "<function name=\"get_weather\"><param name=\"city\">¤</param></function>",
    openers: &[
        opener("<function name="),
        opener("<functionname="),
        opener("<functionĠname="),
        Opener { then: Lookahead::Words(&["="]), ..opener("<function name ") },
        Opener { then: Lookahead::Words(&["="]), ..opener("<function  name") },
    ],
    strays: &["</param>", "</parameter>", "</function>"],
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
                    "a\n<function name=\"search\"><param name=\"query\"><![CDATA[<b> </param>]]]></param><param name=\"limit\">3</param></function>\nb\n<function name=\"time\"></function>",
                    "say a\n | call search {\"query\": \"<b> </param>]\", \"limit\": 3} | say \nb\n | call time {}",
                ),
                (
                    "<functionĠname=\"search\"><paramname=\"query\">x</param></function>",
                    "call search {\"query\": \"x\"}",
                ),
                (
                    "<functionĠname=\"search\">Ċ<paramĠname=\"query\">xĊ</param>ĊĠ<paramĠname=\"limit\">3</param>Ċ</function>Ċ<functionĠname=\"time\">Ċ</function>Ċ",
                    "call search {\"query\": \"xĊ\", \"limit\": 3} | call time {}",
                ),
                (
                    "<functionĠname=\"search\">Ċ{\"query\": \"x\"}Ċ</function>Ċb",
                    "call search {\"query\": \"x\"} | say Ċb",
                ),
                ("<function name=\"search\"><param name=\"query\">x", "cut search"),
                (
                    "<function name=\"search\"><parameter name=\"query\">x</parameter></function>",
                    r#"call search {"query": "x"}"#,
                ),
                (
                    "<think>hm\n<function name=\"search\"><param name=\"query\">a </think> b</param></function>",
                    "think hm | call search {\"query\": \"a </think> b\"}",
                ),
                (
                    "<think>like <function name=\"search\"> or so</think>ok <function name=\"time\"></function>",
                    "think like <function name=\"search\"> or so | say ok  | call time {}",
                ),
                ("<function  name = \"time\" ></function>", "call time {}"),
                ("<function name = 'time'></function>", "call time {}"),
                // Blanks around a quotation are not quoted.
                (
                    "<function name=\"search\"><param name=\"query\"> <![CDATA[ x ]]>\n<![CDATA[y]]> </param></function>",
                    r#"call search {"query": " x y"}"#,
                ),
                (
                    "<function name=\"search\"><param name=\"query\"> a <![CDATA[ x ]]> b </param></function>",
                    r#"call search {"query": " a  x  b "}"#,
                ),
                (
                    "<function name=\"search\"><param name=\"query\"> </param></function>",
                    r#"call search {"query": " "}"#,
                ),
                (
                    "<function name=\"search\"><param name=\"query\"><x><param name=\"limit\">2</param></x></param></function>",
                    r#"call search {"query": "<x><param name=\"limit\">2</param></x>"}"#,
                ),
                (
                    "<function name=\"search\"><param name=\"limit\">3</param><param name=\"query\"><param name=\"limit\">2</param></param></function>",
                    r#"call search {"limit": 3, "query": "<param name=\"limit\">2</param>"}"#,
                ),
                (
                    "<function name=\"search\"><param name=\"query\">x<param name=\"limit\"><![CDATA[2]]></param></function>",
                    r#"call search {"query": "x", "limit": 2}"#,
                ),
                // Any blank may stand before arguments in JSON.
                (
                    "<function name=\"search\">\u{a0}\n{\"query\": \"x\"}</function>",
                    "call search {\"query\": \"x\"}",
                ),
            ],
        );
    }
}
