//! One value as Python, JavaScript or a careless model writes it, turned into JSON while it streams.
//!
//! A push automaton with a stack of its own: text in, JSON text out, each byte once. It reads strict JSON too, and
//! notes every liberty it meets, so that repair can say what was changed. What has two readings is refused.
//! `brackets` knows what the containers are, `strings` how the inside of a string is written, `number` how numbers are.

mod brackets;
mod comments;
mod number;
pub mod strings;
mod tokens;

use crate::Repair;
use crate::is_blank;
use comments::CommentPart;
pub use strings::Quote;
use strings::StringReader;

/// What became of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralProgress {
    /// All of it belongs to the value, and more may follow.
    All,
    /// The value ended before this position.
    UpTo(usize),
    /// What stands at this position has no reading.
    Bad(usize),
}

pub struct LiteralReader {
    frames: Vec<OpenBracket>,
    state: LiteralState,
    /// A number or a word, as far as it was read.
    token: String,
    /// A comma that is written only when something follows it.
    comma: bool,
    /// Python joins strings that stand side by side; elsewhere a comma was forgotten.
    joins: bool,
    /// The last value was a string: what follows one without a comma may belong into it.
    after_text: bool,
    changes: Vec<Repair>,
}

enum LiteralState {
    Value,
    /// The backslash of an escaped blank that stands outside any string, before a value or after one.
    Blank {
        after: bool,
    },
    /// A comment, before a value or after one.
    Comment {
        after: bool,
        part: CommentPart,
    },
    Word,
    Number,
    Text(StringReader),
    /// A string or a token has ended; what follows says whether it was a member's name.
    Ended(EndedToken),
    After,
    Over,
}

#[derive(Clone, Copy, PartialEq)]
enum EndedToken {
    Text,
    Token,
}

struct OpenBracket {
    close: char,
    /// Where its opening bracket was written.
    at: usize,
    members: BracketContent,
}

#[derive(Clone, Copy, PartialEq)]
enum BracketContent {
    Items,
    /// A brace with nothing yet to say whether it is a set.
    Unknown,
    /// A parenthesis with no comma yet to say that it is a tuple.
    Group,
    /// A brace around the braces of an object. It is not written.
    Doubled,
    Key,
    Value,
}

const DEPTH_MAX: usize = 120;

impl LiteralReader {
    /// For the arguments of a Python call.
    pub fn for_python() -> Self {
        Self::new(true)
    }

    /// For JSON gone wrong.
    pub fn for_repair() -> Self {
        Self::new(false)
    }

    fn new(joins: bool) -> Self {
        Self {
            frames: Vec::new(),
            state: LiteralState::Value,
            token: String::new(),
            comma: false,
            joins,
            after_text: false,
            changes: Vec::new(),
        }
    }

    pub fn changes(self) -> Vec<Repair> {
        self.changes
    }

    /// Whether plain text from here on is nothing but the inside of a string.
    pub fn is_plain_text(&self) -> bool {
        matches!(&self.state, LiteralState::Text(text) if text.is_plain_text())
    }

    /// Whether braces around the braces of an object were left out.
    pub fn has_removed_doubled_braces(&self) -> bool {
        self.changes.contains(&Repair::Closers)
    }

    /// How much of what was written so far is certain: a brace may still turn out to be a set's, and a parenthesis to be
    /// no tuple's.
    pub fn certain_bytes(&self, written: usize) -> usize {
        let open = self
            .frames
            .iter()
            .find(|frame| matches!(frame.members, BracketContent::Unknown | BracketContent::Group));
        open.map_or(written, |frame| frame.at)
    }

