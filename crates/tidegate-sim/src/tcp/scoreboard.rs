//! What the receiver is known to have of the segments in flight: one bit each, and the counts that RFC 6675 asks for.
//!
//! The counts are kept as bits change, so that an acknowledgement costs what it says that is new, not what is in flight. Three sacked segments
//! above one that is not make that one lost; so all that is unsacked below the third-highest sacked segment is lost, and only that border
//! has to be known. (Three discontiguous runs hold at least three segments: RFC 6675's other criterion never decides where all segments
//! count as full.)
//!
//! **Source.** RFC 6675, sections 3 and 4 (IsLost, SetPipe).
//!
//! **State.** One bit per segment of the receiver's window, in a ring, and nine words.
//!
//! **Cost.** Per segment in its life: one bit set and three comparisons; ranges are counted 64 segments at a time.

/// Segments that make one below them lost: DupThresh.
pub(crate) const THRESHOLD: usize = 3;

/// The bits and counts. Segments are numbered; all numbers lie between those of the first unacknowledged one and `capacity` more.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    words: Box<[u64]>,
    /// The highest sacked segments, each plus one, in falling order; 0 for none.
    highest: [u64; THRESHOLD],
    /// All unsacked segments below this one are lost.
    border: u64,
    /// All unsacked segments below this one have been sent again in this recovery.
    resent_to: u64,
    sacked: u64,
    lost: u64,
    resent: u64,
}

impl Scoreboard {
    /// For a window of this many segments.
    pub(crate) fn new(window: u64) -> Scoreboard {
        // A range may start in the middle of a word, and so takes one more than its length; the length of the ring is a power of two.
        let words = (window / 64 + 2).next_power_of_two() as usize;
        Scoreboard { words: vec![0; words].into(), highest: [0; THRESHOLD], border: 0, resent_to: 0, sacked: 0, lost: 0, resent: 0 }
    }

    #[inline]
    fn word(&self, segment: u64) -> usize {
        (segment / 64) as usize & (self.words.len() - 1)
    }

    /// True if the receiver has reported the segment.
    #[inline]
    pub(crate) fn is_sacked(&self, segment: u64) -> bool {
        self.sacked > 0 && self.words[self.word(segment)] >> (segment % 64) & 1 == 1
    }

    /// The segment behind the highest reported one, or 0.
    pub(crate) fn end(&self) -> u64 {
        self.highest[0]
    }

    /// All unsacked segments below this one are lost.
    pub(crate) fn border(&self) -> u64 {
        self.border
    }

    /// All unsacked segments below this one have been sent again.
    pub(crate) fn resent_to(&self) -> u64 {
        self.resent_to
    }

    /// Segments that count as lost and have not been reported since.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Segments that the receiver has reported beyond the first unacknowledged one.
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// RFC 6675's pipe, in segments, for the segments from `una` to `max`.
    pub(crate) fn pipe(&self, una: u64, max: u64) -> u64 {
        max - una - self.sacked - self.lost + self.resent
    }

    /// The receiver has the segments from `from` to `to`, all of which are in flight from `una` on; returns how many are news.
    pub(crate) fn mark(&mut self, una: u64, from: u64, to: u64) -> u64 {
        let before = self.sacked;
        let mut at = from;
        while at < to {
            let end = (at | 63) + 1;
            let index = self.word(at);
            let mut mask = u64::MAX << (at % 64);
            if end > to {
                mask &= u64::MAX >> (end - to);
            }
            let mut news = mask & !self.words[index];
            self.words[index] |= mask;
            while news != 0 {
                self.note((at & !63) + u64::from(news.trailing_zeros()));
                news &= news - 1;
            }
            at = end;
        }
        let border = self.highest[THRESHOLD - 1].saturating_sub(1);
        if border > self.border {
            self.lost += self.unsacked(self.border.max(una), border);
            self.border = border;
        }
        self.sacked - before
    }

    fn note(&mut self, segment: u64) {
        self.sacked += 1;
        self.lost -= u64::from(segment < self.border);
        self.resent -= u64::from(segment < self.resent_to);
        let mut end = segment + 1;
        for place in &mut self.highest {
            if end > *place {
                std::mem::swap(&mut end, place);
            }
        }
    }

    /// The number of unsacked segments from `from` to `to`.
    fn unsacked(&self, from: u64, to: u64) -> u64 {
        let (mut at, mut count) = (from, 0);
        while at < to {
            let end = (at | 63) + 1;
            let mut mask = u64::MAX << (at % 64);
            if end > to {
                mask &= u64::MAX >> (end - to);
            }
            count += u64::from((mask & !self.words[self.word(at)]).count_ones());
            at = end;
        }
        count
    }

    /// The number of sacked segments from `from` to `to`.
    pub(crate) fn sacked_between(&self, from: u64, to: u64) -> u64 {
        if self.sacked == 0 || from >= to { 0 } else { to - from - self.unsacked(from, to) }
    }

    /// The first unsacked segment from `from` to `to`.
    pub(crate) fn first_unsacked(&self, from: u64, to: u64) -> Option<u64> {
        let mut at = from;
        while at < to {
            let missing = !self.words[self.word(at)] & u64::MAX << (at % 64);
            if missing != 0 {
                let found = (at & !63) + u64::from(missing.trailing_zeros());
                return (found < to).then_some(found);
            }
            at = (at | 63) + 1;
        }
        None
    }

