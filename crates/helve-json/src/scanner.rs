//! Strict JSON, byte by byte: where values begin and end, and whether the text is JSON at all.
//!
//! `JsonScanner` reads one value pushed in pieces of any size and never looks back. It reports the members of the outer
//! containers and passes silently over everything deeper, so a long argument costs one table look-up per byte. Two
//! faults inside strings are noted and passed over, because the text's structure survives them; any other fault
//! stops it. Keeps no text.

use crate::is_blank;
use crate::string_bytes::find_special;

/// What kind of value begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A member's name.
    Key,
    String,
    Object,
    Array,
    /// A number, `true`, `false` or `null`.
    Scalar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanEvent {
    /// The chunk is used up.
    More,
    /// A value began with the byte before the position.
    Start(ValueKind),
    /// The value that began last, or the container around it, ended at the position.
    Stop,
    /// The byte at the position cannot stand there.
    Bad,
}

/// Faults inside strings that leave the structure readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StringFaults {
    /// A raw line break, tab or other control character.
    pub control: bool,
    /// A backslash before something JSON does not escape, or half a surrogate pair.
    pub escape: bool,
}

impl StringFaults {
    pub fn any(self) -> bool {
        self.control || self.escape
    }
}

/// As deep as `serde_json` reads, so that what passes here passes there.
pub(crate) const DEPTH_MAX: usize = 126;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
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
    Word { of: JsonWord, at: u8 },
}

/// The words of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonWord {
    True,
    False,
    Null,
}

impl JsonWord {
    fn text(self) -> &'static [u8] {
        match self {
            Self::True => b"true",
            Self::False => b"false",
            Self::Null => b"null",
        }
    }
}

pub struct JsonScanner {
    state: ScanState,
    /// One bit per open container, the innermost lowest: set for an object.
    objects: u128,
    depth: usize,
    /// Values inside more containers than this pass in silence.
    watch: usize,
    in_key: bool,
    /// The first half of a surrogate pair waits for the second.
    surrogate: bool,
    faults: StringFaults,
}

impl JsonScanner {
    pub fn new(watch: usize) -> Self {
        Self {
            state: ScanState::Value,
            objects: 0,
            depth: 0,
            watch,
            in_key: false,
            surrogate: false,
            faults: StringFaults::default(),
        }
    }

