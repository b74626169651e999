//! What a database consists of, described once for SQLite and PostgreSQL.
//!
//! A test compares this with both layouts, so that no table and no column is left out of a copy.

/// What a column holds, and how it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// INTEGER, and BIGINT.
    Number,
    /// INTEGER, and BOOLEAN.
    Flag,
    /// TEXT, and TEXT.
    Text,
    /// TEXT, and BYTEA, since it may hold U+0000.
    RawText,
    /// BLOB, and BYTEA.
    Bytes,
    /// BLOB of 16 bytes, and UUID.
    Id,
}

#[derive(Debug)]
pub(crate) struct Column {
    /// The name on SQLite.
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnKind,
}

impl Column {
    /// `user` is a reserved word of PostgreSQL.
    pub(crate) fn postgres_name(&self) -> &'static str {
        if self.name == "user" { "user_id" } else { self.name }
    }
}

#[derive(Debug)]
pub(crate) struct StoredTable {
    pub(crate) name: &'static str,
    /// The columns of the primary key in its order, which is the order that rows are read in.
    pub(crate) key: &'static [&'static str],
    pub(crate) columns: &'static [Column],
    /// The one column of the key is numbered by the database.
    pub(crate) is_numbered: bool,
}

impl StoredTable {
    const fn new(name: &'static str, key: &'static [&'static str], columns: &'static [Column]) -> Self {
        Self { name, key, columns, is_numbered: false }
    }

    const fn numbered(name: &'static str, key: &'static [&'static str], columns: &'static [Column]) -> Self {
        Self { name, key, columns, is_numbered: true }
    }

    /// The places of the columns of the key.
    pub(crate) fn key_columns(&self) -> impl Iterator<Item = &'static Column> {
        self.key.iter().filter_map(|name| self.columns.iter().find(|column| column.name == *name))
    }
}

const fn number(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Number }
}

const fn flag(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Flag }
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Text }
}

const fn raw_text(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::RawText }
}

const fn bytes(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Bytes }
}

const fn id(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Id }
}

/// Keeps the operator's single values; a database is empty also if it has some.
pub(crate) const SETTINGS: &str = "settings";

