//! Runs programs: hooks that are commands and tools that are code, which are the operator's, and Helve itself for queries.
//!
//! A program gets no variable that is not listed and no shell reads its arguments. It runs in a process group of its own
//! under resource limits; when it ends, or the future that runs it is dropped, the whole group is killed. What it
//! writes is read within bounds. What the output means is the caller's business.

mod limits;
mod output;
mod running;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

pub use self::limits::ResourceLimits;
pub use self::output::LineReader;
use self::output::read_beginning;
use self::running::Running;

/// How much of what a program writes to its standard error is kept.
pub const STDERR_BYTES_MAX: usize = 4 << 10;

/// A program with everything that it is started with.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
    /// All of its environment.
    pub environment: Vec<(String, OsString)>,
    /// Where it runs; where the server runs if not given.
    pub directory: Option<PathBuf>,
    pub limits: ResourceLimits,
}

/// Names the variables only, since their values may be secret.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        let Self { path, arguments, directory, limits, .. } = self;
        f.debug_struct("Program")
            .field("path", path)
            .field("arguments", arguments)
            .field("environment", &names)
            .field("directory", directory)
            .field("limits", limits)
            .finish()
    }
}

/// How a program ended that was run to its end.
#[derive(Debug)]
pub struct ProgramEnd {
    pub status: ExitStatus,
    /// The beginning of what it wrote to its standard error.
    pub stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ProcessError<E> {
    /// Nothing of it has run.
    #[error("`{}` cannot be started: {source}", path.display())]
    Start { path: PathBuf, source: io::Error },

    /// It ran, and its output or its end could not be read.
    #[error("its output cannot be read: {0}")]
    Io(#[from] io::Error),

    /// The receiver of the output refused it.
    #[error("{0}")]
    Refused(E),
}

impl Program {
    /// Runs the program to its end: `input` on its standard input, every piece of its standard output to `take`. If
    /// `take` refuses a piece, or the future is dropped, the program is killed with all that it has started.
    pub async fn run<E>(
        &self,
        input: &[u8],
        take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<ProgramEnd, ProcessError<E>> {
        let mut running =
            self.start().map_err(|source| ProcessError::Start { path: self.path.clone(), source })?;
        let (stdin, stdout, stderr) =
            (running.child.stdin.take(), running.child.stdout.take(), running.child.stderr.take());
        let send = async {
            if let Some(mut stdin) = stdin {
                // A program may end without having read its input.
                _ = stdin.write_all(input).await;
            }
            Ok(())
        };
        let complaints = async {
            Ok(match stderr {
                Some(stderr) => read_beginning(stderr, STDERR_BYTES_MAX).await,
                None => String::new(),
            })
        };
        let output = async {
            match stdout {
                Some(stdout) => read(stdout, take).await,
                None => Ok(()),
            }
        };
        // A process that the program left behind may hold the pipes open for ever: the group is killed when the
        // program itself has ended, which closes them.
        let end = async { running.wait().await.map_err(ProcessError::Io) };
        let ((), (), stderr, status) = tokio::try_join!(send, output, complaints, end)?;
        Ok(ProgramEnd { status, stderr })
    }

    fn start(&self) -> io::Result<Running> {
        let mut command = Command::new(&self.path);
        #[cfg(unix)]
        command.process_group(0);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let child = command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let running = Running::new(child);
        // A program without its limits is not left running: dropping `running` kills it.
        self.limits.apply(&running)?;
        Ok(running)
    }
}

async fn read<E>(
    mut output: impl AsyncRead + Unpin,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), ProcessError<E>> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        match output.read(&mut buffer).await? {
            0 => return Ok(()),
            count => take(&buffer[..count]).map_err(ProcessError::Refused)?,
        }
    }
}
