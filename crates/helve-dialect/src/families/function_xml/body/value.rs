//! The value of one parameter: where it ends, and how it becomes JSON.
//!
//! Nothing in a value is escaped, so its closing tag may also be data. It counts only where something structural
//! follows it; until then it waits in the tail. A call written out inside a value is data with all its tags.

use serde_json::Value as Json;

use super::tag::{Tag, Typing};
use crate::ascii;
use crate::calls::CallReport;
use crate::families::function_xml::{Element, Framing, TagGrammar, Untyped};
use helve_json::coerce;
use helve_json::literal::strings;

/// What parts tags and attributes beside blanks: what the tokenizer of some models leaves of a blank and of a line break.
pub(crate) fn is_tokenizer_residue(c: char) -> bool {
    matches!(c, 'Ġ' | 'Ċ')
}

/// The text behind the blanks that it begins with.
pub(crate) fn skip_blanks(text: &str) -> &str {
    let text = ascii::trim_start(text);
    match text.starts_with(is_tokenizer_residue) {
        true => text.trim_start_matches(|c: char| c.is_whitespace() || is_tokenizer_residue(c)),
        false => text,
    }
}

/// Blanks between tags. Some models spell a line break out, as a backslash and an `n`.
#[derive(Default)]
pub(crate) struct ValueGap {
    backslash: bool,
}

impl ValueGap {
    /// Whether the text is nothing else.
    pub(crate) fn push_text(&mut self, text: &str) -> bool {
        self.text_after_gap(text).is_empty()
    }

    /// What of the text is something else, from its first such character on.
    pub(crate) fn text_after_gap<'t>(&mut self, text: &'t str) -> &'t str {
        let ends = |c: char| match self.backslash {
            true => {
                self.backslash = c != 'n';
                self.backslash
            }
            false => {
                self.backslash = c == '\\';
                !(self.backslash || c.is_whitespace() || is_tokenizer_residue(c))
            }
        };
        text.find(ends).map_or("", |at| &text[at..])
    }

    /// Whether a backslash came that is no line break, at least not yet.
    pub(crate) fn is_open(&self) -> bool {
        self.backslash
    }
}

#[derive(Default)]
pub(crate) struct Value {
    pub(crate) key: String,
    /// The element that closes it, where that is not the grammar's.
    pub(crate) element: String,
    /// The suffix of its tag, which its closing tag has too.
    suffix: Option<Box<str>>,
    /// What stands before the name of its element, without bars, which models vary.
    prefix: &'static str,
    /// How its tag gave its name, and whether it spelt its element out.
    assigned: bool,
    is_long: bool,
    /// So many parameters were opened inside it that are data.
    pub(crate) inside: u32,
    /// What closes it may as well close one of those.
    pub(crate) is_weak: bool,
    typing: Option<Typing>,
    one_line: bool,
    /// Goes out while it is read, as the inside of a JSON string.
    is_streamed: bool,
    raw: String,
    begun: bool,
    /// Read, but perhaps framing: a line break, or a closing tag and blanks after it.
    tail: String,
    /// What closes it if something structural follows.
    pub(crate) closing: Option<Element>,
    /// That has not the suffix of the tag that opened the value.
    pub(crate) loosely: bool,
    /// A tag that may have closed it is part of it, because something else stood behind that tag.
    pub(crate) torn: bool,
    gap: ValueGap,
    /// Elements opened inside it.
    quoted: QuotedElements,
    /// Among them are such without the suffix, so that closing tags without it are theirs.
    quotes_others: bool,
    pub(crate) in_cdata: bool,
    quotation: Quotation,
}

/// Where a value stands beside `<![CDATA[…]]>`. Blanks there are none of it.
#[derive(Default, Clone, Copy, PartialEq)]
enum Quotation {
    #[default]
    None,
    /// One may come: nothing but blanks came before.
    Ahead,
    /// One has come, and nothing but blanks behind it.
    Behind,
}

