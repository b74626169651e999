//! Prose: the search for anything that is not.

use super::{Code, Opening, Parser, Trial};
use crate::calls::Out;
use crate::marker::ROOT;

impl Parser {
    /// Reads prose from `pos` up to the next thing of interest or the end of the chunk.
    pub(super) fn prose(&mut self, text: &str, pos: usize, out: &mut Out<'_>) -> usize {
        let live = self.live;
        let markers = &live.markers;
        let bytes = text.as_bytes();
        let mut node = self.node;
        let mut at = pos;
        // What has not gone out yet begins here, and what the line has not seen yet.
        let mut from = pos;
        let mut line_from = pos;
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
            let next = markers.step(node, byte);
            if node != ROOT && markers.depth(next) != markers.depth(node) + 1 {
                // What seemed to be a marker is none. A bracket that began it may begin an unmarked call.
                let prefix = markers.prefix(node);
                let second = prefix.as_bytes().get(1).copied().unwrap_or(byte);
                let start = at - (markers.depth(node) - self.carried);
                if prefix.starts_with('[') {
                    self.line.see_lines(&text[line_from..start]);
                    line_from = start;
                    self.say_before_judging(text, &mut from, start, out);
                }
                if prefix.starts_with('[') && self.may_stand_alone(&[b'[', second]) {
                    self.say(&text[from..start], out);
                    self.stand_alone();
                    self.advance(prefix, out);
                    return at;
                }
                if self.carried > 0 {
                    let gone = self.carried + (at + 1 - pos) - markers.depth(next);
                    let gone = gone.min(self.carried);
                    let released = markers.beginning(node, gone);
                    self.line.see(released.as_bytes());
                    self.say(released, out);
                    self.carried -= gone;
                }
            }
            node = next;
            at += 1;
            let mut hit = markers.hit(node);
            if hit.is_none()
                && let Some(marker) = markers.spelt(node, &bytes[at..])
            {
                at += markers.text(marker).len() - markers.depth(node);
                hit = Some(marker);
            }
            if let Some(marker) = hit {
                let mark = markers.text(marker);
                let start = at - (mark.len() - self.carried);
                self.line.see_lines(&text[line_from..start]);
                self.say_before_judging(text, &mut from, start, out);
                if self.hears(marker) {
                    self.say(&text[from..start], out);
                    self.node = ROOT;
                    self.carried = 0;
                    self.mark(marker, out);
                    return at;
                }
                self.say(&mark[..self.carried], out);
                self.carried = 0;
                self.line.see(mark.as_bytes());
                line_from = at;
                node = ROOT;
            } else if node == ROOT {
                match byte {
                    b'\n' => {
                        if self.code != Code::None {
                            self.say(&text[from..at], out);
                            from = at;
                            self.line_over(out);
                        }
                        self.line = Default::default();
                        line_from = at;
                    }
                    b'`' => {
                        self.line.see_lines(&text[line_from..at - 1]);
                        self.say(&text[from..at - 1], out);
                        self.begin_ticks();
                        return at - 1;
                    }
                    b'{' | b'[' => {
                        self.line.see_lines(&text[line_from..at - 1]);
                        line_from = at - 1;
                        self.say_before_judging(text, &mut from, at - 1, out);
                        if self.may_stand_alone(&bytes[at - 1..]) {
                            self.say(&text[from..at - 1], out);
                            self.stand_alone();
                            return at - 1;
                        }
                    }
                    _ => {}
                }
            }
        }
        let depth = markers.depth(node);
        let certain = at - (depth - self.carried);
        self.node = node;
        self.carried = depth;
        self.line.see_lines(&text[line_from..certain]);
        self.say(&text[from..certain], out);
        at
    }

    /// Text before a mark may settle a trial, and with it what the mark means; so it goes first.
    fn say_before_judging(&mut self, text: &str, from: &mut usize, to: usize, out: &mut Out<'_>) {
        if self.trial.is_some() || self.is_headed() {
            self.say(&text[*from..to], out);
            *from = to;
        }
    }

    /// Whether an unmarked call may begin here, with these bytes.
    fn may_stand_alone(&self, bytes: &[u8]) -> bool {
        self.code == Code::None
            && self.scope.is_empty()
            && !self.line.is_quoted()
            && !self.line.is_enclosed()
            && matches!(self.trial, None | Some(Trial::Alone { .. }))
            && !self.speech.in_reasoning()
            && self.live.alone.iter().any(|choice| choice.then.may_begin(bytes))
    }

    fn stand_alone(&mut self) {
        self.node = ROOT;
        self.carried = 0;
        self.open(Opening::alone(), "");
    }
}
