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
use comments::Part;
pub use strings::Quote;
use strings::Text;

/// What became of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All of it belongs to the value, and more may follow.
    All,
    /// The value ended before this position.
    UpTo(usize),
    /// What stands at this position has no reading.
    Bad(usize),
}

pub struct Literal {
    frames: Vec<Frame>,
    state: State,
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

enum State {
    Value,
    /// The backslash of an escaped blank that stands outside any string, before a value or after one.
    Blank {
        after: bool,
    },
    /// A comment, before a value or after one.
    Comment {
        after: bool,
        part: Part,
    },
    Word,
    Number,
    Text(Text),
    /// A string or a token has ended; what follows says whether it was a member's name.
    Ended(What),
    After,
    Over,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Text,
    Token,
}

struct Frame {
    close: char,
    /// Where its opening bracket was written.
    at: usize,
    members: Members,
}

#[derive(Clone, Copy, PartialEq)]
enum Members {
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

impl Literal {
    /// For the arguments of a Python call.
    pub fn python() -> Self {
        Self::new(true)
    }

    /// For JSON gone wrong.
    pub fn repairing() -> Self {
        Self::new(false)
    }

    fn new(joins: bool) -> Self {
        Self {
            frames: Vec::new(),
            state: State::Value,
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
    pub fn flows(&self) -> bool {
        matches!(&self.state, State::Text(text) if text.flows())
    }

    /// Whether braces around the braces of an object were left out.
    pub fn is_undoubled(&self) -> bool {
        self.changes.contains(&Repair::Closers)
    }

    /// How much of what was written so far is certain: a brace may still turn out to be a set's, and a parenthesis to be
    /// no tuple's.
    pub fn certain(&self, written: usize) -> usize {
        let open =
            self.frames.iter().find(|frame| matches!(frame.members, Members::Unknown | Members::Group));
        open.map_or(written, |frame| frame.at)
    }

    /// Reads on from `from`, writing JSON to `out`.
    pub fn feed(&mut self, text: &str, from: usize, out: &mut String) -> Taken {
        let mut pos = from;
        while let Some(c) = text[pos..].chars().next() {
            if let State::Text(string) = &mut self.state {
                match string.feed(&text[pos..], out, &mut self.changes) {
                    strings::Taken::All => return Taken::All,
                    strings::Taken::UpTo(taken) => {
                        pos += taken;
                        self.state = State::Ended(What::Text);
                    }
                    strings::Taken::Bad(at) => return Taken::Bad(pos + at),
                }
                continue;
            }
            match self.step(c, out) {
                Step::Next => pos += c.len_utf8(),
                Step::Again => {}
                Step::Over => return Taken::UpTo(pos),
                Step::Bad => return Taken::Bad(pos),
            }
            if matches!(self.state, State::Over) {
                return Taken::UpTo(pos);
            }
        }
        Taken::All
    }

    /// The text is over. With `closers`, brackets left open after a whole value are closed; a value cut in its
    /// middle is never completed.
    pub fn finish(&mut self, closers: bool, out: &mut String) -> bool {
        if let State::Text(string) = &self.state
            && string.may_be_over()
        {
            self.state = State::Ended(What::Text);
        }
        if matches!(self.state, State::Word | State::Number) {
            self.state = State::Ended(What::Token);
        }
        if let State::Ended(what) = self.state
            && !self.write(what, false, out)
        {
            return false;
        }
        match self.state {
            State::Over => true,
            State::Ended(_) | State::After if self.frames.is_empty() => true,
            State::Ended(_) | State::After if closers => {
                while let Some(frame) = self.frames.pop() {
                    match frame.members {
                        Members::Key | Members::Unknown | Members::Group => return false,
                        Members::Items => out.push(']'),
                        Members::Value => out.push('}'),
                        Members::Doubled => {}
                    }
                }
                self.note(Repair::Closers);
                true
            }
            _ => false,
        }
    }

    fn step(&mut self, c: char, out: &mut String) -> Step {
        match self.state {
            State::Value => self.value(c, out),
            State::Blank { after } => match c {
                'n' | 'r' | 't' => {
                    self.state = if after { State::After } else { State::Value };
                    Step::Next
                }
                _ => Step::Bad,
            },
            State::Comment { after, part } => self.in_comment(c, after, part),
            State::Word => self.word(c, out),
            State::Number => match c {
                '0'..='9' | 'a'..='z' | 'A'..='Z' | '_' | '.' => self.collect(c),
                '+' | '-' if self.token.ends_with(['e', 'E']) && !is_hex(&self.token) => self.collect(c),
                _ => self.ended(What::Token),
            },
            State::Ended(what) => self.follow(c, what, out),
            State::After => self.after(c, out),
            State::Text(_) | State::Over => Step::Over,
        }
    }

    fn value(&mut self, c: char, out: &mut String) -> Step {
        let c = self.narrow(c);
        if self.is_blank(c) {
            return Step::Next;
        }
        if let Some(frame) = self.frames.last()
            && c == frame.close
            && frame.members != Members::Value
        {
            return self.close(out);
        }
        if c == '\\' {
            self.note(Repair::Escapes);
            self.state = State::Blank { after: false };
            return Step::Next;
        }
        if matches!(c, '/' | '#') && !self.joins {
            return self.comment(c, false);
        }
        if self.comma {
            self.comma = false;
            out.push_str(", ");
        }
        match c {
            '{' | '[' | '(' => self.open(c, out),
            '0'..='9' | '-' | '+' | '.' => {
                self.state = State::Number;
                self.collect(c)
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                self.state = State::Word;
                self.collect(c)
            }
            _ => match Quote::opening(c) {
                Some(quote) => self.text(quote, "", out),
                None => Step::Bad,
            },
        }
    }

    fn text(&mut self, quote: Quote, prefix: &str, out: &mut String) -> Step {
        if quote != Quote::Double || !prefix.is_empty() {
            self.note(Repair::Quotes);
        }
        out.push('"');
        self.state = State::Text(Text::new(quote, prefix));
        Step::Next
    }

    fn collect(&mut self, c: char) -> Step {
        self.token.push(c);
        Step::Next
    }

    fn ended(&mut self, what: What) -> Step {
        self.state = State::Ended(what);
        Step::Again
    }

    fn after(&mut self, c: char, out: &mut String) -> Step {
        let c = self.narrow(c);
        if !self.frames.is_empty() && self.is_blank(c) {
            return Step::Next;
        }
        let item_open = self.is_item_open();
        let Some(frame) = self.frames.last_mut() else {
            return Step::Over;
        };
        if c == frame.close {
            return self.close(out);
        }
        match c {
            ',' => {
                match frame.members {
                    Members::Value => frame.members = Members::Key,
                    Members::Group => {
                        frame.members = Members::Items;
                        self.note(Repair::Sequences);
                    }
                    Members::Doubled => return Step::Bad,
                    _ => {}
                }
                self.comma = true;
                self.state = State::Value;
                Step::Next
            }
            ']' if item_open && !self.joins => {
                self.note(Repair::Closers);
                self.close(out);
                Step::Again
            }
            '\\' => {
                self.note(Repair::Escapes);
                self.state = State::Blank { after: true };
                Step::Next
            }
            '/' | '#' if !self.joins => self.comment(c, true),
            // Only a member can follow, and its name needs its colon.
            '"' if frame.members == Members::Value && !self.joins && !self.after_text => {
                frame.members = Members::Key;
                self.note(Repair::Commas);
                self.comma = true;
                self.state = State::Value;
                Step::Again
            }
            _ => Step::Bad,
        }
    }

    /// Full-width punctuation, read as what it stands for.
    fn narrow(&mut self, c: char) -> char {
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
        self.note(Repair::FullWidth);
        narrow
    }

    /// Whether it means nothing between values. A blank that is none in JSON, such as a full-width one, is noted as repaired.
    fn is_blank(&mut self, c: char) -> bool {
        if c.is_whitespace() && !is_blank(c) {
            self.note(Repair::Blanks);
        }
        c.is_whitespace()
    }

    fn note(&mut self, change: Repair) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }
}

/// Whether the digits of a number are hexadecimal. What says so stands at its beginning, behind a sign.
fn is_hex(token: &str) -> bool {
    token.bytes().take(3).any(|byte| matches!(byte, b'x' | b'X'))
}

enum Step {
    Next,
    /// The state changed; the same character is judged again.
    Again,
    /// The character does not belong to the value, which is over.
    Over,
    Bad,
}

#[cfg(test)]
mod tests;