impl Value {
    /// Begins a value, with the buffers of the last one.
    pub(crate) fn begin(
        &mut self,
        key: &str,
        tag: &Tag<'_>,
        grammar: &TagGrammar,
        report: &CallReport<'_, '_>,
    ) {
        self.key.clear();
        self.key.push_str(key);
        self.element.clear();
        self.suffix = (!tag.suffix.is_empty()).then(|| tag.suffix.into());
        self.prefix = tag.prefix();
        self.assigned = tag.assigned;
        self.is_long = tag.is_spelt_out();
        self.quotation = if grammar.cdata { Quotation::Ahead } else { Quotation::None };
        self.inside = 0;
        self.is_weak = false;
        self.raw.clear();
        self.tail.clear();
        self.quoted.clear();
        self.begun = false;
        self.closing = None;
        self.loosely = false;
        self.torn = false;
        self.quotes_others = false;
        self.in_cdata = false;
        let namespace = tag.namespace;
        self.one_line =
            grammar.framing == Framing::OneLine || !namespace.is_empty() && namespace == grammar.one_line_in;
        let is_text = |tool| {
            let by_value = grammar.entities && may_be_text("", key, tool, report).is_some();
            report.tools.is_text_parameter(tool, key).unwrap_or(grammar.untyped == Untyped::Text) && !by_value
        };
        let by_schema = || report.call_name().is_some_and(is_text).then_some(Typing::Text);
        self.typing = tag.typing.or_else(by_schema);
        self.is_streamed = self.typing == Some(Typing::Text) && grammar.framing != Framing::Trimmed;
    }

    /// It may be more than it says, so that it goes out when it is whole.
    pub(crate) fn stop_streaming(&mut self) {
        self.is_streamed = false;
    }

    /// What was written, where it did not stream.
    pub(crate) fn written_text(&self) -> &str {
        &self.raw
    }

    pub(crate) fn is_streaming(&self) -> bool {
        self.is_streamed
    }

    /// Whether plain text goes straight through.
    pub(crate) fn is_plain_text(&self) -> bool {
        self.is_streamed && self.is_open()
    }

    /// Whether plain text only makes it longer.
    pub(crate) fn is_growing(&self) -> bool {
        !self.is_streamed && self.is_open()
    }

    /// Nothing that was read waits for what follows.
    fn is_open(&self) -> bool {
        self.begun && self.tail.is_empty() && self.quotation == Quotation::None && self.closing.is_none()
    }

    pub(crate) fn push_text(&mut self, text: &str, report: &mut CallReport<'_, '_>) {
        if self.closing.is_some() {
            if self.gap.push_text(text) {
                self.tail.push_str(text);
                return;
            }
            self.push_closer_as_data(report);
        }
        if self.quotation != Quotation::None {
            if ascii::is_blank(text) {
                self.tail.push_str(text);
                return;
            }
            self.release_quotation_blanks(report);
        }
        if !self.one_line {
            self.commit(text, report);
            return;
        }
        let mut text = text;
        if !self.begun && !text.is_empty() {
            text = text.strip_prefix('\n').unwrap_or(text);
            self.begun = true;
        }
        if text.is_empty() {
            return;
        }
        self.commit_tail(report);
        let nonblank = text.strip_suffix('\n').unwrap_or(text);
        self.commit(nonblank, report);
        self.tail.push_str(&text[nonblank.len()..]);
    }

    pub(crate) fn begin_cdata(&mut self, report: &mut CallReport<'_, '_>) {
        self.push_closer_as_data(report);
        if self.quotation != Quotation::None {
            self.tail.clear();
        }
        self.quotation = Quotation::None;
        self.in_cdata = true;
    }

    pub(crate) fn end_cdata(&mut self) {
        self.in_cdata = false;
        self.quotation = Quotation::Behind;
    }

    /// The blanks that waited beside a quotation belong to the value.
    fn release_quotation_blanks(&mut self, report: &mut CallReport<'_, '_>) {
        self.quotation = Quotation::None;
        self.commit_tail(report);
    }

