//! Loss recovery: when a segment counts as lost without a timeout, and what is sent until all is well again. One variant, one file; the
//! list below gives it its name in files.
//!
//! **Laws.** It begins with duplicate acknowledgements and ends with an acknowledgement of new data or with a timeout. What it lets go
//! fits the receiver's window. How far the window goes down is [`super::congestion`]'s business.

use super::congestion::CongestionKind;
use super::flight::Flight;

mod fack;
mod new_reno;
mod rack;
mod reno;
mod sack;
mod sack_1996;

/// Whether a recovery goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It does.
    Stays,
    /// It is over.
    Ends,
    /// It has failed: only sending everything again helps, as after a timeout.
    Fails,
}

/// What loss recovery decides. `duplicates` of the flight counts the duplicate acknowledgements, `ssthresh` has been set when a
/// recovery begins, and `recover` is where it ends.
pub(crate) trait LossRecovery {
    /// The name in files.
    const NAME: &'static str;
    /// One sentence.
    const SUMMARY: &'static str;
    /// True if it wants selective acknowledgements.
    const SELECTIVE: bool;
    /// True if it is told of every transmission and of every segment that is reported. Its reports then survive a timeout, after which it says what
    /// to send; and every transmission of the first segment that has not been acknowledged restarts the retransmission timer.
    const TRACKS: bool = false;

    /// A fresh connection.
    fn new() -> Self;

    /// A duplicate acknowledgement has come: true if recovery begins.
    fn begins(&self, flight: &Flight) -> bool {
        flight.duplicates >= 3
    }

    /// Recovery begins.
    fn begin(&mut self, flight: &mut Flight);

    /// A duplicate acknowledgement during recovery, with `news` segments that were not known to have come.
    fn duplicate(&mut self, flight: &mut Flight, news: u64) -> Verdict;

    /// `acked` segments have been acknowledged during recovery; `una` is beyond them already.
    fn progress(&mut self, flight: &mut Flight, acked: u64) -> Verdict;

    /// The segment to send next during recovery. It will be sent: `max` and `nxt` move on by themselves.
    fn next(&mut self, flight: &mut Flight) -> Option<u64>;

    /// What is estimated to be in flight, in segments.
    fn pipe(&self, flight: &Flight) -> u64 {
        flight.board.pipe(flight.una, flight.max)
    }

    /// A segment is sent, for the first time or again.
    fn sent(&mut self, _now: u64, _segment: u64) {}

    /// An acknowledgement is the first to report a segment.
    fn arrived(&mut self, _now: u64, _segment: u64) {}

    /// The round trip that an acknowledgement has measured, once all that it reports has been told.
    fn round_trip(&mut self) -> Option<u64> {
        None
    }

    /// All that an acknowledgement reports has been told; nothing else has been done about it but that `una` is beyond what it acknowledges.
    fn reported(&mut self, _flight: &Flight) {}

    /// Nothing came back in time.
    fn timed_out(&mut self, _now: u64, _flight: &Flight) {}

    /// True if an acknowledgement of part of what was lost starts the retransmission timer anew, for the `nth` one of a recovery.
    fn restarts_timer(&self, _nth: u32) -> bool {
        true
    }
}

tidegate_core::registry! { $
    /// The variants of loss recovery by name.
    pub kind RecoveryKind by LossRecovery;
    /// Any loss recovery.
    pub(crate) any AnyRecovery;
    match_recovery {
        Reno = reno::Reno;
        NewReno = new_reno::NewReno;
        Sack = sack::Sack;
        Sack1996 = sack_1996::Sack1996;
        Fack = fack::Fack;
        Rack = rack::Rack;
    }
}

impl RecoveryKind {
    /// What is usual with this congestion control. One that measures goes on sending through losses, and so needs a recovery that finds what is
    /// lost again without the timer.
    pub const fn default_for(congestion: CongestionKind) -> RecoveryKind {
        if congestion.measures() { RecoveryKind::Rack } else { RecoveryKind::Sack }
    }

    /// True if it wants selective acknowledgements.
    pub const fn is_selective(self) -> bool {
        match_recovery!(self, R, any => <R as LossRecovery>::SELECTIVE)
    }

    /// True if it is told of every transmission.
    pub(crate) const fn tracks(self) -> bool {
        match_recovery!(self, R, any => <R as LossRecovery>::TRACKS)
    }

    pub(crate) fn build(self) -> AnyRecovery {
        match_recovery!(self, R, any => any(<R as LossRecovery>::new()))
    }
}

impl AnyRecovery {
    pub(crate) fn begins(&self, flight: &Flight) -> bool {
        match_recovery!(self, recovery => recovery.begins(flight))
    }

    pub(crate) fn begin(&mut self, flight: &mut Flight) {
        match_recovery!(self, recovery => recovery.begin(flight))
    }

    pub(crate) fn duplicate(&mut self, flight: &mut Flight, news: u64) -> Verdict {
        match_recovery!(self, recovery => recovery.duplicate(flight, news))
    }

    pub(crate) fn progress(&mut self, flight: &mut Flight, acked: u64) -> Verdict {
        match_recovery!(self, recovery => recovery.progress(flight, acked))
    }

    pub(crate) fn next(&mut self, flight: &mut Flight) -> Option<u64> {
        match_recovery!(self, recovery => recovery.next(flight))
    }

    pub(crate) fn pipe(&self, flight: &Flight) -> u64 {
        match_recovery!(self, recovery => recovery.pipe(flight))
    }

    pub(crate) fn sent(&mut self, now: u64, segment: u64) {
        match_recovery!(self, recovery => recovery.sent(now, segment))
    }

    pub(crate) fn arrived(&mut self, now: u64, segment: u64) {
        match_recovery!(self, recovery => recovery.arrived(now, segment))
    }

    pub(crate) fn round_trip(&mut self) -> Option<u64> {
        match_recovery!(self, recovery => recovery.round_trip())
    }

    pub(crate) fn reported(&mut self, flight: &Flight) {
        match_recovery!(self, recovery => recovery.reported(flight))
    }

    pub(crate) fn timed_out(&mut self, now: u64, flight: &Flight) {
        match_recovery!(self, recovery => recovery.timed_out(now, flight))
    }

    pub(crate) fn restarts_timer(&self, nth: u32) -> bool {
        match_recovery!(self, recovery => recovery.restarts_timer(nth))
    }
}
