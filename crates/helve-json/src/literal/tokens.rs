//! Words, numbers and strings that have ended: a member's name or a value, and which.

use super::strings::{self, Quote, Text};
use super::{Frame, Literal, Members, State, Step, What, number};
use crate::Repair;

impl Literal {
    pub(super) fn word(&mut self, c: char, out: &mut String) -> Step {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => self.collect(c),
            '"' | '\'' if strings::is_prefix(&self.token) => match Quote::opening(c) {
                Some(quote) => {
                    let prefix = std::mem::take(&mut self.token);
                    self.text(quote, &prefix, out)
                }
                None => Step::Bad,
            },
            _ => self.ended(What::Token),
        }
    }

    /// A string or token has ended: a colon makes it a name, anything else a value.
    pub(super) fn follow(&mut self, c: char, what: What, out: &mut String) -> Step {
        let narrow = self.narrow(c);
        if self.is_blank(narrow) {
            return Step::Next;
        }
        if what == What::Text && self.joins && matches!(narrow, '"' | '\'') {
            let quote = if narrow == '"' { Quote::Double } else { Quote::Single };
            self.state = State::Text(Text::new(quote, ""));
            return Step::Next;
        }
        let named =
            matches!(self.frames.last(), Some(Frame { members: Members::Unknown | Members::Key, .. }));
        let is_key = named && (narrow == ':' || narrow == '=' && !self.joins);
        if !self.write(what, is_key, out) {
            return Step::Bad;
        }
        if is_key {
            out.push_str(": ");
            if narrow == '=' {
                self.note(Repair::Colons);
            }
            if let Some(frame) = self.frames.last_mut() {
                frame.members = Members::Value;
            }
            self.state = State::Value;
            return Step::Next;
        }
        if named {
            if self.frames.last().is_some_and(|f| f.members == Members::Key) {
                return Step::Bad;
            }
            if !self.settle_set(out) {
                return Step::Bad;
            }
        }
        self.after_text = what == What::Text;
        self.state = State::After;
        Step::Again
    }

    pub(super) fn write(&mut self, what: What, is_key: bool, out: &mut String) -> bool {
        if what == What::Text {
            out.push('"');
            return true;
        }
        let token = std::mem::take(&mut self.token);
        let is_number = !token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_key {
            self.note(Repair::Quotes);
            out.push('"');
            out.push_str(&token);
            out.push('"');
            return true;
        }
        if is_number {
            if number::is_json(&token) {
                out.push_str(&token);
                return true;
            }
            let Some(text) = number::json(&token) else {
                return false;
            };
            self.note(Repair::Numbers);
            out.push_str(&text);
            return true;
        }
        let word = match token.as_str() {
            "true" | "True" => "true",
            "false" | "False" => "false",
            "null" | "None" => "null",
            _ => return false,
        };
        if word != token {
            self.note(Repair::Words);
        }
        out.push_str(word);
        true
    }
}
