//! What a tag means where it stands: inside a value, inside a call, or between calls.

use super::{KIND, TagBody, TagState, call};
use crate::body::{BodyStep, TextChunk, Unclaimed};
use crate::calls::CallReport;
use crate::dialect::{END_TOKENS, Reasoning};
use crate::families::function_xml::Element;
use crate::families::function_xml::body::tag::{self, Tag};
use crate::families::reasoning::think;

impl TagBody {
    pub(super) fn handle_tag(
        &mut self,
        raw: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let grammar = self.grammar;
        let tag = tag::parse(grammar, raw);
        match self.state {
            // The value of a quotation is left open as easily as the call.
            TagState::Value if tag.kind == Some(Element::Channel) && report.calls.is_waiting() => {
                Some(BodyStep::NotACall(Unclaimed { back: raw.len(), pos: chunk.pos }))
            }
            TagState::Value => {
                if !self.ends_value(raw, &tag, report) {
                    return None;
                }
                self.handle_tag_in_call(raw, &tag, chunk, report)
            }
            TagState::Word => {
                match self.begin_call_named_by_text(chunk.held_position(report) - raw.len(), report) {
                    true => self.handle_tag_in_call(raw, &tag, chunk, report),
                    false => {
                        self.state = TagState::Between;
                        self.call.bad = false;
                        self.reject_call(chunk, report)
                    }
                }
            }
            TagState::Kind if matches!(self.word.trim(), "" | KIND) => {
                self.state = TagState::Between;
                self.handle_tag_between_calls(raw, &tag, chunk, report)
            }
            TagState::Kind => self.end_before_trailing(self.word.len() + raw.len(), chunk, report),
            TagState::Key if tag.kind == Some(Element::Key) && tag.closes => {
                self.call.has_key = true;
                self.state = TagState::Call;
                None
            }
            TagState::Key if tag.kind == Some(Element::Name) && tag.closes => {
                let name = std::mem::take(&mut self.word);
                self.state = TagState::Call;
                self.name_call(name.trim(), report);
                None
            }
            TagState::Key => {
                self.word.push_str(raw);
                None
            }
            TagState::Between => self.handle_tag_between_calls(raw, &tag, chunk, report),
            _ => {
                if self.call.words.is_possible() {
                    self.finish_words(chunk.held_position(report) - raw.len());
                }
                self.handle_tag_in_call(raw, &tag, chunk, report)
            }
        }
    }

    /// Begins the call that the text up to this place names with its first line; says whether it does. What else it holds
    /// are words.
    fn begin_call_named_by_text(&mut self, end: usize, report: &mut CallReport<'_, '_>) -> bool {
        let word = std::mem::take(&mut self.word);
        let (name, rest) = word.split_at(word.find(['\n', '\\']).unwrap_or(word.len()));
        self.begin_call(Some(name.trim()), report);
        let named = !self.call.bad;
        self.record_words_after_name(rest, end);
        self.word = word;
        named
    }

