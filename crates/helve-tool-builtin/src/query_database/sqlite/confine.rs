//! What the process of a query may have: limits that the kernel keeps, whatever happens to SQLite.
//!
//! They come in two steps, because SQLite has to open the file and, for a database in WAL mode, may have to make the
//! file of its index. When the database is open and its read transaction has begun, no file can be opened, created or
//! made longer any more, and no socket either.

use std::io;
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Resource, Rlimit, setrlimit};

/// Beyond what the process has when it starts. SQLite's own limit is below, so that it can say so itself.
#[cfg(target_os = "linux")]
const MEMORY_BYTES: u64 = 256 << 20;
/// The database, its journal or its WAL and the index of that, and the time zone.
#[cfg(unix)]
const FILES: u64 = 16;
/// The index of a WAL is the only file that may be written, while the database is opened.
#[cfg(unix)]
const FILE_BYTES: u64 = 4 << 20;

/// Before anything is opened.
pub(super) fn confine_process() -> io::Result<()> {
    #[cfg(unix)]
    {
        lower_limit(Resource::Core, 0)?;
        lower_limit(Resource::Fsize, FILE_BYTES)?;
        lower_limit(Resource::Nofile, FILES)?;
    }
    #[cfg(target_os = "linux")]
    {
        lower_limit(Resource::As, memory_in_use()?.saturating_add(MEMORY_BYTES))?;
        lower_limit(Resource::Nproc, 0)?;
        rustix::thread::set_no_new_privs(true)?;
        // A handler of core dumps may disregard the limit.
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    Ok(())
}

/// More than the query may take, since it looks at the clock itself between its steps.
pub(super) fn limit_time(timeout: Duration) -> io::Result<()> {
    #[cfg(unix)]
    {
        let seconds = timeout.as_secs().saturating_add(1);
        // First the signal that says so, which `process` tells from others, then the one that nothing survives.
        set_limits(Resource::Cpu, seconds, seconds.saturating_add(1))?;
    }
    #[cfg(not(unix))]
    let _ = timeout;
    Ok(())
}

/// When the database is open: what is open stays open, and nothing else is.
pub(super) fn confine_after_open() -> io::Result<()> {
    #[cfg(unix)]
    {
        lower_limit(Resource::Fsize, 0)?;
        lower_limit(Resource::Nofile, 0)?;
    }
    Ok(())
}

#[cfg(unix)]
fn lower_limit(resource: Resource, most: u64) -> io::Result<()> {
    set_limits(resource, most, most)
}

#[cfg(unix)]
fn set_limits(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    // What was set already from outside may be less, and cannot be raised.
    let held = rustix::process::getrlimit(resource).maximum;
    let hard = held.map_or(hard, |held| held.min(hard));
    Ok(setrlimit(resource, Rlimit { current: Some(soft.min(hard)), maximum: Some(hard) })?)
}

#[cfg(target_os = "linux")]
fn memory_in_use() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix("kB"));
    let kib: u64 = size
        .and_then(|size| size.trim().parse().ok())
        .ok_or_else(|| io::Error::other("/proc/self/status does not tell how much memory the process has"))?;
    Ok(kib.saturating_mul(1024))
}
