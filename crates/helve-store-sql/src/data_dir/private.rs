//! What Helve keeps is for its own user alone: modes of files and directories, and links that lead out.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Deeper than this Helve makes no directories.
const DEPTH_MAX: usize = 4;
/// More entries than this are not looked at in one start.
const ENTRIES_MAX: usize = 100_000;

/// What was open to others, with the mode that it had.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tightened {
    pub(super) path: PathBuf,
    pub(super) mode: u32,
    is_dir: bool,
    /// Others could enter every directory above it, up to the data directory.
    is_reachable: bool,
}

impl Tightened {
    /// Whether others may have read what Helve keeps, or put something there: a directory that was made by hand and is
    /// empty gives nothing away.
    pub(super) fn is_exposed(&self, has_data: bool) -> bool {
        let is_readable = !self.is_dir && self.mode & 0o044 != 0;
        self.is_reachable && (self.mode & 0o022 != 0 || has_data && is_readable)
    }
}

/// For files of the data directory: private when they are made, and never what a link leads to. A process that could put a link
/// there would choose what Helve writes over.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits();
        options.mode(0o600).custom_flags(no_follow.cast_signed());
    }
    options
}

/// Takes the rights of others away from the directory and everything in it; links are left alone.
#[cfg(unix)]
pub(super) fn tighten(dir: &Path) -> io::Result<Vec<Tightened>> {
    let mut tightened = vec![];
    let mut left = ENTRIES_MAX;
    tighten_in(dir, DEPTH_MAX, true, &mut left, &mut tightened)?;
    Ok(tightened)
}

#[cfg(not(unix))]
pub(super) fn tighten(_: &Path) -> io::Result<Vec<Tightened>> {
    Ok(vec![])
}

#[cfg(unix)]
fn tighten_in(
    dir: &Path,
    depth: usize,
    is_reachable: bool,
    left: &mut usize,
    tightened: &mut Vec<Tightened>,
) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut close = |path: &Path, found: &fs::Metadata, is_reachable: bool| {
        let mode = found.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))?;
            let is_dir = found.is_dir();
            tightened.push(Tightened { path: path.to_owned(), mode, is_dir, is_reachable });
        }
        io::Result::Ok(())
    };
    // The directory itself may be a link that the operator made.
    let found = fs::metadata(dir)?;
    close(dir, &found, is_reachable)?;
    let is_reachable = is_reachable && found.permissions().mode() & 0o011 != 0;
    let mut folders = vec![];
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        *left = left.saturating_sub(1);
        if *left == 0 {
            return Ok(());
        }
        let found = match entry.metadata() {
            Ok(found) => found,
            // Another process made it, and it is gone again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if found.is_dir() {
            folders.push(entry.path());
        } else if found.is_file() {
            close(&entry.path(), &found, is_reachable)?;
        }
    }
    if depth > 0 {
        folders.iter().try_for_each(|folder| tighten_in(folder, depth - 1, is_reachable, left, tightened))?;
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::data_dir::DataDir;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_that_was_open_to_others_is_private_once_it_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let (data, outside) = (dir.path().join("data"), dir.path().join("outside"));
        fs::create_dir_all(data.join("notes")).unwrap();
        for path in [data.join("helve.db"), data.join("notes/mei.md"), outside.clone()] {
            fs::write(&path, "x").unwrap();
            set(&path, 0o666);
        }
        set(&data.join("notes"), 0o755);
        set(&data, 0o777);
        symlink(&outside, data.join("notes/link")).unwrap();
        let _held = DataDir::lock(&data).unwrap();
        for (path, private) in [
            (data.clone(), 0o700),
            (data.join("notes"), 0o700),
            (data.join("helve.db"), 0o600),
            (data.join("notes/mei.md"), 0o600),
            (data.join("helve.lock"), 0o600),
        ] {
            assert_eq!(mode(&path), private, "{}", path.display());
        }
        assert_eq!(mode(&outside), 0o666, "what a link leads to is not ours");
        assert_eq!(tighten(&data).unwrap(), [], "once is enough");
    }

    #[test]
    fn a_directory_made_by_hand_exposes_nothing_and_one_with_data_does() {
        // The data directory, the folder of tools in it, a file in that; whether there is a database.
        for (data_mode, folder_mode, file_mode, has_data, exposed) in [
            // `mkdir -p DATA/tools`, and a script in it.
            (0o755, 0o755, 0o644, false, false),
            // The same beside a server, whose directory nobody enters.
            (0o700, 0o755, 0o644, true, false),
            (0o700, 0o777, 0o666, true, false),
            (0o755, 0o755, 0o644, true, true),
            (0o755, 0o700, 0o644, true, false),
            (0o777, 0o700, 0o600, false, true),
            (0o755, 0o755, 0o666, false, true),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let (data, folder) = (dir.path().join("data"), dir.path().join("data/tools"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("count.py"), "x").unwrap();
            set(&folder.join("count.py"), file_mode);
            set(&folder, folder_mode);
            set(&data, data_mode);
            let tightened = tighten(&data).unwrap();
            let told = tightened.iter().any(|entry| entry.is_exposed(has_data));
            assert_eq!(told, exposed, "{data_mode:o} {folder_mode:o} {file_mode:o} {has_data}");
            assert_eq!((mode(&data), mode(&folder), mode(&folder.join("count.py"))), (0o700, 0o700, 0o600));
        }
    }

    #[test]
    fn no_file_of_the_directory_is_what_a_link_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        for name in ["helve.lock", "commands.lock"] {
            let data = dir.path().join(name.replace('.', "-"));
            fs::create_dir(&data).unwrap();
            fs::write(&precious, "precious").unwrap();
            symlink(&precious, data.join(name)).unwrap();
            let refused = match name {
                "helve.lock" => DataDir::lock(&data).map(drop).unwrap_err(),
                _ => DataDir::open_shared(&data).map(drop).unwrap_err(),
            };
            assert!(refused.to_string().contains("cannot use the data directory"), "{refused}");
            assert!(name != "helve.lock" || DataDir::write_address(&data, "http://x").is_err());
            assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        }
    }
}