    fn handle_tag_between_calls(
        &mut self,
        raw: &str,
        tag: &Tag<'_>,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        match (tag.kind, tag.closes) {
            // The section began with it: behind a call it is a stray, and before any it is text.
            (Some(_), true) if self.in_mark => {
                let rest = Unclaimed::from_position(chunk.pos);
                return Some(if has_earlier_call(report) {
                    BodyStep::Done(rest)
                } else {
                    BodyStep::NotACall(rest)
                });
            }
            // The head has said all there is to say.
            (Some(Element::End), _) if self.calls == 0 && self.is_named_by_head(report) => {
                self.begin_call(None, report);
                self.end_call("", chunk, report);
                return Some(self.section_result(Unclaimed::from_position(chunk.pos)));
            }
            (Some(Element::Wrapper), true) | (Some(Element::End), _) => {
                return Some(self.section_result(Unclaimed::from_position(chunk.pos)));
            }
            (Some(Element::Parameter), false) if self.is_named_by_head(report) => {
                self.begin_call(None, report);
                return self.handle_tag_in_call(raw, tag, chunk, report);
            }
            (Some(element @ (Element::Wrapper | Element::Skip)), _) => {
                self.enclosed |= element == Element::Wrapper;
                self.take_all_waiting(chunk, report);
            }
            (Some(Element::Kind), false) => {
                self.take_all_waiting(chunk, report);
                self.word.clear();
                self.state = TagState::Kind;
            }
            (Some(Element::Call), false) => {
                self.drop_nameless_calls(raw, chunk, report);
                self.begin_call(tag.label.as_deref(), report);
                if tag.empty {
                    return self.close_call("", chunk, report);
                }
            }
            (Some(Element::NamedByText), false) => {
                self.word.clear();
                self.state = TagState::Word;
            }
            (Some(Element::Call | Element::NamedByText), true) => self.take_all_waiting(chunk, report),
            _ => return self.end_before_trailing(raw.len(), chunk, report),
        }
        None
    }

    /// Another call begins with this tag: those that had no name were meant as such.
    fn drop_nameless_calls(&mut self, raw: &str, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        if std::mem::take(&mut self.nameless) {
            self.drop_broken_call_before(raw, chunk, report);
        }
    }

    /// Whether the head of the message has named the call, and nothing else is said of it.
    fn is_named_by_head(&self, report: &CallReport<'_, '_>) -> bool {
        self.grammar.headed && report.calls.has_started()
    }

    /// A tag inside a call, outside its values.
    fn handle_tag_in_call(
        &mut self,
        raw: &str,
        tag: &Tag<'_>,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        match (tag.kind, tag.closes) {
            (Some(Element::Parameter | Element::Key | Element::Name | Element::Value), false) => {
                self.open_member_tag(tag, report)
            }
            (Some(Element::Group), closes) if closes == self.call.in_group => self.call.in_group = !closes,
            (Some(Element::Json), closes) if closes == self.call.in_json => self.call.in_json = !closes,
            (Some(Element::Skip), _) => {}
            (Some(Element::Call | Element::NamedByText), true) => {
                return self.leave_call(chunk, report);
            }
            (Some(Element::Wrapper | Element::Call), false)
                if !self.grammar.reopens
                    && self.call.words.ends_at(chunk.held_position(report) - raw.len()) =>
            {
                self.call.words.reopen_last();
                self.call.quotes = true;
            }
            // Said once more before any argument, it opens nothing.
            (Some(Element::Wrapper), false) if !self.has_arguments() && !self.lacks_any_evidence(report) => {
                self.call.stray = true;
            }
            (
                Some(Element::Wrapper | Element::Call | Element::NamedByText | Element::Kind | Element::End),
                _,
            ) => {
                return self.leave_call_before(raw, tag, chunk, report);
            }
            // A call in a channel that is closed before the call is a quotation.
            (Some(Element::Channel), _) if report.calls.is_waiting() => {
                return Some(BodyStep::NotACall(Unclaimed { back: raw.len(), pos: chunk.pos }));
            }
            (Some(Element::Channel), _) => {
                self.end_call(raw, chunk, report);
                return self.end_before_trailing(raw.len(), chunk, report);
            }
            (None, false) if self.call.in_group => {
                self.begin_value(tag.element, tag, report);
                self.value.element.push_str(tag.element);
            }
            (None, _) if self.skip_unknown_tag(raw, tag, chunk, report) => {}
            // It closes what nothing has opened, and there is nothing that it could have closed.
            (Some(_), true) if !self.call.words.ends_at(chunk.held_position(report) - raw.len()) => {
                self.call.stray = true;
            }
            _ => self.break_call(),
        }
        None
    }

    /// A tag opens a parameter, or a part of one: its key, its value, or the name of the call.
    fn open_member_tag(&mut self, tag: &Tag<'_>, report: &mut CallReport<'_, '_>) {
        match tag.kind {
            Some(Element::Parameter) => match &tag.label {
                Some(label) => self.begin_value(label, tag, report),
                None => self.call.bad = true,
            },
            Some(Element::Key) => {
                // A body in JSON holds all arguments there are.
                self.call.bad |= self.call.has_key || self.state == TagState::AfterJson;
                self.begin_key();
            }
            Some(Element::Value) => {
                let mut key = std::mem::take(&mut self.word);
                self.call.bad |= !self.call.has_key;
                self.begin_value(key.trim(), tag, report);
                // A second value has no key of its own, and must not look at a long one again.
                key.clear();
                self.word = key;
            }
            // A call that has arguments has had its name.
            _ if !self.has_arguments() && report.call_name().is_none() => self.begin_key(),
            _ => self.break_call(),
        }
    }

    fn begin_key(&mut self) {
        self.word.clear();
        self.state = TagState::Key;
    }

    /// An argument whose tag went wrong must not be missing unnoticed.
    fn break_call(&mut self) {
        self.call.bad = true;
        self.call.stray = true;
    }

    /// The call ends with its own tag, and perhaps the section with it.
    fn leave_call(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<BodyStep> {
        let step = self.close_call("", chunk, report);
        step.or_else(|| {
            self.ends_with_its_call(report).then(|| self.section_result(Unclaimed::from_position(chunk.pos)))
        })
    }

    /// The call ends before a tag that is not its own, and that is read as one between calls.
    fn leave_call_before(
        &mut self,
        raw: &str,
        tag: &Tag<'_>,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let step = self.close_call(raw, chunk, report);
        if step.is_none() && self.ends_with_its_call(report) && !report.calls.is_waiting() {
            return Some(self.section_result(Unclaimed { back: raw.len(), pos: chunk.pos }));
        }
        step.or_else(|| self.handle_tag_between_calls(raw, tag, chunk, report))
    }

    /// Takes a tag that no grammar knows and that can be no argument: one around all of them, a mark of reasoning, the token
    /// that ends the turn, or a comment. Says whether it is such.
    fn skip_unknown_tag(
        &mut self,
        raw: &str,
        tag: &Tag<'_>,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> bool {
        // On trial, the end of reasoning may be the end of what the call is quoted in.
        let reasoning =
            |marks: &Reasoning| !report.calls.is_waiting() && [marks.open, marks.close].contains(&raw);
        if END_TOKENS.contains(&raw) || think::MARKS.iter().any(reasoning) {
            return true;
        }
        if raw.starts_with("<!") || raw.starts_with("<?") {
            self.push_tag_as_words(raw, chunk, report);
            return true;
        }
        let declares = |tool| report.tools.has_parameter(tool, tag.element);
        let Some(encloser) = call::enclosing_element(tag.element) else { return false };
        if tag.label.is_some() || report.call_name().is_some_and(declares) {
            return false;
        }
        match tag.closes || tag.empty {
            true => self.call.enclosed = "",
            false => self.call.enclosed = encloser,
        }
        true
    }

    /// A whole tag inside the call is words, or goes on with them.
    fn push_tag_as_words(&mut self, raw: &str, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        match self.call.words.ends_at(chunk.held_position(report) - raw.len()) {
            true => self.call.words.reopen_last(),
            false => self.handle_text_in_call(raw, raw.len(), chunk, report),
        }
    }

    /// Whether the section ends with its call. Without a wrapper, the next mark may be another dialect's. A call on trial is
    /// over at once, unless what stands in it shows that it may have swallowed the end of what it is quoted in.
    fn ends_with_its_call(&self, report: &CallReport<'_, '_>) -> bool {
        let alone = !self.grammar.has(Element::Wrapper) && !self.grammar.has(Element::End);
        let ends = match report.calls.is_waiting() {
            true => self.calls == 1 && !self.call.stray,
            false => self.grammar.has(Element::NamedByText),
        };
        alone && ends
    }

    /// The call that is open is over, with its own tag or with this one that is not its own.
    fn close_call(
        &mut self,
        behind: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        if self.lacks_any_evidence(report) {
            if self.calls == 0 {
                return Some(BodyStep::NotACall(Unclaimed { back: behind.len(), pos: chunk.pos }));
            }
            self.call.bad = true;
        }
        self.end_call(behind, chunk, report);
        None
    }
}

/// Whether a call of this dialect came before.
pub(super) fn has_earlier_call(report: &CallReport<'_, '_>) -> bool {
    report.calls.has_call_of(report.calls.dialect) || report.calls.any_call_waits()
}
