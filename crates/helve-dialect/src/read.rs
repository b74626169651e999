//! Complete mode: a whole text at once, by the same automaton where there is more than text in it.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::value::RawValue;

use crate::{Dropped, End, Finding, ParsedCall, Parser, Piece, Reading};
use helve_json::inspect;

/// A whole message, read. Serialised, it is what `helve parse` prints.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadResult {
    /// The answer, without markup.
    pub content: String,
    /// What the model thought, as far as that is in the text.
    pub reasoning: String,
    /// The calls that may be run.
    pub calls: Vec<ParsedCall>,
    /// What looked like a call and was none, except quotations.
    pub dropped: Vec<DroppedCall>,
    /// The dialect of the calls, or the one that was given.
    pub dialect: Option<&'static str>,
    /// No call was cut off or broken.
    pub complete: bool,
    /// The text began inside reasoning, as [`Finding`] has it.
    pub reasoning_open: bool,
}

/// A call that cannot be run, and what the model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedCall {
    pub name: Option<String>,
    pub why: Dropped,
    pub text: String,
}

/// Reads a whole text, in pieces of `chunk` characters if given; the result is the same either way.
///
/// ```
/// use helve_dialect::{Reading, Tools, read};
///
/// let text = "Let me look.\n<tool_call>{\"name\": \"search\", \"arguments\": {\"q\": \"rust\"}}</tool_call>";
/// let result = read(text, Reading::any(Tools::unknown()), Some(3));
/// assert_eq!(result.content, "Let me look.\n");
/// assert_eq!(result.calls[0].name, "search");
/// assert_eq!(result.dialect, Some("hermes"));
/// ```
pub fn read(text: &str, reading: Reading, chunk: Option<usize>) -> ReadResult {
    let mut result = ReadResult::default();
    let mut take = |piece: Piece<'_>| match piece {
        Piece::Text(text) => result.content.push_str(text),
        Piece::Reasoning(text) => result.reasoning.push_str(text),
        Piece::CallFinished { call, .. } => result.calls.push(call),
        Piece::CallDropped { name, why, text, .. } if why != Dropped::Quoted => {
            result.dropped.push(DroppedCall { name: name.map(str::to_owned), why, text: text.to_owned() })
        }
        Piece::CallStarted { .. } | Piece::CallArguments { .. } | Piece::CallDropped { .. } => {}
    };
    let finding = match chunk {
        None => reading.read(text, End::Normal, &mut take),
        Some(chunk) => {
            let mut parser = Parser::new(reading);
            chunks(text, chunk).for_each(|piece| parser.feed(piece, &mut take));
            parser.finish(End::Normal, &mut take)
        }
    };
    result.dialect = finding.dialect;
    result.complete = finding.complete;
    result.reasoning_open = finding.reasoning_open;
    result
}

impl Reading {
    /// Reads a complete message, as a [`Parser`] does that is fed all of it.
    pub fn read(&self, text: &str, end: End, out: &mut impl FnMut(Piece<'_>)) -> Finding {
        Parser::read_complete(self, text, end, out)
    }
}

/// The text in pieces of so many characters.
fn chunks(text: &str, chars: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(chars.max(1)).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

impl Serialize for ReadResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut result = serializer.serialize_struct("ReadResult", 5)?;
        result.serialize_field("content", &self.content)?;
        result.serialize_field("reasoning", &self.reasoning)?;
        result.serialize_field("calls", &self.calls)?;
        result.serialize_field("dialect", &self.dialect)?;
        result.serialize_field("complete", &self.complete)?;
        result.end()
    }
}

impl Serialize for ParsedCall {
    /// Name and arguments; the arguments as JSON on one line, every digit kept.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arguments = RawValue::from_string(inspect::remove_whitespace(&self.arguments))
            .map_err(serde::ser::Error::custom)?;
        let mut call = serializer.serialize_struct("ParsedCall", 2)?;
        call.serialize_field("name", &self.name)?;
        call.serialize_field("arguments", &arguments)?;
        call.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tools;

    #[test]
    fn a_result_is_one_line_of_json_with_every_digit() {
        let text = "<think>hm</think>So:\n<tool_call>{\"name\": \"f\", \"arguments\": {\n \"n\": 12345678901234567890123\n}}</tool_call>";
        let result = read(text, Reading::any(Tools::unknown()), Some(5));
        let json = serde_json::to_string(&result).expect("is JSON");
        let expected = r#"{"content":"So:\n","reasoning":"hm","calls":[{"name":"f","arguments":{"n":12345678901234567890123}}],"dialect":"hermes","complete":true}"#;
        assert_eq!(json, expected);
    }

    #[test]
    fn a_cut_call_is_kept_apart() {
        let result = read("<tool_call>{\"name\": \"f\", ", Reading::any(Tools::unknown()), None);
        assert!(!result.complete && result.calls.is_empty());
        let dropped = DroppedCall {
            name: Some("f".to_owned()),
            why: Dropped::Cut,
            text: "<tool_call>{\"name\": \"f\", ".to_owned(),
        };
        assert_eq!(result.dropped, [dropped]);
    }

    #[test]
    fn reasoning_that_the_prompt_opened_is_noticed_when_it_is_closed() {
        let text = "hm</think>So.";
        for (text, open, noticed) in [
            (text, false, true),
            (text, true, true),
            ("hm", true, false),
            ("<think>hm</think>So.</think>", false, false),
        ] {
            let read = read(text, Reading::default().reasoning_open(open), Some(3));
            assert_eq!(read.reasoning_open, noticed, "{text} {open}");
        }
    }

    #[test]
    fn a_parser_may_move_between_threads() {
        fn is_send<T: Send>() {}
        is_send::<Parser>();
    }
}
