//! A hook that is a command: the question on its standard input, the answer on its standard output.
//!
//! No shell reads it, and it gets no variable that is not listed. It runs in a process group of its own; if it takes too
//! long, says too much or its call is given up, the whole group is killed.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;

use helve_tool::HookError;
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::ANSWER_BYTES_MAX;

/// How much of what it complains about is logged.
const COMPLAINT_BYTES_MAX: usize = 500;

#[derive(Clone, PartialEq, Eq)]
pub struct CommandHook {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, OsString)>,
}

/// Names the variables; what is in them may be secret.
impl fmt::Debug for CommandHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        let Self { program, arguments, .. } = self;
        f.debug_struct("CommandHook")
            .field("program", program)
            .field("arguments", arguments)
            .field("environment", &names)
            .finish()
    }
}

impl CommandHook {
    pub(super) async fn exchange(&self, question: Vec<u8>) -> Result<Vec<u8>, HookError> {
        let mut running = self.start()?;
        let (Some(mut input), Some(output), Some(complaints)) =
            (running.child.stdin.take(), running.child.stdout.take(), running.child.stderr.take())
        else {
            return Err(HookError("it has no input or output".into()));
        };
        let ask = async move {
            // It may answer without having read everything, or anything.
            _ = input.write_all(&question).await;
            Ok(())
        };
        let complain = async { Ok(beginning(complaints).await) };
        let ((), answer, complaint) = tokio::try_join!(ask, within(output, ANSWER_BYTES_MAX), complain)?;
        let status = running.child.wait().await.map_err(|error| HookError(error.to_string()))?;
        running.ended();
        if !status.success() {
            return Err(HookError(format!("it ended with {status}: {}", complaint.trim())));
        }
        Ok(answer)
    }

    fn start(&self) -> Result<Running, HookError> {
        let mut command = Command::new(&self.program);
        #[cfg(unix)]
        command.process_group(0);
        let child = command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| HookError(format!("`{}` cannot be started: {error}", self.program.display())))?;
        Ok(Running::new(child))
    }
}

/// A command at work. Dropped before its end, it is killed with all that it has started.
struct Running {
    child: Child,
    #[cfg(unix)]
    group: Option<Pid>,
}

impl Running {
    fn new(child: Child) -> Self {
        Self {
            #[cfg(unix)]
            group: child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)),
            child,
        }
    }

    /// From now on its number may be another's.
    fn ended(&mut self) {
        #[cfg(unix)]
        {
            self.group = None;
        }
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
async fn within(output: impl AsyncRead + Unpin, bytes_max: usize) -> Result<Vec<u8>, HookError> {
    let mut answer = vec![];
    let mut output = output.take(bytes_max as u64 + 1);
    output.read_to_end(&mut answer).await.map_err(|error| HookError(error.to_string()))?;
    if answer.len() > bytes_max {
        return Err(HookError(format!("its answer is larger than {bytes_max} bytes")));
    }
    Ok(answer)
}

/// The beginning of it; the rest is read too, so that nobody waits to be heard.
async fn beginning(mut output: impl AsyncRead + Unpin) -> String {
    let mut kept = vec![];
    let mut buffer = [0; 4 << 10];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        let room = COMPLAINT_BYTES_MAX.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
