//! `<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>…`:
//! Kimi K2, K2.5 and K2 Thinking.
//!
//! Odd here: the head is an id that holds the name, and models garble it: `functions_f_1`, `functionsf5`, `f:0`, or a
//! bare counter, whose tool only the arguments give away. Every closing token may be missing.

use super::{FramedGrammar, FramedSign, HeadMeaning};
use crate::dialect::{Grammar, Lookahead, Mark, Opener};
use crate::{Dialect, Tools};

pub(super) static GRAMMAR: FramedGrammar = FramedGrammar {
    signs: &[
        ("<|tool_call_begin|>", FramedSign::Call),
        ("<|tool_call_argument_begin|>", FramedSign::Arguments),
        ("<|tool_call_end|>", FramedSign::End),
        ("<|tool_calls_section_begin|>", FramedSign::End),
        ("<|tool_call_section_begin|>", FramedSign::End),
        ("<|tool_calls_section_end|>", FramedSign::Close),
        ("<|tool_call_section_end|>", FramedSign::Close),
    ],
    closers: &[
        "<|tool_call_end|>",
        "<|tool_call_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_section_end|>",
    ],
    read_name,
    ..FramedGrammar::PLAIN
};

const fn opener(mark: &'static str, then: Lookahead) -> Opener {
    Opener { mark: Mark::Tag(mark), then, grammar: Grammar::Framed(&GRAMMAR) }
}

const SECTION: Lookahead =
    Lookahead::Words(&["<|tool_call_begin|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"]);

pub(crate) static DIALECT: Dialect = Dialect {
    name: "kimi_k2",
    models: "Kimi K2, K2.5 and K2 Thinking",
    sample: r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "¤"}<|tool_call_end|><|tool_calls_section_end|>"#,
    openers: &[
        opener("<|tool_calls_section_begin|>", SECTION),
        opener("<|tool_call_section_begin|>", SECTION),
        opener("<|tool_call_begin|>", Lookahead::Name(&["<|tool_call_argument_begin|>"])),
    ],
    strays: &[
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_section_end|>",
    ],
    sections: &[
        ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        ("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
    ],
    ..Dialect::PLAIN
};

fn read_name(head: &str, tools: &Tools) -> HeadMeaning {
    let id = head.trim();
    if id.is_empty() || id.contains(char::is_whitespace) {
        return HeadMeaning::NotACall;
    }
    let (name, index) = id.rsplit_once(':').unwrap_or((id, ""));
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let id = Some(id.to_owned());
    if tools.is_unknown() || tools.resolve(name).is_some() {
        let counter = name.bytes().all(|b| b.is_ascii_digit()) && index.is_empty();
        return if counter {
            HeadMeaning::Unnamed { id }
        } else {
            HeadMeaning::Tool { name: name.to_owned(), id }
        };
    }
    match possible_names(name).find_map(|name| tools.resolve(name)) {
        Some(name) => HeadMeaning::Tool { name: name.to_owned(), id },
        None if is_invented_id(name) => HeadMeaning::Unnamed { id },
        None => HeadMeaning::Tool { name: name.to_owned(), id },
    }
}

/// What the name may have been before its separators were lost.
fn possible_names(name: &str) -> impl Iterator<Item = &str> {
    let bare = name.strip_prefix("functions").unwrap_or(name).trim_start_matches(['.', '_', ':', '-']);
    let counted = bare.trim_end_matches(|c: char| c.is_ascii_digit());
    [bare, counted.trim_end_matches(['.', '_', ':', '-']), counted].into_iter()
}

/// An id that names no tool: `call_abc`, `call00003`, `0`.
fn is_invented_id(name: &str) -> bool {
    name.starts_with("call") || name.bytes().all(|b| b.is_ascii_digit())
}

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
                    r#"Sure. <|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{"query": "x"}<|tool_call_end|><|tool_calls_section_end|>"#,
                    r#"say Sure.  | call search#functions.search:0 {"query": "x"}"#,
                ),
                (
                    r#"<|tool_calls_section_begin|> <|tool_call_begin|> functions.search:0 <|tool_call_argument_begin|> {"query": "<|tool_call_end|>"} <|tool_call_end|><|tool_call_begin|>time:1<|tool_call_argument_begin|>{}<|tool_calls_section_end|> ok"#,
                    r#"call search#functions.search:0 {"query": "<|tool_call_end|>"} | call time#time:1 {} | say  ok"#,
                ),
                (
                    r#"<|tool_call_begin|>functions_search_1<|tool_call_argument_begin|>{"query": "a"}"#,
                    r#"call search#functions_search_1 {"query": "a"}"#,
                ),
                (
                    r#"<|tool_calls_section_begin|><|tool_call_begin|>0<|tool_call_argument_begin|>{"query": "a"}<|tool_call_end|>"#,
                    r#"call search#0 {"query": "a"}"#,
                ),
                (
                    r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{"query": "ha"#,
                    "cut search",
                ),
                (
                    r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{'query': 'a'}<|tool_call_end|>"#,
                    r#"call search#functions.search:0 {"query": "a"} (Quotes)"#,
                ),
                ("So.<|tool_calls_section_begin|> <|tool_calls_section_end|>", "say So."),
                // Without arguments only the name vouches for the call.
                (
                    "As <|tool_call_begin|>name<|tool_call_argument_begin|><|tool_call_begin|>time:0<|tool_call_argument_begin|><|tool_call_end|>",
                    "say As <|tool_call_begin|>name<|tool_call_argument_begin|> | call time#time:0 {}",
                ),
                (
                    "<|tool_call_begin|>time:0<|tool_call_argument_begin|><|tool_call_end|><|tool_call_begin|>0<|tool_call_argument_begin|><|tool_call_end|>",
                    "call time#time:0 {} | broken",
                ),
                // A head without arguments hides no call behind it.
                (
                    "<|tool_calls_section_begin|><|tool_call_begin|>so<|tool_call_begin|>time:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>so<|tool_call_begin|>time:1<|tool_call_argument_begin|>{}<|tool_calls_section_end|>",
                    "say <|tool_calls_section_begin|><|tool_call_begin|>so | call time#time:0 {} | broken | call time#time:1 {}",
                ),
                (
                    "The <|tool_call_end|> and\n> <|tool_calls_section_end|>\nmarks.",
                    "say The <|tool_call_end|> and\n> <|tool_calls_section_end|>\nmarks.",
                ),
                // Words in a section are text, wherever they stand.
                (
                    r#"<|tool_calls_section_begin|><|tool_call_begin|>time:0<|tool_call_argument_begin|>{} Now<|tool_call_end|> more:<|tool_call_begin|>time:1<|tool_call_argument_begin|>{}<|tool_call_end|> So.<|tool_calls_section_end|>"#,
                    "call time#time:0 {} | say Now more: | call time#time:1 {} | say  So.",
                ),
                // What stands in the place of the arguments is told with the call.
                (
                    r#"<|tool_calls_section_begin|><|tool_call_begin|>search:0<|tool_call_argument_begin|>"query": "x"}<|tool_call_end|><|tool_call_begin|>search:1<|tool_call_argument_begin|>x {"query": "y"}<|tool_call_end|><|tool_calls_section_end|>"#,
                    "broken search | broken search",
                ),
                ("The <|tool_call_begin|> token.", "say The <|tool_call_begin|> token."),
            ],
        );
    }
}
