//! Recovery by the times of transmission: what was sent a reordering window before something that has arrived is lost, retransmissions included.
//!
//! **Law.** A segment counts as lost when a later transmission than its last one has arrived, and a round trip and the reordering window have
//! passed since that. In flight is what has been sent and neither has arrived nor counts as lost; the window bounds it.
//!
//! **Source.** RFC 8985 (RACK), sections 6.2 and 6.3 (what a timeout marks as lost). The tail loss probe is [`super::super::probe`].
//!
//! **State.** 24 bytes per segment in flight, 16 per transmission not known to have arrived, and the segments to send again.
//!
//! **Cost.** O(1) per transmission, amortised; an insertion into a heap per loss.
//!
//! **Deviations.** The least round trip is renewed when it is five minutes old. After a timeout the first segment is lost even if it was sent again
//! since.

use super::{LossRecovery, Verdict};
use crate::tcp::flight::Flight;
use crate::time::NEVER;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Reported segments that make the reordering window zero while no reordering has been seen (DupThresh).
const DUP_THRESH: u64 = 3;
/// Recoveries without a duplicate after which the reordering window is a quarter of the least round trip again.
const PERSISTENCE: u32 = 16;
/// How long the least round trip counts, in picoseconds: five minutes.
const LEAST_LASTS: u64 = 300_000_000_000_000;

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
    /// Transmissions and their segments, in order: those before `latest` that do not count as lost yet, and the others.
    late: VecDeque<(u64, u64)>,
    order: VecDeque<(u64, u64)>,
    /// The round trip of `latest` (RACK.rtt), the least one, and when that was measured, in picoseconds; 0 for none.
    latest_round_trip: u64,
    least: (u64, u64),
    /// The segment behind the highest one that has arrived (RACK.fack), and whether one below has come late, sent once.
    highest: u64,
    is_reordered: bool,
    /// The reordering window in quarters of the least round trip (RACK.reo_wnd_mult), and for how many recoveries more it stays above one.
    quarters: u64,
    persistence: u32,
    /// The first segment that had not been sent when a duplicate last widened the window (RACK.dsack_round), and whether the present
    /// acknowledgement has.
    widened_to: u64,
    is_widened: bool,
    /// When the segments in `late` count as lost, or [`NEVER`].
    deadline: u64,
    /// The round trip of the latest transmission that the present acknowledgement reports, unless its segment was sent twice.
    round_trip: Option<u64>,
    /// The segments to send again, the number of them that have not been reported since, and of all so far.
    lost: BinaryHeap<Reverse<u64>>,
    count: u64,
    found: u64,
    /// The transmissions before the last recovery or timeout began, and whether one that repeats a segment and came after them is lost.
    before: u64,
    has_lost_again: bool,
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
            let is_repeated = entry.is_repeated;
            self.count += 1;
            self.found += 1;
            self.lost.push(Reverse(segment));
            self.has_lost_again |= is_repeated && transmission > self.before;
        }
    }

    /// A recovery or a timeout begins: it is the answer to all losses so far.
    fn begin_window(&mut self) {
        (self.before, self.has_lost_again) = (self.transmissions, false);
    }

    /// When the transmission was made, if its segment has not been reported, nor sent again since.
    fn sent_at(&mut self, (transmission, segment): (u64, u64)) -> Option<u64> {
        self.entry(segment).filter(|entry| entry.transmission == transmission).map(|entry| entry.at)
    }

    /// The second half of RACK_update_reo_wnd.
    fn reordering_window(&self, flight: &Flight, is_recovering: bool) -> u64 {
        if !self.is_reordered && (is_recovering || flight.board.sacked() >= DUP_THRESH) {
            return 0;
        }
        let quarter = self.least.0 / 4;
        // There is no smoothed round trip before the first acknowledgement is over.
        (self.quarters * quarter).min(flight.smoothed_round_trip.max(quarter))
    }

    /// RACK_detect_loss: what is older than `latest` by more than the reordering window is lost.
    fn detect(&mut self, now: u64, flight: &Flight, is_recovering: bool) {
        while let Some(&transmission) = self.order.front()
            && transmission.0 < self.latest
        {
            self.order.pop_front();
            self.late.push_back(transmission);
        }
        self.deadline = NEVER;
        if self.late.is_empty() {
            return;
        }
        let wait = self.latest_round_trip + self.reordering_window(flight, is_recovering);
        while let Some(&late) = self.late.front() {
            if self.sent_at(late).is_some_and(|at| at + wait > now) {
                break;
            }
            self.late.pop_front();
            self.lose(late.0, late.1);
        }
        while let Some(&late) = self.late.back() {
            if let Some(at) = self.sent_at(late) {
                self.deadline = at + wait;
                break;
            }
            self.late.pop_back();
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
    const IS_BOUNDED: bool = true;

    fn new() -> Rack {
        Rack {
            first: 1,
            sent: VecDeque::new(),
            transmissions: 0,
            latest: 0,
            late: VecDeque::new(),
            order: VecDeque::new(),
            latest_round_trip: 0,
            least: (0, 0),
            highest: 0,
            is_reordered: false,
            quarters: 1,
            persistence: 0,
            widened_to: 0,
            is_widened: false,
            deadline: NEVER,
            round_trip: None,
            lost: BinaryHeap::new(),
            count: 0,
            found: 0,
            before: 0,
            has_lost_again: false,
        }
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
        let round_trip = now - at;
        if !is_repeated && (self.least.0 == 0 || round_trip <= self.least.0 || now - self.least.1 > LEAST_LASTS) {
            self.least = (round_trip, now);
        }
        self.is_reordered |= segment < self.highest && !is_repeated && transmission > 0;
        self.highest = self.highest.max(segment + 1);
        // An earlier arrival than any round trip allows is that of an earlier transmission.
        if transmission > self.latest && !(is_repeated && round_trip < self.least.0) {
            self.latest = transmission;
            self.latest_round_trip = round_trip;
            self.round_trip = (!is_repeated).then_some(round_trip);
        }
    }

    fn round_trip(&mut self) -> Option<u64> {
        self.round_trip.take()
    }

    fn on_reports(&mut self, now: u64, flight: &Flight, is_recovering: bool, is_duplicate: bool) {
        // The first half of RACK_update_reo_wnd: the window grows once per round trip in which segments came twice.
        self.is_widened = is_duplicate && flight.una >= self.widened_to;
        if self.is_widened {
            self.quarters += 1;
            (self.widened_to, self.persistence) = (flight.max, PERSISTENCE);
        }
        while self.first < flight.una && !self.sent.is_empty() {
            self.keep(self.first);
            self.sent.pop_front();
            self.first += 1;
        }
        self.detect(now, flight, is_recovering);
    }

    fn on_repaired(&mut self) {
        if self.is_widened {
            return;
        }
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.quarters = 1;
        }
    }

    fn deadline(&self) -> u64 {
        self.deadline
    }

    fn on_deadline(&mut self, now: u64, flight: &Flight, is_recovering: bool) {
        self.detect(now, flight, is_recovering);
    }

    fn begins(&self, _flight: &Flight) -> bool {
        self.count > 0
    }

    fn begin(&mut self, flight: &mut Flight) {
        self.begin_window();
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

    fn found(&self, _flight: &Flight) -> u64 {
        self.found
    }

    fn pipe(&self, flight: &Flight) -> u64 {
        flight.max - flight.una - flight.board.sacked() - self.count
    }

    fn on_rto(&mut self, now: u64, flight: &Flight) {
        let wait = self.latest_round_trip + self.reordering_window(flight, true);
        while let Some(&oldest) = self.late.front().or(self.order.front()) {
            if self.sent_at(oldest).is_some_and(|at| at + wait > now) {
                break;
            }
            if self.late.pop_front().is_none() {
                self.order.pop_front();
            }
            self.lose(oldest.0, oldest.1);
        }
        // The first segment has had the whole timeout, though it may have been sent again since.
        if let Some(transmission) = self.entry(flight.una).map(|entry| entry.transmission) {
            self.lose(transmission, flight.una);
        }
        self.begin_window();
    }

    fn has_lost_again(&mut self) -> bool {
        std::mem::take(&mut self.has_lost_again)
    }
}
