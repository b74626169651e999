//! A call that lies whole behind its mark: read in one go, past the places that one in pieces goes through.

use super::{Code, Opening, Parser};
use crate::calls::Out;
use crate::json::whole::skip_blanks;

impl Parser {
    /// Reads the call behind the marker, which ends at the position, if nothing about it is in doubt. Says where it
    /// ends.
    pub(super) fn whole_call(
        &mut self,
        marker: usize,
        text: &str,
        at: usize,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        if self.trial.is_some() || self.code != Code::None || self.speech.in_reasoning() {
            return None;
        }
        let from = skip_blanks(text.as_bytes(), at);
        let choice = self.fit_at_once(Opening::tag(marker), &text[from..]).ok()?;
        let call = choice.grammar.whole(text, from, &self.tools)?;
        let end = call.end;
        self.calls.speaking = choice.dialect.name;
        self.calls.whole(call, out);
        self.section_over();
        Some(end)
    }
}
