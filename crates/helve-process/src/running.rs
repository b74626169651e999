//! A program at work, which does not outlive its owner.

use std::io;
use std::process::ExitStatus;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// A started program. Dropped before its end, it is killed with all that it has started.
pub(crate) struct Running {
    pub(crate) child: Child,
    #[cfg(unix)]
    group: Option<Pid>,
}

impl Running {
    pub(crate) fn new(child: Child) -> Self {
        Self {
            #[cfg(unix)]
            group: child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)),
            child,
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn pid(&self) -> Option<Pid> {
        self.group
    }

    /// Waits for the end of the program itself, then kills what it has left behind.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.kill_group();
        status
    }

    #[cfg(unix)]
    fn kill_group(&mut self) {
        // After this the number may be another's, so it is used once.
        if let Some(group) = self.group.take() {
            // A group without members is gone already.
            _ = kill_process_group(group, Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn kill_group(&mut self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
    }
}
