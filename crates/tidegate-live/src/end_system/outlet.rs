//! The outgoing side: the Transmission Engine with a socket.

use super::{Flags, Return};
use crate::bridge::{CHORES, RETRY};
use crate::clock;
use crate::io::{SendError, Transmit};
use crate::outbox::{Outbox, Owner};
use crate::pool::Lent;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Time};
use tidegate_endsystem::{Departure, Fate, Next, Transfers, TransmissionEngine};

/// Takes winners' frames from their rings, gives them to the kernel, and sends their memory back.
pub(crate) struct Outlet<T> {
    transmission: TransmissionEngine<Lent>,
    pub(super) transmitter: T,
    outbox: Outbox<Return>,
    returning: Returning,
    flags: Arc<Flags>,
}

/// The way back to the intake.
struct Returning(rtrb::Producer<Return>);

impl Owner<Return> for Returning {
    #[inline]
    fn message<'a>(&'a self, frame: &'a Return) -> Option<&'a [u8]> {
        (frame.fate == Fate::Sent).then(|| frame.lent.message(frame.length))
    }

    #[inline]
    fn gone(&mut self, frame: Return, outcome: Result<(), SendError>) {
        if self.0.push(Return { outcome, ..frame }).is_err() {
            unreachable!("more frames come back than there are slots");
        }
    }
}

impl<T: Transmit> Outlet<T> {
    pub(super) fn new(
        transmission: TransmissionEngine<Lent>,
        transmitter: T,
        returning: rtrb::Producer<Return>,
        slots: usize,
        flags: Arc<Flags>,
    ) -> Outlet<T> {
        Outlet { transmission, transmitter, outbox: Outbox::new(slots), returning: Returning(returning), flags }
    }

    /// Carries frames until everything before it has gone and left nothing, or until it is told to halt. `spin` is how long before an
    /// instant it watches the clock instead of sleeping.
    pub(crate) fn run(&mut self, spin: Duration) {
        self.transmission.listen();
        let mut chores = clock::now();
        while !self.flags.halt.load(Ordering::Relaxed) {
            let now = clock::now();
            if !now.is_before(chores) {
                chores = now + CHORES;
                self.flags.sending.store(self.transmitter.attend(), Ordering::Relaxed);
            }
            let wake = match self.turn(now) {
                Some(Next::Ended) => return,
                Some(Next::Waiting) => chores,
                Some(Next::At(time)) => (time - spin).earlier(chores),
                None => now + RETRY,
            };
            let left = wake.since(clock::now());
            if left > Duration::ZERO {
                thread::park_timeout(std::time::Duration::from_nanos(left.picoseconds().div_ceil(1000)));
            }
        }
    }

    /// Sends what is due; `None` if the kernel has no room for it.
    pub(super) fn turn(&mut self, now: Time) -> Option<Next> {
        let Outlet { transmission, transmitter, outbox, returning, .. } = self;
        // What is decided while the kernel has no room waits in its rings, and so does, in the end, the engine.
        if !outbox.flush(now, transmitter, returning) {
            return None;
        }
        let next = transmission.turn(now, |Departure { stream, length, frame, fate, at, .. }| {
            outbox.push(Return { lent: frame, stream, length, fate, at, lateness: now.since(at), outcome: Ok(()) });
        });
        outbox.flush(now, transmitter, returning).then_some(next)
    }

    /// The winners that came in.
    pub(super) fn winners(&self) -> Transfers {
        self.transmission.counters().winners
    }

    /// What it and the rings still hold.
    pub(super) fn left(&mut self) -> Volume {
        let mut left = self.transmission.account(&[]).queued;
        self.outbox.iter().for_each(|frame| left.add(frame.length));
        left
    }
}
