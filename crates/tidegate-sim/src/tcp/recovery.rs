//! The role of loss recovery: it decides when a segment counts as lost without a timeout, and what is sent until the loss is repaired. One
//! variant, one file.
//!
//! **Laws.** It begins with duplicate acknowledgements and ends with an acknowledgement of new data or with a timeout. What it sends fits the
//! receiver's window. [`super::congestion`] decides how far the window goes down.
//!
//! To add one: write its file, and add its line to the list below.

use super::flight::Flight;
use crate::time::NEVER;

mod fack;
mod new_reno;
mod rack;
mod reno;
mod sack;
mod sack_1996;

/// Whether a recovery goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It goes on.
    Continues,
    /// It is over.
    Ends,
    /// It has failed: only sending everything again helps, as after a timeout.
    Fails,
}

/// What loss recovery decides. `duplicates` of the flight counts the duplicate acknowledgements, `ssthresh` has been set when a
/// recovery begins, and `recover` is where it ends.
pub(crate) trait LossRecovery {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    /// True if it needs selective acknowledgements.
    const SELECTIVE: bool;
    /// True if it learns of every transmission and of every reported segment. Its reports then survive a timeout, after which it chooses what to
    /// send; and every transmission of the first unacknowledged segment restarts the retransmission timer.
    const TRACKS: bool = false;
    /// True if the window bounds [`LossRecovery::pipe`] during recovery, so that the sender may reduce it step by step.
    const IS_BOUNDED: bool = false;

    fn new() -> Self;

    /// True if recovery begins with the duplicate acknowledgement that has just come.
    fn begins(&self, flight: &Flight) -> bool {
        flight.duplicates >= 3
    }

    /// Recovery begins. By default the window is inflated: by the three segments that have left the network (RFC 5681, section 3.2, step 3).
    fn begin(&mut self, flight: &mut Flight) {
        flight.resend = Some(flight.una);
        flight.cwnd = flight.ssthresh + 3 * flight.segment;
    }

    /// A duplicate acknowledgement during recovery, with `news` segments that were not known to have come. By default the window is inflated
    /// by one (step 4).
    fn on_duplicate_ack(&mut self, flight: &mut Flight, news: u64) -> Verdict {
        let _ = news;
        flight.cwnd += flight.segment;
        Verdict::Continues
    }

    /// `acked` segments have been acknowledged during recovery; `una` is beyond them already.
    fn on_new_ack(&mut self, flight: &mut Flight, acked: u64) -> Verdict;

    /// The segment to send next during recovery. It will be sent: `max` and `nxt` move on by themselves. By default the next in order, if it
    /// fits the window (step 5).
    fn next(&mut self, flight: &mut Flight) -> Option<u64> {
        let cwnd = flight.cwnd;
        flight.in_order(cwnd, false)
    }

    /// Segments found to be lost so far, each as often as it was.
    fn found(&self, flight: &Flight) -> u64 {
        flight.board.found()
    }

    /// What is estimated to be in flight, in segments.
    fn pipe(&self, flight: &Flight) -> u64 {
        flight.board.pipe(flight.una, flight.max)
    }

    /// A segment is sent, for the first time or again.
    fn on_sent(&mut self, _now: u64, _segment: u64) {}

    /// An acknowledgement is the first to report a segment.
    fn on_delivered(&mut self, _now: u64, _segment: u64) {}

    /// The round trip that an acknowledgement has measured, once all its reports are delivered.
    fn round_trip(&mut self) -> Option<u64> {
        None
    }

    /// All reports of an acknowledgement are delivered, and `una` has advanced; nothing else has been done about it. `is_recovering` from a
    /// loss or timeout to the end of its recovery; `is_duplicate` if it reports a segment that has come twice.
    fn on_reports(&mut self, _now: u64, _flight: &Flight, _is_recovering: bool, _is_duplicate: bool) {}

    /// All that was in flight when the last recovery or timeout began is acknowledged.
    fn on_repaired(&mut self) {}

    /// When segments that may only be late count as lost, or [`NEVER`].
    fn deadline(&self) -> u64 {
        NEVER
    }

    /// Their deadline has passed.
    fn on_deadline(&mut self, _now: u64, _flight: &Flight, _is_recovering: bool) {}

    fn on_rto(&mut self, _now: u64, _flight: &Flight) {}

    /// True if a segment has been found lost, since the last call, whose last transmission repeats it and follows the last recovery or timeout that
    /// has begun.
    fn has_lost_again(&mut self) -> bool {
        false
    }

    /// True if the `nth` partial acknowledgement of a recovery restarts the retransmission timer.
    fn restarts_timer(&self, _nth: u32) -> bool {
        true
    }
}

tidegate_core::registry! { $
    /// The variants of loss recovery by name.
    pub kind RecoveryKind by LossRecovery;
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
    /// The recovery unless a file names one: that of today's kernels.
    pub const USUAL: RecoveryKind = RecoveryKind::Rack;

    /// True if it needs selective acknowledgements.
    pub const fn is_selective(self) -> bool {
        match_recovery!(self, R, any => R::SELECTIVE)
    }

    /// True if it learns of every transmission, measures every round trip, and can send tail loss probes.
    pub(crate) const fn tracks(self) -> bool {
        match_recovery!(self, R, any => R::TRACKS)
    }

    /// True if proportional rate reduction applies to it.
    pub(crate) const fn is_bounded(self) -> bool {
        match_recovery!(self, R, any => R::IS_BOUNDED)
    }

    pub(crate) fn build(self) -> AnyRecovery {
        match_recovery!(self, R, any => any(R::new()))
    }
}

forward! {
    AnyRecovery by match_recovery;
    read begins(flight: &Flight) -> bool;
    read found(flight: &Flight) -> u64;
    read pipe(flight: &Flight) -> u64;
    read deadline() -> u64;
    read restarts_timer(nth: u32) -> bool;
    change begin(flight: &mut Flight) -> ();
    change on_duplicate_ack(flight: &mut Flight, news: u64) -> Verdict;
    change on_new_ack(flight: &mut Flight, acked: u64) -> Verdict;
    change next(flight: &mut Flight) -> Option<u64>;
    change on_sent(now: u64, segment: u64) -> ();
    change on_delivered(now: u64, segment: u64) -> ();
    change round_trip() -> Option<u64>;
    change on_reports(now: u64, flight: &Flight, is_recovering: bool, is_duplicate: bool) -> ();
    change on_repaired() -> ();
    change on_deadline(now: u64, flight: &Flight, is_recovering: bool) -> ();
    change on_rto(now: u64, flight: &Flight) -> ();
    change has_lost_again() -> bool;
}
