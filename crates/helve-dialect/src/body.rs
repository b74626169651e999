//! The inside of a call: one automaton per family behind one face.

mod trailing;

pub(crate) use trailing::Trailing;

use crate::calls::CallReport;
use crate::dialect::Grammar;
use crate::families::channels::ChannelBody;
use crate::families::framed::FramedBody;
use crate::families::function_xml::TagBody;
use crate::families::gemma::GemmaBody;
use crate::families::json_tags::JsonBody;
use crate::families::nested_xml::NestedBody;
use crate::families::pythonic::PythonBody;
use crate::{End, Tools};
use helve_json::byte_search::ByteSet;

/// What became of a piece of text given to a body.
#[derive(Clone, Copy)]
pub(crate) enum BodyStep {
    /// All of it was taken.
    More,
    /// What stands from here on may be the beginning of a mark: it is to be given again, with what follows it.
    Unread(usize),
    /// The section ended; the rest is not its own.
    Done(Unclaimed),
    /// No call: all that was taken since the mark is text, and so is the rest.
    NotACall(Unclaimed),
    /// It was the head of a message, and the rest is what it says.
    Turn(Unclaimed, ChannelTurn),
}

/// What a body gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unclaimed {
    /// How much of the end of what was taken: the beginning of a mark that was none. It comes before the text at `pos`.
    pub(crate) back: usize,
    pub(crate) pos: usize,
}

impl Unclaimed {
    /// Everything from here on.
    pub(crate) fn from_position(pos: usize) -> Self {
        Self { back: 0, pos }
    }
}

/// What a message turns to. Inside its channel only the marks of its scope mean anything.
#[derive(Clone, Copy)]
pub(crate) enum ChannelTurn {
    Reasoning(&'static ChannelScope),
    Answer(&'static ChannelScope),
    /// A call, written so.
    Call(Grammar),
    /// Nothing in particular: whatever was open is over.
    Over,
    /// Nothing at all: whatever was open goes on.
    On,
}

/// The marks that mean something inside a channel.
#[derive(Debug)]
pub(crate) struct ChannelScope {
    /// They open something else, but not in code, where they are quoted.
    pub(crate) opens: &'static [&'static str],
    /// They close it, wherever they stand: code is often left open.
    pub(crate) closes: &'static [&'static str],
}

/// What a body was when the stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnding {
    Done,
    /// In the middle of a call.
    Cut,
    NotACall,
}

/// Text that the body need not see at once, because it is argument text throughout, or tells nothing by itself.
#[derive(Default, Clone, Copy)]
pub(crate) enum Bypass {
    #[default]
    Nothing,
    /// If it is made of these bytes, it is argument text.
    Arguments(&'static ByteSet),
    /// If it is made of these bytes, it tells nothing by itself and is deferred.
    Deferred(&'static ByteSet),
}

/// What shows that a call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Markup says so.
    Marked,
    /// Only its place and the name of a declared tool.
    Alone,
}

impl Evidence {
    /// Whether a name may be called: without markup, only a declared one.
    pub(crate) fn accepts_name(self, name: &str, tools: &Tools) -> bool {
        self == Self::Marked || tools.is_unknown() || tools.resolve(name).is_some()
    }
}

pub(crate) enum CallBody {
    Json(JsonBody),
    Python(PythonBody),
    Tags(TagBody),
    Nested(NestedBody),
    Framed(FramedBody),
    Gemma(GemmaBody),
    Channel(ChannelBody),
}

impl CallBody {
    /// Begins a section behind this mark, with the buffers of the last one if it was of the same family.
    pub(crate) fn begin_section(slot: &mut Option<Self>, grammar: Grammar, standing: Evidence, mark: &str) {
        match (grammar, slot) {
            (Grammar::Json(grammar), Some(Self::Json(body))) => body.restart(grammar, standing),
            (Grammar::Json(grammar), slot) => *slot = Some(Self::Json(JsonBody::new(grammar, standing))),
            (Grammar::Python(grammar), slot) => {
                *slot = Some(Self::Python(PythonBody::new(grammar, standing)))
            }
            (Grammar::Tags(grammar), Some(Self::Tags(body))) => body.restart(grammar, mark),
            (Grammar::Tags(grammar), slot) => *slot = Some(Self::Tags(TagBody::new(grammar, mark))),
            (Grammar::Nested(grammar), slot) => *slot = Some(Self::Nested(NestedBody::new(grammar))),
            (Grammar::Framed(grammar), Some(Self::Framed(body))) => body.restart(grammar, mark),
            (Grammar::Framed(grammar), slot) => *slot = Some(Self::Framed(FramedBody::new(grammar, mark))),
            (Grammar::Gemma(grammar), Some(Self::Gemma(body))) => body.restart(grammar),
            (Grammar::Gemma(grammar), slot) => *slot = Some(Self::Gemma(GemmaBody::new(grammar))),
            (Grammar::Channel(grammar), slot) => *slot = Some(Self::Channel(ChannelBody::new(grammar, mark))),
        }
    }

