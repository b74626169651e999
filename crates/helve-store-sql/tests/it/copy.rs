//! A database is copied from SQLite to PostgreSQL and back, and nothing is lost or changed on the way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_store::{ActFor, FullOutput, Place, RowKind, Store, Token, TokenRights, Urgency};
use helve_store_contract::Actor;
use helve_store_sql::{
    CopyError, CopyReport, CopyStep, DataDir, DatabasePlace, SqliteStore, copy_database, migrate_postgres,
    migrate_sqlite,
};
use helve_types::{CallId, Fact, Timestamp, UserId};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::postgres::{connect, database, line, serve, settings, text};
use super::{open, scratch};

const NOW: Timestamp = Timestamp(1);

async fn copy(from: &DatabasePlace, to: &DatabasePlace) -> Result<CopyReport, CopyError> {
    copy_database(from, to, NOW, |_| {}).await
}

fn sqlite(data: &Path) -> DatabasePlace {
    DatabasePlace::Sqlite(data.to_owned())
}

fn postgres(url: &str) -> DatabasePlace {
    DatabasePlace::Postgres(Box::new(settings(url)))
}

/// Rows of all kinds that a store writes, and one of each that it was not made to write here.
async fn fill(data: &Path) {
    let store = open(data);
    let mei = Actor::new(store.clone(), "mei");
    for number in 0..3 {
        let place = if number == 0 { Place::Nowhere } else { mei.new_conversation() };
        let mut run = mei.start(place, "梅雨 \u{1F327}").await;
        let call = CallId::new(run.run, 1, 0);
        let requested = Fact::ToolRequested {
            step: 1,
            call: call.clone(),
            provider_id: Some("c\0".into()),
            tool: "look".into(),
            arguments: "{\"a\": \"\0\"}".into(),
            part: None,
            replaces: None,
            repairs: vec![],
        };
        let mut batch = mei.batch(&mut run, vec![requested, text("so \u{0} it is")]);
        batch.full_outputs = vec![FullOutput { call, text: "out\0put".into() }];
        store.append(batch, Urgency::Now).await.unwrap();
    }
    let kind = RowKind::new("greeting");
    store.save_switch(kind, "hello".into(), false, line()).await.unwrap();
    store.save_switch(kind, "goodbye".into(), true, line()).await.unwrap();
    Store::close(&*store).await.unwrap();
    drop(store);
    // What else there is.
    let connection = Connection::open(data.join("helve.db")).unwrap();
    connection
        .execute_batch(
            r#"INSERT INTO files VALUES (x'00112233445566778899aabbccddeeff', 'f1', 'c1', 'a.bin', 'x/y', x'00ff00', 5);
               INSERT INTO approvals VALUES (x'00112233445566778899aabbccddee01', x'00112233445566778899aabbccddeeff',
                   'mei', '{}', 1, 2, 'pending', NULL, NULL, NULL, 1, '[]', 0, 5, NULL);
               INSERT INTO allowances VALUES (x'00112233445566778899aabbccddee01', 'mei', '', 'look', 'h', 'agent',
                   x'00112233445566778899aabbccddeeff', NULL, '{}', 'mei', 1, 2, NULL);
               INSERT INTO idempotency_keys VALUES ('mei', 'r', 'k', 'f', x'00112233445566778899aabbccddeeff', 9);
               INSERT INTO tool_sends VALUES ('look', 1, x'00112233445566778899aabbccddeeff', 2, 'mei'),
                   ('Look', 1, x'00112233445566778899aabbccddeeff', 2, 'mei'),
                   ('lóok', 1, x'ff112233445566778899aabbccddeeff', 2, 'mei');
               INSERT INTO plans VALUES ('mei', 1, 1, '{}', 'a', NULL, 1, 1), ('mei', 10, 1, '{}', 'b', 'c', 1, 1);
               INSERT INTO day_used VALUES (20000, 'mei', '', 5, 6, 7, 8);
               INSERT INTO definition_versions VALUES ('tool', 'w', 1, x'00000000000000000000000000000007', 'h', 1, '{}', 1, 1),
                   ('tool', 'w', 2, x'00000000000000000000000000000007', 'h', 0, '{}', 1, 2);
               INSERT INTO definitions VALUES ('tool', 'w', 2);
               INSERT INTO definition_offers VALUES ('tool', 'w', 'o', '{}', 'h', 1);
               INSERT INTO definition_grants VALUES ('tool', 'w', '{}', 'mei', 1);
               INSERT INTO definition_files VALUES ('h1', x'00ff00');
               INSERT INTO model_profiles VALUES ('m', 1, '{}');
               INSERT INTO tokens VALUES ('t1', x'0001', 'mei', 'chat', 'a note', 1, NULL, '*');
               INSERT INTO ended_sessions VALUES ('t1', 3);
               INSERT INTO people VALUES ('mei', 1, '{}');
               INSERT INTO user_identities VALUES ('https://id.example', 's1', 'mei');
               INSERT INTO user_groups VALUES ('sales', 1, '{}');
               INSERT INTO group_members VALUES ('mei', 'sales');
               INSERT INTO page_sessions VALUES (x'00ff', 'mei', 1, 2, NULL);
               INSERT INTO settings VALUES ('signing_key', 'abc');"#,
        )
        .unwrap();
    // Enough for several batches, and a number that is far from the next one.
    connection
        .execute_batch(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2600)
             INSERT INTO audit SELECT 1000 + i, i, 'p_1', NULL, 'a', 'line ' || i, x'00ff', zeroblob(32) FROM n;
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4)
             INSERT INTO outputs SELECT randomblob(16), 'big', hex(zeroblob(700000)) FROM n;",
        )
        .unwrap();
}

