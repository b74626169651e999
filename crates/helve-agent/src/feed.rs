//! What a run is saying right now, for any number of readers.
//!
//! A feed holds the run's latest durable events and the parts that are still being written. A reader has a
//! cursor, not a queue: it takes what is new since it last looked, so a slow reader gets larger pieces and
//! nothing is ever lost or held for it. Durable events come in the order of their numbers; a reader that is too
//! far behind reads the log first (see `follow`).

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use helve_store::Recorded;
use helve_types::{Fact, Live, PartId, PartKind, RunId};

use crate::follow::LogPages;

/// Older durable events are read from the log.
const TAIL_MAX: usize = 256;
/// So are those that would make the tail larger than this, except for the latest.
const TAIL_BYTES_MAX: usize = 256 << 10;
/// A reader gets text in pieces of this size, so that one who does not read holds no more of it.
const PIECE_BYTES_MAX: usize = 16 << 10;

/// The running commentary of one run.
#[derive(Default)]
pub struct Feed {
    state: Mutex<FeedState>,
    /// For readers who are behind.
    log_pages: LogPages,
}

#[derive(Default)]
struct FeedState {
    /// The latest durable events, without gaps.
    tail: VecDeque<Arc<Recorded>>,
    tail_bytes: usize,
    /// The number of the last of them.
    published: u64,
    /// The step that is being asked for.
    step: Option<AskedStep>,
    open: Vec<OpenPart>,
    opened: u64,
    ended: bool,
    draining: bool,
    wakers: Vec<Waker>,
}

/// A step and its attempt, in the order in which they are asked for.
type Attempt = (u32, u32);

struct AskedStep {
    attempt: Attempt,
    after_seq: u64,
}

struct OpenPart {
    /// Counts the parts of this feed, so that a reader recognises one without comparing names.
    number: u64,
    id: PartId,
    kind: PartKind,
    tool: Option<String>,
    text: String,
    /// Where a preview begins in the text: it is shown, and may still be taken back.
    preview_at: usize,
    /// Counts how often shown text was taken back; who has seen an earlier one is told the whole text again.
    revision: u32,
    /// What it is written in; none for what a tool reports.
    attempt: Option<Attempt>,
    /// It is shown after this event, which may not be durable yet.
    after_seq: u64,
}

impl OpenPart {
    fn new(number: u64, id: PartId, kind: PartKind, tool: Option<String>, text: String) -> Self {
        let preview_at = text.len();
        Self { number, id, kind, tool, preview_at, text, revision: 0, attempt: None, after_seq: 0 }
    }

    fn set_attempt(self, step: Option<&AskedStep>) -> Self {
        let (attempt, after_seq) = (step.map(|step| step.attempt), step.map_or(0, |step| step.after_seq));
        Self { attempt, after_seq, ..self }
    }

    fn set_shown_after(self, after_seq: u64) -> Self {
        Self { after_seq, ..self }
    }

    /// Text that stays. What was shown as a preview need not be shown again.
    fn push_text(&mut self, text: &str) {
        let preview = &self.text[self.preview_at..];
        let is_shown = preview.starts_with(text);
        if !is_shown && !text.starts_with(preview) {
            self.revision += 1;
        }
        if !is_shown {
            self.text.truncate(self.preview_at);
            self.text.push_str(text);
        }
        self.preview_at += text.len();
    }

    /// What is shown after the text that stays.
    fn set_preview(&mut self, preview: &str) {
        if !preview.starts_with(&self.text[self.preview_at..]) {
            self.revision += 1;
        }
        self.text.truncate(self.preview_at);
        self.text.push_str(preview);
    }
}

/// A part of the current attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptPart {
    pub(crate) id: PartId,
    pub(crate) kind: PartKind,
    pub(crate) text: String,
}

