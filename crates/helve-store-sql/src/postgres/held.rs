//! A connection that is lent out. It goes back to its pool only if it is known to be at rest: one whose work was given up,
//! or failed, is closed, so that nobody is handed a connection in doubt.

use std::time::Instant;

use deadpool_postgres::{Object, Pool, PoolError};
use helve_store::StoreError;

use super::columns::describe;

pub(super) struct Held(Option<Object>);

impl Held {
    pub(super) async fn borrow_from(pool: &Pool) -> Result<Self, StoreError> {
        match pool.get().await {
            Ok(connection) => Ok(Self(Some(connection))),
            Err(error) => Err(StoreError::Unavailable(describe_pool_error(&error))),
        }
    }

    pub(super) fn connection(&mut self) -> Result<&mut Object, StoreError> {
        self.0.as_mut().ok_or_else(|| StoreError::Unavailable("PostgreSQL: no connection".into()))
    }

    /// When the connection was made, which tells it from others of its pool.
    pub(super) fn made_at(&self) -> Option<Instant> {
        self.0.as_ref().map(|connection| Object::metrics(connection).created)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.as_ref().is_none_or(|connection| connection.is_closed())
    }

    pub(super) fn return_connection(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(doubtful) = self.0.take() {
            drop(Object::take(doubtful));
        }
    }
}

pub(super) fn describe_pool_error(error: &PoolError) -> String {
    match error {
        PoolError::Backend(error) => describe(error),
        PoolError::Timeout(_) => "PostgreSQL: no connection in time".into(),
        other => format!("PostgreSQL: {other}"),
    }
}
