//! Calls whose arguments are nested elements, each tag behind a token that nothing else in the text has.
//!
//! One parameter at a time is kept as a tree and written as JSON when its element closes, because only then its
//! children show whether it is an object, a list or text. Where its schema allows nothing but text, all tags inside it
//! are data: `verbatim` knows where it ends.

mod verbatim;

use serde_json::Value as Json;

use verbatim::{Verbatim, VerbatimEnd};

use super::NestedGrammar;
use crate::Dropped;
use crate::body::{BodyEnding, BodyStep, TextChunk, Unclaimed};
use crate::calls::CallReport;
use crate::families::function_xml::body::tag;
use crate::families::function_xml::body::words_in_call::WordsInCall;
use crate::families::function_xml::{Element, TagGrammar};
use crate::mark_scanner::{FoundSign, MarkScanner};
use helve_json::coerce;
use helve_json::inspect;
use helve_json::literal::strings;

static TAGS: TagGrammar = TagGrammar {
    elements: &[("tool_call", Element::Wrapper), ("invoke", Element::Call)],
    ..TagGrammar::PLAIN
};

pub(crate) struct NestedBody {
    grammar: &'static NestedGrammar,
    mark_scanner: MarkScanner,
    /// A tag, behind its token.
    tag: Option<String>,
    /// The first mark is read: a tag follows.
    in_call: bool,
    open: Vec<ElementNode>,
    /// The innermost element is nothing but text.
    verbatim: Option<Verbatim>,
    arguments: usize,
    words: WordsInCall,
    /// The call cannot be one.
    bad: bool,
    calls: usize,
    over_at: usize,
}

#[derive(Default)]
struct ElementNode {
    name: String,
    text: String,
    children: Vec<ElementNode>,
}

/// Deep enough for any argument.
const DEPTH_MAX: usize = 64;

/// No tag is longer.
const TAG_MAX: usize = 256;

impl NestedBody {
    pub(crate) fn new(grammar: &'static NestedGrammar) -> Self {
        Self {
            grammar,
            mark_scanner: MarkScanner::default(),
            tag: Some(String::new()),
            in_call: false,
            open: Vec::new(),
            verbatim: None,
            arguments: 0,
            words: WordsInCall::default(),
            bad: false,
            calls: 0,
            over_at: 0,
        }
    }