impl Feed {
    fn lock_state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update_and_wake(&self, change: impl FnOnce(&mut FeedState)) {
        let mut state = self.lock_state();
        change(&mut state);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The model is asked; whatever an earlier attempt had shown is void. Nothing of it is shown before the event
    /// `after_seq`, which may have been recorded and not be durable yet.
    pub(crate) fn begin_step(&self, step: u32, attempt: u32, after_seq: u64) {
        self.update_and_wake(|state| {
            state.open.retain(|part| part.kind == PartKind::Progress);
            state.step = Some(AskedStep { attempt: (step, attempt), after_seq });
        });
    }

    /// Begins a part and returns its number.
    pub(crate) fn open_part(&self, id: PartId, kind: PartKind, tool: Option<String>) -> u64 {
        let mut number = 0;
        self.update_and_wake(|state| {
            state.opened += 1;
            number = state.opened;
            let part = OpenPart::new(number, id, kind, tool, String::new());
            state.open.push(part.set_attempt(state.step.as_ref()));
        });
        number
    }

    pub(crate) fn push_text(&self, number: u64, text: &str) {
        self.update_and_wake(|state| {
            if let Some(part) = state.open.iter_mut().rfind(|part| part.number == number) {
                part.push_text(text);
            }
        });
    }

    /// Shows text at the end of a part that may still be taken back: what is pushed or shown next replaces it.
    pub(crate) fn set_preview(&self, number: u64, text: &str) {
        self.update_and_wake(|state| {
            if let Some(part) = state.open.iter_mut().rfind(|part| part.number == number) {
                part.set_preview(text);
            }
        });
    }

    /// Forgets a part that is none after all.
    pub(crate) fn discard_part(&self, number: u64) {
        self.update_and_wake(|state| state.open.retain(|part| part.number != number));
    }

    /// Adds to what a running tool reports, which is not shown before the event `after_seq`.
    pub(crate) fn push_progress(&self, id: &PartId, tool: &str, text: &str, after_seq: u64) {
        self.update_and_wake(|state| {
            let known = state.open.iter_mut().find(|part| part.kind == PartKind::Progress && part.id == *id);
            match known {
                Some(part) => part.push_text(text),
                None => {
                    state.opened += 1;
                    let (number, tool) = (state.opened, Some(tool.to_owned()));
                    let kind = PartKind::Progress;
                    let part = OpenPart::new(number, id.clone(), kind, tool, text.to_owned());
                    state.open.push(part.set_shown_after(after_seq));
                }
            }
        });
    }

    /// The parts of the current attempt, in order.
    pub(crate) fn current_parts(&self) -> Vec<AttemptPart> {
        let state = self.lock_state();
        let parts = state.open.iter().filter(|part| part.kind != PartKind::Progress);
        parts
            .map(|part| AttemptPart { id: part.id.clone(), kind: part.kind, text: part.text.clone() })
            .collect()
    }

    /// Takes in events that have become durable; they close the parts they finish.
    pub fn publish(&self, events: &[Arc<Recorded>]) {
        self.update_and_wake(|state| {
            for recorded in events {
                state.close_parts_ended_by(&recorded.event.fact);
                // A gap can only mean that the reader must look at the log anyway.
                if state.tail.back().is_some_and(|last| last.event.seq + 1 != recorded.event.seq) {
                    state.tail.clear();
                    state.tail_bytes = 0;
                }
                state.published = recorded.event.seq;
                state.push_event(recorded.clone());
                state.ended |= recorded.event.fact.is_last();
            }
        });
    }

    /// Tells all readers that the server goes down. What is durable comes first; nothing comes after.
    fn announce_drain(&self) {
        self.update_and_wake(|state| state.draining = true);
    }
}

impl FeedState {
    fn push_event(&mut self, recorded: Arc<Recorded>) {
        self.tail_bytes += recorded.json.len();
        self.tail.push_back(recorded);
        while self.tail.len() > 1 && (self.tail.len() > TAIL_MAX || self.tail_bytes > TAIL_BYTES_MAX) {
            self.tail_bytes -= self.tail.pop_front().map_or(0, |oldest| oldest.json.len());
        }
    }

    fn close_parts_ended_by(&mut self, fact: &Fact) {
        match fact {
            Fact::TextFinished { part, .. } | Fact::ReasoningFinished { part, .. } => {
                self.open.retain(|open| open.id != *part);
            }
            Fact::ToolRequested { part: Some(part), .. } => self.open.retain(|open| open.id != *part),
            // Whatever of the step was not finished is not part of it. The next one may have begun meanwhile.
            Fact::StepFinished { step, .. } => self.close_parts_before((step + 1, 0)),
            Fact::StepRestarted { step, attempt, .. } => self.close_parts_before((*step, *attempt)),
            Fact::ToolFinished { call, .. }
            | Fact::ToolFailed { call, .. }
            | Fact::ToolRefused { call, .. }
            | Fact::ToolUnknown { call, .. } => {
                let part = PartId::from(call);
                self.open.retain(|open| open.id != part);
            }
            fact if fact.is_last() => self.open.clear(),
            _ => {}
        }
    }
}

impl FeedState {
    /// Forgets what was written in earlier attempts than this one.
    fn close_parts_before(&mut self, attempt: Attempt) {
        self.open.retain(|open| open.attempt.is_none_or(|of| of >= attempt));
        self.step.take_if(|step| step.attempt < attempt);
    }
}

/// Something for a reader.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    Event(Arc<Recorded>),
    Live(Live),
}

/// What a reader finds when it looks.
pub(crate) enum FeedPoll {
    Frame(Frame),
    /// The log has events that the feed no longer holds.
    Lagged,
    /// All there will ever be has been read, or all there will be of it from this server.
    Over,
}

