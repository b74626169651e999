//! Prose: the search for anything that is not.

use super::Parser;
use super::code::{Code, FENCE};
use super::line::LineState;
use super::opening::Opening;
use super::trial::CallTrial;
use crate::calls::Out;
use crate::marker::{MarkerNode, ROOT};

/// Where the reading of prose stands.
pub(super) struct ProseState {
    /// The beginning of a marker, and how much of it came in earlier chunks.
    pub(super) node: MarkerNode,
    pub(super) carried: usize,
    pub(super) line: LineState,
    pub(super) code: Code,
}

impl ProseState {
    pub(super) fn new() -> Self {
        Self { node: ROOT, carried: 0, line: LineState::default(), code: Code::None }
    }

    /// No marker has begun.
    pub(super) fn reset_marker(&mut self) {
        self.node = ROOT;
        self.carried = 0;
    }

    /// A line begins, outside of code.
    pub(super) fn reset_line(&mut self) {
        self.line = LineState::default();
        self.code = Code::None;
    }

    /// In a fence whose first line is held back.
    pub(super) fn is_headed(&self) -> bool {
        matches!(self.code, Code::Fence { headed: true, .. })
    }

    /// A tilde, which is text itself; `line` is up to date. So many of them at the beginning of a line open or close code.
    pub(super) fn handle_tilde(&mut self) {
        let leads = self.line.is_fresh() || self.line.tildes > 0;
        let tildes = if leads { self.line.tildes + 1 } else { 0 };
        self.line.observe(b"~");
        self.line.tildes = tildes;
        self.code = match self.code {
            Code::None if tildes == FENCE => Code::Tildes(tildes),
            // The line that opens it goes on; one that closes it is over before it could.
            Code::Tildes(open) if tildes == open + 1 => Code::Tildes(tildes),
            Code::Tildes(open) if tildes == open => Code::None,
            code => code,
        };
    }
}

/// What of a chunk of prose is not dealt with yet.
struct Pending<'t> {
    text: &'t str,
    /// Has not gone out from here on.
    from: usize,
    /// The line has not seen it from here on.
    line_from: usize,
}

impl Parser {
    /// Reads prose from `pos` up to the next thing of interest or the end of the chunk.
    pub(super) fn read_prose(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        let live = self.live;
        let markers = &live.markers;
        let bytes = text.as_bytes();
        let mut node = self.prose.node;
        let mut at = pos;
        let mut pending = Pending { text, from: pos, line_from: pos };
        loop {
            if node == ROOT {
                // The ends of lines matter only in code; elsewhere the line looks back when it is asked.
                let stops = if self.prose.code == Code::None { &live.stops } else { &live.line_stops };
                match stops.find(&bytes[at..]) {
                    Some(run) => at += run,
                    None => at = bytes.len(),
                }
            }
            let Some(&byte) = bytes.get(at) else { break };
            let next = markers.next_node(node, byte);
            if node != ROOT && markers.depth(next) != markers.depth(node) + 1 {
                if let Some(from) = self.handle_false_marker(node, byte, at, &mut pending, out) {
                    return from;
                }
                if self.prose.carried > 0 {
                    self.release_carried(
                        node,
                        self.prose.carried + (at + 1 - pos) - markers.depth(next),
                        out,
                    );
                }
            }
            node = next;
            at += 1;
            let mut hit = markers.marker_ending_at(node);
            if hit.is_none()
                && let Some(marker) = markers.marker_completed_by(node, &bytes[at..])
            {
                at += markers.text(marker).len() - markers.depth(node);
                hit = Some(marker);
            }
            if let Some(marker) = hit {
                if let Some(end) = self.handle_marker_at(marker, at, &mut pending, out) {
                    return end;
                }
                node = ROOT;
            } else if node == ROOT
                && let Some(end) = self.handle_byte_at(byte, at, &mut pending, out)
            {
                return end;
            }
        }
        let depth = markers.depth(node);
        let certain = at - (depth - self.prose.carried);
        self.prose.node = node;
        self.prose.carried = depth;
        self.prose.line.observe_lines(&text[pending.line_from..certain]);
        self.emit_text(&text[pending.from..certain], out);
        at
    }

