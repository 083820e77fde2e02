//! The outgoing side: the Transmission Engine with a link and a socket.

use super::{Flags, Report};
use crate::bridge::{CHORES, RETRY};
use crate::clock;
use crate::io::Transmit;
use crate::outbox::{Outbox, Outcome, Owner};
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
    outbox: Outbox<Lent>,
    reporting: Reporting,
    flags: Arc<Flags>,
}

/// The way back to the intake.
struct Reporting(rtrb::Producer<Report>);

impl Reporting {
    #[inline]
    fn report(&mut self, report: Report) {
        if self.0.push(report).is_err() {
            unreachable!("more is told of frames than there are slots for them");
        }
    }
}

impl Owner<Lent> for Reporting {
    #[inline]
    fn message<'a>(&'a self, lent: &'a Lent, length: u32) -> &'a [u8] {
        lent.message(length)
    }

    #[inline]
    fn gone(&mut self, lent: Lent, length: u32, outcome: Outcome) {
        self.report(Report::Back { lent, sent: Some((length, outcome)) });
    }
}

impl<T: Transmit> Outlet<T> {
    pub(super) fn new(
        transmission: TransmissionEngine<Lent>,
        transmitter: T,
        outbox: Outbox<Lent>,
        reporting: rtrb::Producer<Report>,
        flags: Arc<Flags>,
    ) -> Outlet<T> {
        Outlet { transmission, transmitter, outbox, reporting: Reporting(reporting), flags }
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
        let Outlet { transmission, transmitter, outbox, reporting, .. } = self;
        // What is decided while the kernel has no room waits in its rings, and so does, in the end, the engine.
        if !outbox.flush(now, transmitter, reporting) {
            return None;
        }
        let next = transmission.turn(now, |Departure { stream, length, frame: lent, fate, at, .. }| {
            let decided = Report::Decided { stream, slot: lent.slot(), length, fate, at };
            match fate {
                Fate::Sent => {
                    reporting.report(decided);
                    outbox.push(at, length, lent);
                }
                // The memory is back before the port lets go of the packet and its slot.
                Fate::Late => {
                    reporting.report(Report::Back { lent, sent: None });
                    reporting.report(decided);
                }
            }
        });
        if !outbox.flush(now, transmitter, reporting) {
            return None;
        }
        Some(match (next, outbox.first_due()) {
            (Next::At(wake), Some(due)) => Next::At(wake.earlier(due)),
            (Next::Waiting | Next::Ended, Some(due)) => Next::At(due),
            (next, None) => next,
        })
    }

    /// The winners that came in.
    pub(super) fn winners(&self) -> Transfers {
        self.transmission.counters().winners
    }

    /// What the rings still hold.
    pub(super) fn queued(&mut self) -> Volume {
        self.transmission.account(&[]).queued
    }
}
