//! The inside of a string, in whatever quotes and escapes, written as the inside of a JSON string.

use crate::{Repair, byte_search, string_bytes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    Double,
    Single,
    CurlyDouble,
    CurlySingle,
}

impl Quote {
    pub fn from_opening_char(c: char) -> Option<Self> {
        match c {
            '"' => Some(Self::Double),
            '\'' => Some(Self::Single),
            '“' | '”' | '„' | '＂' => Some(Self::CurlyDouble),
            '‘' | '’' => Some(Self::CurlySingle),
            _ => None,
        }
    }

    pub fn closes(self, c: char) -> bool {
        Self::from_opening_char(c) == Some(self)
    }
}

/// Whether letters before a quote say how the string is written.
pub(super) fn is_prefix(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "r" | "b" | "u" | "f" | "rb" | "br" | "rf" | "fr")
}

pub(super) enum StringProgress {
    All,
    UpTo(usize),
    Bad(usize),
}

/// A string that is being read; its opening quote is behind, in the text and in the output.
pub(super) struct StringReader {
    quote: Quote,
    raw: bool,
    /// A Python string with fields is a computation, not a value.
    fields: bool,
    state: StringState,
    /// The first half of a surrogate pair.
    high: Option<u16>,
}

#[derive(Clone, Copy)]
enum StringState {
    /// `seen` quotes at the very beginning: one more may make it a long string.
    Opening {
        seen: u8,
    },
    Plain {
        long: bool,
    },
    /// `seen` closing quotes of a long string.
    Closing {
        seen: u8,
    },
    Escape {
        long: bool,
    },
    Hex {
        long: bool,
        left: u8,
        code: u32,
        wide: bool,
    },
}

impl StringReader {
    pub(super) fn new(quote: Quote, prefix: &str) -> Self {
        let triple = matches!(quote, Quote::Double | Quote::Single);
        Self {
            quote,
            raw: prefix.contains(['r', 'R']),
            fields: prefix.contains(['f', 'F']),
            state: if triple { StringState::Opening { seen: 1 } } else { StringState::Plain { long: false } },
            high: None,
        }
    }

    /// Whether plain text goes through unchanged.
    pub(super) fn is_plain_text(&self) -> bool {
        let ascii = matches!(self.quote, Quote::Double | Quote::Single);
        matches!(self.state, StringState::Plain { .. }) && ascii && !self.fields && self.high.is_none()
    }

    /// Whether the string is whole where the text is over: only `""`, which could have become a long one.
    pub(super) fn may_have_ended(&self) -> bool {
        matches!(self.state, StringState::Opening { seen: 2 })
    }

    pub(super) fn feed(&mut self, text: &str, out: &mut String, changes: &mut Vec<Repair>) -> StringProgress {
        let mut pos = 0;
        while pos < text.len() {
            if let StringState::Plain { .. } = self.state {
                let run = self.plain_run(&text.as_bytes()[pos..]);
                if run > 0 {
                    self.flush_high_surrogate(out, changes);
                    out.push_str(&text[pos..pos + run]);
                    pos += run;
                    continue;
                }
            }
            let Some(c) = text[pos..].chars().next() else { break };
            match self.step(c, out, changes) {
                StringStep::Next => pos += c.len_utf8(),
                StringStep::Again => {}
                StringStep::Over { taken } => {
                    self.flush_high_surrogate(out, changes);
                    return StringProgress::UpTo(pos + if taken { c.len_utf8() } else { 0 });
                }
                StringStep::Bad => return StringProgress::Bad(pos),
            }
        }
        StringProgress::All
    }

    /// How many bytes go through as they are. Any beyond ASCII stops the run where a curly quote could close.
    fn plain_run(&self, bytes: &[u8]) -> usize {
        let fields = self.fields;
        let curly = matches!(self.quote, Quote::CurlyDouble | Quote::CurlySingle);
        let special = |b: u8| {
            (b == b'"')
                | (b == b'\'')
                | (b == b'\\')
                | (b < 0x20)
                | fields & ((b == b'{') | (b == b'}'))
                | curly & (b >= 0x80)
        };
        byte_search::find(bytes, special).unwrap_or(bytes.len())
    }

    fn step(&mut self, c: char, out: &mut String, changes: &mut Vec<Repair>) -> StringStep {
        match self.state {
            StringState::Opening { seen: 1 } if self.quote.closes(c) => {
                self.state = StringState::Opening { seen: 2 };
                StringStep::Next
            }
            StringState::Opening { seen: 2 } if self.quote.closes(c) => {
                record_repair(changes, Repair::Quotes);
                self.state = StringState::Plain { long: true };
                StringStep::Next
            }
            StringState::Opening { seen: 2 } => StringStep::Over { taken: false },
            StringState::Opening { .. } => {
                self.state = StringState::Plain { long: false };
                StringStep::Again
            }
            StringState::Plain { long } => self.handle_plain_char(c, long, out, changes),
            StringState::Closing { seen } if self.quote.closes(c) => match seen {
                2 => StringStep::Over { taken: true },
                _ => {
                    self.state = StringState::Closing { seen: seen + 1 };
                    StringStep::Next
                }
            },
            StringState::Closing { seen } => {
                for _ in 0..seen {
                    out.push_str(if self.quote == Quote::Double { "\\\"" } else { "'" });
                }
                self.state = StringState::Plain { long: true };
                StringStep::Again
            }
            StringState::Escape { long } => self.handle_escape(c, long, out, changes),
            StringState::Hex { long, left, code, wide } => {
                self.handle_hex_digit(c, long, left, code, wide, out, changes)
            }
        }
    }