type AllRows = BTreeMap<String, Vec<Vec<Value>>>;

/// Names the tables that differ: some rows are too long to be shown.
fn assert_same(one: &AllRows, other: &AllRows) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let differ: Vec<&String> = one.keys().filter(|table| one[*table] != other[*table]).collect();
    assert!(differ.is_empty(), "{differ:?}");
}

/// Every row of every table.
fn rows(data: &Path) -> AllRows {
    let connection = Connection::open(data.join("helve.db")).unwrap();
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('migrations')";
    let mut names = connection.prepare(names).unwrap();
    let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut found = BTreeMap::new();
    for name in names.map(Result::unwrap) {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns = statement.column_count();
        let all = statement.query_map([], |row| (0..columns).map(|at| row.get(at)).collect()).unwrap();
        let mut all: Vec<Vec<Value>> = all.map(Result::unwrap).collect();
        all.sort_by_key(|row| format!("{row:?}"));
        found.insert(name, all);
    }
    found
}

/// As PostgreSQL can hold it.
fn without_nul(mut all: AllRows) -> AllRows {
    for (table, rows) in &mut all {
        for value in rows.iter_mut().flatten().filter(|_| table != "outputs") {
            if let Value::Text(text) = value {
                *text = text.replace('\0', "\u{FFFD}");
            }
        }
        rows.sort_by_key(|row| format!("{row:?}"));
    }
    all
}

async fn filled() -> PathBuf {
    let data = scratch();
    fill(&data).await;
    data
}

/// That no table has a row but those that whoever opens a database leaves.
async fn assert_empty(url: &str) {
    let client = connect(url).await;
    for table in rows(&filled_once()).keys().filter(|table| *table != "settings") {
        let row = client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 0, "{table}");
    }
}

/// A new database of SQLite, for the names of its tables.
fn filled_once() -> PathBuf {
    let data = scratch();
    migrate_sqlite(&DataDir::lock(&data).unwrap(), NOW).unwrap();
    data
}

#[tokio::test]
async fn what_is_copied_to_postgresql_and_back_is_what_it_was() {
    let Some(url) = database().await else { return };
    let data = filled().await;
    let before = rows(&data);
    assert!(before.values().all(|rows| !rows.is_empty()), "a table has no row: {:?}", {
        let empty = before.iter().filter(|(_, rows)| rows.is_empty());
        empty.map(|(name, _)| name).collect::<Vec<_>>()
    });
    let there = copy(&sqlite(&data), &postgres(&url)).await.unwrap();
    assert_eq!(there.rows(), before.values().map(|rows| rows.len() as u64).sum::<u64>());
    assert_eq!(there.tables.len(), before.len());
    // Three calls with two texts each; what a call returned keeps the character.
    assert_eq!(there.replaced, 6);
    assert_same(&rows(&data), &before);

    let again = scratch();
    let back = copy(&postgres(&url), &sqlite(&again)).await.unwrap();
    assert_eq!((back.tables, back.replaced), (there.tables, 0));
    assert_same(&rows(&again), &without_nul(before));
    SqliteStore::open(DataDir::lock(&again).unwrap(), NOW).unwrap();
}

