//! Writing a tar archive to a file that gets its name only when it is whole.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use helve_wire::tar::{TAR_BLOCK, TAR_END_BLOCKS, TarEntry};

const PIECE_BYTES: usize = 256 << 10;

/// A file beside the one that is to be; removed unless it becomes that one.
pub(crate) struct PartFile {
    path: PathBuf,
    target: PathBuf,
    is_kept: bool,
    /// Held so that no second process writes to it.
    file: File,
}

impl PartFile {
    /// What a process that was killed has left is written over.
    pub(crate) fn create(target: &Path) -> io::Result<Self> {
        if target.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let path = beside(target, "part");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        }
        let file = options.open(&path)?;
        if file.try_lock().is_err() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        file.set_len(0)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        Ok(Self { path, target: target.to_owned(), is_kept: false, file })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name, once what is in it is on the disk.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        // Fails where a file has come meanwhile, instead of replacing it.
        std::fs::hard_link(&self.path, &self.target).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Err(error),
            // Not every file system has links.
            _ => std::fs::rename(&self.path, &self.target),
        })?;
        _ = std::fs::remove_file(&self.path);
        self.is_kept = true;
        #[cfg(unix)]
        File::open(folder_of(&self.target))?.sync_all()?;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_kept {
            _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A name beside a file, hidden in listings.
pub(crate) fn beside(target: &Path, ending: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    folder_of(target).join(format!(".{name}.{ending}"))
}

pub(crate) fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Files one after the other.
pub(crate) struct ArchiveWriter<W: Write> {
    out: BufWriter<W>,
    now_s: u64,
}

impl<W: Write> ArchiveWriter<W> {
    pub(crate) fn new(out: W, now_s: u64) -> Self {
        Self { out: BufWriter::with_capacity(PIECE_BYTES, out), now_s }
    }

    pub(crate) fn add_bytes(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.add(path, bytes.len() as u64, 0o600, bytes).map(drop)
    }

    /// Adds what the reader gives, which must be so many bytes or more; their hash.
    pub(crate) fn add(
        &mut self,
        path: &str,
        bytes: u64,
        mode: u32,
        mut from: impl Read,
    ) -> io::Result<blake3::Hash> {
        let entry = TarEntry { path: path.into(), bytes, mode, modified: self.now_s };
        let header =
            entry.encode_header().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        self.out.write_all(&header)?;
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; PIECE_BYTES];
        let mut left = bytes;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            let read = from.read(&mut piece[..wanted])?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            hasher.update(&piece[..read]);
            self.out.write_all(&piece[..read])?;
            left -= read as u64;
        }
        self.out.write_all(&[0; TAR_BLOCK][..entry.padding()])?;
        Ok(hasher.finalize())
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&[0; TAR_BLOCK * TAR_END_BLOCKS])?;
        self.out.flush()
    }
}
