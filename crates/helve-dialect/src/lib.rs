//! How models write tool calls and reasoning as text: prompt profiles out, streaming parser in. Pure.
//!
//! A [`Parser`] takes a model's message as it streams and gives out text, reasoning and calls; which [`Dialect`] the
//! model speaks it is told or finds out. A [`Profile`] puts tools, calls and results into words for models without native
//! calling, and names the dialect in which they answer.

mod arguments;
mod ascii;
mod body;
mod calls;
#[cfg(test)]
mod cases;
mod channels;
mod coerce;
mod dialect;
mod envelope;
mod framed;
mod function_xml;
mod gemma;
#[cfg(test)]
mod guarantees;
mod json;
mod json_tags;
mod literal;
mod marker;
mod parser;
mod piece;
mod profile;
mod pythonic;
mod read;
mod reading;
mod reasoning;
mod registry;
mod repair;
mod scan;
mod signpost;
mod tools;
mod unescape;
mod work;

pub use dialect::Dialect;
pub use parser::Parser;
pub use piece::{Dropped, End, Finding, ParsedCall, Piece};
pub use profile::{
    AnswerForm, CallView, ExampleTurn, Language, Profile, ProfileError, ResultView, TurnRole, language_of,
};
pub use read::{DroppedCall, ReadResult, read};
pub use reading::Reading;
pub use registry::{dialect, dialects};
pub use repair::{Repair, Repaired, repair};
pub use tools::{Tools, ToolsError};
