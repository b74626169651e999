//! Which interrupted runs may be at work side by side again, given how often the server ended while they were.
//!
//! A crash says nothing about which of the runs at work has caused it. So the first time all go on together; a run that
//! was at work in the same step at two crashes goes on alone, until that step is done: should the server end once more,
//! it was this run, and it is not tried again by itself. At each start at most one run is tried so, and only the one that
//! ends the server comes to its third crash.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// A run that was at work in the same step at so many crashes is not resumed automatically.
pub(super) const CRASHES_MAX: u32 = 3;

/// Keeps resumed runs apart, as far as need be.
#[derive(Default)]
pub(super) struct ResumeLocks {
    gate: Arc<RwLock<()>>,
}

/// Leave to go on with a run that was interrupted. It ends with the step in which the run was.
pub(crate) struct ResumeLock {
    _held: ResumeGuard,
}

enum ResumeGuard {
    /// Others go on as well.
    Beside(#[expect(dead_code, reason = "held, not read")] OwnedRwLockReadGuard<()>),
    Alone(#[expect(dead_code, reason = "held, not read")] OwnedRwLockWriteGuard<()>),
    /// It does not go on, so no other run waits for it, nor it for another.
    Nothing,
}

impl ResumeLocks {
    /// Waits until a run may go on that was at work at so many crashes in its present step. Who came first goes first.
    pub(super) async fn lock_for_resume(&self, crashes: u32) -> ResumeLock {
        let held = match crashes {
            0 | 1 => ResumeGuard::Beside(self.gate.clone().read_owned().await),
            _ if crashes < CRASHES_MAX => ResumeGuard::Alone(self.gate.clone().write_owned().await),
            _ => ResumeGuard::Nothing,
        };
        ResumeLock { _held: held }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn runs_that_were_in_one_crash_go_on_together_and_one_that_was_in_two_goes_on_alone() {
        let resume_locks = ResumeLocks::default();
        let (first, second) = (resume_locks.lock_for_resume(0).await, resume_locks.lock_for_resume(1).await);
        let mut suspect = Box::pin(resume_locks.lock_for_resume(2));
        assert!(suspect.as_mut().now_or_never().is_none(), "two others are at work");
        drop(first);
        assert!(suspect.as_mut().now_or_never().is_none(), "one other is at work");
        drop(second);
        let alone = suspect.await;
        for crashes in [0, 1, 2] {
            assert!(resume_locks.lock_for_resume(crashes).now_or_never().is_none(), "one is tried");
        }
        drop(alone);
        assert!(resume_locks.lock_for_resume(0).now_or_never().is_some());
    }

    #[tokio::test]
    async fn one_that_is_not_tried_again_waits_for_nobody() {
        let resume_locks = ResumeLocks::default();
        let _alone = resume_locks.lock_for_resume(2).await;
        for crashes in [3, 4, u32::MAX] {
            assert!(resume_locks.lock_for_resume(crashes).now_or_never().is_some());
        }
    }
}
