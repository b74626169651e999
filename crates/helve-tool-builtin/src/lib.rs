//! The tools we ship, one file each.
//!
//! A tool is a file `name.rs` and a page `name.md`, which is what models are told. The file holds the argument
//! struct (its comments become the schema), worked examples, the guards that fit the tool, and the work itself;
//! whatever is long lives in a folder of the same name. Adding one adds a line to [`builtin`] and nothing else.

mod calculator;
mod save_note;
mod search_web;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod time;

use std::path::PathBuf;
use std::sync::Arc;

use helve_egress::Egress;
use helve_tool::{Guards, Tool};

pub use search_web::{TAVILY_SECRET, TAVILY_URL};

/// What the operator decides about them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The way out; its secret [`TAVILY_SECRET`] is the key for searching.
    pub egress: Egress,
    pub tavily_url: String,
    /// Where the notes of each user are kept.
    pub notes_dir: PathBuf,
    /// The IANA name of the zone that is local; the system's if there is none or it is not known.
    pub zone: Option<String>,
}

impl Settings {
    /// As on a first start.
    pub fn new(egress: Egress, notes_dir: impl Into<PathBuf>) -> Self {
        Self { egress, tavily_url: TAVILY_URL.into(), notes_dir: notes_dir.into(), zone: None }
    }
}

/// Every tool, with the guards that it has unless the operator says otherwise.
pub fn builtin(settings: &Settings) -> Vec<(Arc<dyn Tool>, Guards)> {
    vec![calculator::tool(), time::tool(settings), search_web::tool(settings), save_note::tool(settings)]
}
