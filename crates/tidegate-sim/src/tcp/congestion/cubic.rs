//! CUBIC: the window follows a cubic of the time since the last loss, flat where that loss was.
//!
//! **Law.** The window is never below the estimate of Reno's.
//!
//! **Source.** RFC 9438: section 4.2 (equations 1 and 2), 4.3 (the estimate of Reno's window), 4.4 and 4.5 (the growth), 4.6 (multiplicative
//! decrease), 4.7 (fast convergence), 4.8 (timeout).
//!
//! **State.** Six numbers.
//!
//! **Cost.** Some ten multiplications and two divisions per acknowledgement; a cube root per loss.
//!
//! **Deviations.** It computes in double precision, with operations that give the same on every machine.

use super::{CongestionControl, slow_start};
use crate::tcp::flight::Flight;
use crate::time::NEVER;

/// Segments per cubic second.
const C: f64 = 0.4;
/// The share of the window that is kept after a loss.
const BETA: f64 = 0.7;
/// Segments per round trip by which the estimate of Reno's window grows back to the window before the loss: less than one, because the window
/// went down by less than half.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// CUBIC's window. All sizes are in segments.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    /// The window at which the cubic is flat.
    w_max: f64,
    /// The window when it was last reduced.
    before: f64,
    /// When congestion avoidance began, or [`NEVER`] before.
    epoch: u64,
    /// The time from there to the flat part, in seconds.
    k: f64,
    estimate: f64,
    /// The fraction of a byte of the window.
    fraction: f64,
    /// True after a timeout: the cubic starts flat.
    is_fresh: bool,
}

impl Cubic {
    fn begin(&mut self, now: u64, cwnd: f64) {
        self.epoch = now;
        self.estimate = cwnd;
        if self.is_fresh || self.w_max < cwnd {
            self.w_max = cwnd;
            self.before = self.before.max(cwnd);
        }
        self.is_fresh = false;
        self.k = libm::cbrt((self.w_max - cwnd) / C);
    }

    fn lose(&mut self, flight: &Flight, window: u64) {
        let cwnd = window as f64 / flight.segment as f64;
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.before = cwnd;
        self.epoch = NEVER;
    }
}

impl CongestionControl for Cubic {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str = "the window is a cubic of the time since the last loss (RFC 9438)";

    fn new() -> Cubic {
        Cubic { w_max: 0.0, before: 0.0, epoch: NEVER, k: 0.0, estimate: 0.0, fraction: 0.0, is_fresh: false }
    }

    fn on_ack(&mut self, now: u64, flight: &mut Flight, acked: u64) {
        if flight.cwnd < flight.ssthresh {
            return slow_start(flight, acked);
        }
        let segment = flight.segment as f64;
        let cwnd = flight.cwnd as f64 / segment;
        if self.epoch == NEVER {
            self.begin(now, cwnd);
        }
        let cubic = |seconds: f64| {
            let from_flat = seconds - self.k;
            C * from_flat * from_flat * from_flat + self.w_max
        };
        let since = (now - self.epoch) as f64 / 1e12;
        let acked = flight.growth.in_avoidance(acked) as f64;
        let alpha = if self.estimate >= self.before { 1.0 } else { ALPHA };
        self.estimate += alpha * acked / cwnd;
        let wanted = if cubic(since) < self.estimate {
            self.fraction = 0.0;
            self.estimate - cwnd
        } else {
            let target = cubic(since + flight.round_trip as f64 / 1e12).clamp(cwnd, 1.5 * cwnd);
            (target - cwnd) / cwnd * acked
        };
        let bytes = wanted.max(0.0) * segment + self.fraction;
        flight.cwnd += bytes as u64;
        self.fraction = bytes - (bytes as u64) as f64;
    }

    fn on_loss(&mut self, flight: &Flight) -> u64 {
        self.lose(flight, flight.cwnd);
        ((flight.size() as f64 * BETA) as u64).max(2 * flight.segment)
    }

    fn on_rto(&mut self, flight: &Flight) -> u64 {
        self.lose(flight, flight.cwnd);
        self.is_fresh = true;
        ((flight.cwnd.min(flight.window) as f64 * BETA) as u64).max(2 * flight.segment)
    }
    fn on_lost_retransmission(&mut self, flight: &Flight, window: u64) -> Option<u64> {
        self.lose(flight, window);
        Some(((window as f64 * BETA) as u64).max(2 * flight.segment))
    }
}
