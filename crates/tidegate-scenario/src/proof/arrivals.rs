//! What sources and policers let through at most, as arrival curves.
//!
//! A flow passes ports that add different overheads. Its curve counts each packet with the most bits that it takes at any of them, so that one
//! curve holds at all.

use crate::contract::Policing;
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::quantity::{NoBound, Picoseconds};
use tidegate_bounds::source::{self, Pauses, Unlimited, rescaled};
use tidegate_core::classifier::Classifier;
use tidegate_core::policer::{Conformance, Contract, Violation};
use tidegate_core::registry::PolicerKind;
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead};
use tidegate_sim::source::{Cbr, FrameTrace, Greedy, OnOff, Poisson};
use tidegate_sim::{Holding, LengthDistribution, Remainder, Source};

/// The lengths of frames, shortest and longest, in bytes.
pub(crate) type Lengths = (u32, u32);

/// The overheads of the links that a flow passes, each once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Overheads(Vec<Overhead>);

impl Overheads {
    /// Of these links.
    pub(crate) fn of(links: impl Iterator<Item = Overhead>) -> Overheads {
        let mut all = Vec::new();
        for overhead in links {
            if !all.contains(&overhead) {
                all.push(overhead);
            }
        }
        Overheads(all)
    }

    /// The most bits that a frame takes on any of the links.
    pub(super) fn bits(&self, length: u32) -> u64 {
        8 * u64::from(self.0.iter().map(|overhead| overhead.wire_length(length)).max().unwrap_or(length))
    }

    /// The fewest bits that a frame takes on any of the links.
    pub(crate) fn least_bits(&self, length: u32) -> u64 {
        8 * u64::from(self.0.iter().map(|overhead| overhead.wire_length(length)).min().unwrap_or(length))
    }

    /// A curve of the bits on a link with this overhead, in the most bits that its packets take on any link.
    pub(super) fn most(&self, curve: &Arrival, lengths: Lengths, here: Overhead) -> Result<Arrival, NoBound> {
        let mut most = curve.clone();
        for &there in self.0.iter().filter(|&&there| there != here) {
            let other = rescaled(curve, lengths, here, there)?;
            if other.rate() > most.rate() || other.burst_bits() > most.burst_bits() {
                most = other;
            }
        }
        Ok(most)
    }
}

/// The lengths of a source's frames; `longest` is the longest that its first port accepts.
pub(crate) fn lengths(source: &Source, longest: u32) -> Lengths {
    let (least, most) = match source {
        Source::Cbr(Cbr { length, .. }) | Source::OnOff(OnOff { length, .. }) | Source::Greedy(Greedy { length, .. }) => (*length, *length),
        Source::Poisson(Poisson { length, .. }) => match length {
            LengthDistribution::Fixed(length) => (*length, *length),
            LengthDistribution::Uniform { shortest, longest } => (*shortest, *longest),
            LengthDistribution::Empirical(mix) => {
                let lengths = || mix.iter().map(|entry| entry.0);
                (lengths().min().unwrap_or(1), lengths().max().unwrap_or(longest))
            }
            LengthDistribution::Exponential { .. } => (1, longest),
        },
        Source::FrameTrace(trace) => {
            let (mut least, mut most) = (trace.packet_length, 1);
            for &frame in trace.frames.iter().filter(|&&frame| frame > 0) {
                let rest = frame % trace.packet_length;
                least = least.min(if rest > 0 { rest } else { trace.packet_length });
                most = most.max(frame.min(trace.packet_length));
            }
            (least, most)
        }
        Source::Capture(capture) => {
            let lengths = || capture.packets.iter().map(|packet| packet.length);
            (lengths().min().unwrap_or(1), lengths().max().unwrap_or(longest))
        }
        Source::Tcp(tcp) => (tcp.headers, tcp.frame()),
    };
    (least.min(longest), most.min(longest))
}

