//! The receiving end of a connection in a simulation.

use super::application::Application;
use super::ecn::EcnMode;
use super::receiver::Receiver;
use super::segment::{Ack, NUMBER_BITS};
use super::settings::Tcp;
use crate::statistics::Histogram;
use crate::time::NEVER;
use tidegate_core::packet::Ecn;

/// A transfer that the sending end begins by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transfer {
    /// The segment behind its last one.
    pub end: u64,
    /// When it began.
    pub began: u64,
}

pub(crate) struct ReceivingEnd<'a> {
    tcp: &'a Tcp,
    receiver: Receiver,
    /// The instant of the pending event; nothing is due before it.
    wake: u64,
    /// The transfer under way, if the sending end began it by itself.
    transfer: Option<Transfer>,
    /// `None` for an endless connection, or one that is measured elsewhere.
    completions: Option<Box<Histogram>>,
    warm_up: u64,
    delivered_before: u64,
}

impl<'a> ReceivingEnd<'a> {
    pub(crate) fn new(tcp: &'a Tcp, warm_up: u64) -> ReceivingEnd<'a> {
        let delay = tcp.delayed_ack.map_or(0, |delay| delay.picoseconds());
        ReceivingEnd {
            tcp,
            receiver: Receiver::new(tcp.recovery.is_selective(), tcp.dsack && tcp.allows_dsack(), delay, tcp.ecn),
            wake: NEVER,
            transfer: None,
            completions: matches!(tcp.application, Application::Transfers(_)).then(Box::default),
            warm_up,
            delivered_before: 0,
        }
    }

    /// That of a connection that measures nothing.
    pub(crate) fn unmeasured(tcp: &'a Tcp) -> ReceivingEnd<'a> {
        ReceivingEnd { completions: None, ..ReceivingEnd::new(tcp, 0) }
    }

    pub(crate) fn tcp(&self) -> &'a Tcp {
        self.tcp
    }

    pub(crate) fn wake(&self) -> u64 {
        self.wake
    }

    /// The segment that is expected next.
    pub(crate) fn next(&self) -> u64 {
        self.receiver.next()
    }

    /// True if the connection carries finite transfers.
    #[inline]
    pub(crate) fn has_transfers(&self) -> bool {
        matches!(self.tcp.application, Application::Transfers(_))
    }

    /// The number of a segment that arrives with the low 28 bits of it.
    #[inline]
    pub(crate) fn number(&self, low: u32) -> u64 {
        widen(low, self.receiver.next())
    }

    /// A segment with data arrives. The acknowledgements of what came before, and of this.
    #[inline]
    pub(crate) fn on_segment(&mut self, now: u64, number: u64, length: u32, ecn: Ecn, reduced: bool) -> [Option<Ack>; 2] {
        let earlier = if self.tcp.ecn == EcnMode::Off { None } else { self.receiver.on_code_point(ecn, reduced) };
        [earlier, self.receiver.on_segment(now, number, length)]
    }

    /// The answer to a packet without data.
    pub(crate) fn on_opening(&self) -> Ack {
        Ack { next: self.receiver.next(), ..Ack::default() }
    }

    /// The sending end has begun a transfer.
    pub(crate) fn expect(&mut self, transfer: Transfer) {
        self.transfer = Some(transfer);
    }

    /// Records the completion of the transfer under way, if its last byte has arrived.
    #[inline]
    pub(crate) fn complete(&mut self, now: u64) {
        if let Some(Transfer { began, .. }) = self.transfer.filter(|transfer| self.receiver.next() >= transfer.end) {
            self.transfer = None;
            self.completed(now, began);
        }
    }

    /// A transfer that began then is complete.
    pub(crate) fn completed(&mut self, now: u64, began: u64) {
        if let Some(completions) = self.completions.as_mut().filter(|_| now >= self.warm_up) {
            completions.record(now - began);
        }
    }

    /// The pending event is due.
    pub(crate) fn on_timer(&mut self, now: u64) -> Option<Ack> {
        self.wake = NEVER;
        self.receiver.on_timer(now)
    }

    /// True if an acknowledgement is delayed.
    pub(crate) fn owes_acknowledgement(&self) -> bool {
        self.receiver.deadline() != NEVER
    }

    /// The instant of the pending event, if it has to be earlier after a change.
    #[inline]
    pub(crate) fn reschedule(&mut self, now: u64) -> Option<u64> {
        let due = self.receiver.deadline();
        if due >= self.wake {
            return None;
        }
        self.wake = due.max(now);
        Some(self.wake)
    }

    /// Excludes what has arrived so far from the measurement.
    pub(crate) fn disregard(&mut self) {
        self.delivered_before = self.receiver.arrived();
    }

    /// Bytes of data that arrived, each once, and the times of complete transfers.
    pub(crate) fn finish(self) -> (u64, Histogram) {
        let completions = self.completions.map_or_else(Histogram::default, |completions| *completions);
        (self.receiver.arrived() - self.delivered_before, completions)
    }
}

/// The number near `near` whose low bits are `low`.
#[inline]
fn widen(low: u32, near: u64) -> u64 {
    const HALF: u64 = 1 << (NUMBER_BITS - 1);
    const MASK: u64 = (1 << NUMBER_BITS) - 1;
    let ahead = u64::from(low).wrapping_sub(near) & MASK;
    if ahead < HALF { near + ahead } else { (near + ahead).wrapping_sub(MASK + 1) }
}

#[cfg(test)]
mod tests;
