//! Recovery by the order of transmission: what was sent before a segment that has arrived is lost, retransmissions included.
//!
//! **Law.** A segment counts as lost when a later transmission than its last one has arrived. In flight is what has been sent and neither has arrived
//! nor counts as lost; the window bounds it.
//!
//! **Source.** RFC 8985 (RACK), sections 6.2, 6.3 (what a timeout marks as lost) and 7.2; RFC 6675 for when recovery begins. The reordering window
//! is zero once recovery has begun, as RFC 8985 prescribes while no reordering has been seen.
//!
//! **State.** 24 bytes per segment in flight, 16 per transmission older than all that has arrived, and the segments to send again.
//!
//! **Cost.** O(1) per transmission, amortised; an insertion into a heap per loss.
//!
//! **Deviations.** No timer waits for segments that may only be late, and there is no tail loss probe. A loss that no later arrival shows is left to
//! the retransmission timer.

use super::{LossRecovery, Verdict};
use crate::tcp::flight::Flight;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A segment in flight: the number of its latest transmission (0 once it is reported) and its instant; whether it is to be sent again, and
/// whether it has been.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    transmission: u64,
    at: u64,
    is_lost: bool,
    is_repeated: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// The segments from `first` on.
    first: u64,
    sent: VecDeque<Sent>,
    transmissions: u64,
    /// The latest transmission that has arrived.
    latest: u64,
    /// Transmissions and their segments, in order, without those before `latest`.
    order: VecDeque<(u64, u64)>,
    /// The round trip of the latest transmission that the present acknowledgement reports, unless its segment was sent twice.
    round_trip: Option<u64>,
    /// The segments to send again, and the number of them that have not been reported since.
    lost: BinaryHeap<Reverse<u64>>,
    count: u64,
}

impl Rack {
    fn entry(&mut self, segment: u64) -> Option<&mut Sent> {
        self.sent.get_mut(segment.checked_sub(self.first)? as usize)
    }

    fn keep(&mut self, segment: u64) {
        let Some(entry) = self.entry(segment) else { return };
        let was_lost = std::mem::take(&mut entry.is_lost);
        self.count -= u64::from(was_lost);
    }

    /// Marks the segment as lost if this is its last transmission and has not arrived.
    fn lose(&mut self, transmission: u64, segment: u64) {
        if let Some(entry) = self.entry(segment).filter(|entry| entry.transmission == transmission && !entry.is_lost) {
            entry.is_lost = true;
            self.count += 1;
            self.lost.push(Reverse(segment));
        }
    }

    fn first_lost(&mut self) -> Option<u64> {
        while let Some(&Reverse(segment)) = self.lost.peek() {
            if self.entry(segment).is_some_and(|entry| entry.is_lost) {
                return Some(segment);
            }
            self.lost.pop();
        }
        None
    }
}

impl LossRecovery for Rack {
    const NAME: &'static str = "rack";
    const SUMMARY: &'static str = "selective acknowledgements, where what was sent before something that has arrived is lost (RFC 8985)";
    const SELECTIVE: bool = true;
    const TRACKS: bool = true;

    fn new() -> Rack {
        let (sent, order, lost) = (VecDeque::new(), VecDeque::new(), BinaryHeap::new());
        Rack { first: 1, sent, transmissions: 0, latest: 0, order, round_trip: None, lost, count: 0 }
    }

    fn on_sent(&mut self, now: u64, segment: u64) {
        if self.sent.is_empty() {
            self.first = segment;
        }
        if self.entry(segment).is_none() {
            self.sent.push_back(Sent::default());
        }
        self.keep(segment);
        self.transmissions += 1;
        let transmission = self.transmissions;
        if let Some(entry) = self.entry(segment) {
            *entry = Sent { transmission, at: now, is_lost: false, is_repeated: entry.transmission > 0 };
        }
        self.order.push_back((transmission, segment));
    }

    fn on_delivered(&mut self, now: u64, segment: u64) {
        self.keep(segment);
        let Some(entry) = self.entry(segment) else { return };
        let Sent { transmission, at, is_repeated, .. } = std::mem::take(entry);
        if transmission > self.latest {
            self.latest = transmission;
            self.round_trip = (!is_repeated).then(|| now - at);
        }
    }

    fn round_trip(&mut self) -> Option<u64> {
        self.round_trip.take()
    }

    fn on_reports(&mut self, flight: &Flight) {
        while self.first < flight.una && !self.sent.is_empty() {
            self.keep(self.first);
            self.sent.pop_front();
            self.first += 1;
        }
        while let Some(&(transmission, segment)) = self.order.front()
            && transmission < self.latest
        {
            self.order.pop_front();
            self.lose(transmission, segment);
        }
    }

    fn begins(&self, flight: &Flight) -> bool {
        // Retransmissions of the last recovery that are under way do not begin another.
        self.count > 0 && (flight.duplicates >= 3 || flight.board.border() > flight.una)
    }

    fn begin(&mut self, flight: &mut Flight) {
        flight.cwnd = flight.ssthresh;
        flight.resend = self.first_lost();
    }

    fn on_duplicate_ack(&mut self, _flight: &mut Flight, _news: u64) -> Verdict {
        Verdict::Continues
    }

    fn on_new_ack(&mut self, flight: &mut Flight, _acked: u64) -> Verdict {
        if flight.una >= flight.recover { Verdict::Ends } else { Verdict::Continues }
    }

    fn next(&mut self, flight: &mut Flight) -> Option<u64> {
        if flight.cwnd < (self.pipe(flight) + 1) * flight.segment {
            return None;
        }
        self.first_lost().or_else(|| flight.has_new().then_some(flight.max))
    }

    fn pipe(&self, flight: &Flight) -> u64 {
        flight.max - flight.una - flight.board.sacked() - self.count
    }

    fn on_rto(&mut self, now: u64, flight: &Flight) {
        while let Some(&(transmission, segment)) = self.order.front() {
            let sent = self.entry(segment).filter(|entry| entry.transmission == transmission).map_or(0, |entry| entry.at);
            if sent + flight.round_trip > now {
                break;
            }
            self.order.pop_front();
            self.lose(transmission, segment);
        }
        // The first segment has had the whole timeout, though it may have been sent again since.
        if let Some(transmission) = self.entry(flight.una).map(|entry| entry.transmission) {
            self.lose(transmission, flight.una);
        }
    }
}
