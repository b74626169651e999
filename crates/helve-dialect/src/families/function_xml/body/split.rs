//! A parameter that begins inside a value nothing has closed: either a closing tag is missing, or all of it is data.
//!
//! What follows its own closing tag decides: a tag of the call, or more of the value around it. Until then it is held
//! back, and nothing else is.

use super::{TagBody, TagState, WORD_MAX};
use crate::calls::CallReport;
use crate::families::function_xml::Element;
use crate::families::function_xml::body::tag::{self, Tag};
use crate::families::function_xml::body::value::ValueGap;
use helve_json::work::count_bytes;

pub(super) struct Split {
    /// All of it, as it was written.
    raw: String,
    part: SplitPart,
    key: String,
    /// Where the tag begins that opens its value, and where that tag ends.
    tag_at: usize,
    value_at: usize,
    /// What closes it if something structural follows, and where that begins.
    closing: Option<(Element, usize)>,
    gap: ValueGap,
}

#[derive(Clone, Copy, PartialEq)]
enum SplitPart {
    Key,
    /// Between the key and its value.
    Gap,
    Value,
}

impl Split {
    /// Takes text; says whether it can still be a parameter of its own.
    fn push_text(&mut self, text: &str) -> bool {
        let goes_on = match (self.part, self.closing) {
            (SplitPart::Key, _) => self.raw.len() + text.len() < WORD_MAX,
            (SplitPart::Gap, _) => self.gap.push_text(text),
            (SplitPart::Value, Some((closing, _))) if !self.gap.push_text(text) => {
                self.closing = None;
                closing != Element::Parameter
            }
            (SplitPart::Value, _) => true,
        };
        self.raw.push_str(text);
        goes_on
    }
}

impl TagBody {
    /// What closes the value at hand if something structural follows.
    pub(super) fn closing_element(&self) -> Option<Element> {
        match &self.split {
            Some(split) => split.closing.map(|(element, _)| element),
            None => self.value.closing,
        }
    }

    /// Whether the call has a parameter of this name, or may have one.
    pub(super) fn has_begun(&self, key: &str) -> bool {
        self.call.keys.contains(key) || self.split.as_ref().is_some_and(|split| split.key == key)
    }

    pub(super) fn is_at_line_start(&self) -> bool {
        match &self.split {
            Some(split) => split.raw.ends_with('\n'),
            None => self.value.is_at_line_start(),
        }
    }

    /// Text inside the value.
    pub(super) fn push_value_text(&mut self, text: &str, report: &mut CallReport<'_, '_>) {
        match &mut self.split {
            None => self.value.push_text(text, report),
            Some(split) => {
                if !split.push_text(text) {
                    self.reject_split(report);
                }
            }
        }
    }

    /// A tag that is part of the value.
    pub(super) fn push_tag_as_value(&mut self, raw: &str, report: &mut CallReport<'_, '_>) {
        match &self.split {
            None => self.value.push_tag_as_data(raw, report),
            Some(_) => self.push_value_text(raw, report),
        }
    }

    /// A closing tag that counts if something structural follows.
    pub(super) fn note_possible_close(
        &mut self,
        raw: &str,
        element: Element,
        report: &mut CallReport<'_, '_>,
    ) {
        match &mut self.split {
            None => self.value.note_possible_close(raw, element, report),
            Some(split) => {
                split.closing = Some((element, split.raw.len()));
                split.gap = ValueGap::default();
                split.raw.push_str(raw);
            }
        }
    }

    /// Something stands behind that closing tag which decides nothing.
    pub(super) fn extend_possible_close(&mut self, raw: &str) {
        match (&mut self.split, self.value.closing) {
            (Some(split), _) => split.raw.push_str(raw),
            (None, Some(element)) => self.value.extend_possible_close(raw, element),
            (None, None) => {}
        }
    }

    /// The same for the closing tag of a parameter.
    pub(super) fn note_possible_parameter_close(
        &mut self,
        raw: &str,
        tag: &Tag<'_>,
        report: &mut CallReport<'_, '_>,
    ) {
        if self.closing_element() == Some(Element::Parameter) {
            // The one before it closed what stands inside the value.
            self.reject_split(report);
        }
        match &self.split {
            None => self.value.note_possible_parameter_close(raw, tag, report),
            Some(_) => self.note_possible_close(raw, Element::Parameter, report),
        }
    }

    /// A parameter may begin with this tag, or with this key.
    pub(super) fn begin_split(&mut self, raw: &str, tag: &Tag<'_>, report: &mut CallReport<'_, '_>) {
        // Where a third one begins, the second has no closing tag either.
        self.accept_split(report);
        self.value.push_closer_as_data(report);
        let (part, key) = match &tag.label {
            Some(label) if tag.kind == Some(Element::Parameter) => {
                (SplitPart::Value, label.clone().into_owned())
            }
            _ => (SplitPart::Key, String::new()),
        };
        let (raw, value_at) = (raw.to_owned(), raw.len());
        let split = Split { raw, part, key, tag_at: 0, value_at, closing: None, gap: ValueGap::default() };
        self.split = Some(Box::new(split));
    }

    /// Whether the tag belongs to the key of what may be a parameter.
    pub(super) fn take_key_tag(&mut self, raw: &str, tag: &Tag<'_>, report: &mut CallReport<'_, '_>) -> bool {
        let Some(mut split) = self.split.take() else { return false };
        let belongs = match (split.part, tag.kind, tag.closes) {
            (SplitPart::Key, Some(Element::Key), true) => {
                split.key.push_str(split.raw[split.value_at..].trim());
                split.part = SplitPart::Gap;
                !split.key.is_empty() && self.is_awaited(&split.key, report)
            }
            (SplitPart::Gap, Some(Element::Value), false) if !self.value.lacks_suffix(tag) => {
                split.part = SplitPart::Value;
                split.tag_at = split.raw.len();
                split.value_at = split.raw.len() + raw.len();
                true
            }
            (SplitPart::Value, ..) => {
                self.split = Some(split);
                return false;
            }
            _ => {
                self.split = Some(split);
                self.reject_split(report);
                return false;
            }
        };
        split.raw.push_str(raw);
        self.split = Some(split);
        if !belongs {
            self.reject_split(report);
        }
        true
    }

    /// It is a parameter: the value before it is over, and it is the value now.
    pub(super) fn accept_split(&mut self, report: &mut CallReport<'_, '_>) {
        let Some(split) = self.split.take() else { return };
        if split.part != SplitPart::Value {
            self.split = Some(split);
            self.reject_split(report);
            return;
        }
        count_bytes(split.raw.len());
        // Words stand between the two, or the first one's value holds its own closing tag: it is unknown which.
        self.call.bad |= self.value.torn;
        self.end_value(report);
        let tag = tag::parse(self.grammar, &split.raw[split.tag_at..split.value_at]);
        self.begin_value(&split.key, &tag, report);
        if self.state == TagState::Value {
            let end = split.closing.map_or(split.raw.len(), |(_, at)| at);
            self.value.push_text(&split.raw[split.value_at..end], report);
        }
    }

    /// It is part of the value.
    fn reject_split(&mut self, report: &mut CallReport<'_, '_>) {
        let Some(split) = self.split.take() else { return };
        count_bytes(split.raw.len());
        let first = match split.part {
            SplitPart::Value => split.value_at,
            SplitPart::Key | SplitPart::Gap => split.raw.find('>').map_or(0, |at| at + 1),
        };
        self.value.push_tag_as_data(&split.raw[..first], report);
        self.value.push_text(&split.raw[first..], report);
    }
}
