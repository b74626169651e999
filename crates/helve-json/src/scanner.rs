//! Strict JSON, byte by byte: where values begin and end, and whether the text is JSON at all.
//!
//! `Scan` reads one value pushed in pieces of any size and never looks back. It reports the members of the outer
//! containers and passes silently over everything deeper, so a long argument costs one table look-up per byte. Two
//! faults inside strings are noted and passed over, because the text's structure survives them; any other fault
//! stops it. Keeps no text.

use crate::is_blank;
use crate::string_bytes::special;

/// What kind of value begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A member's name.
    Key,
    String,
    Object,
    Array,
    /// A number, `true`, `false` or `null`.
    Scalar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The chunk is used up.
    More,
    /// A value began with the byte before the position.
    Start(Kind),
    /// The value that began last, or the container around it, ended at the position.
    Stop,
    /// The byte at the position cannot stand there.
    Bad,
}

/// Faults inside strings that leave the structure readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// A raw line break, tab or other control character.
    pub control: bool,
    /// A backslash before something JSON does not escape, or half a surrogate pair.
    pub escape: bool,
}

impl Faults {
    pub fn any(self) -> bool {
        self.control || self.escape
    }
}

/// As deep as `serde_json` reads, so that what passes here passes there.
pub(crate) const DEPTH_MAX: usize = 126;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    FirstItem,
    FirstKey,
    NextKey,
    Colon,
    After,
    Text,
    Escape,
    Hex { left: u8, code: u16 },
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    Power,
    Word { of: Word, at: u8 },
}

/// The words of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    True,
    False,
    Null,
}

impl Word {
    fn text(self) -> &'static [u8] {
        match self {
            Self::True => b"true",
            Self::False => b"false",
            Self::Null => b"null",
        }
    }
}

pub struct Scan {
    state: State,
    /// One bit per open container, the innermost lowest: set for an object.
    objects: u128,
    depth: usize,
    /// Values inside more containers than this pass in silence.
    watch: usize,
    in_key: bool,
    /// The first half of a surrogate pair waits for the second.
    surrogate: bool,
    faults: Faults,
}

impl Scan {
    pub fn new(watch: usize) -> Self {
        Self {
            state: State::Value,
            objects: 0,
            depth: 0,
            watch,
            in_key: false,
            surrogate: false,
            faults: Faults::default(),
        }
    }

