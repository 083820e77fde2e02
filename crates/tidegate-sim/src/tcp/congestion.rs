//! Congestion control: how much may be in flight. One algorithm, one file; the list below gives it its name in files.
//!
//! **Laws.** The window is never below one segment, and grows only on acknowledgements of new data. What is to be done about a loss is
//! [`super::recovery`]'s; it asks here how far the window goes down.
//!
//! To add one: write its file, and add its line to the list.

use super::delivery::Sample;
use super::flight::Flight;

mod bbr;
mod cubic;
mod reno;

/// What congestion control decides.
pub(crate) trait CongestionControl {
    /// The name in files.
    const NAME: &'static str;
    /// One sentence.
    const SUMMARY: &'static str;
    /// True if it is told what every acknowledgement says of the rate at which segments are delivered, and sets the window by that; and if segments
    /// leave no faster than it says.
    const MEASURES: bool = false;

    /// A fresh connection.
    fn new() -> Self;

    /// `acked` segments have been acknowledged for the first time, outside of recovery: the window may grow.
    fn acked(&mut self, now: u64, flight: &mut Flight, acked: u64);

    /// A loss was noticed, or the network marked a packet: the new slow start threshold in bytes, at least two segments.
    fn reduced(&mut self, flight: &Flight) -> u64;

    /// Nothing came back in time: the new slow start threshold in bytes, at least two segments.
    fn timed_out(&mut self, flight: &Flight) -> u64;

    /// The network marked a packet: the new window in bytes, at least two segments.
    fn marked(&mut self, flight: &Flight) -> u64 {
        self.reduced(flight)
    }

    /// An acknowledgement has come and everything else has been done about it. True if it holds segments back that the path would take: what is
    /// in flight now measures nothing.
    fn delivered(&mut self, now: u64, flight: &mut Flight, sample: &Sample) -> bool {
        let _ = (now, flight, sample);
        false
    }

    /// The least time from one segment to the next, in picoseconds.
    fn spacing(&self, flight: &Flight) -> u64 {
        let _ = flight;
        0
    }
}

/// RFC 5681, equation 2. More than one segment per acknowledgement, if that counts, does not lead beyond the threshold.
#[inline]
fn slow_start(flight: &mut Flight, acked: u64) {
    let grown = flight.cwnd + flight.growth.in_slow_start(acked) * flight.segment;
    flight.cwnd = grown.min(flight.ssthresh.max(flight.cwnd + flight.segment));
}

tidegate_core::registry! { $
    /// The congestion controls by name.
    pub kind CongestionKind by CongestionControl;
    /// Any congestion control.
    pub(crate) any AnyCongestion;
    match_congestion {
        Reno = reno::Reno;
        Cubic = cubic::Cubic;
        Bbr = bbr::Bbr;
    }
}

impl CongestionKind {
    /// True if it measures the rate of delivery, and paces.
    pub(crate) const fn measures(self) -> bool {
        match_congestion!(self, C, any => <C as CongestionControl>::MEASURES)
    }

    pub(crate) fn build(self) -> AnyCongestion {
        match_congestion!(self, C, any => any(<C as CongestionControl>::new()))
    }
}

impl AnyCongestion {
    #[inline]
    pub(crate) fn acked(&mut self, now: u64, flight: &mut Flight, acked: u64) {
        match_congestion!(self, control => control.acked(now, flight, acked))
    }

    pub(crate) fn reduced(&mut self, flight: &Flight) -> u64 {
        match_congestion!(self, control => control.reduced(flight))
    }

    pub(crate) fn timed_out(&mut self, flight: &Flight) -> u64 {
        match_congestion!(self, control => control.timed_out(flight))
    }

    pub(crate) fn marked(&mut self, flight: &Flight) -> u64 {
        match_congestion!(self, control => control.marked(flight))
    }

    pub(crate) fn delivered(&mut self, now: u64, flight: &mut Flight, sample: &Sample) -> bool {
        match_congestion!(self, control => control.delivered(now, flight, sample))
    }

    pub(crate) fn spacing(&self, flight: &Flight) -> u64 {
        match_congestion!(self, control => control.spacing(flight))
    }
}
