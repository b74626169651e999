//! Signs in a text, found character by character however the text is cut.

/// What a character led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found<S> {
    /// It may belong to a sign.
    Nothing,
    Sign(S),
    /// Text that is no sign has passed; it can be asked for. The character itself is `taken`, or judged again.
    Text {
        taken: bool,
    },
}

/// Recognises signs. Exact as long as a sign's first character stands in it only once.
#[derive(Default)]
pub(crate) struct Signpost {
    /// The beginning of a sign.
    beginning: String,
    passed: String,
}

impl Signpost {
    /// Whether the last characters may belong to a sign.
    pub(crate) fn in_sign(&self) -> bool {
        !self.beginning.is_empty()
    }

    pub(crate) fn step<S: Copy>(&mut self, signs: &[(&'static str, S)], c: char) -> Found<S> {
        self.beginning.push(c);
        let mut begins = false;
        for (text, sign) in signs {
            if *text == self.beginning {
                self.beginning.clear();
                return Found::Sign(*sign);
            }
            begins |= text.starts_with(&self.beginning);
        }
        if begins {
            return Found::Nothing;
        }
        let taken = self.beginning.len() == c.len_utf8();
        if !taken {
            self.beginning.pop();
        }
        std::mem::swap(&mut self.passed, &mut self.beginning);
        self.beginning.clear();
        Found::Text { taken }
    }

    /// The text that passed last.
    pub(crate) fn passed(&self) -> &str {
        &self.passed
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
                    Found::Text { taken } => {
                        text.push_str(signpost.passed());
                        if !taken {
                            continue;
                        }
                    }
                }
                break;
            }
        }
        assert_eq!((found, text.as_str()), (vec![1, 2], "x<b"));
    }
}
