//! All dialects, and what is live when one or all of them are read.

use std::sync::OnceLock;

use crate::Dialect;
use crate::dialect::{Grammar, Mark, Reasoning, Then};
use crate::marker::Markers;
use crate::parser::opening;
use crate::{json_tags, pythonic, reasoning};

/// In the order in which they are tried where they share a mark.
static DIALECTS: &[&Dialect] = &[
    &json_tags::hermes::DIALECT,
    &json_tags::json_bare::DIALECT,
    &json_tags::json_fenced::DIALECT,
    &pythonic::tool_code::DIALECT,
    &reasoning::think::DIALECT,
];

/// Every dialect there is.
pub fn dialects() -> &'static [&'static Dialect] {
    DIALECTS
}

/// The dialect of this name.
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name == name)
}

/// What to look for in prose.
pub(crate) struct Live {
    pub(crate) markers: Markers,
    /// By marker.
    pub(crate) roles: Vec<Role>,
    pub(crate) alone: Vec<Choice>,
    pub(crate) fences: Vec<(&'static [&'static str], Choice)>,
    /// Bytes at which prose must be looked at: those that begin a marker, code, a line or an unmarked call.
    pub(crate) stops: [bool; 256],
}

pub(crate) enum Role {
    Call(Vec<Choice>),
    Think(&'static Reasoning),
    Unthink,
    Silent,
}

/// One way to read what follows a mark.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) dialect: &'static Dialect,
    pub(crate) then: Then,
    pub(crate) grammar: Grammar,
}

impl Live {
    /// The live set of one dialect, or of all; each is built once.
    pub(crate) fn of(dialect: Option<&'static Dialect>) -> &'static Self {
        static LIVE: [OnceLock<Live>; DIALECTS.len() + 1] = [const { OnceLock::new() }; DIALECTS.len() + 1];
        let one = dialect.and_then(|one| DIALECTS.iter().position(|d| d.name == one.name));
        match one {
            Some(index) => LIVE[index].get_or_init(|| Self::new(&DIALECTS[index..=index])),
            None => LIVE[DIALECTS.len()].get_or_init(|| Self::new(DIALECTS)),
        }
    }

    /// The ways to read what follows a mark, in the order in which they are tried.
    pub(crate) fn choices(&self, mark: opening::Mark) -> impl Iterator<Item = &Choice> {
        let (list, word) = match mark {
            opening::Mark::Tag(marker) => match &self.roles[marker] {
                Role::Call(choices) => (choices.as_slice(), None),
                _ => (&[][..], None),
            },
            opening::Mark::Alone => (self.alone.as_slice(), None),
            opening::Mark::Fence(word) => (&[][..], Some(word)),
        };
        let fenced = self.fences.iter().filter(move |(words, _)| word.is_some_and(|w| words.contains(&w)));
        list.iter().chain(fenced.map(|(_, choice)| choice))
    }

    /// The word behind a fence, if a dialect knows it.
    pub(crate) fn fence_word(&self, word: &str) -> Option<&'static str> {
        let mut words = self.fences.iter().flat_map(|(words, _)| words.iter());
        words.find(|known| **known == word).copied()
    }

    fn new(dialects: &[&'static Dialect]) -> Self {
        let mut texts: Vec<&'static str> = Vec::new();
        let mut roles: Vec<Role> = Vec::new();
        let mut alone = Vec::new();
        let mut fences = Vec::new();
        for &dialect in dialects {
            for opener in dialect.openers {
                let choice = Choice { dialect, then: opener.then, grammar: opener.grammar };
                match opener.mark {
                    Mark::Alone => alone.push(choice),
                    Mark::Fence(words) => fences.push((words, choice)),
                    Mark::Tag(text) => match texts.iter().position(|t| *t == text) {
                        Some(known) => {
                            if let Role::Call(choices) = &mut roles[known] {
                                choices.push(choice);
                            }
                        }
                        None => {
                            texts.push(text);
                            roles.push(Role::Call(vec![choice]));
                        }
                    },
                }
            }
        }
        for &dialect in dialects {
            let marks = dialect.reasoning.iter();
            let thinking =
                marks.flat_map(|marks| [(marks.open, Role::Think(marks)), (marks.close, Role::Unthink)]);
            let silent = dialect.silent.iter().map(|text| (*text, Role::Silent));
            for (text, role) in thinking.chain(silent) {
                if !texts.contains(&text) {
                    texts.push(text);
                    roles.push(role);
                }
            }
        }
        let mut stops = [false; 256];
        for text in &texts {
            stops[text.as_bytes()[0] as usize] = true;
        }
        stops[b'`' as usize] = true;
        stops[b'\n' as usize] = true;
        for first in [b'{', b'['] {
            stops[first as usize] |= !alone.is_empty();
        }
        Self { markers: Markers::new(texts), roles, alone, fences, stops }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_marker_begins_another() {
        let live = Live::of(None);
        for (i, a) in live.markers.texts().iter().enumerate() {
            for (j, b) in live.markers.texts().iter().enumerate() {
                assert!(i == j || !b.starts_with(a), "`{a}` begins `{b}`");
            }
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        for (index, one) in dialects().iter().enumerate() {
            assert_eq!(dialects().iter().position(|d| d.name == one.name), Some(index));
            assert!(dialect(one.name).is_some());
        }
        assert!(dialect("nonesuch").is_none());
    }
}
