//! Rows of scheduling trees from files against worked values.

use super::*;
use crate::policy::Policy;
use crate::scenario::parse_str;
use tidegate_bounds::aggregate::delay;
use tidegate_bounds::curve::{Arrival, RateLatency};

/// Bits per second.
const MBPS: u64 = 1_000_000;
/// Picoseconds.
const US: i128 = 1_000_000;

/// A policy `p` of one link.
fn policy(text: &str) -> Policy {
    let scenario = parse_str("policy.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.policy(Some("p")).unwrap_or_else(|problem| panic!("{problem:?}")).clone()
}

/// Classes of these keys below the link of a policy; the last takes all other packets.
fn flat(root: &str, classes: &[&str]) -> Policy {
    let mut text = format!("[policy.p]\n{root}\n");
    for (class, keys) in classes.iter().enumerate() {
        let rules = if class + 1 < classes.len() { format!("match = [{{ dscp = {class} }}]\n") } else { String::new() };
        text += &format!("[[policy.p.class]]\nname = \"c{class}\"\n{rules}{keys}\n");
    }
    policy(&text)
}

/// What queues are guaranteed if each class sends this burst in bits and rate, in frames of these lengths.
fn guaranteed(policy: &Policy, sends: &[Option<(u64, u64)>], lengths: Lengths) -> Vec<Vec<PortQueue>> {
    let first = policy.parts.leaves() as u32;
    let traffic = Traffic {
        rate: policy.rate.bits_per_second(),
        arrival: &|class, _| match sends.get(class).copied().flatten() {
            Some((burst, rate)) => Ok(Arrival::token_bucket(burst, rate)),
            None => Err(NoBound::Unlimited("greedy")),
        },
        lengths: &|_, _| Some(lengths),
        number: &|class, queue| Some((class as u32 * first + queue) as usize),
    };
    queues(&policy.parts, &traffic)
}

type Lengths = (u32, u32);

fn pieces(curve: &Result<Service, NoBound>) -> Vec<(u64, i128)> {
    let pair = |piece: &RateLatency| (piece.rate, piece.latency);
    curve.as_ref().unwrap_or_else(|reason| panic!("{reason}")).pieces().iter().map(pair).collect()
}

#[test]
fn classes_of_one_order_of_arrival_share_the_link() {
    let policy = flat("rate = \"10 Mbit/s\"\nlongest_frame = \"125 B\"", &["", ""]);
    for of_class in guaranteed(&policy, &[], (125, 125)) {
        assert_eq!(pieces(&of_class[0].row.strict), [(10 * MBPS, 0)]);
        assert!(of_class[0].server.as_ref().unwrap().is_strict);
    }
}

#[test]
fn strict_priority_leaves_what_higher_classes_do_not_send() {
    let root = "rate = \"10 Mbit/s\"\nscheduler = \"strict-priority\"\nlongest_frame = \"125 B\"";
    let high = "priority = 0";
    let policy = flat(root, &[high, high, high, high, "priority = 1", "priority = 2"]);
    let voice = Some((15_000, 1_500_000));
    let all = guaranteed(&policy, &[voice, voice, voice, voice, Some((80_000, 4 * MBPS)), None], (125, 125));
    assert_eq!(pieces(&all[4][0].row.strict), [(4 * MBPS, 15_250 * US)]);
    assert_eq!(delay(&Arrival::token_bucket(80_000, 4 * MBPS), all[4][0].row.strict.as_ref().unwrap()), Ok(35_250 * US));
    let Serving::Below { higher, lower, .. } = &all[4][0].server.as_ref().unwrap().serving else { panic!("below four classes") };
    assert_eq!((higher.len(), *lower), (4, 1_000));
}

#[test]
fn weighted_round_robin_by_the_lengths_in_use() {
    let policy = flat("rate = \"10 Mbit/s\"\nscheduler = \"wrr\"\nlongest_frame = \"1500 B\"", &["weight = 3", "weight = 1"]);
    // One turn of the neighbour and a packet of it: its queue may have become empty, and be back with a new turn.
    assert_eq!(pieces(&guaranteed(&policy, &[], (125, 1500))[0][0].row.strict), [(2 * MBPS, 2_400 * US)]);
}

#[test]
fn deficit_round_robin_by_quanta_of_the_longest_frame() {
    let weights = |own: u32, other: u32| {
        let root = "rate = \"50 Mbit/s\"\nscheduler = \"drr\"\nlongest_frame = \"1500 B\"";
        let policy = flat(root, &[&format!("weight = {own}"), &format!("weight = {other}")]);
        pieces(&guaranteed(&policy, &[], (1500, 1500))[0][0].row.strict)
    };
    assert_eq!(weights(1, 100), [(495_049, 48_240 * US)]);
    assert_eq!(weights(100, 1), [(49_500_000, 480 * US), (49_504_950, 482_400_000)]);
    assert_eq!(weights(3, 1), [(33_333_333, 480 * US), (37_500_000, 560 * US)]);
    // Quanta of 17142.86 and 12000 bit: the neighbour's counts in full.
    let cut = weights(7, 10);
    assert_eq!(cut.last().unwrap().0, 50 * MBPS * 12_000 / (12_000 + 17_143));
}

#[test]
fn fair_queueing_and_virtual_clocks_by_their_rates() {
    let row = |scheduler: &str| {
        let root = format!("rate = \"10 Mbit/s\"\nscheduler = \"{scheduler}\"\nlongest_frame = \"125 B\"");
        let classes = ["rate = \"1.5 Mbit/s\""].into_iter().chain([&"rate = \"1.2 Mbit/s\""; 7].map(|keys| *keys));
        let policy = flat(&root, &classes.collect::<Vec<_>>());
        guaranteed(&policy, &[], (125, 125)).remove(0).remove(0).row
    };
    for (scheduler, guaranteed, strict) in [
        ("wf2q+", 100_000_000, Some(1_233_333_334)),
        ("scfq", 700_000_000, Some(1_833_333_334)),
        ("qfq", 3_421_225_472, Some(4_087_892_139)),
        ("virtual-clock", 100_000_000, None),
        ("svc", 100_000_000, Some(1_433_333_334)),
    ] {
        let row = row(scheduler);
        assert_eq!(pieces(&row.guaranteed), [(1_500_000, guaranteed)], "{scheduler}");
        assert_eq!(row.strict.as_ref().ok().map(Service::latency), strict, "{scheduler}");
    }
}

#[test]
fn windows_that_are_kept_are_strict() {
    let root = "rate = \"10 Mbit/s\"\nscheduler = \"dwcs\"\ndwcs = { shares = \"bytes\" }\nlongest_frame = \"125 B\"";
    let policy = flat(root, &["service = \"window 3 of 4\"", "service = \"window 1 of 2\""]);
    let all = guaranteed(&policy, &[], (125, 125));
    // Seven and three slots, and one more for each class that may overdraw one.
    assert_eq!(pieces(&all[0][0].row.strict), [(2_500_000, 900 * US)]);
    assert_eq!(pieces(&all[1][0].row.strict), [(5_000_000, 500 * US)]);
}

#[test]
fn deadlines_are_those_of_all_queues_in_use() {
    let root = "rate = \"10 Mbit/s\"\nscheduler = \"edf\"\nlongest_frame = \"125 B\"";
    let policy = flat(root, &["delay = \"3 ms\"", "delay = \"8 ms\""]);
    let all = guaranteed(&policy, &[Some((4_000, 2 * MBPS)), Some((8_000, 3 * MBPS))], (125, 125));
    let Serving::Deadline { classes, .. } = &all[0][0].server.as_ref().unwrap().serving else { panic!("by deadlines") };
    assert_eq!(classes.iter().map(|class| (class.1, class.2)).collect::<Vec<_>>(), [(3_000 * US, 1_000), (8_000 * US, 1_000)]);
    // Its burst and a packet of the other: 5 kbit.
    assert_eq!(all[0][0].row.delay, Some(Ok(500 * US)));
}

#[test]
fn an_internet_provider_in_three_levels() {
    let scenario = parse_str("isp.toml", include_str!("../../../../../scenarios/hierarchical-isp.toml")).unwrap();
    let policy = scenario.variants[0].policies.iter().find(|policy| policy.name == "tree").unwrap();
    let class = |name: &str| policy.classes.iter().position(|class| class.name == name).unwrap();
    let voice = class("mill voice");
    let mut sends = vec![None; policy.classes.len()];
    sends[voice] = Some((20 * 1_904, 20 * 1_904 * 50));
    let all = guaranteed(policy, &sends, (214, 1_514));
    let Serving::Below { port, higher, .. } = &all[voice][0].server.as_ref().unwrap().serving else { panic!("by priority") };
    assert_eq!((port.pieces(), higher.len()), (&[RateLatency { rate: 20 * MBPS, latency: 1_315_840_000 }][..], 0));
    let voice = all[voice][0].row.strict.as_ref().unwrap();
    assert_eq!(delay(&Arrival::token_bucket(20 * 1_904, 20 * 1_904 * 50), voice), Ok(3_836_640_000));
    assert_eq!(all[class("mill data")].len(), 64);
    // A class of its own below a shape of 10 Mbit/s.
    assert_eq!(all[class("shop data")][0].row.strict.as_ref().unwrap().rate(), 9_750_000);
}

#[test]
fn the_queue_of_a_path_across_a_parking_lot() {
    let scenario = parse_str("lot.toml", include_str!("../../../../../scenarios/parking-lot.toml")).unwrap();
    let mut found = scenario.variants.iter().flat_map(|variant| &variant.policies).rev();
    let policy = found.find(|policy| policy.scheduler == SchedulerKind::Wf2qPlus).unwrap();
    let constant = policy.classes.iter().position(|class| class.name == "constant").unwrap();
    assert_eq!(pieces(&guaranteed(policy, &[], (1_064, 1_064))[constant][0].row.guaranteed), [(3_100_000, 1_214_400_000)]);
}

#[test]
fn a_shape_needs_a_burst_that_outlasts_its_wait() {
    let row = |burst: &str| {
        let root = "rate = \"10 Mbit/s\"\nscheduler = \"drr\"\nlongest_frame = \"125 B\"";
        let shape = format!("shape = {{ rate = \"2 Mbit/s\", burst = \"{burst}\", delay_variation_tolerance = \"0 s\" }}");
        let policy = flat(root, &[&shape, ""]);
        guaranteed(&policy, &[], (125, 125)).remove(0).remove(0).row
    };
    // A turn of the neighbour, of twice its quantum, and a packet of it: the rate of 5 Mbit/s after 0.3 ms.
    assert_eq!(row("125 B").strict, Err(NoBound::ShortBurst { burst: 1_000, enough: 1_600 }));
    assert_eq!(pieces(&row("200 B").strict), [(2 * MBPS, 800 * US)]);
}

#[test]
fn a_shape_without_its_burst_lets_a_packet_through_after_each_wait() {
    let left = |shape: &str| {
        let root = "rate = \"10 Mbit/s\"\nscheduler = \"drr\"\nlongest_frame = \"125 B\"";
        let mut queue =
            guaranteed(&flat(root, &[&format!("shape = {{ rate = \"2 Mbit/s\", {shape} }}"), ""]), &[], (125, 125)).remove(0).remove(0);
        assert!(queue.server.is_err());
        let Serving::Fixed(curve) = queue.left.remove(0).serving else { panic!("a rate") };
        pieces(&Ok(curve))
    };
    // It leaves within 0.5 ms of its release, so it starts within 0.4 ms, and then takes 0.5 ms of the bucket: 1000 bit in 0.9 ms.
    assert_eq!(left("burst = \"125 B\", delay_variation_tolerance = \"0 s\""), [(1_111_111, 0)]);
    assert_eq!(left("burst = \"500 B\", bucket = \"dual\", delay_variation_tolerance = \"0 s\""), [(1_111_111, 0)]);
    // A tolerance of 0.4 ms and more makes up for the wait.
    assert_eq!(left("burst = \"500 B\", bucket = \"dual\", delay_variation_tolerance = \"401 us\""), [(2 * MBPS, 0)]);
}

#[test]
fn a_shape_before_one_queue_is_a_delay_behind_contracts() {
    let shape = "shape = { rate = \"2 Mbit/s\", burst = \"500 B\" }";
    let policy = flat("rate = \"10 Mbit/s\"\nlongest_frame = \"125 B\"", &[shape, shape]);
    let all = guaranteed(&policy, &[Some((8_000, MBPS)), None], (125, 125));
    // Both bursts, each with the tolerance of one packet of the link: 8.4 kbit wait 0.84 ms. A start 0.74 ms later than tolerated leaves a
    // burst of 2520 bit, so that 5480 bit wait for the rate.
    assert_eq!(all[0][0].row.delay, Some(Ok((840 + 2_740) * US)));
    assert!(all[1][0].server.is_err());
}

#[test]
fn what_no_row_covers_says_why() {
    let root = "rate = \"10 Mbit/s\"\nscheduler = \"drr\"";
    let dual = "shape = { rate = \"2 Mbit/s\", burst = \"6 kB\", bucket = \"dual\" }";
    let reason = guaranteed(&flat(root, &[dual, ""]), &[], (125, 1_500))[0][0].server.clone().unwrap_err();
    assert_eq!(reason.to_string(), "its dual bucket pauses after a burst until it is full");
    let shaped = "delay = \"3 ms\"\nshape = { rate = \"2 Mbit/s\" }";
    let edf = flat("rate = \"10 Mbit/s\"\nscheduler = \"edf\"", &[shaped, "delay = \"8 ms\""]);
    let reason = guaranteed(&edf, &[], (125, 1_500))[1][0].server.clone().unwrap_err();
    assert_eq!(reason.to_string(), "what a shape holds back is due before it is released");
}
