//! Containers: which brackets are whose, and which mean nothing.

use super::{DEPTH_MAX, Frame, Literal, Members, State, Step};
use crate::Repair;

impl Literal {
    pub(super) fn open(&mut self, c: char, out: &mut String) -> Step {
        // A container cannot be a member's name.
        if self.frames.len() == DEPTH_MAX || self.frames.last().is_some_and(|f| f.members == Members::Key) {
            return Step::Bad;
        }
        if c == '{' {
            if !self.settle_object(out) {
                return Step::Bad;
            }
        } else if !self.settle_set(out) {
            return Step::Bad;
        }
        let (close, members) = match c {
            '{' => ('}', Members::Unknown),
            '[' => (']', Members::Items),
            _ => (')', Members::Group),
        };
        self.frames.push(Frame { close, at: out.len(), members });
        out.push(if c == '{' { '{' } else { '[' });
        self.state = State::Value;
        Step::Next
    }

    /// The first item of a brace has no name: it is a set, which JSON writes as an array.
    pub(super) fn settle_set(&mut self, out: &mut String) -> bool {
        let in_doubled = self.in_doubled();
        if let Some(frame) = self.frames.last_mut()
            && frame.members == Members::Unknown
        {
            if in_doubled {
                return false;
            }
            out.replace_range(frame.at..frame.at + 1, "[");
            frame.members = Members::Items;
            self.note(Repair::Sequences);
        }
        true
    }

    /// The first item of a brace is a brace: written twice, as in the templates that models were taught with. No set has
    /// objects in it.
    fn settle_object(&mut self, out: &mut String) -> bool {
        let in_doubled = self.in_doubled();
        let Some(frame) = self.frames.last_mut() else { return true };
        match frame.members {
            Members::Unknown if !in_doubled => {
                out.truncate(frame.at);
                frame.members = Members::Doubled;
                self.note(Repair::Closers);
                true
            }
            Members::Unknown => false,
            Members::Items => frame.close != '}',
            _ => true,
        }
    }

    /// Whether the innermost bracket is the second of two braces.
    fn in_doubled(&self) -> bool {
        matches!(self.frames.as_slice(), [.., outer, _] if outer.members == Members::Doubled)
    }

    /// Whether an object is open that is an item of a list: where the list ends, so does the object.
    pub(super) fn is_item_open(&self) -> bool {
        matches!(self.frames.as_slice(), [.., list, object]
            if list.close == ']' && object.members == Members::Value)
    }

    pub(super) fn close(&mut self, out: &mut String) -> Step {
        if self.comma {
            self.comma = false;
            self.note(Repair::Commas);
        }
        let Some(frame) = self.frames.pop() else {
            return Step::Bad;
        };
        match frame.members {
            Members::Items => out.push(']'),
            Members::Doubled => {}
            Members::Group if out.len() == frame.at + 1 => {
                self.note(Repair::Sequences);
                out.push(']');
            }
            // Around a single value they mean nothing.
            Members::Group => {
                self.note(Repair::Sequences);
                out.remove(frame.at);
            }
            _ => out.push('}'),
        }
        self.after_text = false;
        self.state = if self.frames.is_empty() { State::Over } else { State::After };
        Step::Next
    }
}
