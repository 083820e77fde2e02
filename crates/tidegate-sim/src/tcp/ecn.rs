//! Explicit congestion notification between the ends of a connection: the code point of segments, and how marks come back.
//!
//! **Law.** While no acknowledgement is lost, `accurate`, `l4s` and `dctcp` tell the sender of every marked segment once. After losses of
//! acknowledgements the first two may tell of more marks than there were, never of fewer.
//!
//! **Source.** RFC 3168, sections 6.1.2 to 6.1.5; RFC 8257, section 3.2; RFC 9768, sections 3.2.2 and 3.2.2.5.1, appendix A.1; RFC 9331,
//! section 4.1.
//!
//! **State.** At the receiver a count and two flags, at the sender a count.
//!
//! **Cost.** A comparison per segment; without ECN none.
//!
//! **Deviations.** Both ends agree without a negotiation. There is no AccECN option, so the three bits of ACE count alone. `dctcp` acknowledges
//! what waits when the mark changes, as in the RFC's figure 1; the segment that changes it waits like any other.

use super::segment::Ack;
use tidegate_core::packet::Ecn;

tidegate_core::fields! {
    /// How a connection takes part in ECN.
    #[derive(Default)]
    pub enum EcnMode {
        /// Its segments cannot be marked.
        #[default]
        Off = "off",
        /// ECT(0); the receiver echoes congestion until the sender says that it has reacted (RFC 3168).
        Classic = "classic",
        /// ECT(0); each acknowledgement says whether its segments were marked (RFC 8257).
        Dctcp = "dctcp",
        /// ECT(0); each acknowledgement counts marked segments (RFC 9768).
        Accurate = "accurate",
        /// ECT(1), retransmissions included; each acknowledgement counts marked segments (RFC 9331).
        L4s = "l4s",
    }
}

impl EcnMode {
    /// One sentence: the code point, and the echo.
    pub const fn summary(self) -> &'static str {
        match self {
            EcnMode::Off => "segments cannot be marked",
            EcnMode::Classic => "ECT(0), and an echo until the sender says that it has reduced its window (RFC 3168)",
            EcnMode::Dctcp => "ECT(0), and an echo of the mark of each segment (RFC 8257)",
            EcnMode::Accurate => "ECT(0), and a count of marked segments (RFC 9768)",
            EcnMode::L4s => "ECT(1), also on retransmissions, and a count of marked segments (RFC 9331)",
        }
    }

    /// True if the sender learns how many segments were marked, not only whether any was.
    pub const fn is_exact(self) -> bool {
        matches!(self, EcnMode::Dctcp | EcnMode::Accurate | EcnMode::L4s)
    }

    /// True if acknowledgements carry a count.
    pub(crate) const fn counts(self) -> bool {
        matches!(self, EcnMode::Accurate | EcnMode::L4s)
    }

    /// The code point of a segment. What was sent before is not marked under RFC 3168, section 6.1.5.
    #[inline]
    pub(crate) fn code_point(self, is_repeated: bool) -> Ecn {
        match self {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::L4s => Ecn::Ect1,
            _ if is_repeated => Ecn::NotEct,
            EcnMode::Classic | EcnMode::Dctcp | EcnMode::Accurate => Ecn::Ect0,
        }
    }
}

/// What an acknowledgement says of marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Feedback {
    /// The segment that the receiver expects next.
    pub next: u64,
    /// Segments that it is the first to report, and how many of them were marked. Without selective acknowledgements it may report no segment,
    /// and one mark.
    pub delivered: u64,
    pub marked: u64,
}

/// The values of the ACE field, and where both ends begin to count.
const ACE_VALUES: u64 = 8;
const ACE_START: u64 = 5;

/// The receiving half.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    mode: EcnMode,
    /// Classic: a mark has come, and no answer since. Otherwise: the latest segment was marked.
    is_marked: bool,
    /// Marked segments, from [`ACE_START`].
    marked: u64,
}

impl Echo {
    pub(crate) fn new(mode: EcnMode) -> Echo {
        Echo { mode, is_marked: false, marked: ACE_START }
    }

    /// True if what waits has to be acknowledged before this segment changes the echo.
    #[inline]
    pub(crate) fn is_change(&self, ecn: Ecn) -> bool {
        self.mode == EcnMode::Dctcp && self.is_marked != (ecn == Ecn::Ce)
    }

    /// A segment of data comes; `says_reduced` if its sender has reacted. True if it has to be acknowledged at once.
    #[inline]
    pub(crate) fn on_segment(&mut self, ecn: Ecn, says_reduced: bool) -> bool {
        if self.mode == EcnMode::Off {
            return false;
        }
        let is_marked = ecn == Ecn::Ce;
        self.marked += u64::from(is_marked);
        let is_first = is_marked && !self.is_marked;
        self.is_marked = if self.mode == EcnMode::Classic { (self.is_marked && !says_reduced) || is_marked } else { is_marked };
        self.mode.counts() && is_first
    }

    /// Writes the echo into an acknowledgement.
    #[inline]
    pub(crate) fn write(&self, ack: &mut Ack) {
        match self.mode {
            EcnMode::Off => {}
            EcnMode::Classic | EcnMode::Dctcp => ack.echo = self.is_marked,
            EcnMode::Accurate | EcnMode::L4s => ack.ace = (self.marked % ACE_VALUES) as u8,
        }
    }
}

/// The sending half of a count: the marked segments that are known of.
#[derive(Clone, Debug)]
pub(crate) struct MarkCount(u64);

impl MarkCount {
    pub(crate) fn new() -> MarkCount {
        MarkCount(ACE_START)
    }

    /// The marks that an acknowledgement reports beyond those known, `delivered` segments after the one before. Three bits cannot tell eight marks
    /// from none; where eight segments may be meant, the most is assumed.
    #[inline]
    pub(crate) fn read(&mut self, ace: u8, delivered: u64) -> u64 {
        let least = (u64::from(ace) + ACE_VALUES - self.0 % ACE_VALUES) % ACE_VALUES;
        let most = if delivered > least { delivered - (delivered - least) % ACE_VALUES } else { least };
        self.0 += most;
        most
    }
}

#[cfg(test)]
mod tests;
