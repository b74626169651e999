//! Putting restored files in the place of those that are there, all of them or none.
//!
//! They are unpacked into a folder of the data directory and checked there. Then that folder gets another name, which
//! decides: from now on the old files are moved aside and the new ones into their places, by whoever holds the directory
//! next if this process ends in the middle.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{DATABASE, DataDir, create_private};

/// Unpacked and perhaps not whole.
const PART: &str = "restore.part";
/// Whole: it takes the place of what is there.
const READY: &str = "restore.ready";
/// All of it is in its place.
const DONE: &str = "restore.done";
/// In the folder: the new files.
const FILES: &str = "files";
/// In the folder: the name of the folder for the old files, and what is moved there, each on a line.
const ASIDE: &str = "aside";
/// In the folder, once all old files are aside.
const CLEARED: &str = "cleared";

/// Files that are about to be restored into a data directory.
#[derive(Debug)]
pub struct Restoration<'a> {
    dir: &'a DataDir,
}

impl<'a> Restoration<'a> {
    /// Begins one, and forgets one that was begun before and not finished.
    pub fn begin(dir: &'a DataDir) -> io::Result<Self> {
        remove_all(&dir.path().join(PART))?;
        let part = dir.path().join(PART);
        create_private(&part)?;
        create_private(&part.join(FILES))?;
        Ok(Self { dir })
    }

    /// Where the files are unpacked.
    pub fn files(&self) -> PathBuf {
        self.dir.path().join(PART).join(FILES)
    }

    /// Gives it up.
    pub fn discard(self) -> io::Result<()> {
        remove_all(&self.dir.path().join(PART))
    }

    /// Moves what is there and goes by one of these names to a folder, and the new files into their places. Where the old
    /// ones are, if there were any.
    pub fn commit(self, replaced: &[&str], aside: &str) -> io::Result<Option<PathBuf>> {
        let path = self.dir.path();
        let part = path.join(PART);
        sync_all(&part.join(FILES))?;
        let mut names: Vec<&str> = replaced.iter().copied().filter(|name| exists(&path.join(name))).collect();
        names.insert(0, aside);
        let plan = part.join(ASIDE);
        fs::write(&plan, names.join("\n"))?;
        File::open(&plan)?.sync_all()?;
        sync_dir(&part)?;
        fs::rename(&part, path.join(READY))?;
        sync_dir(path)?;
        finish(path)?;
        Ok((names.len() > 1).then(|| path.join(aside)))
    }
}

/// Whether the files are being changed.
pub(super) fn is_unfinished(path: &Path) -> bool {
    exists(&path.join(READY))
}

/// Finishes what was decided; for who holds the directory.
pub(super) fn finish(path: &Path) -> io::Result<()> {
    let ready = path.join(READY);
    if exists(&ready) {
        if !exists(&ready.join(CLEARED)) {
            move_aside(path, &ready)?;
            File::create(ready.join(CLEARED))?.sync_all()?;
            sync_dir(&ready)?;
        }
        let files = ready.join(FILES);
        for entry in fs::read_dir(&files)? {
            let entry = entry?;
            fs::rename(entry.path(), path.join(entry.file_name()))?;
        }
        sync_dir(path)?;
        fs::rename(&ready, path.join(DONE))?;
        sync_dir(path)?;
        tracing::info!("restore finished");
    }
    remove_all(&path.join(DONE))
}

fn move_aside(path: &Path, ready: &Path) -> io::Result<()> {
    let plan = fs::read_to_string(ready.join(ASIDE))?;
    let mut names = plan.lines();
    let aside = path.join(names.next().unwrap_or("replaced"));
    for name in names {
        let (from, to) = (path.join(name), aside.join(name));
        if !exists(&aside) {
            create_private(&aside)?;
        }
        // One that an earlier try has moved is there already.
        if exists(&from) && !exists(&to) {
            fs::rename(from, to)?;
        }
    }
    if exists(&aside) {
        sync_dir(&aside)?;
    }
    sync_dir(path)
}

