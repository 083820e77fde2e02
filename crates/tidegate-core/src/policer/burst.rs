//! Policing a burst of packets with one reading of the clock, while the policers' state is prefetched.

use super::{Policer, Verdict};
use crate::packet::Colour;
use crate::prefetch::prefetch_whole;
use crate::units::Time;
use core::slice;

/// One packet to police.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
/// Where the next burst is known already, [`police_burst_ahead`] hides the latency of memory better.
///
/// ```
/// use tidegate_core::packet::Colour::Green;
/// use tidegate_core::policer::{Query, Verdict, VirtualScheduling, police_burst};
/// use tidegate_core::units::{Duration, Rate, Time};
///
/// // Two flows of 1 Mbit/s each, and no burst.
/// let rate = Rate::new(1_000_000).unwrap().time_per_byte();
/// let mut policers = [VirtualScheduling::new(Time::ZERO, rate, Duration::ZERO); 2];
/// let batch = [0, 1, 0].map(|policer| Query { policer, length: 1000, colour: Green });
/// let mut verdicts = [Verdict::Conform; 3];
/// police_burst(Time::ZERO, &batch, &mut policers, &mut verdicts);
/// assert_eq!(verdicts, [Verdict::Conform, Verdict::Conform, Verdict::Discard]);
/// ```
///
/// # Panics
/// If `verdicts` is shorter than `batch`, or a policer's index is out of range.
pub fn police_burst<P: Policer>(now: Time, batch: &[Query], policers: &mut [P], verdicts: &mut [Verdict]) {
    prefetch_burst(batch, policers);
    police_burst_ahead(now, batch, &[], policers, verdicts);
}

/// Polices a burst as [`police_burst`] does, and meanwhile fetches the state that policing `next` will touch. The caller has fetched that of
/// `batch`, as `next` of the call before or by [`prefetch_burst`]. Fetching is a hint: it changes the speed and nothing else.
///
/// # Panics
/// As [`police_burst`].
#[inline]
pub fn police_burst_ahead<P: Policer>(now: Time, batch: &[Query], next: &[Query], policers: &mut [P], verdicts: &mut [Verdict]) {
    let verdicts = &mut verdicts[..batch.len()];
    // One policer is fetched while another polices: processors keep track of 12 to 24 cache lines under way.
    let (soon, later) = next.split_at(next.len().min(batch.len()));
    for ((query, verdict), ahead) in batch.iter().zip(verdicts.iter_mut()).zip(soon) {
        prefetch_burst(slice::from_ref(ahead), policers);
        *verdict = policers[query.policer as usize].police(now, query.length, query.colour);
    }
    for (query, verdict) in batch.iter().zip(verdicts).skip(soon.len()) {
        *verdict = policers[query.policer as usize].police(now, query.length, query.colour);
    }
    prefetch_burst(later, policers);
}

/// Fetches the state that policing `batch` will touch.
#[inline]
pub fn prefetch_burst<P>(batch: &[Query], policers: &[P]) {
    for query in batch {
        if let Some(policer) = policers.get(query.policer as usize) {
            prefetch_whole(policer);
        }
    }
}
