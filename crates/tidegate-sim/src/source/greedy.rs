//! A source that always has more to send: it keeps a number of packets in the first queue of its path.
//!
//! Events at that queue drive it, not the clock: each transmission of one of its packets makes room for one more. After a loss there, the
//! source keeps what is left in the queue, and tries one more packet after every full window of transmissions. A window larger than the buffer
//! then costs one loss per window. With nothing queued, a timer of one packet's time on the link replaces the missing transmissions.

use super::role::TrafficSource;
use crate::fault::{Fault, check_length};

/// A greedy source.
///
/// A packet whose transmission starts is replaced at that instant. After a loss at the first port the source keeps what is queued there, and
/// tries one more packet after each `window` transmissions; with nothing queued it tries again after the time of one packet on the link.
#[derive(Clone, PartialEq, Debug)]
pub struct Greedy {
    /// Frame length in bytes.
    pub length: u32,
    /// The number of packets kept in the first queue, at least 1.
    pub window: u32,
}

impl TrafficSource for Greedy {
    const NAME: &'static str = "greedy";
    const SUMMARY: &'static str = "always has more to send: keeps a number of packets in the first queue of its path";

    fn lengths(&self) -> Vec<(f64, f64)> {
        vec![(f64::from(self.length), 1.0)]
    }

    fn check(&self) -> Result<(), Fault> {
        if self.window == 0 {
            return Err(Fault::new("window", "0 packets", "at least 1"));
        }
        check_length("length", self.length)
    }
}

/// The running form of a greedy source.
#[derive(Clone, Debug)]
pub(crate) struct GreedyWindow {
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
    retry_interval: u64,
}

impl GreedyWindow {
    pub(crate) fn new(length: u32, window: u32, retry_interval: u64) -> GreedyWindow {
        GreedyWindow { length, window, reach: window, kept: 0, transmitted: 0, retry_interval }
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
        (self.reach == 0).then_some(self.retry_interval)
    }
}

#[cfg(test)]
mod tests;
