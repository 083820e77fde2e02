//! What a refusal offers, by bisection: each offer is a request that has been tested.

use tidegate_core::admission::{Constraint, FlowSpec, Offer, Refused, Target};
use tidegate_core::units::{Duration, Rate};

/// An admission control that can test a request without admitting it.
pub(super) trait Tests {
    /// True if the request has a meaning and would be admitted. With a smaller burst or rate it stays so.
    fn is_admitted(&mut self, spec: &FlowSpec<'_>) -> bool;

    /// The rate of a port that no flow has, in bit/s.
    fn free_rate(&self, port: u32) -> u64;

    /// True if the request with the offered value would be admitted.
    fn accepts(&mut self, spec: &FlowSpec<'_>, offer: Offer) -> bool {
        offer.applied_to(spec).is_some_and(|offered| self.is_admitted(&offered))
    }
}

/// Adds what would be admitted in place of a refused request, each value by itself.
pub(super) fn with_offers(control: &mut impl Tests, spec: &FlowSpec<'_>, mut refused: Refused) -> Refused {
    let delay = Offer::Delay(Duration::from_picoseconds(refused.need.min(Duration::MAX.picoseconds())));
    let delay = (refused.constraint == Constraint::Target && control.accepts(spec, delay)).then_some(delay);
    let burst = largest(spec.traffic.longest_packet(), spec.traffic.burst(), |burst| control.accepts(spec, Offer::Burst(burst)));
    let sustained = spec.traffic.rate().bits_per_second();
    let reserved = match spec.target {
        Some(Target::Rate(rate)) => rate,
        _ => sustained,
    };
    let of_rate = |rate: u64| if rate < sustained { Offer::Sustained(rate) } else { Offer::Rate(rate) };
    let rate = largest(Rate::MIN.bits_per_second(), reserved, |rate| control.accepts(spec, of_rate(rate)));
    let path = spec.widest_shortest(|path| {
        let is_admitted = control.is_admitted(&FlowSpec { path, ..*spec });
        is_admitted.then(|| path.iter().map(|&port| control.free_rate(port)).min().unwrap_or(0))
    });
    for offer in [delay, burst.map(Offer::Burst), rate.map(of_rate), path.map(Offer::Path)].into_iter().flatten() {
        refused.offers.push(offer);
    }
    refused
}

/// The largest value from `least` to below `most` that is admitted, if the least one is. What is admitted stays so with less.
fn largest(least: u64, most: u64, mut is_admitted: impl FnMut(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (least, most.checked_sub(1)?);
    if low > high || !is_admitted(low) {
        return None;
    }
    while low < high {
        let middle = high - (high - low) / 2;
        if is_admitted(middle) { low = middle } else { high = middle - 1 }
    }
    Some(low)
}
