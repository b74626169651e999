//! OpenAPI documents become tools: one definition per operation, and a report of what was made, what was not, and why.
//!
//! A document is read within bounds, each of its operations is turned into one definition with one schema of
//! parameters, and the result is compared with the tools that an earlier import made. All of it is pure: where
//! documents come from and where definitions go is for others to say.

mod arguments;
mod auth;
mod body;
mod diff;
mod import;
mod names;
mod operation;
mod parameters;
mod read;
mod refs;
mod schema;
mod select;
mod server;
mod words;

pub use auth::SecretNeeded;
pub use diff::{Change, Diff, compare_import};
pub use import::{Import, MadeTool, Options, SkippedOperation, TOOLS_MAX, import_tools};
pub use read::{DOCUMENT_BYTES_MAX, Document};

#[cfg(test)]
mod tests;

/// Why there is no import at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It is not one, or not one that is understood.
    #[error("{0}")]
    Document(String),

    /// It does not say where its operations are.
    #[error("{0}")]
    Server(String),

    /// What to take of it was said in a way that cannot be read.
    #[error("{0}")]
    Selection(String),
}
