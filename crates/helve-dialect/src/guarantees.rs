//! What the parser promises, each promise a property over generated text.

mod complete;
mod detection;
mod forms;
mod quotations;
mod random_text;
mod reviews;
mod samples;
mod story;
mod strays;
mod strict;
mod trailing;
mod words;

use proptest::prelude::*;
use serde_json::json;

use crate::{Dropped, End, Finding, ParsedCall, Parser, Piece, Reading, Tools, dialect};
use helve_json::work;

/// All that came out of one reading, cut-independent.
#[derive(Debug, PartialEq, Default)]
struct ParseOutcome {
    /// Text and reasoning in the order they came, runs joined.
    said: Vec<(SaidAs, String)>,
    calls: Vec<ParsedCall>,
    dropped: Vec<(Option<String>, Dropped, String)>,
    finding: Option<Finding>,
    /// Bytes looked at, a second look counted again.
    steps: u64,
}

#[derive(Debug, PartialEq, Clone, Copy)]
enum SaidAs {
    Text,
    Reasoning,
}

impl ParseOutcome {
    fn text(&self, channel: SaidAs) -> String {
        let said = self.said.iter().filter(|(c, _)| *c == channel);
        said.map(|(_, text)| text.as_str()).collect()
    }

    fn content(&self) -> String {
        self.text(SaidAs::Text)
    }

    fn reasoning(&self) -> String {
        self.text(SaidAs::Reasoning)
    }

    /// How often a word comes out, whichever way: said, called, or told of a call that was dropped. Where the id of a call
    /// repeats its name, that is once.
    fn times(&self, word: &str) -> usize {
        let said = self.said.iter().map(|(_, text)| text.as_str());
        let called = self.calls.iter().flat_map(|call| {
            let id = call.id.as_deref().filter(|_| !call.name.contains(word));
            [id.unwrap_or(""), call.name.as_str(), call.arguments.as_str()]
        });
        let dropped = self.dropped.iter().map(|(.., text)| text.as_str());
        said.chain(called).chain(dropped).map(|text| text.matches(word).count()).sum()
    }
}

/// Reads the text in these pieces and checks what holds for every stream of pieces.
fn run(pieces: &[&str], reading: Reading, end: End) -> ParseOutcome {
    let mut parser = Parser::new(reading);
    outcome(|mut take| {
        pieces.iter().for_each(|piece| parser.feed(piece, &mut take));
        parser.finish(end, &mut take)
    })
}

/// Reads the text as one that is all there.
fn run_whole(text: &str, reading: &Reading, end: End) -> ParseOutcome {
    outcome(|mut take| reading.read(text, end, &mut take))
}

/// What comes out of a reading.
fn outcome(read: impl FnOnce(&mut dyn FnMut(Piece<'_>)) -> Finding) -> ParseOutcome {
    let mut outcome = ParseOutcome::default();
    // By index: the argument text so far, and whether the call has ended.
    let mut started: Vec<Option<(String, bool)>> = vec![];
    let mut take = |piece: Piece<'_>| match piece {
        Piece::Text(text) => say(&mut outcome.said, SaidAs::Text, text),
        Piece::Reasoning(text) => say(&mut outcome.said, SaidAs::Reasoning, text),
        Piece::CallStarted { index, .. } => {
            assert_eq!(index as usize, started.len(), "calls are numbered as they start");
            started.push(Some((String::new(), false)));
        }
        Piece::CallArguments { index, text } => {
            let Some((arguments, false)) = &mut started[index as usize] else {
                panic!("arguments of a call that is not open");
            };
            arguments.push_str(text);
        }
        Piece::CallFinished { index, call } => {
            let Some((arguments, over @ false)) = &mut started[index as usize] else {
                panic!("a call finished that is not open");
            };
            *over = true;
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok());
            if call.repairs.is_empty() {
                assert_eq!(*arguments, call.arguments);
            }
            outcome.calls.push(call);
        }
        Piece::CallDropped { index, name, why, text } => {
            if index as usize == started.len() {
                started.push(None);
            } else if let Some((_, over)) = &mut started[index as usize] {
                assert!(!*over, "a call ends once");
                *over = true;
            }
            outcome.dropped.push((name.map(str::to_owned), why, text.to_owned()));
        }
    };
    let (finding, steps) = work::measure_work(|| read(&mut take));
    assert!(started.iter().flatten().all(|(_, over)| *over), "every call that starts ends");
    outcome.finding = Some(finding);
    outcome.steps = steps;
    outcome
}

fn say(said: &mut Vec<(SaidAs, String)>, channel: SaidAs, text: &str) {
    assert!(!text.is_empty());
    match said.last_mut() {
        Some((last, so_far)) if *last == channel => so_far.push_str(text),
        _ => said.push((channel, text.to_owned())),
    }
}

fn tools() -> Tools {
    Tools::new([
        (
            "get_weather".to_owned(),
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        ),
        (
            "search".to_owned(),
            json!({"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}),
        ),
    ])
}

fn any_reading() -> impl Strategy<Value = Reading> {
    let dialects = prop_oneof![
        3 => Just(None),
        1 => prop::sample::select(crate::dialects().to_vec()).prop_map(Some),
    ];
    (dialects, any::<bool>(), prop::bool::weighted(0.3)).prop_map(|(dialect, known, reasoning_open)| {
        Reading::new(dialect, if known { tools() } else { Tools::unknown() }).reasoning_open(reasoning_open)
    })
}

fn any_end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Normal), Just(End::Cut)]
}

/// The text cut into pieces of these lengths in characters, over and over.
fn cut<'t>(text: &'t str, lengths: &[usize]) -> Vec<&'t str> {
    let mut pieces = vec![];
    let mut rest = text;
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let end = rest.char_indices().nth((*length).max(1)).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn hermes() -> Option<&'static crate::Dialect> {
    dialect("hermes")
}
