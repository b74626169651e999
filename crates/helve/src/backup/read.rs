//! Reading a backup: every byte of it is checked, whether it is unpacked or not.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use helve_wire::tar::{TAR_BLOCK, TAR_END_BLOCKS, TarEntry, TarError};

use super::{
    ABOUT, AboutBackup, BackupPart, DATABASE, FORMAT, FORMAT_VERSION, MANIFEST, MANIFEST_HASH, Manifest,
    OTHERS,
};
use crate::i18n::tr;

const PIECE_BYTES: usize = 256 << 10;
/// The files about the backup are read as a whole.
const ABOUT_BYTES_MAX: u64 = 64 << 20;
const FILES_MAX: usize = 200_000;

/// A backup that is whole.
#[derive(Debug)]
pub(crate) struct CheckedBackup {
    pub(crate) about: AboutBackup,
    pub(crate) files: usize,
}

/// Reads all of a backup and finds whatever was changed since it was written.
pub(crate) fn check_backup(file: &Path, tell: impl FnMut(&str, u64)) -> anyhow::Result<CheckedBackup> {
    BackupReader::open(file)?.read(None, tell)
}

/// A backup that was opened: what it is about is known.
pub(super) struct BackupReader {
    name: String,
    from: BufReader<File>,
    pub(super) about: AboutBackup,
    pub(super) archive_bytes: u64,
    first: BackupPart,
}

impl BackupReader {
    pub(super) fn open(file: &Path) -> anyhow::Result<Self> {
        let name = file.display().to_string();
        let cannot = || tr!("the backup `{file}` cannot be read", file = name);
        let opened = File::open(file).with_context(cannot)?;
        let archive_bytes = opened.metadata().with_context(cannot)?.len();
        let mut from = BufReader::with_capacity(PIECE_BYTES, opened);
        let no_backup = || {
            anyhow::anyhow!(tr!("`{file}` is no backup of Helve, or its beginning is damaged", file = name))
        };
        let entry = read_header(&mut from).ok().flatten().filter(|entry| entry.path == ABOUT);
        let entry = entry.ok_or_else(no_backup)?;
        let text = read_whole(&mut from, &entry).map_err(|_| no_backup())?;
        let about: AboutBackup = serde_json::from_slice(&text).map_err(|_| no_backup())?;
        if about.format != FORMAT {
            return Err(no_backup());
        }
        if about.format_version > FORMAT_VERSION {
            bail!(tr!(
                "the backup `{file}` was made by a newer Helve ({version}); restore it with that version",
                file = name,
                version = about.helve
            ));
        }
        let first = BackupPart {
            path: ABOUT.into(),
            bytes: entry.bytes,
            blake3: blake3::hash(&text).to_hex().to_string(),
        };
        Ok(Self { name, from, about, archive_bytes, first })
    }

    /// Reads to the end, and writes the files below a folder if one is given.
    pub(super) fn read(
        mut self,
        into: Option<&Path>,
        mut tell: impl FnMut(&str, u64),
    ) -> anyhow::Result<CheckedBackup> {
        let mut found = vec![self.first.clone()];
        let mut names = BTreeSet::new();
        let mut last = ABOUT.to_owned();
        let manifest = loop {
            let entry = read_header(&mut self.from).map_err(|error| self.damaged_after(&last, &error))?;
            let Some(entry) = entry else {
                bail!(self.damaged(&last, &tr!("the list of its files is missing")));
            };
            last.clone_from(&entry.path);
            if entry.path == MANIFEST {
                break read_whole(&mut self.from, &entry)
                    .map_err(|error| self.damaged_part(&last, &error))?;
            }
            if !names.insert(entry.path.clone()) || found.len() >= FILES_MAX || !is_known(&entry.path) {
                bail!(self.damaged(&last, &tr!("no such file belongs into a backup")));
            }
            let part = copy_part(&mut self.from, &entry, into).map_err(|error| match error {
                CopyPartError::Read(error) => self.damaged_part(&last, &error),
                CopyPartError::Write(error) => anyhow::Error::new(error)
                    .context(tr!("`{path}` cannot be unpacked; nothing was restored", path = last)),
            })?;
            tell(&part.path, part.bytes);
            found.push(part);
        };
        self.check_end(&manifest)?;
        let listed: Manifest =
            serde_json::from_slice(&manifest).map_err(|error| self.damaged(MANIFEST, &error.to_string()))?;
        self.compare(&listed, &found)?;
        Ok(CheckedBackup { about: self.about, files: found.len() - 1 })
    }