    /// What of the text that comes next need not be read now.
    pub(crate) fn bypass(&self) -> Bypass {
        match self {
            Self::Json(body) => body.bypass(),
            Self::Python(body) => body.bypass(),
            Self::Tags(body) => body.bypass(),
            Self::Framed(body) => body.bypass(),
            Self::Gemma(body) => body.bypass(),
            Self::Nested(_) | Self::Channel(_) => Bypass::Nothing,
        }
    }

    /// Reads on from `from`. Whatever is taken is also added to the report's held text.
    ///
    /// The functions of the families are not inlined here: one function of all of them would be too large for the compiler to
    /// keep any of them quick.
    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> BodyStep {
        match self {
            Self::Json(body) => body.feed(text, from, report),
            Self::Python(body) => body.feed(text, from, report),
            Self::Tags(body) => body.feed(text, from, report),
            Self::Nested(body) => body.feed(text, from, report),
            Self::Framed(body) => body.feed(text, from, report),
            Self::Gemma(body) => body.feed(text, from, report),
            Self::Channel(body) => body.feed(text, from, report),
        }
    }

    pub(crate) fn finish(&mut self, end: End, report: &mut CallReport<'_, '_>) -> BodyEnding {
        match self {
            Self::Json(body) => body.finish(end, report),
            Self::Python(body) => body.finish(end, report),
            Self::Tags(body) => body.finish(end, report),
            Self::Nested(body) => body.finish(report),
            Self::Framed(body) => body.finish(end, report),
            Self::Gemma(body) => body.finish(end, report),
            Self::Channel(body) => body.finish(report),
        }
    }
}

/// The text at hand, how far it is read, and how far it is kept.
pub(crate) struct TextChunk<'t> {
    pub(crate) text: &'t str,
    pub(crate) pos: usize,
    kept: usize,
}

impl<'t> TextChunk<'t> {
    pub(crate) fn new(text: &'t str, from: usize) -> Self {
        Self { text, pos: from, kept: from }
    }

    pub(crate) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    pub(crate) fn char(&self) -> Option<char> {
        self.text[self.pos..].chars().next()
    }

    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.pos..]
    }

    /// What was read before this place of the held text: what is held of it, and what is not yet.
    pub(crate) fn text_before<'a>(&'a self, at: usize, report: &'a CallReport<'_, '_>) -> (&'a str, &'a str) {
        match at.checked_sub(report.held.len()) {
            Some(ahead) => (report.held.as_str(), &self.text[self.kept..self.kept + ahead]),
            None => (&report.held[..at], ""),
        }
    }

    /// Where the present position is in the held text, once what was read is added to it.
    pub(crate) fn held_position(&self, report: &CallReport<'_, '_>) -> usize {
        report.held.len() + self.pos - self.kept
    }

    /// The text between two places of the held text, of which the second has been read. It lies in the chunk, unless an
    /// earlier one had its beginning.
    pub(crate) fn text_between<'a>(&'a mut self, from: usize, to: usize, held: &'a mut String) -> &'a str {
        if let Some(ahead) = from.checked_sub(held.len()) {
            return &self.text[self.kept + ahead..self.kept + to - held.len()];
        }
        held.push_str(&self.text[self.kept..self.pos]);
        self.kept = self.pos;
        &held[from..to]
    }

    /// Adds what was read to the held text.
    pub(crate) fn hold_text(&mut self, report: &mut CallReport<'_, '_>) {
        report.held.push_str(&self.text[self.kept..self.pos]);
        self.kept = self.pos;
    }

    /// What was read so far is done with, unless a trial may still turn it into text. It need not even be held.
    pub(crate) fn release_read_text(&mut self, report: &mut CallReport<'_, '_>) {
        if report.release_read_text() {
            self.kept = self.pos;
        } else {
            self.hold_text(report);
            report.calls.reported_to = report.held.len();
            report.calls.ends.push(report.held.len());
        }
    }
}
