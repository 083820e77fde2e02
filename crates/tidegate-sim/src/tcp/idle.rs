//! How much of the window is kept when data comes after a silence, for congestion controls that do not measure the path.
//!
//! **Law.** The window does not grow, and does not fall below the smaller of itself and a fresh connection's.
//!
//! **Source.** RFC 5681, section 4.1 (also RFC 9293, section 3.8.2); RFC 2861 and Linux `tcp_cwnd_restart`; RFC 7661, section 4.4.3.
//!
//! **Deviations.** Only the silence between transfers counts: a window that is not filled keeps its size, and does not grow.

use super::flight::Flight;

/// RFC 7661's non-validated period, in picoseconds: five minutes.
const NON_VALIDATED: u64 = 300_000_000_000_000;

tidegate_core::fields! {
    /// What a silence of more than a retransmission timeout does.
    #[derive(Default)]
    pub enum AfterIdle {
        /// The window is halved once per timeout of silence, and three quarters of it become the slow start threshold if that is lower.
        #[default]
        Linux = "linux",
        /// The window is that of a fresh connection.
        Rfc5681 = "rfc5681",
        /// The window is kept for five minutes, then halved every five minutes; three quarters of it become the threshold if that is lower.
        Rfc7661 = "rfc7661",
        /// The window is kept.
        Keep = "keep",
    }
}

impl AfterIdle {
    /// One sentence: what is left of the window.
    pub const fn summary(self) -> &'static str {
        match self {
            AfterIdle::Linux => "half of the window per retransmission timeout of silence, down to that of a fresh connection (RFC 2861)",
            AfterIdle::Rfc5681 => "the window of a fresh connection after more than a retransmission timeout",
            AfterIdle::Rfc7661 => "all of it for five minutes, then half per five minutes",
            AfterIdle::Keep => "all of it, however long the silence",
        }
    }

    /// Nothing has been sent for `silence`; the retransmission timer waits for `timeout`. A fresh connection's window has `initial` bytes.
    pub(crate) fn restart(self, flight: &mut Flight, silence: u64, timeout: u64, initial: u64) {
        if silence <= timeout {
            return;
        }
        match self {
            AfterIdle::Linux => decay(flight, silence, timeout, initial),
            AfterIdle::Rfc5681 => flight.cwnd = flight.cwnd.min(initial),
            AfterIdle::Rfc7661 => decay(flight, silence, NON_VALIDATED, initial),
            AfterIdle::Keep => {}
        }
    }
}

/// Halves the window, in whole segments, for every complete `period` of the silence.
fn decay(flight: &mut Flight, silence: u64, period: u64, initial: u64) {
    let least = initial.min(flight.cwnd);
    let halvings = (silence - 1) / period.max(1);
    if halvings == 0 {
        return;
    }
    flight.ssthresh = flight.ssthresh.max(flight.cwnd / 4 * 3);
    let segments = flight.cwnd / flight.segment;
    flight.cwnd = (segments.checked_shr(halvings.min(63) as u32).unwrap_or(0) * flight.segment).max(least);
}
