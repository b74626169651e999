//! The file that remembers what was typed: in the data directory, for its owner only, and bounded.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustyline::Editor;
use rustyline::history::FileHistory;

use super::editor::LineHelper;

/// Older entries are dropped.
pub(super) const ENTRIES_MAX: usize = 500;
/// A longer entry is not kept.
const ENTRY_BYTES_MAX: usize = 4 << 10;
/// A file beyond this was not written here: it is begun anew.
const FILE_BYTES_MAX: u64 = 2 * (ENTRIES_MAX * ENTRY_BYTES_MAX) as u64;

pub(super) struct History {
    /// None where nothing can be kept.
    path: Option<PathBuf>,
}

impl History {
    /// Reads what was typed before into the editor. A history that cannot be read or written is only missing.
    pub(super) fn load(data: &Path, editor: &mut Editor<LineHelper, FileHistory>) -> Self {
        let path = data.join("chat_history");
        let prepared = prepare(data, &path);
        if let Err(error) = &prepared {
            tracing::warn!(path = %path.display(), %error, "chat history not available");
            return Self { path: None };
        }
        if let Err(error) = editor.load_history(&path) {
            tracing::warn!(path = %path.display(), %error, "chat history not readable");
        }
        Self { path: Some(path) }
    }

    /// Keeps a line, in memory and in the file.
    pub(super) fn add(&self, editor: &mut Editor<LineHelper, FileHistory>, line: &str) {
        if line.trim().is_empty() || line.len() > ENTRY_BYTES_MAX {
            return;
        }
        let kept = editor.add_history_entry(line).and_then(|is_new| match &self.path {
            Some(path) if is_new => editor.append_history(path),
            _ => Ok(()),
        });
        if let Err(error) = kept {
            tracing::warn!(%error, "chat history not written");
        }
    }
}

/// Makes the file, empty if it is too large, and for its owner only.
fn prepare(data: &Path, path: &Path) -> std::io::Result<()> {
    if !data.is_dir() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(data)?;
    }
    if let Ok(there) = fs::symlink_metadata(path)
        && !there.is_file()
    {
        return Err(std::io::Error::other("not a regular file"));
    }
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    if file.metadata()?.len() > FILE_BYTES_MAX {
        file.set_len(0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::chat::keyboard::{Names, editor};

    fn open(data: &Path) -> (Editor<LineHelper, FileHistory>, History) {
        let mut editor = editor::open(Names::default()).unwrap();
        let history = History::load(data, &mut editor);
        (editor, history)
    }

    fn entries(editor: &Editor<LineHelper, FileHistory>) -> Vec<&str> {
        editor.history().iter().map(String::as_str).collect()
    }

    #[test]
    fn what_was_typed_is_there_the_next_time_for_its_owner_only() {
        let data = tempfile::tempdir().unwrap();
        let (mut first, history) = open(data.path());
        history.add(&mut first, "你好\nsecond line \\ here");
        history.add(&mut first, "  ");
        history.add(&mut first, "/model demo");
        let (second, _) = open(data.path());
        assert_eq!(entries(&second), ["你好\nsecond line \\ here", "/model demo"]);
        let mode = fs::metadata(data.path().join("chat_history")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_history_is_bounded_in_entries_and_in_bytes() {
        let data = tempfile::tempdir().unwrap();
        let (mut editor, history) = open(data.path());
        for n in 0..ENTRIES_MAX + 20 {
            history.add(&mut editor, &format!("message {n}"));
        }
        history.add(&mut editor, &"x".repeat(ENTRY_BYTES_MAX + 1));
        let (again, _) = open(data.path());
        assert_eq!(entries(&again).len(), ENTRIES_MAX);
        assert_eq!(entries(&again)[0], "message 20");
        assert_eq!(entries(&again)[ENTRIES_MAX - 1], format!("message {}", ENTRIES_MAX + 19));
    }

    #[test]
    fn a_file_that_is_too_large_is_begun_anew_and_a_directory_in_its_place_is_left_alone() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("chat_history");
        let file = fs::File::create(&path).unwrap();
        file.set_len(FILE_BYTES_MAX + 1).unwrap();
        let (mut editor, history) = open(data.path());
        assert_eq!(entries(&editor), Vec::<&str>::new());
        history.add(&mut editor, "one");
        assert!(fs::metadata(&path).unwrap().len() < 100);

        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join("chat_history")).unwrap();
        let (mut editor, history) = open(other.path());
        history.add(&mut editor, "one");
        assert_eq!(entries(&editor), ["one"]);
    }
}
