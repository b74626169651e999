//! Brings a database to the newest layout: numbered files, each applied once, all that are new in one transaction.

use helve_types::hex;
use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest, Sha256};

struct Migration {
    number: u32,
    name: &'static str,
    sql: &'static str,
}

/// Never edited after a release; a change of the layout is a new file.
const SQLITE: &[Migration] = &[
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
        number: 18,
        name: "call_states",
        sql: include_str!("../migrations/sqlite/0018_call_states.sql"),
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

    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

pub(crate) fn migrate(connection: &mut Connection, now_ms: i64) -> Result<(), MigrateError> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (
             number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, at INTEGER NOT NULL
         ) STRICT",
    )?;
    let applied = applied(connection)?;
    for (number, checksum) in &applied {
        match SQLITE.iter().find(|known| known.number == *number) {
            None => return Err(MigrateError::Newer(*number)),
            Some(known) if checksum_of(known.sql) != *checksum => {
                return Err(MigrateError::Changed { number: *number });
            }
            Some(_) => {}
        }
    }
    // By number and not by position: one that was made on another branch may come after later ones.
    let is_new = |migration: &&Migration| applied.iter().all(|(number, _)| *number != migration.number);
    // All or none: a crash leaves the old layout, and a new database waits for the disk once.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for migration in SQLITE.iter().filter(is_new) {
        let Migration { number, name, sql } = *migration;
        transaction.execute_batch(sql).map_err(|source| MigrateError::Failed { number, name, source })?;
        transaction.execute(
            "INSERT INTO migrations (number, name, checksum, at) VALUES (?1, ?2, ?3, ?4)",
            params![number, name, checksum_of(sql), now_ms],
        )?;
    }
    transaction.commit()?;
    Ok(())
}

fn applied(connection: &Connection) -> Result<Vec<(u32, String)>, rusqlite::Error> {
    let mut rows = connection.prepare("SELECT number, checksum FROM migrations ORDER BY number")?;
    let all = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    all.collect()
}

fn checksum_of(sql: &str) -> String {
    hex(&Sha256::digest(sql))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_up_to_date_database_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        migrate(&mut connection, 2).unwrap();
        assert_eq!(applied(&connection).unwrap().len(), SQLITE.len());
    }

    #[test]
    fn a_migration_is_applied_by_its_number_also_when_later_ones_were_applied_before() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 1).unwrap();
        let numbers = |connection: &Connection| -> Vec<u32> {
            applied(connection).unwrap().into_iter().map(|(number, _)| number).collect()
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
