//! `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f⏎```json⏎{…}⏎```<｜tool▁call▁end｜>…`: DeepSeek V3, R1
//! and its distills. Version 3.1 leaves out the type and the fence; one reader serves both.
//!
//! Odd here: full-width bars and a special blank in the marks, which small distills misspell; a fence around the JSON.

use super::{FramedGrammar, FramedSign, HeadMeaning, continues_as_prose};
use crate::dialect::{Grammar, Lookahead, Mark, Opener, is_name_char};
use crate::{Dialect, Tools};

static GRAMMAR: FramedGrammar = FramedGrammar {
    signs: SIGNS,
    closers: &["<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"],
    bracket_ends_head: true,
    read_name,
    is_prose_about_marks,
    is_call_by_head_alone,
    ..FramedGrammar::PLAIN
};

const fn opener(mark: &'static str, then: Lookahead) -> Opener {
    Opener { mark: Mark::Tag(mark), then, grammar: Grammar::Framed(&GRAMMAR) }
}

/// All that is made of the marks, for each way to spell them: the bar, the blank inside, and that blank as the look-ahead
/// has it, which passes over true ones.
macro_rules! spellings {
    ($(($bar:literal, $gap:literal, $ahead:literal)),* $(,)?) => {
        const SIGNS: &[(&str, FramedSign)] = &[
            $(
                (concat!("<", $bar, "tool", $gap, "call", $gap, "begin", $bar, ">"), FramedSign::Call),
                (concat!("<", $bar, "tool", $gap, "call", $gap, "end", $bar, ">"), FramedSign::End),
                (concat!("<", $bar, "tool", $gap, "calls", $gap, "begin", $bar, ">"), FramedSign::End),
                (concat!("<", $bar, "tool", $gap, "calls", $gap, "end", $bar, ">"), FramedSign::Close),
            )*
            ("```", FramedSign::Fence),
        ];

        /// The first call of a section, or the end of one that is empty.
        const SECTION: Lookahead = Lookahead::Words(&[$(concat!("<", $bar, "tool", $ahead, "call")),*]);

        /// A call outside a section: behind what ended the section too early, or where there was none.
        const CALL: Lookahead = Lookahead::Name(&[$(concat!("<", $bar, "tool", $ahead, "sep", $bar, ">")),*]);

        pub(super) const OPENERS: &[Opener] = &[$(
            opener(concat!("<", $bar, "tool", $gap, "calls", $gap, "begin", $bar, ">"), SECTION),
            opener(concat!("<", $bar, "tool", $gap, "call", $gap, "begin", $bar, ">"), CALL),
        )*];

        pub(super) const STRAYS: &[&str] = &[$(
            concat!("<", $bar, "tool", $gap, "sep", $bar, ">"),
            concat!("<", $bar, "tool", $gap, "call", $gap, "end", $bar, ">"),
            concat!("<", $bar, "tool", $gap, "calls", $gap, "end", $bar, ">"),
        )*];

        pub(super) const SECTIONS: &[(&str, &str)] = &[$((
            concat!("<", $bar, "tool", $gap, "calls", $gap, "begin", $bar, ">"),
            concat!("<", $bar, "tool", $gap, "calls", $gap, "end", $bar, ">"),
        )),*];

        const SEPARATORS: &[&str] = &[$(concat!("<", $bar, "tool", $gap, "sep", $bar, ">")),*];
    };
}

spellings![
    ("｜", "▁", "▁"),
    ("|", "▁", "▁"),
    ("｜", "_", "_"),
    ("｜", " ", ""),
    ("|", " ", ""),
    ("|", "_", "_"),
];

pub(crate) static DIALECT: Dialect = Dialect {
    name: "deepseek_v3",
    models: "DeepSeek V3, R1 and its distills",
    sample: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"¤\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    openers: OPENERS,
    strays: STRAYS,
    sections: SECTIONS,
    ..Dialect::PLAIN
};

/// The name stands behind the type and the separator, or before it where nothing but a fence does. A type that no model was
/// taught needs a name that is one: declared, or right behind the separator where no tools are known.
fn read_name(head: &str, tools: &Tools) -> HeadMeaning {
    let declared = |name: &str| match tools.is_unknown() {
        true => !continues_with_prose(head),
        false => tools.resolve(name).is_some(),
    };
    let name = match strip_fences(head).and_then(split_head) {
        Some((name, "") | ("" | "function", name)) => name,
        Some((kind, name)) if kind.chars().all(is_name_char) && declared(name) => name,
        _ => "",
    };
    match !name.is_empty() && name.chars().all(is_name_char) {
        true => HeadMeaning::Tool { name: name.to_owned(), id: None },
        false => HeadMeaning::NotACall,
    }
}

/// Whether nothing stands in the place of the arguments but an empty fence, perhaps. A type that no model writes is a
/// word for one, as in prose about the form.
fn is_call_by_head_alone(head: &str) -> bool {
    let is_typed = |(before, behind): (&str, &str)| before == "function" || behind.is_empty();
    strip_fences(head).and_then(split_head).is_some_and(is_typed)
}

/// Without a separator the text is about the mark; with one, about the form, or of both marks in a sentence.
fn is_prose_about_marks(head: &str) -> bool {
    let Some((_, behind)) = split_head(head) else { return true };
    let is_form = behind.chars().all(is_name_char);
    is_form || !head.contains("```") && (continues_with_prose(head) || is_sentence(behind))
}

/// More words than a name that went wrong has, and none in quotes, as those of arguments are.
fn is_sentence(text: &str) -> bool {
    text.trim_end_matches('{').split_whitespace().nth(2).is_some() && !text.contains('"')
}

