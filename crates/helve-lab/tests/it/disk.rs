//! Disks that fail, and kills at system calls. Both need programs of the system's; without them this says so.

use std::process::Command;

use helve_lab::disk::{CALLS, Sweep, missing, missing_strace};

#[test]
fn a_disk_that_fails_loses_nothing_and_sends_nothing() {
    if let Some(line) = missing() {
        eprintln!("not tried: {line}");
        return;
    }
    // A process of its own, since what it mounts must be its own.
    let tried = Command::new(env!("CARGO_BIN_EXE_faultlab")).args(["disk", "--short"]).output().unwrap();
    let said = [tried.stdout, tried.stderr].concat();
    assert!(tried.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_promise_is_broken_by_a_death_at_a_write_a_sync_or_a_send() {
    if let Some(line) = missing_strace() {
        eprintln!("not tried: {line}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let sweep = Sweep {
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