    fn handle_plain_char(
        &mut self,
        c: char,
        long: bool,
        out: &mut String,
        changes: &mut Vec<Repair>,
    ) -> StringStep {
        if c == '\\' {
            if self.raw {
                self.flush_high_surrogate(out, changes);
                out.push_str("\\\\");
                // In a raw string a quote after a backslash does not close, and both stay.
                self.state = StringState::Escape { long };
                return StringStep::Next;
            }
            self.state = StringState::Escape { long };
            return StringStep::Next;
        }
        self.flush_high_surrogate(out, changes);
        if self.quote.closes(c) {
            if long {
                self.state = StringState::Closing { seen: 1 };
                return StringStep::Next;
            }
            return StringStep::Over { taken: true };
        }
        match c {
            '{' | '}' => return StringStep::Bad,
            '\0'..' ' => {
                if !long {
                    record_repair(changes, Repair::ControlCharacters);
                }
                push_char(c, out);
            }
            c => push_char(c, out),
        }
        StringStep::Next
    }

    fn handle_escape(
        &mut self,
        c: char,
        long: bool,
        out: &mut String,
        changes: &mut Vec<Repair>,
    ) -> StringStep {
        self.state = StringState::Plain { long };
        if self.raw {
            push_char(c, out);
            return StringStep::Next;
        }
        let (left, wide) = match c {
            'u' => (4, false),
            'x' => (2, true),
            'U' => (8, true),
            _ => (0, false),
        };
        if left > 0 {
            if c != 'u' {
                record_repair(changes, Repair::Escapes);
            }
            self.state = StringState::Hex { long, left, code: 0, wide };
            return StringStep::Next;
        }
        self.flush_high_surrogate(out, changes);
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push('/'),
            'b' => out.push_str("\\b"),
            'f' => out.push_str("\\f"),
            'n' => out.push_str("\\n"),
            'r' => out.push_str("\\r"),
            't' => out.push_str("\\t"),
            _ => {
                record_repair(changes, Repair::Escapes);
                match c {
                    '\'' => out.push('\''),
                    // A backslash before a line break joins the lines.
                    '\n' => {}
                    'a' => out.push_str("\\u0007"),
                    'v' => out.push_str("\\u000b"),
                    '0' => out.push_str("\\u0000"),
                    // An unknown escape was meant literally: `\d+`, `C:\path`.
                    _ => {
                        out.push_str("\\\\");
                        return StringStep::Again;
                    }
                }
            }
        }
        StringStep::Next
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one state, unpacked")]
    fn handle_hex_digit(
        &mut self,
        c: char,
        long: bool,
        left: u8,
        code: u32,
        wide: bool,
        out: &mut String,
        changes: &mut Vec<Repair>,
    ) -> StringStep {
        let Some(digit) = c.to_digit(16) else {
            return StringStep::Bad;
        };
        let code = code << 4 | digit;
        if left > 1 {
            self.state = StringState::Hex { long, left: left - 1, code, wide };
            return StringStep::Next;
        }
        self.state = StringState::Plain { long };
        match (self.high.take(), code) {
            (None, 0xD800..=0xDBFF) if !wide => self.high = Some(code as u16),
            (Some(high), 0xDC00..=0xDFFF) => {
                let pair = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (code - 0xDC00);
                push_char(char::from_u32(pair).unwrap_or('\u{fffd}'), out);
            }
            (high, _) => {
                if high.is_some() {
                    record_repair(changes, Repair::Escapes);
                    out.push('\u{fffd}');
                }
                let read = char::from_u32(code).unwrap_or_else(|| {
                    record_repair(changes, Repair::Escapes);
                    '\u{fffd}'
                });
                push_char(read, out);
            }
        }
        StringStep::Next
    }

    /// Half a pair without its other half.
    fn flush_high_surrogate(&mut self, out: &mut String, changes: &mut Vec<Repair>) {
        if self.high.take().is_some() {
            record_repair(changes, Repair::Escapes);
            out.push('\u{fffd}');
        }
    }
}

fn record_repair(changes: &mut Vec<Repair>, change: Repair) {
    if !changes.contains(&change) {
        changes.push(change);
    }
}

const SHORT: usize = 16;

/// A text, as it stands inside a JSON string.
pub fn push_text(text: &str, out: &mut String) {
    // A key, or a piece of a text.
    if text.len() <= SHORT && byte_search::all_in(&string_bytes::PLAIN, text) {
        out.push_str(text);
        return;
    }
    let mut rest = text;
    while let Some(at) = string_bytes::find_special(rest.as_bytes()) {
        let (plain, special) = rest.split_at(at);
        let (special, after) = special.split_at(1);
        out.push_str(plain);
        special.chars().for_each(|c| push_char(c, out));
        rest = after;
    }
    out.push_str(rest);
}

/// One character, as it stands inside a JSON string.
pub fn push_char(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..' ' => {
            out.push_str("\\u00");
            for nibble in [c as u32 >> 4, c as u32 & 15] {
                out.push(char::from_digit(nibble, 16).unwrap_or('0'));
            }
        }
        c => out.push(c),
    }
}

enum StringStep {
    Next,
    Again,
    Over { taken: bool },
    Bad,
}
