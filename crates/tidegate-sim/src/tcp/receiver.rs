//! The receiving end: what has arrived, in order and out of order, and when it is acknowledged.
//!
//! **Source.** RFC 5681, section 4.2 (when to acknowledge); RFC 2018, section 4 (which blocks to report, and in which order); RFC 2883,
//! section 4 (segments that come twice); RFC 3168, section 6.1.3, and [`super::ecn`] (echoing congestion).
//!
//! **State.** The next segment expected, the runs of segments beyond it, and the last few that were reported first.
//!
//! **Cost.** In order: a comparison. Out of order: a binary search among the runs, one per block that is reported.
//!
//! **Deviations.** The application takes data in order at once, so the window never shrinks. Nothing that was reported is discarded.

use super::ecn::{Echo, EcnMode};
use super::segment::{Ack, MAX_SACK_BLOCKS};
use crate::time::NEVER;
use std::collections::VecDeque;
use tidegate_core::packet::Ecn;

/// The receiver of one connection. Segments are numbered; see [`super::flight::Flight`].
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The segment that is expected next; everything before has been delivered.
    next: u64,
    /// The runs beyond it, in order, with gaps between them; the end of each is exclusive.
    runs: VecDeque<(u64, u64)>,
    /// A segment of each run that was reported first, the latest first; 0 for none.
    recent: [u64; MAX_SACK_BLOCKS],
    arrived: u64,
    /// How long an acknowledgement may wait for a second segment, in picoseconds; 0: not at all.
    delay: u64,
    /// Segments that came in order and have not been acknowledged.
    waiting: u32,
    deadline: u64,
    selective: bool,
    /// Whether segments that come twice are reported, and the one that has just done so.
    reports_duplicates: bool,
    duplicate: Option<u64>,
    echo: Echo,
}

impl Receiver {
    /// `delay` in picoseconds. Acknowledgements report runs beyond gaps if `selective`, and segments that come twice if `reports_duplicates`.
    pub(crate) fn new(selective: bool, reports_duplicates: bool, delay: u64, ecn: EcnMode) -> Receiver {
        Receiver {
            next: 1,
            runs: VecDeque::new(),
            recent: [0; MAX_SACK_BLOCKS],
            arrived: 0,
            delay,
            waiting: 0,
            deadline: NEVER,
            selective,
            reports_duplicates,
            duplicate: None,
            echo: Echo::new(ecn),
        }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of data that have arrived, each once, in order or not. A retransmission that closes a gap thus counts only itself, at its
    /// instant.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// When [`Receiver::on_timer`] is due, or [`NEVER`].
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline
    }

    /// The code point of the segment that comes next, and whether its sender says that it has reduced its window. The acknowledgement of what
    /// waits, if that has to have the echo as it was.
    #[inline]
    pub(crate) fn on_code_point(&mut self, ecn: Ecn, says_reduced: bool) -> Option<Ack> {
        let earlier = (self.waiting > 0 && self.echo.is_change(ecn)).then(|| self.acknowledge());
        if self.echo.on_segment(ecn, says_reduced) {
            // The next in order is acknowledged as if it were the second to wait.
            self.waiting = 1;
        }
        earlier
    }

    /// A segment with `length` bytes of data arrives. The acknowledgement, if it is due at once.
    #[inline]
    pub(crate) fn on_segment(&mut self, now: u64, number: u64, length: u32) -> Option<Ack> {
        if number != self.next {
            self.out_of_order(number, length);
            return Some(self.acknowledge());
        }
        self.next += 1;
        self.arrived += u64::from(length);
        if !self.runs.is_empty() {
            self.close_gap();
            return Some(self.acknowledge());
        }
        self.waiting += 1;
        if self.delay == 0 || self.waiting == 2 {
            return Some(self.acknowledge());
        }
        self.deadline = now + self.delay;
        None
    }

    /// The acknowledgement whose delay is over, if one is.
    pub(crate) fn on_timer(&mut self, now: u64) -> Option<Ack> {
        (self.deadline <= now).then(|| self.acknowledge())
    }

    #[cold]
    fn out_of_order(&mut self, number: u64, length: u32) {
        if number < self.next {
            self.duplicate = Some(number);
            return;
        }
        // The first run that ends at the segment or behind it.
        let at = self.runs.partition_point(|run| run.1 < number);
        match self.runs.get(at).copied() {
            Some((first, end)) if first <= number && number < end => self.duplicate = Some(number),
            Some((first, end)) if end == number || first == number + 1 => {
                let grown = (first.min(number), end.max(number + 1));
                self.runs[at] = grown;
                if let Some(&(next, end)) = self.runs.get(at + 1)
                    && next == grown.1
                {
                    self.runs[at].1 = end;
                    self.runs.remove(at + 1);
                }
                self.arrived += u64::from(length);
            }
            _ => {
                self.runs.insert(at, (number, number + 1));
                self.arrived += u64::from(length);
            }
        }
        let place =
            self.recent.iter().position(|&seen| seen == 0 || seen == number || self.same_run(seen, number)).unwrap_or(MAX_SACK_BLOCKS - 1);
        self.recent[..=place].rotate_right(1);
        self.recent[0] = number;
    }

    fn run_of(&self, number: u64) -> Option<(u64, u64)> {
        let at = self.runs.partition_point(|run| run.1 <= number);
        self.runs.get(at).copied().filter(|run| run.0 <= number)
    }

    fn same_run(&self, one: u64, other: u64) -> bool {
        self.run_of(one).is_some_and(|run| run.0 <= other && other < run.1)
    }

    /// The next segment has come: delivers the run that follows it.
    fn close_gap(&mut self) {
        if let Some(&(first, end)) = self.runs.front()
            && first == self.next
        {
            self.next = end;
            self.runs.pop_front();
        }
    }

    #[inline]
    fn acknowledge(&mut self) -> Ack {
        self.waiting = 0;
        self.deadline = NEVER;
        let mut ack = Ack { next: self.next, ..Ack::default() };
        self.echo.write(&mut ack);
        let duplicate = self.duplicate.take().filter(|_| self.reports_duplicates);
        if let Some(number) = duplicate {
            (ack.blocks[0], ack.count) = ((number, number + 1), 1);
        }
        if self.selective && !self.runs.is_empty() {
            self.report(&mut ack);
        }
        ack
    }

    /// Adds the runs, the latest first, behind what the acknowledgement reports already.
    fn report(&self, ack: &mut Ack) {
        let first = ack.count as usize;
        for &number in self.recent.iter().take_while(|&&number| number != 0) {
            // A delivered segment is in no run.
            if let Some(run) = self.run_of(number)
                && !ack.blocks[first..ack.count as usize].contains(&run)
                && (ack.count as usize) < MAX_SACK_BLOCKS
            {
                ack.blocks[ack.count as usize] = run;
                ack.count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
