//! Real programs of this machine, well-behaved and not.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use helve_process::{ProcessError, Program, ProgramEnd, ResourceLimits};

fn shell(script: &str) -> Program {
    Program {
        path: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: None,
        limits: ResourceLimits::default(),
    }
}

async fn run(program: &Program, input: &str) -> (ProgramEnd, String) {
    let mut output = vec![];
    let ended = program.run(input.as_bytes(), |piece| {
        output.extend_from_slice(piece);
        Ok::<_, String>(())
    });
    let ended = ended.await.unwrap();
    (ended, String::from_utf8(output).unwrap())
}

fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[tokio::test]
async fn a_program_reads_its_input_and_its_output_and_complaints_are_read() {
    let (ended, output) = run(&shell("cat; echo bad >&2; exit 3"), "hello").await;
    assert_eq!((output.as_str(), ended.stderr.as_str(), ended.status.code()), ("hello", "bad\n", Some(3)));
}

#[tokio::test]
async fn a_program_gets_only_the_variables_that_are_listed() {
    let mut program = shell("env");
    program.environment.push(("GIVEN".into(), "yes".into()));
    let (_, output) = run(&program, "").await;
    let names: Vec<_> =
        output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"GIVEN"), "{names:?}");
    // The shell adds some of its own.
    let own = ["GIVEN", "PATH", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(names.iter().all(|name| own.contains(name)), "{names:?}");
}

#[tokio::test]
async fn a_program_that_ignores_its_input_is_not_waited_for() {
    let (ended, _) = run(&shell("exec <&-; exit 0"), &"x".repeat(1 << 20)).await;
    assert!(ended.status.success());
}

#[tokio::test]
async fn output_that_is_refused_ends_the_program() {
    let refuse = |piece: &[u8]| if piece.is_empty() { Ok(()) } else { Err("too much") };
    let ended = shell("yes").run(b"", refuse).await;
    assert!(matches!(ended, Err(ProcessError::Refused("too much"))), "{ended:?}");
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_killed_and_holds_nobody_up() {
    // The child keeps the pipes open for an hour.
    let (ended, output) = run(&shell("sleep 3600 & echo $!"), "").await;
    assert!(ended.status.success());
    await_end(output.trim()).await;
}

#[tokio::test]
async fn a_dropped_run_kills_the_program_and_what_it_started() {
    let mut pids = String::new();
    let program = shell("sleep 3600 & echo $$ $!; wait");
    let mut take = |piece: &[u8]| {
        pids.push_str(std::str::from_utf8(piece).unwrap());
        if pids.ends_with('\n') { Err(()) } else { Ok(()) }
    };
    _ = program.run(b"", &mut take).await;
    for pid in pids.split_whitespace() {
        await_end(pid).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_uses_too_much_is_stopped_by_the_kernel() {
    let mut program = shell("while :; do :; done");
    program.limits.cpu_seconds = Some(1);
    let (ended, _) = run(&program, "").await;
    assert!(signal(ended.status).is_some(), "{:?}", ended.status);

    // The shell keeps the whole text in memory; the input waits, so that the limits hold before the work begins.
    let mut program = shell("read go; x=0123456789abcdef; while :; do x=$x$x; done");
    program.limits.memory_bytes = Some(64 << 20);
    let (ended, _) = run(&program, "go\n").await;
    assert!(!ended.status.success(), "{:?}", ended.status);

    let directory = tempfile::tempdir().unwrap();
    let mut program = shell("read go; yes > large");
    program.directory = Some(directory.path().into());
    program.limits.file_bytes = Some(1 << 20);
    let (ended, _) = run(&program, "go\n").await;
    assert!(!ended.status.success(), "{:?}", ended.status);
    assert_eq!(std::fs::metadata(directory.path().join("large")).unwrap().len(), 1 << 20);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let program = Program { path: "/nowhere/tool".into(), ..shell("") };
    let error = program.run(b"", |_| Ok::<_, String>(())).await.unwrap_err();
    assert!(error.to_string().starts_with("`/nowhere/tool` cannot be started: "), "{error}");
}

/// A killed process is gone as soon as its parent, or init, has taken note of it.
async fn await_end(pid: &str) {
    let state = |pid: &str| std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    for _ in 0..1000 {
        match state(pid) {
            Ok(stat) if !stat.contains(") Z ") => tokio::time::sleep(Duration::from_millis(10)).await,
            _ => return,
        }
    }
    panic!("process {pid} goes on");
}