    /// A tag, or what only looked like one, that is part of the value.
    pub(crate) fn push_tag_as_data(&mut self, raw: &str, report: &mut CallReport<'_, '_>) {
        self.push_closer_as_data(report);
        self.quotation = Quotation::None;
        self.begun = true;
        self.commit_tail(report);
        self.commit(raw, report);
    }

    /// A closing tag that counts if something structural follows. One that waited before it was data.
    pub(crate) fn note_possible_close(
        &mut self,
        raw: &str,
        element: Element,
        report: &mut CallReport<'_, '_>,
    ) {
        self.push_closer_as_data(report);
        if self.quotation == Quotation::Ahead {
            self.release_quotation_blanks(report);
        }
        self.extend_possible_close(raw, element);
        self.is_weak = false;
    }

    /// A closing tag that counts together with the one that waits.
    pub(crate) fn extend_possible_close(&mut self, raw: &str, element: Element) {
        self.gap = ValueGap::default();
        self.tail.push_str(raw);
        self.closing = Some(element);
    }

    /// The same for the closing tag of a parameter, which may close one that was opened inside the value.
    pub(crate) fn note_possible_parameter_close(
        &mut self,
        raw: &str,
        tag: &Tag<'_>,
        report: &mut CallReport<'_, '_>,
    ) {
        self.note_possible_close(raw, Element::Parameter, report);
        let own = self.is_long == tag.is_spelt_out() && !self.lacks_prefix(tag);
        self.is_weak = self.inside > 0 || !own;
        self.inside = self.inside.saturating_sub(own as u32);
    }

    /// A tag that has not the suffix which all tags here have. Mostly it is data, but models forget the suffix too.
    pub(crate) fn push_foreign_tag(&mut self, raw: &str, tag: &Tag<'_>, report: &mut CallReport<'_, '_>) {
        let bare = tag.suffix.is_empty();
        self.quotes_others |= bare && tag.kind.is_some() && !tag.closes;
        if bare && tag.closes && tag.kind == Some(Element::Value) && !self.quotes_others {
            self.note_possible_close(raw, Element::Parameter, report);
            self.loosely = true;
        } else {
            self.push_tag_as_data(raw, report);
        }
    }

    /// The closing tag that waited is part of the value.
    pub(crate) fn push_closer_as_data(&mut self, report: &mut CallReport<'_, '_>) {
        self.loosely = false;
        if let Some(element) = self.closing.take() {
            self.torn |= matches!(element, Element::Parameter | Element::Value) && !self.is_weak;
            self.quotation = Quotation::None;
            let framed = self.one_line && self.tail.ends_with('\n');
            self.tail.truncate(self.tail.len() - framed as usize);
            self.commit_tail(report);
            self.tail.push_str(if framed { "\n" } else { "" });
        }
    }

    /// Whether the tag has not the suffix that all tags here have.
    pub(crate) fn lacks_suffix(&self, tag: &Tag<'_>) -> bool {
        self.suffix.as_deref().is_some_and(|suffix| suffix != tag.suffix)
    }

    /// Whether the tag is of an element that has a prefix in this section, and it has not.
    pub(crate) fn lacks_prefix(&self, tag: &Tag<'_>) -> bool {
        let prefixed = matches!(tag.kind, Some(Element::Parameter | Element::Call | Element::Wrapper));
        prefixed && !self.prefix.is_empty() && self.prefix != tag.prefix()
    }

    /// Whether the tag opens a parameter in the way in which this one was opened.
    pub(crate) fn is_spelt_like(&self, tag: &Tag<'_>) -> bool {
        self.assigned == tag.assigned && self.is_closed_alike(tag)
    }

    /// Whether what the tag opens has the closing tag that this value has.
    pub(crate) fn is_closed_alike(&self, tag: &Tag<'_>) -> bool {
        self.is_long == tag.is_spelt_out() && self.prefix == tag.prefix()
    }

