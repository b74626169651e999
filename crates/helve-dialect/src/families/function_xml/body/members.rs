//! Parameters inside a call: where their values end, and how they become members of the arguments.

use super::call::WrappedCall;
use super::{TagBody, TagState};
use crate::calls::CallReport;
use crate::dialect::END_TOKENS;
use crate::families::function_xml::Element;
use crate::families::function_xml::body::tag::Tag;
use helve_json::inspect;
use helve_json::literal::strings;

impl TagBody {
    /// Whether the tag shows that the value before it is over. Otherwise it belongs to the value.
    pub(super) fn ends_value(&mut self, raw: &str, tag: &Tag<'_>, report: &mut CallReport<'_, '_>) -> bool {
        if self.split.is_some() && self.take_key_tag(raw, tag, report) {
            return false;
        }
        if self.closes_without_suffix(tag) {
            // Two tags that forgot the suffix prove less than one that has it: what follows them must fit as well.
            self.value.extend_possible_close(raw, Element::NamedByText);
            return false;
        }
        if self.closing_element().is_some() && END_TOKENS.contains(&raw) {
            // Whatever the message ends with, the value was over before.
            self.extend_possible_close(raw);
            return false;
        }
        if self.is_structural(tag, report) {
            self.accept_split(report);
            self.end_value(report);
            return true;
        }
        match self.value.lacks_suffix(tag) {
            false => self.handle_tag_inside_value(raw, tag, report),
            true if self.split.is_some() => self.push_tag_as_value(raw, report),
            true => self.value.push_foreign_tag(raw, tag, report),
        }
        false
    }

    /// Whether a tag that forgot its suffix closes the call behind a value that one has closed.
    fn closes_without_suffix(&self, tag: &Tag<'_>) -> bool {
        let closes = (self.closing_element(), tag.kind, tag.closes)
            == (Some(Element::Parameter), Some(Element::NamedByText), true);
        let foreign = self.split.is_none() && self.value.lacks_suffix(tag);
        closes && foreign && self.value.loosely && !self.value.lacks_prefix(tag)
    }

    /// Whether the tag is one that stands behind a value which the tag before it may have closed.
    fn is_structural(&self, tag: &Tag<'_>, report: &CallReport<'_, '_>) -> bool {
        let foreign = self.value.lacks_suffix(tag);
        match (self.closing_element(), tag.kind, tag.closes) {
            (None, ..) => false,
            _ if self.value.lacks_prefix(tag) => false,
            _ if foreign && self.split.is_some() => false,
            (Some(_), Some(Element::Wrapper), false) if self.value.loosely => false,
            (Some(_), Some(Element::Wrapper | Element::Call | Element::NamedByText), false) => true,
            (Some(Element::Wrapper), ..) => false,
            (Some(_), Some(Element::Wrapper), true) | (Some(_), Some(Element::End), _) => true,
            (Some(_), Some(Element::Skip | Element::Kind | Element::Channel), _) => true,
            (Some(Element::Call | Element::NamedByText), ..) => false,
            (Some(_), Some(Element::Call | Element::NamedByText | Element::Group), true) => true,
            (Some(_), Some(Element::Key | Element::Value), _) => !tag.closes,
            // What closed the value may belong to a parameter inside it, and then this is one too.
            (Some(_), Some(Element::Parameter), false) if self.value.is_weak || self.split.is_some() => {
                self.parameter_may_begin(tag, report)
            }
            (Some(_), Some(Element::Parameter), false) => tag.label.is_some(),
            (Some(_), None, true) if !self.call.enclosed.is_empty() => tag.element == self.call.enclosed,
            (Some(_), None, false) => !self.value.element.is_empty(),
            _ => false,
        }
    }

    /// A tag that belongs to the value, or may close it, or may begin the next parameter.
    fn handle_tag_inside_value(&mut self, raw: &str, tag: &Tag<'_>, report: &mut CallReport<'_, '_>) {
        match (tag.kind, tag.closes) {
            (Some(Element::Wrapper | Element::Call), _) if self.value.lacks_prefix(tag) => {}
            (Some(Element::Parameter), false) if tag.label.is_some() => {
                if self.value.is_quoting(Element::Call) {
                    self.value.open_quoted(Element::Parameter);
                } else if self.parameter_may_begin(tag, report) {
                    self.begin_split(raw, tag, report);
                    return;
                } else if self.split.is_none() && self.value.is_closed_alike(tag) {
                    self.value.inside += 1;
                }
            }
            (Some(element @ (Element::Wrapper | Element::NamedByText)), false) => {
                self.value.open_quoted(element)
            }
            (Some(Element::Call), false) if tag.label.is_some() => self.value.open_quoted(Element::Call),
            (Some(Element::Key), false) if !self.value.is_quoting(Element::NamedByText) => {
                self.begin_split(raw, tag, report);
                return;
            }
            // The value of a call that is written out stands behind its key.
            (Some(Element::Key), true) if self.value.is_quoting(Element::NamedByText) => {
                self.value.open_quoted(Element::Key);
            }
            (Some(Element::Value), false) if self.value.close_quoted(Element::Key) => {
                self.value.open_quoted(Element::Value);
            }
            (Some(element @ (Element::Parameter | Element::Value)), true)
                if self.value.element.is_empty() && !self.value.close_quoted(element) =>
            {
                self.note_possible_parameter_close(raw, tag, report);
                return;
            }
            (None, true) if !self.value.element.is_empty() && self.value.element == tag.element => {
                self.value.note_possible_close(raw, Element::Parameter, report);
                return;
            }
            (Some(element @ (Element::Call | Element::NamedByText | Element::Wrapper)), true)
                if !self.value.close_quoted(element) && !tag.empty =>
            {
                self.note_possible_close(raw, element, report);
                return;
            }
            _ => {}
        }
        self.push_tag_as_value(raw, report);
    }

