//! A call that lies whole in the text at hand: read in one go, past the places that one in pieces goes through.
//!
//! With its closing mark it is over. Without one, at the end of a piece, it counts if nothing follows: then it is put
//! off, and taken up and read step by step if anything does.

use super::{Code, Opening, Parser, Place};
use crate::calls::{Ends, Out};
use crate::json::whole::skip_blanks;
use crate::{End, ParsedCall, Piece};

/// No call is shorter.
const SHORTEST: usize = 20;

/// The last call of what was fed so far. What it is made of is kept once.
pub(super) struct PutOff {
    opening: Opening,
    dialect: &'static str,
    index: u32,
    call: ParsedCall,
    /// What else was read behind the mark, and where the arguments stood in it.
    around: String,
    at: usize,
}

impl PutOff {
    /// What was read behind the mark.
    fn text(&self) -> String {
        let (before, behind) = self.around.split_at(self.at);
        [before, &self.call.arguments, behind].concat()
    }
}

impl Parser {
    /// Reads the call behind the mark, which ends at the position, if nothing about it is in doubt. Says where it ends.
    pub(super) fn whole_call(
        &mut self,
        opening: Opening,
        text: &str,
        at: usize,
        out: &mut Out<'_>,
    ) -> Option<usize> {
        let doubtful = self.trial.is_some() || self.code != Code::None || self.speech.in_reasoning();
        if doubtful || text.len() - at < SHORTEST {
            return None;
        }
        let from = skip_blanks(text.as_bytes(), at);
        let choice = self.fit_at_once(opening, &text[from..]).ok()?;
        let call = choice.grammar.whole(text, from, &self.tools)?;
        if !Self::standing(&opening).admits(call.name, &self.tools) {
            return None;
        }
        let dialect = choice.dialect.name;
        match call.ends {
            Ends::Closed(end) => {
                let call = call.parsed();
                let index = self.calls.show(&call, out);
                self.meant(dialect, index, call, out);
                Some(end)
            }
            Ends::Open { arguments_at } => {
                let behind = arguments_at + call.arguments.len();
                let around = [&text[at..arguments_at], &text[behind..]].concat();
                let at = arguments_at - at;
                let call = call.parsed();
                let index = self.calls.show(&call, out);
                self.put_off = Some(PutOff { opening, dialect, index, call, around, at });
                self.place = Place::PutOff;
                Some(text.len())
            }
        }
    }

    fn meant(&mut self, dialect: &'static str, index: u32, call: ParsedCall, out: &mut Out<'_>) {
        self.calls.speaking = dialect;
        self.calls.finished(index, call, out);
        self.section_over();
    }

    /// Something follows the call that was put off: reads it as one that goes on. It was shown already.
    #[cold]
    pub(super) fn take_up(&mut self, pos: usize, out: &mut Out<'_>) -> usize {
        self.place = Place::Prose;
        if let Some(put_off) = self.put_off.take() {
            match put_off.opening.marker() {
                Some(marker) => self.mark(marker, out),
                None => self.stand_alone(),
            }
            self.calls.renumber();
            self.advance(&put_off.text(), &mut |piece| match piece {
                Piece::CallStarted { index, .. } | Piece::CallArguments { index, .. }
                    if index == put_off.index => {}
                piece => out(piece),
            });
        }
        pos
    }

    /// The stream is over, and with it the call that was put off. Where it was cut, something might have followed.
    pub(super) fn put_off_over(&mut self, end: End, out: &mut Out<'_>) {
        if end == End::Cut {
            self.take_up(0, out);
            self.wind_up(end, out);
        } else if let Some(put_off) = self.put_off.take() {
            self.meant(put_off.dialect, put_off.index, put_off.call, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dropped, Reading, Tools, dialect};

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
