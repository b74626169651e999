//! Making a backup.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use helve_store_sql::{
    CopyProgress, DatabasePlace, PostgresSettings, SnapshotProgress, free_bytes, snapshot_postgres,
    snapshot_sqlite,
};
use helve_types::Timestamp;

use super::archive::{ArchiveWriter, PartFile, beside, folder_of};
use super::{
    ABOUT, AboutBackup, BackupPart, DATABASE, FORMAT, FORMAT_VERSION, MANIFEST, MANIFEST_HASH, Manifest,
    OTHERS,
};
use crate::i18n::tr;

/// Deeper than this no folder of the data directory is.
const DEPTH_MAX: usize = 16;

/// What a backup is made of.
pub(crate) struct BackupSource<'a> {
    pub(crate) data: &'a Path,
    pub(crate) database: &'a DatabasePlace,
    pub(crate) database_only: bool,
}

#[derive(Debug)]
pub(crate) struct WrittenBackup {
    pub(crate) about: AboutBackup,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Links and other things that are no files, which are not in it.
    pub(crate) left_out: Vec<PathBuf>,
}

/// How far it is.
pub(crate) enum BackupProgress {
    Database(SnapshotProgress),
    Rows(CopyProgress),
    File { path: String, bytes: u64 },
}

/// Removed when it is dropped, whatever became of the backup.
struct Scratch(PathBuf);

impl Scratch {
    /// What a process that was killed has left there is gone first.
    fn create(target: &Path) -> io::Result<Self> {
        let path = beside(target, "database");
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes a backup to a file that must not exist. It gets its name when it is whole.
pub(crate) fn write_backup(
    target: &Path,
    source: &BackupSource<'_>,
    now: Timestamp,
    mut tell: impl FnMut(BackupProgress),
) -> anyhow::Result<WrittenBackup> {
    refuse_inside(target, source.data)?;
    let cannot = || tr!("`{file}` cannot be written", file = target.display());
    let part = PartFile::create(target).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            anyhow::anyhow!(tr!("`{file}` exists already; name another file", file = target.display()))
        }
        io::ErrorKind::ResourceBusy => anyhow::anyhow!(tr!(
            "another backup to `{file}` is being made; wait for it or name another file",
            file = target.display()
        )),
        _ => anyhow::Error::new(error).context(cannot()),
    })?;
    let scratch = Scratch::create(target).with_context(cannot)?;
    check_space(target, source)?;
    let copied = scratch.0.join(DATABASE);
    let layout = match source.database {
        DatabasePlace::Sqlite(data) => {
            snapshot_sqlite(data, &copied, |progress| tell(BackupProgress::Database(progress)))?
        }
        DatabasePlace::Postgres(settings) => copy_rows(settings, &scratch.0, now, &mut tell)?,
    };
    let about = AboutBackup {
        format: FORMAT.into(),
        format_version: FORMAT_VERSION,
        helve: env!("CARGO_PKG_VERSION").into(),
        layout,
        created_at: now.0,
        database: match source.database {
            DatabasePlace::Sqlite(_) => "sqlite".into(),
            DatabasePlace::Postgres(_) => "postgresql".into(),
        },
        database_only: source.database_only,
    };
    let mut found = BackupFiles::default();
    if !source.database_only {
        OTHERS.iter().try_for_each(|name| found.add(source.data, Path::new(name), 0))?;
    }
    let now_s = u64::try_from(now.0 / 1_000).unwrap_or_default();
    let mut archive = ArchiveWriter::new(part.file(), now_s);
    let text = serde_json::to_vec_pretty(&about)?;
    archive.add_bytes(ABOUT, &text).with_context(cannot)?;
    let blake3 = blake3::hash(&text).to_hex().to_string();
    let mut manifest =
        Manifest { parts: vec![BackupPart { path: ABOUT.into(), bytes: text.len() as u64, blake3 }] };
    let files = found.files.iter().map(|name| (source.data.join(name), name.clone()));
    for (from, name) in [(copied, PathBuf::from(DATABASE))].into_iter().chain(files) {
        // A note may be deleted while the others are written.
        let Some(added) = add_file(&mut archive, &from, &name)? else { continue };
        tell(BackupProgress::File { path: added.path.clone(), bytes: added.bytes });
        manifest.parts.push(added);
    }
    let told = serde_json::to_vec_pretty(&manifest)?;
    archive.add_bytes(MANIFEST, &told).with_context(cannot)?;
    archive
        .add_bytes(MANIFEST_HASH, blake3::hash(&told).to_hex().as_bytes())
        .and_then(|()| archive.finish())
        .with_context(cannot)?;
    drop(scratch);
    let bytes = part.file().metadata().with_context(cannot)?.len();
    part.keep().with_context(cannot)?;
    Ok(WrittenBackup { about, files: manifest.parts.len() - 1, bytes, left_out: found.left_out })
}

