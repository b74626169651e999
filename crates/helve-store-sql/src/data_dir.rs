//! The data directory: private, on a local disk, and held by one server at a time.

mod private;
mod restore;
mod watch;

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::private::{options, tighten};
pub use self::restore::Restoration;
pub use self::watch::{DiskWatch, free_bytes};

/// The database of SQLite.
pub(crate) const DATABASE: &str = "helve.db";
/// Locked by the one server.
const LOCK: &str = "helve.lock";
/// Locked by the commands that are at work beside a server, all of them together.
const COMMANDS: &str = "commands.lock";

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("cannot use the data directory `{}`: {source}", path.display())]
    Unusable { path: PathBuf, source: std::io::Error },

    #[error("the data directory `{}` is in use by {holder}; stop it, or give this one another with --data", path.display())]
    InUse { path: PathBuf, holder: String },

    #[error("the data directory `{}` is on a network file system ({kind}), where locks and syncs cannot be trusted; choose a local disk with --data", path.display())]
    Network { path: PathBuf, kind: String },

    #[error("a restore into the data directory `{}` is not finished; wait for it, or run `helve serve`, which finishes it", path.display())]
    Restoring { path: PathBuf },
}

impl DataDirError {
    /// Where the holder of a directory in use answers, if it has said so.
    pub fn address(&self) -> Option<&str> {
        let Self::InUse { holder, .. } = self else { return None };
        holder.split_once(", at ").map(|(_, address)| address)
    }
}

/// A directory that this process may write to; the lock ends with it.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// Who is told when a write fails.
    watch: Option<Arc<DiskWatch>>,
    /// It is this process's alone.
    is_held: bool,
    /// Let go of when this is dropped.
    _lock: File,
}

impl DataDir {
    /// Creates the directory if need be and takes it for this process alone.
    pub fn lock(path: &Path) -> Result<Self, DataDirError> {
        Self::prepare(path)?;
        let unusable = |source| DataDirError::Unusable { path: path.to_owned(), source };
        let mut lock =
            options().read(true).write(true).create(true).open(path.join(LOCK)).map_err(unusable)?;
        if lock.try_lock().is_err() {
            let mut holder = String::new();
            _ = lock.read_to_string(&mut holder);
            let holder = if holder.trim().is_empty() { "another process" } else { holder.trim() }.to_owned();
            return Err(DataDirError::InUse { path: path.to_owned(), holder });
        }
        restore::finish(path).map_err(unusable)?;
        // Only the holder changes what others may be using.
        let has_data = path.join(DATABASE).exists();
        let changed = tighten(path).map_err(unusable)?;
        let exposed: Vec<_> = changed.iter().filter(|entry| entry.is_exposed(has_data)).collect();
        if let Some(first) = exposed.first() {
            tracing::warn!(
                count = exposed.len(), first = %first.path.display(), mode = %format!("{:o}", first.mode),
                "files open to other users made private"
            );
        }
        lock.set_len(0).map_err(unusable)?;
        lock.rewind().map_err(unusable)?;
        write!(lock, "helve, process {}", std::process::id()).map_err(unusable)?;
        Ok(Self { path: path.to_owned(), watch: None, is_held: true, _lock: lock })
    }

    /// Records where the holder of the directory answers. Only for the holder.
    pub fn write_address(path: &Path, address: &str) -> std::io::Result<()> {
        let mut lock = options().write(true).truncate(true).open(path.join(LOCK))?;
        write!(lock, "helve, process {}, at {address}", std::process::id())
    }

    /// Uses the directory beside the server that may hold it; for short commands such as `helve token`. As long as one
    /// does, `is_shared` says so.
    pub fn open_shared(path: &Path) -> Result<Self, DataDirError> {
        Self::prepare(path)?;
        let unusable = |source| DataDirError::Unusable { path: path.to_owned(), source };
        let at_work = options().append(true).create(true).open(path.join(COMMANDS));
        let at_work = at_work.map_err(unusable)?;
        at_work.lock_shared().map_err(unusable)?;
        if restore::is_unfinished(path) {
            return Err(DataDirError::Restoring { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), watch: None, is_held: false, _lock: at_work })
    }

