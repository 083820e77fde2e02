//! What a shape keeps of the service of the node above.
//!
//! A bucket makes up for a wait with what it holds beyond the packet that is released: `B = burst - L + rho * tolerance`.
//!
//! * Behind a strict curve `(R, T)` all of `r = min(R, rho)` is kept if `B >= r T` ([`Shape::through`]).
//! * Behind a guaranteed rate `(R, e)` the same holds with `T = e + L / R`: a packet that waits longer closes a busy period of the rate.
//! * There `rho R / (rho + R)` is kept if `B >= rho e`. By induction packet k is due by the sum of `L / rho + L / R` of those before it.
//!   It finishes at most `L / R` later.
//! * Beside neighbours of rate `s` at a node with the curve `(R, T)`, `rho (R - s) / R` is kept if `B >= rho (T + L / R)`. Tokens are lost
//!   only while the node serves neighbours, which is a part `s / R` of the time.
//! * A dual bucket does not make up for a late burst: each loses its lateness beyond the tolerance. Let `b = burst - L`, the least bits of
//!   a burst. A burst and its pause last at most `b / r + d`, where `d = T + L (1 / max(R, rho) - 1 / link) - tolerance`. So `b / (b / r + d)` is kept.

use crate::contract::Bursts;
use crate::units::{print_size, print_time};
use tidegate_bounds::curve::{RateLatency, Service};
use tidegate_bounds::hierarchy::Shape;
use tidegate_bounds::quantity::{LONGEST, NoBound, PICOBITS, Picoseconds, bits, up};
use tidegate_core::shaper::{Bucket, ShapingContract};

/// The latency of a curve of which only the rate is known. Members below have rates of it, and no latency that a shape could rely on.
pub(super) const UNKNOWN: Picoseconds = LONGEST / 2;

/// What a scheduler offers a member before its own shape.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// In bit/s, in the long run, while the member is backlogged.
    pub rate: u64,
    /// The curve of every interval of a backlogged period.
    pub strict: Option<Service>,
    /// The guaranteed rate, where it has less latency or is all that there is.
    pub guaranteed: Option<RateLatency>,
    /// The curve of the node, and the rate of the neighbours, if these are all that the member waits for.
    pub beside: Option<(Service, u64)>,
    /// Why it is not more.
    pub remark: Option<String>,
}

/// What is left behind a shape.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub rate: u64,
    pub strict: Option<Service>,
}

/// Why a shape does not keep all of its rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lack {
    /// Its bucket overflows; this many bits would be enough.
    Burst(u64),
    /// Its peak rate makes up for no wait; this tolerance would be enough.
    Tolerance(Picoseconds),
    /// Nothing bounds how long it waits.
    Unbounded,
    /// A dual bucket, and whether the wait has a bound.
    Dual(bool),
}

impl Lack {
    /// As a clause about a shape below a scheduler.
    pub fn because(self, shape: &ShapingContract, kind: &str) -> String {
        match self {
            Lack::Burst(_) => {
                let depth = print_size(Bursts::of_shape(shape).depth.into());
                format!("its burst of {depth} is too small to wait for its turn under {kind}")
            }
            Lack::Tolerance(_) => format!("its peak rate makes up for no wait for its turn under {kind}"),
            Lack::Unbounded => format!("nothing bounds how long it waits for its turn under {kind}"),
            Lack::Dual(is_bounded) => {
                let starts = if is_bounded { "each burst may start late" } else { "nothing bounds how late each burst starts" };
                format!("its dual bucket is full while it waits for its turn under {kind}, and {starts}")
            }
        }
    }

    /// What would be enough, as the end of that clause; with a peak rate the key of the burst counts what leaves at that rate.
    pub fn remedy(self, shape: &ShapingContract) -> String {
        match self {
            Lack::Burst(enough) if shape.peak.is_none() => format!("; {} would do", print_size(enough.div_ceil(8))),
            Lack::Tolerance(enough) => format!("; a delay_variation_tolerance of {} would", print_time(enough.unsigned_abs())),
            _ => String::new(),
        }
    }
}

/// A shape, and the lengths that its waits depend on.
pub(super) struct Shaped<'a> {
    pub contract: &'a ShapingContract,
    /// The longest packet on this wire, in bits.
    pub longest: u64,
    /// The rate of the link.
    pub link: u64,
}

