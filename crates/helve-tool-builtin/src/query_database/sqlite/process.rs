//! The process of one query, as the server sees it: started, given an order, heard, and always ended.
//!
//! It gets nothing of the server's environment but the time zone. Whatever becomes of it is an answer or a `ProcessEnd`; the server goes on. It
//! sets its limits itself (`confine`), before it opens anything.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use helve_process::{ProcessError, Program, ResourceLimits};

/// How much of what it complains about is told.
const COMPLAINT_CHARS_MAX: usize = 500;

/// The program that asks SQLite, in a process of its own for each query.
#[derive(Debug, Clone)]
pub struct QueryWorker(Program);

/// How a process ended that did not answer.
#[derive(Debug)]
pub(super) enum ProcessEnd {
    NotStarted(io::Error),
    TimedOut,
    TooMuch,
    Unheard(io::Error),
    Ended { status: ExitStatus, complaint: String },
}

/// For a sentence that begins with `its process`.
impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(error) => write!(f, "cannot be started: {error}"),
            Self::TimedOut => f.write_str("did not answer in time and was killed"),
            Self::TooMuch => f.write_str("gave a larger answer than it may and was killed"),
            Self::Unheard(error) => write!(f, "cannot be heard: {error}"),
            Self::Ended { status, complaint } if complaint.is_empty() => write!(f, "ended with {status}"),
            Self::Ended { status, complaint } => write!(f, "ended with {status}: {complaint}"),
        }
    }
}

impl QueryWorker {
    /// A program that does nothing with these arguments but [`run_query_worker`](crate::run_query_worker).
    pub fn new<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        // What `localtime` means in a statement.
        let zone = std::env::var_os("TZ").map(|zone| ("TZ".into(), zone));
        // The binary's allocator would set a gigabyte of addresses aside, which would count as memory in use.
        let small = ("MIMALLOC_ARENA_RESERVE".into(), "0".into());
        Self(Program {
            path: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: zone.into_iter().chain([small]).collect(),
            directory: None,
            limits: ResourceLimits::default(),
        })
    }

    /// The program that runs now, which understands these arguments.
    pub fn current_program<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> Self {
        // This names the file that was started, also when an upgrade has put another in its place.
        let itself = PathBuf::from("/proc/self/exe");
        let program = if itself.exists() { Ok(itself) } else { std::env::current_exe() };
        Self::new(program.unwrap_or_else(|_| "helve".into()), arguments)
    }

    /// What a process answers to an order.
    pub(super) async fn run_worker(
        &self,
        order: &[u8],
        bytes_max: usize,
        time_max: Duration,
    ) -> Result<Vec<u8>, ProcessEnd> {
        let mut answer = vec![];
        let take = |piece: &[u8]| {
            answer.extend_from_slice(piece);
            if answer.len() > bytes_max { Err(ProcessEnd::TooMuch) } else { Ok(()) }
        };
        // Dropped at the end of its time, it is killed with all that it has started.
        let ended = match tokio::time::timeout(time_max, self.0.run(order, take)).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(ProcessError::Start { source, .. })) => return Err(ProcessEnd::NotStarted(source)),
            Ok(Err(ProcessError::Io(error))) => return Err(ProcessEnd::Unheard(error)),
            Ok(Err(ProcessError::Refused(death))) => return Err(death),
            Err(_) => return Err(ProcessEnd::TimedOut),
        };
        if ended.status.success() {
            return Ok(answer);
        }
        if is_out_of_time(ended.status) {
            return Err(ProcessEnd::TimedOut);
        }
        let words = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let complaint = words.chars().take(COMPLAINT_CHARS_MAX).collect();
        Err(ProcessEnd::Ended { status: ended.status, complaint })
    }
}

/// Whether the kernel ended it because it had worked for as long as it may.
#[cfg(unix)]
fn is_out_of_time(status: ExitStatus) -> bool {
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    signal == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(unix))]
fn is_out_of_time(_: ExitStatus) -> bool {
    false
}
