//! One way to take a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock also after a panic elsewhere: the machines here are never left half changed, because
/// nothing that can panic runs between two of their writes.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
