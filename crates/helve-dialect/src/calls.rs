//! Calls on their way out: the one being written, and those that wait until a doubt is settled.
//!
//! Bodies tell a `CallReport` what they read; it numbers the calls and turns them into pieces. While a trial is on — the
//! call may yet prove to be a quotation — finished calls wait here together with the text between them.

use std::mem;
use std::ops::Range;

use crate::envelope::holds_arguments;
use crate::{Dropped, ParsedCall, Piece, Tools};
use helve_json::repair::{self, Closing, Expected};
use helve_json::{Repair, Repaired};

/// Where pieces go.
pub(crate) type Out<'o> = dyn FnMut(Piece<'_>) + 'o;

#[derive(Default)]
pub(crate) struct Calls {
    count: u32,
    draft: CallDraft,
    waiting: Option<Vec<WaitingPart>>,
    /// How many of what waits are calls.
    calls_waiting: usize,
    /// Where the text begins of the last of them that is none.
    dropped_at: Option<usize>,
    /// The dialect now being read.
    pub(crate) dialect: &'static str,
    /// The dialects of calls that were meant, well or badly written: nearly always one.
    first_spoken: Option<&'static str>,
    also_spoken: Vec<&'static str>,
    /// The dialect of the first call that counted.
    pub(crate) found: Option<&'static str>,
    /// A call was cut off or broken.
    pub(crate) lost: bool,
    /// What is read now was told before: it is read again to find where it ends, and no call of it starts anew.
    pub(crate) muted: bool,
    /// Where the text begins in the held text that no call has told yet, whole or dropped.
    pub(crate) reported_to: usize,
    /// Where calls of the present section end in the held text, if they wait.
    pub(crate) ends: Vec<usize>,
    /// What is read now is more likely a quotation than a call: it is not shown until it counts.
    pub(crate) hidden: bool,
}

/// The call being written.
#[derive(Default)]
struct CallDraft {
    /// Set once the call has started.
    index: Option<u32>,
    /// Whether that was shown.
    started: bool,
    id: Option<String>,
    name: String,
    arguments_mut: String,
    /// How much of the arguments was shown; `SPOILT` once they are no longer what they seemed, so that only the whole
    /// call says what they are.
    shown: usize,
    repairs: Vec<Repair>,
}

const SPOILT: usize = usize::MAX;

impl CallDraft {
    /// The argument text, with room for more.
    #[inline]
    fn arguments(&mut self) -> &mut String {
        if self.arguments_mut.capacity() == 0 {
            self.begin_arguments();
        }
        &mut self.arguments_mut
    }

    #[cold]
    fn begin_arguments(&mut self) {
        self.arguments_mut = String::with_capacity(ARGUMENTS);
    }

    /// What was shown of the arguments, if anything was, is not so.
    fn mark_shown_wrong(&mut self) {
        if self.shown > 0 {
            self.shown = SPOILT;
        }
    }
}

/// Most arguments fit, and growing in small steps is what a short call would spend its time on.
const ARGUMENTS: usize = 96;

/// Whether a call that waits was shown while it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallShown {
    Yes,
    No,
}

/// What waits. Ranges are of the held text.
pub(crate) enum WaitingPart {
    Text(Range<usize>),
    Call(u32, ParsedCall, CallShown),
    /// Words inside the call before it, which are text behind it if it counts.
    Words(Range<usize>),
    /// What a call that is none has said of itself, if it was one, and its text.
    Dropped(Option<u32>, Option<String>, Dropped, Range<usize>),
}

impl Calls {
    /// From now on finished calls wait.
    pub(crate) fn hold_calls(&mut self) {
        self.waiting.get_or_insert_with(Vec::new);
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Whether a whole call waits.
    pub(crate) fn any_call_waits(&self) -> bool {
        self.calls_waiting > 0
    }

    pub(crate) fn hold_text_back(&mut self, range: Range<usize>) {
        match self.waiting.as_mut().and_then(|waiting| waiting.last_mut()) {
            Some(WaitingPart::Text(last)) if last.end == range.start => last.end = range.end,
            _ => self.waiting.get_or_insert_default().push(WaitingPart::Text(range)),
        }
    }

    /// How much waits.
    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting.as_ref().map_or(0, Vec::len)
    }

