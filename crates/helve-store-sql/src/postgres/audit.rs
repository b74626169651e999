//! The audit log: entries are chained in the transaction of what they are about.

use helve_store::{
    Audit, AuditEntry, AuditFilter, AuditHead, AuditRecord, ChainHash, ChainedEntry, StoreError, StoreFuture,
};
use helve_types::{Timestamp, UserId};
use tokio_postgres::Row;

use super::PostgresStore;
use super::columns::{Conditions, Db, column, damaged, number, replace_nul, to_bigint};

impl Audit for PostgresStore {
    fn record_audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now(entry, |db, entry| Box::pin(append(db, entry)))
    }

    fn audit_head(&self) -> StoreFuture<'_, AuditHead> {
        self.read((), |db, ()| Box::pin(head(db)))
    }

    fn audit_chain(&self, after: u64, limit: usize) -> StoreFuture<'_, Vec<ChainedEntry>> {
        self.read((after, limit), |db, (after, limit)| Box::pin(chain(db, *after, *limit)))
    }

    fn audit_records(&self, filter: AuditFilter, limit: usize) -> StoreFuture<'_, Vec<AuditRecord>> {
        self.read((filter, limit), |db, (filter, limit)| Box::pin(list(db, filter, *limit)))
    }

    fn forget_pseudonym(&self, user: UserId, entry: AuditEntry) -> StoreFuture<'_, ()> {
        self.write_now((user, entry), |db, (user, entry)| Box::pin(forget_pseudonym(db, user, entry)))
    }
}

/// Adds an entry to the end of the chain. Processes wait for each other, so that there is one end.
pub(super) async fn append(db: &Db<'_>, entry: &AuditEntry) -> Result<(), StoreError> {
    db.lock("audit").await?;
    let by = pseudonym_of(db, &entry.by).await?;
    let about = match &entry.about {
        Some(user) => Some(pseudonym_of(db, user).await?),
        None => None,
    };
    let chained = ChainedEntry::after(head(db).await?, entry, by, about);
    db.execute(
        "INSERT INTO audit (seq, at, by, about, action, detail, previous, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            &to_bigint(chained.seq),
            &chained.at.0,
            &chained.by,
            &chained.about,
            &chained.action,
            &chained.detail,
            &&chained.previous.0[..],
            &&chained.hash.0[..],
        ],
    )
    .await
    .map(drop)
}

/// After the entry that says so.
pub(super) async fn forget_pseudonym(
    db: &Db<'_>,
    user: &UserId,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    append(db, entry).await?;
    db.execute("DELETE FROM pseudonyms WHERE user_id = $1", &[&replace_nul(&user.0)]).await.map(drop)
}

/// The pseudonym of a user, or a random one from now on.
async fn pseudonym_of(db: &Db<'_>, user: &str) -> Result<String, StoreError> {
    let user = replace_nul(user);
    let sql = "INSERT INTO pseudonyms (user_id, pseudonym)
               VALUES ($1, 'p_' || replace(gen_random_uuid()::text, '-', '')) ON CONFLICT (user_id) DO NOTHING";
    let held = "SELECT pseudonym FROM pseudonyms WHERE user_id = $1";
    if let Some(row) = db.first(held, &[&user]).await? {
        return column(&row, "pseudonym");
    }
    db.execute(sql, &[&user]).await?;
    let row = db.first(held, &[&user]).await?;
    column(&row.ok_or(StoreError::NotFound("pseudonym"))?, "pseudonym")
}

async fn head(db: &Db<'_>) -> Result<AuditHead, StoreError> {
    let row = db.first("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", &[]).await?;
    row.map_or(Ok(AuditHead::default()), |row| {
        Ok(AuditHead { seq: number(&row, "seq")?, hash: hash_column(&row, "hash")? })
    })
}

async fn chain(db: &Db<'_>, after: u64, limit: usize) -> Result<Vec<ChainedEntry>, StoreError> {
    let sql = "SELECT * FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2";
    db.all(sql, &[&to_bigint(after), &to_bigint(limit)]).await?.iter().map(read_entry).collect()
}

const SELECT: &str = "SELECT audit.*, doer.user_id AS by_user, owner.user_id AS about_user FROM audit
     LEFT JOIN pseudonyms doer ON doer.pseudonym = audit.by
     LEFT JOIN pseudonyms owner ON owner.pseudonym = audit.about";

async fn list(db: &Db<'_>, filter: &AuditFilter, limit: usize) -> Result<Vec<AuditRecord>, StoreError> {
    let AuditFilter { user, action, since, until, before } = filter;
    let (user, action) = (user.as_deref().map(replace_nul), action.as_deref().map(replace_nul));
    let (before, limit) = (before.map(to_bigint), to_bigint(limit));
    let mut conditions = Conditions::default();
    if let Some(user) = &user {
        conditions.add_condition("(doer.user_id = {} OR owner.user_id = {})", &[user, user]);
    }
    if let Some(action) = &action {
        let clause = "(action = {} OR starts_with(action, {}::text || '.'))";
        conditions.add_condition(clause, &[action, action]);
    }
    if let Some(since) = since {
        conditions.add_condition("at >= {}", &[&since.0]);
    }
    if let Some(until) = until {
        conditions.add_condition("at < {}", &[&until.0]);
    }
    if let Some(before) = &before {
        conditions.add_condition("seq < {}", &[before]);
    }
    conditions.push_clause(" ORDER BY seq DESC LIMIT {}", &[&limit]);
    let rows = db.all(&conditions.append_to(SELECT), conditions.values()).await?;
    let read = |row: &Row| {
        Ok(AuditRecord {
            entry: read_entry(row)?,
            by: column(row, "by_user")?,
            about: column(row, "about_user")?,
        })
    };
    rows.iter().map(read).collect()
}

fn read_entry(row: &Row) -> Result<ChainedEntry, StoreError> {
    Ok(ChainedEntry {
        seq: number(row, "seq")?,
        at: Timestamp(column(row, "at")?),
        by: column(row, "by")?,
        about: column(row, "about")?,
        action: column(row, "action")?,
        detail: column(row, "detail")?,
        previous: hash_column(row, "previous")?,
        hash: hash_column(row, "hash")?,
    })
}

fn hash_column(row: &Row, name: &str) -> Result<ChainHash, StoreError> {
    let bytes: &[u8] = column(row, name)?;
    bytes.try_into().map(ChainHash).map_err(|error| damaged(name, &error))
}

/// Moves the log of older layouts into the chain.
pub(super) async fn chain_old_entries(db: &Db<'_>) -> Result<(), StoreError> {
    let mut after = i64::MIN;
    loop {
        let sql = "SELECT * FROM audit_before WHERE seq > $1 ORDER BY seq LIMIT 1000";
        let page = db.all(sql, &[&after]).await?;
        let Some(last) = page.last() else { break };
        after = column(last, "seq")?;
        for row in &page {
            let entry = AuditEntry {
                at: Timestamp(column(row, "at")?),
                by: column(row, "by")?,
                about: None,
                action: column(row, "action")?,
                detail: column(row, "detail")?,
            };
            append(db, &entry.without_old_names()).await?;
        }
    }
    db.execute("DROP TABLE audit_before", &[]).await.map(drop)
}
