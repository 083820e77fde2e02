//! The share of segments that the network marks, as a moving average: what DCTCP and Prague reduce the window by.
//!
//! **Law.** The average is between 0 and 1. Under a constant share it approaches that share by a sixteenth of the difference per round.
//!
//! **Source.** RFC 8257, section 3.3 (steps 2 to 7); draft-briscoe-iccrg-prague-congestion-control-02, section 2.3.2.
//!
//! **State.** Three numbers.
//!
//! **Cost.** Two additions per acknowledgement, a division per round.
//!
//! **Deviations.** Segments are counted, not bytes. The average is a double: it loses no small share, as Linux's ten bits do.

use crate::tcp::ecn::Feedback;

/// The gain of the average.
const GAIN: f64 = 1.0 / 16.0;

#[derive(Clone, Debug)]
pub(super) struct MarkAverage {
    alpha: f64,
    /// Segments delivered in this round, and of them those marked.
    delivered: u64,
    marked: u64,
}

impl MarkAverage {
    /// At first the average is 1, so that the first mark counts as much as a loss.
    pub(super) fn new() -> MarkAverage {
        MarkAverage { alpha: 1.0, delivered: 0, marked: 0 }
    }

    pub(super) fn add(&mut self, feedback: &Feedback) {
        self.delivered += feedback.delivered;
        self.marked += feedback.marked.min(feedback.delivered);
    }

    /// The round is over.
    pub(super) fn end_round(&mut self) {
        if self.delivered > 0 {
            self.alpha += GAIN * (self.marked as f64 / self.delivered as f64 - self.alpha);
        }
        (self.delivered, self.marked) = (0, 0);
    }

    /// The share of the window that a mark leaves.
    pub(super) fn remainder(&self) -> f64 {
        1.0 - self.alpha / 2.0
    }

    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }
}

#[cfg(test)]
mod tests;
