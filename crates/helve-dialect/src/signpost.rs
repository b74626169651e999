//! Signs in a text, found character by character however the text is cut.

/// What a character led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found<S> {
    /// It may belong to a sign.
    Nothing,
    Sign(S),
    /// It is text.
    Char,
    /// What seemed to be the beginning of a sign is text. The character itself is not taken, and judged again.
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

    pub(crate) fn step<S: Copy>(&mut self, signs: &[(&'static str, S)], c: char) -> Found<S> {
        let so_far = signs.get(self.of).map_or("", |(text, _)| &text[..self.at]);
        let goes_on =
            |(text, _): &(&'static str, S)| text.strip_prefix(so_far).is_some_and(|rest| rest.starts_with(c));
        if !signs.get(self.of).is_some_and(goes_on) {
            match signs.iter().position(goes_on) {
                Some(of) => self.of = of,
                None if self.at == 0 => return Found::Char,
                None => {
                    self.at = 0;
                    return Found::Beginning(so_far);
                }
            }
        }
        self.at += c.len_utf8();
        match signs.get(self.of) {
            Some((text, sign)) if text.len() == self.at => {
                self.at = 0;
                Found::Sign(*sign)
            }
            _ => Found::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_told_from_their_beginnings() {
        let signs = [("<a>", 1), ("<ab>", 2)];
        let mut signpost = Signpost::default();
        let mut found = vec![];
        let mut text = String::new();
        for c in "x<a><b<ab>".chars() {
            loop {
                match signpost.step(&signs, c) {
                    Found::Sign(sign) => found.push(sign),
                    Found::Nothing => {}
                    Found::Char => text.push(c),
                    Found::Beginning(beginning) => {
                        text.push_str(beginning);
                        continue;
                    }
                }
                break;
            }
        }
        assert_eq!((found, text.as_str()), (vec![1, 2], "x<b"));
    }
}
