//! An element that is nothing but text, whatever tags stand in it.
//!
//! Only its own closing tag ends it, or that of the call, and only where another tag follows: otherwise that too is data.

use super::NestedBody;
use crate::families::function_xml::Element;
use crate::families::function_xml::body::tag::Tag;

#[derive(Default)]
pub(super) struct Verbatim {
    /// So many elements of its own name are open inside it, and so many calls.
    same: usize,
    calls: usize,
    /// What ends it if a tag follows, and how that was written, with the blanks behind it.
    ending: Option<VerbatimEnd>,
    waiting: String,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum VerbatimEnd {
    Element,
    Call,
}

/// Whether the character may belong to the tag. The token of the next one begins with a bracket.
pub(super) fn may_continue_tag(tag: &str, c: char) -> bool {
    if tag.is_empty() { c == '<' } else { !matches!(c, '<' | ']' | '[') && tag.len() < super::TAG_MAX }
}

impl Verbatim {
    pub(super) fn is_waiting(&self) -> bool {
        self.ending.is_some()
    }

    pub(super) fn push_text(&mut self, text: &str, out: &mut String) {
        if self.is_waiting() && text.trim().is_empty() {
            self.waiting.push_str(text);
            return;
        }
        self.release_waiting(out);
        out.push_str(text);
    }

    /// What waited is part of the text.
    fn release_waiting(&mut self, out: &mut String) {
        self.ending = None;
        out.push_str(&self.waiting);
        self.waiting.clear();
    }
}

impl NestedBody {
    /// What followed the token is no tag.
    pub(super) fn reject_tag(&mut self) {
        let tag = self.tag.take().unwrap_or_default();
        if let (Some(verbatim), Some(node)) = (&mut self.verbatim, self.open.last_mut()) {
            verbatim.release_waiting(&mut node.text);
            node.text.push_str(self.grammar.namespace);
            node.text.push_str(&tag);
        }
    }

    /// What ended the text before this tag. If nothing did, the tag is part of the text, or may be.
    pub(super) fn verbatim_end_before(&mut self, raw: &str, tag: &Tag<'_>) -> Option<VerbatimEnd> {
        let around = self.open.len().saturating_sub(1);
        let encloses = self.open[..around].iter().any(|node| node.name == tag.element);
        let (verbatim, node) = (self.verbatim.as_mut()?, self.open.last_mut()?);
        let over = match (verbatim.ending, tag.kind, tag.closes) {
            (Some(VerbatimEnd::Element), Some(_), closes) => closes,
            (Some(VerbatimEnd::Element), None, closes) => !closes || encloses,
            (Some(VerbatimEnd::Call), Some(Element::Wrapper), _) => true,
            (Some(VerbatimEnd::Call), Some(Element::Call), closes) => !closes,
            _ => false,
        };
        if over {
            return verbatim.ending;
        }
        verbatim.release_waiting(&mut node.text);
        let same = node.name == tag.element;
        let ending = match (tag.kind, tag.closes) {
            (None, true) if same && verbatim.same == 0 => Some(VerbatimEnd::Element),
            (Some(Element::Call), true) if verbatim.calls == 0 => Some(VerbatimEnd::Call),
            _ => None,
        };
        let count = if same { &mut verbatim.same } else { &mut verbatim.calls };
        if same || tag.kind == Some(Element::Call) {
            *count = if tag.closes { count.saturating_sub(1) } else { *count + 1 };
        }
        verbatim.ending = ending;
        let out = if ending.is_some() { &mut verbatim.waiting } else { &mut node.text };
        out.push_str(self.grammar.namespace);
        out.push_str(raw);
        None
    }
}
