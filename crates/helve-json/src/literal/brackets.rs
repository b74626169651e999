//! Containers: which brackets are whose, and which mean nothing.

use super::{BracketContent, DEPTH_MAX, LiteralReader, LiteralState, LiteralStep, OpenBracket};
use crate::Repair;

impl LiteralReader {
    pub(super) fn open_bracket(&mut self, c: char, out: &mut String) -> LiteralStep {
        // A container cannot be a member's name.
        if self.frames.len() == DEPTH_MAX
            || self.frames.last().is_some_and(|f| f.members == BracketContent::Key)
        {
            return LiteralStep::Bad;
        }
        if c == '{' {
            if !self.finish_object(out) {
                return LiteralStep::Bad;
            }
        } else if !self.close_as_set(out) {
            return LiteralStep::Bad;
        }
        let (close, members) = match c {
            '{' => ('}', BracketContent::Unknown),
            '[' => (']', BracketContent::Items),
            _ => (')', BracketContent::Group),
        };
        self.frames.push(OpenBracket { close, at: out.len(), members });
        out.push(if c == '{' { '{' } else { '[' });
        self.state = LiteralState::Value;
        LiteralStep::Next
    }

    /// The first item of a brace has no name: it is a set, which JSON writes as an array.
    pub(super) fn close_as_set(&mut self, out: &mut String) -> bool {
        let in_doubled = self.is_in_doubled();
        if let Some(frame) = self.frames.last_mut()
            && frame.members == BracketContent::Unknown
        {
            if in_doubled {
                return false;
            }
            out.replace_range(frame.at..frame.at + 1, "[");
            frame.members = BracketContent::Items;
            self.record_repair(Repair::Sequences);
        }
        true
    }

    /// The first item of a brace is a brace: written twice, as in the templates that models were taught with. No set has
    /// objects in it.
    fn finish_object(&mut self, out: &mut String) -> bool {
        let in_doubled = self.is_in_doubled();
        let Some(frame) = self.frames.last_mut() else { return true };
        match frame.members {
            BracketContent::Unknown if !in_doubled => {
                out.truncate(frame.at);
                frame.members = BracketContent::Doubled;
                self.record_repair(Repair::Closers);
                true
            }
            BracketContent::Unknown => false,
            BracketContent::Items => frame.close != '}',
            _ => true,
        }
    }

    /// Whether the innermost bracket is the second of two braces.
    fn is_in_doubled(&self) -> bool {
        matches!(self.frames.as_slice(), [.., outer, _] if outer.members == BracketContent::Doubled)
    }

    /// Whether an object is open that is an item of a list: where the list ends, so does the object.
    pub(super) fn is_item_open(&self) -> bool {
        matches!(self.frames.as_slice(), [.., list, object]
            if list.close == ']' && object.members == BracketContent::Value)
    }

    pub(super) fn close_bracket(&mut self, out: &mut String) -> LiteralStep {
        if self.comma {
            self.comma = false;
            self.record_repair(Repair::Commas);
        }
        let Some(frame) = self.frames.pop() else {
            return LiteralStep::Bad;
        };
        match frame.members {
            BracketContent::Items => out.push(']'),
            BracketContent::Doubled => {}
            BracketContent::Group if out.len() == frame.at + 1 => {
                self.record_repair(Repair::Sequences);
                out.push(']');
            }
            // Around a single value they mean nothing.
            BracketContent::Group => {
                self.record_repair(Repair::Sequences);
                out.remove(frame.at);
            }
            _ => out.push('}'),
        }
        self.after_text = false;
        self.state = if self.frames.is_empty() { LiteralState::Over } else { LiteralState::After };
        LiteralStep::Next
    }
}
