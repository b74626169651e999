//! `query_database` in the real binary: the process of a query may die in any way, and the server lives.

use std::path::{Path, PathBuf};
use std::process::Command;

use helve_store_sql::{DataDir, SqliteStore};
use helve_types::World;

use crate::serving::Served;
use crate::{err, out, run, scratch};

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// A database is what any file of SQLite is; this one is another server's.
fn database() -> PathBuf {
    let dir = scratch();
    drop(SqliteStore::open(DataDir::open_shared(&dir).unwrap(), World::real().now()).unwrap());
    dir.join("helve.db")
}

fn configuration(database: &Path) -> String {
    let path = scratch().join("helve.toml");
    let text = format!("[databases.shop]\nurl = \"sqlite:{}\"\ntimeout_ms = 600000\n", database.display());
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn query(served: &Served, sql: &str, parameters: &str) -> String {
    let body = format!(r#"{{"arguments": {{"sql": "{sql}", "parameters": {parameters}}}}}"#);
    served.ask("POST", "/api/tools/query_database/call", "", &body)
}

fn is_well(served: &Served) {
    assert!(served.ask("GET", "/healthz", "", "").starts_with("HTTP/1.1 200"));
    let answer = query(served, "SELECT count(*) AS n FROM migrations WHERE 1 = ?1", "[1]");
    assert!(answer.contains(r#""outcome":"finished""#) && answer.contains("1 row"), "{answer}");
}

/// The one process that the server has started, when it is there.
fn worker_of(served: &Served) -> u32 {
    loop {
        for entry in std::fs::read_dir("/proc").unwrap() {
            let name = entry.unwrap().file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            // After the name in parentheses: the state, and the parent.
            let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
            if parent.and_then(|parent| parent.parse().ok()) == Some(served.process()) {
                return id;
            }
        }
        std::thread::yield_now();
    }
}

/// How much the kernel lets it have, when it has set that itself.
fn memory_of(worker: u32) -> u64 {
    loop {
        let limits = std::fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
        let row = limits.lines().find_map(|line| line.strip_prefix("Max address space")).unwrap();
        match row.split_whitespace().next().unwrap().parse() {
            Ok(bytes) => return bytes,
            Err(_) => std::thread::yield_now(),
        }
    }
}

#[test]
fn a_query_whose_process_is_killed_fails_with_a_clear_text_and_takes_nothing_with_it() {
    let data = scratch();
    let config = configuration(&database());
    let served = Served::start(&data, &[("HELVE_CONFIG", &config)]);
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| query(&served, ENDLESS, "[]"));
        let worker = worker_of(&served);
        assert!(memory_of(worker) < 512 << 20);
        let killed = Command::new("kill").args(["-KILL", &worker.to_string()]).status().unwrap();
        assert!(killed.success());
        asked.join().unwrap()
    });
    assert!(answer.contains("its process ended with signal: 9 (SIGKILL)"), "{answer}");
    is_well(&served);
    assert!(served.stop());
    // The run is on record as over: no restart takes it up again.
    let served = Served::start(&data, &[("HELVE_CONFIG", &config)]);
    is_well(&served);
    let left = served.ask("GET", "/api/runs?state=running", "", "");
    assert!(left.starts_with("HTTP/1.1 200") && left.contains(r#""runs":[]"#), "{left}");
}

#[test]
fn what_followed_a_pointer_of_its_authors_choice_is_refused_and_the_server_goes_on() {
    let served = Served::start(&scratch(), &[("HELVE_CONFIG", &configuration(&database()))]);
    for (sql, parameters) in [
        ("select hex(fts3_tokenizer(?1,?2)), rtreecheck('fts3tokenize')", r#"["simple","AAAAAAAA"]"#),
        ("select hex(fts3_tokenizer(?1))", r#"["simple"]"#),
    ] {
        let answer = query(&served, sql, parameters);
        assert!(answer.contains("no such function: fts3_tokenizer"), "{answer}");
        is_well(&served);
    }
}

#[test]
fn a_query_that_takes_all_its_memory_is_told_so() {
    let served = Served::start(&scratch(), &[("HELVE_CONFIG", &configuration(&database()))]);
    let greedy = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                  SELECT i, hex(zeroblob(100000)) AS x FROM n ORDER BY x, i DESC";
    let answer = query(&served, greedy, "[]");
    assert!(answer.contains("needs more memory than it may have"), "{answer}");
    is_well(&served);
}

#[test]
fn the_process_of_a_query_has_no_place_in_the_help_and_says_what_it_misses() {
    assert!(!out(&run(&["--help"], "")).contains("query-worker"));
    let alone = run(&["query-worker"], "");
    assert_eq!(alone.status.code(), Some(2));
    assert!(err(&alone).starts_with("the order cannot be read: "), "{}", err(&alone));
}

#[test]
fn doctor_says_whether_a_database_can_be_asked() {
    let database = database();
    let data = scratch().display().to_string();
    let config = configuration(&database);
    let doctor = || run(&["doctor", "--config", &config, "--data", &data], "");
    assert!(out(&doctor()).contains("ok    database `shop`: it can be asked"), "{}", out(&doctor()));
    std::fs::remove_file(&database).unwrap();
    let told = out(&doctor());
    assert!(told.contains("BAD   database `shop`: the database `shop` cannot be opened"), "{told}");
}
