//! Disks that fail, and kills at system calls. Both need programs of the system; without them they are skipped.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use helve_lab::disk::{CALLS, SyscallPlan, missing_disk_tools, missing_strace};

#[test]
fn a_disk_that_fails_loses_nothing_and_sends_nothing() {
    if let Some(reason) = missing_disk_tools() {
        helve_test_support::skip_test("fault lab: disks that fail", &reason);
        return;
    }
    // A process of its own, since what it mounts must be its own.
    let tried = Command::new(env!("CARGO_BIN_EXE_faultlab")).args(["disk", "--short"]).output().unwrap();
    let said = [tried.stdout, tried.stderr].concat();
    assert!(tried.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_promise_is_broken_by_a_death_at_a_write_a_sync_a_send_or_a_receipt() {
    if let Some(reason) = missing_strace() {
        helve_test_support::skip_test("fault lab: kills at system calls", &reason);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let sweep = SyscallPlan {
        command: super::campaign(0).command,
        seed: 1,
        kills: 3 * CALLS.len(),
        jobs: 1,
        dir: dir.path().to_owned(),
    };
    let swept = sweep.run().await.unwrap();
    assert!(swept.bad.is_empty(), "{:#?}", swept.bad);
    for call in CALLS {
        assert!(swept.at.contains_key(call), "nothing died at {call}");
    }
}

#[test]
fn a_second_server_on_the_same_directory_says_in_a_line_who_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("helve.toml");
    let text = format!("[server]\nlisten = \"127.0.0.1:0\"\ndata = {:?}\n", dir.path().join("data"));
    std::fs::write(&config, text).unwrap();
    let server = || {
        let mut server = Command::new(env!("CARGO_BIN_EXE_faultlab"));
        server.args(["server", "--ledger", "http://127.0.0.1:9", "--config"]).arg(&config);
        server
    };
    // It ends with this test, however that ends.
    let mut first = server();
    first.arg("--end-with-stdin").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut first = first.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on"), "{line}");

    let second = server().output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let holder = format!("in use by helve, process {}", first.id());
    assert!(said.contains(&holder), "{said}");
    first.kill().unwrap();
    first.wait().unwrap();
}