/// One length for each of the ranges that these classifiers tell apart, as far as packets of these lengths are in them.
pub(crate) fn told_apart<'a>(classifiers: impl IntoIterator<Item = &'a Classifier>, (least, most): Lengths) -> Vec<u32> {
    let steps = classifiers.into_iter().flat_map(Classifier::length_steps).filter(|&step| least < step && step <= most);
    let mut lengths: Vec<u32> = std::iter::once(least).chain(steps).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// The curve of a source, captures excepted.
pub(crate) fn of_source(source: &Source, wire: &Overheads) -> Result<Arrival, NoBound> {
    match source {
        Source::Cbr(Cbr { rate, length, .. }) => {
            early(Arrival::token_bucket(wire.bits(*length), on_wire(rate.bits_per_second(), *length, wire)?))
        }
        Source::OnOff(source) => on_off(source, wire),
        Source::FrameTrace(FrameTrace { frames, interval, packet_length, .. }) => {
            let of_frame = |&frame: &u32| {
                let (whole, rest) = (frame / packet_length, frame % packet_length);
                let last = if rest > 0 { wire.bits(rest) } else { 0 };
                u64::from(whole) * wire.bits(*packet_length) + last
            };
            source::frames(&frames.iter().map(of_frame).collect::<Vec<_>>(), *interval)
        }
        Source::Capture(capture) => of_packets(capture.packets.iter().map(|packet| (packet.offset, packet.length)), wire),
        Source::Poisson(_) => Err(Unlimited::Poisson.reason()),
        Source::Greedy(_) => Err(Unlimited::Greedy.reason()),
        Source::Tcp(_) => Err(Unlimited::Tcp.reason()),
    }
}

/// The curve of packets at their offsets.
pub(super) fn of_packets(packets: impl Iterator<Item = (Duration, u32)>, wire: &Overheads) -> Result<Arrival, NoBound> {
    source::capture(&packets.map(|(offset, length)| (offset.picoseconds(), wire.bits(length))).collect::<Vec<_>>())
}

/// A rate of frames as one of bits on the wire, rounded up.
fn on_wire(rate: u64, length: u32, wire: &Overheads) -> Result<u64, NoBound> {
    let bits = (u128::from(rate) * u128::from(wire.bits(length))).div_ceil(8 * u128::from(length));
    u64::try_from(bits).map_err(|_| NoBound::OutOfRange)
}

/// The curve of packets that leave up to a picosecond early, because their instants are rounded down.
fn early(curve: Arrival) -> Result<Arrival, NoBound> {
    const ROUNDING: Picoseconds = 1;
    curve.delayed(ROUNDING)
}

fn on_off(OnOff { peak, length, on, off, remainder }: &OnOff, wire: &Overheads) -> Result<Arrival, NoBound> {
    let (Holding::Constant { time: on }, Holding::Constant { time: off }) = (on, off) else {
        return early(source::on_off(wire.bits(*length), on_wire(peak.bits_per_second(), *length, wire)?, Pauses::Random)?);
    };
    let on = match remainder {
        Remainder::Carried => *on,
        Remainder::Completed => {
            // Whole packets, each with its interval, which is rounded down.
            let interval = u128::from(*length) * 8_000_000_000_000 / u128::from(peak.bits_per_second());
            let packets = u128::from(on.picoseconds()).div_ceil(interval.max(1));
            let on = packets * u128::from(*length) * 8_000_000_000_000;
            let on = u64::try_from(on.div_ceil(u128::from(peak.bits_per_second()))).map_err(|_| NoBound::OutOfRange)?;
            // Within a period no packet is later than without rounding, so that a period is shorter by less than its packets.
            let lost = u64::try_from(packets).map_err(|_| NoBound::OutOfRange)?;
            let pauses = Pauses::Constant { on: Duration::from_picoseconds(on), off: off.saturating_sub(Duration::from_picoseconds(lost)) };
            return early(source::on_off(wire.bits(*length), on_wire(peak.bits_per_second(), *length, wire)?, pauses)?);
        }
    };
    let pauses = Pauses::Constant { on, off: *off };
    early(source::on_off(wire.bits(*length), on_wire(peak.bits_per_second(), *length, wire)?, pauses)?)
}

/// What a policer passes at most, in bits on the wire of its port; `None` if it marks what is beyond its contract, which limits nothing.
pub(crate) fn of_policer(policing: &Policing) -> Option<Result<Arrival, NoBound>> {
    let Contract { rate, peak_rate, excess_rate, excess_burst, peak_burst, longest_packet, conformance, violation, .. } = policing.contract;
    let usual = if policing.kind == PolicerKind::Gfr { None } else { Some(Violation::Discard) };
    if violation.or(usual) != Some(Violation::Discard) {
        return None;
    }
    let tolerance = policing.contract.delay_variation_tolerance.unwrap_or(Duration::ZERO);
    let bucket = |bytes: u64, rate: u64| source::contract(rate, 8 * bytes, tolerance);
    let depth = policing.bursts().map_or(longest_packet, |bursts| bursts.depth.max(longest_packet));
    let (burst, longest) = (u64::from(depth), u64::from(longest_packet));
    let peak = peak_rate.map(|peak| bucket(longest, peak.bits_per_second()));
    let rate = rate.bits_per_second();
    Some(match policing.kind {
        PolicerKind::Gcra => bucket(burst, rate),
        PolicerKind::DualGcra => match conformance.unwrap_or(Conformance::Vbr1) {
            Conformance::Vbr1 => match (bucket(burst, rate), peak?) {
                (Ok(sustained), Ok(peak)) => Ok(sustained.min(&peak)),
                (one, other) => one.and(other),
            },
            // What exceeds the sustained rate is marked, or was before; only the peak rate discards.
            Conformance::Vbr2 | Conformance::Vbr3 => peak?,
            // The one rate is the peak rate.
            Conformance::Cbr1 | Conformance::Ubr1 | Conformance::Ubr2 => bucket(longest, rate),
            Conformance::Gfr1 | Conformance::Gfr2 => return None,
        },
        PolicerKind::SrTcm => bucket(burst + u64::from(excess_burst?), rate),
        PolicerKind::TrTcm2698 => bucket(u64::from(peak_burst?), peak_rate?.bits_per_second()),
        PolicerKind::TrTcm4115 => bucket(burst + u64::from(excess_burst?), rate.saturating_add(excess_rate?.bits_per_second())),
        PolicerKind::GfrTm41 => peak?,
        PolicerKind::Gfr => return None,
    })
}

/// What a shaping sender lets out, in bits on the wire of its first link.
pub(super) fn of_shape(shape: &ShapingContract) -> Result<Arrival, NoBound> {
    let depth = crate::contract::Bursts::of_shape(shape).depth.max(shape.longest_packet);
    let sustained = source::contract(shape.rate.bits_per_second(), 8 * u64::from(depth), shape.tolerance)?;
    let Some(peak) = shape.peak else { return Ok(sustained) };
    Ok(sustained.min(&source::contract(peak.bits_per_second(), 8 * u64::from(shape.longest_packet), shape.tolerance)?))
}

#[cfg(test)]
mod tests;
