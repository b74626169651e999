//! Text on its way out: answer or reasoning, and which blanks are only framing.
//!
//! Blanks around reasoning, and blanks that stand alone between calls, belong to the markup. So a run of blanks is
//! held back where it may be framing, and nowhere else.

use crate::Piece;
use crate::calls::Out;
use helve_json::is_blank;

pub(super) struct Speech {
    channel: SpeechChannel,
    gap: SpeechGap,
    /// Blanks that may be framing.
    blanks: String,
    /// Nothing needs care: text goes straight out, line breaks in reasoning aside.
    plain: bool,
}

enum SpeechChannel {
    Answer,
    /// Up to one of these marks; where the prompt opened it, up to any.
    Reasoning {
        close: Option<&'static [&'static str]>,
    },
}

/// What the text follows, as long as only blanks have come since.
#[derive(Clone, Copy, PartialEq)]
enum SpeechGap {
    None,
    Start,
    Call,
    /// The end of reasoning, or its beginning: blanks here are framing.
    Reasoning,
    /// A token that may end the turn.
    End,
}

impl Speech {
    pub(super) fn new(reasoning_open: bool) -> Self {
        Self {
            channel: match reasoning_open {
                true => SpeechChannel::Reasoning { close: None },
                false => SpeechChannel::Answer,
            },
            gap: if reasoning_open { SpeechGap::Reasoning } else { SpeechGap::Start },
            blanks: String::new(),
            plain: false,
        }
    }

    pub(super) fn in_reasoning(&self) -> bool {
        matches!(self.channel, SpeechChannel::Reasoning { .. })
    }

    /// Whether this mark ends the reasoning that is open.
    pub(super) fn ends_with(&self, mark: &str) -> bool {
        matches!(self.channel, SpeechChannel::Reasoning { close } if close.is_none_or(|close| close.contains(&mark)))
    }

    pub(super) fn open_reasoning(&mut self, close: &'static [&'static str], out: &mut Out<'_>) {
        if self.gap == SpeechGap::Call {
            self.blanks.clear();
        }
        self.emit_blanks(out);
        self.channel = SpeechChannel::Reasoning { close: Some(close) };
        self.begin_framing();
    }

    /// Reasoning that ends with its channel, whatever mark that is.
    pub(super) fn open_channel(&mut self, out: &mut Out<'_>) {
        self.emit_blanks(out);
        self.channel = SpeechChannel::Reasoning { close: None };
        self.begin_framing();
    }

    /// Blanks that go out with the next text, unless a mark comes first.
    pub(super) fn waiting_blanks(&self) -> &str {
        &self.blanks
    }

    /// Whether nothing but blanks has been said yet.
    pub(super) fn at_start(&self) -> bool {
        self.gap == SpeechGap::Start
    }

    pub(super) fn close_reasoning(&mut self) {
        self.channel = SpeechChannel::Answer;
        self.begin_framing();
    }

    /// A closing mark where nothing is open.
    pub(super) fn handle_stray_close(&mut self) {
        self.begin_framing();
    }

    /// A token that may end the turn. Where text follows it, it is text itself.
    pub(super) fn hold_end_token(&mut self, token: &str) {
        if matches!(self.gap, SpeechGap::Call | SpeechGap::Reasoning) {
            return;
        }
        self.blanks.push_str(token);
        self.gap = SpeechGap::End;
        self.plain = false;
    }

    fn begin_framing(&mut self) {
        self.blanks.clear();
        self.gap = SpeechGap::Reasoning;
        self.plain = false;
    }

    pub(super) fn begin_after_call(&mut self) {
        self.blanks.clear();
        self.gap = SpeechGap::Call;
        self.plain = false;
    }

    /// Another mark of the call: blanks before it are framing too.
    pub(super) fn handle_stray_mark(&mut self) {
        if self.gap == SpeechGap::Call {
            self.blanks.clear();
        }
    }

    pub(super) fn update_fast_path(&mut self, careful: bool) {
        self.plain = !careful && self.gap == SpeechGap::None && self.blanks.is_empty();
    }

    /// Whether text without a line break goes straight out.
    #[inline]
    pub(super) fn is_fast_path(&self) -> bool {
        self.plain
    }

    fn emit_blanks(&mut self, out: &mut Out<'_>) {
        if !self.blanks.is_empty() {
            self.emit_piece(&self.blanks, out);
            self.blanks.clear();
        }
    }

    pub(super) fn emit_piece(&self, text: &str, out: &mut Out<'_>) {
        if text.is_empty() {
            return;
        }
        out(match self.channel {
            SpeechChannel::Answer => Piece::Text(text),
            SpeechChannel::Reasoning { .. } => Piece::Reasoning(text),
        });
    }

    pub(super) fn emit_text(&mut self, text: &str, out: &mut Out<'_>) {
        let mut text = text;
        if self.gap != SpeechGap::None {
            let nonblank = text.trim_start_matches(is_blank);
            if self.gap == SpeechGap::Reasoning {
                text = nonblank;
            }
            if nonblank.is_empty() {
                self.blanks.push_str(text);
                return;
            }
            self.gap = SpeechGap::None;
        }
        if !self.in_reasoning() {
            self.emit_blanks(out);
            self.emit_piece(text, out);
            return;
        }
        // Line breaks at the end of reasoning are framing; whether this is the end, the next text shows.
        let nonblank = text.trim_end_matches(is_blank).len();
        if nonblank > 0 {
            self.emit_blanks(out);
        }
        let framing = match self.blanks.is_empty() {
            true => text[nonblank..].find('\n').map_or(text.len(), |at| nonblank + at),
            false => 0,
        };
        self.emit_piece(&text[..framing], out);
        self.blanks.push_str(&text[framing..]);
    }

    /// The message is over. Blanks that were all of it are its text.
    pub(super) fn finish(&mut self, any_calls: bool, out: &mut Out<'_>) {
        if self.gap == SpeechGap::Start && !any_calls {
            self.emit_blanks(out);
        }
        self.blanks.clear();
    }
}
