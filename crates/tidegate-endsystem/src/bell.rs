//! How one part wakes another: the thread that listens is unparked.

use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

/// Rung by some parts, listened to by one.
///
/// A ring is never lost: it makes the listener's next wait end at once if it comes before it. That is what unparking a thread promises.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bell(Arc<OnceLock<Thread>>);

impl Bell {
    /// From now on the bell wakes the calling thread. The first to listen is the one that is woken.
    pub(crate) fn listen(&self) {
        self.0.get_or_init(thread::current);
    }

    /// Wakes the listener, if there is one yet.
    #[inline]
    pub(crate) fn ring(&self) {
        if let Some(listener) = self.0.get() {
            listener.unpark();
        }
    }
}
