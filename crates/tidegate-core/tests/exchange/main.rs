//! Two to four workers share one link by the exchange, beside one port that has the whole link. Shares, the bound on bytes, conservation.

mod model;
mod team;
mod trees;

use proptest::prelude::*;
use team::{LONGEST, Load, Member, Net, member, run};
use tidegate_core::exchange::{Exchange, ExchangeError, Inconsistency, Report, Workers, assign};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::units::{Duration, Rate, Time};

fn megabits(rate: u64) -> Rate {
    Rate::new(rate * 1_000_000).unwrap()
}

const INTERVAL: Duration = Duration::from_microseconds(150);

/// The loads by name, with members on two workers unless said otherwise.
fn loads() -> Vec<(&'static str, usize, Vec<Member>)> {
    use Load::{Bursts, Rate, Standing};
    vec![
        ("equal", 2, vec![member(0, 1, Standing), member(1, 1, Standing)]),
        ("weights 1 to 4", 2, (0..4).map(|index| member(index % 2, 1 + index as u32, Standing)).collect()),
        ("all on one worker", 2, (0..3).map(|index| member(0, 1 + index, Standing)).collect()),
        // One worker has 80 % of the load: eight of ten members.
        ("80/20", 2, (0..10).map(|index| member(usize::from(index >= 8), 1, Standing)).collect()),
        ("80/20, light members", 2, {
            let light = |index: usize| member(index % 2, 1, Rate(20));
            (0..10).map(|index| member(usize::from(index >= 8), 1 + index as u32 % 3, Standing)).chain((0..6).map(light)).collect()
        }),
        ("at the fair share", 2, {
            let light = |index: usize| member(index % 2, 1, Rate(39));
            (0..10).map(|index| member(usize::from(index >= 8), 1 + index as u32 % 3, Standing)).chain((0..6).map(light)).collect()
        }),
        ("one light, one heavy", 2, vec![member(0, 1, Rate(200)), member(1, 1, Standing)]),
        ("light beside standing", 2, vec![member(0, 1, Standing), member(0, 1, Rate(100)), member(1, 1, Standing)]),
        ("on and off", 2, vec![member(0, 1, Standing), member(1, 1, Bursts(40, 20_000)), member(1, 2, Standing)]),
        ("idle worker", 4, vec![member(0, 1, Standing), member(1, 3, Standing), member(2, 2, Bursts(4, 5_000))]),
        ("short and long packets", 2, {
            let short = |worker| Member { length: 100, ..member(worker, 1, Standing) };
            vec![short(0), member(0, 1, Standing), member(1, 1, Standing), short(1), member(1, 5, Standing)]
        }),
    ]
}

