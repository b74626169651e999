//! Prose: the search for anything that is not.

use super::{CallTrial, Code, Opening, Parser};
use crate::calls::Out;
use crate::marker::{MarkerNode, ROOT};

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
        let mut node = self.node;
        let mut at = pos;
        let mut pending = Pending { text, from: pos, line_from: pos };
        loop {
            if node == ROOT {
                // The ends of lines matter only in code; elsewhere the line looks back when it is asked.
                let stops = if self.code == Code::None { &live.stops } else { &live.line_stops };
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
                if self.carried > 0 {
                    self.release_carried(node, self.carried + (at + 1 - pos) - markers.depth(next), out);
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
        let certain = at - (depth - self.carried);
        self.node = node;
        self.carried = depth;
        self.line.observe_lines(&text[pending.line_from..certain]);
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
        let start = at - (self.live.markers.depth(node) - self.carried);
        self.line.observe_lines(&pending.text[pending.line_from..start]);
        pending.line_from = start;
        self.emit_text_before(pending, start, out);
        if !self.may_begin_unmarked_call(&[b'[', second]) {
            return None;
        }
        self.emit_text(&pending.text[pending.from..start], out);
        // Only what came in earlier chunks is not in this one, to be read on there.
        let earlier = self.live.markers.beginning(node, self.carried);
        self.begin_unmarked_call();
        self.reread_text(earlier, out);
        Some(start)
    }

    /// So many bytes that came in earlier chunks are no part of a marker.
    fn release_carried(&mut self, node: MarkerNode, gone: usize, out: &mut Out<'_>) {
        let gone = gone.min(self.carried);
        let released = self.live.markers.beginning(node, gone);
        self.line.observe(released.as_bytes());
        self.emit_text(released, out);
        self.carried -= gone;
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
        let start = at - (mark.len() - self.carried);
        self.line.observe_lines(&pending.text[pending.line_from..start]);
        self.emit_text_before(pending, start, out);
        if self.is_active(marker) {
            self.emit_text(&pending.text[pending.from..start], out);
            self.node = ROOT;
            self.carried = 0;
            if self.belongs_to_unclosed_section(marker) {
                self.resume_section(mark);
            }
            self.handle_marker(marker, out);
            return Some(at);
        }
        self.emit_text(&mark[..self.carried], out);
        self.carried = 0;
        self.line.observe(mark.as_bytes());
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
                if self.code != Code::None {
                    self.emit_text(&text[pending.from..at], out);
                    pending.from = at;
                    self.finish_line(out);
                }
                self.line = Default::default();
                pending.line_from = at;
            }
            b'`' => {
                self.line.observe_lines(&text[pending.line_from..at - 1]);
                self.emit_text(&text[pending.from..at - 1], out);
                self.begin_ticks();
                return Some(at - 1);
            }
            b'~' => {
                self.line.observe_lines(&text[pending.line_from..at - 1]);
                pending.line_from = at;
                self.handle_tilde();
            }
            b'{' | b'[' => {
                self.line.observe_lines(&text[pending.line_from..at - 1]);
                pending.line_from = at - 1;
                self.emit_text_before(pending, at - 1, out);
                if self.may_begin_unmarked_call(&text.as_bytes()[at - 1..]) {
                    self.emit_text(&text[pending.from..at - 1], out);
                    self.node = ROOT;
                    self.carried = 0;
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
        if self.trial.is_some() || self.is_headed() || self.speech.at_start() {
            self.emit_text(&pending.text[pending.from..to], out);
            pending.from = to;
        }
    }

    /// Whether an unmarked call may begin here, with these bytes.
    fn may_begin_unmarked_call(&self, bytes: &[u8]) -> bool {
        self.code == Code::None
            && self.scope.is_none()
            && !self.in_result
            && !self.line.is_quoted()
            && !self.line.is_enclosed()
            && matches!(self.trial, None | Some(CallTrial::Alone { .. } | CallTrial::Marked))
            && !self.speech.in_reasoning()
            && self.live.alone.iter().any(|choice| choice.then.may_begin(bytes))
    }

    pub(super) fn begin_unmarked_call(&mut self) {
        self.node = ROOT;
        self.carried = 0;
        self.begin_opening(Opening::alone(), "");
    }
}
