//! What is in flight, and the windows that bound it: the state that congestion control and loss recovery share.
//!
//! Segments are numbered from 1; windows count bytes. The last segment of a transfer may be short; for windows it counts as a full one, as in Linux.
//! A number is therefore a position in the stream.

use super::growth::Growth;
use super::hystart::HyStart;
use super::scoreboard::Scoreboard;

/// The sender's view of the network.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// Bytes of data in a full segment.
    pub segment: u64,
    /// The first segment that has not been acknowledged.
    pub una: u64,
    /// The segment to send next; below `max` after a timeout, which sends all again.
    pub nxt: u64,
    /// The first segment that has never been sent.
    pub max: u64,
    /// The first segment that the application has not written.
    pub written: u64,
    /// The congestion window in bytes.
    pub cwnd: u64,
    /// The slow start threshold in bytes.
    pub ssthresh: u64,
    /// The receiver's window in bytes.
    pub window: u64,
    /// Duplicate acknowledgements in a row.
    pub duplicates: u32,
    /// Segments beyond the window that duplicate acknowledgements have released (limited transmit).
    pub limited: u64,
    /// The first segment that had not been sent when the last recovery or timeout began.
    pub recover: u64,
    /// Whether the size of the flight is the estimate of what is in the network, rather than all that has not been acknowledged.
    pub halves_pipe: bool,
    /// How far an acknowledgement of several segments lets the window grow.
    pub growth: Growth,
    /// Whether a congestion control that scales falls back to what RFC 3168 asks for where it finds a classic queue.
    pub falls_back: bool,
    /// A segment to be sent again before anything else, whatever the window.
    pub resend: Option<u64>,
    /// What selective acknowledgements have reported.
    pub board: Scoreboard,
    /// The last round-trip time that was measured, in picoseconds; 0 before the first.
    pub round_trip: u64,
    /// The smoothed round-trip time of the retransmission timer, in picoseconds; 0 before the first.
    pub smoothed_round_trip: u64,
    /// The round-trip time that the acknowledgement under way has measured.
    pub sample: Option<u64>,
    /// Ends the first slow start where round trips grow, if it is in use and that slow start goes on.
    pub hystart: Option<Box<HyStart>>,
    /// True while the application, not a window, limits the sender.
    pub is_idle: bool,
}

impl Flight {
    /// RFC 5681's FlightSize in bytes: sent and not acknowledged in order, without limited transmit. With `halves_pipe`, the estimate of
    /// what is in the network.
    pub fn size(&self) -> u64 {
        if self.halves_pipe {
            return self.board.pipe(self.una, self.max) * self.segment;
        }
        (self.max - self.una - self.limited) * self.segment
    }

    /// True if the receiver's window and the application allow a segment that has never been sent.
    pub fn has_new(&self) -> bool {
        self.max < self.written && (self.max - self.una + 1) * self.segment <= self.window
    }

    /// The next segment in order, if it fits a window of `cwnd` bytes. It skips segments that the receiver has reported; if `discounts`, these
    /// take no room.
    #[inline]
    pub fn in_order(&mut self, cwnd: u64, discounts: bool) -> Option<u64> {
        while self.nxt < self.max && self.board.is_sacked(self.nxt) {
            self.nxt += 1;
        }
        if self.nxt >= self.written {
            self.is_idle = true;
            return None;
        }
        self.is_idle = false;
        let held = if !discounts { 0 } else { self.board.sacked_between(self.una, self.nxt) };
        let ahead = self.nxt - self.una + 1;
        let fits = (ahead - held) * self.segment <= cwnd && ahead * self.segment <= self.window;
        fits.then_some(self.nxt)
    }
}
