//! A source that always has more to send: it keeps a number of packets in the first queue of its path.
//!
//! It is asked by events at that queue, not by the clock: a transmission of its own makes room for one more packet. Losses would make it
//! spin, so after one it offers nothing until it hears of its next transmission; with nothing queued there will be none, and a timer
//! of one packet's time on the link takes its place.

/// The state of a greedy source.
#[derive(Clone, Debug)]
pub(crate) struct Greedy {
    /// Frame length in bytes.
    pub length: u32,
    window: u32,
    /// Its packets in the first queue.
    kept: u32,
    lost: bool,
    /// A packet's time on the first link, in picoseconds.
    patience: u64,
}

impl Greedy {
    pub(crate) fn new(length: u32, window: u32, patience: u64) -> Greedy {
        Greedy { length, window, kept: 0, lost: false, patience }
    }

    /// Starts filling the window at the start, after a transmission or when the timer fires.
    pub(crate) fn resume(&mut self) {
        self.lost = false;
    }

    /// True if it offers another packet now; it counts as queued until something else is heard of it.
    pub(crate) fn offers(&mut self) -> bool {
        let offers = self.kept < self.window && !self.lost;
        self.kept += u32::from(offers);
        offers
    }

    /// One of its packets has left the first queue for the link.
    pub(crate) fn transmitted(&mut self) {
        self.kept -= 1;
    }

    /// One of its packets was refused by, or lost from, the first queue.
    pub(crate) fn lost(&mut self) {
        self.kept -= 1;
        self.lost = true;
    }

    /// How long to wait before trying again, if no transmission of its own will come to tell.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        (self.lost && self.kept == 0).then_some(self.patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_kept_full() {
        let mut source = Greedy::new(100, 2, 7);
        assert!(source.offers() && source.offers() && !source.offers());
        source.transmitted();
        source.resume();
        assert!(source.offers() && !source.offers());
        assert_eq!(source.retry_after(), None);
    }

    #[test]
    fn a_loss_ends_the_filling_until_a_transmission_or_the_timer() {
        let mut source = Greedy::new(100, 3, 7);
        assert!(source.offers() && source.offers());
        source.lost();
        assert!(!source.offers());
        // One is still queued: its transmission will tell.
        assert_eq!(source.retry_after(), None);
        source.lost();
        assert_eq!(source.retry_after(), Some(7));
        source.resume();
        assert!(source.offers());
    }
}
