//! From a bracket on: whether what begins there becomes a tag.

use super::{CDATA, TagBody, TagState};
use crate::body::{BodyStep, TextChunk};
use crate::calls::CallReport;
use crate::families::function_xml::Spelling;
use crate::families::function_xml::body::tag::{self, Grows};

impl TagBody {
    /// Reads a tag from its first bracket on, as far as nothing decides what becomes of it; where its last bracket
    /// is at hand, all of it.
    pub(super) fn read_bracket(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let rest = chunk.rest();
        let may_quote = self.grammar.cdata && self.state == TagState::Value && rest.starts_with("<!");
        let run = match self.grammar.spelling {
            Spelling::Angles if !may_quote => {
                let named = 1 + self.namespace_length(&rest[1..]);
                named + tag::undecided_length(named, &rest[named..])
            }
            _ => 1,
        };
        if run > 1 && rest.as_bytes().get(run) == Some(&b'>') {
            chunk.pos += run + 1;
            let step = self.handle_tag(&rest[..=run], chunk, report);
            self.in_mark = false;
            return step;
        }
        chunk.pos += run;
        self.beginning.push_str(&rest[..run]);
        None
    }

    /// How much of the text may stand before an element's name; no character of it decides anything.
    fn namespace_length(&self, text: &str) -> usize {
        if self.grammar.namespaces.is_empty() {
            return 0;
        }
        let slash = text.starts_with('/') as usize;
        let mut namespaces = self.grammar.namespaces.iter();
        let namespace = namespaces.find(|namespace| text[slash..].starts_with(**namespace));
        namespace.map_or(0, |namespace| slash + namespace.len())
    }

    pub(super) fn read_tag(
        &mut self,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        if self.is_decided_by_brackets() {
            let rest = chunk.rest();
            let run = tag::undecided_length(self.beginning.len(), rest);
            let ends = rest.as_bytes().get(run) == Some(&b'>');
            let taken = run + ends as usize;
            self.beginning.push_str(&rest[..taken]);
            chunk.pos += taken;
            if ends {
                return self.finish_bracket(Grows::Whole, chunk, report);
            }
        }
        let Some(c) = chunk.char() else { return Some(BodyStep::More) };
        let grows = tag::judge_next_char(self.grammar, &self.beginning, c);
        if matches!(grows, Grows::On | Grows::Whole) {
            self.beginning.push(c);
            chunk.pos += c.len_utf8();
        }
        if grows != Grows::On {
            return self.finish_bracket(grows, chunk, report);
        }
        if self.grammar.cdata && self.state == TagState::Value && self.beginning == CDATA {
            self.accept_split(report);
            self.value.begin_cdata(report);
            self.beginning.clear();
        }
        None
    }

    /// It is decided what becomes of the beginning of a tag.
    fn finish_bracket(
        &mut self,
        grows: Grows,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let mut beginning = std::mem::take(&mut self.beginning);
        let step = match grows {
            Grows::Whole | Grows::Before => self.handle_tag(&beginning, chunk, report),
            _ if self.grammar.spelling == Spelling::Tokens => {
                return self.reject_tokens_of_tag(beginning, chunk, report);
            }
            _ => self.reject_tag(&beginning, chunk, report),
        };
        self.in_mark = false;
        beginning.clear();
        self.beginning = beginning;
        step
    }

    /// What seemed to be a tag in tokens is none, but its last token may begin another.
    #[cold]
    fn reject_tokens_of_tag(
        &mut self,
        mut beginning: String,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        let last = beginning.rfind('<').filter(|at| *at > 0).unwrap_or(beginning.len());
        let mut step = self.reject_tag(&beginning[..last], chunk, report);
        self.in_mark = false;
        if let Some(BodyStep::NotACall(rest)) = &mut step {
            rest.back += beginning.len() - last;
        }
        if step.is_none() {
            beginning.drain(..last);
            self.beginning = beginning;
        }
        step
    }

    fn reject_tag(
        &mut self,
        raw: &str,
        chunk: &mut TextChunk<'_>,
        report: &mut CallReport<'_, '_>,
    ) -> Option<BodyStep> {
        match self.state {
            // A line break at its end may frame the value, as in any text.
            TagState::Value => {
                self.push_value_text(raw, report);
                return None;
            }
            // No name holds a bracket.
            TagState::Word => return self.reject_call(chunk, report),
            TagState::Between => return self.end_before_trailing(raw.len(), chunk, report),
            TagState::Call | TagState::AfterJson => {
                // An argument whose tag went wrong must not be missing unnoticed.
                self.call.bad |= tag::was_meant_as_tag(self.grammar, raw);
                self.handle_text_in_call(raw, raw.len(), chunk, report);
                return None;
            }
            _ => {}
        }
        self.read_name_text(raw, chunk, report)
    }

    /// Whether only brackets and bars decide what becomes of the beginning of a tag.
    pub(super) fn is_decided_by_brackets(&self) -> bool {
        let may_quote = self.grammar.cdata
            && self.state == TagState::Value
            && (self.value.in_cdata || CDATA.starts_with(&self.beginning));
        let at_bar = self.grammar.barred && tag::ends_with_bar(&self.beginning);
        self.grammar.spelling == Spelling::Angles && !may_quote && !at_bar
    }
}
