//! The inside of a call: one automaton per family behind one face.

use crate::calls::Report;
use crate::dialect::Grammar;
use crate::json_tags::JsonBody;
use crate::pythonic::PythonBody;
use crate::{End, Tools};

/// What became of a piece of text given to a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// All of it was taken.
    More,
    /// The section ended; the rest is not its own.
    Done(Rest),
    /// No call: all that was taken since the mark is text, and so is the rest.
    NotACall(Rest),
}

/// What a body gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rest {
    /// The end of what was taken: the beginning of a mark that was none. It comes before the text at `pos`.
    pub(crate) back: &'static str,
    pub(crate) pos: usize,
}

impl Rest {
    /// Everything from here on.
    pub(crate) fn at(pos: usize) -> Self {
        Self { back: "", pos }
    }
}

/// What a body was when the stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// In the middle of a call.
    Cut,
    NotACall,
}

/// What vouches for the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Markup says so.
    Marked,
    /// Only its place and the name of a declared tool.
    Alone,
}

impl Standing {
    /// Whether a name may be called: without markup, only a declared one.
    pub(crate) fn admits(self, name: &str, tools: &Tools) -> bool {
        self == Self::Marked || tools.is_unknown() || tools.resolve(name).is_some()
    }
}

pub(crate) enum Body {
    Json(JsonBody),
    Python(PythonBody),
}

impl Body {
    /// Begins a section, with the buffers of the last one if it was of the same family.
    pub(crate) fn begin(slot: &mut Option<Self>, grammar: Grammar, standing: Standing) {
        match (grammar, slot) {
            (Grammar::Json(grammar), Some(Self::Json(body))) => body.restart(grammar, standing),
            (Grammar::Json(grammar), slot) => *slot = Some(Self::Json(JsonBody::new(grammar, standing))),
            (Grammar::Python(grammar), slot) => {
                *slot = Some(Self::Python(PythonBody::new(grammar, standing)))
            }
        }
    }

    /// Reads on from `from`. Whatever is taken is also added to the report's held text.
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut Report<'_, '_>) -> Step {
        match self {
            Self::Json(body) => body.feed(text, from, report),
            Self::Python(body) => body.feed(text, from, report),
        }
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut Report<'_, '_>) -> Ending {
        match self {
            Self::Json(body) => body.finish(end, report),
            Self::Python(body) => body.finish(end, report),
        }
    }
}

/// Recognises a closing mark that may be cut anywhere. Exact as long as a mark's first byte stands in it only once.
#[derive(Default, Clone, Copy)]
pub(crate) struct Closer {
    of: usize,
    at: usize,
}

impl Closer {
    /// Takes one more byte; gives the mark once it is whole.
    pub(crate) fn step(&mut self, marks: &[&'static str], byte: u8) -> Option<&'static str> {
        let so_far = marks.get(self.of).map_or("", |mark| *mark).as_bytes();
        if let Some(next) = so_far.get(self.at)
            && *next == byte
        {
            self.at += 1;
            return self.whole(marks);
        }
        let fits = |mark: &&str| {
            mark.as_bytes().get(self.at) == Some(&byte) && mark.as_bytes()[..self.at] == so_far[..self.at]
        };
        match marks.iter().position(fits) {
            Some(of) => {
                self.of = of;
                self.at += 1;
            }
            None if self.at > 0 => {
                self.at = 0;
                return self.step(marks, byte);
            }
            None => {}
        }
        self.whole(marks)
    }

    fn whole(&mut self, marks: &[&'static str]) -> Option<&'static str> {
        let whole = marks.get(self.of).filter(|mark| mark.len() == self.at).copied();
        if whole.is_some() {
            self.at = 0;
        }
        whole
    }

    /// How many bytes of a mark have been seen.
    pub(crate) fn seen(&self) -> usize {
        self.at
    }

    /// The bytes of the mark seen so far.
    pub(crate) fn prefix(&self, marks: &[&'static str]) -> &'static str {
        marks.get(self.of).and_then(|mark| mark.get(..self.at)).unwrap_or("")
    }
}
