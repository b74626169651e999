//! Tools that are code: a folder of programs, each with its definition beside it.
//!
//! `folder` reads the files, `definition` says what a file may say, `tool` runs a call as a process, `output` reads what
//! the process writes, and `sync` keeps the catalogue of tools in step with the folder. The process itself is
//! `helve-process`'s business; permissions, guards and records are the pipeline's, as for every other tool.

mod definition;
mod folder;
mod inline;
mod output;
mod sync;
mod tool;

pub use self::folder::FILES_MAX;
pub use self::sync::{Lifecycle, ToolFolder};
