//! Where the server under test keeps its data: in a file, or on a PostgreSQL that belongs to the round and can be killed.

mod death;
mod server;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use helve_types::Timestamp;

pub use self::death::{DatabaseDeath, DatabaseKill};
pub(crate) use self::server::DatabaseServer;
use crate::snapshot::{self, Snapshot};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreKind {
    #[default]
    Sqlite,
    Postgres,
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        })
    }
}

impl FromStr for StoreKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => Ok(Self::Postgres),
            other => Err(format!("there is no store `{other}`; use sqlite or postgres")),
        }
    }
}

/// Where the data of one round is.
pub(crate) enum StorePlace {
    /// A data directory, and where its database is copied to be read.
    File {
        data: PathBuf,
        scratch: PathBuf,
    },
    Server(DatabaseServer),
}

impl StorePlace {
    pub(crate) async fn build(kind: StoreKind, dir: &Path) -> anyhow::Result<Self> {
        Ok(match kind {
            StoreKind::Sqlite => Self::File { data: dir.join("data"), scratch: dir.join("snapshot") },
            StoreKind::Postgres => Self::Server(DatabaseServer::start_new(dir).await?),
        })
    }

    /// What the server under test is told to use.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::File { .. } => None,
            Self::Server(server) => Some(server.url()),
        }
    }

    /// Everything that is kept, while no server of ours runs.
    pub(crate) async fn read_snapshot(&self) -> anyhow::Result<Snapshot> {
        match self {
            Self::File { data, scratch } => Snapshot::read_copy(data, scratch),
            Self::Server(server) => snapshot::read_database(&server.connect_alone().await?).await,
        }
    }

    /// How many runs are under way. For waiting, not for judging.
    pub(crate) async fn runs_under_way(&self) -> anyhow::Result<u64> {
        self.count("SELECT count(*) FROM runs WHERE state = 'running'").await
    }

    /// How many questions wait for an answer that were asked before this moment. For waiting, not for judging.
    pub(crate) async fn open_questions(&self, before: Timestamp) -> anyhow::Result<u64> {
        let asked =
            format!("SELECT count(*) FROM approvals WHERE state = 'pending' AND asked_at < {}", before.0);
        self.count(&asked).await
    }

    async fn count(&self, sql: &str) -> anyhow::Result<u64> {
        match self {
            Self::File { data, .. } => snapshot::count_in_file(data, sql),
            Self::Server(server) => {
                let count: i64 = server.connect().await?.query_one(sql, &[]).await?.try_get(0)?;
                Ok(u64::try_from(count)?)
            }
        }
    }
}
