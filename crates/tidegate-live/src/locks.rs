//! Locks between threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even after a panic elsewhere: no update under these locks can be left half-done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
