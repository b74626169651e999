//! What a program may use up, held by the kernel.

use std::io;

use crate::running::Running;

/// Bounds on a program and, each for itself, on what it starts. None of them is set where there is no value.
///
/// They are set on Linux only; elsewhere a program is bounded in time and output alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceLimits {
    /// Memory that the program writes to, in bytes. Address space that is only reserved does not count, since language
    /// runtimes reserve gigabytes of it.
    pub memory_bytes: Option<u64>,
    pub cpu_seconds: Option<u64>,
    /// The largest file that the program can write, in bytes.
    pub file_bytes: Option<u64>,
    pub open_files: Option<u64>,
}

impl ResourceLimits {
    #[cfg(target_os = "linux")]
    pub(crate) fn apply(&self, running: &Running) -> io::Result<()> {
        use rustix::process::{Resource, Rlimit, prlimit};

        let limits = [
            (Resource::Data, self.memory_bytes),
            (Resource::Cpu, self.cpu_seconds),
            (Resource::Fsize, self.file_bytes),
            (Resource::Nofile, self.open_files),
            // A core dump may hold what the program was told.
            (Resource::Core, Some(0)),
        ];
        let limits = limits.into_iter().filter_map(|(resource, limit)| Some((resource, limit?)));
        for (resource, limit) in limits {
            let rlimit = Rlimit { current: Some(limit), maximum: Some(limit) };
            match prlimit(running.pid(), resource, rlimit) {
                // It has ended already, which its status tells.
                Ok(_) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn apply(&self, _running: &Running) -> io::Result<()> {
        Ok(())
    }
}
