//! The binary while its PostgreSQL is away, silent, full or read-only: people are told, and nothing is lost.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use helve_test_support::{PostgresServer, find_postgres_programs, skip_test};
use serde_json::{Value, json};

use crate::outside::{Outside, Spoken};
use crate::people::Home;
use crate::serving::Served;
use crate::{err, helve, scratch};

const SOON: Duration = Duration::from_secs(60);

fn programs() -> Option<PathBuf> {
    let programs = find_postgres_programs();
    if programs.is_none() {
        skip_test("helve and a PostgreSQL that fails", "no PostgreSQL is installed");
    }
    programs
}

/// A directory that PostgreSQL, which runs as another user, can come to.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn body(answer: &str) -> Value {
    let text = answer.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{answer}"))
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < SOON, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_ready(served: &Served) -> bool {
    body(&served.ask("GET", "/readyz", "", ""))["ready"] == true
}

/// A server that is not ready says so, everywhere, and starts no run.
fn assert_told(served: &Served, because: &str) {
    until("it is not ready", || !is_ready(served));
    let ready = served.ask("GET", "/readyz", "", "");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("store unavailable"), "{ready}");
    let doctor = served.ask("GET", "/api/doctor?lang=en", "", "");
    assert!(doctor.contains("\"level\":\"bad\"") && doctor.contains(because), "{doctor}");
    let refused = served.ask("POST", "/api/runs", "", r#"{"message": "hello"}"#);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("storage_unavailable"), "{refused}");
}

/// A model that notes milk down, and then waits to be let go on.
fn model(may_go_on: &Arc<AtomicBool>) -> Outside {
    let may_go_on = may_go_on.clone();
    Outside::speaking(move |last: &Value| {
        if last["role"] != "tool" {
            return Spoken::Calls(vec![("save_note".to_owned(), json!({"text": "milk"}))]);
        }
        while !may_go_on.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Spoken::Words("It is noted.".into())
    })
}

#[test]
fn a_run_goes_on_when_its_database_server_is_back_and_people_are_told_meanwhile() {
    let Some(programs) = programs() else { return };
    let (place, may_go_on) = (place(), Arc::new(AtomicBool::new(false)));
    let database = PostgresServer::start_new(&programs, place.path(), &[]).unwrap();
    let home = Home::with(model(&may_go_on));
    let mut text = std::fs::read_to_string(&home.config).unwrap();
    text.push_str("\n[[permissions]]\naction = \"allow\"\n");
    std::fs::write(&home.config, text).unwrap();
    let served = home.serve(&[("HELVE_DATABASE_URL", &database.url("postgres"))]);
    let begun = body(&served.ask("POST", "/api/runs", "", r#"{"message": "note milk"}"#));
    let run = begun["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    until("it is noted", || home.notes().contains("milk"));

    database.kill().unwrap();
    assert_told(&served, "PostgreSQL");
    may_go_on.store(true, Ordering::SeqCst);
    database.start().unwrap();
    until("it is ready", || is_ready(&served));
    until("the run is over", || {
        body(&served.ask("GET", &format!("/api/runs/{run}"), "", ""))["state"] == "completed"
    });
    assert_eq!(home.notes().matches("milk").count(), 1, "{}", home.notes());

    database.signal_all("STOP").unwrap();
    let asked = Instant::now();
    until("it is not ready", || !is_ready(&served));
    assert!(asked.elapsed() < Duration::from_secs(20), "it is known soon: {:?}", asked.elapsed());
    database.signal_all("CONT").unwrap();
    until("it is ready", || is_ready(&served));

    // Read-only, as a server that has become a standby.
    let alter = |sql: &str| execute(&database.url("postgres"), sql);
    alter("ALTER SYSTEM SET default_transaction_read_only = on");
    alter("SELECT pg_reload_conf()");
    assert_told(&served, "PostgreSQL");
}

fn execute(url: &str, sql: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
    });
}

#[test]
fn a_server_does_not_start_where_postgresql_has_no_connection_left_and_says_so() {
    let Some(programs) = programs() else { return };
    let place = place();
    let settings = [("fsync", "off"), ("max_connections", "5"), ("superuser_reserved_connections", "0")];
    let settings = [&settings[..], &[("max_wal_senders", "0")]].concat();
    let database = PostgresServer::start_new(&programs, place.path(), &settings).unwrap();
    let url = database.url("postgres");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let held = runtime.block_on(async {
        let mut held = vec![];
        while let Ok((client, connection)) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await {
            held.push((client, tokio::spawn(connection)));
        }
        held
    });
    let serve = || {
        let mut command = helve();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", scratch().to_str().unwrap()]);
        command.env("HELVE_DATABASE_URL", &url).output().unwrap()
    };
    let refused = serve();
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("too many clients already (53300)"), "{}", err(&refused));
    drop(held);
}

