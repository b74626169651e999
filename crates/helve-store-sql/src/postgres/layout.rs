//! Looking at the layout of a database, and changing it without serving it.

use std::time::Duration;

use helve_types::Timestamp;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_postgres::Client;

use super::columns::describe;
use super::{PostgresError, PostgresSettings, bus, describe_pool_error, migrate};
use crate::Layout;

/// A process that has just ended is noticed by then.
const LOCK_MAX: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// A connection that ends with this value.
pub(super) struct Session {
    pub(super) client: Client,
    driver: AbortHandle,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Session {
    pub(super) async fn open(settings: &PostgresSettings) -> Result<Self, PostgresError> {
        // What the server says without being asked is of no use here.
        let (sender, _) = tokio::sync::mpsc::unbounded_channel();
        let connected = settings.connect(sender).await;
        let (client, driver) =
            connected.map_err(|problem| PostgresError::Unusable { place: settings.to_string(), problem })?;
        Ok(Self { client, driver })
    }

    /// Keeps servers away for as long as the session lasts.
    pub(super) async fn lock_servers_out(&self, settings: &PostgresSettings) -> Result<(), PostgresError> {
        let place = settings.to_string();
        let until = Instant::now() + LOCK_MAX;
        loop {
            let taken = self.client.query_one(bus::LOCK, &[]).await.and_then(|row| row.try_get(0));
            match taken {
                Ok(true) => return Ok(()),
                Ok(false) if Instant::now() > until => return Err(PostgresError::InUse { place }),
                Ok(false) => tokio::time::sleep(LOCK_PAUSE).await,
                Err(error) => return Err(PostgresError::Unusable { place, problem: describe(&error) }),
            }
        }
    }
}

/// How far the database is. Changes nothing, and may be asked while a server uses it.
pub async fn read_layout(settings: &PostgresSettings) -> Result<Layout, PostgresError> {
    let session = Session::open(settings).await?;
    migrate::read_layout(&session.client, &settings.to_string()).await
}

/// Brings it up to date, unless a server uses it. How far it was.
pub async fn migrate_database(settings: &PostgresSettings, now: Timestamp) -> Result<Layout, PostgresError> {
    let session = Session::open(settings).await?;
    session.lock_servers_out(settings).await?;
    let place = settings.to_string();
    let layout = migrate::read_layout(&session.client, &place).await?;
    apply_pending(settings, now).await?;
    Ok(layout)
}

/// Only for who has locked servers out.
pub(super) async fn apply_pending(settings: &PostgresSettings, now: Timestamp) -> Result<(), PostgresError> {
    let place = settings.to_string();
    let unusable = |problem| PostgresError::Unusable { place: place.clone(), problem };
    let pool = settings.build_pool(1).map_err(unusable)?;
    let mut connection = pool.get().await.map_err(|error| unusable(describe_pool_error(&error)))?;
    migrate::migrate(&mut connection, &place, now.0).await
}
