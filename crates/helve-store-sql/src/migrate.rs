//! Brings a database to the newest layout: numbered files, each applied once, all that are new in one transaction.

use helve_store::StoreError;
use helve_types::hex;
use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use crate::layout::Layout;
use crate::sqlite::chain_old_entries;

pub(crate) struct Migration {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// The change that is not SQL alone: hashes are computed by Helve.
pub(crate) const AUDIT_CHAIN: u32 = 21;

/// Never edited after a release; a change of the layout is a new file.
pub(crate) const SQLITE: &[Migration] = &[
    Migration { number: 1, name: "journal", sql: include_str!("../migrations/sqlite/0001_journal.sql") },
    Migration { number: 2, name: "spent", sql: include_str!("../migrations/sqlite/0002_spent.sql") },
    Migration {
        number: 3,
        name: "model_profiles",
        sql: include_str!("../migrations/sqlite/0003_model_profiles.sql"),
    },
    Migration { number: 4, name: "tools", sql: include_str!("../migrations/sqlite/0004_tools.sql") },
    Migration {
        number: 5,
        name: "executions",
        sql: include_str!("../migrations/sqlite/0005_executions.sql"),
    },
    Migration {
        number: 6,
        name: "files_and_plans",
        sql: include_str!("../migrations/sqlite/0006_files_and_plans.sql"),
    },
    Migration {
        number: 7,
        name: "allowances",
        sql: include_str!("../migrations/sqlite/0007_allowances.sql"),
    },
    Migration { number: 9, name: "budgets", sql: include_str!("../migrations/sqlite/0009_budgets.sql") },
    Migration { number: 10, name: "pins", sql: include_str!("../migrations/sqlite/0010_pins.sql") },
    Migration { number: 11, name: "shares", sql: include_str!("../migrations/sqlite/0011_shares.sql") },
    Migration { number: 12, name: "act_for", sql: include_str!("../migrations/sqlite/0012_act_for.sql") },
    Migration {
        number: 13,
        name: "open_calls",
        sql: include_str!("../migrations/sqlite/0013_open_calls.sql"),
    },
    Migration {
        number: 14,
        name: "tool_sends",
        sql: include_str!("../migrations/sqlite/0014_tool_sends.sql"),
    },
    Migration {
        number: 15,
        name: "fewer_pages",
        sql: include_str!("../migrations/sqlite/0015_fewer_pages.sql"),
    },
    Migration {
        number: 16,
        name: "tool_grants",
        sql: include_str!("../migrations/sqlite/0016_tool_grants.sql"),
    },
    Migration {
        number: 17,
        name: "definitions",
        sql: include_str!("../migrations/sqlite/0017_definitions.sql"),
    },
    Migration {
        number: 18,
        name: "call_states",
        sql: include_str!("../migrations/sqlite/0018_call_states.sql"),
    },
    Migration {
        number: 19,
        name: "user_bytes",
        sql: include_str!("../migrations/sqlite/0019_user_bytes.sql"),
    },
    Migration { number: 20, name: "people", sql: include_str!("../migrations/sqlite/0020_people.sql") },
    Migration {
        number: AUDIT_CHAIN,
        name: "audit_and_approvers",
        sql: include_str!("../migrations/sqlite/0021_audit_and_approvers.sql"),
    },
    Migration { number: 23, name: "subagents", sql: include_str!("../migrations/sqlite/0023_subagents.sql") },
    Migration {
        number: 24,
        name: "definition_files",
        sql: include_str!("../migrations/sqlite/0024_definition_files.sql"),
    },
];

#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error(
        "the database was written by a newer Helve (layout {0}); start that version, or use another --data"
    )]
    Newer(u32),

    #[error("layout {number} of the database is not the one this Helve knows; was a migration edited?")]
    Changed { number: u32 },

    #[error("layout {number} (`{name}`) cannot be applied")]
    Failed { number: u32, name: &'static str, source: rusqlite::Error },

    #[error("the audit log cannot be chained")]
    Audit(#[source] StoreError),

    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

pub(crate) fn migrate(connection: &mut Connection, now_ms: i64) -> Result<(), MigrateError> {
    apply_new(connection, SQLITE, now_ms)
}

/// Applies those of the known migrations that the database does not have yet.
fn apply_new(connection: &mut Connection, known: &[Migration], now_ms: i64) -> Result<(), MigrateError> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (
             number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, at INTEGER NOT NULL
         ) STRICT",
    )?;
    let new = list_pending(&list_applied(connection)?, known)?;
    // All or none: a crash leaves the old layout, and a new database waits for the disk once.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for migration in new {
        let Migration { number, name, sql } = *migration;
        transaction.execute_batch(sql).map_err(|source| MigrateError::Failed { number, name, source })?;
        if number == AUDIT_CHAIN {
            chain_old_entries(&transaction).map_err(MigrateError::Audit)?;
        }
        transaction.execute(
            "INSERT INTO migrations (number, name, checksum, at) VALUES (?1, ?2, ?3, ?4)",
            params![number, name, checksum_of(sql), now_ms],
        )?;
    }
    transaction.commit()?;
    Ok(())
}

