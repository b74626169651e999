//! Text that grows part by part, with a blank line between parts.
//!
//! What belongs to a finished step stays. Of the step in progress every part may still grow, or turn out to be
//! none: an attempt broke off, or nothing but blanks was written.

use std::ops::Range;

use helve_types::PartId;

#[derive(Default)]
pub(crate) struct AccumulatedText {
    all: String,
    /// Where the step in progress begins.
    base: usize,
    /// The parts of the step in progress, as they stand in `all`.
    parts: Vec<PartRange>,
    /// The latest part, as long as it is blank.
    blank: Option<(PartId, String)>,
    /// From here on `all` differs from what was last looked at.
    changed_from: Option<usize>,
}

struct PartRange {
    id: PartId,
    range: Range<usize>,
    finished: bool,
}

impl AccumulatedText {
    pub(crate) fn text(&self) -> &str {
        &self.all
    }

    /// From where on the text has changed since this was last asked, if it has.
    pub(crate) fn take_change(&mut self) -> Option<usize> {
        self.changed_from.take()
    }

    /// The part is this, whatever was known of it.
    pub(crate) fn set_part(&mut self, part: &PartId, text: &str) {
        let Some(at) = self.position_of_part(part) else { return self.add_part(part, text) };
        let range = self.parts[at].range.clone();
        match text.strip_prefix(&self.all[range.clone()]) {
            Some(more) => self.splice(at, range.end, more),
            None => self.splice(at, range.start, text),
        }
    }

    /// The part goes on with this. False if there is no such part here.
    pub(crate) fn push_to_part(&mut self, part: &PartId, text: &str) -> bool {
        if let Some(at) = self.position_of_part(part) {
            self.splice(at, self.parts[at].range.end, text);
            return true;
        }
        let Some((_, known)) = self.blank.take_if(|(id, _)| id == part) else { return false };
        self.add_part(part, &(known + text));
        true
    }

    pub(crate) fn finish_part(&mut self, part: &PartId, text: &str) {
        self.set_part(part, text);
        if let Some(at) = self.position_of_part(part) {
            self.parts[at].finished = true;
        }
    }

    /// The step is over or begins again: what is not finished was no part of it.
    pub(crate) fn end_step(&mut self) {
        self.blank = None;
        let parts = std::mem::take(&mut self.parts);
        if let Some(first) = parts.iter().position(|part| !part.finished) {
            let rest: Vec<String> = parts[first..]
                .iter()
                .filter(|part| part.finished)
                .map(|part| self.all[part.range.clone()].to_owned())
                .collect();
            let end = first.checked_sub(1).map_or(self.base, |before| parts[before].range.end);
            self.all.truncate(end);
            self.mark_changed_from(end);
            for text in rest {
                self.append(&text);
            }
        }
        self.base = self.all.len();
    }

    fn position_of_part(&self, part: &PartId) -> Option<usize> {
        self.parts.iter().rposition(|held| held.id == *part)
    }

    fn add_part(&mut self, part: &PartId, text: &str) {
        if text.trim().is_empty() {
            self.blank = Some((part.clone(), text.to_owned()));
            return;
        }
        self.blank = None;
        let range = self.append(text);
        self.parts.push(PartRange { id: part.clone(), range, finished: false });
    }

    fn append(&mut self, text: &str) -> Range<usize> {
        self.mark_changed_from(self.all.len());
        if !self.all.is_empty() {
            self.all.push_str("\n\n");
        }
        let start = self.all.len();
        self.all.push_str(text);
        start..self.all.len()
    }

    /// Puts `text` in the place of the part's end from `from` on, and moves the parts behind it.
    fn splice(&mut self, at: usize, from: usize, text: &str) {
        let end = self.parts[at].range.end;
        if from == end && text.is_empty() {
            return;
        }
        self.all.replace_range(from..end, text);
        self.mark_changed_from(from);
        let moved = |place: usize| place - end + from + text.len();
        self.parts[at].range.end = moved(end);
        for part in &mut self.parts[at + 1..] {
            part.range = moved(part.range.start)..moved(part.range.end);
        }
    }

    fn mark_changed_from(&mut self, from: usize) {
        self.changed_from = Some(self.changed_from.map_or(from, |earlier| earlier.min(from)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(n: u32) -> PartId {
        PartId::new(1, 1, n)
    }

    #[test]
    fn parts_that_are_shown_and_then_finished_stand_there_once() {
        let mut text = AccumulatedText::default();
        text.set_part(&part(0), "One");
        assert!(text.push_to_part(&part(0), " thing."));
        text.set_part(&part(2), "Another");
        assert_eq!(text.text(), "One thing.\n\nAnother");
        text.take_change();
        text.finish_part(&part(0), "One thing.");
        text.finish_part(&part(2), "Another");
        assert_eq!((text.take_change(), text.text()), (None, "One thing.\n\nAnother"));
        text.end_step();
        assert_eq!((text.take_change(), text.text()), (None, "One thing.\n\nAnother"));
    }

    #[test]
    fn a_blank_part_is_nothing_until_it_is_more() {
        let mut text = AccumulatedText::default();
        text.set_part(&part(0), "\n");
        assert_eq!((text.take_change(), text.text()), (None, ""));
        assert!(text.push_to_part(&part(0), " Hi"));
        assert_eq!((text.take_change(), text.text()), (Some(0), "\n Hi"));
        text.set_part(&part(1), " ");
        text.set_part(&part(2), "you");
        assert_eq!(text.text(), "\n Hi\n\nyou");
        assert!(!text.push_to_part(&part(1), "late"));
    }

    #[test]
    fn what_is_not_finished_when_the_step_ends_is_taken_back() {
        let mut text = AccumulatedText::default();
        text.finish_part(&part(0), "Kept.");
        text.end_step();
        for (n, words) in [(1, "a"), (2, "bé"), (3, "c"), (4, "d")] {
            text.set_part(&part(n), words);
        }
        text.finish_part(&part(1), "a");
        text.finish_part(&part(3), "cc");
        assert_eq!(text.text(), "Kept.\n\na\n\nbé\n\ncc\n\nd");
        text.take_change();
        text.end_step();
        assert_eq!((text.take_change(), text.text()), (Some(8), "Kept.\n\na\n\ncc"));
        text.set_part(&PartId::new(2, 1, 0), "wrong");
        text.end_step();
        assert_eq!(text.text(), "Kept.\n\na\n\ncc");
    }

    #[test]
    fn another_text_replaces_the_part_and_moves_those_behind_it() {
        let mut text = AccumulatedText::default();
        text.set_part(&part(0), "abc");
        text.set_part(&part(1), "xyz");
        text.take_change();
        text.set_part(&part(0), "abcd");
        assert_eq!((text.take_change(), text.text()), (Some(3), "abcd\n\nxyz"));
        text.set_part(&part(0), "q");
        assert_eq!((text.take_change(), text.text()), (Some(0), "q\n\nxyz"));
        text.push_to_part(&part(1), "!");
        assert_eq!((text.take_change(), text.text()), (Some(6), "q\n\nxyz!"));
    }
}
