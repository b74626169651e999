//! The process of one query, as the server sees it: started, given an order, heard, and always ended.
//!
//! It gets no environment but the time zone, and no descriptor but its three pipes. Whatever becomes of it is an answer
//! or a `Death`; the server goes on. Dropped before its end, its whole process group is killed.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// How much of what it complains about is kept.
const COMPLAINT_BYTES_MAX: usize = 500;

/// The program that asks SQLite, in a process of its own for each query.
#[derive(Debug, Clone)]
pub struct QueryWorker {
    program: PathBuf,
    arguments: Vec<OsString>,
}

/// How a process ended that did not answer.
#[derive(Debug)]
pub(super) enum Death {
    NotStarted(io::Error),
    TimedOut,
    TooMuch,
    Ended { status: ExitStatus, complaint: String },
}

/// For a sentence that begins with `its process`.
impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(error) => write!(f, "cannot be started: {error}"),
            Self::TimedOut => f.write_str("did not answer in time and was killed"),
            Self::TooMuch => f.write_str("gave a larger answer than it may and was killed"),
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
        Self { program: program.into(), arguments: arguments.into_iter().map(Into::into).collect() }
    }

    /// The program that runs now, which understands these arguments.
    pub fn of_this_program<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> Self {
        // This names the file that was started, also when an upgrade has put another in its place.
        let itself = PathBuf::from("/proc/self/exe");
        let program = if itself.exists() { Ok(itself) } else { std::env::current_exe() };
        Self::new(program.unwrap_or_else(|_| "helve".into()), arguments)
    }

    /// What a process answers to an order.
    pub(super) async fn ask(
        &self,
        order: &[u8],
        bytes_max: u64,
        time_max: Duration,
    ) -> Result<Vec<u8>, Death> {
        let mut running = Running::start(self).map_err(Death::NotStarted)?;
        let answer = tokio::time::timeout(time_max, running.exchange(order, bytes_max)).await;
        answer.unwrap_or(Err(Death::TimedOut))
    }
}

struct Running {
    child: Child,
    #[cfg(unix)]
    group: Option<Pid>,
}

impl Running {
    fn start(worker: &QueryWorker) -> io::Result<Self> {
        let mut command = Command::new(&worker.program);
        #[cfg(unix)]
        command.process_group(0).arg0("helve");
        command.args(&worker.arguments).env_clear();
        // What `localtime` means in a statement.
        command.envs(std::env::var_os("TZ").map(|zone| ("TZ", zone)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let child = command.spawn()?;
        Ok(Self {
            #[cfg(unix)]
            group: child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)),
            child,
        })
    }

    async fn exchange(&mut self, order: &[u8], bytes_max: u64) -> Result<Vec<u8>, Death> {
        let (Some(mut input), Some(output), Some(complaints)) =
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
        else {
            return Err(Death::NotStarted(io::Error::other("it has no pipes")));
        };
        let ask = async move {
            // It may end without having read everything, or anything.
            _ = input.write_all(order).await;
            Ok(())
        };
        let complain = async { Ok(beginning(complaints).await) };
        let ((), answer, complaint) = tokio::try_join!(ask, within(output, bytes_max), complain)?;
        let status = self.child.wait().await.map_err(Death::NotStarted)?;
        // From now on its number may be another's.
        #[cfg(unix)]
        {
            self.group = None;
        }
        #[cfg(unix)]
        if std::os::unix::process::ExitStatusExt::signal(&status) == Some(Signal::XCPU.as_raw()) {
            return Err(Death::TimedOut);
        }
        if status.success() { Ok(answer) } else { Err(Death::Ended { status, complaint }) }
    }
}

#[cfg(unix)]
impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // It may be gone already, which is what was wanted.
            _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// All of it, if it is not too much.
async fn within(output: impl AsyncRead + Unpin, bytes_max: u64) -> Result<Vec<u8>, Death> {
    let mut answer = vec![];
    // What cannot be read to the end is cut off, and so no answer.
    _ = output.take(bytes_max.saturating_add(1)).read_to_end(&mut answer).await;
    if answer.len() as u64 > bytes_max { Err(Death::TooMuch) } else { Ok(answer) }
}

/// The beginning of it, on one line; the rest is read too, so that nobody waits to be heard.
async fn beginning(mut output: impl AsyncRead + Unpin) -> String {
    let mut kept = vec![];
    let mut buffer = [0; 4 << 10];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        let room = COMPLAINT_BYTES_MAX.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
    String::from_utf8_lossy(&kept).split_whitespace().collect::<Vec<_>>().join(" ")
}