    /// Everything below `to` has been acknowledged, from `una` on.
    #[inline]
    pub(crate) fn advance(&mut self, una: u64, to: u64) {
        if self.sacked + self.lost + self.resent > 0 {
            self.forget(una, to);
        }
        self.resent_to = self.resent_to.max(to);
    }

    fn forget(&mut self, una: u64, to: u64) {
        self.lost -= self.unsacked(una, to.min(self.border));
        self.resent -= self.unsacked(una, to.min(self.resent_to));
        self.sacked -= to - una - self.unsacked(una, to);
        let mut at = una;
        while at < to {
            let end = (at | 63) + 1;
            let mut mask = u64::MAX << (at % 64);
            if end > to {
                mask &= u64::MAX >> (end - to);
            }
            let index = self.word(at);
            self.words[index] &= !mask;
            at = end;
        }
    }

    /// All unsacked segments below `to` count as sent again, from `una` on. `to` does not decrease within a recovery.
    pub(crate) fn resend(&mut self, una: u64, to: u64) {
        self.resent += self.unsacked(self.resent_to.max(una), to);
        self.resent_to = self.resent_to.max(to);
    }

    /// A recovery begins at `una`: nothing has been sent again.
    pub(crate) fn restart(&mut self, una: u64) {
        self.resent = 0;
        self.resent_to = una;
    }

    /// Forgets all reports.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
        *self = Scoreboard {
            words: std::mem::take(&mut self.words),
            highest: [0; THRESHOLD],
            border: 0,
            resent_to: 0,
            sacked: 0,
            lost: 0,
            resent: 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// RFC 6675 to the letter, from the set of sacked segments, with segments of 10 bytes.
    struct Slow {
        sacked: BTreeSet<u64>,
        una: u64,
        max: u64,
        /// HighRxt plus one.
        resent_to: u64,
    }

    impl Slow {
        fn is_lost(&self, segment: u64) -> bool {
            let above: Vec<u64> = self.sacked.range(segment + 1..).copied().collect();
            let runs = above.iter().enumerate().filter(|&(index, &this)| index == 0 || above[index - 1] + 1 != this).count();
            runs >= 3 || above.len() * 10 > 2 * 10
        }

        fn pipe(&self) -> u64 {
            let unsacked = (self.una..self.max).filter(|segment| !self.sacked.contains(segment));
            unsacked.map(|segment| u64::from(!self.is_lost(segment)) + u64::from(segment < self.resent_to)).sum()
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Sack(u64, u64),
        Advance(u64),
        Send(u64),
        Resend,
        Recover,
        Timeout,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => (0u64..150, 1u64..9).prop_map(|(from, length)| Step::Sack(from, length)),
            3 => (1u64..9).prop_map(Step::Advance),
            3 => (1u64..20).prop_map(Step::Send),
            4 => Just(Step::Resend),
            1 => Just(Step::Recover),
            1 => Just(Step::Timeout),
        ];
        prop::collection::vec(step, 1..200)
    }

    proptest! {
        #[test]
        fn it_counts_as_the_rfc_does(start in 0u64..200, steps in steps()) {
            const WINDOW: u64 = 150;
            let mut board = Scoreboard::new(WINDOW);
            let mut slow = Slow { sacked: BTreeSet::new(), una: start, max: start, resent_to: start };
            board.restart(start);
            for step in steps {
                match step {
                    Step::Sack(from, length) => {
                        let (from, to) = ((slow.una + 1 + from).min(slow.max), (slow.una + 1 + from + length).min(slow.max));
                        let news = (from..to).filter(|&segment| slow.sacked.insert(segment)).count() as u64;
                        prop_assert_eq!(board.mark(slow.una, from, to), news);
                    }
                    Step::Advance(by) => {
                        let to = (slow.una + by).min(slow.max);
                        board.advance(slow.una, to);
                        slow.una = to;
                        slow.sacked.retain(|&segment| segment >= to);
                        slow.resent_to = slow.resent_to.max(to);
                    }
                    Step::Send(count) => slow.max = (slow.max + count).min(slow.una + WINDOW),
                    Step::Resend => {
                        let lost = (slow.resent_to.max(slow.una)..slow.max).find(|s| !slow.sacked.contains(s) && slow.is_lost(*s));
                        let next = board.first_unsacked(board.resent_to(), board.border());
                        prop_assert_eq!(next, lost);
                        if let Some(segment) = next {
                            board.resend(slow.una, segment + 1);
                            slow.resent_to = segment + 1;
                        }
                    }
                    Step::Recover => {
                        board.restart(slow.una);
                        slow.resent_to = slow.una;
                    }
                    Step::Timeout => {
                        board.clear();
                        board.restart(slow.una);
                        slow.sacked.clear();
                        slow.resent_to = slow.una;
                    }
                }
                prop_assert_eq!(board.pipe(slow.una, slow.max), slow.pipe());
                prop_assert_eq!(board.sacked, slow.sacked.len() as u64);
                if let Some(last) = slow.sacked.last() {
                    prop_assert_eq!(board.end(), last + 1);
                }
                for segment in slow.una..slow.max {
                    prop_assert_eq!(board.is_sacked(segment), slow.sacked.contains(&segment));
                }
                let middle = (slow.una + slow.max) / 2;
                prop_assert_eq!(board.sacked_between(slow.una, middle), slow.sacked.range(slow.una..middle).count() as u64);
            }
        }
    }
}
