//! The policer's role: is this packet within its contract?
//!
//! **Laws** that every registered policer keeps, checked by the conformance suite:
//! 1. the verdict and the new state depend on the earlier calls only, never on anything else;
//! 2. a packet that is discarded, or found outside a bucket, takes nothing from that bucket;
//! 3. a policer never delays: its answer is final;
//! 4. [`Policer::refresh`] changes no later verdict;
//! 5. a contract changes while packets come. A policer that adopts another of the same contract continues as the other would have. Of a bucket that
//!    changes, the bytes charged stay charged, as far as the new bucket can hold them. A frame that has begun keeps its verdict.
//!
//! An operator describes what a policer enforces as a [`Contract`]; [`crate::registry::PolicerKind`] builds the policer of a given name
//! from it. [`police_burst`] and [`police_burst_ahead`] ask many policers with one reading of the clock.

use crate::contract_state::ContractState;
use crate::packet::{Colour, Part};
use crate::units::Time;

mod burst;
mod contract;
mod dual_gcra;
mod frame_bucket;
mod gcra;
mod gfr;
mod gfr_tm41;
mod marker;
mod sr_tcm;
mod tr_tcm_2698;
mod tr_tcm_4115;
mod twin_buckets;

pub use burst::{Query, police_burst, police_burst_ahead, prefetch_burst};
pub use contract::{Conformance, Contract, ContractError, ContractField, Policing, Violation};
pub use dual_gcra::{DualGcra, burst_tolerance, maximum_burst_size, packet_burst_tolerance};
pub use gcra::{VirtualScheduling, back_to_back_cells};
pub use gfr::Gfr;
pub use gfr_tm41::GfrTm41;
pub use sr_tcm::SrTcm;
pub use tr_tcm_2698::TrTcm2698;
pub use tr_tcm_4115::TrTcm4115;

/// The verdict of a policer on one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Within the contract; the packet keeps its colour.
    Conform,
    /// Pass it on in this colour, which differs from its own.
    Mark(Colour),
    /// Outside the contract; drop it.
    Discard,
}

impl Verdict {
    /// The colour in which a packet that came in `from` passes on; `None` if it is discarded.
    #[inline]
    pub const fn passes(self, from: Colour) -> Option<Colour> {
        match self {
            Verdict::Conform => Some(from),
            Verdict::Mark(colour) => Some(colour),
            Verdict::Discard => None,
        }
    }
}

/// Polices one stream of packets.
pub trait Policer {
    /// Starts with full buckets: the first packet may arrive at `now` or any time after. A port calls this when it is created. A policer that
    /// was never started behaves as if started at [`Time::ZERO`].
    fn start(&mut self, now: Time);

    /// Judges a packet of `length` bytes (on the wire) that arrives at `now` with `colour`. Calls come with non-decreasing `now`.
    fn police(&mut self, now: Time, length: u32, colour: Colour) -> Verdict;

    /// Judges a packet that is a part of a frame. A policer of single packets ignores `part`; for a policer of frames, [`Policer::police`] is
    /// about a frame of one packet.
    #[inline]
    fn police_part(&mut self, now: Time, length: u32, colour: Colour, part: Part) -> Verdict {
        let _ = part;
        self.police(now, length, colour)
    }

    /// Takes over from `old` what it has charged, and what it has said of a frame that has not ended. This policer has just been built and started.
    /// A bucket that differs holds no more than is needed to bar one packet of `longest` bytes.
    fn adopt(&mut self, now: Time, old: &Self, longest: u32)
    where
        Self: Sized,
    {
        let _ = (now, old, longest);
    }

    /// Shows what it has charged, and what it has said of a frame that has not ended, number by number. A policer of the same contract that gets
    /// these numbers goes on as this one. After [`Policer::start`] all numbers are zero, and no instant is to come.
    fn visit_state(&mut self, state: &mut dyn ContractState) {
        let _ = state;
    }

    /// Moves instants far in the past up to where they still compare correctly; called at least every 2^61 ps.
    fn refresh(&mut self, now: Time);
}
