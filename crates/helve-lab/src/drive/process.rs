//! The server under test as a process: started, awaited, killed, and never left behind.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::labels::{self, CrashPoint};
use crate::mutants::Mutant;

/// How the lab's server is started: a program, and arguments before its own.
#[derive(Debug, Clone)]
pub struct ServerCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

/// What the process is started with.
pub(crate) struct Start<'a> {
    pub(crate) command: &'a ServerCommand,
    pub(crate) config: &'a Path,
    pub(crate) ledger: &'a str,
    pub(crate) crash_at: Option<CrashPoint>,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) wording: u32,
    pub(crate) with_stale_writer: bool,
    pub(crate) days_ahead: u32,
    pub(crate) log: &'a Path,
}

pub(crate) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Not left to `child`, which closes it as soon as it is waited for.
    _stdin: Option<ChildStdin>,
}

/// How long a start may take on a machine that is busy with other things.
const START_MAX: Duration = Duration::from_secs(30);

impl Process {
    pub(crate) fn spawn(start: &Start<'_>) -> anyhow::Result<Self> {
        let log = OpenOptions::new().create(true).append(true).open(start.log)?;
        let mut command = Command::new(&start.command.program);
        command
            .args(&start.command.arguments)
            .arg("--end-with-stdin")
            .arg("--config")
            .arg(start.config)
            .args(["--ledger", start.ledger])
            .args(["--wording", &start.wording.to_string()])
            .args(["--days-ahead", &start.days_ahead.to_string()])
            // Its other end closes however this process ends, and the server with it.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        if start.with_stale_writer {
            command.arg("--with-stale-writer");
        }
        if let Some(point) = start.crash_at {
            command.args(["--crash-at", &point.to_string()]);
        }
        if let Some(mutant) = start.mutant {
            command.args(["--mutant", mutant.name()]);
        }
        let mut child =
            command.spawn().with_context(|| format!("cannot start `{}`", start.command.program.display()))?;
        let stdout = child.stdout.take().context("the server has no standard output")?;
        let _stdin = child.stdin.take();
        Ok(Self { child, lines: BufReader::new(stdout).lines(), _stdin })
    }

    /// None once it is dead.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Where it listens, once it takes requests; none if it died before.
    pub(crate) async fn ready(&mut self) -> anyhow::Result<Option<String>> {
        let listening = async {
            while let Some(line) = self.lines.next_line().await? {
                if let Some(base) = line.strip_prefix("listening on ") {
                    return Ok(Some(base.to_owned()));
                }
            }
            Ok(None)
        };
        tokio::time::timeout(START_MAX, listening).await.context("the server does not come up")?
    }

    /// Waits for its death, but not for ever; false if it lives.
    pub(crate) async fn dies_within(&mut self, patience: Duration) -> anyhow::Result<bool> {
        match tokio::time::timeout(patience, self.child.wait()).await {
            Ok(died) => died.map(|_| true).context("the server cannot be waited for"),
            Err(_) => Ok(false),
        }
    }

    /// SIGKILL, and its end.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("the server cannot be killed")
    }

    /// SIGTERM; it may be gone already.
    pub(crate) fn terminate(&self) {
        if let Some(pid) = self.pid() {
            labels::terminate(pid);
        }
    }

    /// How it ended, if it did so by itself.
    pub(crate) fn killed_by_signal(&mut self) -> Option<bool> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.try_wait().ok().flatten()?;
        Some(status.signal().is_some())
    }
}
