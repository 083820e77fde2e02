//! Exponential back-off of a retransmission timer: RFC 6298, sections 5.5 and 5.7.

/// The number of timeouts in a row, each of which doubles the wait, up to a greatest wait in picoseconds.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    timeouts: u32,
    maximum: u64,
}

impl Backoff {
    pub(super) fn new(maximum: u64) -> Backoff {
        Backoff { timeouts: 0, maximum }
    }

    pub(super) fn on_rto(&mut self) {
        // Beyond 2^20 any wait is the greatest one.
        self.timeouts = (self.timeouts + 1).min(20);
    }

    pub(super) fn reset(&mut self) {
        self.timeouts = 0;
    }

    /// When a timer that is started at `now` fires, if it waits for `wait` before any timeout.
    pub(super) fn deadline(&self, now: u64, wait: u64) -> u64 {
        now + wait.saturating_mul(1 << self.timeouts).min(self.maximum)
    }
}