    /// With a watch that frees space when a write finds none.
    #[must_use]
    pub fn with_watch(self, watch: Arc<DiskWatch>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    pub(crate) fn watch(&self) -> Option<Arc<DiskWatch>> {
        self.watch.clone()
    }

    /// Whether a short command uses the directory now, in any process. If that cannot be found out, one may.
    pub fn is_shared(path: &Path) -> bool {
        match options().append(true).open(path.join(COMMANDS)) {
            Ok(at_work) => at_work.try_lock().is_err(),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }

    /// Whether it is this process's alone.
    pub(crate) fn is_locked(&self) -> bool {
        self.is_held
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    fn prepare(path: &Path) -> Result<(), DataDirError> {
        let unusable = |source| DataDirError::Unusable { path: path.to_owned(), source };
        if !path.exists() {
            create_durably(path).map_err(unusable)?;
        }
        let real = path.canonicalize().map_err(unusable)?;
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        match network_file_system(&mounts, &real) {
            Some(kind) => Err(DataDirError::Network { path: path.to_owned(), kind }),
            None => Ok(()),
        }
    }
}

/// Private from the first moment, so that there is nothing to tighten afterwards.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes the directory and those above it. A directory is kept by the one above it, and after a power cut only if
/// that one was synced; nothing inside can make up for it.
fn create_durably(path: &Path) -> std::io::Result<()> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !above.exists() {
        create_durably(above)?;
    }
    match create_private(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    #[cfg(unix)]
    File::open(above)?.sync_all()?;
    Ok(())
}

/// The kind of network file system that `path` is on, according to a mount table.
fn network_file_system(mounts: &str, path: &Path) -> Option<String> {
    const NETWORK: [&str; 16] = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "afs",
        "9p",
        "ceph",
        "glusterfs",
        "lustre",
        "beegfs",
        "davfs",
        "fuse.sshfs",
        "fuse.glusterfs",
        "fuse.ceph",
        "fuse.s3fs",
    ];
    let mount_of = |line: &str| {
        let mut fields = line.split(' ');
        let (_, point, kind) = (fields.next()?, fields.next()?, fields.next()?);
        let point = PathBuf::from(point.replace("\\040", " "));
        path.starts_with(&point).then(|| (point.components().count(), kind.to_owned()))
    };
    let (_, kind) = mounts.lines().filter_map(mount_of).max_by_key(|(depth, _)| *depth)?;
    NETWORK.contains(&kind.as_str()).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_directory_says_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let _held = DataDir::lock(dir.path()).unwrap();
        let refused = DataDir::lock(dir.path()).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(DataDir::open_shared(dir.path()).is_ok());
    }

    #[test]
    fn the_holder_of_a_directory_can_say_where_it_answers() {
        let dir = tempfile::tempdir().unwrap();
        let held = DataDir::lock(dir.path()).unwrap();
        assert_eq!(DataDir::lock(dir.path()).unwrap_err().address(), None);
        DataDir::write_address(dir.path(), "http://127.0.0.1:8890").unwrap();
        assert_eq!(DataDir::lock(dir.path()).unwrap_err().address(), Some("http://127.0.0.1:8890"));
        // What the last one said is not taken for the word of the next one.
        drop(held);
        let _next = DataDir::lock(dir.path()).unwrap();
        assert_eq!(DataDir::lock(dir.path()).unwrap_err().address(), None);
    }

    #[test]
    fn a_directory_is_shared_as_long_as_any_command_uses_it() {
        let dir = tempfile::tempdir().unwrap();
        let _held = DataDir::lock(dir.path()).unwrap();
        assert!(!DataDir::is_shared(dir.path()));
        let one = DataDir::open_shared(dir.path()).unwrap();
        let two = DataDir::open_shared(dir.path()).unwrap();
        drop(one);
        assert!(DataDir::is_shared(dir.path()));
        drop(two);
        assert!(!DataDir::is_shared(dir.path()));
    }

    #[test]
    fn a_released_directory_can_be_held_again() {
        let dir = tempfile::tempdir().unwrap();
        drop(DataDir::lock(dir.path()).unwrap());
        assert!(DataDir::lock(dir.path()).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_new_directory_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let _held = DataDir::lock(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_network_file_system_is_recognised_by_its_nearest_mount() {
        let mounts =
            "/dev/sda / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\ntmpfs /home/mei/ram tmpfs rw 0 0";
        let kind = |path: &str| network_file_system(mounts, Path::new(path));
        assert_eq!(kind("/var/lib/helve"), None);
        assert_eq!(kind("/home/mei/data").as_deref(), Some("nfs4"));
        assert_eq!(kind("/home/mei/ram/data"), None);
        for kind in ["cifs", "9p", "ceph", "fuse.sshfs"] {
            let mounts = format!("x /data {kind} rw 0 0");
            assert_eq!(network_file_system(&mounts, Path::new("/data")).as_deref(), Some(kind));
        }
    }
}
