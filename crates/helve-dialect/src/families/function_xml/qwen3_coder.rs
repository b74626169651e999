//! `<tool_call>⏎<function=f>⏎<parameter=k>⏎V⏎</parameter>⏎</function>⏎</tool_call>`: Qwen3-Coder, Qwen3.5 and later,
//! Nemotron 3, MiMo V2, Step 3.5.
//!
//! Odd here: the outer tag is that of Hermes, and any tag but the function's may be missing. One line break on either
//! side of a value is framing. A body in JSON occurs.

use super::{Element, Framing, TagGrammar, Untyped};
use crate::Dialect;
use crate::dialect::{Grammar, Lookahead, Mark, Opener};

pub(super) static GRAMMAR: TagGrammar =
    TagGrammar { elements: ELEMENTS, framing: Framing::OneLine, untyped: Untyped::Text, ..TagGrammar::PLAIN };

pub(super) const ELEMENTS: &[(&str, Element)] = &[
    ("tool_call", Element::Wrapper),
    ("function", Element::Call),
    ("parameter", Element::Parameter),
    ("param", Element::Parameter),
];

pub(super) const BARE: Lookahead = Lookahead::Name(&["><param", "></function"]);

const STRAYS: &[&str] = &["</parameter>", "</param>", "</function>", "</tool_call>"];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "qwen3_coder",
    models: "Qwen3-Coder, Qwen3.5 and later, Nemotron 3, MiMo V2, Step 3.5",
    sample: "<tool_call>\n<function=get_weather>\n<parameter=city>\n¤\n</parameter>\n</function>\n</tool_call>",
    openers: &[
        Opener {
            mark: Mark::Tag("<tool_call>"),
            then: Lookahead::Words(&["<function", "<tool_call><function"]),
            grammar: Grammar::Tags(&GRAMMAR),
        },
        Opener {
            mark: Mark::Tag("<tool_call "),
            then: Lookahead::Words(&["><function"]),
            grammar: Grammar::Tags(&GRAMMAR),
        },
        Opener { mark: Mark::Tag("<function="), then: BARE, grammar: Grammar::Tags(&GRAMMAR) },
    ],
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
                    "So.\n<tool_call>\n<function=search>\n<parameter=query>\nred \"x\"\n</parameter>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>",
                    r#"say So.
 | call search {"query": "red \"x\"", "limit": 3}"#,
                ),
                ("<tool_call><function=time></function></tool_call> ok", "call time {} | say  ok"),
                (
                    "<tool_call>\n<function=search>\n<parameter=query>\nif a < b:\n    c <- d\n\n</parameter>\n</function>\n</tool_call>",
                    r#"call search {"query": "if a < b:\n    c <- d\n"}"#,
                ),
                (
                    "<tool_call>\n<function=time>\n</function>\n<function=time>\n</function>\n</tool_call>",
                    "call time {} | call time {}",
                ),
                (
                    "<function=search>\n<parameter=query>\na\n</parameter>\n</function>\n</tool_call>",
                    r#"call search {"query": "a"}"#,
                ),
                (
                    "<tool_call><function=search><parameter=query>a\n<parameter=limit>2</function></tool_call>",
                    r#"call search {"query": "a", "limit": 2}"#,
                ),
                (
                    "<tool_call>\n<function=search>\n<parameter=query>\nuse </parameter> here\n</parameter>\n</function>\n</tool_call>",
                    r#"call search {"query": "use </parameter> here"}"#,
                ),
                (
                    "<tool_call>\n<function=search>\n<parameter=query>\n<function=rm>\n<parameter=x>\n1\n</parameter>\n</function>\n</parameter>\n</function>\n</tool_call>",
                    r#"call search {"query": "<function=rm>\n<parameter=x>\n1\n</parameter>\n</function>"}"#,
                ),
                (
                    "<tool_call>\n<function=search>\n<parameter=query>\n\n  a <b> c\n\n</parameter>\n</function>",
                    r#"call search {"query": "\n  a <b> c\n"}"#,
                ),
                (
                    "<tool_call><function=search>{\"query\": \"a\"}</function></tool_call>",
                    r#"call search {"query": "a"}"#,
                ),
                ("<tool_call>\n<function=search>\n<parameter=query>\nNew Yo", "cut search"),
                (
                    "<tool_call>\n<function=search>\n<parameter=query>\na\n</parameter>",
                    r#"call search {"query": "a"}"#,
                ),
                (
                    "<tool_call >\n<function = search >\n< parameter = query >\na\n</ parameter>\n</function >\n</tool_call >",
                    r#"call search {"query": "a"}"#,
                ),
                (
                    "<function=search>\n<param=query>a</param>\n<param=limit>\n2\n</parameter>\n</function>",
                    r#"call search {"query": "a", "limit": 2}"#,
                ),
                (
                    "<tool_call>\n<function=search>\n<parameter=query>\n<object><param name=\"limit\">\n</object>\n</parameter>\n</function>\n</tool_call>",
                    r#"call search {"query": "<object><param name=\"limit\">\n</object>"}"#,
                ),
                // What looks like an argument and cannot be read must not be missing in what is called.
                (
                    "<tool_call>\n<function=search>\n<arg=query>a</arg>\n</function>\n</tool_call>",
                    "broken search",
                ),
                (
                    "<tool_call>\n<function=search>\n<query>a</query>\n</function>\n</tool_call>",
                    "broken search",
                ),
                (
                    "<tool_call>\n<function=search>\n<limit>2</limit>\n<parameter=query>a</parameter>\n</function>\n</tool_call>",
                    "broken search",
                ),
                (
                    "<tool_call>\n<function=search>\n<paramter=query>a</paramter>\n<parameter=limit>2</parameter>\n</function>\n</tool_call>",
                    "broken search",
                ),
                (
                    "<tool_call>\n<function=search>\na\n</parameter>\n</function>\n</tool_call>",
                    "broken search",
                ),
                (
                    "<tool_call><function=search>So: {\"query\": \"a\"}</function></tool_call>",
                    "broken search",
                ),
                (
                    "<tool_call><function=search>{\"query\": \"a\"}, {\"limit\": 1}</function></tool_call>",
                    "broken search",
                ),
                // Words inside a call are text behind it.
                (
                    "<tool_call><function=search>\nI < you. <parameter=query>a</parameter></function> So.",
                    r#"call search {"query": "a"} | say 
I < you.  So."#,
                ),
                (
                    "<tool_call><function=search>{\"query\": \"a\"} as said\n",
                    r#"call search {"query": "a"} | say  as said
"#,
                ),
                ("<tool_call><function=time></function></tool_call> I <3", "call time {} | say  I <3"),
                ("<tool_call><function=time></function>\n<3", "call time {} | say \n<3"),
                // A wrapper that is opened twice opens nothing.
                (
                    "<tool_call><function=search><tool_call><parameter=query>a</parameter></function></tool_call>",
                    r#"call search {"query": "a"}"#,
                ),
                // A parameter inside a value is one of the call's only if that is spelt so, awaits it, and goes on behind it.
                (
                    "<tool_call><function=search><parameter=query>\n<a>\n<parameter name=\"limit\">2</parameter>\n</a>\n</parameter></function></tool_call>",
                    r#"call search {"query": "<a>\n<parameter name=\"limit\">2</parameter>\n</a>"}"#,
                ),
                (
                    "<tool_call><function=search><parameter=limit>3</parameter><parameter=query>\nuse <parameter=limit> here\n</parameter></function></tool_call>",
                    r#"call search {"limit": 3, "query": "use <parameter=limit> here"}"#,
                ),
                (
                    "<tool_call><function=search><parameter=query>\n<parameter=other>\n1\n</parameter>\n<parameter=more>2</parameter>\n</parameter></function></tool_call>",
                    r#"call search {"query": "<parameter=other>\n1\n</parameter>\n<parameter=more>2</parameter>"}"#,
                ),
                (
                    "<tool_call><function=search><parameter=query>\nuse <parameter=limit>2</parameter>\n here\n</parameter></function></tool_call>",
                    r#"call search {"query": "use <parameter=limit>2</parameter>\n here"}"#,
                ),
                (
                    "<tool_call><function=search><parameter=query>\na\n<parameter=limit>\n2\n</parameter>\n</function></tool_call>",
                    r#"call search {"query": "a", "limit": 2}"#,
                ),
                ("<tool_call><function=f><parameter=a>1\n<parameter=b>2\n<parameter=c>\n3", "cut f"),
                (
                    "<tool_call><function=f><parameter=a>1\n<parameter=b>2\n<parameter=c>\n3\n</parameter>",
                    r#"call f {"a": "1", "b": "2", "c": "3"}"#,
                ),
                ("The <tool_call > tag.", "say The <tool_call > tag."),
                ("Docs mention <function=name> and more.", "say Docs mention <function=name> and more."),
                ("<think>hm\n<tool_call><function=time></function></tool_call>", "think hm | call time {}"),
            ],
        );
    }
}
