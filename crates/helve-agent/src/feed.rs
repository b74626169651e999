//! What a run is saying right now, for any number of readers.
//!
//! A feed holds the run's latest durable events and the parts that are still being written. A reader has a
//! cursor, not a queue: it takes what is new since it last looked, so a slow reader gets larger pieces and
//! nothing is ever lost or held for it. Durable events come in the order of their numbers; a reader that is too
//! far behind reads the log first (see `follow`).

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
                state.close_parts(&recorded.event.fact);
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

    fn close_parts(&mut self, fact: &Fact) {
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
pub(crate) enum Look {
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
    pub(crate) fn poll(&self, cursor: &mut Cursor, cx: &mut Context<'_>) -> Poll<Look> {
        let mut state = self.lock_state();
        match state.next_event(cursor.seq) {
            Some(Ok(event)) => {
                cursor.seq = event.event.seq;
                return Poll::Ready(Look::Frame(Frame::Event(event)));
            }
            Some(Err(Lagged)) => return Poll::Ready(Look::Lagged),
            None if state.ended || cursor.told_draining => return Poll::Ready(Look::Over),
            None => {}
        }
        if let Some(live) = state.next_live(cursor) {
            return Poll::Ready(Look::Frame(Frame::Live(live)));
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

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use helve_types::Timestamp;

    use super::*;

    fn event(seq: u64, fact: Fact) -> Arc<Recorded> {
        Arc::new(Recorded::new(seq, Timestamp(0), fact))
    }

    fn part(n: u32) -> PartId {
        PartId::new(1, 1, n)
    }

    fn finished(n: u32, text: &str) -> Fact {
        Fact::TextFinished { step: 1, part: part(n), text: text.into() }
    }

    /// Everything there is for the reader, as words.
    fn read(feed: &Feed, cursor: &mut Cursor) -> Vec<String> {
        let mut seen = vec![];
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(look) = feed.poll(cursor, &mut cx) {
            match look {
                Look::Frame(Frame::Event(event)) => {
                    seen.push(format!("{} {}", event.event.seq, event.event.fact.kind()));
                }
                Look::Frame(Frame::Live(Live::PartStarted { part, text, .. })) => {
                    seen.push(format!("{part} = {text}"));
                }
                Look::Frame(Frame::Live(Live::PartDelta { part, text })) => {
                    seen.push(format!("{part} + {text}"));
                }
                Look::Frame(Frame::Live(live)) => seen.push(format!("{live:?}")),
                Look::Lagged => {
                    seen.push("behind".into());
                    return seen;
                }
                Look::Over => {
                    seen.push("over".into());
                    return seen;
                }
            }
        }
        seen
    }

    #[test]
    fn a_reader_gets_pieces_as_they_come_and_a_late_one_the_text_so_far() {
        let feed = Feed::default();
        let mut early = Cursor::default();
        feed.begin_step(1, 1, 0);
        let text = feed.open_part(part(0), PartKind::Text, None);
        feed.push_text(text, "Hel");
        assert_eq!(read(&feed, &mut early), ["StepStarted { step: 1, attempt: 1 }", "1.1.0 = Hel"]);
        feed.push_text(text, "lo ");
        feed.push_text(text, "you");
        assert_eq!(read(&feed, &mut early), ["1.1.0 + lo you"]);
        let mut late = Cursor::default();
        assert_eq!(read(&feed, &mut late), ["StepStarted { step: 1, attempt: 1 }", "1.1.0 = Hello you"]);
        assert_eq!(read(&feed, &mut late), [""; 0]);
    }

    #[test]
    fn a_preview_is_shown_once_and_taken_back_where_something_else_comes() {
        let feed = Feed::default();
        let mut cursor = Cursor::default();
        let text = feed.open_part(part(0), PartKind::Text, None);
        feed.set_preview(text, "<");
        assert_eq!(read(&feed, &mut cursor), ["1.1.0 = <"]);
        feed.set_preview(text, "<th");
        assert_eq!(read(&feed, &mut cursor), ["1.1.0 + th"]);
        feed.push_text(text, "<");
        feed.push_text(text, "the");
        assert_eq!(read(&feed, &mut cursor), ["1.1.0 + e"]);
        feed.set_preview(text, "<t");
        feed.set_preview(text, "<");
        assert_eq!(read(&feed, &mut cursor), ["1.1.0 = <the<"]);
        feed.set_preview(text, "");
        assert_eq!(read(&feed, &mut cursor), ["1.1.0 = <the"]);
        feed.push_text(text, " end");
        assert_eq!(read(&feed, &mut cursor), ["1.1.0 +  end"]);
        assert_eq!(read(&feed, &mut Cursor::default()), ["1.1.0 = <the end"]);
    }

    #[test]
    fn a_durable_event_closes_its_part_and_the_last_one_ends_the_feed() {
        let feed = Feed::default();
        let mut cursor = Cursor::default();
        let text = feed.open_part(part(0), PartKind::Text, None);
        feed.push_text(text, "Hello");
        read(&feed, &mut cursor);
        feed.publish(&[
            event(1, finished(0, "Hello")),
            event(2, Fact::RunFinished { ending: helve_types::Ending::Answered }),
        ]);
        assert_eq!(read(&feed, &mut cursor), ["1 text.finished", "2 run.finished", "over"]);
    }

    #[test]
    fn a_new_attempt_voids_what_the_last_one_showed() {
        let feed = Feed::default();
        let mut cursor = Cursor::default();
        feed.begin_step(1, 1, 0);
        let first = feed.open_part(part(0), PartKind::Text, None);
        feed.push_text(first, "wrong");
        read(&feed, &mut cursor);
        feed.publish(&[event(
            1,
            Fact::StepRestarted { step: 1, attempt: 2, because: "reset".into(), spent: None },
        )]);
        feed.begin_step(1, 2, 0);
        let second = feed.open_part(PartId::new(1, 2, 0), PartKind::Text, None);
        feed.push_text(second, "right");
        assert_eq!(
            read(&feed, &mut cursor),
            ["1 step.restarted", "StepStarted { step: 1, attempt: 2 }", "1.2.0 = right"]
        );
        assert_eq!(feed.current_parts().len(), 1);
    }

    #[test]
    fn a_reader_that_is_too_far_behind_is_told_to_read_the_log() {
        let feed = Feed::default();
        for seq in 1..=TAIL_MAX as u64 + 10 {
            feed.publish(&[event(seq, finished(0, "x"))]);
        }
        assert_eq!(read(&feed, &mut Cursor::default()), ["behind"]);
        let mut close = Cursor::starting_after(20);
        assert_eq!(read(&feed, &mut close).len(), TAIL_MAX + 10 - 20);
    }

    #[test]
    fn large_events_leave_the_tail_sooner_and_the_latest_stays() {
        let feed = Feed::default();
        let large = "x".repeat(TAIL_BYTES_MAX / 3);
        for seq in 1..=9 {
            feed.publish(&[event(seq, finished(0, &large))]);
        }
        assert_eq!(read(&feed, &mut Cursor::starting_after(6)), ["behind"]);
        assert_eq!(read(&feed, &mut Cursor::starting_after(7)), ["8 text.finished", "9 text.finished"]);
        feed.publish(&[event(10, finished(0, &"x".repeat(TAIL_BYTES_MAX * 2)))]);
        assert_eq!(read(&feed, &mut Cursor::starting_after(9)), ["10 text.finished"]);
    }

    #[test]
    fn a_late_reader_gets_a_long_text_in_pieces_that_are_the_whole() {
        let feed = Feed::default();
        let long = "数".repeat(PIECE_BYTES_MAX);
        let text = feed.open_part(part(0), PartKind::Text, None);
        feed.push_text(text, &long);
        let pieces = read(&feed, &mut Cursor::default());
        assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX + 8), "{}", pieces.len());
        let whole: String = pieces.iter().map(|piece| &piece["1.1.0 + ".len()..]).collect();
        assert!(whole == long, "{} of {}", whole.len(), long.len());
    }

    #[test]
    fn a_tools_progress_is_a_part_of_its_own() {
        let feed = Feed::default();
        let mut cursor = Cursor::default();
        let call = helve_types::CallId::new(RunId(uuid_of(1)), 1, 0);
        let id = PartId::from(&call);
        feed.push_progress(&id, "build", "10 %", 0);
        feed.push_progress(&id, "build", " 20 %", 0);
        assert_eq!(read(&feed, &mut cursor), [format!("{id} = 10 % 20 %")]);
        assert_eq!(feed.current_parts().len(), 0);
    }

    #[test]
    fn what_is_written_behind_events_that_are_not_durable_yet_is_shown_after_them_and_not_closed_by_them() {
        let feed = Feed::default();
        let mut cursor = Cursor::default();
        feed.publish(&[event(1, finished(0, "asked"))]);
        feed.begin_step(2, 1, 3);
        let text = feed.open_part(PartId::new(2, 1, 0), PartKind::Text, None);
        feed.push_text(text, "Hello");
        let call = helve_types::CallId::new(RunId(uuid_of(1)), 1, 0);
        feed.push_progress(&PartId::from(&call), "build", "10 %", 3);
        assert_eq!(read(&feed, &mut cursor), ["1 text.finished"]);
        let restarted =
            |step, attempt| Fact::StepRestarted { step, attempt, because: "reset".into(), spent: None };
        feed.publish(&[event(2, restarted(1, 2))]);
        assert_eq!(read(&feed, &mut cursor), ["2 step.restarted"]);
        feed.publish(&[event(3, restarted(2, 1))]);
        assert_eq!(
            read(&feed, &mut cursor),
            [
                "3 step.restarted".to_owned(),
                "StepStarted { step: 2, attempt: 1 }".to_owned(),
                "2.1.0 = Hello".to_owned(),
                format!("{} = 10 %", PartId::from(&call)),
            ]
        );
        feed.publish(&[event(4, restarted(2, 2))]);
        assert_eq!(feed.current_parts(), [], "the attempt is void");
    }

    fn uuid_of(n: u128) -> uuid::Uuid {
        uuid::Uuid::from_u128(n)
    }

    #[test]
    fn a_server_that_goes_down_says_so_once_after_all_that_is_durable_and_then_no_more() {
        let feeds = Feeds::default();
        let (run, other) = (RunId(uuid_of(1)), RunId(uuid_of(2)));
        let feed = feeds.feed_of_run(run);
        let mut cursor = Cursor::default();
        feed.publish(&[event(1, finished(0, "x"))]);
        feeds.announce_drain();
        assert_eq!(read(&feed, &mut cursor), ["1 text.finished", "ServerDraining", "over"]);
        // A reader that comes back before the end is told, too.
        assert_eq!(read(&feeds.feed_of_run(other), &mut Cursor::default()), ["ServerDraining", "over"]);
    }

    #[test]
    fn a_feed_is_shared_while_somebody_holds_it() {
        let feeds = Feeds::default();
        let run = RunId(uuid_of(1));
        let first = feeds.feed_of_run(run);
        assert!(Arc::ptr_eq(&first, &feeds.feed_of_run(run)));
        first.publish(&[event(1, finished(0, "x"))]);
        drop(first);
        assert!(feeds.feed_of_run(run).has_no_events());
    }
}
