//! Calls that lie whole in the text at hand: read in one go, past the places that one in pieces goes through.
//!
//! One with its closing mark is over. Those without count only if nothing follows them, which is known where the text is
//! all of the message; elsewhere they are read step by step.

use super::{Code, Opening, Parser};
use crate::End;
use crate::body::Standing;
use crate::calls::{Ends, Out, WholeCall};
use crate::dialect::Grammar;
use crate::registry::Choice;
use helve_json::byte_search::begins;
use helve_json::is_blank;
use helve_json::skip::skip_blanks;

/// No call is shorter.
const SHORTEST: usize = 20;

impl Parser {
    /// Reads the calls of which the first stands behind the mark, which ends at the position, and each other behind the
    /// same mark, as long as nothing about them is in doubt. Says where the last one ends.
    #[inline]
    pub(super) fn whole_calls(
        &mut self,
        opening: Opening,
        text: &str,
        at: usize,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        if text.len() - at < SHORTEST || !self.may_lie_whole(opening) {
            return None;
        }
        self.calls_in_one_go(opening, text, at, out)
    }

    fn calls_in_one_go(
        &mut self,
        opening: Opening,
        text: &str,
        at: usize,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        let doubtful =
            self.strict.is_some() || self.trial.is_some() || self.code != Code::None || self.in_channel();
        if doubtful {
            return None;
        }
        let from = skip_blanks(text.as_bytes(), at);
        let choice = self.fit_at_once(opening, &text[from..]).ok()?;
        let standing = Self::standing(&opening);
        let mut end = self.whole_call(choice, standing, text, from, out)?;
        let mark = opening.marker().map(|marker| self.live.markers.text(marker));
        while let Some(mark) = mark {
            // Blanks between calls are framing.
            let next = skip_blanks(text.as_bytes(), end);
            if !begins(&text.as_bytes()[next..], mark) {
                break;
            }
            let from = skip_blanks(text.as_bytes(), next + mark.len());
            match self.whole_call(choice, standing, text, from, out) {
                Some(over) => end = over,
                None => break,
            }
        }
        Some(end)
    }

    fn whole_call(
        &mut self,
        choice: Choice,
        standing: Standing,
        text: &str,
        from: usize,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        let call = choice.grammar.whole(text, from, standing, &self.tools)?;
        self.calls.speaking = choice.dialect.name;
        match call.ends {
            Ends::Closed(end) => {
                // A section that was read in one go is closed, and whatever was open before it is over.
                if choice.dialect.closes_section(&text[..end]) {
                    self.unclosed = None;
                }
                self.meant(call, out);
                Some(end)
            }
            Ends::Open(end) => self.last_calls((call, end), choice.grammar, standing, text, out),
        }
    }

    /// The call, which ends at the position without a closing mark, and others behind it, if they are all that is left
    /// of the message.
    fn last_calls(
        &mut self,
        (first, end): (WholeCall<'_>, usize),
        grammar: Grammar,
        standing: Standing,
        text: &str,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        if self.ending != Some(End::Normal) {
            return None;
        }
        let mut more = Vec::new();
        let mut end = end;
        // Separators that nothing follows are text, so only blanks may be left.
        while skip_blanks(text.as_bytes(), end) < text.len() {
            let at = skip_separators(text.as_bytes(), end);
            let call = grammar.whole(text, at, standing, &self.tools)?;
            let Ends::Open(over) = call.ends else { return None };
            more.push(call);
            end = over;
        }
        self.meant(first, out);
        more.into_iter().for_each(|call| self.meant(call, out));
        Some(text.len())
    }

    fn meant(&mut self, call: WholeCall<'_>, out: &mut Out<'_>) {
        let call = call.parsed();
        let index = self.calls.show(&call, out);
        self.calls.finished(index, call, out);
        self.section_over();
    }
}

/// Where what follows a call begins, past what may stand between it and another.
fn skip_separators(bytes: &[u8], at: usize) -> usize {
    let separates = |byte: &u8| is_blank(*byte as char) || matches!(byte, b',' | b';');
    at + bytes[at..].iter().take_while(|byte| separates(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dropped, Piece, Reading, Tools, dialect};

    const CALL: &str = r#"{"name": "f", "arguments": {"a": 1}}"#;

    /// What comes out of these pieces: the names of calls, the texts of those that were cut, and what is said.
    fn told(name: &str, pieces: &[&str], end: End) -> String {
        let tools = Tools::new([("f".to_owned(), serde_json::json!({}))]);
        let mut parser = Parser::new(Reading::of(dialect(name).expect("is a dialect"), tools));
        let mut told = String::new();
        let mut take = |piece: Piece<'_>| match piece {
            Piece::CallFinished { call, .. } => told += &format!("call {} {};", call.name, call.arguments),
            Piece::CallDropped { why: Dropped::Cut, text, .. } => told += &format!("cut {text};"),
            Piece::Text(text) => told += text,
            _ => {}
        };
        pieces.iter().for_each(|piece| parser.feed(piece, &mut take));
        parser.finish(end, &mut take);
        told
    }

    #[test]
    fn a_call_is_shown_as_soon_as_it_is_there_and_once() {
        let mut shown = String::new();
        let mut take = |piece: Piece<'_>| match piece {
            Piece::CallStarted { name, .. } => shown += name,
            Piece::CallArguments { text, .. } => shown += text,
            _ => {}
        };
        let mut parser = Parser::new(Reading::default());
        parser.feed(&format!("<tool_call>{CALL}"), &mut take);
        parser.feed("</tool_call>", &mut |_| {});
        parser.feed(&format!("<tool_call>{CALL}"), &mut |_| {});
        parser.feed("</tool_call>", &mut take);
        assert_eq!(shown, "f{\"a\": 1}");
    }

    #[test]
    fn the_last_call_counts_if_nothing_follows_it() {
        for (name, tag) in [("json_bare", ""), ("llama3_json", "<|python_tag|>"), ("hermes", "<tool_call>\n")]
        {
            let text = format!("{tag}{CALL} ");
            let call = "call f {\"a\": 1};";
            assert_eq!(told(name, &[&text], End::Normal), call);
            assert_eq!(
                told(name, &[&text, &CALL.replace(": 1", ": 2")], End::Normal),
                format!("{call}call f {{\"a\": 2}};")
            );
            assert_eq!(told(name, &[&text], End::Cut), format!("cut {text};"));
        }
        let text = format!("So: {CALL}");
        assert_eq!(told("json_bare", &[&text, " is how."], End::Normal), format!("{text} is how."));
        let text = format!("<tool_call>{CALL}");
        assert_eq!(told("hermes", &[&text, "</tool_call> So."], End::Normal), "call f {\"a\": 1}; So.");
    }
}
