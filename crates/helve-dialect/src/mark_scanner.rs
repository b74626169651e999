//! Signs in a text, found however the text is cut.

use helve_json::byte_search::begins;

/// What the text led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoundSign<S> {
    /// It may belong to a sign.
    Nothing,
    Sign(S),
    /// Its first character is text.
    Char,
    /// What seemed to be the beginning of a sign is text. What follows it is not taken, and judged again.
    Beginning(&'static str),
}

/// Recognises signs.
#[derive(Default)]
pub(crate) struct MarkScanner {
    /// The sign that may be there, and how much of it was seen.
    of: usize,
    at: usize,
}

impl MarkScanner {
    /// Whether the last characters may belong to a sign.
    pub(crate) fn is_in_sign(&self) -> bool {
        self.at > 0
    }

    /// The sign that was found last, of the same signs.
    pub(crate) fn last_sign<S>(&self, signs: &[(&'static str, S)]) -> &'static str {
        signs.get(self.of).map_or("", |(sign, _)| sign)
    }

    /// What this sign says, which was found elsewhere.
    pub(crate) fn match_sign<S: Copy>(&mut self, signs: &[(&'static str, S)], sign: &str) -> Option<S> {
        self.of = signs.iter().position(|(text, _)| *text == sign)?;
        Some(signs[self.of].1)
    }

    /// The beginning of a sign that was seen last: text, if no more of it comes.
    pub(crate) fn partial_sign<S>(&self, signs: &[(&'static str, S)]) -> &'static str {
        self.last_sign(signs).get(..self.at).unwrap_or("")
    }

    /// The bytes that some sign begins with.
    pub(crate) fn first_bytes<S>(signs: &[(&'static str, S)]) -> [bool; 256] {
        let mut first = [false; 256];
        for (sign, _) in signs {
            first[sign.as_bytes()[0] as usize] = true;
        }
        first
    }

    /// Takes as much of the text as belongs to one sign, or one character that belongs to none. Says how much that is
    /// and what it led to.
    pub(crate) fn step<S: Copy>(&mut self, signs: &[(&'static str, S)], text: &str) -> (usize, FoundSign<S>) {
        let quick = match self.at {
            0 => self.begin_sign(signs, text),
            _ => self.continue_sign(signs, text),
        };
        quick.unwrap_or_else(|| self.walk_signs(signs, text))
    }

    /// A sign begins here with all of its text, or none does; `None` if it is neither.
    fn begin_sign<S: Copy>(
        &mut self,
        signs: &[(&'static str, S)],
        text: &str,
    ) -> Option<(usize, FoundSign<S>)> {
        let bytes = text.as_bytes();
        let Some(first) = bytes.first() else { return Some((0, FoundSign::Nothing)) };
        let begins_so = |(_, (sign, _)): &(usize, &(&str, S))| sign.as_bytes().first() == Some(first);
        let mut begun = signs.iter().enumerate().filter(begins_so).peekable();
        if begun.peek().is_none() {
            return Some((first_char_len(text), FoundSign::Char));
        }
        let (of, (sign, found)) = begun.find(|(_, (sign, _))| begins(bytes, sign))?;
        self.of = of;
        Some((sign.len(), FoundSign::Sign(*found)))
    }

    /// The sign that was begun goes on, as it mostly does; `None` if the text parts from it.
    fn continue_sign<S: Copy>(
        &mut self,
        signs: &[(&'static str, S)],
        text: &str,
    ) -> Option<(usize, FoundSign<S>)> {
        let (sign, found) = signs.get(self.of)?;
        let ahead = sign.get(self.at..).unwrap_or("");
        if begins(text.as_bytes(), ahead) {
            self.at = 0;
            return Some((ahead.len(), FoundSign::Sign(*found)));
        }
        begins(ahead.as_bytes(), text).then(|| {
            self.at += text.len();
            (text.len(), FoundSign::Nothing)
        })
    }

    /// Goes through the text byte by byte, from sign to sign that begins alike.
    fn walk_signs<S: Copy>(&mut self, signs: &[(&'static str, S)], text: &str) -> (usize, FoundSign<S>) {
        let bytes = text.as_bytes();
        let mut pos = 0;
        while let Some(byte) = bytes.get(pos) {
            let seen = signs.get(self.of).map_or("", |(sign, _)| sign);
            let common = match self.at {
                0 => 0,
                at => common_prefix_len(&seen.as_bytes()[at..], &bytes[pos..]),
            };
            self.at += common;
            pos += common;
            if common == 0 {
                if !self.switch_sign(signs, *byte) {
                    return self.leave_sign(signs, text, pos);
                }
                pos += 1;
            }
            if let Some((sign, found)) = signs.get(self.of)
                && sign.len() == self.at
            {
                self.at = 0;
                return (pos, FoundSign::Sign(*found));
            }
        }
        (pos, FoundSign::Nothing)
    }

    /// Goes over to a sign that begins with what was seen and goes on with this byte; says whether there is one.
    fn switch_sign<S>(&mut self, signs: &[(&'static str, S)], byte: u8) -> bool {
        let so_far =
            signs.get(self.of).map_or("", |(sign, _)| sign).as_bytes().get(..self.at).unwrap_or_default();
        let goes_on = |(sign, _): &(&str, S)| {
            sign.as_bytes().get(self.at) == Some(&byte) && sign.as_bytes()[..self.at] == *so_far
        };
        let Some(of) = signs.iter().position(goes_on) else { return false };
        self.of = of;
        self.at += 1;
        true
    }

    /// No sign goes on at the position: the beginning that was seen is text, up to where another sign may begin in it.
    fn leave_sign<S: Copy>(
        &mut self,
        signs: &[(&'static str, S)],
        text: &str,
        pos: usize,
    ) -> (usize, FoundSign<S>) {
        let seen = signs.get(self.of).map_or("", |(sign, _)| sign);
        // The sign may have parted from the text inside a character.
        let whole = seen.floor_char_boundary(self.at);
        let pos = pos - (self.at - whole);
        let marks = signs.iter().map(|(sign, _)| *sign);
        (self.of, self.at) = find_mark_begun_within(&seen[..whole], marks).unwrap_or_default();
        match whole - self.at {
            0 => (first_char_len(text), FoundSign::Char),
            text => (pos, FoundSign::Beginning(&seen[..text])),
        }
    }
}

/// The mark that may have begun inside the beginning of another, and how much of it was seen: `]` in `]<]`, which is no
/// longer the beginning of `]<]minimax`.
fn find_mark_begun_within<'m>(
    seen: &str,
    marks: impl Iterator<Item = &'m str> + Clone,
) -> Option<(usize, usize)> {
    let mut tails = seen.char_indices().skip(1).map(|(at, _)| &seen[at..]);
    tails.find_map(|tail| marks.clone().position(|mark| mark.starts_with(tail)).map(|of| (of, tail.len())))
}

fn first_char_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// How many bytes both begin with.
fn common_prefix_len(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_told_from_their_beginnings_in_any_chunks() {
        let signs = [("<a>", 1), ("<ab>", 2), ("｜c", 3)];
        let written = "x<a><b<ab>｠<｜<｜c｜";
        let chars: Vec<char> = written.chars().collect();
        for chunk in 1..=chars.len() {
            let mut mark_scanner = MarkScanner::default();
            let mut found = vec![];
            let mut text = String::new();
            for piece in chars.chunks(chunk) {
                let piece: String = piece.iter().collect();
                let mut rest = piece.as_str();
                while !rest.is_empty() {
                    let (taken, what) = mark_scanner.step(&signs, rest);
                    match what {
                        FoundSign::Sign(sign) => found.push((sign, mark_scanner.last_sign(&signs))),
                        FoundSign::Nothing => {}
                        FoundSign::Char => text.push_str(&rest[..taken]),
                        FoundSign::Beginning(beginning) => text.push_str(beginning),
                    }
                    rest = &rest[taken..];
                }
            }
            assert_eq!(
                (found, text.as_str()),
                (vec![(1, "<a>"), (2, "<ab>"), (3, "｜c")], "x<b｠<｜<"),
                "{chunk}"
            );
            assert!(mark_scanner.is_in_sign());
        }
    }

    #[test]
    fn a_sign_may_begin_inside_the_beginning_of_another() {
        let signs = [("]<]m[>[", 1), ("```", 2), ("✿F✿", 3), ("｜｜c", 4)];
        for (written, expected) in [
            ("]<]<]m[>[x", "]<#1x"),
            ("]]<]m[>[", "]#1"),
            ("]<]]<]m[>[", "]<]#1"),
            ("``x```", "``x#2"),
            ("✿✿F✿", "✿#3"),
            ("✿F✿F✿", "#3F✿"),
            ("｜｜｜c", "｜#4"),
        ] {
            let chars: Vec<char> = written.chars().collect();
            for chunk in 1..=chars.len() {
                let mut mark_scanner = MarkScanner::default();
                let mut told = String::new();
                for piece in chars.chunks(chunk) {
                    let piece: String = piece.iter().collect();
                    let mut rest = piece.as_str();
                    while !rest.is_empty() {
                        let (taken, what) = mark_scanner.step(&signs, rest);
                        match what {
                            FoundSign::Sign(sign) => told += &format!("#{sign}"),
                            FoundSign::Nothing => {}
                            FoundSign::Char => told += &rest[..taken],
                            FoundSign::Beginning(beginning) => told += beginning,
                        }
                        rest = &rest[taken..];
                    }
                }
                assert_eq!(
                    told + mark_scanner.partial_sign(&signs),
                    expected,
                    "{written} in pieces of {chunk}"
                );
            }
        }
    }
}
