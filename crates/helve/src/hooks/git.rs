//! A hook that keeps a snapshot of a git work tree, as a commit under `refs/helve/`.
//!
//! It writes objects and refs of its own and nothing else: files are added to a temporary copy of the index, so index,
//! HEAD, branches and work tree stay as they are. The repository may be in reach of tools, so what its configuration
//! could start (filters, hooks, the file system monitor) is switched off for these processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use helve_process::{ProcessError, Program, ResourceLimits};
use helve_tool::{Hook, HookError, HookFuture, HookQuestion, HookReply};
use helve_types::{SnapshotId, StepEdge};

/// How much of the output of one git process is read: names of refs and of filters.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// How much of a complaint is logged.
const COMPLAINT_BYTES_MAX: usize = 500;
/// What a repository may not decide for these processes.
const OVERRIDES: [(&str, &str); 7] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.safecrlf", "false"),
    ("core.logAllRefUpdates", "false"),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSnapshots {
    pub program: PathBuf,
    /// The top directory of the work tree.
    pub directory: PathBuf,
    /// So many snapshots of a run are kept; older ones lose their refs.
    pub kept_max: usize,
}

impl Hook for GitSnapshots {
    fn before_step<'a>(&'a self, step: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        Box::pin(async { self.take(step, StepEdge::Before).await.map(HookReply::Change) })
    }

    fn after_step<'a>(&'a self, step: &'a HookQuestion<'a>) -> HookFuture<'a, SnapshotId> {
        Box::pin(async { self.take(step, StepEdge::After).await.map(HookReply::Change) })
    }
}

