//! What can be wrong with a disk, and what must come of it. The list is the test.

use std::fmt;

/// One way in which a disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Only so many bytes are free, until somebody makes room.
    Full { free: u64 },
    /// From the nth call of its thread on, the writing call fails with this.
    Writes { error: &'static str, from: u32 },
    /// One sync fails, the nth of its thread. The ones after it would seem to work.
    Sync { nth: u32 },
    /// The file system cannot be written when the server starts.
    ReadOnlyStart,
    /// No file may become larger.
    FileSize { bytes: u64 },
    /// So few files and connections may be open.
    Files { count: u32 },
    /// So little address space.
    Memory { bytes: u64 },
}

/// What the server must do while it lasts. Whatever it does, nothing that was told is lost, nothing is sent that is not
/// on record, and when it is over runs are taken again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedService {
    /// Says no with a 503, and takes runs again by itself.
    Refuses,
    /// Says no from the first failure to its next start.
    RefusesUntilRestart,
    /// Does not start, with one line that says why.
    DoesNotStart,
    /// Says no, or ends; it can be started again.
    MayEnd,
    /// Goes on as if nothing were.
    GoesOn,
}

impl Fault {
    pub(super) fn meanwhile(self) -> ExpectedService {
        match self {
            // What is left may be enough for a while.
            Self::Full { .. } => ExpectedService::Refuses,
            Self::Sync { .. } => ExpectedService::RefusesUntilRestart,
            Self::ReadOnlyStart => ExpectedService::DoesNotStart,
            Self::Writes { .. } | Self::FileSize { .. } => ExpectedService::MayEnd,
            Self::Files { .. } | Self::Memory { .. } => ExpectedService::GoesOn,
        }
    }

    /// Whether the server must have said no at least once, or the trial has shown nothing.
    pub(super) fn must_bite(self) -> bool {
        match self {
            Self::Full { free } => free < 64 << 10,
            Self::Writes { .. } | Self::Sync { .. } | Self::FileSize { .. } => true,
            Self::ReadOnlyStart | Self::Files { .. } | Self::Memory { .. } => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { free } => write!(f, "full disk, {} KiB free", free >> 10),
            Self::Writes { error, from } => write!(f, "pwrite64 fails with {error} from call {from} on"),
            Self::Sync { nth } => write!(f, "fsync fails with EIO once, call {nth}"),
            Self::ReadOnlyStart => f.write_str("start on a read-only file system"),
            Self::FileSize { bytes } => write!(f, "prlimit --fsize, {} KiB", bytes >> 10),
            Self::Files { count } => write!(f, "prlimit --nofile={count}, 400 connections"),
            Self::Memory { bytes } => write!(f, "prlimit --as, {} MiB", bytes >> 20),
        }
    }
}

/// The cheap ones, for every test run.
pub const SHORT: &[Fault] = &[
    Fault::Full { free: 0 },
    Fault::Full { free: 48 << 10 },
    Fault::Writes { error: "ENOSPC", from: 60 },
    Fault::Sync { nth: 8 },
    Fault::ReadOnlyStart,
];

pub const LONG: &[Fault] = &[
    Fault::Full { free: 0 },
    Fault::Full { free: 4 << 10 },
    Fault::Full { free: 8 << 10 },
    Fault::Full { free: 16 << 10 },
    Fault::Full { free: 32 << 10 },
    Fault::Full { free: 64 << 10 },
    Fault::Full { free: 128 << 10 },
    Fault::Full { free: 256 << 10 },
    Fault::Full { free: 1 << 20 },
    Fault::Full { free: 4 << 20 },
    Fault::Writes { error: "ENOSPC", from: 25 },
    Fault::Writes { error: "ENOSPC", from: 60 },
    Fault::Writes { error: "ENOSPC", from: 150 },
    Fault::Writes { error: "EIO", from: 25 },
    Fault::Writes { error: "EIO", from: 60 },
    Fault::Writes { error: "EROFS", from: 60 },
    // The second is of the directory, which SQLite syncs for a new log and does not insist on.
    Fault::Sync { nth: 3 },
    Fault::Sync { nth: 5 },
    Fault::Sync { nth: 8 },
    Fault::Sync { nth: 13 },
    Fault::Sync { nth: 21 },
    Fault::ReadOnlyStart,
    Fault::FileSize { bytes: 200 << 10 },
    Fault::FileSize { bytes: 600 << 10 },
    Fault::Files { count: 256 },
    Fault::Memory { bytes: 1 << 30 },
];
