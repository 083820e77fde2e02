//! The traffic of all flows together: how many packets, of which lengths, through which interface; and the same traffic at another rate.
//!
//! At another rate the same traffic is played faster or slower: every time of a source is divided by one factor. Bursts keep their packets.

use crate::machine::{Machine, RouterFlow};

/// The part of all packets that one flow has in one length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    /// The flow, by its place.
    pub flow: usize,
    /// The length of the frame in bytes.
    pub length: f64,
    /// The part of all packets; all parts add up to 1.
    pub part: f64,
}

/// What all flows offer together.
#[derive(Clone, PartialEq, Debug)]
pub struct Traffic {
    /// Packets per second of all flows.
    pub packets_per_second: f64,
    /// The parts by flow and length.
    pub shares: Vec<Share>,
}

impl Traffic {
    /// The traffic of these flows; `None` if they offer nothing, or if the rate of one is not known beforehand.
    pub fn of(flows: &[RouterFlow]) -> Option<Traffic> {
        let mut shares = Vec::new();
        for (flow, described) in flows.iter().enumerate() {
            let lengths = described.source.lengths();
            let mean: f64 = lengths.iter().map(|&(length, part)| length * part).sum();
            let bits = described.source.mean_bits_per_second().filter(|bits| *bits > 0.0 && mean > 0.0)?;
            let rate = bits / (8.0 * mean) * f64::from(described.copies);
            shares.extend(lengths.into_iter().map(|(length, part)| Share { flow, length, part: rate * part }));
        }
        let packets_per_second: f64 = shares.iter().map(|share| share.part).sum();
        shares.iter_mut().for_each(|share| share.part /= packets_per_second);
        (packets_per_second > 0.0).then_some(Traffic { packets_per_second, shares })
    }

    /// The mean length of a frame in bytes.
    pub fn mean_length(&self) -> f64 {
        self.mean(|share| share.length)
    }

    /// The mean of a quantity over packets.
    pub fn mean(&self, quantity: impl Fn(&Share) -> f64) -> f64 {
        self.shares.iter().map(|share| share.part * quantity(share)).sum()
    }
}

/// The flow with all its times divided by `factor`; `None` if a time or a rate of it leaves what sources can have.
pub fn faster(flow: &RouterFlow, factor: f64) -> Option<RouterFlow> {
    Some(RouterFlow { source: flow.source.faster(factor)?, ..flow.clone() })
}

/// The receive channel of each flow, as a trial assigns them: in turn, unless a flow names its channel or the guard gives each its own.
pub(crate) fn channels(machine: &Machine, flows: &[RouterFlow]) -> Vec<usize> {
    let mut next = vec![0; machine.nics.len()];
    let channel = |flow: &RouterFlow| {
        let count = if machine.guard.is_some() {
            flows.iter().filter(|other| other.input == flow.input).count()
        } else {
            machine.nics[flow.input].channels as usize
        };
        let in_turn = next[flow.input] % count.max(1);
        next[flow.input] += 1;
        flow.channel.filter(|_| machine.guard.is_none()).map_or(in_turn, |channel| channel as usize)
    };
    flows.iter().map(channel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::units::{Duration, Rate};
    use tidegate_sim::source::{Cbr, FrameTrace, OnOff, Poisson};
    use tidegate_sim::{Holding, LengthDistribution, Source};

    fn flow(source: Source) -> RouterFlow {
        RouterFlow::new("flow", source, 0, Some(1))
    }

    fn rate(bits_per_second: u64) -> Rate {
        Rate::new(bits_per_second).unwrap()
    }

    #[test]
    fn packets_are_counted_by_flow_and_length() {
        let mix = LengthDistribution::Empirical([(64, 3.0), (1500, 1.0)].into());
        let poisson = Source::Poisson(Poisson { packets_per_second: 3000.0, length: mix });
        let cbr = Source::Cbr(Cbr { rate: rate(8 * 500 * 1000), length: 500, random_phase: true });
        let traffic = Traffic::of(&[flow(poisson), flow(cbr)]).unwrap();
        assert!((traffic.packets_per_second - 4000.0).abs() < 1e-6);
        let parts: Vec<_> = traffic.shares.iter().map(|share| (share.flow, share.length, (share.part * 1e6).round() / 1e6)).collect();
        assert_eq!(parts, [(0, 64.0, 0.5625), (0, 1500.0, 0.1875), (1, 500.0, 0.25)]);
    }

    #[test]
    fn frames_are_cut_into_packets() {
        let trace =
            FrameTrace { frames: [2500, 1000].into(), interval: Duration::from_milliseconds(10), packet_length: 1000, random_start: false };
        let traffic = Traffic::of(&[flow(Source::FrameTrace(trace))]).unwrap();
        let parts: Vec<_> = traffic.shares.iter().map(|share| (share.length, share.part)).collect();
        assert_eq!(parts, [(500.0, 0.25), (1000.0, 0.75)]);
        assert!((traffic.packets_per_second - 200.0).abs() < 1e-6);
    }

    #[test]
    fn any_source_is_played_faster() {
        let holding = |milliseconds| Holding::Pareto { mean: Duration::from_milliseconds(milliseconds), shape: 1.4 };
        let on_off = OnOff { peak: rate(1_000_000), length: 125, on: holding(1), off: holding(3), remainder: Default::default() };
        let sources = [
            Source::Cbr(Cbr { rate: rate(1_000_000), length: 125, random_phase: true }),
            Source::Poisson(Poisson { packets_per_second: 1000.0, length: LengthDistribution::Fixed(125) }),
            Source::OnOff(on_off),
        ];
        for source in sources {
            let slow = flow(source);
            let fast = faster(&slow, 2.5).unwrap();
            let [before, after] = [&slow, &fast].map(|flow| Traffic::of(std::slice::from_ref(flow)).unwrap().packets_per_second);
            assert!((after / before - 2.5).abs() < 1e-6, "{before} {after}");
        }
        let cbr = flow(Source::Cbr(Cbr { rate: rate(1_000_000), length: 125, random_phase: true }));
        assert_eq!(faster(&cbr, 1e6), None, "a rate that no source has");
    }
}
