//! The receiving end: what has come, in order and out of order, and when it says so.
//!
//! **Source.** RFC 5681, section 4.2 (when to acknowledge); RFC 2018, section 4 (which blocks to report, and in which order); RFC 3168,
//! section 6.1.3 (echoing congestion).
//!
//! **State.** The next segment expected, the runs of segments that lie beyond it, and the last few that were reported first.
//!
//! **Cost.** In order: a comparison. Out of order: a binary search among the runs, one per block that is reported.
//!
//! **Deviations.** Data that has come in order is taken by the application at once, so the window never shrinks, and nothing that was
//! reported is ever thrown away again.

use super::segment::{Ack, BLOCKS};
use crate::time::NEVER;
use std::collections::VecDeque;

/// The receiver of one connection. Segments are numbered; see [`super::flight::Flight`].
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The segment that is due next; everything before has been delivered.
    next: u64,
    /// What has come beyond it: runs from the first to behind the last segment, in order, with gaps between them.
    runs: VecDeque<(u64, u64)>,
    /// Of the runs that were reported first, a segment of each, the latest first; 0 for none.
    recent: [u64; BLOCKS],
    arrived: u64,
    /// How long an acknowledgement may wait for a second segment, in picoseconds; 0: not at all.
    delay: u64,
    /// Segments that came in order and have not been acknowledged.
    waiting: u32,
    deadline: u64,
    selective: bool,
    /// True from a congestion mark until the sender says that it has reduced its window.
    echoing: bool,
}

impl Receiver {
    /// A receiver that expects segment 1.
    pub(crate) fn new(selective: bool, delay: u64) -> Receiver {
        Receiver {
            next: 1,
            runs: VecDeque::new(),
            recent: [0; BLOCKS],
            arrived: 0,
            delay,
            waiting: 0,
            deadline: NEVER,
            selective,
            echoing: false,
        }
    }

    /// The segment that is due next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of data that have arrived, each once, whether what lies before them has or not: a retransmission that closes a gap does not make what
    /// had come long before look as if it had crossed the network then.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// When it has to be asked by [`Receiver::on_timer`], or [`NEVER`].
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline
    }

    /// The network marked a segment, or the sender says that it has reacted.
    pub(crate) fn congestion(&mut self, marked: bool, reduced: bool) {
        self.echoing = (self.echoing && !reduced) || marked;
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

    /// The acknowledgement that has waited long enough, if one has.
    pub(crate) fn on_timer(&mut self, now: u64) -> Option<Ack> {
        (self.deadline <= now).then(|| self.acknowledge())
    }

    #[cold]
    fn out_of_order(&mut self, number: u64, length: u32) {
        if number < self.next {
            return;
        }
        // The first run that ends at the segment or behind it.
        let at = self.runs.partition_point(|run| run.1 < number);
        match self.runs.get(at).copied() {
            Some((first, end)) if first <= number && number < end => {}
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
        let place = self.recent.iter().position(|&seen| seen == 0 || seen == number || self.same_run(seen, number)).unwrap_or(BLOCKS - 1);
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

    /// The next segment has come: delivers what lies behind it.
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
        let mut ack = Ack { next: self.next, echo: self.echoing, ..Ack::default() };
        if self.selective && !self.runs.is_empty() {
            self.report(&mut ack);
        }
        ack
    }

    fn report(&self, ack: &mut Ack) {
        for &number in self.recent.iter().take_while(|&&number| number != 0) {
            // What has been delivered is no run any more.
            if let Some(run) = self.run_of(number)
                && !ack.blocks[..ack.count as usize].contains(&run)
                && (ack.count as usize) < BLOCKS
            {
                ack.blocks[ack.count as usize] = run;
                ack.count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The acknowledgement of each segment: next, and the blocks.
    fn play(receiver: &mut Receiver, segments: &[u64]) -> Vec<(u64, Vec<(u64, u64)>)> {
        let blocks = |ack: Ack| (ack.next, ack.blocks[..ack.count as usize].to_vec());
        segments.iter().filter_map(|&number| receiver.on_segment(0, number, 10).map(blocks)).collect()
    }

    #[test]
    fn the_first_block_holds_the_segment_that_has_just_come() {
        // RFC 2018, section 4, in segments: every other one is lost.
        let mut receiver = Receiver::new(true, 0);
        let acks = play(&mut receiver, &[1, 3, 5, 7, 9, 2]);
        assert_eq!(acks[0], (2, vec![]));
        assert_eq!(acks[1], (2, vec![(3, 4)]));
        assert_eq!(acks[3], (2, vec![(7, 8), (5, 6), (3, 4)]));
        // No more than three; the oldest gives way.
        assert_eq!(acks[4], (2, vec![(9, 10), (7, 8), (5, 6)]));
        assert_eq!(acks[5], (4, vec![(9, 10), (7, 8), (5, 6)]));
        assert_eq!(receiver.arrived(), 60);
        // Two runs become one, and the freshest.
        assert_eq!(play(&mut receiver, &[6]), [(4, vec![(5, 8), (9, 10)])]);
        assert_eq!(play(&mut receiver, &[4, 8]), [(8, vec![(9, 10)]), (10, vec![])]);
        assert_eq!(receiver.arrived(), 90);
    }

    #[test]
    fn what_has_come_before_is_acknowledged_and_not_delivered_again() {
        let mut receiver = Receiver::new(true, 0);
        let acks = play(&mut receiver, &[1, 1, 3, 3, 2, 3]);
        assert_eq!(acks.iter().map(|ack| ack.0).collect::<Vec<_>>(), [2, 2, 2, 2, 4, 4]);
        assert_eq!(receiver.arrived(), 30);
    }

    #[test]
    fn a_second_segment_or_the_timer_ends_the_delay() {
        // RFC 5681, section 4.2: at least every second segment, within the delay; at once for a gap and for what closes it.
        let mut receiver = Receiver::new(false, 40);
        assert!(receiver.on_segment(0, 1, 10).is_none());
        assert_eq!(receiver.deadline(), 40);
        assert_eq!(receiver.on_segment(5, 2, 10).map(|ack| ack.next), Some(3));
        assert_eq!(receiver.deadline(), NEVER);
        assert!(receiver.on_segment(10, 3, 10).is_none());
        assert!(receiver.on_timer(49).is_none());
        assert_eq!(receiver.on_timer(50).map(|ack| (ack.next, ack.count)), Some((4, 0)));
        assert_eq!(receiver.on_segment(60, 5, 10).map(|ack| (ack.next, ack.count)), Some((4, 0)));
        assert_eq!(receiver.on_segment(70, 4, 10).map(|ack| ack.next), Some(6));
    }

    #[test]
    fn data_counts_when_it_arrives_and_once() {
        let mut receiver = Receiver::new(true, 0);
        let arrived = [(3, 4), (2, 10), (3, 4), (1, 7), (2, 10)].map(|(number, length)| {
            receiver.on_segment(0, number, length);
            receiver.arrived()
        });
        assert_eq!((arrived, receiver.next()), ([4, 14, 14, 21, 21], 4));
    }
}