    /// What waits from there on does so no longer.
    pub(crate) fn take_waiting_from(&mut self, from: usize) -> Vec<WaitingPart> {
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| from < waiting.len()) else {
            return vec![];
        };
        let taken = waiting.split_off(from);
        let is_call = |waiting: &&WaitingPart| matches!(waiting, WaitingPart::Call(..));
        self.calls_waiting -= taken.iter().filter(is_call).count();
        taken
    }

    /// Whether one that waits is no call, and its text begins there or behind.
    pub(crate) fn has_dropped_call_from(&self, at: usize) -> bool {
        self.dropped_at.is_some_and(|dropped| dropped >= at)
    }

    /// The trial is settled; the caller says what becomes of what waited.
    pub(crate) fn take_all_waiting(&mut self) -> Vec<WaitingPart> {
        self.calls_waiting = 0;
        self.dropped_at = None;
        self.waiting.take().unwrap_or_default()
    }

    /// Whether a call has named its tool and is not finished.
    pub(crate) fn has_started(&self) -> bool {
        self.draft.index.is_some()
    }

    #[inline]
    pub(crate) fn emit_finished(&mut self, index: u32, call: ParsedCall, out: &mut Out<'_>) {
        self.found.get_or_insert(self.dialect);
        self.record_dialect();
        out(Piece::CallFinished { index, call });
    }

    /// Shows a call that was not shown while it was written.
    #[inline]
    pub(crate) fn emit_hidden_call(index: u32, call: &ParsedCall, out: &mut Out<'_>) {
        out(Piece::CallStarted { index, name: &call.name });
        out(Piece::CallArguments { index, text: &call.arguments });
    }

    /// More of the argument text, shown as it comes.
    #[inline]
    pub(crate) fn push_arguments(&mut self, text: &str, out: &mut Out<'_>) {
        let from = self.draft.arguments_mut.len();
        self.draft.arguments().push_str(text);
        if let Some(index) = self.draft.index
            && self.draft.shown == from
        {
            self.draft.shown = self.draft.arguments_mut.len();
            if self.draft.started {
                out(Piece::CallArguments { index, text });
            }
        }
    }

    /// More of the argument text, not shown yet.
    #[inline]
    pub(crate) fn arguments_mut(&mut self) -> &mut String {
        self.draft.arguments()
    }

    /// Shows what there is of the argument text and was not shown. Once for all that was read of a piece of text: every
    /// showing becomes an event that is sent and drawn.
    #[inline]
    pub(crate) fn show_arguments(&mut self, out: &mut Out<'_>) {
        let Some(index) = self.draft.index else { return };
        if let Some(text) = self.draft.arguments_mut.get(self.draft.shown..)
            && !text.is_empty()
        {
            self.draft.shown = self.draft.arguments_mut.len();
            if self.draft.started {
                out(Piece::CallArguments { index, text });
            }
        }
    }

    /// The call has named its tool.
    pub(crate) fn set_name(&mut self, name: &str, out: &mut Out<'_>) {
        self.draft.name = name.to_owned();
        if self.draft.index.is_some() || self.muted {
            return;
        }
        let index = self.next_index();
        self.draft.index = Some(index);
        self.draft.started = !self.hidden;
        if self.draft.started {
            out(Piece::CallStarted { index, name });
        }
    }

    /// The name of the call being written, if it has one.
    pub(crate) fn call_name(&self) -> Option<&str> {
        Some(self.draft.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Gives up the call being written, even one that never started. It tells what of the held text is untold.
    pub(crate) fn drop_draft(&mut self, why: Dropped, held: &str, out: &mut Out<'_>) {
        let draft = mem::take(&mut self.draft);
        let name = (!draft.name.is_empty()).then_some(draft.name);
        let told = if held.is_char_boundary(self.reported_to) { self.reported_to } else { held.len() };
        match &mut self.waiting {
            Some(waiting) => {
                self.dropped_at = Some(told);
                waiting.push(WaitingPart::Dropped(draft.index, name, why, told..held.len()));
            }
            None => self.emit_dropped(draft.index, name.as_deref(), why, &held[told..], out),
        }
    }

    /// The call being written, if there is one, is text or means nothing.
    pub(crate) fn drop_silently(&mut self, out: &mut Out<'_>) {
        let draft = mem::take(&mut self.draft);
        if draft.started {
            let name = (!draft.name.is_empty()).then_some(draft.name);
            self.emit_dropped(draft.index, name.as_deref(), Dropped::Quoted, "", out);
        }
    }

    /// A call is none. One that was not shown gets its number now.
    pub(crate) fn emit_dropped(
        &mut self,
        index: Option<u32>,
        name: Option<&str>,
        why: Dropped,
        text: &str,
        out: &mut Out<'_>,
    ) {
        if why != Dropped::Quoted {
            self.lost = true;
            self.record_dialect();
        }
        let text = if why == Dropped::Quoted { "" } else { text };
        let index = index.unwrap_or_else(|| self.next_index());
        out(Piece::CallDropped { index, name, why, text });
    }

    #[inline]
    fn record_dialect(&mut self) {
        let first = *self.first_spoken.get_or_insert(self.dialect);
        // Names of dialects are said once each, so that most are the same without a look at their letters.
        if !std::ptr::eq(first, self.dialect) && !self.also_spoken.contains(&self.dialect) {
            self.also_spoken.push(self.dialect);
        }
    }

    /// Whether a call was meant that is written in this dialect.
    pub(crate) fn has_call_of(&self, dialect: &str) -> bool {
        self.first_spoken == Some(dialect) || self.also_spoken.contains(&dialect)
    }

    /// How much text is in calls that wait, and in the one being written.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        let waiting = self.waiting.iter().flatten().map(|waiting| match waiting {
            WaitingPart::Text(_) | WaitingPart::Words(_) => 0,
            WaitingPart::Call(_, call, _) => call.name.len() + call.arguments.len(),
            WaitingPart::Dropped(_, name, ..) => name.as_ref().map_or(0, String::len),
        });
        waiting.sum::<usize>() + self.draft.name.len() + self.draft.arguments_mut.len()
    }

    fn next_index(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }
}

