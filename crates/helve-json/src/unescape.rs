//! The inside of a JSON string, decoded while it streams.

/// Carries half an escape from chunk to chunk.
#[derive(Default)]
pub struct Unescaper {
    state: EscapeState,
    high: Option<u16>,
}

#[derive(Default, Clone, Copy)]
enum EscapeState {
    #[default]
    Plain,
    Escape,
    Hex {
        left: u8,
        code: u16,
    },
}

impl Unescaper {
    /// Whether plain text goes through unchanged.
    pub fn is_plain(&self) -> bool {
        matches!(self.state, EscapeState::Plain) && self.high.is_none()
    }

    pub fn feed(&mut self, text: &str, mut out: impl FnMut(&str)) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let EscapeState::Plain = self.state {
                let run = rest.find('\\').unwrap_or(rest.len());
                if run > 0 {
                    self.push_lone_surrogate(&mut out);
                    out(&rest[..run]);
                    rest = &rest[run..];
                    continue;
                }
            }
            rest = &rest[c.len_utf8()..];
            match self.state {
                EscapeState::Plain => self.state = EscapeState::Escape,
                EscapeState::Escape => self.handle_escape(c, &mut out),
                EscapeState::Hex { left, code } => self.handle_hex_digit(c, left, code, &mut out),
            }
        }
    }

    /// The string is over.
    pub fn finish(&mut self, mut out: impl FnMut(&str)) {
        self.push_lone_surrogate(&mut out);
    }

    fn handle_escape(&mut self, c: char, out: &mut impl FnMut(&str)) {
        if c == 'u' {
            self.state = EscapeState::Hex { left: 4, code: 0 };
            return;
        }
        self.state = EscapeState::Plain;
        self.push_lone_surrogate(out);
        let mut buffer = [0; 4];
        out(match c {
            'n' => "\n",
            't' => "\t",
            'r' => "\r",
            'b' => "\u{8}",
            'f' => "\u{c}",
            // Anything else is not JSON: the scan has noted it, and the whole object will be read again.
            _ => c.encode_utf8(&mut buffer),
        });
    }

    fn handle_hex_digit(&mut self, c: char, left: u8, code: u16, out: &mut impl FnMut(&str)) {
        let code = code << 4 | c.to_digit(16).unwrap_or(0) as u16;
        if left > 1 {
            self.state = EscapeState::Hex { left: left - 1, code };
            return;
        }
        self.state = EscapeState::Plain;
        let read = match (self.high.take(), code) {
            (None, 0xD800..=0xDBFF) => {
                self.high = Some(code);
                return;
            }
            (Some(high), 0xDC00..=0xDFFF) => {
                char::from_u32(0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(code) - 0xDC00))
            }
            _ => char::from_u32(u32::from(code)),
        };
        out(read.unwrap_or('\u{fffd}').encode_utf8(&mut [0; 4]));
    }

    fn push_lone_surrogate(&mut self, out: &mut impl FnMut(&str)) {
        if self.high.take().is_some() {
            out("\u{fffd}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(raw: &str, chunk: usize) -> String {
        let mut unescape = Unescaper::default();
        let mut out = String::new();
        let chars: Vec<char> = raw.chars().collect();
        for piece in chars.chunks(chunk) {
            unescape.feed(&piece.iter().collect::<String>(), |text| out.push_str(text));
        }
        unescape.finish(|text| out.push_str(text));
        out
    }

    proptest! {
        #[test]
        fn what_serde_escapes_comes_back(text in ".*", chunk in 1usize..9) {
            let raw = serde_json::Value::from(text.as_str()).to_string();
            prop_assert_eq!(decode(&raw[1..raw.len() - 1], chunk), text);
        }
    }

    #[test]
    fn pairs_are_joined() {
        assert_eq!(decode(r"\ud83d\ude00 \u00e9\/", 1), "😀 é/");
    }
}
