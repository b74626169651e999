//! A PostgreSQL of the round's own, with `fsync` on, and the connections on which the lab reads it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use helve_test_support::{PostgresServer, Shutdown, find_postgres_programs};
use tokio::task::spawn_blocking;
use tokio_postgres::{Client, NoTls};

use super::death::DatabaseDeath;

/// Small, since several run at once beside everything else. What makes a commit durable is as it comes: on.
const SETTINGS: &[(&str, &str)] = &[("shared_buffers", "16MB"), ("max_connections", "40")];
/// How long connections of a killed server of ours may take to be noticed.
const NOTICED_MAX: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);

const DATABASE: &str = "postgres";

#[derive(Clone)]
pub(crate) struct DatabaseServer(Arc<PostgresServer>);

impl DatabaseServer {
    /// Makes one below `dir`.
    pub(crate) async fn start_new(dir: &Path) -> anyhow::Result<Self> {
        let programs = find_postgres_programs().context("no PostgreSQL is installed")?;
        let place = dir.to_owned();
        open_to_all(dir)?;
        let made = move || PostgresServer::start_new(&programs, &place, SETTINGS);
        let server = Self(Arc::new(spawn_blocking(made).await?.context("PostgreSQL cannot be started")?));
        let client = server.connect().await?;
        // For the rule that the database is sound.
        let checks = client.batch_execute("CREATE EXTENSION amcheck").await;
        checks.context("PostgreSQL lacks `amcheck`; install its package of extensions")?;
        Ok(server)
    }

    pub(crate) fn url(&self) -> String {
        self.0.url(DATABASE)
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Connects once no other connection is left: what a killed server of ours had sent may still be carried out.
    pub(crate) async fn connect_alone(&self) -> anyhow::Result<Client> {
        let client = self.connect().await?;
        let others = "SELECT count(*) FROM pg_stat_activity
                      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let began = Instant::now();
        while client.query_one(others, &[]).await?.try_get::<_, i64>(0)? > 0 {
            ensure!(began.elapsed() < NOTICED_MAX, "PostgreSQL keeps connections of a server that is dead");
            tokio::time::sleep(PAUSE).await;
        }
        Ok(client)
    }

    pub(crate) async fn end(&self, death: DatabaseDeath) -> anyhow::Result<()> {
        let server = self.0.clone();
        let ended = spawn_blocking(move || match death {
            DatabaseDeath::Killed => server.kill(),
            DatabaseDeath::Immediate => server.stop(Shutdown::Immediate),
            DatabaseDeath::Fast => server.stop(Shutdown::Fast),
        });
        ended.await?.context("PostgreSQL cannot be ended")
    }

    /// Starts it again, and returns when it answers.
    pub(crate) async fn start(&self) -> anyhow::Result<()> {
        let server = self.0.clone();
        let started = spawn_blocking(move || server.start()).await?;
        started.with_context(|| format!("PostgreSQL does not start again: {}", self.0.log()))
    }
}

/// The directories of the lab are for their owner only, and PostgreSQL runs as another user.
fn open_to_all(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))
}