impl GitSnapshots {
    async fn take(&self, step: &HookQuestion<'_>, edge: StepEdge) -> Result<SnapshotId, HookError> {
        let scratch = tempfile::tempdir().map_err(failed)?;
        let mut git = Git::new(self, scratch.path());
        let git_dir = PathBuf::from(git.run(&["rev-parse", "--absolute-git-dir"]).await?);
        git.switch_filters_off().await?;
        // The copy knows which files are tracked and which have not changed since they were read.
        match tokio::fs::copy(git_dir.join("index"), &git.index).await {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        git.run(&["add", "--all"]).await?;
        let tree = git.run(&["write-tree"]).await?;
        let head = git.answer(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await?;
        let edge = if edge == StepEdge::Before { "before" } else { "after" };
        let message = format!("helve: {edge} step {} of run {}", step.step, step.run);
        let mut commit = vec!["commit-tree", "--no-gpg-sign", "-m", &message];
        if let Some(head) = &head {
            commit.extend(["-p", head]);
        }
        commit.push(&tree);
        let commit = git.run(&commit).await?;
        let of_run = format!("refs/helve/{}", step.run);
        git.run(&["update-ref", &format!("{of_run}/{}/{edge}", step.step), &commit]).await?;
        self.drop_oldest(&git, &of_run).await?;
        SnapshotId::try_from(commit).map_err(failed)
    }

    /// Deletes refs of the run's first snapshots, if there are more than are kept.
    async fn drop_oldest(&self, git: &Git, of_run: &str) -> Result<(), HookError> {
        let listed = git.run(&["for-each-ref", "--format=%(refname)", of_run]).await?;
        let mut refs: Vec<_> = listed.lines().filter_map(|name| Some((place(name)?, name))).collect();
        refs.sort_unstable();
        let surplus = refs.len().saturating_sub(self.kept_max);
        for (_, name) in &refs[..surplus] {
            git.run(&["update-ref", "-d", name]).await?;
        }
        Ok(())
    }
}

/// Where in its run a snapshot was taken: the step, and whether it is the later one of the step.
fn place(name: &str) -> Option<(u32, bool)> {
    let mut parts = name.rsplit('/');
    let edge = parts.next()?;
    Some((parts.next()?.parse().ok()?, edge == "after"))
}

/// Processes of git for one snapshot.
struct Git {
    program: Program,
    index: PathBuf,
}

impl Git {
    fn new(snapshots: &GitSnapshots, scratch: &Path) -> Self {
        let index = scratch.join("index");
        let above = snapshots.directory.parent().unwrap_or(&snapshots.directory);
        let text = |value: &str| OsString::from(value);
        let mut environment = vec![
            ("GIT_INDEX_FILE".into(), index.clone().into()),
            // No repository around the directory is meant.
            ("GIT_CEILING_DIRECTORIES".into(), above.into()),
            ("GIT_CONFIG_NOSYSTEM".into(), text("1")),
            ("GIT_TERMINAL_PROMPT".into(), text("0")),
            ("GIT_NO_LAZY_FETCH".into(), text("1")),
            ("HOME".into(), scratch.into()),
            ("LC_ALL".into(), text("C")),
        ];
        for who in ["AUTHOR", "COMMITTER"] {
            environment.push((format!("GIT_{who}_NAME"), text("helve")));
            environment.push((format!("GIT_{who}_EMAIL"), text("helve@localhost")));
        }
        let limits = ResourceLimits {
            memory_bytes: Some(2 << 30),
            cpu_seconds: Some(60),
            file_bytes: None,
            open_files: Some(256),
        };
        let program = Program {
            path: snapshots.program.clone(),
            arguments: vec![],
            environment,
            directory: Some(snapshots.directory.clone()),
            limits,
        };
        let mut git = Self { program, index };
        git.override_config(OVERRIDES.map(|(key, value)| (key.to_owned(), value)).to_vec());
        git
    }

    /// Sets configuration over that of the repository.
    fn override_config(&mut self, settings: Vec<(String, &str)>) {
        let environment = &mut self.program.environment;
        environment.retain(|(name, _)| name != "GIT_CONFIG_COUNT");
        let before = environment.iter().filter(|(name, _)| name.starts_with("GIT_CONFIG_KEY_")).count();
        environment.push(("GIT_CONFIG_COUNT".into(), (before + settings.len()).to_string().into()));
        for (number, (key, value)) in (before..).zip(settings) {
            environment.push((format!("GIT_CONFIG_KEY_{number}"), key.into()));
            environment.push((format!("GIT_CONFIG_VALUE_{number}"), value.into()));
        }
    }

    /// A filter is a program that the repository's configuration names: files are kept as they stand on disk instead.
    async fn switch_filters_off(&mut self) -> Result<(), HookError> {
        let listing =
            ["config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$"];
        let Some(listed) = self.answer(&listing).await? else { return Ok(()) };
        let names = listed.split('\0').filter(|name| !name.is_empty());
        let off = names.map(|name| (name.to_owned(), if name.ends_with(".required") { "false" } else { "" }));
        self.override_config(off.collect());
        Ok(())
    }

    /// Runs a command that has to succeed; gives its output without the line's end.
    async fn run(&self, arguments: &[&str]) -> Result<String, HookError> {
        let (status, output, complaint) = self.exchange(arguments).await?;
        if !status.success() {
            let command = arguments.first().copied().unwrap_or_default();
            return Err(HookError(format!("git {command} ended with {status}: {complaint}")));
        }
        Ok(output)
    }

    /// The same for a command that ends with status 1 where there is nothing to tell.
    async fn answer(&self, arguments: &[&str]) -> Result<Option<String>, HookError> {
        let (status, output, complaint) = self.exchange(arguments).await?;
        match status.code() {
            Some(0) => Ok(Some(output)),
            Some(1) => Ok(None),
            _ => {
                let command = arguments.first().copied().unwrap_or_default();
                Err(HookError(format!("git {command} ended with {status}: {complaint}")))
            }
        }
    }

    async fn exchange(
        &self,
        arguments: &[&str],
    ) -> Result<(std::process::ExitStatus, String, String), HookError> {
        let program =
            Program { arguments: arguments.iter().map(Into::into).collect(), ..self.program.clone() };
        let mut output = vec![];
        let take = |piece: &[u8]| {
            output.extend_from_slice(piece);
            if output.len() > OUTPUT_BYTES_MAX {
                return Err(format!("git's output is larger than {OUTPUT_BYTES_MAX} bytes"));
            }
            Ok(())
        };
        let ended = program.run(&[], take).await.map_err(|error: ProcessError<String>| failed(error))?;
        let output = String::from_utf8(output).map_err(|_| HookError("git's output is no UTF-8".into()))?;
        let complaint = &ended.stderr[..ended.stderr.floor_char_boundary(COMPLAINT_BYTES_MAX)];
        Ok((ended.status, output.trim_end_matches('\n').to_owned(), complaint.trim().to_owned()))
    }
}

fn failed(error: impl std::fmt::Display) -> HookError {
    HookError(error.to_string())
}

#[cfg(test)]
mod tests;