    /// Reads on from `from`, writing JSON to `out`.
    pub fn feed(&mut self, text: &str, from: usize, out: &mut String) -> LiteralProgress {
        let mut pos = from;
        while let Some(c) = text[pos..].chars().next() {
            if let LiteralState::Text(string) = &mut self.state {
                match string.feed(&text[pos..], out, &mut self.changes) {
                    strings::StringProgress::All => return LiteralProgress::All,
                    strings::StringProgress::UpTo(taken) => {
                        pos += taken;
                        self.state = LiteralState::Ended(EndedToken::Text);
                    }
                    strings::StringProgress::Bad(at) => return LiteralProgress::Bad(pos + at),
                }
                continue;
            }
            match self.step(c, out) {
                LiteralStep::Next => pos += c.len_utf8(),
                LiteralStep::Again => {}
                LiteralStep::Over => return LiteralProgress::UpTo(pos),
                LiteralStep::Bad => return LiteralProgress::Bad(pos),
            }
            if matches!(self.state, LiteralState::Over) {
                return LiteralProgress::UpTo(pos);
            }
        }
        LiteralProgress::All
    }

    /// The text is over. With `closers`, brackets left open after a whole value are closed; a value cut in its
    /// middle is never completed.
    pub fn finish(&mut self, closers: bool, out: &mut String) -> bool {
        if let LiteralState::Text(string) = &self.state
            && string.may_have_ended()
        {
            self.state = LiteralState::Ended(EndedToken::Text);
        }
        if matches!(self.state, LiteralState::Word | LiteralState::Number) {
            self.state = LiteralState::Ended(EndedToken::Token);
        }
        if let LiteralState::Ended(what) = self.state
            && !self.write_token(what, false, out)
        {
            return false;
        }
        match self.state {
            LiteralState::Over => true,
            LiteralState::Ended(_) | LiteralState::After if self.frames.is_empty() => true,
            LiteralState::Ended(_) | LiteralState::After if closers => {
                while let Some(frame) = self.frames.pop() {
                    match frame.members {
                        BracketContent::Key | BracketContent::Unknown | BracketContent::Group => {
                            return false;
                        }
                        BracketContent::Items => out.push(']'),
                        BracketContent::Value => out.push('}'),
                        BracketContent::Doubled => {}
                    }
                }
                self.record_repair(Repair::Closers);
                true
            }
            _ => false,
        }
    }

    fn step(&mut self, c: char, out: &mut String) -> LiteralStep {
        match self.state {
            LiteralState::Value => self.begin_value(c, out),
            LiteralState::Blank { after } => match c {
                'n' | 'r' | 't' => {
                    self.state = if after { LiteralState::After } else { LiteralState::Value };
                    LiteralStep::Next
                }
                _ => LiteralStep::Bad,
            },
            LiteralState::Comment { after, part } => self.continue_comment(c, after, part),
            LiteralState::Word => self.continue_word(c, out),
            LiteralState::Number => match c {
                '0'..='9' | 'a'..='z' | 'A'..='Z' | '_' | '.' => self.push_to_token(c),
                '+' | '-' if self.token.ends_with(['e', 'E']) && !is_hex(&self.token) => {
                    self.push_to_token(c)
                }
                _ => self.end_token(EndedToken::Token),
            },
            LiteralState::Ended(what) => self.handle_after_token(c, what, out),
            LiteralState::After => self.handle_after_value(c, out),
            LiteralState::Text(_) | LiteralState::Over => LiteralStep::Over,
        }
    }

    fn begin_value(&mut self, c: char, out: &mut String) -> LiteralStep {
        let c = self.normalize_width(c);
        if self.is_blank(c) {
            return LiteralStep::Next;
        }
        if let Some(frame) = self.frames.last()
            && c == frame.close
            && frame.members != BracketContent::Value
        {
            return self.close_bracket(out);
        }
        if c == '\\' {
            self.record_repair(Repair::Escapes);
            self.state = LiteralState::Blank { after: false };
            return LiteralStep::Next;
        }
        if matches!(c, '/' | '#') && !self.joins {
            return self.begin_comment(c, false);
        }
        if self.comma {
            self.comma = false;
            out.push_str(", ");
        }
        match c {
            '{' | '[' | '(' => self.open_bracket(c, out),
            '0'..='9' | '-' | '+' | '.' => {
                self.state = LiteralState::Number;
                self.push_to_token(c)
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                self.state = LiteralState::Word;
                self.push_to_token(c)
            }
            _ => match Quote::from_opening_char(c) {
                Some(quote) => self.begin_string(quote, "", out),
                None => LiteralStep::Bad,
            },
        }
    }