    /// What follows the list of files: its hash, and nothing else.
    fn check_end(&mut self, manifest: &[u8]) -> anyhow::Result<()> {
        let header = read_header(&mut self.from).map_err(|error| self.damaged_after(MANIFEST, &error))?;
        let entry = header.filter(|entry| entry.path == MANIFEST_HASH);
        let entry = entry.with_context(|| self.damaged(MANIFEST, &tr!("its hash is missing")))?;
        let hash =
            read_whole(&mut self.from, &entry).map_err(|error| self.damaged_part(MANIFEST_HASH, &error))?;
        if hash != blake3::hash(manifest).to_hex().as_bytes() {
            bail!(self.damaged(MANIFEST, &tr!("its hash is another one")));
        }
        let mut end = vec![];
        let limit = (TAR_BLOCK * TAR_END_BLOCKS) as u64 + 1;
        self.from
            .by_ref()
            .take(limit)
            .read_to_end(&mut end)
            .map_err(|error| self.damaged(MANIFEST_HASH, &error.to_string()))?;
        if end != [0; TAR_BLOCK * TAR_END_BLOCKS] {
            bail!(self.damaged(MANIFEST_HASH, &tr!("the end of the file is not as it was written")));
        }
        Ok(())
    }

    fn compare(&self, listed: &Manifest, found: &[BackupPart]) -> anyhow::Result<()> {
        let Manifest { parts } = listed;
        for (listed, found) in parts.iter().zip(found) {
            if listed != found {
                bail!(self.damaged(&found.path, &tr!("its hash is another one")));
            }
        }
        if parts.len() != found.len() {
            bail!(self.damaged(MANIFEST, &tr!("it lists other files than there are")));
        }
        if parts.get(1).is_none_or(|part| part.path != DATABASE) {
            bail!(self.damaged(DATABASE, &tr!("it is missing")));
        }
        Ok(())
    }

    fn damaged(&self, part: &str, what: &str) -> anyhow::Error {
        anyhow::anyhow!(tr!(
            "the backup `{file}` is damaged at `{part}`: {what}; nothing was restored, use another backup",
            file = self.name,
            part = part,
            what = what
        ))
    }

    fn damaged_part(&self, part: &str, error: &io::Error) -> anyhow::Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged(part, &tr!("the file ends in the middle of it")),
            _ => self.damaged(part, &error.to_string()),
        }
    }

    fn damaged_after(&self, part: &str, error: &HeaderError) -> anyhow::Error {
        let what = match error {
            HeaderError::Tar(TarError::Header) => {
                tr!("what follows it is not as it was written")
            }
            HeaderError::Tar(error) => error.to_string(),
            HeaderError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                tr!("the file ends after it")
            }
            HeaderError::Io(error) => error.to_string(),
        };
        self.damaged(part, &what)
    }
}

/// Whether a backup may have a file of this path.
fn is_known(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    path == DATABASE || OTHERS.contains(&first)
}

#[derive(Debug)]
enum HeaderError {
    Tar(TarError),
    Io(io::Error),
}

fn read_header(from: &mut impl Read) -> Result<Option<TarEntry>, HeaderError> {
    let mut block = [0; TAR_BLOCK];
    from.read_exact(&mut block).map_err(HeaderError::Io)?;
    TarEntry::decode_header(&block).map_err(HeaderError::Tar)
}

fn read_whole(from: &mut impl Read, entry: &TarEntry) -> io::Result<Vec<u8>> {
    if entry.bytes > ABOUT_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, tr!("it is too long")));
    }
    let mut bytes = vec![];
    from.take(entry.bytes).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != entry.bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    read_padding(from, entry)?;
    Ok(bytes)
}

fn read_padding(from: &mut impl Read, entry: &TarEntry) -> io::Result<()> {
    let mut padding = [0; TAR_BLOCK];
    let padding = &mut padding[..entry.padding()];
    from.read_exact(padding)?;
    if padding.iter().any(|byte| *byte != 0) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            tr!("what follows it is not as it was written"),
        ));
    }
    Ok(())
}

enum CopyPartError {
    Read(io::Error),
    Write(io::Error),
}

fn copy_part(
    from: &mut impl Read,
    entry: &TarEntry,
    into: Option<&Path>,
) -> Result<BackupPart, CopyPartError> {
    let mut file = into.map(|folder| create(folder, entry)).transpose().map_err(CopyPartError::Write)?;
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = entry.bytes;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        from.read_exact(&mut piece[..wanted]).map_err(CopyPartError::Read)?;
        hasher.update(&piece[..wanted]);
        if let Some(file) = &mut file {
            file.write_all(&piece[..wanted]).map_err(CopyPartError::Write)?;
        }
        left -= wanted as u64;
    }
    read_padding(from, entry).map_err(CopyPartError::Read)?;
    let blake3 = hasher.finalize().to_hex().to_string();
    Ok(BackupPart { path: entry.path.clone(), bytes: entry.bytes, blake3 })
}

/// The folder is new and this process's alone, and an archive has no links: nothing leads out of it.
fn create(folder: &Path, entry: &TarEntry) -> io::Result<File> {
    let path = folder.join(&entry.path);
    if let Some(above) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(above)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, entry.mode & 0o700 | 0o400);
    options.open(path)
}
