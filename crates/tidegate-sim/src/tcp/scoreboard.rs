//! Which segments in flight the receiver has reported: one bit each, and the counts that RFC 6675 asks for.
//!
//! The counts follow the bits, so an acknowledgement costs what it reports anew, not what is in flight. A segment is lost once three above it are
//! sacked. Hence all that is unsacked below the third-highest sacked segment is lost, and only that border has to be known. RFC 6675's other
//! criterion, three discontiguous runs, never decides where all segments count as full: three runs hold at least three segments.
//!
//! **Source.** RFC 6675, sections 3 and 4 (IsLost, SetPipe).
//!
//! **State.** One bit per segment of the receiver's window, in a ring, and ten words.
//!
//! **Cost.** Per segment in its life: one bit set and three comparisons; ranges are counted 64 segments at a time.

/// Segments that make one below them lost: DupThresh.
pub(crate) const DUP_THRESH: usize = 3;

/// The bits and counts. Segments are numbered from the first unacknowledged one, up to the window of them.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    words: Box<[u64]>,
    /// The highest sacked segments, each plus one, in falling order; 0 for none.
    highest: [u64; DUP_THRESH],
    /// All unsacked segments below this one are lost.
    border: u64,
    /// All unsacked segments below this one have been sent again in this recovery.
    resent_to: u64,
    sacked: u64,
    lost: u64,
    /// Segments that counted as lost at some time.
    found: u64,
    resent: u64,
}

impl Scoreboard {
    /// For a window of this many segments.
    pub(crate) fn new(window: u64) -> Scoreboard {
        // A range may start in the middle of a word, and so takes one more than its length; the length of the ring is a power of two.
        let words = (window / 64 + 2).next_power_of_two() as usize;
        Scoreboard {
            words: vec![0; words].into(),
            highest: [0; DUP_THRESH],
            border: 0,
            resent_to: 0,
            sacked: 0,
            lost: 0,
            found: 0,
            resent: 0,
        }
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

    pub(crate) fn resent_to(&self) -> u64 {
        self.resent_to
    }

    /// Segments that count as lost and have not been reported since.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Segments that have counted as lost so far, each as often as it did.
    pub(crate) fn found(&self) -> u64 {
        self.found
    }

    /// Segments that the receiver has reported beyond the first unacknowledged one.
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// RFC 6675's pipe, in segments, for the segments from `una` to `max`.
    pub(crate) fn pipe(&self, una: u64, max: u64) -> u64 {
        max - una - self.sacked - self.lost + self.resent
    }

    /// Marks the segments from `from` to `to` as reported; all are in flight, from `una` on. Returns the number of new ones.
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
        let border = self.highest[DUP_THRESH - 1].saturating_sub(1);
        if border > self.border {
            let lost = self.unsacked(self.border.max(una), border);
            self.lost += lost;
            self.found += lost;
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

    pub(crate) fn sacked_between(&self, from: u64, to: u64) -> u64 {
        if self.sacked == 0 || from >= to { 0 } else { to - from - self.unsacked(from, to) }
    }

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

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
        *self = Scoreboard {
            words: std::mem::take(&mut self.words),
            highest: [0; DUP_THRESH],
            border: 0,
            resent_to: 0,
            sacked: 0,
            lost: 0,
            found: self.found,
            resent: 0,
        };
    }
}

#[cfg(test)]
mod tests;