    pub(crate) fn open_quoted(&mut self, element: Element) {
        self.quoted.open(element);
    }

    /// Whether such an element is open inside the value.
    pub(crate) fn is_quoting(&self, element: Element) -> bool {
        self.quoted.has(element)
    }

    /// Closes the innermost such element inside the value, and whatever is open in it.
    pub(crate) fn close_quoted(&mut self, element: Element) -> bool {
        self.quoted.close(element)
    }

    /// On a new line of the value.
    pub(crate) fn is_at_line_start(&self) -> bool {
        self.tail.ends_with('\n') || self.raw.ends_with('\n') || !self.begun
    }

    fn commit_tail(&mut self, report: &mut CallReport<'_, '_>) {
        let tail = std::mem::take(&mut self.tail);
        self.commit(&tail, report);
        self.tail = tail;
        self.tail.clear();
    }

    fn commit(&mut self, text: &str, report: &mut CallReport<'_, '_>) {
        self.begun |= !text.is_empty();
        if self.is_streamed {
            push_escaped(text, report);
        } else {
            self.raw.push_str(text);
        }
    }

    /// The JSON of a value that did not stream.
    pub(crate) fn to_json(&self, grammar: &TagGrammar, report: &CallReport<'_, '_>) -> String {
        let written = match grammar.framing {
            Framing::Trimmed => self.raw.trim(),
            _ => &self.raw,
        };
        match self.typing {
            Some(Typing::Text) => coerce::quote_text(written),
            Some(Typing::Json(python)) => coerce::coerce_declared_json(written, python),
            None => {
                let tool = report.call_name().unwrap_or("");
                let json = report.tools.type_value(tool, &self.key, written);
                match grammar.entities && json.starts_with('"') && written.contains('&') {
                    true => decode_entities(written, &self.key, tool, report).unwrap_or(json),
                    false => json,
                }
            }
        }
    }
}

/// The elements that are open, one in the other. How many of each kind there are is counted, so that none is looked for
/// in vain.
#[derive(Default)]
struct QuotedElements {
    open: Vec<Element>,
    counts: [u32; Element::COUNT],
}

impl QuotedElements {
    fn clear(&mut self) {
        self.open.clear();
        self.counts = Default::default();
    }

    fn open(&mut self, element: Element) {
        self.open.push(element);
        self.counts[element as usize] += 1;
    }

    fn has(&self, element: Element) -> bool {
        self.counts[element as usize] > 0
    }

    /// Closes the innermost such element, and whatever is open in it. Says whether there is one.
    fn close(&mut self, element: Element) -> bool {
        let is_open = self.has(element);
        while is_open && let Some(inner) = self.open.pop() {
            self.counts[inner as usize] -= 1;
            if inner == element {
                break;
            }
        }
        is_open
    }
}

/// A value with entities in it that fits its type only without them.
fn decode_entities(written: &str, key: &str, tool: &str, report: &CallReport<'_, '_>) -> Option<String> {
    let text = written.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    let text = text.replace("&apos;", "'").replace("&amp;", "&");
    let json = report.tools.type_value(tool, key, &text);
    let fits = || serde_json::from_str::<Json>(&json).is_ok_and(|value| !value.is_string());
    let only_so = may_be_text(written, key, tool, report) == Some(false)
        && may_be_text(&text, key, tool, report) == Some(true);
    (only_so || fits()).then_some(json)
}

/// Whether the parameter may be this very text; `None` where that does not depend on it.
fn may_be_text(text: &str, key: &str, tool: &str, report: &CallReport<'_, '_>) -> Option<bool> {
    let root = report.tools.schema(tool)?;
    coerce::may_be_text(text, coerce::find_parameter(root, key)?, root)
}

/// Text on its way into a JSON string.
fn push_escaped(text: &str, report: &mut CallReport<'_, '_>) {
    report.write_arguments(|arguments| strings::push_text(text, arguments));
}
