//! The audit log in a database that somebody else writes to.

use std::sync::Arc;

use helve_store::{AuditEntry, ChainBreak, Store, StoreError, verify_audit};
use helve_store_sql::{DataDir, SqliteStore};
use helve_types::Timestamp;
use rusqlite::Connection;

use super::postgres::{connect, database, serve, share};
use super::{open, scratch};

async fn write(store: &dyn Store, count: i64) {
    for at in 1..=count {
        let entry = AuditEntry::new(Timestamp(at), "mei", "tool.created", "weather");
        store.record_audit(entry).await.unwrap();
    }
}

#[tokio::test]
async fn an_action_whose_entry_cannot_be_written_is_not_done() {
    let data = scratch();
    let store = open(&data);
    write(&*store, 1).await;
    let connection = Connection::open(data.join("helve.db")).unwrap();
    let refuse = "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no more'); END";
    connection.execute_batch(refuse).unwrap();
    let entry = AuditEntry::new(Timestamp(2), "mei", "session.ended", "t1");
    let refused = helve_store::Access::end_session(&*store, "t1".into(), Timestamp(1), entry).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert_eq!(helve_store::Access::ended_sessions(&*store).await, Ok(vec![]));
    assert_eq!(store.audit_head().await.unwrap().seq, 1);
}

#[tokio::test]
async fn two_processes_that_write_to_one_file_write_one_chain() {
    let data = scratch();
    let (one, other) = (
        open(&data),
        Arc::new(SqliteStore::open(DataDir::open_shared(&data).unwrap(), Timestamp(1)).unwrap()),
    );
    tokio::join!(write(&*one, 20), write(&*other, 20));
    let head = verify_audit(&*one, vec![], |_| {}).await.unwrap();
    assert_eq!(head.map(|head| head.seq), Ok(40));
}

#[tokio::test]
async fn on_postgresql_an_entry_cannot_be_changed_by_mistake_and_one_that_was_is_found() {
    let Some(url) = database().await else { return };
    let store = serve(&url).await.unwrap();
    write(&store, 5).await;
    let client = connect(&url).await;
    for change in ["UPDATE audit SET at = 1", "DELETE FROM audit"] {
        let refused = client.batch_execute(change).await.unwrap_err();
        let said = refused.as_db_error().unwrap().message().to_owned();
        assert!(said.contains("neither changed nor deleted"), "{said}");
    }
    client
        .batch_execute(
            "DROP TRIGGER audit_is_not_changed ON audit; UPDATE audit SET by = 'p_x' WHERE seq = 4",
        )
        .await
        .unwrap();
    let found = verify_audit(&store, vec![], |_| {}).await.unwrap();
    assert_eq!(found, Err(ChainBreak::Changed { seq: 4 }));
}

#[tokio::test]
async fn two_processes_that_write_to_one_server_write_one_chain() {
    let Some(url) = database().await else { return };
    let (one, other) = (serve(&url).await.unwrap(), share(&url).await.unwrap());
    tokio::join!(write(&one, 20), write(&other, 20));
    let head = verify_audit(&one, vec![], |_| {}).await.unwrap();
    assert_eq!(head.map(|head| head.seq), Ok(40));
}
