//! `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f⏎```json⏎{…}⏎```<｜tool▁call▁end｜>…`: DeepSeek V3, R1
//! and its distills. Version 3.1 leaves out the type and the fence; one reader serves both.
//!
//! Odd here: full-width bars and a special blank in the marks, which small distills misspell; a fence around the JSON.

use super::{Called, FramedGrammar, Sign};
use crate::dialect::{Grammar, Mark, Opener, Then, is_name};
use crate::{Dialect, Tools};

static GRAMMAR: FramedGrammar = FramedGrammar {
    signs: &[
        ("<｜tool▁call▁begin｜>", Sign::Call),
        ("<｜tool▁call▁end｜>", Sign::End),
        ("<｜tool▁calls▁begin｜>", Sign::End),
        ("<｜tool▁calls▁end｜>", Sign::Close),
        ("<|tool▁call▁begin|>", Sign::Call),
        ("<|tool▁call▁end|>", Sign::End),
        ("<|tool▁calls▁end|>", Sign::Close),
        ("<｜tool_call_begin｜>", Sign::Call),
        ("<｜tool_call_end｜>", Sign::End),
        ("<｜tool_calls_end｜>", Sign::Close),
        ("<｜tool call begin｜>", Sign::Call),
        ("<｜tool call end｜>", Sign::End),
        ("<｜tool calls end｜>", Sign::Close),
        ("<|tool call begin|>", Sign::Call),
        ("<|tool call end|>", Sign::End),
        ("<|tool calls end|>", Sign::Close),
        ("<|tool_call_begin|>", Sign::Call),
        ("<|tool_call_end|>", Sign::End),
        ("<|tool_calls_end|>", Sign::Close),
        ("```", Sign::Fence),
    ],
    closers: &["<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"],
    bracket_ends_head: true,
    name,
    is_all,
    ..FramedGrammar::PLAIN
};

const fn opener(mark: &'static str, then: Then) -> Opener {
    Opener { mark: Mark::Tag(mark), then, grammar: Grammar::Framed(&GRAMMAR) }
}

const SECTION: Then = Then::Words(&[
    "<｜tool▁call▁",
    "<|tool▁call▁",
    "<｜tool_call_begin",
    "<｜toolcall",
    "<|tool_call_begin|>",
    "<|toolcallbegin|>",
    "<｜tool▁calls▁end｜>",
]);

/// A call outside a section: behind what ended the section too early, or where there was none.
const CALL: Then = Then::Name(&[
    "<｜tool▁sep｜>",
    "<|tool▁sep|>",
    "<｜tool_sep｜>",
    "<｜toolsep｜>",
    "<|toolsep|>",
    "<|tool_sep|>",
]);

pub(super) const OPENERS: &[Opener] = &[
    opener("<｜tool▁calls▁begin｜>", SECTION),
    opener("<|tool▁calls▁begin|>", SECTION),
    opener("<｜tool_calls_begin｜>", SECTION),
    opener("<｜tool calls begin｜>", SECTION),
    opener("<|tool calls begin|>", SECTION),
    opener("<|tool_calls_begin|>", SECTION),
    opener("<｜tool▁call▁begin｜>", CALL),
    opener("<|tool▁call▁begin|>", CALL),
    opener("<｜tool_call_begin｜>", CALL),
    opener("<｜tool call begin｜>", CALL),
    opener("<|tool call begin|>", CALL),
    opener("<|tool_call_begin|>", CALL),
];

pub(super) const STRAYS: &[&str] = &[
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool▁sep|>",
    "<|tool▁call▁end|>",
    "<|tool▁calls▁end|>",
    "<｜tool_sep｜>",
    "<｜tool_call_end｜>",
    "<｜tool_calls_end｜>",
    "<｜tool sep｜>",
    "<｜tool call end｜>",
    "<｜tool calls end｜>",
    "<|tool sep|>",
    "<|tool call end|>",
    "<|tool calls end|>",
    "<|tool_sep|>",
    "<|tool_call_end|>",
    "<|tool_calls_end|>",
];

pub(crate) static DIALECT: Dialect =
    Dialect { name: "deepseek_v3", openers: OPENERS, strays: STRAYS, ..Dialect::PLAIN };

const SEPARATORS: &[&str] =
    &["<｜tool▁sep｜>", "<|tool▁sep|>", "<｜tool_sep｜>", "<｜tool sep｜>", "<|tool sep|>", "<|tool_sep|>"];

/// The name stands behind the type and the separator, or before it where nothing but a fence does.
fn name(head: &str, _: &Tools) -> Called {
    let name = match unfenced(head).and_then(parted) {
        Some((name, "") | ("" | "function", name)) => name,
        _ => "",
    };
    match !name.is_empty() && name.chars().all(is_name) {
        true => Called::Tool { name: name.to_owned(), id: None },
        false => Called::Nobody,
    }
}

/// Whether nothing stands in the place of the arguments but an empty fence, perhaps. A type that no model writes is a
/// word for one, as in prose about the form.
fn is_all(head: &str) -> bool {
    let is_typed = |(before, behind): (&str, &str)| before == "function" || behind.is_empty();
    unfenced(head).and_then(parted).is_some_and(is_typed)
}

/// The head without the fence around the arguments, or around none.
fn unfenced(head: &str) -> Option<&str> {
    let Some((head, fence)) = head.split_once("```") else { return Some(head) };
    let language = fence.trim_end().strip_suffix("```").unwrap_or(fence);
    matches!(language.trim(), "" | "json" | "JSON").then_some(head)
}

/// What stands before the separator, and behind it. Where it is doubled, one of the two means nothing.
fn parted(head: &str) -> Option<(&str, &str)> {
    let (before, behind) = head.match_indices('<').find_map(|(at, _)| {
        let behind = SEPARATORS.iter().find_map(|separator| head[at..].strip_prefix(separator))?;
        Some((&head[..at], behind))
    })?;
    let doubled = SEPARATORS.iter().find_map(|separator| behind.trim().strip_prefix(separator));
    Some((before.trim(), doubled.unwrap_or(behind).trim()))
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
                    "broken time | call time {}",
                ),
                // A fence and a type are what they are, or there is no call.
                (
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json so\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                    "say <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json so\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                ),
                (
                    "<｜tool▁call▁begin｜>type<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜>",
                    "say <｜tool▁call▁begin｜>type<｜tool▁sep｜>time\n```json\n{}\n```<｜tool▁call▁end｜>",
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
            let read = read(&section, Reading::of(&DIALECT, Tools::unknown()), None);
            read.calls.into_iter().map(|call| call.name).collect::<Vec<_>>()
        };
        assert!(calls("type<｜tool▁sep｜>name").is_empty());
        assert_eq!(calls("function<｜tool▁sep｜>f"), ["f"]);
        assert_eq!(calls("f<｜tool▁sep｜>"), ["f"]);
    }
}
