//! Signs in a text, found however the text is cut.

use crate::scan::begins;

/// What the text led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found<S> {
    /// It may belong to a sign.
    Nothing,
    Sign(S),
    /// Its first character is text.
    Char,
    /// What seemed to be the beginning of a sign is text. What follows it is not taken, and judged again.
    Beginning(&'static str),
}

/// Recognises signs. Exact as long as a sign's first character stands in it only once.
#[derive(Default)]
pub(crate) struct Signpost {
    /// The sign that may be there, and how much of it was seen.
    of: usize,
    at: usize,
}

impl Signpost {
    /// Whether the last characters may belong to a sign.
    pub(crate) fn in_sign(&self) -> bool {
        self.at > 0
    }

    /// The sign that was found last, of the same signs.
    pub(crate) fn found<S>(&self, signs: &[(&'static str, S)]) -> &'static str {
        signs.get(self.of).map_or("", |(sign, _)| sign)
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
    pub(crate) fn step<S: Copy>(&mut self, signs: &[(&'static str, S)], text: &str) -> (usize, Found<S>) {
        let bytes = text.as_bytes();
        if let Some((sign, found)) = signs.get(self.of)
            && self.at > 0
        {
            // Most often the sign goes on.
            let ahead = sign.get(self.at..).unwrap_or("");
            if begins(bytes, ahead) {
                self.at = 0;
                return (ahead.len(), Found::Sign(*found));
            }
            if begins(ahead.as_bytes(), text) {
                self.at += text.len();
                return (text.len(), Found::Nothing);
            }
        } else {
            let Some(first) = bytes.first() else { return (0, Found::Nothing) };
            let mut begun = signs
                .iter()
                .enumerate()
                .filter(|(_, (sign, _))| sign.as_bytes().first() == Some(first))
                .peekable();
            if begun.peek().is_none() {
                return (first_len(text), Found::Char);
            }
            // A sign that is all there needs no walk.
            if let Some((of, (sign, found))) = begun.find(|(_, (sign, _))| begins(bytes, sign)) {
                self.of = of;
                return (sign.len(), Found::Sign(*found));
            }
        }
        let mut pos = 0;
        while let Some(byte) = bytes.get(pos) {
            let seen = signs.get(self.of).map_or("", |(sign, _)| sign);
            let ahead = &seen.as_bytes()[self.at..];
            let common = match self.at {
                0 => 0,
                _ => ahead.iter().zip(&bytes[pos..]).take_while(|(sign, text)| sign == text).count(),
            };
            self.at += common;
            pos += common;
            if common == 0 {
                let so_far = &seen.as_bytes()[..self.at];
                let goes_on = |(sign, _): &(&str, S)| {
                    sign.as_bytes().get(self.at) == Some(byte) && sign.as_bytes()[..self.at] == *so_far
                };
                match signs.iter().position(goes_on) {
                    Some(of) => {
                        self.of = of;
                        self.at += 1;
                        pos += 1;
                    }
                    None => {
                        // The sign may have parted from the text inside a character.
                        let whole = seen.floor_char_boundary(self.at);
                        pos -= self.at - whole;
                        self.at = 0;
                        return match whole {
                            0 => (first_len(text), Found::Char),
                            _ => (pos, Found::Beginning(&seen[..whole])),
                        };
                    }
                }
            }
            if let Some((sign, found)) = signs.get(self.of)
                && sign.len() == self.at
            {
                self.at = 0;
                return (pos, Found::Sign(*found));
            }
        }
        (pos, Found::Nothing)
    }
}

fn first_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
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
            let mut signpost = Signpost::default();
            let mut found = vec![];
            let mut text = String::new();
            for piece in chars.chunks(chunk) {
                let piece: String = piece.iter().collect();
                let mut rest = piece.as_str();
                while !rest.is_empty() {
                    let (taken, what) = signpost.step(&signs, rest);
                    match what {
                        Found::Sign(sign) => found.push((sign, signpost.found(&signs))),
                        Found::Nothing => {}
                        Found::Char => text.push_str(&rest[..taken]),
                        Found::Beginning(beginning) => text.push_str(beginning),
                    }
                    rest = &rest[taken..];
                }
            }
            assert_eq!(
                (found, text.as_str()),
                (vec![(1, "<a>"), (2, "<ab>"), (3, "｜c")], "x<b｠<｜<"),
                "{chunk}"
            );
            assert!(signpost.in_sign());
        }
    }
}
