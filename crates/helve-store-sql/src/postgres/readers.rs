//! Connections for reading, lent out one by one.

use std::time::Duration;

use deadpool_postgres::Pool;
use helve_store::StoreError;

use super::columns::Db;
use super::held::Held;
use super::writer::Work;

pub(super) const READERS_MAX: usize = 8;
/// A query that takes longer is given up, and its connection with it.
const READ_MAX: Duration = Duration::from_secs(30);

pub(super) struct Readers {
    pool: Pool,
}

/// How often a query that failed with its connection is asked.
const TRIES_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_millis(20);

impl Readers {
    pub(super) fn new(pool: Pool) -> Self {
        Self { pool }
    }

    pub(super) fn close(&self) {
        self.pool.close();
    }

    pub(super) async fn read<A: Send + Sync, T: Send>(
        &self,
        arguments: A,
        look: Work<A, T>,
    ) -> Result<T, StoreError> {
        let mut tries = 1;
        loop {
            let mut held = Held::borrow_from(&self.pool).await?;
            let client = held.connection()?;
            let db = Db { client, statements: &client.statement_cache };
            match tokio::time::timeout(READ_MAX, look(&db, &arguments)).await {
                Err(_) => return Err(StoreError::Unavailable("PostgreSQL: a query took too long".into())),
                // The server may have ended its connections since they were used last; in a moment all are known.
                Ok(Err(StoreError::Unavailable(_))) if tries < TRIES_MAX => tries += 1,
                Ok(Err(error @ StoreError::Unavailable(_))) => return Err(error),
                Ok(answer) => {
                    held.return_connection();
                    return answer;
                }
            }
            drop(held);
            tokio::time::sleep(PAUSE).await;
        }
    }
}
