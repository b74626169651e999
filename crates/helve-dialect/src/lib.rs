//! How models write tool calls and reasoning as text: prompt profiles out, streaming parser in. Pure.
//!
//! A [`Parser`] takes a model's message as it streams and gives out text, reasoning and calls; which [`Dialect`] the
//! model speaks it is told or finds out. A [`Profile`] puts tools, calls and results into words for models without native
//! calling, and names the dialect in which they answer.
//!
//! ```
//! use helve_dialect::{End, Parser, Piece, Reading, Tools};
//!
//! let tools = Tools::from_openai(&serde_json::json!([{"name": "search", "parameters": {"type": "object"}}])).unwrap();
//! let mut parser = Parser::new(Reading::any(tools));
//! let mut answer = String::new();
//! let mut calls = vec![];
//! let mut take = |piece: Piece<'_>| match piece {
//!     Piece::Text(text) => answer += text,                     // final
//!     Piece::Reasoning(_) => {}                                // final
//!     Piece::CallStarted { .. } | Piece::CallArguments { .. } => {} // to show a call while it is written
//!     Piece::CallFinished { call, .. } => calls.push(call),    // the only thing that may be run
//!     Piece::CallDropped { .. } => {}                          // cut off, broken, or only quoted
//! };
//! for piece in ["Let me look. <tool", "_call>{\"name\": \"search\", \"arguments\"", ": {\"q\": 1}}</tool_call>"] {
//!     parser.feed(piece, &mut take);
//! }
//! let finding = parser.finish(End::Normal, &mut take);
//! assert_eq!((answer.as_str(), calls[0].arguments.as_str()), ("Let me look. ", "{\"q\": 1}"));
//! assert_eq!((finding.dialect, finding.complete), (Some("hermes"), true));
//! ```
//!
//! # How a message is read
//!
//! 1. A [`Reading`] says what is known beforehand. `registry` has made of it what is *live*: all marks to look for, in one
//!    automaton (`marker`), with the role of each.
//! 2. In prose (`parser/prose`) only the first bytes of marks are looked for, and text goes out as it came. Code and
//!    quoted lines are kept track of (`parser/code`), since what stands in them is quoted.
//! 3. Behind a mark that may begin a call comes the look-ahead (`parser/opening`): several dialects share marks, and what
//!    follows one decides between them ([`Dialect`]'s `Lookahead`), or shows that the text is only about it.
//! 4. Then a *section* begins. Its inside is read by the automaton of the dialect's family (`body`, one for each family),
//!    which tells a `CallReport` what it finds; `calls` numbers that and makes pieces of it. All that was read since the mark
//!    is *held*, so that it can still come out as text, be repaired, or be told of a call that was dropped.
//! 5. Where it is open whether a call is meant or quoted, it is on *trial* (`parser/trial`): it streams, but it counts only
//!    when what follows has settled the doubt.
//! 6. A section that ends gives back what is not its own, and prose goes on there.
//!
//! One thing is there for speed alone, and changes no result: text inside a call that is nothing but argument text goes
//! straight out, and text that tells nothing by itself is *deferred* and read together with what follows
//! (`body::Bypass`, `parser/section`).

mod arguments;
mod ascii;
mod body;
mod calls;
#[cfg(test)]
mod cases;
mod dialect;
mod envelope;
mod families;
#[cfg(test)]
mod guarantees;
mod lookahead;
mod mark_scanner;
mod marker;
mod native_arguments;
mod parser;
mod piece;
mod profile;
mod quotable;
mod read;
mod reading;
mod registry;
mod special;
mod tools;

pub use dialect::{Dialect, RESULT_MARKS};
pub use native_arguments::repair_arguments;
pub use parser::{Parser, Waiting};
pub use piece::{Dropped, End, Finding, ParsedCall, Piece};
pub use profile::{
    AnswerForm, CallView, ExampleOrder, ExampleTurn, Language, Profile, ProfileError, ResultView,
    SEARCH_RESULTS_MARK, TurnRole, language_of, search_reference,
};
pub use quotable::Quotable;
pub use read::{DroppedCall, ReadResult, read};
pub use reading::Reading;
pub use registry::{dialect, dialects};
pub use special::{escape_output, escape_user_text};
pub use tools::{Tools, ToolsError};
