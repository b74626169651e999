//! What a process takes up of the machine, as the kernel tells it.

use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    pub rss_kib: u64,
    pub files: u64,
    pub threads: u64,
}

impl Footprint {
    pub fn measure(pid: u32) -> std::io::Result<Self> {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let status = std::fs::read_to_string(proc.join("status"))?;
        let files = std::fs::read_dir(proc.join("fd"))?.count() as u64;
        Ok(Self { rss_kib: number(&status, "VmRSS:"), files, threads: number(&status, "Threads:") })
    }
}

fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_files_and_threads() {
        let mine = Footprint::measure(std::process::id()).unwrap();
        assert!(mine.rss_kib > 0 && mine.files > 0 && mine.threads > 0, "{mine:?}");
    }
}
