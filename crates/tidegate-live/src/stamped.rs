//! Both ends of a direction with the instants of its frames, for observers that ask for them.
//!
//! With the observer `()` nothing is left of this in the machine code.

use crate::io::{KernelCounters, Receive, Received, SendError, Transmit};
use crate::pool::FramePool;
use crate::watch::StageObserver;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;

/// When the latest frame arrived and when it was read, or when the latest frames were handed over.
#[derive(Default)]
pub(crate) struct Stamps {
    pub(crate) arrived: Cell<u64>,
    pub(crate) at: Cell<u64>,
}

/// A receiver or transmitter that stamps what passes.
pub(crate) struct Stamped<'a, E, O> {
    end: &'a mut E,
    stamps: &'a Stamps,
    observer: PhantomData<O>,
}

impl<'a, E, O> Stamped<'a, E, O> {
    pub(crate) fn new(end: &'a mut E, stamps: &'a Stamps) -> Stamped<'a, E, O> {
        Stamped { end, stamps, observer: PhantomData }
    }
}

impl<R: Receive, O: StageObserver> Receive for Stamped<'_, R, O> {
    #[inline]
    fn receive(&mut self, pool: &mut FramePool, take: impl FnOnce(&mut FramePool, Received<'_>)) -> bool {
        self.end.receive(pool, |pool, received| {
            self.stamps.at.set(O::stamp());
            self.stamps.arrived.set(received.arrived);
            take(pool, received);
        })
    }

    fn maintain(&mut self) -> bool {
        self.end.maintain()
    }

    fn skip(&mut self, span: RangeInclusive<u64>) {
        self.end.skip(span);
    }

    fn kernel_counters(&self) -> KernelCounters {
        self.end.kernel_counters()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.end.descriptor()
    }
}

impl<T: Transmit, O: StageObserver> Transmit for Stamped<'_, T, O> {
    #[inline]
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError> {
        let sent = self.end.send(messages);
        self.stamps.at.set(O::stamp());
        sent
    }

    #[inline]
    fn settle(&mut self, pool: &mut FramePool) -> bool {
        self.end.settle(pool)
    }

    fn maintain(&mut self) -> bool {
        self.end.maintain()
    }
}