    /// Whether a parameter may begin inside a value that nothing has surely closed. Elsewhere its tag is data.
    fn parameter_may_begin(&self, tag: &Tag<'_>, report: &CallReport<'_, '_>) -> bool {
        let spelt = self.value.element.is_empty() && self.value.is_spelt_like(tag) && !tag.empty;
        spelt && tag.label.as_deref().is_some_and(|label| self.is_awaited(label, report))
    }

    /// Whether the call awaits a parameter of this name: one that it has not, and that its tool declares. Where it is
    /// unknown what the tool declares, it may be any that begins a line.
    pub(super) fn is_awaited(&self, key: &str, report: &CallReport<'_, '_>) -> bool {
        let declared = |tool| match report.tools.schema(tool) {
            Some(schema) if schema.get("properties").is_some() => report.tools.has_parameter(tool, key),
            _ => report.tools.is_unknown() || self.is_at_line_start(),
        };
        !self.has_begun(key) && report.call_name().is_none_or(declared)
    }

    pub(super) fn begin_value(&mut self, key: &str, tag: &Tag<'_>, report: &mut CallReport<'_, '_>) {
        self.emit_wrapped(report);
        // A body in JSON holds all arguments there are, and what is quoted may have some of its own.
        self.call.bad |= self.state == TagState::AfterJson || self.call.quotes;
        self.call.has_key = false;
        let is_new = self.call.keys.insert(key);
        self.call.bad |= self.grammar.once && !is_new;
        self.state = TagState::Value;
        self.value.begin(key, tag, self.grammar, report);
        if self.call.arguments == 0 && self.may_wrap_text(key, report) {
            self.value.stop_streaming();
        }
        if self.value.is_streaming() {
            self.open_member(key, "\": \"", report);
        }
        if tag.empty {
            self.end_value(report);
        }
    }

    pub(super) fn end_value(&mut self, report: &mut CallReport<'_, '_>) {
        self.state = TagState::Call;
        if self.value.is_streaming() {
            report.push_arguments("\"");
            return;
        }
        let json = self.value.to_json(self.grammar, report);
        let key = std::mem::take(&mut self.value.key);
        let written = self.value.written_text();
        if self.call.arguments == 0 && self.may_wrap(&key, report) && inspect::is_object(&json) {
            self.call.wrapped = Some(Box::new(WrappedCall { all: json, one: None }));
        } else if self.call.arguments == 0 && self.may_wrap_text(&key, report) && inspect::is_object(written)
        {
            self.call.wrapped =
                Some(Box::new(WrappedCall { all: written.trim().to_owned(), one: Some(json) }));
        } else {
            self.open_member(&key, "\": ", report);
            report.push_arguments(&json);
        }
        self.value.key = key;
    }

    /// Whether a parameter of this name may hold all others.
    fn may_wrap(&self, key: &str, report: &CallReport<'_, '_>) -> bool {
        self.grammar.wraps.contains(&key)
            && !report.call_name().is_some_and(|tool| report.tools.has_parameter(tool, key))
    }

    /// The same for one that says of itself that it is text. Only a list of parameters without it shows that this is wrong.
    fn may_wrap_text(&self, key: &str, report: &CallReport<'_, '_>) -> bool {
        let lists = |tool| report.tools.schema(tool).is_some_and(|schema| schema.get("properties").is_some());
        self.may_wrap(key, report) && report.call_name().is_some_and(lists)
    }

    /// What seemed to wrap the arguments is one of them.
    fn emit_wrapped(&mut self, report: &mut CallReport<'_, '_>) {
        if let Some(wrapped) = self.call.wrapped.take() {
            let json = wrapped.one.unwrap_or(wrapped.all);
            let key = std::mem::take(&mut self.value.key);
            self.open_member(&key, "\": ", report);
            self.value.key = key;
            report.push_arguments(&json);
        }
    }

    /// Writes the name of a member, up to its value.
    fn open_member(&mut self, key: &str, then: &str, report: &mut CallReport<'_, '_>) {
        self.member.clear();
        self.member.push_str(if self.call.arguments == 0 { "{\"" } else { ", \"" });
        strings::push_text(key, &mut self.member);
        self.member.push_str(then);
        report.push_arguments(&self.member);
        self.call.arguments += 1;
    }
}