    #[inline(never)]
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        let mut chunk = TextChunk::new(text, from);
        let first = self.grammar.namespace.as_bytes()[0];
        let step = loop {
            let waits =
                self.mark_scanner.is_in_sign() || self.verbatim.as_ref().is_some_and(Verbatim::is_waiting);
            if let (None, Some(node), false) = (&self.tag, self.open.last_mut(), waits) {
                // Nothing but the token's first byte means anything here.
                let rest = chunk.rest();
                let run = rest.bytes().position(|b| b == first).unwrap_or(rest.len());
                node.text.push_str(&rest[..run]);
                chunk.pos += run;
            }
            let Some(c) = chunk.char() else { break BodyStep::More };
            let step = match &mut self.tag {
                Some(tag) if self.verbatim.is_some() && !verbatim::may_continue_tag(tag, c) => {
                    self.reject_tag();
                    None
                }
                Some(tag) if self.verbatim.is_none() && !may_continue_tag(tag, c) => {
                    Some(self.drop_broken_call(&mut chunk, report))
                }
                Some(tag) => {
                    chunk.pos += c.len_utf8();
                    tag.push(c);
                    if c == '>' { self.read_tag(&mut chunk, report) } else { None }
                }
                None => self.read_text(&mut chunk, report),
            };
            if let Some(step) = step {
                break step;
            }
        };
        chunk.hold_text(report);
        step
    }

    fn read_text(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<BodyStep> {
        let rest = chunk.rest();
        let (taken, found) = self.mark_scanner.step(&[(self.grammar.namespace, ())], rest);
        chunk.pos += taken;
        match found {
            FoundSign::Nothing => None,
            FoundSign::Sign(()) => {
                self.tag = Some(String::new());
                None
            }
            FoundSign::Char => self.handle_text(&rest[..taken], chunk, report),
            FoundSign::Beginning(text) => self.handle_text(text, chunk, report),
        }
    }

    /// Text that is no tag has passed.
    fn handle_text(
        &mut self,
        text: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        if let Some(node) = self.open.last_mut() {
            match &mut self.verbatim {
                Some(verbatim) => verbatim.push_text(text, &mut node.text),
                None => node.text.push_str(text),
            }
        } else if text.trim().is_empty() {
            return None;
        } else if self.in_call {
            if !self.words.is_possible() {
                self.words.begin_before(text.len(), chunk, report);
            }
            self.words.set_has_words();
            // What may be an object of arguments must not be missing.
            self.bad |= text.contains('{');
        } else {
            return Some(self.end_after_calls(chunk, report));
        }
        None
    }

    /// Something follows the last call that does not belong to it.
    fn end_after_calls(&self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> BodyStep {
        chunk.hold_text(report);
        let back = if self.calls == 0 { 0 } else { report.held.len() - self.over_at };
        self.section_result(Unclaimed { back, pos: chunk.pos })
    }

    fn read_tag(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> Option<BodyStep> {
        let raw = self.tag.take().unwrap_or_default();
        if self.words.is_possible() {
            self.words.finish(chunk.held_position(report) - raw.len() - self.grammar.namespace.len());
        }
        let tag = tag::parse(&TAGS, raw.trim());
        if self.verbatim.is_some() {
            match self.verbatim_end_before(&raw, &tag)? {
                VerbatimEnd::Element => self.close_node(report),
                VerbatimEnd::Call => self.close_call(chunk, report),
            }
        }
        match (tag.kind, tag.closes) {
            (Some(Element::Call), true) => self.close_call(chunk, report),
            (Some(Element::Wrapper), true) if self.open.is_empty() => {
                if self.in_call {
                    self.end_call(chunk, report);
                }
                return Some(self.section_result(Unclaimed::from_position(chunk.pos)));
            }
            (Some(Element::Call), false) if !self.in_call => match tag.label.as_deref() {
                Some(name) => {
                    report.set_name(name);
                    report.push_arguments("{");
                    self.arguments = 0;
                    self.in_call = true;
                    self.bad = false;
                }
                None => return Some(self.drop_broken_call(chunk, report)),
            },
            (Some(Element::Wrapper), false) if !self.in_call => {
                if self.calls > 0 {
                    self.over_at = chunk.held_position(report);
                }
            }
            (_, false) if self.in_call && self.open.len() < DEPTH_MAX => {
                let name = tag.element.to_owned();
                self.open.push(ElementNode { name, ..ElementNode::default() });
                self.verbatim = self.is_text(report).then(Verbatim::default);
            }
            (_, true) if self.open.iter().any(|node| node.name == tag.element) => {
                let name = tag.element.to_owned();
                while self.open.last().is_some_and(|node| node.name != name) {
                    self.close_node(report);
                }
                self.close_node(report);
            }
            _ => return Some(self.drop_broken_call(chunk, report)),
        }
        None
    }

    /// Whether the schema of the innermost element allows nothing but text.
    fn is_text(&self, report: &CallReport<'_, '_>) -> bool {
        let Some(root) = report.call_name().and_then(|tool| report.tools.schema(tool)) else { return false };
        let mut path = self.open.iter().map(|node| node.name.as_str());
        let first = path.next().and_then(|name| coerce::find_parameter(root, name));
        let schema = path.try_fold(first, |schema, name| Some(find_element_schema(schema?, root, name)));
        schema.flatten().is_some_and(|schema| coerce::is_text_only(schema, root) == Some(true))
    }

    fn close_node(&mut self, report: &mut CallReport<'_, '_>) {
        self.verbatim = None;
        let Some(node) = self.open.pop() else { return };
        if let Some(parent) = self.open.last_mut() {
            parent.children.push(node);
            return;
        }
        let mut member = String::from(if self.arguments == 0 { "" } else { "," });
        push_quoted(&node.name, &mut member);
        member.push(':');
        let root = report.call_name().and_then(|tool| report.tools.schema(tool)).unwrap_or(&Json::Null);
        self.bad |= node.has_text_between_items();
        node.write_json(coerce::find_parameter(root, &node.name), root, 1, &mut member);
        report.push_arguments(&member);
        self.arguments += 1;
    }

    /// Ends the call with whatever is open in it.
    fn close_call(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        while !self.open.is_empty() {
            self.close_node(report);
        }
        self.end_call(chunk, report);
    }

    fn end_call(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) {
        if !self.in_call {
            return;
        }
        self.in_call = false;
        self.calls += 1;
        if self.bad {
            self.words.clear();
            chunk.hold_text(report);
            report.drop_draft(Dropped::Broken);
        } else {
            report.push_arguments("}");
            report.finish_call();
            self.words.emit(chunk, report);
            chunk.release_read_text(report);
        }
        self.over_at = chunk.held_position(report);
    }

    fn drop_broken_call(&mut self, chunk: &mut TextChunk<'_>, report: &mut CallReport<'_, '_>) -> BodyStep {
        if !report.calls.has_started() {
            return self.end_after_calls(chunk, report);
        }
        chunk.hold_text(report);
        report.drop_draft(Dropped::Broken);
        BodyStep::Done(Unclaimed::from_position(chunk.pos))
    }

    fn section_result(&self, rest: Unclaimed) -> BodyStep {
        if self.calls == 0 { BodyStep::NotACall(rest) } else { BodyStep::Done(rest) }
    }

    pub(crate) fn finish(&self, report: &mut CallReport<'_, '_>) -> BodyEnding {
        if self.in_call || self.calls == 0 {
            return BodyEnding::Cut;
        }
        if self.tag.as_ref().is_some_and(|tag| !tag::may_begin_tag(&TAGS, tag.trim_start())) {
            report.release_text_from(self.over_at);
        }
        BodyEnding::Done
    }
}

/// Whether the character may belong to the tag.
fn may_continue_tag(tag: &str, c: char) -> bool {
    match tag.as_bytes().first() {
        Some(b'<') => c != '<' && tag.len() <= TAG_MAX,
        _ if tag.trim_start().is_empty() => c == '<' || c.is_whitespace(),
        _ => c != '<' && tag.len() <= TAG_MAX,
    }
}

impl ElementNode {
    /// Writes it as JSON, inside so many containers.
    fn write_json(&self, schema: Option<&Json>, root: &Json, depth: usize, out: &mut String) {
        if self.children.is_empty() {
            let json = self.leaf_json(schema, root);
            match inspect::fits_inside(&json, depth) {
                true => out.push_str(&json),
                false => push_quoted(&self.text, out),
            }
        } else if self.is_list(schema, root) {
            self.write_list(schema, root, depth + 1, out);
        } else {
            self.write_object(schema, root, depth + 1, out);
        }
    }

    /// Lists repeat one element, but an object may have a member of that name.
    fn is_list(&self, schema: Option<&Json>, root: &Json) -> bool {
        let member = || schema.and_then(|schema| coerce::find_keyword(schema, root, "properties")?.get(ITEM));
        let items = self.children.iter().all(|child| child.name == ITEM);
        items && (self.children.len() > 1 || member().is_none())
    }

    /// Whether text stands between the elements of a list, where it has no place.
    fn has_text_between_items(&self) -> bool {
        let list = !self.children.is_empty() && self.children.iter().all(|child| child.name == ITEM);
        list && !self.text.trim().is_empty() || self.children.iter().any(Self::has_text_between_items)
    }

    fn leaf_json(&self, schema: Option<&Json>, root: &Json) -> String {
        if self.text.trim().is_empty() {
            // An element left empty is an empty container where only that would fit.
            for empty in ["[]", "{}"] {
                if coerce::coerce_by_schema(empty, schema, root) == empty {
                    return empty.to_owned();
                }
            }
        }
        let typed = schema.and_then(|schema| coerce::coerce_typed(&self.text, schema, root));
        typed.unwrap_or_else(|| coerce::coerce_untyped(&self.text))
    }

    fn write_list(&self, schema: Option<&Json>, root: &Json, depth: usize, out: &mut String) {
        let items = schema.and_then(|schema| coerce::find_keyword(schema, root, "items"));
        out.push('[');
        for (index, child) in self.children.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            child.write_json(items, root, depth, out);
        }
        out.push(']');
    }

    fn write_object(&self, schema: Option<&Json>, root: &Json, depth: usize, out: &mut String) {
        let properties = schema.and_then(|schema| coerce::find_keyword(schema, root, "properties"));
        out.push('{');
        for (index, child) in self.children.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            push_quoted(&child.name, out);
            out.push(':');
            child.write_json(properties.and_then(|p| p.get(&child.name)), root, depth, out);
        }
        if !self.text.trim().is_empty() {
            out.push_str(",\"$text\":");
            push_quoted(&self.text, out);
        }
        out.push('}');
    }
}

/// The schema of an element inside another.
fn find_element_schema<'s>(schema: &'s Json, root: &'s Json, name: &str) -> Option<&'s Json> {
    let member = coerce::find_keyword(schema, root, "properties").and_then(|properties| properties.get(name));
    let item = || coerce::find_keyword(schema, root, "items").filter(|_| name == ITEM);
    member.or_else(item)
}

/// The element of a list.
const ITEM: &str = "item";

fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    text.chars().for_each(|c| strings::push_char(c, out));
    out.push('"');
}