    /// What seemed to be a marker is none. A bracket that began it may begin an unmarked call; if so, says where to read on.
    fn handle_false_marker(
        &mut self,
        node: MarkerNode,
        byte: u8,
        at: usize,
        pending: &mut Pending<'_>,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        let prefix = self.live.markers.prefix(node);
        if !prefix.starts_with('[') {
            return None;
        }
        let second = prefix.as_bytes().get(1).copied().unwrap_or(byte);
        let start = at - (self.live.markers.depth(node) - self.prose.carried);
        self.prose.line.observe_lines(&pending.text[pending.line_from..start]);
        pending.line_from = start;
        self.emit_text_before(pending, start, out);
        if !self.may_begin_unmarked_call(&[b'[', second]) {
            return None;
        }
        self.emit_text(&pending.text[pending.from..start], out);
        // Only what came in earlier chunks is not in this one, to be read on there.
        let earlier = self.live.markers.beginning(node, self.prose.carried);
        self.begin_unmarked_call();
        self.reread_text(earlier, out);
        Some(start)
    }

    /// So many bytes that came in earlier chunks are no part of a marker.
    fn release_carried(&mut self, node: MarkerNode, gone: usize, out: &mut Out<'_>) {
        let gone = gone.min(self.prose.carried);
        let released = self.live.markers.beginning(node, gone);
        self.prose.line.observe(released.as_bytes());
        self.emit_text(released, out);
        self.prose.carried -= gone;
    }

    /// A marker ends at the position. If it means anything there, says where what it means ends.
    fn handle_marker_at(
        &mut self,
        marker: usize,
        at: usize,
        pending: &mut Pending<'_>,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        let mark = self.live.markers.text(marker);
        let start = at - (mark.len() - self.prose.carried);
        self.prose.line.observe_lines(&pending.text[pending.line_from..start]);
        self.emit_text_before(pending, start, out);
        if self.is_active(marker) {
            self.emit_text(&pending.text[pending.from..start], out);
            self.prose.reset_marker();
            if self.belongs_to_unclosed_section(marker) {
                self.resume_section(mark);
            }
            self.handle_marker(marker, out);
            return Some(at);
        }
        self.emit_text(&mark[..self.prose.carried], out);
        self.prose.carried = 0;
        self.prose.line.observe(mark.as_bytes());
        pending.line_from = at;
        None
    }

    /// A byte before the position that begins no marker. If it begins anything else, says where to read on.
    fn handle_byte_at(
        &mut self,
        byte: u8,
        at: usize,
        pending: &mut Pending<'_>,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        let text = pending.text;
        match byte {
            b'\n' => {
                if self.prose.code != Code::None {
                    self.emit_text(&text[pending.from..at], out);
                    pending.from = at;
                    self.finish_line(out);
                }
                self.prose.line = Default::default();
                pending.line_from = at;
            }
            b'`' => {
                self.prose.line.observe_lines(&text[pending.line_from..at - 1]);
                self.emit_text(&text[pending.from..at - 1], out);
                self.begin_ticks();
                return Some(at - 1);
            }
            b'~' => {
                self.prose.line.observe_lines(&text[pending.line_from..at - 1]);
                pending.line_from = at;
                self.prose.handle_tilde();
            }
            b'{' | b'[' => {
                self.prose.line.observe_lines(&text[pending.line_from..at - 1]);
                pending.line_from = at - 1;
                self.emit_text_before(pending, at - 1, out);
                if self.may_begin_unmarked_call(&text.as_bytes()[at - 1..]) {
                    self.emit_text(&text[pending.from..at - 1], out);
                    self.prose.reset_marker();
                    self.begin_unmarked_call();
                    return Some(at - 1);
                }
            }
            _ => {}
        }
        None
    }

    /// Text before a mark may settle a trial, or be the first there is, and with it what the mark means; so it goes first.
    fn emit_text_before(&mut self, pending: &mut Pending<'_>, to: usize, out: &mut Out<'_>) {
        if self.trials.current.is_some() || self.prose.is_headed() || self.speech.at_start() {
            self.emit_text(&pending.text[pending.from..to], out);
            pending.from = to;
        }
    }

    /// Whether an unmarked call may begin here, with these bytes.
    fn may_begin_unmarked_call(&self, bytes: &[u8]) -> bool {
        self.prose.code == Code::None
            && self.scope.is_none()
            && !self.in_result
            && !self.prose.line.is_quoted()
            && !self.prose.line.is_enclosed()
            && matches!(self.trials.current, None | Some(CallTrial::Alone { .. } | CallTrial::Marked))
            && !self.speech.in_reasoning()
            && self.live.alone.iter().any(|choice| choice.then.may_begin(bytes))
    }

    pub(super) fn begin_unmarked_call(&mut self) {
        self.prose.reset_marker();
        self.begin_opening(Opening::alone(), "");
    }
}
