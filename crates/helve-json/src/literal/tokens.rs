//! Words, numbers and strings that have ended: a member's name or a value, and which.

use super::strings::{self, Quote, StringReader};
use super::{BracketContent, EndedToken, LiteralReader, LiteralState, LiteralStep, OpenBracket, number};
use crate::Repair;

impl LiteralReader {
    pub(super) fn continue_word(&mut self, c: char, out: &mut String) -> LiteralStep {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => self.push_to_token(c),
            '"' | '\'' if strings::is_prefix(&self.token) => match Quote::from_opening_char(c) {
                Some(quote) => {
                    let prefix = std::mem::take(&mut self.token);
                    self.begin_string(quote, &prefix, out)
                }
                None => LiteralStep::Bad,
            },
            _ => self.end_token(EndedToken::Token),
        }
    }

    /// A string or token has ended: a colon makes it a name, anything else a value.
    pub(super) fn handle_after_token(&mut self, c: char, what: EndedToken, out: &mut String) -> LiteralStep {
        let narrow = self.normalize_width(c);
        if self.is_blank(narrow) {
            return LiteralStep::Next;
        }
        if what == EndedToken::Text && self.joins && matches!(narrow, '"' | '\'') {
            let quote = if narrow == '"' { Quote::Double } else { Quote::Single };
            self.state = LiteralState::Text(StringReader::new(quote, ""));
            return LiteralStep::Next;
        }
        let named = matches!(
            self.frames.last(),
            Some(OpenBracket { members: BracketContent::Unknown | BracketContent::Key, .. })
        );
        let is_key = named && (narrow == ':' || narrow == '=' && !self.joins);
        if !self.write_token(what, is_key, out) {
            return LiteralStep::Bad;
        }
        if is_key {
            out.push_str(": ");
            if narrow == '=' {
                self.record_repair(Repair::Colons);
            }
            if let Some(frame) = self.frames.last_mut() {
                frame.members = BracketContent::Value;
            }
            self.state = LiteralState::Value;
            return LiteralStep::Next;
        }
        if named {
            if self.frames.last().is_some_and(|f| f.members == BracketContent::Key) {
                return LiteralStep::Bad;
            }
            if !self.close_as_set(out) {
                return LiteralStep::Bad;
            }
        }
        self.after_text = what == EndedToken::Text;
        self.state = LiteralState::After;
        LiteralStep::Again
    }

    pub(super) fn write_token(&mut self, what: EndedToken, is_key: bool, out: &mut String) -> bool {
        if what == EndedToken::Text {
            out.push('"');
            return true;
        }
        let token = std::mem::take(&mut self.token);
        let is_number = !token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_key {
            self.record_repair(Repair::Quotes);
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
            let Some(text) = number::to_json(&token) else {
                return false;
            };
            self.record_repair(Repair::Numbers);
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
            self.record_repair(Repair::Words);
        }
        out.push_str(word);
        true
    }
}
