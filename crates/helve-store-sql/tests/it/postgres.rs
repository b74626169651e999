//! PostgreSQL, in a database of each test's own. `cargo run -p xtask -- with-postgres cargo test -p helve-store-sql` starts
//! a server. Where there is none, the tests are skipped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use helve_store::{
    Append, AuditEntry, FullOutput, Place, RowKind, RunWriter, Store, StoreError, Urgency, Wakeup,
};
use helve_store_contract::Actor;
use helve_store_sql::{DataDir, PostgresError, PostgresSettings, PostgresStore};
use helve_types::{CallId, Fact, PartId, Timestamp};
use tokio_postgres::{Client, NoTls};

use super::scratch;

const NO_SERVER: &str =
    "there is no PostgreSQL; `cargo run -p xtask -- with-postgres cargo test` starts one for the tests";

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A new database; none where there is no server.
pub(crate) async fn database() -> Option<String> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let Ok(server) = std::env::var("HELVE_TEST_POSTGRES") else {
        helve_test_support::skip_test("the store on PostgreSQL", NO_SERVER);
        return None;
    };
    let name = format!("store_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let root = connect(&server).await;
    root.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let (place, _) = server.rsplit_once('/').unwrap();
    Some(format!("{place}/{name}"))
}

pub(crate) fn settings(url: &str) -> PostgresSettings {
    PostgresSettings::parse(&url.to_owned().into()).unwrap()
}

pub(crate) async fn serve(url: &str) -> Result<PostgresStore, PostgresError> {
    PostgresStore::open(DataDir::lock(&scratch()).unwrap(), &settings(url), Timestamp(1)).await
}

/// As a short command opens it beside a server.
pub(crate) async fn share(url: &str) -> Result<PostgresStore, PostgresError> {
    PostgresStore::open(DataDir::open_shared(&scratch()).unwrap(), &settings(url), Timestamp(1)).await
}

pub(crate) fn line() -> AuditEntry {
    AuditEntry::new(Timestamp(1), "mei", "a", "d")
}

pub(crate) fn text(text: &str) -> Fact {
    Fact::TextFinished { step: 1, part: PartId::new(1, 1, 0), text: text.into() }
}

/// Ends all connections of the database, as a restart of the server does.
async fn cut(url: &str) {
    connect(url)
        .await
        .batch_execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await
        .unwrap();
}

mod contract {
    use super::*;

    helve_store_contract::store_contract!({
        let Some(url) = database().await else { return };
        let store: Arc<dyn Store> = Arc::new(serve(&url).await.unwrap());
        std::future::ready(store)
    });
}

#[tokio::test]
async fn a_process_is_told_of_changes_that_another_one_made() {
    let Some(url) = database().await else { return };
    let server = serve(&url).await.unwrap();
    let command = share(&url).await.unwrap();
    let mut wakeups = helve_store::Bus::subscribe(&server);
    helve_store::Access::end_session(&command, "t1".into(), Timestamp(7), line()).await.unwrap();
    while wakeups.next_wakeup().await != Wakeup::Access {}
    // A kind that this process has not changed: it looks at everything.
    let kind = RowKind::new("greeting");
    helve_store::Rows::save_switch(&command, kind, "hello".into(), false, line()).await.unwrap();
    while wakeups.next_wakeup().await != Wakeup::Missed {}
}

#[tokio::test]
async fn who_claims_a_run_in_another_process_fences_the_one_that_had_it() {
    let Some(url) = database().await else { return };
    let one: Arc<dyn Store> = Arc::new(serve(&url).await.unwrap());
    let other: Arc<dyn Store> = Arc::new(share(&url).await.unwrap());
    let mei = Actor::new(one, "mei");
    let mut run = mei.start(mei.new_conversation(), "hello").await;
    mei.append(&mut run, vec![text("one")]).await.unwrap();
    let claimed = other.claim_run(run.run, "other".into(), true).await.unwrap();
    assert_eq!((claimed.epoch, claimed.events.len()), (2, 2));
    assert_eq!(mei.append(&mut run, vec![text("two")]).await, Err(StoreError::Fenced(run.run)));
}

#[tokio::test]
async fn a_second_server_does_not_start_on_the_same_database() {
    let Some(url) = database().await else { return };
    let first = serve(&url).await.unwrap();
    let refused = serve(&url).await.err().unwrap();
    assert!(matches!(refused, PostgresError::InUse { .. }), "{refused}");
    assert!(share(&url).await.is_ok());
    Store::close(&first).await.unwrap();
    let next = serve(&url).await.unwrap();
    assert!(next.was_closed());
    drop(next);
    assert!(!serve(&url).await.unwrap().was_closed());
}