/// All but `migrations`. Those that others refer to come first.
pub(crate) const TABLES: &[StoredTable] = &[
    StoredTable::new("users", &["id"], &[text("id"), number("created_at")]),
    StoredTable::new(
        "conversations",
        &["id"],
        &[
            id("id"),
            text("user"),
            text("title"),
            number("messages"),
            number("created_at"),
            number("updated_at"),
            number("input_tokens"),
            number("output_tokens"),
            number("cached_tokens"),
            number("cache_write_tokens"),
            number("reasoning_tokens"),
            number("cost_nanos"),
            id("active_run"),
        ],
    ),
    StoredTable::new(
        "messages",
        &["conversation", "ordinal"],
        &[id("conversation"), number("ordinal"), text("body")],
    ),
    StoredTable::numbered("setups", &["id"], &[number("id"), bytes("hash"), text("body")]),
    StoredTable::new(
        "runs",
        &["id"],
        &[
            id("id"),
            text("user"),
            id("conversation"),
            number("history"),
            text("state"),
            number("epoch"),
            text("owner"),
            number("resumes"),
            number("setup_id"),
            text("agent"),
            number("created_at"),
            number("ended_at"),
            number("input_tokens"),
            number("output_tokens"),
            number("cached_tokens"),
            number("cache_write_tokens"),
            number("reasoning_tokens"),
            number("cost_nanos"),
            number("bytes"),
            id("root"),
            number("unreported"),
        ],
    ),
    StoredTable::new("run_events", &["run", "seq"], &[id("run"), number("seq"), text("kind"), text("body")]),
    StoredTable::new(
        "tool_calls",
        &["run", "id"],
        &[
            id("run"),
            text("id"),
            number("step"),
            text("provider_id"),
            text("tool"),
            text("arguments"),
            text("version"),
            text("effect"),
            text("state"),
            number("attempt"),
            text("trail"),
            number("requested_at"),
            number("started_at"),
            number("ended_at"),
            text("user"),
            text("bad_end"),
            text("failure"),
            text("problem"),
            number("output_bytes"),
        ],
    ),
    StoredTable::new(
        "tool_sends",
        &["tool", "at", "run", "seq"],
        &[text("tool"), number("at"), id("run"), number("seq"), text("user")],
    ),
    StoredTable::new("outputs", &["run", "call"], &[id("run"), text("call"), raw_text("text")]),
    StoredTable::new(
        "files",
        &["run", "id"],
        &[
            id("run"),
            text("id"),
            text("call"),
            text("name"),
            text("media_type"),
            bytes("bytes"),
            number("at"),
        ],
    ),
    StoredTable::new(
        "approvals",
        &["id"],
        &[
            id("id"),
            id("run"),
            text("user"),
            text("question"),
            number("asked_at"),
            number("expires_at"),
            text("state"),
            text("answer"),
            text("answered_by"),
            number("answered_at"),
            flag("has_approvers"),
            text("votes"),
            flag("escalated"),
            number("remind_at"),
            number("escalate_at"),
        ],
    ),
    StoredTable::new(
        "allowances",
        &["id"],
        &[
            id("id"),
            text("user"),
            text("agent"),
            text("tool"),
            text("version"),
            text("within"),
            id("run"),
            id("conversation"),
            text("arguments"),
            text("by"),
            number("created_at"),
            number("expires_at"),
            number("revoked_at"),
        ],
    ),
    StoredTable::new(
        "idempotency_keys",
        &["user", "route", "key"],
        &[text("user"), text("route"), text("key"), text("fingerprint"), id("run"), number("expires_at")],
    ),
    StoredTable::new(
        "plans",
        &["user", "number"],
        &[
            text("user"),
            number("number"),
            number("version"),
            text("body"),
            text("made_by"),
            text("changed_by"),
            number("created_at"),
            number("updated_at"),
        ],
    ),
    StoredTable::new(
        "day_used",
        &["day", "user", "agent"],
        &[
            number("day"),
            text("user"),
            text("agent"),
            number("cost_nanos"),
            number("tokens"),
            number("calls"),
            number("active_ms"),
        ],
    ),
    StoredTable::new("user_bytes", &["user"], &[text("user"), number("bytes")]),
    StoredTable::new(
        "definition_versions",
        &["kind", "name", "version"],
        &[
            text("kind"),
            text("name"),
            number("version"),
            id("id"),
            text("hash"),
            flag("enabled"),
            text("body"),
            number("created_at"),
            number("updated_at"),
        ],
    ),
    StoredTable::new("definitions", &["kind", "name"], &[text("kind"), text("name"), number("version")]),
    StoredTable::new(
        "definition_offers",
        &["kind", "name"],
        &[text("kind"), text("name"), text("origin"), text("body"), text("over_hash"), number("at")],
    ),
    StoredTable::new(
        "definition_grants",
        &["kind", "name", "grant_json"],
        &[text("kind"), text("name"), text("grant_json"), text("by"), number("at")],
    ),
    StoredTable::new(
        "definition_switches",
        &["kind", "name"],
        &[text("kind"), text("name"), flag("enabled")],
    ),
    StoredTable::new("definition_changes", &["kind"], &[text("kind"), number("count")]),
    StoredTable::new("definition_files", &["hash"], &[text("hash"), bytes("bytes")]),
    StoredTable::new("model_profiles", &["model"], &[text("model"), number("at"), text("body")]),
    StoredTable::new(
        "tokens",
        &["id"],
        &[
            text("id"),
            bytes("secret_hash"),
            text("user"),
            text("rights"),
            text("note"),
            number("created_at"),
            number("revoked_at"),
            text("act_for"),
        ],
    ),
    StoredTable::new("people", &["id"], &[text("id"), number("version"), text("body")]),
    StoredTable::new(
        "user_identities",
        &["issuer", "subject"],
        &[text("issuer"), text("subject"), text("user")],
    ),
    StoredTable::new("user_groups", &["name"], &[text("name"), number("version"), text("body")]),
    StoredTable::new("group_members", &["user", "group_name"], &[text("user"), text("group_name")]),
    StoredTable::new(
        "page_sessions",
        &["secret_hash"],
        &[bytes("secret_hash"), text("user"), number("started_at"), number("expires_at"), text("provider")],
    ),
    StoredTable::new("ended_sessions", &["token", "issued_at"], &[text("token"), number("issued_at")]),
    StoredTable::new(
        "audit",
        &["seq"],
        &[
            number("seq"),
            number("at"),
            text("by"),
            text("about"),
            text("action"),
            text("detail"),
            bytes("previous"),
            bytes("hash"),
        ],
    ),
    StoredTable::new("pseudonyms", &["user"], &[text("user"), text("pseudonym")]),
    StoredTable::new(SETTINGS, &["name"], &[text("name"), text("value")]),
];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use rusqlite::Connection;
    use tokio_postgres::NoTls;

    use super::*;
    use crate::PostgresSettings;

    /// Columns with their types, and the key, of each table.
    type Found = BTreeMap<String, (BTreeSet<(String, String)>, Vec<String>)>;

    fn described(name: fn(&Column) -> &'static str, kind: fn(ColumnKind) -> &'static str) -> Found {
        let describe = |table: &StoredTable| {
            let columns = table.columns.iter();
            let columns = columns.map(|column| (name(column).into(), kind(column.kind).into())).collect();
            let key: Vec<String> = table.key_columns().map(|column| name(column).into()).collect();
            assert_eq!(key.len(), table.key.len(), "{}", table.name);
            (table.name.to_owned(), (columns, key))
        };
        TABLES.iter().map(describe).collect()
    }

    #[test]
    fn every_table_and_column_of_sqlite_is_described() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::migrate::migrate(&mut connection, 1).unwrap();
        let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'migrations'
                   AND name NOT LIKE 'sqlite_%'";
        let mut tables = connection.prepare(sql).unwrap();
        let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let mut found = Found::new();
        for table in tables.map(Result::unwrap) {
            let mut columns = connection.prepare("SELECT name, type, pk FROM pragma_table_info(?1)").unwrap();
            let columns = columns
                .query_map([&table], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
                })
                .unwrap();
            let columns: Vec<(String, String, i64)> = columns.map(Result::unwrap).collect();
            let key: BTreeMap<i64, String> =
                columns.iter().filter(|row| row.2 > 0).map(|row| (row.2, row.0.clone())).collect();
            let columns = columns.into_iter().map(|(name, kind, _)| (name, kind)).collect();
            found.insert(table, (columns, key.into_values().collect()));
        }
        let kind = |kind| match kind {
            ColumnKind::Number | ColumnKind::Flag => "INTEGER",
            ColumnKind::Text | ColumnKind::RawText => "TEXT",
            ColumnKind::Bytes | ColumnKind::Id => "BLOB",
        };
        assert_eq!(found, described(|column| column.name, kind));
    }

    #[tokio::test]
    async fn every_table_and_column_of_postgresql_is_described() {
        let Ok(server) = std::env::var("HELVE_TEST_POSTGRES") else {
            let reason =
                "there is no PostgreSQL; `cargo run -p xtask -- with-postgres cargo test` starts one";
            helve_test_support::skip_test("the description of the tables of PostgreSQL", reason);
            return;
        };
        let name = format!("described_{}", std::process::id());
        let (root, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
        tokio::spawn(connection);
        root.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let url = format!("{}/{name}", server.rsplit_once('/').unwrap().0);
        let settings = PostgresSettings::parse(&url.clone().into()).unwrap();
        crate::postgres::migrate_database(&settings, helve_types::Timestamp(1)).await.unwrap();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let columns = "SELECT table_name::text, column_name::text, data_type::text, is_identity = 'YES'
                       FROM information_schema.columns
                       WHERE table_schema = current_schema() AND table_name <> 'migrations'";
        let mut found = Found::new();
        let mut numbered = BTreeSet::new();
        for row in client.query(columns, &[]).await.unwrap() {
            let table: String = row.get(0);
            if row.get(3) {
                numbered.insert(table.clone());
            }
            found.entry(table).or_default().0.insert((row.get(1), row.get(2)));
        }
        let keys = "SELECT used.table_name::text, used.column_name::text
                    FROM information_schema.key_column_usage AS used
                    JOIN information_schema.table_constraints AS held USING (constraint_schema, constraint_name)
                    WHERE constraint_type = 'PRIMARY KEY' AND used.table_schema = current_schema()
                    AND used.table_name <> 'migrations' ORDER BY used.table_name, used.ordinal_position";
        for row in client.query(keys, &[]).await.unwrap() {
            found.get_mut(row.get::<_, &str>(0)).unwrap().1.push(row.get(1));
        }
        let kind = |kind| match kind {
            ColumnKind::Number => "bigint",
            ColumnKind::Flag => "boolean",
            ColumnKind::Text => "text",
            ColumnKind::RawText | ColumnKind::Bytes => "bytea",
            ColumnKind::Id => "uuid",
        };
        assert_eq!(found, described(Column::postgres_name, kind));
        let numbered_here = TABLES.iter().filter(|table| table.is_numbered);
        assert_eq!(numbered, numbered_here.map(|table| table.name.to_owned()).collect());
    }
}
