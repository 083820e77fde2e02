//! Policing a burst of packets with one reading of the clock, fetching the policers' state ahead.

use super::{Policer, Verdict};
use crate::packet::Colour;
use crate::prefetch::prefetch;
use crate::units::Time;

/// One packet to police.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Query {
    /// The index of its policer.
    pub policer: u32,
    /// Its length on the wire, in bytes.
    pub length: u32,
    /// Its colour.
    pub colour: Colour,
}

/// Polices the packets of a burst, in their order, all at `now`: `verdicts[i]` becomes what
/// `policers[batch[i].policer].police(now, ...)` says. A policer may occur any number of times.
///
/// # Panics
/// If `verdicts` is shorter than `batch`, or a policer's index is out of range.
pub fn police_burst<P: Policer>(now: Time, batch: &[Query], policers: &mut [P], verdicts: &mut [Verdict]) {
    prefetch_burst(batch, policers);
    for (query, verdict) in batch.iter().zip(&mut verdicts[..batch.len()]) {
        *verdict = policers[query.policer as usize].police(now, query.length, query.colour);
    }
}

/// Fetches the state that policing `batch` will touch. Worth calling for the next burst before policing this one; [`police_burst`] does it
/// for its own.
#[inline]
pub fn prefetch_burst<P>(batch: &[Query], policers: &[P]) {
    for query in batch {
        if let Some(policer) = policers.get(query.policer as usize) {
            prefetch(policer);
        }
    }
}
