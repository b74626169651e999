//! Putting a backup in the place of what a data directory has.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use helve_store_sql::{
    CopyProgress, DataDir, DatabasePlace, Restoration, copy_database, free_bytes, migrate_sqlite,
    read_sqlite_layout,
};
use helve_types::Timestamp;

use super::read::BackupReader;
use super::{AboutBackup, DATABASE, OTHERS};
use crate::i18n::tr;

/// Where a backup goes.
pub(crate) struct RestoreTarget<'a> {
    pub(crate) data: &'a Path,
    pub(crate) database: &'a DatabasePlace,
    /// What is there already is moved aside.
    pub(crate) replace: bool,
}

#[derive(Debug)]
pub(crate) struct Restored {
    pub(crate) about: AboutBackup,
    pub(crate) files: usize,
    /// Where what was there before is now.
    pub(crate) aside: Option<PathBuf>,
}

pub(crate) enum RestoreProgress {
    File { path: String, bytes: u64 },
    Rows(CopyProgress),
}

/// Checks all of a backup and then puts it in place, whole or not at all.
pub(crate) fn restore_backup(
    file: &Path,
    target: &RestoreTarget<'_>,
    now: Timestamp,
    mut tell: impl FnMut(RestoreProgress),
) -> anyhow::Result<Restored> {
    let reader = BackupReader::open(file)?;
    let dir = DataDir::lock(target.data)?;
    refuse_newer(&reader.about)?;
    let replaced = names_replaced(&reader.about, target);
    let taken = replaced.iter().copied().find(|name| holds_data(target.data, name));
    if let Some(name) = taken.filter(|_| !target.replace) {
        bail!(tr!(
            "the data directory {data} is not empty: it has `{name}`; with --replace what it has is moved aside",
            data = target.data.display(),
            name = name
        ));
    }
    check_space(&reader, target.data)?;
    let restoration = Restoration::begin(&dir)
        .with_context(|| tr!("nothing can be unpacked in {data}", data = target.data.display()))?;
    match unpack(reader, &restoration.files(), target, now, &mut tell) {
        Ok((about, files)) => {
            let aside = format!("replaced-{}", now.0);
            let moved = restoration.commit(&replaced, &aside);
            let aside = moved.with_context(|| {
                tr!(
                    "the files cannot be moved into place; `helve serve` tries again. The data directory is {data}",
                    data = target.data.display()
                )
            })?;
            Ok(Restored { about, files, aside })
        }
        Err(error) => {
            _ = restoration.discard();
            Err(error)
        }
    }
}

/// Unpacks all of it; what the database server gets is there when this ends.
fn unpack(
    reader: BackupReader,
    files: &Path,
    target: &RestoreTarget<'_>,
    now: Timestamp,
    tell: &mut impl FnMut(RestoreProgress),
) -> anyhow::Result<(AboutBackup, usize)> {
    let checked = reader.read(Some(files), |path, bytes| {
        tell(RestoreProgress::File { path: path.to_owned(), bytes });
    })?;
    // A file that is no database would only be noticed at the next start.
    read_sqlite_layout(files)?;
    if let DatabasePlace::Postgres(_) = target.database {
        let from = files.join("rows");
        std::fs::create_dir(&from)?;
        std::fs::rename(files.join(DATABASE), from.join(DATABASE))?;
        migrate_sqlite(&DataDir::lock(&from)?, now)?;
        crate::commands::block_on(async {
            let told = |progress| tell(RestoreProgress::Rows(progress));
            let source = DatabasePlace::Sqlite(from.clone());
            copy_database(&source, target.database, now, told).await.map_err(anyhow::Error::new)
        })?;
        std::fs::remove_dir_all(from)?;
    }
    Ok((checked.about, checked.files))
}

fn refuse_newer(about: &AboutBackup) -> anyhow::Result<()> {
    let newest = helve_store_sql::newest_layout();
    if about.layout > newest {
        bail!(tr!(
            "the backup has layout {layout} of Helve {version}, and this Helve knows layouts up to {newest}; restore it with that version",
            layout = about.layout,
            version = about.helve,
            newest = newest
        ));
    }
    Ok(())
}

/// What of the data directory gives way.
fn names_replaced(about: &AboutBackup, target: &RestoreTarget<'_>) -> Vec<&'static str> {
    let mut names = vec![];
    if let DatabasePlace::Sqlite(_) = target.database {
        names.extend(DataDir::DATABASE_FILES);
    }
    if !about.database_only {
        names.extend(OTHERS);
    }
    names
}

/// An empty folder, such as the server makes, is nothing to lose.
fn holds_data(data: &Path, name: &str) -> bool {
    let path = data.join(name);
    match std::fs::read_dir(&path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.symlink_metadata().is_ok(),
    }
}

fn check_space(reader: &BackupReader, data: &Path) -> anyhow::Result<()> {
    let Ok(free) = free_bytes(data) else { return Ok(()) };
    if free < reader.archive_bytes {
        bail!(tr!(
            "the disk of {data} has {free} MiB free, and the backup needs {needed}; free some space",
            data = data.display(),
            free = free >> 20,
            needed = (reader.archive_bytes >> 20) + 1
        ));
    }
    Ok(())
}