fn continues_with_prose(head: &str) -> bool {
    let Some((_, behind)) = split_at_separator(head) else { return false };
    let (blanks, text) = behind.split_at(behind.len() - behind.trim_start().len());
    continues_as_prose(blanks, text)
}

/// The head without the fence around the arguments, or around none. One that is doubled says no more than one.
fn strip_fences(head: &str) -> Option<&str> {
    let mut fences = head.split("```");
    let head = fences.next()?;
    fences.all(is_fence_language).then_some(head)
}

/// Whether nothing stands behind a fence but a word on its line, perhaps.
fn is_fence_language(behind: &str) -> bool {
    let (line, below) = behind.split_once('\n').unwrap_or((behind, ""));
    !line.trim().contains(char::is_whitespace) && below.trim().is_empty()
}

/// What stands before the separator, and behind it. Where it is doubled, one of the two means nothing.
fn split_head(head: &str) -> Option<(&str, &str)> {
    let (before, behind) = split_at_separator(head)?;
    let doubled = SEPARATORS.iter().find_map(|separator| behind.trim().strip_prefix(separator));
    Some((before.trim(), doubled.unwrap_or(behind).trim()))
}

fn split_at_separator(head: &str) -> Option<(&str, &str)> {
    head.match_indices('<').find_map(|(at, _)| {
        let behind = SEPARATORS.iter().find_map(|separator| head[at..].strip_prefix(separator))?;
        Some((&head[..at], behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::check;
    use crate::{Reading, read};

    #[test]
    fn cases() {
        check(
            &DIALECT,
            &[
                (
                    "Hm.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{\"query\": \"x\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
                    "say Hm. | call search {\"query\": \"x\"} | call time {}",
                ),
                (
                    "<|tool calls begin|><|tool call begin|>function<|tool sep|>search\n```json\n{\"query\": \"x\"}\n```<|tool call end|><|tool call begin|>search<|tool sep|>{\"query\": \"y\"}<|tool call end|><|tool calls end|>",
                    "call search {\"query\": \"x\"} | call search {\"query\": \"y\"}",
                ),
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{\"query\": \"ha",
                    "cut search",
                ),
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n\n```<｜tool▁call▁end｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                    "call time {} | call time {}",
                ),
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\nx\n```<｜tool▁call▁end｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\nx<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                    "call time {} | broken | broken",
                ),
                // Words in a section are text, wherever they stand, and what ends it then is a stray.
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{\"query\": \"x\"}\n``` Now<｜tool▁call▁end｜>\nthe time:<｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜> So.<｜tool▁calls▁end｜>",
                    "call search {\"query\": \"x\"} | say  Now\nthe time: | call time {} | say  So.",
                ),
                (
                    "<|tool calls begin|><|tool call begin|>function<|tool sep|>time\n```\n{} So.\n```<|tool call end|><|tool call begin|>function<|tool sep|>time\n```\n{}\n```<|tool call end|><|tool calls end|>",
                    "call time {} | say So. | call time {}",
                ),
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{\"query\": \"x\"} // or {\"query\": \"y\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                    "broken search",
                ),
                // One word is a type, and one a language; with more of them a call is broken.
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json so\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                    "broken",
                ),
                (
                    "<｜tool▁call▁begin｜>type<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜>",
                    "call time {}",
                ),
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>type<｜tool▁sep｜>nonesuch\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>So.",
                    "broken | call time {} | say So.",
                ),
                (
                    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>so to say\n```json\n{}\n```<｜tool▁call▁begin｜>function<｜tool▁sep｜>what<｜tool▁call▁end｜>",
                    "broken | broken",
                ),
                (
                    "The <｜tool▁call▁begin｜>name<｜tool▁sep｜> and {…} <｜tool▁call▁end｜> marks.",
                    "say The <｜tool▁call▁begin｜>name<｜tool▁sep｜> and {…} <｜tool▁call▁end｜> marks.",
                ),
                (
                    "The marks are <｜tool▁call▁begin｜>function<｜tool▁sep｜>name and so on, {}.",
                    "say The marks are <｜tool▁call▁begin｜>function<｜tool▁sep｜>name and so on, {}.",
                ),
                // A mark that no one can read hides no call.
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁beging｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                    "say <｜tool▁calls▁begin｜><｜tool▁call▁beging｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                ),
                ("A <｜tool▁calls▁begin｜> mark.", "say A <｜tool▁calls▁begin｜> mark."),
                (
                    "As <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>name<｜tool▁call▁end｜><｜tool▁calls▁end｜>.",
                    "say As <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>name<｜tool▁call▁end｜><｜tool▁calls▁end｜>.",
                ),
                (
                    "The <｜tool▁call▁end｜> and\n> <｜tool▁calls▁end｜>\nmarks.",
                    "say The <｜tool▁call▁end｜> and\n> <｜tool▁calls▁end｜>\nmarks.",
                ),
            ],
        );
    }

    #[test]
    fn where_no_tools_are_known_a_form_is_no_call() {
        let calls = |head: &str| {
            let section = format!(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{head}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            );
            let read = read(&section, Reading::for_dialect(&DIALECT, Tools::unknown()), None);
            read.calls.into_iter().map(|call| call.name).collect::<Vec<_>>()
        };
        assert!(calls("type<｜tool▁sep｜>name").is_empty());
        assert_eq!(calls("function<｜tool▁sep｜>f"), ["f"]);
        assert_eq!(calls("f<｜tool▁sep｜>"), ["f"]);
    }
}
