//! Measures the disk, and keeps a reserve file.
//!
//! A full disk must not keep a run from writing how it ended. So a reserve file is written while there is space. When a
//! write fails because the disk is full, the file is deleted, and the write is repeated in its place. The file is written
//! again once there is space for it besides what must be free anyway.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_store::{Disk, DiskSpace};

use super::private::options;

const NAME: &str = "helve.ballast";
const PIECE: [u8; 4_096] = [0x68; 4_096];

/// Keeps what is known of the disk of a directory up to date.
#[derive(Debug)]
pub struct DiskWatch {
    dir: PathBuf,
    ballast_bytes: u64,
    disk: Arc<Disk>,
    measure: fn(&Path) -> io::Result<DiskSpace>,
}

impl DiskWatch {
    pub fn new(dir: &Path, ballast_bytes: u64, disk: Arc<Disk>) -> Self {
        Self { dir: dir.to_owned(), ballast_bytes, disk, measure }
    }

    /// Measures, and sets room aside where there is enough. Blocks for as long as the disk takes.
    pub fn check_space(&self) {
        let Some(room) = self.measure_free() else { return };
        let free_min = self.disk.status().map_or(0, |status| status.free_min);
        if self.has_ballast() || room.free < free_min.saturating_add(self.ballast_bytes) {
            return;
        }
        if let Err(error) = self.write_ballast() {
            tracing::warn!(%error, "reserve file not written");
            _ = fs::remove_file(self.path());
        }
        self.measure_free();
    }

    /// A write failed. If that was for want of room, there is some now.
    pub fn handle_write_failure(&self) {
        let Some(room) = self.measure_free() else { return };
        // Less than what was set aside is as good as nothing.
        if room.free >= self.ballast_bytes {
            return;
        }
        self.disk.record_out_of_space();
        if self.has_ballast() {
            tracing::error!(free_bytes = room.free, "disk full: reserve file deleted");
            if let Err(error) = fs::remove_file(self.path()) {
                tracing::error!(%error, "disk full: reserve file not deleted");
            }
        }
    }

    pub fn has_ballast(&self) -> bool {
        let found = fs::symlink_metadata(self.path());
        found.is_ok_and(|file| file.is_file() && file.len() >= self.ballast_bytes)
    }

    fn path(&self) -> PathBuf {
        self.dir.join(NAME)
    }

    fn measure_free(&self) -> Option<DiskSpace> {
        match (self.measure)(&self.dir) {
            Ok(room) => {
                self.disk.record_space(room);
                Some(room)
            }
            Err(error) => {
                tracing::debug!(%error, "disk space not measured");
                None
            }
        }
    }

    fn write_ballast(&self) -> io::Result<()> {
        let file = options().write(true).create(true).truncate(true).open(self.path())?;
        allocate(file, self.ballast_bytes)
    }
}

/// Takes the room for good: a file with holes in it takes none.
fn allocate(mut file: File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        if fallocate(&file, FallocateFlags::empty(), 0, bytes).is_ok() {
            return Ok(());
        }
    }
    let mut left = bytes;
    while left > 0 {
        let piece = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE.len());
        file.write_all(&PIECE[..piece])?;
        left -= piece as u64;
    }
    file.sync_all()
}

/// How much may be written beside a path.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    measure(path).map(|space| space.free)
}

#[cfg(unix)]
fn measure(path: &Path) -> io::Result<DiskSpace> {
    let found = rustix::fs::statvfs(path)?;
    Ok(DiskSpace {
        free: found.f_bavail.saturating_mul(found.f_frsize),
        total: found.f_blocks.saturating_mul(found.f_frsize),
    })
}

#[cfg(not(unix))]
fn measure(_: &Path) -> io::Result<DiskSpace> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use helve_store::FreeMin;

    use super::*;

    thread_local! {
        static FREE: Cell<u64> = const { Cell::new(0) };
    }

    /// A disk of 1,000 bytes, of which a test says how many are free.
    fn watch(dir: &Path) -> DiskWatch {
        let disk = Arc::new(Disk::new(FreeMin::Bytes(100)));
        let measure = |_: &Path| Ok(DiskSpace { free: FREE.get(), total: 1_000 });
        DiskWatch { measure, ..DiskWatch::new(dir, 16, disk) }
    }

    #[test]
    fn room_is_set_aside_only_beside_what_must_be_free() {
        let dir = tempfile::tempdir().unwrap();
        let watch = watch(dir.path());
        for (free, has) in [(115, false), (116, true), (0, true)] {
            FREE.set(free);
            watch.check_space();
            assert_eq!(watch.has_ballast(), has, "{free}");
        }
        assert!(watch.disk.is_low());
    }

    #[test]
    fn what_was_set_aside_is_given_up_when_a_write_finds_no_room_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let watch = watch(dir.path());
        FREE.set(500);
        watch.check_space();
        watch.handle_write_failure();
        assert!(watch.has_ballast(), "there was room: it failed for something else");
        assert!(!watch.disk.is_low());
        FREE.set(15);
        watch.check_space();
        assert!(watch.has_ballast());
        watch.handle_write_failure();
        assert!(!watch.has_ballast());
        assert!(watch.disk.is_low());
        FREE.set(110);
        watch.check_space();
        assert!(!watch.has_ballast() && !watch.disk.is_low());
        FREE.set(116);
        watch.check_space();
        assert!(watch.has_ballast());
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_neither_taken_for_what_was_set_aside_nor_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        fs::write(&precious, [1; 64]).unwrap();
        let watch = watch(dir.path());
        std::os::unix::fs::symlink(&precious, watch.path()).unwrap();
        assert!(!watch.has_ballast());
        FREE.set(500);
        watch.check_space();
        assert_eq!(fs::read(&precious).unwrap(), [1; 64]);
        assert!(fs::symlink_metadata(watch.path()).is_err(), "the link is gone");
        watch.check_space();
        assert!(watch.has_ballast());
    }

    #[cfg(unix)]
    #[test]
    fn a_real_disk_is_measured_and_what_is_set_aside_takes_room() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(Disk::new(FreeMin::Bytes(1)));
        let watch = DiskWatch::new(dir.path(), 1 << 20, disk.clone());
        watch.check_space();
        let room = disk.status().unwrap().space;
        assert!(room.free > 0 && room.free <= room.total, "{room:?}");
        let ballast = fs::metadata(watch.path()).unwrap();
        assert_eq!((ballast.len(), ballast.mode() & 0o777), (1 << 20, 0o600));
        assert!(ballast.blocks() * 512 >= 1 << 20, "{}", ballast.blocks());
    }
}
