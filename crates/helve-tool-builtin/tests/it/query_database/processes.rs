//! Every way in which the process of a query can end, and what the server makes of it.

use std::path::PathBuf;

use expect_test::expect;

use super::*;

/// A worker that does this instead of asking.
fn shop(script: &str) -> Shop {
    let database = Database::new("shop", &SecretString::from("sqlite:/nowhere/shop.db")).unwrap();
    let database = database.with_timeout(Duration::from_millis(1));
    Shop::with_worker(database, QueryWorker::new("/bin/sh", ["-c", script]))
}

async fn told(script: &str) -> String {
    shop(script).says("SELECT 1", json!([])).await
}

#[tokio::test]
async fn every_way_of_dying_is_told_and_the_call_is_not_repeated() {
    expect!["no: the query was lost: its process ended with signal: 11 (SIGSEGV). Nothing was changed and nothing else is affected; ask in another way"].assert_eq(&told("kill -SEGV $$").await);
    expect!["no: the query was lost: its process ended with signal: 9 (SIGKILL). Nothing was changed and nothing else is affected; ask in another way"].assert_eq(&told("kill -KILL $$").await);
    expect!["no: the query was lost: its process ended with signal: 6 (SIGABRT): memory allocation of 9 bytes failed. Nothing was changed and nothing else is affected; ask in another way"].assert_eq(&told("echo memory allocation of 9 bytes failed >&2; kill -ABRT $$").await);
    expect!["no: the query was lost: its process ended with exit status: 3: no, thank you. Nothing was changed and nothing else is affected; ask in another way"].assert_eq(&told("echo no, thank you >&2; exit 3").await);
    expect!["no: the query was lost: its process gave an answer that is cut off or garbled. Nothing was changed and nothing else is affected; ask in another way"].assert_eq(&told("true").await);
    expect!["no: the query was lost: its process gave a larger answer than it may and was killed. Nothing was changed and nothing else is affected; ask in another way"].assert_eq(&told("exec cat /dev/zero").await);
    expect!["no: the query was lost: its process gave an answer that is none. Nothing was changed and nothing else is affected; ask in another way"].assert_eq(&told("echo '{\"described\": []}'").await);
    let irregular = "echo '{\"table\":{\"columns\":[\"a\"],\"rows\":[[1, 2]],\"has_more\":false}}'";
    assert!(told(irregular).await.contains("gave a table that is none"));
    // More rows than were asked for, of empty texts, are a small answer and a large table.
    let many = "echo '{\"table\":{\"columns\":[\"a\"],\"rows\":[[1]'; yes ',[1]' | head -n 5000; echo '],\"has_more\":false}}'";
    assert!(told(many).await.contains("gave a table that is none"));
    for garbage in [
        "echo garbage",
        "printf '{\"table\":{\"columns\":[\"a\"],\"rows\":[[1'",
        "printf '{\"table\":{\"columns\":[\"a\"],\"rows\":[[1]],\"has_more\":false}} and more'",
        "printf '\\377\\376'",
        "cat",
    ] {
        let told = told(garbage).await;
        assert!(told.contains("gave an answer that is cut off or garbled"), "{garbage}: {told}");
    }
}

#[tokio::test]
async fn what_a_process_complains_about_is_cut() {
    let told = told("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1").await;
    assert!(told.contains("xxx") && told.len() < 1_000, "{}", told.len());
}

#[tokio::test]
async fn a_process_that_does_not_end_is_killed_with_all_that_it_has_started() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", path.display());
    assert!(told(&script).await.contains("was stopped after 1 ms"));
    is_gone(std::fs::read_to_string(path).unwrap().trim()).await;
}

#[tokio::test]
async fn a_query_that_nobody_waits_for_any_more_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", path.display());
    let shop = shop(&script);
    let begun = async {
        while !path.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = shop.ask(json!({"sql": "SELECT 1"})) => panic!("{answer:?}"),
        () = begun => {}
    }
    is_gone(std::fs::read_to_string(path).unwrap().trim()).await;
}

#[tokio::test]
async fn a_worker_that_cannot_be_started_is_the_operators_business() {
    let database = Database::new("shop", &SecretString::from("sqlite:/nowhere/shop.db")).unwrap();
    let shop = Shop::with_worker(database, QueryWorker::new("/nowhere/helve", [""; 0]));
    let error = shop.ask(json!({"sql": "SELECT 1"})).await.unwrap_err();
    let ToolError::NotSent(told) = error else { panic!("{error:?}") };
    expect!["the database `shop` cannot be asked: the process of the query cannot be started: No such file or directory (os error 2)"].assert_eq(&told);
}

#[tokio::test]
async fn a_process_gets_no_environment_and_no_descriptor_but_its_pipes() {
    // Something that is open, as the server's sockets are.
    let _listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // A worker that only waits, so that nothing but the server has opened anything in it.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec env sleep 1000", path.display());
    let shop = shop(&script);
    let proc = |file: &str| {
        let pid = std::fs::read_to_string(&path).unwrap_or_default();
        PathBuf::from(format!("/proc/{}/{file}", pid.trim()))
    };
    let begun = async {
        // It has its descriptors and its environment when it has become `sleep`.
        while !std::fs::read_to_string(proc("cmdline")).is_ok_and(|line| line.starts_with("sleep")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = shop.ask(json!({"sql": "SELECT 1"})) => panic!("{answer:?}"),
        () = async {
            begun.await;
            let names = |path: PathBuf| -> Vec<String> {
                let entries = std::fs::read_dir(path).unwrap();
                entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect()
            };
            // What the process that started the tests has left open to all that it starts is not ours to close.
            let left_open = |name: &str| {
                let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{name}")).unwrap_or_default();
                let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
                let flags = flags.map_or(0o2_000_000, |flags| i64::from_str_radix(flags.trim(), 8).unwrap());
                flags & 0o2_000_000 == 0
            };
            for open in names(proc("fd")) {
                assert!(["0", "1", "2"].contains(&open.as_str()) || left_open(&open), "descriptor {open}");
            }
            let environment = std::fs::read_to_string(proc("environ")).unwrap();
            for variable in environment.split_terminator('\0') {
                // `sh` says where it is.
                let name = variable.split('=').next().unwrap();
                assert!(["PWD", "OLDPWD", "SHLVL", "_", "TZ", "MIMALLOC_ARENA_RESERVE"].contains(&name), "{variable}");
            }
        } => {}
    }
}

/// Waits until no such process is left but perhaps as a name.
async fn is_gone(pid: &str) {
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(stat.rsplit_once(')')?.1.trim_start().starts_with('Z'))
    };
    while state() == Some(false) {
        tokio::task::yield_now().await;
    }
}
