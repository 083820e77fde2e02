//! The role of congestion control: it decides how much may be in flight. One algorithm, one file.
//!
//! **Laws.** The window is never below one segment, and grows only on acknowledgements of new data. [`super::recovery`] decides what to send
//! after a loss; congestion control decides how far the window goes down.
//!
//! To add one: write its file, and add its line to the list below.

use super::delivery::Sample;
use super::ecn::{EcnMode, Feedback};
use super::flight::Flight;

mod bbr;
mod bbr3;
mod classic_queue;
mod cubic;
mod dctcp;
mod mark_average;
mod prague;
mod reno;

/// What congestion control decides.
pub(crate) trait CongestionControl {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    /// True if it gets a sample of the delivery rate with every acknowledgement, sets the window by these samples, and paces the segments.
    const MEASURES: bool = false;
    /// The ECN mode unless a file names one. A control that has one scales: it reduces the window by the share of marks (RFC 9331, section 4.3).
    const ECN: EcnMode = EcnMode::Off;

    fn new() -> Self;

    /// `acked` segments are acknowledged for the first time, outside of recovery: the window may grow.
    fn on_ack(&mut self, now: u64, flight: &mut Flight, acked: u64);

    /// A recovery begins: the new slow start threshold in bytes, at least two segments.
    fn on_loss(&mut self, flight: &Flight) -> u64;

    /// The retransmission timer fires: the new slow start threshold in bytes, at least two segments.
    fn on_rto(&mut self, flight: &Flight) -> u64;

    /// A retransmission is lost: a second signal, by which a window of `window` bytes goes down once more (RFC 5681, section 4.3). The new slow
    /// start threshold in bytes, at least two segments; `None` if losses are judged by [`CongestionControl::on_rate_sample`].
    fn on_lost_retransmission(&mut self, flight: &Flight, window: u64) -> Option<u64> {
        Some((window / 2).max(2 * flight.segment))
    }

    /// The receiver echoes a congestion mark, the first in a window of data: the new window in bytes, at least two segments; `None` if it is too
    /// early for another reduction.
    fn on_ecn(&mut self, flight: &Flight) -> Option<u64> {
        Some(self.on_loss(flight))
    }

    /// What an acknowledgement says of marks, before anything else is done about it. Only if the echo tells how many segments were marked.
    fn on_feedback(&mut self, now: u64, flight: &Flight, feedback: &Feedback) {
        let _ = (now, flight, feedback);
    }

    /// The sample of an acknowledgement, after everything else has been done about it. True if it holds back segments that the path would
    /// take, so that what is in flight now measures nothing.
    fn on_rate_sample(&mut self, now: u64, flight: &mut Flight, sample: &Sample) -> bool {
        let _ = (now, flight, sample);
        false
    }

    /// A segment is about to leave while nothing is in flight, though the window has room: the application was idle. Only if it measures.
    fn on_restart(&mut self, now: u64, flight: &mut Flight) {
        let _ = (now, flight);
    }

    /// The shortest time from one segment to the next, in picoseconds.
    fn pacing_interval(&self, flight: &Flight) -> u64 {
        let _ = flight;
        0
    }
}

/// RFC 5681, equation 2, or RFC 9406. Growth by more than one segment stops at the threshold.
#[inline]
fn slow_start(flight: &mut Flight, acked: u64) {
    let counted = flight.growth.in_slow_start(acked);
    let bytes = match &flight.hystart {
        None => counted * flight.segment,
        Some(hystart) => hystart.growth(counted, flight.segment),
    };
    let grown = flight.cwnd + bytes;
    flight.cwnd = grown.min(flight.ssthresh.max(flight.cwnd + flight.segment));
    if let Some(hystart) = &mut flight.hystart
        && hystart.on_ack(flight.una, flight.max, flight.sample)
    {
        flight.ssthresh = flight.cwnd;
        flight.hystart = None;
    }
}

tidegate_core::registry! { $
    /// The congestion controls by name.
    pub kind CongestionKind by CongestionControl;
    pub(crate) any AnyCongestion;
    match_congestion {
        Reno = reno::Reno;
        Cubic = cubic::Cubic;
        Bbr = bbr::Bbr;
        Bbr3 = bbr3::Bbr3;
        Dctcp = dctcp::Dctcp;
        Prague = prague::Prague;
    }
}

impl CongestionKind {
    /// True if it measures the delivery rate, and paces.
    pub(crate) const fn measures(self) -> bool {
        match_congestion!(self, C, any => C::MEASURES)
    }

    /// The ECN mode unless a file names one.
    pub const fn default_ecn(self) -> EcnMode {
        match_congestion!(self, C, any => C::ECN)
    }

    /// True if it reduces the window by the share of marks.
    pub(crate) fn scales(self) -> bool {
        self.default_ecn() != EcnMode::Off
    }

    pub(crate) fn build(self) -> AnyCongestion {
        match_congestion!(self, C, any => any(C::new()))
    }
}

forward! {
    AnyCongestion by match_congestion;
    read pacing_interval(flight: &Flight) -> u64;
    change on_ack(now: u64, flight: &mut Flight, acked: u64) -> ();
    change on_loss(flight: &Flight) -> u64;
    change on_rto(flight: &Flight) -> u64;
    change on_lost_retransmission(flight: &Flight, window: u64) -> Option<u64>;
    change on_ecn(flight: &Flight) -> Option<u64>;
    change on_feedback(now: u64, flight: &Flight, feedback: &Feedback) -> ();
    change on_restart(now: u64, flight: &mut Flight) -> ();
    change on_rate_sample(now: u64, flight: &mut Flight, sample: &Sample) -> bool;
}
