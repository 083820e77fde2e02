//! The error terms of RFC 2212 for a hop under any scheduler that has them.

use crate::curve::Service;
use crate::quantity::{NoBound, Picoseconds};
use crate::service::{Node, row};
use tidegate_core::admission::ErrorTerms;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::Duration;

/// `C` and `D` of child `index` for packets of up to `packet` bits: it is served at most `C / R + D` later than by a fluid server of its rate `R`.
///
/// Fair queueing and virtual clocks have `C` of one packet and `D` of their guaranteed rate; round robins have `C = 0` and `D` of their latency, and
/// serve at most the share that is configured. The slot of `qfq` depends on the rate: ask again with the rate that follows.
///
/// # Errors
/// The scheduler gives no rate, and out of range.
pub fn error_terms(node: &Node, parent: &Service, index: usize, packet: u64) -> Result<ErrorTerms, NoBound> {
    let terms = |rate_dependent: u64, latency: Picoseconds| {
        let latency = u64::try_from(latency).map_err(|_| NoBound::OutOfRange)?;
        Ok(ErrorTerms { rate_dependent, rate_independent: Duration::from_picoseconds(latency) })
    };
    let curve = row(node, parent, index).guaranteed?;
    match node.kind {
        SchedulerKind::Wf2qPlus
        | SchedulerKind::QuickFair
        | SchedulerKind::SelfClocked
        | SchedulerKind::VirtualClock
        | SchedulerKind::ShapedVirtualClock
        | SchedulerKind::IntegratedServices => terms(packet, curve.pieces().iter().map(|piece| piece.latency).max().unwrap_or(0)),
        SchedulerKind::WeightedRoundRobin | SchedulerKind::DeficitRoundRobin | SchedulerKind::Dwcs => {
            terms(0, curve.pieces().iter().map(|piece| piece.latency).max().unwrap_or(0))
        }
        _ => Err(NoBound::Because("the scheduler reserves no rate per flow")),
    }
}
