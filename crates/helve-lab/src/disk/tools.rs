//! The system's own programs that break things: found, or asked for by name.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::drive::ServerCommand;

/// What this machine lacks for kills at system calls, in a line for whoever wants them.
pub fn missing_strace() -> Option<String> {
    let tried = ["-f", "-qq", "-o", "/dev/null", "true"];
    (!works("strace", &tried)).then(|| {
        "strace is not there, or may not trace: install Debian's package `strace`, on a machine that allows ptrace".into()
    })
}

/// What this machine lacks for broken disks.
pub fn missing_disk_tools() -> Option<String> {
    if let Some(line) = missing_strace() {
        return Some(line);
    }
    let line = unshare_prefix();
    let (program, rest) = line.split_first()?;
    let arguments = [rest, &["mount", "-t", "tmpfs", "tmpfs", "/mnt"]].concat();
    (!works(program, &arguments)).then(|| {
        "small disks need mounts of one's own: be root, or allow user namespaces (`unshare -Urm`)".into()
    })
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
}

/// How a program is started so that what it mounts is its own.
pub fn unshare_prefix() -> Vec<&'static str> {
    let is_root = rustix::process::geteuid().is_root();
    if is_root { vec!["unshare", "-m"] } else { vec!["unshare", "-Urm"] }
}

/// A server whose calls are meddled with, as strace says it: `fsync:error=EIO:when=3`.
pub(super) fn with_syscall_fault(command: &ServerCommand, call: &str, meddling: &str) -> ServerCommand {
    // The tracer stands aside, so that the process is the one that was started. All calls stop there, which is slow:
    // with `--seccomp-bpf` only these would, but then `when` does not count.
    let strace = ["-D", "-f", "-qq", "-o", "/dev/null", "-e"];
    let mut arguments: Vec<OsString> = strace.map(OsString::from).to_vec();
    arguments.push(format!("trace={call}").into());
    arguments.extend(["-e".into(), format!("inject={call}:{meddling}").into()]);
    with_prefix("strace", arguments, command)
}

/// A server with less of something, as prlimit says it: `--nofile=256`.
pub(super) fn with_limit(command: &ServerCommand, limit: &str) -> ServerCommand {
    with_prefix("prlimit", vec![limit.into()], command)
}

fn with_prefix(program: &str, mut arguments: Vec<OsString>, command: &ServerCommand) -> ServerCommand {
    arguments.push(command.program.clone().into());
    arguments.extend(command.arguments.iter().cloned());
    ServerCommand { program: program.into(), arguments }
}

/// A small disk of its own at this directory.
pub(super) fn mount(at: &Path, size: &str) -> anyhow::Result<Mount> {
    std::fs::create_dir_all(at)?;
    run("mount", &["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"], at)?;
    Ok(Mount { at: at.to_owned() })
}

/// Let go of when this is dropped.
pub(super) struct Mount {
    at: std::path::PathBuf,
}

impl Mount {
    pub(super) fn make_read_only(&self) -> anyhow::Result<()> {
        run("mount", &["-o", "remount,ro"], &self.at)
    }

    /// Leaves so many bytes free; the file that takes the rest.
    pub(super) fn fill(&self, free: u64) -> anyhow::Result<DiskFiller> {
        let path = self.at.join("filler");
        let file = File::create(&path)?;
        let held = rustix::fs::statvfs(&self.at)?;
        let taken = (held.f_bavail * held.f_frsize).saturating_sub(free);
        if taken > 0 {
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, taken)?;
        }
        Ok(DiskFiller { path })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        _ = run("umount", &["-l"], &self.at);
    }
}

/// Makes room when it is dropped.
pub(super) struct DiskFiller {
    path: std::path::PathBuf,
}

impl Drop for DiskFiller {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
    }
}

fn run(program: &str, arguments: &[&str], at: &Path) -> anyhow::Result<()> {
    let done = Command::new(program)
        .args(arguments)
        .arg(at)
        .output()
        .with_context(|| format!("`{program}` cannot be started"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{program} {arguments:?} {}: {}", at.display(), said.trim());
    Ok(())
}