/// Those of the known migrations that were not applied yet, if all that were are known.
pub(crate) fn list_pending<'a>(
    applied: &[(u32, String)],
    known: &'a [Migration],
) -> Result<Vec<&'a Migration>, MigrateError> {
    for (number, checksum) in applied {
        match known.iter().find(|known| known.number == *number) {
            None => return Err(MigrateError::Newer(*number)),
            Some(known) if checksum_of(known.sql) != *checksum => {
                return Err(MigrateError::Changed { number: *number });
            }
            Some(_) => {}
        }
    }
    // By number and not by position: one that was made on another branch may come after later ones.
    let is_new = |migration: &&Migration| applied.iter().all(|(number, _)| *number != migration.number);
    Ok(known.iter().filter(is_new).collect())
}

/// How far a database is, without changing it.
pub(crate) fn read_layout(connection: &Connection) -> Result<Layout, MigrateError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations')";
    let has_list: bool = connection.query_row(sql, [], |row| row.get(0))?;
    let applied = if has_list { list_applied(connection)? } else { vec![] };
    Layout::new(&applied, SQLITE)
}

fn list_applied(connection: &Connection) -> Result<Vec<(u32, String)>, rusqlite::Error> {
    let mut rows = connection.prepare("SELECT number, checksum FROM migrations ORDER BY number")?;
    let all = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    all.collect()
}

