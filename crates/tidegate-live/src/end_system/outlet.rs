//! The outgoing side: the Transmission Engine with a link and a socket.

use super::reports::{Flags, Report};
use crate::clock;
use crate::direction_loop::{MAINTENANCE_INTERVAL, RETRY_INTERVAL};
use crate::io::Transmit;
use crate::outbox::{FrameOwner, Outbox, Outcome};
use crate::pool::Lent;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Overhead, Time, TimePerByte};
use tidegate_endsystem::{Departure, Disposition, Next, Transfers, TransmissionEngine};
use tidegate_wire::{LinkType, mark};

/// Takes winners' frames from their rings, hands them to the kernel, and returns their memory to the intake.
pub(crate) struct Outlet<T> {
    transmission: TransmissionEngine<Lent>,
    pub(super) transmitter: T,
    /// The rate and overhead of the link.
    link: (TimePerByte, Overhead),
    outbox: Outbox<Lent>,
    reporting: Reporting,
    flags: Arc<Flags>,
}

/// The ring of reports to the intake.
struct Reporting(rtrb::Producer<Report>);

impl Reporting {
    #[inline]
    fn report(&mut self, report: Report) {
        if self.0.push(report).is_err() {
            unreachable!("there are more reports than slots allow");
        }
    }
}

impl FrameOwner<Lent> for Reporting {
    #[inline]
    fn message<'a>(&'a self, lent: &'a Lent, length: u32) -> &'a [u8] {
        lent.message(length)
    }

    #[inline]
    fn finished(&mut self, lent: Lent, length: u32, outcome: Outcome) {
        self.report(Report::Back { lent, sent: Some((length, outcome)) });
    }

    fn copied(&mut self, _: &Lent, length: u32, outcome: Outcome) {
        self.report(Report::Copied { length, outcome });
    }
}

impl<T: Transmit> Outlet<T> {
    pub(super) fn new(
        transmission: TransmissionEngine<Lent>,
        transmitter: T,
        link: (TimePerByte, Overhead),
        outbox: Outbox<Lent>,
        reporting: rtrb::Producer<Report>,
        flags: Arc<Flags>,
    ) -> Outlet<T> {
        Outlet { transmission, transmitter, link, outbox, reporting: Reporting(reporting), flags }
    }

    /// Sends frames until the intake and the engine have ended and left nothing, or until the halt flag is set. For `spin` before each instant
    /// it watches the clock instead of sleeping.
    pub(crate) fn run(&mut self, spin: Duration) {
        self.transmission.register();
        let mut next_maintenance = clock::now();
        while !self.flags.halt.load(Ordering::Relaxed) {
            let now = clock::now();
            if !now.is_before(next_maintenance) {
                next_maintenance = now + MAINTENANCE_INTERVAL;
                self.flags.sending.store(self.transmitter.maintain(), Ordering::Relaxed);
            }
            let wake = match self.poll(now) {
                Some(Next::Ended) => return,
                Some(Next::Waiting) => next_maintenance,
                Some(Next::At(time)) => (time - spin).earlier(next_maintenance),
                None => now + RETRY_INTERVAL,
            };
            let left = wake.since(clock::now());
            if left > Duration::ZERO {
                thread::park_timeout(std::time::Duration::from_nanos(left.picoseconds().div_ceil(1000)));
            }
        }
    }

    /// Sends what is due; `None` if the kernel has no room for it.
    pub(super) fn poll(&mut self, now: Time) -> Option<Next> {
        let Outlet { transmission, transmitter, link: (each, overhead), outbox, reporting, .. } = self;
        // While the kernel has no room, winners wait in their rings; once those are full, the engine waits too.
        if !outbox.flush(now, transmitter, reporting) {
            return None;
        }
        let next = transmission.poll(now, |Departure { stream, length, frame: mut lent, disposition, at, .. }| {
            let decided = Report::Decided { stream, slot: lent.slot(), length, disposition, at };
            match disposition {
                Disposition::Sent | Disposition::Marked => {
                    if disposition == Disposition::Marked {
                        mark(LinkType::Ethernet, lent.packet_mut(length));
                    }
                    reporting.report(decided);
                    outbox.push(at, at + each.ceil(overhead.wire_length(length)), length, lent);
                }
                // The memory comes back before the port releases the packet's slot.
                Disposition::Late | Disposition::Congested => {
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

    pub(super) fn winners(&self) -> Transfers {
        self.transmission.counters().winners
    }

    /// The packets that came late.
    pub(super) fn late(&self) -> Volume {
        self.outbox.disturbed().late
    }

    /// The content of the rings.
    pub(super) fn queued(&mut self) -> Volume {
        self.transmission.account(&[]).queued
    }
}
