//! Skills as files: a folder or an archive with a `SKILL.md`, in the open format.
//!
//! `front_matter` and `document` read `SKILL.md`; `files` holds the files of a skill to their bounds; `archive` reads zip
//! and tar.gz and writes zip; `folder` reads the disk. `package` makes a definition of the files. Nothing of a skill is
//! ever run: to Helve a script is a text like any other.

mod archive;
mod document;
mod files;
mod folder;
mod front_matter;
mod package;

use helve_types::Notice;

pub use self::archive::{read_archive, write_zip};
pub use self::document::{SkillDocument, read_document, write_document};
pub use self::files::SkillFiles;
pub use self::folder::{
    FolderSignature, SkillFolderSources, read_folder, read_skills_folder, read_skills_signature,
};
pub use self::package::{SkillPackage, decode_base64, file_text};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The most files that a skill may have.
pub const FILES_MAX: usize = 200;
/// The largest file of a skill.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// What all files of a skill may have together.
pub const TOTAL_BYTES_MAX: usize = 8 << 20;
/// The largest `SKILL.md`.
pub const DOCUMENT_BYTES_MAX: usize = 128 << 10;
/// The largest archive.
pub const ARCHIVE_BYTES_MAX: usize = 8 << 20;
/// The most entries of an archive, folders among them.
pub const ENTRIES_MAX: usize = 1_000;
/// How many times its size an archive may expand to, beyond a first MiB.
pub const RATIO_MAX: usize = 100;
pub const PATH_CHARS_MAX: usize = 200;
/// How many folders a file may be in.
pub const DEPTH_MAX: usize = 8;
/// The most skills of the folder of skills.
pub const SKILLS_MAX: usize = 500;

/// What is wrong with a skill, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {}", .problem.english())]
pub struct SkillError {
    /// A path in the skill, a key of its front matter, or `archive`.
    pub field: String,
    pub problem: Notice,
}

impl SkillError {
    fn new(field: impl Into<String>, problem: Notice) -> Self {
        Self { field: field.into(), problem }
    }
}