#[tokio::test]
async fn a_database_of_a_newer_helve_is_refused() {
    let Some(url) = database().await else { return };
    Store::close(&serve(&url).await.unwrap()).await.unwrap();
    let newer = "INSERT INTO migrations VALUES (9999, 'later', 'x', 1)";
    connect(&url).await.batch_execute(newer).await.unwrap();
    let refused = serve(&url).await.err().unwrap().to_string();
    assert!(refused.contains("was written by a newer Helve (layout 9999)"), "{refused}");
    let edited =
        "DELETE FROM migrations WHERE number = 9999; UPDATE migrations SET checksum = 'x' WHERE number = 1";
    connect(&url).await.batch_execute(edited).await.unwrap();
    let refused = serve(&url).await.err().unwrap().to_string();
    assert!(refused.contains("was a migration edited?"), "{refused}");
}

#[tokio::test]
async fn processes_that_start_at_once_apply_each_migration_once() {
    let Some(url) = database().await else { return };
    let (one, two, three) = tokio::join!(share(&url), share(&url), share(&url));
    for opened in [one, two, three] {
        Store::check(&opened.unwrap()).await.unwrap();
    }
}

#[tokio::test]
async fn a_store_whose_connections_were_cut_goes_on() {
    let Some(url) = database().await else { return };
    let store: Arc<dyn Store> = Arc::new(serve(&url).await.unwrap());
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(Place::Nowhere, "hello").await;
    for number in 0..5 {
        cut(&url).await;
        let events = mei.batch(&mut run, vec![text(&number.to_string())]).events;
        // Whoever records tries again what could not be written.
        loop {
            let again = Append {
                events: events.clone(),
                at: None,
                state: None,
                message: None,
                full_outputs: vec![],
                files: vec![],
                writer: RunWriter { run: run.run, epoch: run.epoch, on_commit: None },
            };
            match store.append(again, Urgency::Now).await {
                Ok(()) => break,
                Err(StoreError::Unavailable(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        let log = store.events(run.run, 0, 100).await.unwrap();
        assert_eq!(log.len(), 2 + number);
    }
}

#[tokio::test]
async fn a_waiter_that_gives_up_leaves_the_other_connections_usable() {
    let Some(url) = database().await else { return };
    let store: Arc<dyn Store> = Arc::new(serve(&url).await.unwrap());
    let mei = Actor::new(store.clone(), "mei");
    let run = mei.start(Place::Nowhere, "hello").await;
    for micros in 0..200 {
        let read = store.events(run.run, 0, 10);
        _ = tokio::time::timeout(std::time::Duration::from_micros(micros * 5), read).await;
    }
    assert_eq!(store.events(run.run, 0, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn text_with_a_character_that_the_server_cannot_hold_is_kept() {
    let Some(url) = database().await else { return };
    let store: Arc<dyn Store> = Arc::new(serve(&url).await.unwrap());
    let mei = Actor::new(store.clone(), "mei");
    let mut run = mei.start(Place::Nowhere, "he\0llo").await;
    let call = CallId::new(run.run, 1, 0);
    let requested = Fact::ToolRequested {
        step: 1,
        call: call.clone(),
        provider_id: Some("c\0".into()),
        tool: "a\0b".into(),
        arguments: "{\"a\": \"\0\"}".into(),
        part: None,
        replaces: None,
        repairs: vec![],
    };
    let mut batch = mei.batch(&mut run, vec![requested]);
    batch.full_outputs = vec![FullOutput { call: call.clone(), text: "out\0put".into() }];
    store.append(batch, Urgency::Now).await.unwrap();
    assert_eq!(store.whole_output(call).await.unwrap(), "out\0put");
    assert_eq!(store.calls(run.run).await.unwrap()[0].call.name, "a\u{FFFD}b");
    let log = store.events(run.run, 1, 10).await.unwrap();
    assert!(matches!(&log[0].event.fact, Fact::ToolRequested { tool, .. } if tool == "a\0b"));
}

#[tokio::test]
async fn a_server_that_may_lose_what_it_acknowledged_is_named() {
    let Some(url) = database().await else { return };
    // The server of the tests does not sync.
    let name = url.rsplit('/').next().unwrap();
    let off = format!("ALTER DATABASE {name} SET synchronous_commit = off");
    connect(&url).await.batch_execute(&off).await.unwrap();
    let store = serve(&url).await.unwrap();
    let problem = store.durability_problem().unwrap().to_owned();
    assert_eq!(problem, "PostgreSQL runs with synchronous_commit = off and fsync = off");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let told = serve("postgres://helve:hush@127.0.0.1:1/agents").await.err().unwrap().to_string();
    assert!(told.starts_with("the database `127.0.0.1:1/agents` cannot be used: "), "{told}");
    assert!(!told.contains("hush"));
}