pub(crate) fn checksum_of(sql: &str) -> String {
    hex(&Sha256::digest(sql))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use helve_store::{ChainVerifier, RowGrant, RowKind, RowOffer, RowRecord, Rows};
    use helve_types::{RowId, Timestamp};

    use super::*;
    use crate::postgres::POSTGRES;
    use crate::{DataDir, SqliteStore};

    #[test]
    fn an_up_to_date_database_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        migrate(&mut connection, 2).unwrap();
        assert_eq!(list_applied(&connection).unwrap().len(), SQLITE.len());
    }

    #[test]
    fn a_migration_is_applied_by_its_number_also_when_later_ones_were_applied_before() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        let numbers = |connection: &Connection| -> Vec<u32> {
            list_applied(connection).unwrap().into_iter().map(|(number, _)| number).collect()
        };
        let all = numbers(&connection);
        connection
            .execute_batch("DROP TABLE model_profiles; DELETE FROM migrations WHERE number = 3;")
            .unwrap();
        migrate(&mut connection, 2).unwrap();
        assert_eq!(numbers(&connection), all);
        connection.execute_batch("SELECT count(*) FROM model_profiles").unwrap();
    }

    #[test]
    fn migrations_stand_in_the_order_of_their_numbers() {
        assert!(SQLITE.is_sorted_by(|one, next| one.number < next.number));
        assert!(POSTGRES.is_sorted_by(|one, next| one.number < next.number));
    }

    #[test]
    fn a_change_of_the_layout_is_made_on_sqlite_and_on_postgresql_under_one_number() {
        let later = |known: &[Migration]| -> Vec<(u32, &str)> {
            let later = known.iter().filter(|known| known.number > 18);
            later.map(|known| (known.number, known.name)).collect()
        };
        assert_eq!(later(SQLITE), later(POSTGRES));
    }

    #[test]
    fn an_open_run_from_before_is_the_active_run_of_its_conversation_and_has_its_setup() {
        let connection = Connection::open_in_memory().unwrap();
        for known in SQLITE.iter().filter(|known| known.number < 15) {
            connection.execute_batch(known.sql).unwrap();
        }
        let run =
            "id, user, conversation, history, state, epoch, owner, resumes, setup, created_at, ended_at";
        connection
            .execute_batch(&format!(
                "INSERT INTO users VALUES ('mei', 1);
                 INSERT INTO conversations (id, user, title, messages, created_at, updated_at)
                     VALUES (x'0c', 'mei', 'busy', 2, 1, 1), (x'0d', 'mei', 'free', 2, 1, 1);
                 INSERT INTO runs ({run}) VALUES
                     (x'01', 'mei', x'0c', 0, 'completed', 1, 'o', 0, '{{}}', 1, 2),
                     (x'02', 'mei', x'0c', 2, 'waiting_client', 1, 'o', 0, '{{}}', 3, NULL),
                     (x'03', 'mei', x'0d', 0, 'failed', 1, 'o', 0, '{{}}', 1, 2),
                     (x'04', 'mei', NULL, 0, 'running', 1, 'o', 0, '{{\"other\":1}}', 1, NULL);"
            ))
            .unwrap();
        let last = SQLITE.iter().find(|known| known.number == 15).unwrap();
        connection.execute_batch(last.sql).unwrap();
        let mut rows = connection.prepare("SELECT active_run FROM conversations ORDER BY id").unwrap();
        let active = rows.query_map([], |row| row.get::<_, Option<Vec<u8>>>(0)).unwrap();
        assert_eq!(active.collect::<Result<Vec<_>, _>>().unwrap(), [Some(vec![2]), None]);
        // And what runs were started with is kept once.
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(number("SELECT count(*) FROM setups"), 2);
        let own = "SELECT count(*) FROM runs JOIN setups ON setups.id = setup_id
                   WHERE body = CASE runs.id WHEN x'04' THEN '{\"other\":1}' ELSE '{}' END";
        assert_eq!(number(own), 4);
    }

    #[test]
    fn what_was_spent_before_there_were_sums_is_summed_once() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SQLITE[0].sql).unwrap();
        let step =
            r#"{"type":"step.finished","usage":{"input_tokens":10,"output_tokens":5,"cached_tokens":4}}"#;
        connection
            .execute_batch(&format!(
                "INSERT INTO users VALUES ('mei', 1);
                 INSERT INTO conversations VALUES (x'0c', 'mei', 'a talk', 2, 1, 1), (x'0d', 'mei', 'empty', 0, 1, 1);
                 INSERT INTO runs VALUES (x'01', 'mei', x'0c', 0, 'completed', 1, 'o', 0, '{{}}', 1, 2),
                                         (x'02', 'mei', x'0c', 0, 'completed', 1, 'o', 0, '{{}}', 1, 2);
                 INSERT INTO run_events VALUES (x'01', 2, 'step.finished', '{step}'),
                                               (x'01', 3, 'step.finished', '{step}'),
                                               (x'02', 2, 'step.finished', '{step}'),
                                               (x'02', 1, 'run.started', '{{}}');"
            ))
            .unwrap();
        connection.execute_batch(SQLITE[1].sql).unwrap();
        let sums = |table: &str, id: &str| {
            let sql = format!(
                "SELECT input_tokens, output_tokens, cached_tokens, cost_nanos FROM {table} WHERE id = x'{id}'"
            );
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            connection.query_row(&sql, [], row).unwrap()
        };
        assert_eq!(sums("runs", "01"), (20_i64, 10_i64, 8_i64, None::<i64>));
        assert_eq!(sums("conversations", "0c"), (30, 15, 12, None));
        assert_eq!(sums("conversations", "0d"), (0, 0, 0, None));
    }

    #[test]
    fn calls_from_before_there_was_a_list_say_whose_they_were_and_what_became_of_them() {
        let connection = Connection::open_in_memory().unwrap();
        let (executions, before) = SQLITE
            .iter()
            .find(|known| known.name == "executions")
            .map(|last| (last.sql, SQLITE.iter().filter(|known| known.number < last.number)))
            .unwrap();
        before.for_each(|known| connection.execute_batch(known.sql).unwrap());
        let call = "id, step, tool, arguments, state, attempt, trail, requested_at";
        connection
            .execute_batch(&format!(
                r#"INSERT INTO users VALUES ('mei', 1);
                 INSERT INTO runs (id, user, history, state, epoch, owner, resumes, setup, created_at)
                     VALUES (x'01', 'mei', 0, 'completed', 1, 'o', 0, '{{}}', 1);
                 INSERT INTO tool_calls (run, {call}) VALUES
                     (x'01', 'a', 1, 'look', '{{}}', 'succeeded', 1, '[]', 1),
                     (x'01', 'b', 1, 'look', '{{}}', 'failed', 1, '[]', 1),
                     (x'01', 'c', 1, 'look', '{{}}', 'planned', 0, '[]', 1);
                 INSERT INTO run_events VALUES
                     (x'01', 2, 'tool.unknown', '{{"call":"a","because":"cut off"}}'),
                     (x'01', 3, 'tool.finished', '{{"call":"a","output":{{"text":"梅"}}}}'),
                     (x'01', 4, 'tool.failed', '{{"call":"b","failure":{{"kind":"failed","message":"no"}}}}');"#
            ))
            .unwrap();
        connection.execute_batch(executions).unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        type Row = (String, Option<String>, Option<String>, Option<i64>);
        let rows: Vec<Row> = connection
            .prepare("SELECT user, failure, problem, output_bytes FROM tool_calls ORDER BY id")
            .unwrap()
            .query_map([], row)
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let mei = || "mei".to_owned();
        assert_eq!(
            rows,
            [
                (mei(), None, None, Some(3)),
                (mei(), Some("failed".into()), Some("no".into()), None),
                (mei(), None, None, None),
            ]
        );
    }

    #[test]
    fn what_was_logged_before_there_was_a_chain_is_chained_without_names() {
        let mut connection = Connection::open_in_memory().unwrap();
        let last = SQLITE.iter().position(|known| known.number == AUDIT_CHAIN).unwrap();
        apply_new(&mut connection, &SQLITE[..last], 1).unwrap();
        connection
            .execute_batch(
                "INSERT INTO audit VALUES (3, 1, 'mei', 'tool.created', 'weather h1'),
                     (7, 2, 'li', 'allowance.made', 'a1 send for mei within run of mail'),
                     (8, 3, 'mei', 'tool.created', 'x for li within y');
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
                     INSERT INTO audit SELECT 100 + i, i, 'mei', 'a', 'line ' || i FROM n;",
            )
            .unwrap();
        migrate(&mut connection, 2).unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let sql = "SELECT detail, user FROM audit LEFT JOIN pseudonyms ON pseudonym = about WHERE seq = ?1";
        let read = |seq: i64| -> (String, Option<String>) { connection.query_row(sql, [seq], row).unwrap() };
        assert_eq!(read(1), ("weather h1".into(), None));
        assert_eq!(read(2), ("a1 send within run of mail".into(), Some("mei".into())));
        assert_eq!(read(3), ("x for li within y".into(), None));
        let chained = crate::sqlite::read_chain(&connection, 0, 9_999).unwrap();
        let mut verifier = ChainVerifier::new(2_503, vec![]);
        chained.into_iter().try_for_each(|entry| verifier.check(entry)).unwrap();
        assert_eq!(verifier.finish().unwrap().seq, 2_503);
        for change in ["UPDATE audit SET at = 1", "DELETE FROM audit"] {
            assert!(connection.execute_batch(change).is_err(), "{change}");
        }
    }

    /// A database of layout 16, in which tools had tables of their own.
    fn old_tools(path: &Path) {
        let mut connection = Connection::open(path).unwrap();
        let last = SQLITE.iter().position(|known| known.number == 17).unwrap();
        apply_new(&mut connection, &SQLITE[..last], 1).unwrap();
        connection
            .execute_batch(
                r#"INSERT INTO tool_versions VALUES
                     ('weather', 1, x'00000000000000000000000000000007', 'h1',
                      '{"name":"weather","description":"梅雨","enabled":true,"limit":1.50}', 1, 1),
                     ('weather', 2, x'00000000000000000000000000000007', 'h1',
                      '{"name":"weather","description":"梅雨","enabled":false,"limit":1.50}', 1, 2),
                     ('gone', 1, x'00000000000000000000000000000008', 'h2', '{"name":"gone"}', 3, 3);
                   INSERT INTO tools VALUES ('weather', 2);
                   INSERT INTO tool_offers VALUES
                     ('weather', 'openapi:w', '{"name":"weather","enabled":true}', 'h1', 4);
                   INSERT INTO tool_grants VALUES ('weather', '{"kind":"host","place":"p:1"}', 'mei', 5);
                   INSERT INTO tool_switches VALUES ('time', 0), ('calculator', 1);
                   INSERT INTO settings VALUES ('tool_changes', '41');
                   INSERT INTO audit (at, by, action, detail) VALUES (1, 'mei', 'tool.created', 'weather h1');"#,
            )
            .unwrap();
    }

    #[tokio::test]
    async fn a_database_in_which_tools_had_tables_of_their_own_is_opened_with_every_row() {
        let dir = tempfile::tempdir().unwrap();
        let held = DataDir::lock(dir.path()).unwrap();
        let path = held.database();
        old_tools(&path);
        let store = SqliteStore::open(held, Timestamp(9)).unwrap();

        let kind = RowKind::new("tool");
        let row = |name: &str, id, version, hash: &str, enabled, body: &str, (created, updated)| RowRecord {
            kind,
            name: name.into(),
            id: RowId(uuid::Uuid::from_u128(id)),
            version,
            hash: hash.into(),
            enabled,
            body: body.into(),
            created_at: Timestamp(created),
            updated_at: Timestamp(updated),
        };
        let body = r#"{"name":"weather","description":"梅雨","limit":1.50}"#;
        let first = row("weather", 7, 1, "h1", true, body, (1, 1));
        let second = row("weather", 7, 2, "h1", false, body, (1, 2));
        assert_eq!(store.rows(kind).await.unwrap(), std::slice::from_ref(&second));
        assert_eq!(store.row_versions(kind, "weather".into()).await.unwrap(), [first, second]);
        let gone = row("gone", 8, 1, "h2", true, r#"{"name":"gone"}"#, (3, 3));
        assert_eq!(store.row_versions(kind, "gone".into()).await.unwrap(), [gone]);
        let offer = RowOffer {
            kind,
            name: "weather".into(),
            origin: "openapi:w".into(),
            body: r#"{"name":"weather"}"#.into(),
            over: "h1".into(),
            at: Timestamp(4),
        };
        assert_eq!(store.offers(kind).await.unwrap(), [offer]);
        let grant = RowGrant {
            kind,
            name: "weather".into(),
            grant: r#"{"kind":"host","place":"p:1"}"#.into(),
            by: "mei".into(),
            at: Timestamp(5),
        };
        assert_eq!(store.grants(kind).await.unwrap(), [grant]);
        let switches = [("calculator".to_owned(), true), ("time".to_owned(), false)];
        assert_eq!(store.switches(kind).await.unwrap(), switches);
        assert_eq!(store.row_changes(kind).await.unwrap(), 41);

        let reader = Connection::open(&path).unwrap();
        let number = |sql: &str| reader.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(number("SELECT count(*) FROM audit WHERE action = 'tool.created'"), 1);
        assert_eq!(
            number(
                "SELECT count(*) FROM sqlite_master WHERE name IN
             ('tools', 'tool_versions', 'tool_offers', 'tool_grants', 'tool_switches')"
            ),
            0
        );
    }

    #[test]
    fn what_a_user_keeps_in_an_older_database_is_counted_on() {
        let connection = Connection::open_in_memory().unwrap();
        let bytes = SQLITE.iter().find(|known| known.name == "user_bytes").unwrap();
        let before = SQLITE.iter().filter(|known| known.number < bytes.number);
        before.for_each(|known| connection.execute_batch(known.sql).unwrap());
        connection
            .execute_batch(
                "INSERT INTO users VALUES ('mei', 1), ('tom', 1);
                 INSERT INTO runs (id, user, history, state, epoch, owner, resumes, created_at)
                     VALUES (x'01', 'mei', 0, 'completed', 1, 'o', 0, 1),
                            (x'02', 'mei', 0, 'completed', 1, 'o', 0, 1),
                            (x'03', 'tom', 0, 'completed', 1, 'o', 0, 1);
                 INSERT INTO run_bytes VALUES ('mei', x'01', 100), ('mei', x'02', 20), ('gone', x'09', 7);",
            )
            .unwrap();
        connection.execute_batch(bytes.sql).unwrap();
        let list = |sql: &str| {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
            rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()
        };
        let of = |name: &str, bytes| (name.to_owned(), bytes);
        assert_eq!(list("SELECT user, bytes FROM user_bytes ORDER BY user"), [of("gone", 7), of("mei", 120)]);
        assert_eq!(
            list("SELECT hex(id), bytes FROM runs ORDER BY id"),
            [of("01", 100), of("02", 20), of("03", 0)]
        );
    }

    #[test]
    fn calls_of_older_databases_get_the_words_of_today() {
        let connection = Connection::open_in_memory().unwrap();
        let states = SQLITE.iter().find(|known| known.name == "call_states").unwrap();
        let before = SQLITE.iter().filter(|known| known.number < states.number);
        before.for_each(|known| connection.execute_batch(known.sql).unwrap());
        let call = "id, step, tool, arguments, attempt, trail, requested_at, state, bad_end, failure";
        connection
            .execute_batch(&format!(
                r#"INSERT INTO users VALUES ('mei', 1);
                 INSERT INTO runs (id, user, history, state, epoch, owner, resumes, created_at)
                     VALUES (x'01', 'mei', 0, 'completed', 1, 'o', 0, 1);
                 INSERT INTO tool_calls (run, {call}) VALUES
                     (x'01', 'a', 1, 'look', '{{}}', 0, '[]', 1, 'planned', NULL, NULL),
                     (x'01', 'b', 1, 'look', '{{}}', 1, '[]', 1, 'started', NULL, NULL),
                     (x'01', 'c', 1, 'look', '{{}}', 1, '[]', 1, 'succeeded', NULL, NULL),
                     (x'01', 'd', 1, 'look', '{{}}', 0, '[]', 1, 'denied', 'denied', 'denied'),
                     (x'01', 'e', 1, 'look', '{{}}', 0, '[]', 1, 'failed', 'failed', 'bad_arguments'),
                     (x'01', 'f', 1, 'look', '{{}}', 1, '[]', 1, 'failed', 'failed', 'timed_out'),
                     (x'01', 'g', 1, 'look', '{{}}', 1, '[]', 1, 'failed', 'failed', 'cancelled'),
                     (x'01', 'h', 1, 'look', '{{}}', 0, '[]', 1, 'failed', 'failed', 'cancelled'),
                     (x'01', 'i', 1, 'look', '{{}}', 0, '[]', 1, 'expired', 'expired', 'unanswered');
                 INSERT INTO run_events VALUES (x'01', 2, 'tool.failed', '{{"call":"g"}}'),
                     (x'01', 3, 'tool.refused', '{{"call":"h"}}');"#
            ))
            .unwrap();
        connection.execute_batch(states.sql).unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let rows: Vec<(String, Option<String>)> = connection
            .prepare("SELECT state, bad_end FROM tool_calls ORDER BY id")
            .unwrap()
            .query_map([], row)
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let words: Vec<_> = rows.iter().map(|(state, end)| (state.as_str(), end.as_deref())).collect();
        let bad = |word| (word, Some(word));
        assert_eq!(
            words,
            [
                ("requested", None),
                ("running", None),
                ("finished", None),
                bad("refused"),
                bad("refused"),
                bad("failed"),
                bad("failed"),
                bad("refused"),
                bad("expired"),
            ]
        );
        assert!(words.iter().all(|(state, _)| helve_types::CallState::parse(state).is_some()));
    }

    #[test]
    fn a_database_from_the_future_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        connection.execute("INSERT INTO migrations VALUES (999, 'x', 'y', 1)", []).unwrap();
        assert!(matches!(migrate(&mut connection, 2), Err(MigrateError::Newer(999))));
    }

    #[test]
    fn an_edited_migration_is_noticed() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        connection.execute("UPDATE migrations SET checksum = 'z'", []).unwrap();
        assert!(matches!(migrate(&mut connection, 2), Err(MigrateError::Changed { number: 1 })));
    }
}
