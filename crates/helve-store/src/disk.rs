//! What is known of the space on the disk that everything is kept on.
//!
//! The watcher of the data directory records measurements here; admission asks here first. Nothing is known until it
//! has measured, and then nothing is refused.

use std::sync::{Mutex, MutexGuard, PoisonError};

const MIB: u64 = 1 << 20;

/// How much must be free for anything to be begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FreeMin {
    /// The greater of 256 MiB and a twentieth of the disk.
    #[default]
    Usual,
    Bytes(u64),
    Percent(u8),
}

impl FreeMin {
    /// On a disk of this size.
    pub fn bytes(self, total: u64) -> u64 {
        let percent = |percent: u8| total / 100 * u64::from(percent);
        match self {
            Self::Usual => percent(5).max(256 * MIB),
            Self::Bytes(bytes) => bytes,
            Self::Percent(share) => percent(share),
        }
    }
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// What this process may use.
    pub free: u64,
    pub total: u64,
}

/// The disk at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskStatus {
    pub space: DiskSpace,
    /// What must be free for anything to be begun.
    pub free_min: u64,
    /// Nothing new is begun.
    pub low: bool,
}

#[derive(Debug, Default)]
pub struct Disk {
    min: FreeMin,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    space: Option<DiskSpace>,
    /// Something could not be written because the disk was full, and there was none since.
    full: bool,
}

impl Disk {
    pub fn new(min: FreeMin) -> Self {
        Self { min, known: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a measurement of the disk.
    pub fn record_space(&self, space: DiskSpace) {
        let mut known = self.lock();
        known.space = Some(space);
        known.full &= space.free < self.min.bytes(space.total);
    }

    /// Something could not be written because the disk was full.
    pub fn record_out_of_space(&self) {
        self.lock().full = true;
    }

    /// Whether there is too little space for anything to be begun.
    pub fn is_low(&self) -> bool {
        let known = self.lock();
        known.full || known.space.is_some_and(|space| space.free < self.min.bytes(space.total))
    }

    /// The last measurement; none before the first.
    pub fn status(&self) -> Option<DiskStatus> {
        let space = self.lock().space?;
        Some(DiskStatus { space, free_min: self.min.bytes(space.total), low: self.is_low() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn what_must_be_free_hangs_on_the_size_of_the_disk_unless_it_is_said() {
        for (min, total, bytes) in [
            (FreeMin::Usual, GIB, 256 * MIB),
            (FreeMin::Usual, 100 * GIB, GIB * 100 / 100 * 5),
            (FreeMin::Bytes(7), 100 * GIB, 7),
            (FreeMin::Percent(10), 100, 10),
            (FreeMin::Percent(10), 0, 0),
        ] {
            assert_eq!(min.bytes(total), bytes, "{min:?} of {total}");
        }
    }

    #[test]
    fn a_disk_is_low_below_the_bound_and_not_at_it() {
        let disk = Disk::new(FreeMin::Bytes(100));
        assert!(!disk.is_low(), "nobody knows better");
        for (free, low) in [(100, false), (99, true), (0, true), (100, false)] {
            disk.record_space(DiskSpace { free, total: 1_000 });
            assert_eq!(disk.is_low(), low, "{free}");
        }
        assert_eq!(disk.status().unwrap().free_min, 100);
    }

    #[test]
    fn a_disk_that_ran_out_is_low_until_there_is_room_again() {
        let disk = Disk::new(FreeMin::Bytes(100));
        disk.record_out_of_space();
        assert!(disk.is_low());
        disk.record_space(DiskSpace { free: 50, total: 1_000 });
        disk.record_space(DiskSpace { free: 99, total: 1_000 });
        assert!(disk.is_low());
        disk.record_space(DiskSpace { free: 100, total: 1_000 });
        assert!(!disk.is_low());
    }
}