#[tokio::test]
async fn a_server_goes_on_with_what_was_copied() {
    let Some(url) = database().await else { return };
    let data = filled().await;
    copy(&sqlite(&data), &postgres(&url)).await.unwrap();
    let store: Arc<dyn Store> = Arc::new(serve(&url).await.unwrap());
    // New rows get numbers of their own.
    store.save_switch(RowKind::new("greeting"), "hello".into(), true, line()).await.unwrap();
    let mei = Actor::new(store.clone(), "mei");
    mei.start(mei.new_conversation(), "another").await;
    let token = Token {
        id: "t2".into(),
        secret_hash: [0; 32],
        user: UserId::parse("mei").unwrap(),
        rights: TokenRights::Chat,
        act_for: ActFor::OnlySelf,
        note: String::new(),
        created_at: NOW,
        revoked_at: None,
    };
    store.create_token(token, line()).await.unwrap();
    let seq = connect(&url).await.query_one("SELECT max(seq) FROM audit", &[]).await.unwrap();
    assert_eq!(seq.get::<_, i64>(0), 3602);
}

#[tokio::test]
async fn a_row_that_the_target_changes_or_drops_is_found_and_nothing_is_kept() {
    let Some(url) = database().await else { return };
    let data = filled().await;
    migrate_postgres(&settings(&url), NOW).await.unwrap();
    let client = connect(&url).await;
    let changing = |body: &str| {
        format!(
            "CREATE OR REPLACE FUNCTION change_row() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN {body} RETURN NEW; END $$;
             DROP TRIGGER IF EXISTS change ON audit;
             CREATE TRIGGER change BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION change_row();"
        )
    };
    let one = "IF NEW.seq = 2345 THEN";
    for (body, said) in [
        ("NEW.detail := NEW.detail || ' ';", "the table `audit`, row 2345, column `detail`"),
        ("NEW.at := NEW.at + 1;", "the table `audit`, row 2345, column `at`"),
        ("RETURN NULL;", "another number of rows in the table `audit`, from row 2345 on"),
        ("NEW.seq := 1000000;", "another number of rows in the table `audit`, from row 2345 on"),
    ] {
        client.batch_execute(&changing(&format!("{one} {body} END IF;"))).await.unwrap();
        let refused = copy(&sqlite(&data), &postgres(&url)).await.unwrap_err().to_string();
        assert!(refused.contains(said) && refused.contains("nothing was kept"), "{refused}");
        assert_empty(&url).await;
    }
    let fails = "IF NEW.seq = 2345 THEN RAISE EXCEPTION 'no room'; END IF;";
    client.batch_execute(&changing(fails)).await.unwrap();
    let refused = copy(&sqlite(&data), &postgres(&url)).await.unwrap_err().to_string();
    assert!(
        refused.contains("the table `audit` cannot be written") && refused.contains("no room"),
        "{refused}"
    );
    assert_empty(&url).await;
    client.batch_execute("DROP TRIGGER change ON audit").await.unwrap();
    copy(&sqlite(&data), &postgres(&url)).await.unwrap();

    // And on the way back.
    let again = filled_once();
    let trigger = "CREATE TRIGGER change AFTER INSERT ON tokens BEGIN UPDATE tokens SET note = 'other'; END";
    Connection::open(again.join("helve.db")).unwrap().execute_batch(trigger).unwrap();
    let refused = copy(&postgres(&url), &sqlite(&again)).await.unwrap_err().to_string();
    assert!(refused.contains("the table `tokens`, row t1, column `note`"), "{refused}");
    assert!(rows(&again).iter().all(|(name, rows)| name == "settings" || rows.is_empty()));
}