/// A backup in the data directory would be lost with it.
fn refuse_inside(target: &Path, data: &Path) -> anyhow::Result<()> {
    let (Ok(folder), Ok(data)) = (folder_of(target).canonicalize(), data.canonicalize()) else {
        return Ok(());
    };
    if folder.starts_with(&data) {
        bail!(tr!(
            "`{file}` is in the data directory, which it is to save; name a file elsewhere, best on another disk",
            file = target.display()
        ));
    }
    Ok(())
}

/// The database is there twice for a moment: as a copy, and in the archive.
fn check_space(target: &Path, source: &BackupSource<'_>) -> anyhow::Result<()> {
    let DatabasePlace::Sqlite(data) = source.database else { return Ok(()) };
    let needed = std::fs::metadata(data.join(DATABASE)).map_or(0, |file| file.len()).saturating_mul(2);
    let Ok(free) = free_bytes(folder_of(target)) else { return Ok(()) };
    if free < needed {
        bail!(tr!(
            "the disk of `{file}` has {free} MiB free, and the backup may need {needed}; free some space or name a file on another disk",
            file = target.display(),
            free = free >> 20,
            needed = (needed >> 20) + 1
        ));
    }
    Ok(())
}

fn copy_rows(
    settings: &PostgresSettings,
    scratch: &Path,
    now: Timestamp,
    tell: &mut impl FnMut(BackupProgress),
) -> anyhow::Result<u32> {
    let rows = scratch.join("rows");
    crate::commands::block_on(async {
        let told = |progress| tell(BackupProgress::Rows(progress));
        snapshot_postgres(settings, rows.clone(), now, told).await.map_err(anyhow::Error::new)
    })?;
    // The copy has its log beside it until it is opened once more.
    let written = snapshot_sqlite(&rows, &scratch.join(DATABASE), |_| {})?;
    std::fs::remove_dir_all(rows)?;
    Ok(written)
}

fn add_file(
    archive: &mut ArchiveWriter<&File>,
    from: &Path,
    name: &Path,
) -> anyhow::Result<Option<BackupPart>> {
    let path =
        name.to_str().with_context(|| tr!("the name of `{file}` is not UTF-8", file = name.display()))?;
    let cannot = || tr!("`{file}` cannot be added to the backup", file = from.display());
    let file = match File::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.with_context(cannot)?,
    };
    let found = file.metadata().with_context(cannot)?;
    #[cfg(unix)]
    let mode = std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o700;
    #[cfg(not(unix))]
    let mode = 0o600;
    let hash = archive.add(path, found.len(), mode, file).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => anyhow::anyhow!(tr!(
            "`{file}` became shorter while it was read; make the backup again",
            file = from.display()
        )),
        _ => anyhow::Error::new(error).context(cannot()),
    })?;
    Ok(Some(BackupPart { path: path.to_owned(), bytes: found.len(), blake3: hash.to_hex().to_string() }))
}

/// What is to be saved besides the database.
#[derive(Default)]
struct BackupFiles {
    /// Below the data directory.
    files: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
}

impl BackupFiles {
    fn add(&mut self, data: &Path, name: &Path, depth: usize) -> anyhow::Result<()> {
        let path = data.join(name);
        let cannot = || tr!("`{file}` cannot be read", file = path.display());
        let found = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.with_context(cannot)?,
        };
        if found.is_file() {
            self.files.push(name.to_owned());
        } else if found.is_dir() && depth < DEPTH_MAX {
            let mut names = vec![];
            for entry in std::fs::read_dir(&path).with_context(cannot)? {
                names.push(entry.with_context(cannot)?.file_name());
            }
            names.sort();
            names.iter().try_for_each(|below| self.add(data, &name.join(below), depth + 1))?;
        } else {
            self.left_out.push(path);
        }
        Ok(())
    }
}