impl Shaped<'_> {
    /// The part of an offer that the shape passes on, and why it is not all.
    pub fn keep(&self, offer: &Offer) -> (Option<Kept>, Option<Lack>) {
        let contract = self.contract;
        let known = offer.strict.as_ref().filter(|curve| curve.latency() < UNKNOWN);
        let Some(peak) = contract.peak else {
            return if pauses(contract) { self.keep_pausing(known) } else { self.keep_rate(offer, known) };
        };
        let peak = Shape { rate: peak.bits_per_second(), burst: 8 * u64::from(contract.longest_packet), tolerance: contract.tolerance };
        match known.map(|curve| peak.through(curve, self.longest)) {
            Some(Ok(curve)) if pauses(contract) => self.keep_pausing(Some(&curve)),
            Some(Ok(curve)) => self.through(&curve),
            Some(Err(NoBound::ShortBurst { burst, enough })) => {
                let more = up(bits(enough.saturating_sub(burst)), peak.rate.into());
                (None, Some(Lack::Tolerance(more + Picoseconds::from(contract.tolerance.picoseconds()))))
            }
            Some(Err(_)) | None => (None, Some(Lack::Unbounded)),
        }
    }

    /// The sustained rate and its bucket. The depth is rounded down: with a peak rate it fills while a burst leaves.
    fn shape(&self) -> Shape {
        let ShapingContract { rate, burst, longest_packet, peak, tolerance, .. } = *self.contract;
        let (rate, beyond) = (rate.bits_per_second(), u64::from(burst.saturating_sub(longest_packet)));
        let beyond = peak.map_or(beyond, |peak| {
            let peak = peak.bits_per_second();
            (u128::from(beyond) * u128::from(peak.saturating_sub(rate)) / u128::from(peak)) as u64
        });
        Shape { rate, burst: 8 * (u64::from(longest_packet) + beyond), tolerance }
    }

    fn through(&self, curve: &Service) -> (Option<Kept>, Option<Lack>) {
        match self.shape().through(curve, self.longest) {
            Ok(curve) => (Some(Kept { rate: curve.rate(), strict: Some(curve) }), None),
            Err(NoBound::ShortBurst { enough, .. }) => (None, Some(Lack::Burst(enough))),
            Err(_) => (None, Some(Lack::Unbounded)),
        }
    }

    /// A single bucket without a peak rate.
    fn keep_rate(&self, offer: &Offer, known: Option<&Service>) -> (Option<Kept>, Option<Lack>) {
        let shape = self.shape();
        let (rate, longest) = (shape.rate, bits(self.longest));
        // What the bucket holds beyond one packet.
        let spare = bits(shape.burst) - longest + i128::from(rate) * Picoseconds::from(shape.tolerance.picoseconds());
        let tokens = |time: Picoseconds| time.saturating_mul(rate.into());
        let (mut kept, mut lack): (Option<Kept>, Option<Lack>) = (None, None);
        let mut found = |other: Kept| {
            if kept.as_ref().is_none_or(|kept| other.rate > kept.rate) {
                kept = Some(other);
            }
        };
        let mut lacks = |other: Lack| lack = Some(lack.map_or(other, |lack| lack.min(other)));
        let steady = |rate: u64| offer.strict.is_some().then(|| Service::rate_latency(rate.max(1), UNKNOWN));
        if let Some(curve) = known {
            match self.through(curve) {
                (Some(all), _) => found(all),
                (None, Some(less)) => lacks(less),
                (None, None) => {}
            }
        }
        if let Some(RateLatency { rate: own, latency }) = offer.guaranteed {
            let (least, wait) = (rate.min(own), latency + up(longest, own.into()));
            let needed = wait.saturating_mul(least.into());
            if needed <= spare {
                // A contract below the rate never runs ahead of it, so that the curve holds in every interval.
                let strict =
                    if own >= rate { Some(Service::rate_latency(rate, wait + 2 * up(longest, rate.into()))) } else { steady(least) };
                found(Kept { rate: least, strict });
            } else {
                let enough = up(bits(shape.burst) + needed - spare, PICOBITS);
                lacks(Lack::Burst(u64::try_from(enough).unwrap_or(u64::MAX)));
            }
            if tokens(latency) <= spare {
                let in_turns = (u128::from(rate) * u128::from(own) / (u128::from(rate) + u128::from(own)).max(1)) as u64;
                found(Kept { rate: in_turns, strict: steady(in_turns) });
            }
        }
        if let Some((node, others)) = &offer.beside {
            for piece in node.pieces().iter().filter(|piece| piece.rate > *others && piece.latency < UNKNOWN) {
                if tokens(piece.latency + up(longest, piece.rate.into())) <= spare {
                    let part = (u128::from(rate) * u128::from(piece.rate - others) / u128::from(piece.rate)) as u64;
                    found(Kept { rate: part, strict: Some(Service::rate_latency(part.max(1), UNKNOWN)) });
                }
            }
        }
        (kept.filter(|kept| kept.rate > 0), lack.or(Some(Lack::Unbounded)))
    }

    /// A dual bucket, behind its peak rate.
    fn keep_pausing(&self, known: Option<&Service>) -> (Option<Kept>, Option<Lack>) {
        let ShapingContract { rate, burst, longest_packet, tolerance, .. } = *self.contract;
        let rate = rate.bits_per_second();
        let longest = bits(self.longest);
        let Some(curve) = known else { return (None, Some(Lack::Dual(false))) };
        let bits_of_burst = 8 * u128::from(burst - longest_packet);
        let of_piece = |piece: &RateLatency| {
            let own = up(longest, piece.rate.max(rate).into()) - longest / i128::from(self.link);
            let lost = piece.latency + own.max(0) - Picoseconds::from(tolerance.picoseconds());
            let least = u128::from(piece.rate.min(rate));
            let Ok(lost) = u128::try_from(lost) else { return least };
            let work = bits_of_burst * PICOBITS as u128;
            least * work / (work + least * lost)
        };
        let most = curve.pieces().iter().map(of_piece).max().unwrap_or(0) as u64;
        let lack = (most < rate.min(curve.rate())).then_some(Lack::Dual(true));
        (Some(Kept { rate: most, strict: Some(Service::rate_latency(most.max(1), UNKNOWN)) }).filter(|kept| kept.rate > 0), lack)
    }
}

/// True if the shape pauses after a burst until its bucket is full.
pub(super) fn pauses(shape: &ShapingContract) -> bool {
    shape.bucket == Bucket::Dual && shape.burst > shape.longest_packet
}
