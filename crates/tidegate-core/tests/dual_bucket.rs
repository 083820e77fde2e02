//! The laws of a dual leaky bucket: conformance, pauses until the bucket is full, and the long-run rate; and a slow model of it.

use proptest::prelude::*;
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::policer::{Policer, Verdict, packet_burst_tolerance};
use tidegate_core::registry::{AnyScheduler, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{Decision, FlowParameters, Scheduler, Setup};
use tidegate_core::shaper::{Bucket, Shaped, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};

const LONGEST: u32 = 1500;

fn contract(rate: u64, burst: u32, peak: Option<u64>) -> ShapingContract {
    let peak = peak.map(|peak| Rate::new(peak).unwrap());
    ShapingContract { peak, bucket: Bucket::Dual, ..ShapingContract::new(Rate::new(rate).unwrap(), burst, LONGEST) }
}

fn contracts() -> impl Strategy<Value = ShapingContract> {
    let burst = prop_oneof![Just(LONGEST), LONGEST..4 * LONGEST, (1u32..20).prop_map(|packets| packets * LONGEST), LONGEST..100_000];
    let tolerance = prop_oneof![Just(0u64), 0u64..20_000, 0u64..10_000_000].prop_map(Duration::from_nanoseconds);
    let peak = prop::option::of(prop_oneof![Just(0u64), 1u64..100]);
    (10_000u64..1_000_000_000, burst, peak, tolerance).prop_map(|(rate, burst, peak, tolerance)| ShapingContract {
        tolerance,
        ..contract(rate, burst, peak.map(|tenths| rate + rate * tenths / 10))
    })
}

/// What limits the next packet, as in the paper.
#[derive(Clone, Copy)]
enum State {
    /// The peak rate; there are tokens.
    Peak,
    /// The bucket, which is full at this instant.
    Refill(i128),
}

/// A dual bucket that goes through the list of all packets sent for every answer, in picoseconds since the start.
struct Model {
    contract: ShapingContract,
    sent: Vec<(i128, u32)>,
}

impl Model {
    /// When the next packet may start.
    fn release(&self) -> i128 {
        let time = |duration: Duration| i128::from(duration.picoseconds());
        let ShapingContract { rate, burst, longest_packet, peak, tolerance, .. } = self.contract;
        let sustained = rate.time_per_byte();
        let depth = time(match peak {
            Some(peak) => packet_burst_tolerance(burst, longest_packet, peak.time_per_byte(), sustained),
            None => sustained.floor(burst - longest_packet),
        });
        let (mut full, mut by_peak, mut state) = (0, 0, State::Peak);
        for &(start, length) in &self.sent {
            if let State::Refill(until) = state {
                // Nothing has left since, so that both plans begin anew.
                (by_peak, state) = (until, State::Peak);
            }
            let forgiven = start - time(tolerance);
            full = forgiven.max(full) + time(sustained.ceil(length));
            by_peak = forgiven.max(by_peak) + peak.map_or(0, |peak| time(peak.time_per_byte().ceil(length)));
            // Tokens for a longest packet are there at `full - depth`. With a depth of nothing that is when the bucket is full.
            let wait = full - depth - by_peak.max(start);
            if depth > 0 && wait > 1000 {
                state = State::Refill(full);
            }
        }
        match state {
            State::Peak => by_peak.max(full - depth),
            State::Refill(until) => until,
        }
    }
}

fn policer(contract: &ShapingContract, now: Time) -> impl Policer {
    let kind = if contract.peak.is_some() { PolicerKind::DualGcra } else { PolicerKind::Gcra };
    let mut policer = kind.build(&contract.policed()).unwrap();
    policer.start(now);
    policer
}

fn shaped(contract: ShapingContract) -> Shaped<AnyScheduler> {
    let fifo = SchedulerKind::Fifo.build(&Setup::new(Rate::MAX, LONGEST), &[FlowParameters::default()]).unwrap();
    Shaped::new(fifo, &[Some(contract)]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    /// Packets of any length, in bursts and alone, behind a link that is busy now and then.
    #[test]
    fn the_shaper_does_what_the_slow_model_does(
        contract in contracts(),
        start in any::<u64>(),
        packets in prop::collection::vec((
            prop_oneof![Just(LONGEST), 1..=LONGEST],
            prop_oneof![6 => Just(0u64), 2 => 0u64..20_000_000, 1 => 0u64..20_000_000_000_000],
            prop_oneof![3 => Just(0u64), 1 => 0u64..10_000_000_000],
        ), 1..150),
    ) {
        let start = Time::from_picoseconds(start);
        let at = |instant: i128| start + Duration::from_picoseconds(instant as u64);
        let (mut shaped, mut policer) = (shaped(contract), policer(&contract, start));
        let mut model = Model { contract, sent: Vec::new() };
        shaped.start(start);
        let mut now = 0i128;
        for (number, &(length, pause, busy)) in packets.iter().enumerate() {
            now += i128::from(pause);
            shaped.activate(at(now), Flow(0), Head { length, number: number as u32, arrival: at(now), colour: Colour::Green });
            let due = model.release().max(now);
            if let Decision::WaitUntil(time) = shaped.select(at(now)) {
                prop_assert_eq!(time, at(due));
            } else {
                prop_assert_eq!(due, now);
            }
            now = due + i128::from(busy);
            prop_assert_eq!(shaped.select(at(now)), Decision::Serve(Flow(0)));
            shaped.served(at(now), Flow(0), None);
            model.sent.push((now, length));
            prop_assert_eq!(policer.police(at(now), length, Colour::Green), Verdict::Conform);
        }
    }

    /// A backlogged stream that is served on time: each burst begins when the bucket is full, is at least `burst` less one longest packet, and
    /// takes as long with its pause as its bytes at the rate.
    #[test]
    fn a_burst_and_its_pause_keep_the_rate(
        contract in contracts().prop_filter("a burst", |contract| contract.burst > LONGEST),
        lengths in prop::collection::vec(prop_oneof![Just(LONGEST), 1..=LONGEST], 200..400),
        delay in prop_oneof![Just(0u64), 0u64..20_000_000_000],
    ) {
        let mut allowance = contract.allowance().unwrap();
        allowance.start(Time::ZERO);
        let interval = |length| contract.rate.time_per_byte().ceil(length);
        let lost = Duration::from_picoseconds(delay).saturating_sub(contract.tolerance);
        // Every packet that begins a burst starts late by `delay`, all others on time.
        let (mut now, mut begins, mut bytes, mut time, mut first) = (Time::ZERO, true, 0u32, Duration::ZERO, Time::ZERO);
        for &length in &lengths {
            let due = allowance.release().later(now);
            if begins {
                first = due;
                (bytes, time) = (0, Duration::ZERO);
            }
            now = if begins { due + Duration::from_picoseconds(delay) } else { due };
            allowance.charge(now, length);
            (bytes, time) = (bytes + length, time + interval(length));
            begins = allowance.is_refilling(now) && allowance.release().is_after(now);
            if begins {
                prop_assert!(bytes > contract.burst - LONGEST, "{bytes} bytes in a burst");
                prop_assert_eq!(allowance.release(), first + lost + time, "burst and pause take the time of {} bytes", bytes);
            }
        }
    }
}

/// The instants in milliseconds at which this many longest packets start on an idle link that is much faster.
fn starts(contract: ShapingContract, packets: usize) -> Vec<u64> {
    let mut allowance = contract.allowance().unwrap();
    allowance.start(Time::ZERO);
    let mut now = Time::ZERO;
    let mut next = || {
        now = allowance.release().later(now);
        allowance.charge(now, LONGEST);
        (now.since(Time::ZERO).picoseconds() + 500_000) / 1_000_000_000
    };
    (0..packets).map(|_| next()).collect()
}

#[test]
fn nothing_leaves_between_a_burst_and_the_full_bucket() {
    // 12 Mbit/s: a millisecond per packet.
    assert_eq!(starts(contract(12_000_000, 4 * LONGEST, None), 10), [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]);
    assert_eq!(starts(contract(3_000_000, 3 * LONGEST, Some(12_000_000)), 9), [0, 1, 2, 12, 13, 14, 24, 25, 26]);
    let single = ShapingContract { bucket: Bucket::Single, ..contract(3_000_000, 3 * LONGEST, Some(12_000_000)) };
    assert_eq!(starts(single, 6), [0, 1, 2, 6, 10, 14]);
    // Without a burst there is one packet to wait for, and no difference.
    assert_eq!(starts(contract(12_000_000, LONGEST, None), 4), [0, 1, 2, 3]);
}

#[test]
fn what_a_burst_leaves_unused_is_kept_for_the_next_packets() {
    let mut allowance = contract(12_000_000, 4 * LONGEST, None).allowance().unwrap();
    allowance.start(Time::ZERO);
    (0..3).for_each(|_| allowance.charge(Time::ZERO, LONGEST));
    let later = Time::ZERO + Duration::from_microseconds(500);
    assert!(!allowance.release().is_after(later), "a fourth may follow");
    allowance.charge(later, LONGEST);
    assert!(allowance.is_refilling(later));
    assert_eq!(allowance.release().since(Time::ZERO).picoseconds() / 1_000_000_000, 4);
}