/// What belongs to the database as files.
pub(super) const DATABASE_FILES: [&str; 3] = [DATABASE, "helve.db-wal", "helve.db-shm"];

impl DataDir {
    /// The files of the database, by their names in the directory.
    pub const DATABASE_FILES: [&'static str; 3] = DATABASE_FILES;
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn remove_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Everything in a folder, so that it is on the disk before anything relies on it.
fn sync_all(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync_all(&entry.path())?,
            false => File::open(entry.path())?.sync_all()?,
        }
    }
    sync_dir(path)
}

fn sync_dir(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare() -> (tempfile::TempDir, DataDir) {
        let home = tempfile::tempdir().unwrap();
        let dir = DataDir::lock(home.path()).unwrap();
        fs::write(home.path().join("helve.db"), "old").unwrap();
        fs::write(home.path().join("helve.db-wal"), "old log").unwrap();
        (home, dir)
    }

    #[test]
    fn restored_files_take_the_place_of_the_old_ones_which_stay_aside() {
        let (home, dir) = prepare();
        let restoration = Restoration::begin(&dir).unwrap();
        fs::write(restoration.files().join("helve.db"), "new").unwrap();
        let aside = restoration.commit(&DATABASE_FILES, "replaced").unwrap().unwrap();
        assert_eq!(fs::read_to_string(home.path().join("helve.db")).unwrap(), "new");
        assert!(!home.path().join("helve.db-wal").exists(), "it belongs to the old database");
        assert_eq!(fs::read_to_string(aside.join("helve.db-wal")).unwrap(), "old log");
        assert!(!home.path().join(READY).exists() && !home.path().join(DONE).exists());
    }

    #[test]
    fn a_restore_that_was_cut_off_is_finished_by_the_next_holder_wherever_it_was() {
        // After this many renames the process ends.
        for moved in 0..4 {
            let (home, dir) = prepare();
            let path = home.path();
            let ready = path.join(READY);
            fs::create_dir_all(ready.join(FILES)).unwrap();
            fs::write(ready.join(FILES).join("helve.db"), "new").unwrap();
            fs::write(ready.join(ASIDE), "replaced\nhelve.db\nhelve.db-wal").unwrap();
            if moved > 0 {
                fs::create_dir(path.join("replaced")).unwrap();
                fs::rename(path.join("helve.db"), path.join("replaced/helve.db")).unwrap();
            }
            if moved > 1 {
                fs::rename(path.join("helve.db-wal"), path.join("replaced/helve.db-wal")).unwrap();
                fs::write(ready.join(CLEARED), "").unwrap();
            }
            if moved > 2 {
                fs::rename(ready.join(FILES).join("helve.db"), path.join("helve.db")).unwrap();
            }
            assert!(matches!(DataDir::open_shared(path), Err(crate::DataDirError::Restoring { .. })));
            drop(dir);
            let _next = DataDir::lock(path).unwrap();
            assert_eq!(fs::read_to_string(path.join("helve.db")).unwrap(), "new", "{moved}");
            assert_eq!(fs::read_to_string(path.join("replaced/helve.db")).unwrap(), "old", "{moved}");
            assert_eq!(fs::read_to_string(path.join("replaced/helve.db-wal")).unwrap(), "old log", "{moved}");
            assert!(!path.join("helve.db-wal").exists() && DataDir::open_shared(path).is_ok());
        }
    }

    #[test]
    fn a_restore_that_was_not_decided_changes_nothing() {
        let (home, dir) = prepare();
        let restoration = Restoration::begin(&dir).unwrap();
        fs::write(restoration.files().join("helve.db"), "half").unwrap();
        drop(dir);
        let dir = DataDir::lock(home.path()).unwrap();
        assert_eq!(fs::read_to_string(home.path().join("helve.db")).unwrap(), "old");
        Restoration::begin(&dir).unwrap().discard().unwrap();
        assert!(!home.path().join(PART).exists());
    }
}