    /// How many containers are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    pub fn watch_depth(&mut self, depth: usize) {
        self.watch = depth;
    }

    pub fn faults(&self) -> StringFaults {
        self.faults
    }

    /// Whether nothing has been read yet.
    pub fn is_new(&self) -> bool {
        self.state == ScanState::Value && self.depth == 0
    }

    /// Whether plain bytes change nothing: inside a string, between escapes.
    pub fn in_plain_text(&self) -> bool {
        self.state == ScanState::Text && !self.surrogate
    }

    /// Reads on from `pos` to the next thing worth telling.
    pub fn run(&mut self, bytes: &[u8], pos: &mut usize) -> ScanEvent {
        while let Some(&byte) = bytes.get(*pos) {
            if self.state == ScanState::Text {
                let plain = find_special(&bytes[*pos..]);
                let Some(plain) = plain else {
                    // A pair cut by plain text is as broken as one cut by another escape.
                    self.record_lone_surrogate();
                    *pos = bytes.len();
                    return ScanEvent::More;
                };
                if plain > 0 {
                    self.record_lone_surrogate();
                    *pos += plain;
                }
                match bytes[*pos] {
                    b'"' => {
                        self.record_lone_surrogate();
                        *pos += 1;
                        self.state = if self.in_key { ScanState::Colon } else { ScanState::After };
                        if self.depth <= self.watch {
                            return ScanEvent::Stop;
                        }
                    }
                    b'\\' => {
                        *pos += 1;
                        self.state = ScanState::Escape;
                    }
                    _ => {
                        self.record_lone_surrogate();
                        self.faults.control = true;
                        *pos += 1;
                    }
                }
                continue;
            }
            match self.step(byte) {
                ScanStep::Next => *pos += 1,
                ScanStep::Again => {}
                ScanStep::Start(kind) => {
                    *pos += 1;
                    // A container is open by now, yet its value stands one level above.
                    let inner = matches!(kind, ValueKind::Object | ValueKind::Array) as usize;
                    if self.depth - inner <= self.watch {
                        return ScanEvent::Start(kind);
                    }
                }
                ScanStep::Stop { taken } => {
                    *pos += taken as usize;
                    if self.depth <= self.watch {
                        return ScanEvent::Stop;
                    }
                }
                ScanStep::Bad => return ScanEvent::Bad,
            }
        }
        ScanEvent::More
    }

    fn step(&mut self, byte: u8) -> ScanStep {
        match self.state {
            ScanState::Value => self.begin_value(byte),
            ScanState::FirstItem if byte == b']' => self.close_container(),
            ScanState::FirstItem => self.begin_value(byte),
            ScanState::FirstKey if byte == b'}' => self.close_container(),
            ScanState::FirstKey | ScanState::NextKey => match byte {
                b'"' => {
                    self.state = ScanState::Text;
                    self.in_key = true;
                    ScanStep::Start(ValueKind::Key)
                }
                _ => skip_blank(byte),
            },
            ScanState::Colon => match byte {
                b':' => {
                    self.state = ScanState::Value;
                    ScanStep::Next
                }
                _ => skip_blank(byte),
            },
            ScanState::After => match byte {
                b',' if self.depth > 0 => {
                    self.state = if self.in_object() { ScanState::NextKey } else { ScanState::Value };
                    ScanStep::Next
                }
                b'}' if self.in_object() => self.close_container(),
                b']' if self.depth > 0 && !self.in_object() => self.close_container(),
                _ => skip_blank(byte),
            },
            ScanState::Escape => self.handle_escape(byte),
            ScanState::Hex { left, code } => self.handle_hex_digit(byte, left, code),
            ScanState::Word { of, at } => self.continue_word(byte, of, at),
            ScanState::Text => ScanStep::Bad,
            number => self.continue_number(number, byte),
        }
    }

    /// Whether the innermost container is an object.
    fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    fn begin_value(&mut self, byte: u8) -> ScanStep {
        let (state, kind) = match byte {
            b'"' => {
                self.in_key = false;
                (ScanState::Text, ValueKind::String)
            }
            b'{' | b'[' => return self.open_container(byte == b'{'),
            b'-' => (ScanState::Minus, ValueKind::Scalar),
            b'0' => (ScanState::Zero, ValueKind::Scalar),
            b'1'..=b'9' => (ScanState::Whole, ValueKind::Scalar),
            b't' => (ScanState::Word { of: JsonWord::True, at: 1 }, ValueKind::Scalar),
            b'f' => (ScanState::Word { of: JsonWord::False, at: 1 }, ValueKind::Scalar),
            b'n' => (ScanState::Word { of: JsonWord::Null, at: 1 }, ValueKind::Scalar),
            _ => return skip_blank(byte),
        };
        self.state = state;
        ScanStep::Start(kind)
    }

    fn open_container(&mut self, object: bool) -> ScanStep {
        if self.depth == DEPTH_MAX {
            return ScanStep::Bad;
        }
        self.objects = self.objects << 1 | object as u128;
        self.depth += 1;
        self.state = if object { ScanState::FirstKey } else { ScanState::FirstItem };
        ScanStep::Start(if object { ValueKind::Object } else { ValueKind::Array })
    }

    fn close_container(&mut self) -> ScanStep {
        self.objects >>= 1;
        self.depth -= 1;
        self.state = ScanState::After;
        ScanStep::Stop { taken: true }
    }

    fn handle_escape(&mut self, byte: u8) -> ScanStep {
        self.state = ScanState::Text;
        match byte {
            b'u' => self.state = ScanState::Hex { left: 4, code: 0 },
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.record_lone_surrogate(),
            _ => {
                self.record_lone_surrogate();
                self.faults.escape = true;
                // The byte is judged again as text: it may be a raw control character.
                return ScanStep::Again;
            }
        }
        ScanStep::Next
    }

    fn handle_hex_digit(&mut self, byte: u8, left: u8, code: u16) -> ScanStep {
        let Some(digit) = (byte as char).to_digit(16) else {
            self.faults.escape = true;
            self.state = ScanState::Text;
            return ScanStep::Again;
        };
        let code = code << 4 | digit as u16;
        if left > 1 {
            self.state = ScanState::Hex { left: left - 1, code };
            return ScanStep::Next;
        }
        self.state = ScanState::Text;
        match (code, self.surrogate) {
            (0xDC00..=0xDFFF, true) => self.surrogate = false,
            (0xD800..=0xDBFF, false) => self.surrogate = true,
            (0xDC00..=0xDFFF, false) => self.faults.escape = true,
            _ => self.record_lone_surrogate(),
        }
        ScanStep::Next
    }

    #[inline]
    fn record_lone_surrogate(&mut self) {
        if self.surrogate {
            self.surrogate = false;
            self.faults.escape = true;
        }
    }

    fn continue_word(&mut self, byte: u8, of: JsonWord, at: u8) -> ScanStep {
        match of.text().get(at as usize) {
            Some(&expected) if expected == byte => {
                self.state = ScanState::Word { of, at: at + 1 };
                ScanStep::Next
            }
            Some(_) => ScanStep::Bad,
            None => self.finish_scalar(),
        }
    }

    fn continue_number(&mut self, state: ScanState, byte: u8) -> ScanStep {
        self.state = match (state, byte) {
            (ScanState::Minus, b'0') => ScanState::Zero,
            (ScanState::Minus, b'1'..=b'9') | (ScanState::Whole, b'0'..=b'9') => ScanState::Whole,
            (ScanState::Zero | ScanState::Whole, b'.') => ScanState::Point,
            (ScanState::Point | ScanState::Fraction, b'0'..=b'9') => ScanState::Fraction,
            (ScanState::Zero | ScanState::Whole | ScanState::Fraction, b'e' | b'E') => ScanState::Exponent,
            (ScanState::Exponent, b'+' | b'-') => ScanState::ExponentSign,
            (ScanState::Exponent | ScanState::ExponentSign | ScanState::Power, b'0'..=b'9') => {
                ScanState::Power
            }
            (ScanState::Zero | ScanState::Whole | ScanState::Fraction | ScanState::Power, _) => {
                return self.finish_scalar();
            }
            _ => return ScanStep::Bad,
        };
        ScanStep::Next
    }

    /// A scalar has no end of its own: the byte after it, not taken here, shows that it is over.
    fn finish_scalar(&mut self) -> ScanStep {
        self.state = ScanState::After;
        ScanStep::Stop { taken: false }
    }
}

enum ScanStep {
    Next,
    /// The state changed; the same byte is judged again.
    Again,
    Start(ValueKind),
    Stop {
        taken: bool,
    },
    Bad,
}

/// What may stand between tokens; nothing else may where no token fits.
fn skip_blank(byte: u8) -> ScanStep {
    if is_blank(byte as char) { ScanStep::Next } else { ScanStep::Bad }
}

#[cfg(test)]
mod tests;
