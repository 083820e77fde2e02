//! A source that always has more to send: it keeps a number of packets in the first queue of its path.
//!
//! It is asked by events at that queue, not by the clock: a transmission of its own makes room for one more packet. When a packet of its
//! own is lost there, it takes what is left for all that the buffer lets it have, and tries for one more after every full window of
//! transmissions, so that a window larger than the buffer costs one loss in as many packets instead of one with each. With nothing queued
//! no transmission will come to tell, and a timer of one packet's time on the link takes its place.

/// The state of a greedy source.
#[derive(Clone, Debug)]
pub(crate) struct Greedy {
    /// Frame length in bytes.
    pub length: u32,
    window: u32,
    /// How many packets it tries to keep at present; at most `window`.
    reach: u32,
    /// Its packets in the first queue.
    kept: u32,
    /// Transmissions since `reach` last changed.
    transmitted: u32,
    /// A packet's time on the first link, in picoseconds.
    patience: u64,
}

impl Greedy {
    pub(crate) fn new(length: u32, window: u32, patience: u64) -> Greedy {
        Greedy { length, window, reach: window, kept: 0, transmitted: 0, patience }
    }

    /// The timer fires.
    pub(crate) fn retry(&mut self) {
        self.reach = self.reach.max(1);
    }

    /// True if it offers another packet now; it counts as queued until something else is heard of it.
    pub(crate) fn offers(&mut self) -> bool {
        let offers = self.kept < self.reach;
        self.kept += u32::from(offers);
        offers
    }

    /// One of its packets has left the first queue for the link.
    pub(crate) fn transmitted(&mut self) {
        self.kept -= 1;
        self.transmitted += 1;
        if self.transmitted >= self.window {
            self.transmitted = 0;
            self.reach = (self.reach + 1).min(self.window);
        }
    }

    /// One of its packets was refused by, or lost from, the first queue.
    pub(crate) fn lost(&mut self) {
        self.kept -= 1;
        self.reach = self.kept;
        self.transmitted = 0;
    }

    /// How long to wait before trying again, if no transmission of its own will come to tell.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        (self.reach == 0).then_some(self.patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills up to what it tries to keep, and says how many packets that took.
    fn fill(source: &mut Greedy) -> u32 {
        (0..).find(|_| !source.offers()).unwrap()
    }

    #[test]
    fn the_window_is_kept_full() {
        let mut source = Greedy::new(100, 2, 7);
        assert_eq!(fill(&mut source), 2);
        for _ in 0..9 {
            source.transmitted();
            assert_eq!(fill(&mut source), 1);
        }
        assert_eq!(source.retry_after(), None);
    }

    #[test]
    fn after_a_loss_it_tries_for_more_once_per_window() {
        let mut source = Greedy::new(100, 3, 7);
        assert_eq!(fill(&mut source), 3);
        source.lost();
        // Two are queued: each transmission is replaced, the third one brings one more.
        for more in [1, 1, 2] {
            assert_eq!(fill(&mut source), 0);
            source.transmitted();
            assert_eq!(fill(&mut source), more);
        }
    }

    #[test]
    fn with_nothing_queued_the_timer_tells_it_to_go_on() {
        let mut source = Greedy::new(100, 3, 7);
        assert!(source.offers());
        source.lost();
        assert_eq!((fill(&mut source), source.retry_after()), (0, Some(7)));
        source.retry();
        assert_eq!((fill(&mut source), source.retry_after()), (1, None));
    }
}