    /// How many containers are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    pub fn watch(&mut self, depth: usize) {
        self.watch = depth;
    }

    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// Whether nothing has been read yet.
    pub fn is_new(&self) -> bool {
        self.state == State::Value && self.depth == 0
    }

    /// Whether plain bytes change nothing: inside a string, between escapes.
    pub fn in_plain_text(&self) -> bool {
        self.state == State::Text && !self.surrogate
    }

    /// Reads on from `pos` to the next thing worth telling.
    pub fn run(&mut self, bytes: &[u8], pos: &mut usize) -> Event {
        while let Some(&byte) = bytes.get(*pos) {
            if self.state == State::Text {
                let plain = special(&bytes[*pos..]);
                let Some(plain) = plain else {
                    // A pair cut by plain text is as broken as one cut by another escape.
                    self.lone_surrogate();
                    *pos = bytes.len();
                    return Event::More;
                };
                if plain > 0 {
                    self.lone_surrogate();
                    *pos += plain;
                }
                match bytes[*pos] {
                    b'"' => {
                        self.lone_surrogate();
                        *pos += 1;
                        self.state = if self.in_key { State::Colon } else { State::After };
                        if self.depth <= self.watch {
                            return Event::Stop;
                        }
                    }
                    b'\\' => {
                        *pos += 1;
                        self.state = State::Escape;
                    }
                    _ => {
                        self.lone_surrogate();
                        self.faults.control = true;
                        *pos += 1;
                    }
                }
                continue;
            }
            match self.step(byte) {
                Step::Next => *pos += 1,
                Step::Again => {}
                Step::Start(kind) => {
                    *pos += 1;
                    // A container is open by now, yet its value stands one level above.
                    let inner = matches!(kind, Kind::Object | Kind::Array) as usize;
                    if self.depth - inner <= self.watch {
                        return Event::Start(kind);
                    }
                }
                Step::Stop { taken } => {
                    *pos += taken as usize;
                    if self.depth <= self.watch {
                        return Event::Stop;
                    }
                }
                Step::Bad => return Event::Bad,
            }
        }
        Event::More
    }

    fn step(&mut self, byte: u8) -> Step {
        match self.state {
            State::Value => self.begin(byte),
            State::FirstItem if byte == b']' => self.close(),
            State::FirstItem => self.begin(byte),
            State::FirstKey if byte == b'}' => self.close(),
            State::FirstKey | State::NextKey => match byte {
                b'"' => {
                    self.state = State::Text;
                    self.in_key = true;
                    Step::Start(Kind::Key)
                }
                _ => blank(byte),
            },
            State::Colon => match byte {
                b':' => {
                    self.state = State::Value;
                    Step::Next
                }
                _ => blank(byte),
            },
            State::After => match byte {
                b',' if self.depth > 0 => {
                    self.state = if self.in_object() { State::NextKey } else { State::Value };
                    Step::Next
                }
                b'}' if self.in_object() => self.close(),
                b']' if self.depth > 0 && !self.in_object() => self.close(),
                _ => blank(byte),
            },
            State::Escape => self.escape(byte),
            State::Hex { left, code } => self.hex(byte, left, code),
            State::Word { of, at } => self.word(byte, of, at),
            State::Text => Step::Bad,
            number => self.number(number, byte),
        }
    }

    /// Whether the innermost container is an object.
    fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    fn begin(&mut self, byte: u8) -> Step {
        let (state, kind) = match byte {
            b'"' => {
                self.in_key = false;
                (State::Text, Kind::String)
            }
            b'{' | b'[' => return self.open(byte == b'{'),
            b'-' => (State::Minus, Kind::Scalar),
            b'0' => (State::Zero, Kind::Scalar),
            b'1'..=b'9' => (State::Whole, Kind::Scalar),
            b't' => (State::Word { of: Word::True, at: 1 }, Kind::Scalar),
            b'f' => (State::Word { of: Word::False, at: 1 }, Kind::Scalar),
            b'n' => (State::Word { of: Word::Null, at: 1 }, Kind::Scalar),
            _ => return blank(byte),
        };
        self.state = state;
        Step::Start(kind)
    }

    fn open(&mut self, object: bool) -> Step {
        if self.depth == DEPTH_MAX {
            return Step::Bad;
        }
        self.objects = self.objects << 1 | object as u128;
        self.depth += 1;
        self.state = if object { State::FirstKey } else { State::FirstItem };
        Step::Start(if object { Kind::Object } else { Kind::Array })
    }

    fn close(&mut self) -> Step {
        self.objects >>= 1;
        self.depth -= 1;
        self.state = State::After;
        Step::Stop { taken: true }
    }

    fn escape(&mut self, byte: u8) -> Step {
        self.state = State::Text;
        match byte {
            b'u' => self.state = State::Hex { left: 4, code: 0 },
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.lone_surrogate(),
            _ => {
                self.lone_surrogate();
                self.faults.escape = true;
                // The byte is judged again as text: it may be a raw control character.
                return Step::Again;
            }
        }
        Step::Next
    }

    fn hex(&mut self, byte: u8, left: u8, code: u16) -> Step {
        let Some(digit) = (byte as char).to_digit(16) else {
            self.faults.escape = true;
            self.state = State::Text;
            return Step::Again;
        };
        let code = code << 4 | digit as u16;
        if left > 1 {
            self.state = State::Hex { left: left - 1, code };
            return Step::Next;
        }
        self.state = State::Text;
        match (code, self.surrogate) {
            (0xDC00..=0xDFFF, true) => self.surrogate = false,
            (0xD800..=0xDBFF, false) => self.surrogate = true,
            (0xDC00..=0xDFFF, false) => self.faults.escape = true,
            _ => self.lone_surrogate(),
        }
        Step::Next
    }

    #[inline]
    fn lone_surrogate(&mut self) {
        if self.surrogate {
            self.surrogate = false;
            self.faults.escape = true;
        }
    }

    fn word(&mut self, byte: u8, of: Word, at: u8) -> Step {
        match of.text().get(at as usize) {
            Some(&expected) if expected == byte => {
                self.state = State::Word { of, at: at + 1 };
                Step::Next
            }
            Some(_) => Step::Bad,
            None => self.scalar_ends(),
        }
    }

    fn number(&mut self, state: State, byte: u8) -> Step {
        self.state = match (state, byte) {
            (State::Minus, b'0') => State::Zero,
            (State::Minus, b'1'..=b'9') | (State::Whole, b'0'..=b'9') => State::Whole,
            (State::Zero | State::Whole, b'.') => State::Point,
            (State::Point | State::Fraction, b'0'..=b'9') => State::Fraction,
            (State::Zero | State::Whole | State::Fraction, b'e' | b'E') => State::Exponent,
            (State::Exponent, b'+' | b'-') => State::ExponentSign,
            (State::Exponent | State::ExponentSign | State::Power, b'0'..=b'9') => State::Power,
            (State::Zero | State::Whole | State::Fraction | State::Power, _) => return self.scalar_ends(),
            _ => return Step::Bad,
        };
        Step::Next
    }

    /// A scalar has no end of its own: the byte after it, not taken here, shows that it is over.
    fn scalar_ends(&mut self) -> Step {
        self.state = State::After;
        Step::Stop { taken: false }
    }
}

enum Step {
    Next,
    /// The state changed; the same byte is judged again.
    Again,
    Start(Kind),
    Stop {
        taken: bool,
    },
    Bad,
}

/// What may stand between tokens; nothing else may where no token fits.
fn blank(byte: u8) -> Step {
    if is_blank(byte as char) { Step::Next } else { Step::Bad }
}

#[cfg(test)]
mod tests;
