//! How far a database is behind this program.

use crate::migrate::{MigrateError, Migration, SQLITE, list_pending};

/// The last layout that this program knows.
pub fn newest_layout() -> u32 {
    SQLITE.iter().map(|migration| migration.number).max().unwrap_or_default()
}

/// The layout of a database that this program can bring up to date or that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The last step that was applied; none of a new database.
    pub number: Option<u32>,
    /// The last step that this program knows.
    pub newest: u32,
    /// What it would apply.
    pub pending: Vec<LayoutStep>,
}

/// One change of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct LayoutStep {
    pub number: u32,
    pub name: &'static str,
}

impl Layout {
    pub(crate) fn new(applied: &[(u32, String)], known: &[Migration]) -> Result<Self, MigrateError> {
        let step = |migration: &&Migration| LayoutStep { number: migration.number, name: migration.name };
        Ok(Self {
            number: applied.iter().map(|(number, _)| *number).max(),
            newest: known.iter().map(|migration| migration.number).max().unwrap_or_default(),
            pending: list_pending(applied, known)?.iter().map(step).collect(),
        })
    }

    pub fn is_new(&self) -> bool {
        self.number.is_none()
    }

    pub fn is_newest(&self) -> bool {
        self.pending.is_empty()
    }
}
