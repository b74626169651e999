//! JSON as models write it: streaming and loose reading, literals, repair, coercion by schema. Pure.
//!
//! - [`scanner`] reads strict JSON in pieces of any size and reports where values begin and end.
//! - [`loose`] finds where an object ends that is not quite JSON.
//! - [`literal`] turns a value as Python, JavaScript or a careless model writes it into JSON while it streams.
//! - [`repair`] reads broken JSON that has exactly one reading, and says what it changed.
//! - [`coerce`] types text by a parameter's JSON Schema.
//! - [`unescape`], [`inspect`] and [`string_bytes`] answer questions about strings and whole texts.
//! - [`byte_search`], [`closer`] and [`work`] are the tools that all of these are made with.
//!
//! All of it is linear in the text's length and bounded in depth; [`work`] is how tests hold it to that. It knows no tools,
//! no calls and no dialects.

pub mod byte_search;
pub mod closer;
pub mod coerce;
pub mod inspect;
pub mod literal;
pub mod loose;
pub mod repair;
pub mod scanner;
pub mod string_bytes;
pub mod unescape;
pub mod work;

pub use repair::{Repair, Repaired, repair};

/// The four blanks of JSON.
pub const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}
