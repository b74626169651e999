//! What the process asks of the system for itself: no core dumps, and enough open files.

use crate::config::Config;

/// So many open files are asked for where the system sets no bound.
const FILES_MAX: u64 = 1 << 20;
/// macOS says that there is no bound, and takes no more than this.
const FILES_OF_MACOS: u64 = 10_240;
/// Open files that are not for connections: the database, what goes out, files, children. A quarter of all, but so many.
const RESERVE_MIN: u64 = 96;

/// Keeps secrets out of core dumps, and other processes of the same user out of the memory.
pub(crate) fn keep_memory_private() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        if let Err(error) = setrlimit(Resource::Core, none) {
            tracing::warn!(%error, "core dumps not disabled");
        }
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Dumps that are piped to a program are made whatever the limit is, but not of such a process.
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "process memory not protected from debuggers");
        }
    }
}

/// Raises the bound on open files as far as the system lets it, and gives what it is then.
pub(crate) fn raise_file_limit() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let found = getrlimit(Resource::Nofile);
        let wanted = found.maximum.unwrap_or(FILES_MAX).min(FILES_MAX);
        for files in [wanted, FILES_OF_MACOS.min(wanted)] {
            if found.current.is_some_and(|current| current >= files) {
                return found.current;
            }
            let more = Rlimit { current: Some(files), maximum: found.maximum };
            if setrlimit(Resource::Nofile, more).is_ok() {
                return Some(files);
            }
        }
        found.current
    }
    #[cfg(not(unix))]
    None
}

/// How many connections fit into the bound on open files, besides what else needs them.
fn connections_within(files: u64) -> usize {
    let reserve = (files / 4).max(RESERVE_MIN).min(files / 2);
    usize::try_from(files - reserve).unwrap_or(usize::MAX)
}

/// Lowers the bound on connections to what the open files allow.
pub(crate) fn fit_connections(config: &mut Config) {
    let Some(files) = raise_file_limit() else { return };
    let fitting = connections_within(files);
    let connections_max = &mut config.limits.server.connections_max;
    if fitting < *connections_max {
        tracing::warn!(
            files,
            connections = fitting,
            wanted = *connections_max,
            "connections are bounded by the open files that the system allows; raise that bound (LimitNOFILE, ulimit -n) \
             for more"
        );
        *connections_max = fitting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_everything_else() {
        for (files, connections) in [(64, 32), (256, 160), (1_024, 768), (65_536, 49_152), (0, 0)] {
            assert_eq!(connections_within(files), connections, "{files}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_bound_on_open_files_is_raised_as_far_as_it_goes() {
        use rustix::process::{Resource, getrlimit};
        let raised = raise_file_limit().unwrap();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, Some(raised));
        assert_eq!(raised, now.maximum.unwrap_or(FILES_MAX).min(FILES_MAX).max(raised));
    }
}