/// A reader's place in a feed.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// The last durable event that was read.
    pub(crate) seq: u64,
    step: Option<Attempt>,
    /// Open parts that were seen.
    parts: Vec<SeenPart>,
    told_draining: bool,
}

/// How much of an open part a reader has seen.
#[derive(Debug)]
struct SeenPart {
    number: u64,
    bytes: usize,
    revision: u32,
}

impl Cursor {
    pub(crate) fn starting_after(seq: u64) -> Self {
        Self { seq, ..Self::default() }
    }
}

impl Feed {
    /// The next thing after the cursor, or a promise to wake the reader when there is one.
    pub(crate) fn poll(&self, cursor: &mut Cursor, cx: &mut Context<'_>) -> Poll<FeedPoll> {
        let mut state = self.lock_state();
        match state.next_event(cursor.seq) {
            Some(Ok(event)) => {
                cursor.seq = event.event.seq;
                return Poll::Ready(FeedPoll::Frame(Frame::Event(event)));
            }
            Some(Err(Lagged)) => return Poll::Ready(FeedPoll::Lagged),
            None if state.ended || cursor.told_draining => return Poll::Ready(FeedPoll::Over),
            None => {}
        }
        if let Some(live) = state.next_live(cursor) {
            return Poll::Ready(FeedPoll::Frame(Frame::Live(live)));
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// The parts of the run's log that its readers share.
    pub(crate) fn log_pages(&self) -> &LogPages {
        &self.log_pages
    }

    /// Whether the log may hold events after `seq` that this feed does not know of: it knows of none at all.
    pub(crate) fn has_no_events(&self) -> bool {
        self.lock_state().tail.is_empty()
    }
}

struct Lagged;

impl FeedState {
    fn next_event(&self, after: u64) -> Option<Result<Arc<Recorded>, Lagged>> {
        let first = self.tail.front()?.event.seq;
        let next = after + 1;
        if next < first {
            return Some(Err(Lagged));
        }
        let place = usize::try_from(next - first).ok()?;
        self.tail.get(place).cloned().map(Ok)
    }

    fn next_live(&self, cursor: &mut Cursor) -> Option<Live> {
        if self.draining && !cursor.told_draining {
            cursor.told_draining = true;
            return Some(Live::ServerDraining);
        }
        let asked = self.step.as_ref().filter(|step| step.after_seq <= self.published);
        if let Some(AskedStep { attempt: (step, attempt), .. }) = asked
            && cursor.step != Some((*step, *attempt))
        {
            cursor.step = Some((*step, *attempt));
            return Some(Live::StepStarted { step: *step, attempt: *attempt });
        }
        if self.open.len() < cursor.parts.len() {
            cursor.parts.retain(|seen| self.open.iter().any(|part| part.number == seen.number));
        }
        for part in self.open.iter().filter(|part| part.after_seq <= self.published) {
            let seen = cursor.parts.iter_mut().find(|seen| seen.number == part.number);
            let Some(seen) = seen.filter(|seen| seen.revision == part.revision) else {
                let text = next_piece(&part.text, 0).to_owned();
                cursor.parts.retain(|seen| seen.number != part.number);
                let seen = SeenPart { number: part.number, bytes: text.len(), revision: part.revision };
                cursor.parts.push(seen);
                return Some(Live::PartStarted {
                    part: part.id.clone(),
                    kind: part.kind,
                    tool: part.tool.clone(),
                    text,
                });
            };
            if seen.bytes < part.text.len() {
                let text = next_piece(&part.text, seen.bytes).to_owned();
                seen.bytes += text.len();
                return Some(Live::PartDelta { part: part.id.clone(), text });
            }
        }
        None
    }
}

/// The next piece of a text, cut between characters.
fn next_piece(text: &str, from: usize) -> &str {
    let mut end = text.len().min(from + PIECE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[from..end]
}

/// The feeds that have a writer or a reader.
#[derive(Default)]
pub struct Feeds {
    known: Mutex<HashMap<RunId, Weak<Feed>>>,
    draining: AtomicBool,
}

impl Feeds {
    /// The feed of a run; it lives as long as a writer or a reader holds it.
    pub fn feed_of_run(&self, run: RunId) -> Arc<Feed> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = known.get(&run).and_then(Weak::upgrade) {
            return feed;
        }
        if known.len() > 64 && known.len().is_power_of_two() {
            known.retain(|_, feed| feed.strong_count() > 0);
        }
        let feed = Arc::new(Feed::default());
        if self.draining.load(Ordering::Relaxed) {
            feed.announce_drain();
        }
        known.insert(run, Arc::downgrade(&feed));
        feed
    }

    /// Tells all readers, also those that are still to come, that the server goes down.
    pub fn announce_drain(&self) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.draining.store(true, Ordering::Relaxed);
        known.values().filter_map(Weak::upgrade).for_each(|feed| feed.announce_drain());
    }
}