    fn begin_string(&mut self, quote: Quote, prefix: &str, out: &mut String) -> LiteralStep {
        if quote != Quote::Double || !prefix.is_empty() {
            self.record_repair(Repair::Quotes);
        }
        out.push('"');
        self.state = LiteralState::Text(StringReader::new(quote, prefix));
        LiteralStep::Next
    }

    fn push_to_token(&mut self, c: char) -> LiteralStep {
        self.token.push(c);
        LiteralStep::Next
    }

    fn end_token(&mut self, what: EndedToken) -> LiteralStep {
        self.state = LiteralState::Ended(what);
        LiteralStep::Again
    }

    fn handle_after_value(&mut self, c: char, out: &mut String) -> LiteralStep {
        let c = self.normalize_width(c);
        if !self.frames.is_empty() && self.is_blank(c) {
            return LiteralStep::Next;
        }
        let item_open = self.is_item_open();
        let Some(frame) = self.frames.last_mut() else {
            return LiteralStep::Over;
        };
        if c == frame.close {
            return self.close_bracket(out);
        }
        match c {
            ',' => {
                match frame.members {
                    BracketContent::Value => frame.members = BracketContent::Key,
                    BracketContent::Group => {
                        frame.members = BracketContent::Items;
                        self.record_repair(Repair::Sequences);
                    }
                    BracketContent::Doubled => return LiteralStep::Bad,
                    _ => {}
                }
                self.comma = true;
                self.state = LiteralState::Value;
                LiteralStep::Next
            }
            ']' if item_open && !self.joins => {
                self.record_repair(Repair::Closers);
                self.close_bracket(out);
                LiteralStep::Again
            }
            '\\' => {
                self.record_repair(Repair::Escapes);
                self.state = LiteralState::Blank { after: true };
                LiteralStep::Next
            }
            '/' | '#' if !self.joins => self.begin_comment(c, true),
            // Only a member can follow, and its name needs its colon.
            '"' if frame.members == BracketContent::Value && !self.joins && !self.after_text => {
                frame.members = BracketContent::Key;
                self.record_repair(Repair::Commas);
                self.comma = true;
                self.state = LiteralState::Value;
                LiteralStep::Again
            }
            _ => LiteralStep::Bad,
        }
    }

    /// Full-width punctuation, read as what it stands for.
    fn normalize_width(&mut self, c: char) -> char {
        let narrow = match c {
            '，' => ',',
            '：' => ':',
            '｛' => '{',
            '｝' => '}',
            '［' => '[',
            '］' => ']',
            '（' => '(',
            '）' => ')',
            _ => return c,
        };
        self.record_repair(Repair::FullWidth);
        narrow
    }

    /// Whether it means nothing between values. A blank that is none in JSON, such as a full-width one, is noted as repaired.
    fn is_blank(&mut self, c: char) -> bool {
        if c.is_whitespace() && !is_blank(c) {
            self.record_repair(Repair::Blanks);
        }
        c.is_whitespace()
    }

    fn record_repair(&mut self, change: Repair) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }
}

/// Whether the digits of a number are hexadecimal. What says so stands at its beginning, behind a sign.
fn is_hex(token: &str) -> bool {
    token.bytes().take(3).any(|byte| matches!(byte, b'x' | b'X'))
}

enum LiteralStep {
    Next,
    /// The state changed; the same character is judged again.
    Again,
    /// The character does not belong to the value, which is over.
    Over,
    Bad,
}

#[cfg(test)]
mod tests;