#[test]
fn every_member_gets_what_it_gets_from_one_worker_within_half_a_percent() {
    let mut wrong = Vec::new();
    for rate in [10, 100, 1000] {
        for (name, workers, members) in loads() {
            let exchanges = if rate == 10 { 60_000 } else { 12_000 };
            let outcome = run(&Net::flat(megabits(rate), &members), workers, INTERVAL, exchanges);
            let sum: u64 = outcome.alone.iter().sum();
            let loss = 1.0 - outcome.sum() as f64 / sum as f64;
            println!(
                "{rate:>5} Mbit/s, {name}: error {:.3} %, lost {:.3} %, burst {} of {} bytes",
                outcome.error() * 100.0,
                loss * 100.0,
                outcome.nodes[0].excess,
                outcome.nodes[0].burst
            );
            if outcome.error() > 0.005 || loss.abs() > 0.005 {
                println!("{outcome:?}");
                wrong.push(format!("{rate} Mbit/s, {name}"));
            }
            outcome.judge_bursts();
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn any_load() -> impl Strategy<Value = Load> {
    prop_oneof![
        3 => Just(Load::Standing),
        2 => (1u64..400).prop_map(Load::Rate),
        2 => (1u32..60, 100u64..10_000).prop_map(|(count, every)| Load::Bursts(count, every)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Law 2 and conservation, whatever the loads.
    #[test]
    fn workers_never_send_more_than_rate_and_burst(
        loads in prop::collection::vec((0usize..4, 1u32..20, 64u32..=LONGEST, any_load()), 1..8),
        rate in 1u64..2000,
        workers in 2usize..=4,
        microseconds in 50u64..500,
    ) {
        let members: Vec<Member> =
            loads.iter().map(|&(worker, weight, length, load)| Member { length, ..member(worker % workers, weight, load) }).collect();
        let outcome = run(&Net::flat(megabits(rate), &members), workers, Duration::from_microseconds(microseconds), 300);
        outcome.judge_bursts();
    }

    /// Law 3: standing members of any weights and lengths on any workers, some of them beside light ones. A turn of a member may fall on either
    /// side of an end.
    #[test]
    fn standing_members_share_by_weight_across_workers(
        standing in prop::collection::vec((0usize..4, 1u32..10, 200u32..=LONGEST), 2..9),
        light in prop::collection::vec((0usize..4, 1u64..30), 0..4),
        rate in 20u64..500,
        workers in 2usize..=4,
    ) {
        let standing = standing.iter().map(|&(worker, weight, length)| Member { length, ..member(worker % workers, weight, Load::Standing) });
        let light = light.iter().map(|&(worker, part)| member(worker % workers, 10, Load::Rate(part)));
        let members: Vec<Member> = standing.chain(light).collect();
        let outcome = run(&Net::flat(megabits(rate), &members), workers, INTERVAL, 600_000 / rate);
        for ((member, &alone), &shared) in members.iter().zip(&outcome.alone).zip(&outcome.shared) {
            let turns = u64::from(3 + 2 * member.weight) * u64::from(LONGEST);
            prop_assert!(alone.abs_diff(shared) <= alone / 200 + turns, "{member:?}: {alone} alone, {shared} shared; {outcome:?}");
        }
    }

    #[test]
    fn no_worker_has_more_than_its_part_and_one_member(weights in prop::collection::vec(1u32..1000, 1..60), workers in 1u32..9) {
        let assigned = assign(&weights, &vec![0; workers as usize]);
        prop_assert_eq!(assigned.len(), weights.len());
        let total: u64 = weights.iter().copied().map(u64::from).sum();
        let greatest = u64::from(weights.iter().copied().max().unwrap_or(0));
        for worker in 0..workers {
            let own = weights.iter().zip(&assigned).filter(|(_, assigned)| **assigned == worker);
            let sum: u64 = own.map(|(weight, _)| u64::from(*weight)).sum();
            prop_assert!(sum <= total / u64::from(workers) + greatest);
        }
        // With members enough, every worker has one.
        if weights.len() >= workers as usize {
            prop_assert!((0..workers).all(|worker| assigned.contains(&worker)));
        }
    }

    /// Law 1: whatever workers report, and however late. The slow model finds the credit anew from all that was reported.
    #[test]
    fn grants_never_exceed_the_rate_and_the_credit(
        rounds in prop::collection::vec(
            (0u64..1000, prop::collection::vec((0u64..1000, 0u64..1000, 0u64..1000, 0u64..20_000, 0u64..20_000), 3)),
            1..40,
        ),
    ) {
        let rate = megabits(1000);
        let mut exchange = Exchange::new(Time::ZERO, &Workers::of_link(3, INTERVAL, &[], &[]), rate, LONGEST).unwrap();
        let interval = INTERVAL.picoseconds() as i128;
        let (mut now, mut unused) = (Time::ZERO, Vec::new());
        for (late, reports) in rounds {
            let elapsed = INTERVAL + Duration::from_microseconds(late);
            now += elapsed;
            let reports: Vec<Report> = reports.iter().map(|&(standing, more, passing_weight, bytes, passing_bytes)| Report {
                sent: bytes + passing_bytes,
                backlogged_weight: standing + more,
                standing_weight: standing,
                service: (bytes << 24) / standing.max(1),
                passing_weight,
                passing_bytes,
                ..Report::default()
            }).collect();
            let sent: u64 = reports.iter().map(|report| report.sent).sum();
            unused.push(i128::from(rate.bits_per_second()) * i128::from(elapsed.picoseconds()) - i128::from(sent) * 8_000_000_000_000);
            // The least over all suffixes, each of which begins with full credit, and the whole, which begins with none.
            let limit = i128::from(rate.bits_per_second()) * interval;
            let suffixes = (0..=unused.len()).map(|from| limit + unused[from..].iter().sum::<i128>());
            let credit = suffixes.chain([unused.iter().sum()]).min().unwrap();
            exchange.exchange(now, &reports);
            let granted: i128 = (0..3).map(|worker| i128::from(exchange.granted(worker)[0].bits_per_second())).sum();
            // An overdrawn link keeps the least rates.
            let bound = i128::from(rate.bits_per_second()) + credit.max(0) / interval;
            prop_assert!(granted <= bound, "{granted} of {bound}");
            if credit >= 0 && reports.iter().any(|report| report.backlogged_weight > 0) {
                prop_assert!(granted >= bound - bound / 100, "{granted} of {bound}: the link is not used");
            }
        }
    }
}

#[test]
fn a_transmission_under_way_goes_on_at_the_new_rate() {
    let mut port = Net::flat(megabits(12), &[member(0, 1, Load::Standing)]).port(megabits(12));
    port.offer(Time::ZERO, Flow(0), 1500, Colour::Green, (), &mut ());
    port.poll(Time::ZERO, &mut ());
    // After half of its millisecond the rate falls to a quarter: the other half takes two.
    let half = Time::from_nanoseconds(500_000);
    port.change_link_rate(half, megabits(3));
    // The time per byte is rounded up to 2^-32 of a picosecond or so.
    let busy = |port: &tidegate_core::port::Port<()>| port.busy_until(half).unwrap().since(Time::ZERO).picoseconds() / 100;
    assert_eq!(busy(&port), 25_000_000);
    assert_eq!(port.rate(), megabits(3));
    port.change_link_rate(Time::from_nanoseconds(1_500_000), megabits(400));
    assert_eq!(busy(&port), 15_075_000);
}

#[test]
fn what_cannot_be_divided_is_an_error() {
    let check = |rate, workers, interval| Workers::of_link(workers, interval, &[1], &[0]).check(rate, 1);
    assert_eq!(check(megabits(1), 1, INTERVAL), Err(ExchangeError::Workers(1)));
    assert_eq!(check(megabits(1), 257, INTERVAL), Err(ExchangeError::Workers(257)));
    assert_eq!(check(megabits(1), 11, INTERVAL), Err(ExchangeError::Rate(megabits(1))));
    let short = Duration::from_microseconds(9);
    assert_eq!(check(megabits(1), 2, short), Err(ExchangeError::Interval(short)));
    assert_eq!(check(megabits(1), 10, INTERVAL), Ok(()));
    let inconsistent = |change: fn(&mut Workers)| {
        let mut workers = Workers::of_link(2, INTERVAL, &[1, 1], &[0, 1]);
        change(&mut workers);
        workers.check(megabits(1), 2)
    };
    let error = |what| Err(ExchangeError::Inconsistent(what));
    assert_eq!(inconsistent(|_| ()), Ok(()));
    assert_eq!(inconsistent(|workers| workers.nodes.clear()), error(Inconsistency::Nodes));
    assert_eq!(inconsistent(|workers| workers.parts[1].worker = 2), error(Inconsistency::Range));
    assert_eq!(inconsistent(|workers| workers.parts[1].weight = 0), error(Inconsistency::Range));
    assert_eq!(inconsistent(|workers| workers.parts[0].above = tidegate_core::exchange::Above::Spanning(1)), error(Inconsistency::Parts));
    assert_eq!(inconsistent(|workers| workers.parts[1].above = tidegate_core::exchange::Above::Part(0)), error(Inconsistency::Parts));
    assert_eq!(inconsistent(|workers| workers.part_of[1] = 2), error(Inconsistency::Flows));
    assert_eq!(inconsistent(|workers| workers.part_of.truncate(1)), error(Inconsistency::Flows));
}
