//! What sources emit, what policers pass and what senders let out never exceeds its curve, in any window.

use super::*;
use proptest::prelude::*;
use tidegate_bounds::quantity::bits;
use tidegate_core::packet::Colour;
use tidegate_core::policer::Policer;
use tidegate_core::units::{Rate, Time};
use tidegate_sim::random::Stream;

/// Packets as instants in ps and bits.
type Packets = Vec<(u64, u64)>;

/// True if no window has more than the curve allows.
fn conforms(packets: &Packets, curve: &Arrival) -> Result<(), String> {
    for (index, &(start, _)) in packets.iter().enumerate() {
        let mut sum = 0;
        for &(time, length) in &packets[index..] {
            sum += bits(length);
            let most = curve.at(Picoseconds::from(time - start)).unwrap();
            if sum > most {
                return Err(format!("{sum} pb in {} ps, at most {most} by {curve:?}", time - start));
            }
        }
    }
    Ok(())
}

fn emitted(source: &Source, wire: &Overheads, seed: u64) -> Packets {
    let (mut generator, mut stream) = (source.generator().unwrap(), Stream::new(seed, 0, "flow"));
    let mut at = generator.first(1_000, &mut stream);
    let mut packets = Packets::new();
    while packets.len() < 150 && at < u64::MAX / 2 {
        let emission = generator.emit(at, &mut stream);
        packets.push((at, wire.bits(emission.length)));
        at = emission.next;
    }
    packets
}

fn wire() -> impl Strategy<Value = Overheads> {
    let overhead = prop_oneof![Just(Overhead::None), Just(Overhead::ETHERNET), Just(Overhead::per_packet(18)), Just(Overhead::Aal5)];
    proptest::collection::vec(overhead, 1..3).prop_map(|list| Overheads::of(list.into_iter()))
}