/// A mount namespace with a small disk at `place`, for as long as this value lives.
struct SmallDisk {
    holder: Child,
    place: PathBuf,
}

impl SmallDisk {
    fn mount(place: PathBuf) -> Option<Self> {
        let shown = place.display().to_string();
        let line =
            format!("mount -t tmpfs -o size=72m,mode=755 tmpfs {shown} && echo mounted && exec sleep 600");
        let mut holder = Command::new("unshare")
            .args(["-m", "--propagation", "private", "sh", "-c", &line])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut first = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take()?), &mut first).ok()?;
        if first.trim() == "mounted" {
            return Some(Self { holder, place });
        }
        _ = holder.kill();
        _ = holder.wait();
        None
    }

    /// A file on it, as seen from outside.
    fn file(&self, name: &str) -> PathBuf {
        let inside = self.place.join(name);
        PathBuf::from(format!("/proc/{}/root{}", self.holder.id(), inside.display()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        _ = self.holder.kill();
        _ = self.holder.wait();
    }
}

#[test]
fn a_full_disk_of_the_database_server_stops_nothing_for_good() {
    let Some(programs) = programs() else { return };
    let place = place();
    let Some(disk) = SmallDisk::mount(place.path().to_owned()) else {
        skip_test("PostgreSQL with a full disk", "`unshare` cannot mount a disk of the test's own");
        return;
    };
    let holder = disk.holder.id().to_string();
    let prefix = ["nsenter", "-m", "-t", &holder];
    let settings = [("min_wal_size", "32MB"), ("max_wal_size", "32MB"), ("shared_buffers", "4MB")];
    let database = PostgresServer::start_new_behind(&prefix, &programs, place.path(), &settings).unwrap();
    let home = Home::new();
    let served = home.serve(&[("HELVE_DATABASE_URL", &database.url("postgres"))]);
    let start = |word: &str| {
        let message = format!("{word} {}", "long ".repeat(20_000));
        served.ask("POST", "/api/runs", "", &json!({"message": message}).to_string())
    };
    let first = body(&start("first"));
    let run = first["run"].as_str().unwrap_or_else(|| panic!("{first}")).to_owned();

    let filler = disk.file("filler");
    _ = std::fs::write(&filler, vec![7; 80 << 20]);
    let began = Instant::now();
    let refused = loop {
        let answer = start("more");
        if answer.starts_with("HTTP/1.1 503") {
            break answer;
        }
        assert!(began.elapsed() < SOON, "it takes on more and more: {answer}");
    };
    assert!(refused.contains("storage_unavailable"), "{refused}");
    std::fs::remove_file(&filler).unwrap();
    until("PostgreSQL can be asked again", || {
        // It may have ended over this, and is started by its operator.
        _ = database.try_start();
        is_ready(&served)
    });
    let kept = served.ask("GET", &format!("/api/runs/{run}"), "", "");
    assert!(kept.starts_with("HTTP/1.1 200"), "{kept}");
    assert!(start("last").starts_with("HTTP/1.1 201"));
    assert!(served.stop());
    drop(database);
}
