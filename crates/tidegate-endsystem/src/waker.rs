//! How one part wakes another: it unparks the other's thread.

use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

/// Wakes the thread of one part; any number of parts hold a clone.
///
/// No wake-up is lost: one that precedes the wait ends that wait at once, as [`Thread::unpark`] promises.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waker(Arc<OnceLock<Thread>>);

impl Waker {
    /// Registers the calling thread as the one to wake. Later calls change nothing.
    pub(crate) fn register(&self) {
        self.0.get_or_init(thread::current);
    }

    /// Wakes the registered thread, if there is one yet.
    #[inline]
    pub(crate) fn wake(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}