#[tokio::test]
async fn a_copy_that_is_given_up_leaves_the_target_empty() {
    let Some(url) = database().await else { return };
    let data = filled().await;
    for (table, step) in [("runs", CopyStep::Copying), ("audit", CopyStep::Comparing)] {
        let (given_up, until) = tokio::sync::oneshot::channel();
        let mut given_up = Some(given_up);
        let tell = move |progress: helve_store_sql::CopyProgress| {
            if (progress.table, progress.step) == (table, step)
                && let Some(given_up) = given_up.take()
            {
                given_up.send(()).unwrap();
            }
        };
        let (from, to) = (sqlite(&data), postgres(&url));
        tokio::select! {
            biased;
            until = until => until.unwrap(),
            done = copy_database(&from, &to, NOW, tell) => panic!("{done:?}"),
        }
        // The server may still be about to notice.
        let client = connect(&url).await;
        client.batch_execute("BEGIN; LOCK TABLE audit IN ACCESS EXCLUSIVE MODE; COMMIT").await.unwrap();
        assert_empty(&url).await;
    }
    // Nothing is held any more.
    let copied = copy(&sqlite(&data), &postgres(&url)).await;
    assert!(copied.is_ok(), "{copied:?}");
}

#[tokio::test]
async fn a_target_that_is_not_empty_is_refused_and_left_alone() {
    let Some(url) = database().await else { return };
    let (data, other) = (filled().await, filled().await);
    let before = rows(&other);
    copy(&sqlite(&data), &postgres(&url)).await.unwrap();
    let refused = copy(&sqlite(&data), &postgres(&url)).await.unwrap_err();
    assert!(matches!(refused, CopyError::NotEmpty { table: "users", .. }), "{refused}");
    let refused = copy(&postgres(&url), &sqlite(&other)).await.unwrap_err();
    assert!(matches!(refused, CopyError::NotEmpty { table: "users", .. }), "{refused}");
    assert_same(&rows(&other), &before);
}

#[tokio::test]
async fn nothing_is_copied_while_a_server_uses_either_database() {
    let Some(url) = database().await else { return };
    let data = filled().await;
    let server = serve(&url).await.unwrap();
    for (from, to) in [(sqlite(&data), postgres(&url)), (postgres(&url), sqlite(&scratch()))] {
        let refused = copy(&from, &to).await.unwrap_err().to_string();
        assert!(refused.contains("is in use by another server of Helve"), "{refused}");
    }
    let refused = migrate_postgres(&settings(&url), NOW).await.unwrap_err().to_string();
    assert!(refused.contains("is in use by another server of Helve"), "{refused}");
    Store::close(&server).await.unwrap();
    drop(server);
    let held = DataDir::lock(&data).unwrap();
    let refused = copy(&sqlite(&data), &postgres(&url)).await.unwrap_err();
    assert!(matches!(refused, CopyError::DataDir(_)), "{refused}");
    drop(held);
    copy(&sqlite(&data), &postgres(&url)).await.unwrap();
}

#[tokio::test]
async fn only_databases_of_the_newest_layout_are_copied() {
    let Some(url) = database().await else { return };
    let data = filled().await;
    let nothing = copy(&sqlite(&scratch()), &postgres(&url)).await.unwrap_err();
    assert!(matches!(nothing, CopyError::NoDatabase { .. }), "{nothing}");
    let nothing = copy(&postgres(&url), &sqlite(&scratch())).await.unwrap_err();
    assert!(matches!(nothing, CopyError::NoDatabase { .. }), "{nothing}");
    migrate_postgres(&settings(&url), NOW).await.unwrap();
    let client = connect(&url).await;
    client.batch_execute("DELETE FROM migrations WHERE number > 1").await.unwrap();
    let behind = copy(&sqlite(&data), &postgres(&url)).await.unwrap_err();
    assert!(matches!(behind, CopyError::Behind { .. }), "{behind}");
    client.batch_execute("INSERT INTO migrations VALUES (9999, 'later', 'x', 1)").await.unwrap();
    let newer = copy(&sqlite(&data), &postgres(&url)).await.unwrap_err().to_string();
    assert!(newer.contains("was written by a newer Helve (layout 9999)"), "{newer}");
}

#[tokio::test]
async fn a_copy_between_databases_of_sqlite_needs_no_server() {
    let data = filled().await;
    let target = scratch();
    let report = copy(&sqlite(&data), &sqlite(&target)).await.unwrap();
    assert_eq!(report.replaced, 0);
    assert_same(&rows(&target), &rows(&data));
    let onto_itself = copy(&sqlite(&data), &sqlite(&data)).await.unwrap_err();
    assert!(matches!(onto_itself, CopyError::DataDir(_)), "{onto_itself}");
}
