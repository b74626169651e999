//! Disks that are full, broken or not to be written, and kills at the boundary of a system call.
//!
//! `fault` is the list of what can be wrong with a disk and what must come of it; `trial` lets one guest talk to a server
//! while it is, and judges disk, ledger and guest afterwards with the same rules as everywhere. `syscalls` kills the
//! server at the nth call of a kind. `tools` are the programs of the system that do it: strace, unshare, mount, prlimit.

mod fault;
mod http_client;
mod syscalls;
mod tools;
mod trial;

pub use self::fault::{Fault, LONG, SHORT};
pub use self::syscalls::{CALLS, SyscallPlan, SyscallReport};
pub use self::tools::{missing_disk_tools, missing_strace, unshare_prefix};
pub use self::trial::{DiskTrial, TrialReport};