fn holding() -> impl Strategy<Value = Holding> {
    let time = (1u64..9_000_000_000).prop_map(Duration::from_picoseconds);
    prop_oneof![
        3 => time.clone().prop_map(|time| Holding::Constant { time }),
        1 => time.prop_map(|mean| Holding::Exponential { mean }),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    let rate = (100_000u64..50_000_000).prop_map(|rate| Rate::new(rate).unwrap());
    let cbr = (rate.clone(), 40u32..1_600, any::<bool>())
        .prop_map(|(rate, length, random_phase)| Source::Cbr(Cbr { rate, length, random_phase }));
    let on_off = (rate, 40u32..1_600, holding(), holding(), any::<bool>()).prop_map(|(peak, length, on, off, carries)| {
        let remainder = if carries { Remainder::Carried } else { Remainder::Completed };
        Source::OnOff(OnOff { peak, length, on, off, remainder })
    });
    let frames = (proptest::collection::vec(0u32..9_000, 1..5), 1u64..20_000, 50u32..1_600, any::<bool>()).prop_map(
        |(mut frames, interval, packet_length, random_start)| {
            frames[0] += 1;
            let interval = Duration::from_microseconds(interval);
            Source::FrameTrace(FrameTrace { frames: frames.into(), interval, packet_length, random_start })
        },
    );
    prop_oneof![cbr, on_off, frames]
}

fn contract() -> impl Strategy<Value = (PolicerKind, Contract)> {
    let kinds = [PolicerKind::Gcra, PolicerKind::DualGcra, PolicerKind::SrTcm, PolicerKind::TrTcm2698, PolicerKind::TrTcm4115];
    let definitions =
        [None, Some(Conformance::Vbr1), Some(Conformance::Vbr2), Some(Conformance::Vbr3), Some(Conformance::Cbr1), Some(Conformance::Ubr1)];
    let numbers = (100_000u64..4_000_000, 1_000_000u64..9_000_000, 1_600u32..9_000, 0u32..9_000, 0u64..3_000);
    (proptest::sample::select(kinds.to_vec()), proptest::sample::select(definitions.to_vec()), numbers).prop_map(
        |(kind, definition, (rate, more, burst, excess, tolerance))| {
            let peak = Rate::new(rate + more).unwrap();
            let mut contract = Contract::new(Rate::new(rate).unwrap(), 1_600);
            let tolerance = Some(Duration::from_microseconds(tolerance));
            match kind {
                PolicerKind::Gcra => (contract.burst, contract.delay_variation_tolerance) = (Some(burst), tolerance),
                PolicerKind::DualGcra => {
                    contract.conformance = definition;
                    contract.delay_variation_tolerance = tolerance;
                    if definition.is_none_or(Conformance::has_sustained_rate) {
                        (contract.peak_rate, contract.burst) = (Some(peak), Some(burst));
                    }
                }
                PolicerKind::SrTcm => (contract.burst, contract.excess_burst) = (Some(burst), Some(1_600 + excess)),
                PolicerKind::TrTcm2698 => {
                    (contract.burst, contract.peak_rate, contract.peak_burst) = (Some(burst), Some(peak), Some(burst.max(excess)));
                }
                _ => (contract.burst, contract.excess_burst, contract.excess_rate) = (Some(burst + 1), Some(1_601 + excess), Some(peak)),
            }
            (kind, contract)
        },
    )
}

proptest! {
    #[test]
    fn sources_keep_to_their_curves(source in source(), wire in wire(), seed in 0u64..1_000) {
        let curve = of_source(&source, &wire).unwrap();
        let packets = emitted(&source, &wire, seed);
        prop_assert_eq!(conforms(&packets, &curve), Ok(()), "{:?}", source);
        let (least, most) = lengths(&source, u32::MAX);
        prop_assert!(packets.iter().all(|packet| (wire.bits(least)..=wire.bits(most)).contains(&packet.1)));
        // The same packets as a capture.
        let offsets = packets.iter().map(|packet| (Duration::from_picoseconds(packet.0), (packet.1 / 8) as u32));
        prop_assert_eq!(conforms(&packets, &of_packets(offsets, &Overheads::default()).unwrap()), Ok(()));
    }

    #[test]
    fn policers_pass_no_more_than_their_curves(kind_and_contract in contract(), gaps in proptest::collection::vec((0u64..4_000, 40u32..1_600), 150)) {
        let (kind, contract) = kind_and_contract;
        let policing = Policing { kind, contract, policer: kind.build(&contract).unwrap() };
        let curve = of_policer(&policing).unwrap().unwrap();
        let mut policer = policing.policer.clone();
        policer.start(Time::ZERO);
        let (mut now, mut passed) = (0, Packets::new());
        for (gap, length) in gaps {
            now += gap * 1_000_000;
            if policer.police(Time::from_picoseconds(now), length, Colour::Green).passes(Colour::Green).is_some() {
                passed.push((now, 8 * u64::from(length)));
            }
        }
        prop_assert_eq!(conforms(&passed, &curve), Ok(()), "{:?}", contract);
        // In the most bits that they take behind an Ethernet port or an ATM port.
        let wire = Overheads::of([Overhead::None, Overhead::ETHERNET, Overhead::Aal5].into_iter());
        let most = wire.most(&curve, (40, 1_600), Overhead::None).unwrap();
        let wider: Packets = passed.iter().map(|packet| (packet.0, wire.bits((packet.1 / 8) as u32))).collect();
        prop_assert_eq!(conforms(&wider, &most), Ok(()));
    }

    #[test]
    fn shaping_senders_keep_to_their_curves(
        numbers in (100_000u64..4_000_000, 0u64..9_000_000, 1_600u32..9_000, 0u64..3_000),
        has_peak in any::<bool>(),
        gaps in proptest::collection::vec((0u64..2_000, 40u32..1_600), 150),
    ) {
        let (rate, more, burst, tolerance) = numbers;
        let mut contract = ShapingContract::new(Rate::new(rate).unwrap(), burst, 1_600);
        contract.tolerance = Duration::from_microseconds(tolerance);
        contract.peak = has_peak.then(|| Rate::new(rate + more).unwrap());
        let curve = of_shape(&contract).unwrap();
        let mut allowance = contract.allowance().unwrap();
        allowance.start(Time::ZERO);
        let (mut now, mut left) = (0, Packets::new());
        for (gap, length) in gaps {
            now = (now + gap * 1_000_000).max(allowance.release().picoseconds());
            allowance.charge(Time::from_picoseconds(now), length);
            left.push((now, 8 * u64::from(length)));
        }
        prop_assert_eq!(conforms(&left, &curve), Ok(()), "{:?}", contract);
    }
}
