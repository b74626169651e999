//! The `Store` port: all parts of what is kept, on one medium.

use std::future::Future;
use std::pin::Pin;

use crate::{Access, Audit, Bus, Log, Plans, Rows, StoreError, Views};

pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where everything durable lives. A component that needs only a part takes the trait of that part.
pub trait Store: Log + Views + Rows + Plans + Access + Audit + Bus {
    /// Writes and reads; fails if either does.
    fn check(&self) -> StoreFuture<'_, ()>;

    /// Makes everything durable and closes; nothing may be called afterwards.
    fn close(&self) -> StoreFuture<'_, ()>;
}
