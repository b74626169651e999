//! Brings a database to the newest layout: numbered files, each applied once, in a transaction.

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
    Migration {
        number: 2,
        name: "model_profiles",
        sql: include_str!("../migrations/sqlite/0002_model_profiles.sql"),
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
    for migration in &SQLITE[applied.len().min(SQLITE.len())..] {
        let Migration { number, name, sql } = *migration;
        let failed = |source| MigrateError::Failed { number, name, source };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql).map_err(failed)?;
        transaction.execute(
            "INSERT INTO migrations (number, name, checksum, at) VALUES (?1, ?2, ?3, ?4)",
            params![number, name, checksum_of(sql), now_ms],
        )?;
        transaction.commit()?;
    }
    Ok(())
}

fn applied(connection: &Connection) -> Result<Vec<(u32, String)>, rusqlite::Error> {
    let mut rows = connection.prepare("SELECT number, checksum FROM migrations ORDER BY number")?;
    let all = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    all.collect()
}

fn checksum_of(sql: &str) -> String {
    Sha256::digest(sql).iter().map(|byte| format!("{byte:02x}")).collect()
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
