//! The audit log: entries are chained in the transaction of what they are about.

use helve_store::{
    Audit, AuditEntry, AuditFilter, AuditHead, AuditRecord, ChainHash, ChainedEntry, StoreError, StoreFuture,
};
use helve_types::{Timestamp, UserId};
use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use super::columns::{all, column, execute, first};

impl Audit for SqliteStore {
    fn record_audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| append(connection, &entry))
    }

    fn audit_head(&self) -> StoreFuture<'_, AuditHead> {
        self.read(head)
    }

    fn audit_chain(&self, after: u64, limit: usize) -> StoreFuture<'_, Vec<ChainedEntry>> {
        self.read(move |connection| read_chain(connection, after, limit))
    }

    fn audit_records(&self, filter: AuditFilter, limit: usize) -> StoreFuture<'_, Vec<AuditRecord>> {
        self.read(move |connection| list(connection, &filter, limit))
    }

    fn forget_pseudonym(&self, user: UserId, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(move |connection| forget_pseudonym(connection, &user, &entry))
    }
}

/// Adds an entry to the end of the chain. The writer has the database to itself, so there is one end.
pub(crate) fn append(connection: &Connection, entry: &AuditEntry) -> Result<(), StoreError> {
    let by = pseudonym_of(connection, &entry.by)?;
    let about = entry.about.as_deref().map(|user| pseudonym_of(connection, user)).transpose()?;
    let chained = ChainedEntry::after(head(connection)?, entry, by, about);
    execute(
        connection,
        "INSERT INTO audit (seq, at, by, about, action, detail, previous, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            number_of(chained.seq),
            chained.at.0,
            chained.by,
            chained.about,
            chained.action,
            chained.detail,
            chained.previous.0,
            chained.hash.0
        ],
    )?;
    Ok(())
}

/// After the entry that says so.
pub(crate) fn forget_pseudonym(
    connection: &Connection,
    user: &UserId,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    append(connection, entry)?;
    execute(connection, "DELETE FROM pseudonyms WHERE user = ?1", [&user.0])?;
    Ok(())
}

/// The pseudonym of a user, or a random one from now on.
fn pseudonym_of(connection: &Connection, user: &str) -> Result<String, StoreError> {
    let held = "SELECT pseudonym FROM pseudonyms WHERE user = ?1";
    let find = || first(connection, held, [user], |row| column(row, "pseudonym"));
    if let Some(held) = find()? {
        return Ok(held);
    }
    let sql = "INSERT INTO pseudonyms (user, pseudonym) VALUES (?1, 'p_' || lower(hex(randomblob(16))))";
    execute(connection, sql, [user])?;
    find()?.ok_or(StoreError::NotFound("pseudonym"))
}

fn head(connection: &Connection) -> Result<AuditHead, StoreError> {
    let sql = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1";
    let head = first(connection, sql, [], |row| {
        Ok(AuditHead { seq: column(row, "seq")?, hash: ChainHash(column(row, "hash")?) })
    })?;
    Ok(head.unwrap_or_default())
}

pub(crate) fn read_chain(
    connection: &Connection,
    after: u64,
    limit: usize,
) -> Result<Vec<ChainedEntry>, StoreError> {
    let sql = "SELECT * FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    all(connection, sql, params![number_of(after), limit], read_entry)
}

fn list(connection: &Connection, filter: &AuditFilter, limit: usize) -> Result<Vec<AuditRecord>, StoreError> {
    let AuditFilter { user, action, since, until, before } = filter;
    all(
        connection,
        "SELECT audit.*, doer.user AS by_user, owner.user AS about_user FROM audit
         LEFT JOIN pseudonyms doer ON doer.pseudonym = audit.by
         LEFT JOIN pseudonyms owner ON owner.pseudonym = audit.about
         WHERE (?1 IS NULL OR doer.user = ?1 OR owner.user = ?1)
             AND (?2 IS NULL OR action = ?2 OR substr(action, 1, length(?2) + 1) = ?2 || '.')
             AND (?3 IS NULL OR at >= ?3) AND (?4 IS NULL OR at < ?4) AND (?5 IS NULL OR seq < ?5)
         ORDER BY seq DESC LIMIT ?6",
        params![user, action, since.map(|at| at.0), until.map(|at| at.0), before.map(number_of), limit],
        |row| {
            Ok(AuditRecord {
                entry: read_entry(row)?,
                by: column(row, "by_user")?,
                about: column(row, "about_user")?,
            })
        },
    )
}

fn read_entry(row: &Row<'_>) -> Result<ChainedEntry, StoreError> {
    Ok(ChainedEntry {
        seq: column(row, "seq")?,
        at: Timestamp(column(row, "at")?),
        by: column(row, "by")?,
        about: column(row, "about")?,
        action: column(row, "action")?,
        detail: column(row, "detail")?,
        previous: ChainHash(column(row, "previous")?),
        hash: ChainHash(column(row, "hash")?),
    })
}

fn number_of(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// Moves the log of older layouts into the chain.
pub(crate) fn chain_old_entries(connection: &Connection) -> Result<(), StoreError> {
    let mut after = i64::MIN;
    loop {
        let sql = "SELECT * FROM audit_before WHERE seq > ?1 ORDER BY seq LIMIT 1000";
        let page = all(connection, sql, [after], |row| {
            let entry = AuditEntry {
                at: Timestamp(column(row, "at")?),
                by: column(row, "by")?,
                about: None,
                action: column(row, "action")?,
                detail: column(row, "detail")?,
            };
            Ok((column(row, "seq")?, entry))
        })?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        page.into_iter().try_for_each(|(_, entry)| append(connection, &entry.without_old_names()))?;
    }
    connection.execute_batch("DROP TABLE audit_before").map_err(super::unavailable)
}
