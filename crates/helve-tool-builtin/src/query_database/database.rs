//! A database as the operator describes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use helve_postgres_tls::PostgresAddress;
use secrecy::{ExposeSecret, SecretString};

const ROWS_DEFAULT: usize = 100;
const ROWS_MAX: usize = 10_000;
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);

/// A database that models may read.
#[derive(Debug, Clone)]
pub struct Database {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) kind: DatabaseKind,
    pub(super) rows_max: usize,
    pub(super) timeout: Duration,
    /// The only tables that may be read; all if there is no list.
    pub(super) tables: Option<Vec<String>>,
}

/// Where a database is, without its password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabasePlace<'a> {
    File(&'a Path),
    /// The first server that the address names.
    Server {
        host: Option<String>,
        port: Option<u16>,
    },
}

#[derive(Clone)]
pub(super) enum DatabaseKind {
    Sqlite(PathBuf),
    Postgres(Box<PostgresAddress>),
}

impl DatabaseKind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// What an author of SQL for it has to know.
    pub(super) fn sql_hint(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "a SQLite database; placeholders are ?1, ?2",
            Self::Postgres(_) => "a PostgreSQL database; placeholders are $1, $2",
        }
    }
}

/// The address may hold a password, so it is never shown.
impl fmt::Debug for DatabaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Database {
    /// `sqlite:path/to/file` or `postgres://user:password@host/name`; the error says what is wrong with it.
    pub fn new(name: &str, url: &SecretString) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return Err(format!("`{name}` is no name; use letters, digits, `_` and `-`"));
        }
        let url = url.expose_secret().trim();
        let kind = if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path == ":memory:" {
                return Err("the address names no file; use `sqlite:path/to/file`".into());
            }
            DatabaseKind::Sqlite(PathBuf::from(path))
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            DatabaseKind::Postgres(Box::new(PostgresAddress::parse(url)?))
        } else {
            return Err("the address must begin with `sqlite:` or `postgres://`".into());
        };
        Ok(Self {
            name: name.into(),
            description: String::new(),
            kind,
            rows_max: ROWS_DEFAULT,
            timeout: TIMEOUT_DEFAULT,
            tables: None,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn place(&self) -> DatabasePlace<'_> {
        use tokio_postgres::config::Host;
        match &self.kind {
            DatabaseKind::Sqlite(path) => DatabasePlace::File(path),
            DatabaseKind::Postgres(address) => DatabasePlace::Server {
                host: address.config.get_hosts().first().map(|host| match host {
                    Host::Tcp(name) => name.clone(),
                    #[cfg(unix)]
                    Host::Unix(folder) => folder.display().to_string(),
                }),
                port: address.config.get_ports().first().copied(),
            },
        }
    }

    #[must_use]
    pub fn with_description(mut self, description: &str) -> Self {
        self.description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        self
    }

    #[must_use]
    pub fn with_rows_max(mut self, rows_max: usize) -> Self {
        self.rows_max = rows_max.clamp(1, ROWS_MAX);
        self
    }

    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// SQLite only: PostgreSQL has rights for this, which hold wherever the connection comes from.
    pub fn with_tables(mut self, tables: Vec<String>) -> Result<Self, String> {
        if matches!(self.kind, DatabaseKind::Postgres(_)) {
            return Err(
                "`tables` is for SQLite; for PostgreSQL, use a role that may read only the tables that are meant".into(),
            );
        }
        self.tables = Some(tables);
        Ok(self)
    }
}