/// What a body tells while it reads.
pub(crate) struct CallReport<'a, 'o> {
    pub(crate) calls: &'a mut Calls,
    /// All that was read since the mark, so that it can come out as text, be repaired or be shown.
    pub(crate) held: &'a mut String,
    pub(crate) tools: &'a Tools,
    pub(crate) out: &'a mut Out<'o>,
}

impl CallReport<'_, '_> {
    pub(crate) fn set_name(&mut self, name: &str) {
        self.calls.set_name(name, self.out);
    }

    pub(crate) fn call_name(&self) -> Option<&str> {
        self.calls.call_name()
    }

    /// Broken JSON with exactly one reading, given what the tool's schema says.
    pub(crate) fn repair(&self, text: &str, closing: Closing) -> Option<Repaired> {
        let is_text = |parameter: &str| match self.call_name() {
            Some(tool) => self.tools.is_text_parameter(tool, parameter) == Some(true),
            None => self.tools.is_text_parameter_of_all(parameter),
        };
        repair::read_with_repairs(
            text,
            closing,
            Expected { is_text: &is_text, holds_parameters: holds_arguments },
        )
    }

    pub(crate) fn set_id(&mut self, id: String) {
        self.calls.draft.id = Some(id);
    }

    /// More of the argument text.
    pub(crate) fn push_arguments(&mut self, text: &str) {
        self.calls.draft.arguments().push_str(text);
    }

    /// More of the argument text, written where it is kept.
    #[inline]
    pub(crate) fn write_arguments(&mut self, write: impl FnOnce(&mut String)) {
        write(self.calls.draft.arguments());
    }

    pub(crate) fn arguments_so_far(&self) -> &str {
        &self.calls.draft.arguments_mut
    }

    /// Replaces the argument text; pages that showed the old one learn the new one when the call is finished.
    pub(crate) fn replace_arguments(&mut self, text: String, repairs: Vec<Repair>) {
        self.calls.draft.mark_shown_wrong();
        self.calls.draft.arguments_mut = text;
        self.add_repairs(repairs);
    }

    pub(crate) fn add_repairs(&mut self, repairs: Vec<Repair>) {
        for repair in repairs {
            if !self.calls.draft.repairs.contains(&repair) {
                self.calls.draft.repairs.push(repair);
            }
        }
    }

    /// Forgets what was read of the call, but not that it has started: it is read again, repaired.
    pub(crate) fn restart(&mut self) {
        self.calls.draft.mark_shown_wrong();
        self.calls.draft.arguments_mut.clear();
        self.calls.draft.id = None;
    }

    /// The call is whole.
    pub(crate) fn finish_call(&mut self) {
        self.calls.show_arguments(self.out);
        let draft = &mut self.calls.draft;
        let Some(index) = draft.index.take() else {
            *draft = CallDraft::default();
            return;
        };
        draft.shown = 0;
        let started = std::mem::take(&mut draft.started);
        let call = ParsedCall {
            id: draft.id.take(),
            name: mem::take(&mut draft.name),
            arguments: mem::take(&mut draft.arguments_mut),
            repairs: mem::take(&mut draft.repairs),
        };
        match &mut self.calls.waiting {
            Some(waiting) => {
                self.calls.calls_waiting += 1;
                let shown = if started { CallShown::Yes } else { CallShown::No };
                waiting.push(WaitingPart::Call(index, call, shown));
            }
            None => self.calls.emit_finished(index, call, self.out),
        }
    }

    /// What was read so far is done with, unless a trial may still turn it into text; says which.
    pub(crate) fn release_read_text(&mut self) -> bool {
        let settled = !self.calls.is_waiting();
        if settled {
            self.held.clear();
            self.calls.reported_to = 0;
        }
        settled
    }

    /// Words that stand inside the call which is finished now, at this place of the held text. They are text behind it.
    pub(crate) fn record_words(&mut self, range: Range<usize>) {
        match &mut self.calls.waiting {
            Some(waiting) => waiting.push(WaitingPart::Words(range)),
            // Where reasoning is open, a trial is on: this is the answer.
            None => (self.out)(Piece::Text(&self.held[range])),
        }
    }

    /// What stands at the end of the held text from here on is text behind the calls.
    pub(crate) fn release_text_from(&mut self, at: usize) {
        match self.calls.is_waiting() {
            true => self.calls.hold_text_back(at..self.held.len()),
            false => (self.out)(Piece::Text(&self.held[at..])),
        }
    }

    /// The call means that no tool is called.
    pub(crate) fn drop_silently(&mut self) {
        self.calls.drop_silently(self.out);
    }

    /// The call is none.
    pub(crate) fn drop_draft(&mut self, why: Dropped) {
        self.calls.drop_draft(why, self.held, self.out);
        self.release_read_text();
        self.calls.reported_to = self.held.len();
    }
}
