//! A jq filter in a subset that always ends: no definitions, no recursion, no endless loops, no input but the
//! value.
//!
//! `parse` makes a tree when a tool is defined; `eval` walks it for each answer, and every step is paid for from
//! a meter. Where the subset and jq 1.7 both have an answer, it is the same one, except that the members of objects
//! are in the order of their names.

mod eval;
mod function;
mod operator;
mod parse;
mod syntax;
#[cfg(test)]
mod tests;
mod value;

use serde_json::Value;

use self::eval::Engine;
use self::syntax::Filter;
use self::value::{FilterStop, JqValue};

/// How many steps a filter may take. A step is a value made or looked at, or 64 bytes of text.
const STEPS_MAX: u64 = 1_000_000;
const VALUES_MAX: usize = 10_000;

/// A filter that was understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Jq {
    filter: Filter,
}

impl Jq {
    /// The error says what is wrong and before which character.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let filter =
            parse::parse(text).map_err(|error| format!("at character {}: {}", error.at, error.problem))?;
        Ok(Self { filter })
    }

    /// All values that the filter gives for this one.
    pub(crate) fn apply(&self, value: &Value) -> Result<Vec<Value>, String> {
        let engine = Engine::new(STEPS_MAX);
        let found = engine.run(&self.filter, JqValue::from_json(value));
        let shown = found.and_then(|found| {
            if found.len() > VALUES_MAX {
                return Err(FilterStop::Exhausted(format!("it gives more than {VALUES_MAX} values")));
            }
            found.iter().map(|value| value.to_json(&engine.meter)).collect()
        });
        shown.map_err(|stop| match stop {
            FilterStop::Error(JqValue::Text(text)) => text.chars().take(300).collect(),
            FilterStop::Error(other) => other.short_form(),
            FilterStop::Exhausted(why) => why,
        })
    }
}
