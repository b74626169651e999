//! What the ledger writes down, and how it is read back.

use std::io::Read;
use std::path::Path;

use helve_types::Effect;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An effect that a caller asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EffectRequest {
    pub call: String,
    pub tool: String,
    /// What repeating it does to the world: the truth, whatever the tool's definition says.
    pub class: Effect,
    /// For whom it is done.
    pub user: String,
    /// How many calls of the tool were at work in the caller's process, this one among them.
    pub at_once: u32,
    pub payload: Value,
}

/// An effect that has happened. One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Counts the requests that were carried out.
    pub n: u64,
    /// Names the effect; a repeated idempotent request has the effect of the first.
    pub receipt: u64,
    pub call: String,
    pub key: String,
    pub tool: String,
    pub class: Effect,
    pub user: String,
    pub at_once: u32,
    pub at_ms: i64,
    pub payload: Value,
    /// What the caller is told, if it is told anything.
    pub answer: String,
}

/// Everything that has happened. A line that is still being written is not read.
pub fn read(path: &Path) -> std::io::Result<Vec<LedgerEntry>> {
    let mut text = String::new();
    match std::fs::File::open(path) {
        Ok(mut file) => file.read_to_string(&mut text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).map_err(std::io::Error::other)).collect()
}
