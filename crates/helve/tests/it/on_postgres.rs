//! The binary with its data on PostgreSQL: it is killed in the middle, and the next one goes on.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::outside::{Outside, Reply, Spoken};
use crate::people::{Home, ask};
use crate::serving::Served;

const SOON: Duration = Duration::from_secs(30);

/// A new database; none where there is no server.
pub(crate) fn database() -> Option<String> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let Ok(server) = std::env::var("HELVE_TEST_POSTGRES") else {
        let reason = "there is no PostgreSQL; `cargo run -p xtask -- with-postgres cargo test` starts one";
        helve_test_support::skip_test("helve on PostgreSQL", reason);
        return None;
    };
    let name = format!("helve_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    });
    let (place, _) = server.rsplit_once('/').unwrap();
    // Nobody asks for it, so it must not be shown either.
    Some(format!("{place}/{name}").replace("postgres@", "postgres:hush-hush@"))
}

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < SOON, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(served: Served) {
    let killed = Command::new("kill").args(["-KILL", &served.process().to_string()]).status().unwrap();
    assert!(killed.success());
    assert!(!served.ended_well());
}

#[test]
fn a_call_that_is_finished_is_not_repeated_by_the_server_after_a_kill() {
    let Some(url) = database() else { return };
    let awake = Arc::new(AtomicBool::new(false));
    let switch = awake.clone();
    let service = Outside::new(|_| Reply::new(200, "application/json", "{\"receipt\": \"r-4711\"}"));
    let model = Outside::speaking(move |last_message: &Value| {
        let has_result = last_message.to_string().contains("r-4711");
        match (has_result, switch.load(Ordering::SeqCst)) {
            (false, _) => Spoken::Calls(vec![("send".to_owned(), json!({"q": "letter"}))]),
            (true, false) => Spoken::Nothing,
            (true, true) => Spoken::Words("It is sent.".into()),
        }
    });
    let home = Home::with(model);
    let mut text = std::fs::read_to_string(&home.config).unwrap();
    text.push_str(&format!(
        "\n[egress]\nallow = [\"{}\"]\n\n[[permissions]]\naction = \"allow\"\n",
        service.address
    ));
    std::fs::write(&home.config, text).unwrap();
    let on_postgres = [("HELVE_DATABASE_URL", url.as_str())];
    let served = home.serve(&on_postgres);
    let tool = json!({
        "name": "send", "description": "Sends.", "effect": "non_idempotent",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
        "endpoint": {"url_template": format!("http://{}/send/{{q}}", service.address), "method": "POST"},
    });
    let made = served.ask("POST", "/api/tools", "", &tool.to_string());
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let begun = body(&served.ask("POST", "/api/runs", "", r#"{"message": "go"}"#));
    let run = begun["run"].as_str().unwrap().to_owned();
    let events = |served: &Served| served.ask("GET", &format!("/api/executions?run={run}"), "", "");
    until("the call is finished", || events(&served).contains(r#""state":"finished""#));
    kill(served);

    awake.store(true, Ordering::SeqCst);
    let next = home.serve(&on_postgres);
    until("the run is over", || {
        body(&next.ask("GET", &format!("/api/runs/{run}"), "", ""))["state"] == "completed"
    });
    assert_eq!(service.asked().len(), 1, "it was sent once");
    let log = next.ask("GET", &format!("/api/runs/{run}/events"), "", "");
    assert_eq!(log.matches(r#""type":"tool.started""#).count(), 1, "{log}");
    assert!(log.contains("It is sent."), "{log}");
    // The data directory holds no database.
    assert!(!home.data.join("helve.db").exists());
    assert!(next.stop());
}

#[test]
fn a_question_outlives_a_kill_and_what_is_approved_happens_once() {
    let Some(url) = database() else { return };
    let home = Home::new();
    let on_postgres = [("HELVE_DATABASE_URL", url.as_str())];
    let served = home.serve(&on_postgres);
    let (run, question) = ask(&served, "", "milk");
    kill(served);
    let next = home.serve(&on_postgres);
    let listed = next.ask("GET", "/api/approvals", "", "");
    assert!(listed.contains(&question), "it waits as before: {listed}");
    let path = format!("/api/approvals/{question}");
    let answered = next.ask("POST", &path, "", r#"{"decision": "approve"}"#);
    assert!(answered.starts_with("HTTP/1.1 20"), "{answered}");
    until("the run is over", || {
        body(&next.ask("GET", &format!("/api/runs/{run}"), "", ""))["state"] == "completed"
    });
    assert_eq!(home.notes().matches("milk").count(), 1, "{}", home.notes());
    let doctor = next.ask("GET", "/api/doctor?lang=en", "", "");
    assert!(doctor.contains("database: PostgreSQL 127.0.0.1:"), "{doctor}");
    assert!(doctor.contains("fsync = off"), "{doctor}");
    let ready = body(&next.ask("GET", "/readyz", "", ""));
    assert_eq!(ready["ready"], true);
    assert_eq!(ready["durability_problem"], "PostgreSQL runs with fsync = off");
    assert!(!doctor.contains("hush"), "{doctor}");
    assert!(next.stop());
}
