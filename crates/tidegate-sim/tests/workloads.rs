//! Workloads: connections that come and go, compared with closed forms and with the same connections as flows.

mod connections;
mod networks;

use connections::{as_flows, deep, deep_for, hosts, play, play_as_flows, random, star, tcp, transfers, workload};
use networks::{link, random_loss};
use proptest::prelude::*;
use std::num::NonZeroUsize;
use tidegate_core::units::Duration;
use tidegate_link::Disturbance;
use tidegate_sim::routing::EqualPaths;
use tidegate_sim::tcp::{Application, Tcp};
use tidegate_sim::workload::Sizes;
use tidegate_sim::workload::reach::Reach;
use tidegate_sim::{Control, Experiment, Network, NodeId, Pattern, Rhythm, run};

#[test]
fn a_connection_alone_within_its_first_window_has_slowdown_one() {
    let mut network = star(&[997_000_000, 101_000_000, 1_003_000_000], 1);
    for (handshake, request) in [(false, None), (true, None), (false, Some(300)), (true, Some(300))] {
        for bytes in [1, 100, 1460, 1461, 2920, 14_000, 14_600] {
            let mut alone = workload("alone", random(&network), Rhythm::Period(Duration::from_milliseconds(500)), Sizes::fixed(bytes));
            alone.tcp = Tcp { handshake, application: transfers(1, request), ..tcp() };
            network.workloads = vec![alone];
            let (_, completions) = play(&network, 5_000, 1);
            assert_eq!(completions.len(), 10);
            for completion in completions {
                let (time, ideal) = (completion.time.picoseconds(), completion.ideal.picoseconds());
                // A picosecond for each packet and link.
                assert!(time.abs_diff(ideal) <= 40, "{bytes} {handshake} {request:?}: {time} {ideal}");
            }
        }
    }
}

#[test]
fn arrivals_sizes_and_loads_are_as_asked() {
    let mut network = star(&[100_000_000; 4], 1);
    let sizes = Sizes::new(&[(100.0, 0.1), (2_000.0, 0.6), (20_000.0, 1.0)]).unwrap();
    let mean = sizes.mean();
    let mut asked = workload("asked", random(&network), Rhythm::Poisson { per_second: 4_000.0 }, sizes);
    asked.tcp.handshake = false;
    network.workloads = vec![asked];
    let reach = Reach::of(&network).unwrap();
    let loads = reach.loads(&network, &network.workloads[0]).unwrap();
    let (outcome, completions) = play(&network, 10_000, 3);
    let workload = &outcome.workloads[0];
    // 40,000 arrivals: five standard deviations.
    assert!((workload.arrivals as f64 - 40_000.0).abs() < 1_000.0, "{}", workload.arrivals);
    let bytes: u64 = completions.iter().map(|completion| completion.bytes).sum();
    let measured = bytes as f64 / completions.len() as f64;
    assert!((measured / mean - 1.0).abs() < 0.02, "{measured} {mean}");
    for (link, port) in outcome.ports.iter().enumerate() {
        // Acknowledgements come on top: one of 84 bytes for two segments, or for a lone one.
        let (load, used) = (loads[link], port.utilisation.mean);
        assert!((0.15..0.5).contains(&load) && used > load && used < 1.12 * load + 0.01, "{}: {load} {used}", port.name);
    }
    assert!(workload.refused == 0 && workload.unfinished < 20);
    assert_eq!(workload.all.as_ref().unwrap().connections + workload.unfinished, workload.arrivals);
}

/// The mean slowdown of M/G/1 with processor sharing is 1 / (1 - load), whatever the sizes (Kleinrock, Queueing Systems II, section 4.4).
#[test]
fn fair_queueing_of_small_segments_shares_the_processor() {
    let mut network = star(&[10_000_000_000, 10_000_000], 4096);
    for link in &mut network.links {
        link.port = deep_for(220, link.port.rate.bits_per_second(), if link.name == "down 1" { 4096 } else { 1 });
    }
    let sizes = Sizes::new(&[(1_000.0, 0.5), (10_000.0, 1.0)]).unwrap();
    let mut shared = workload("shared", Pattern::Listed(vec![(NodeId(0), NodeId(1))]), Rhythm::Poisson { per_second: 1.0 }, sizes);
    shared.tcp = Tcp { handshake: false, segment: 200, headers: 20, initial_window: 1000, hystart: false, ..tcp() };
    network.workloads = vec![shared];
    let reach = Reach::of(&network).unwrap();
    // The receiver's link is number 3.
    let load = reach.loads_per_arrival(&network, &network.workloads[0])[3];
    network.workloads[0].rhythm = Rhythm::Poisson { per_second: 0.5 / load };
    let (outcome, _) = play(&network, 60_000, 5);
    let all = outcome.workloads[0].all.as_ref().unwrap();
    assert!(all.connections > 5_000, "{}", all.connections);
    assert!((all.slowdown.mean - 2.0).abs() < 0.12, "{}", all.slowdown.mean);
}

#[test]
fn a_round_is_complete_with_its_last_connection() {
    let rates = [1_000_000_000; 9];
    let mut network = star(&rates, 1);
    network.links.iter_mut().for_each(|link| link.propagation = Duration::from_microseconds(1));
    let pattern = Pattern::Incast { from: hosts(&network), to: vec![NodeId(8)], senders: 8 };
    let mut round = workload("round", pattern, Rhythm::Period(Duration::from_milliseconds(10)), Sizes::fixed(1460));
    round.tcp.handshake = false;
    network.workloads = vec![round];
    let (first, completions) = play(&network, 1_000, 1);
    assert_eq!(completions.len(), 800);
    let rounds = first.workloads[0].rounds.as_ref().unwrap();
    assert_eq!((rounds.arrivals, rounds.unfinished, rounds.overlapping, rounds.refused), (100, 0, 0, 0));
    // 1538 bytes on the wire take 12.304 us: once to the switch, and eight times to the receiver.
    let time = rounds.time_s.unwrap().mean;
    assert!((time - (9.0 * 12.304e-6 + 2e-6)).abs() < 1e-10, "{time}");

    // Rounds that follow each other wait for the whole round and its pause.
    network.workloads[0].rhythm = Rhythm::Pause(Duration::from_milliseconds(1));
    let (closed, completions) = play(&network, 1_000, 1);
    let rounds = closed.workloads[0].rounds.as_ref().unwrap();
    assert_eq!(rounds.arrivals, 1 + (1e12 / (9.0 * 12.304e6 + 2e6 + 1e9)) as u64);
    assert_eq!(completions.iter().filter(|completion| completion.round == 0).count(), 8);

    // Rounds by the clock that are longer than the period overlap, and are refused where places are few.
    network.workloads[0].rhythm = Rhythm::Period(Duration::from_microseconds(50));
    network.workloads[0].places = 20;
    let (open, _) = play(&network, 100, 1);
    let rounds = open.workloads[0].rounds.as_ref().unwrap();
    assert_eq!(rounds.arrivals, 2_000);
    assert!(rounds.overlapping > 1_900 && rounds.refused > 500, "{rounds:?}");
    assert_eq!(open.workloads[0].refused, 8 * rounds.refused);
    assert!(open.workloads[0].most_at_once <= 20);
}

#[test]
fn slots_are_used_again() {
    let mut network = star(&[1_000_000_000; 6], 1);
    let mut brief = workload("brief", random(&network), Rhythm::Poisson { per_second: 200_000.0 }, Sizes::fixed(500));
    brief.tcp = Tcp { handshake: false, delayed_ack: None, ..tcp() };
    network.workloads = vec![brief];
    let (outcome, completions) = play(&network, 500, 1);
    assert!(completions.len() > 95_000);
    // Some 20 us each, a few at once.
    assert!(outcome.replications[0].connection_slots < 40, "{}", outcome.replications[0].connection_slots);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Connections in slots behave as connections of their own do, with losses, copies, late packets and hashed queues.
    #[test]
    fn slots_change_nothing(
        seed in 0u64..1000,
        loss in prop_oneof![Just(0.0), Just(0.02), Just(0.1)],
        disturbed in any::<bool>(),
        queues in prop_oneof![Just(1u32), Just(7)],
        request in prop_oneof![Just(None), Just(Some(120u32))],
        handshake in any::<bool>(),
        slow in any::<bool>(),
    ) {
        slots_are_like_flows(seed, (loss, disturbed), queues, (request, handshake, slow))?;
    }
}

/// Packets that open connections come late and twice.
#[test]
fn ports_see_the_same_packets_as_with_flows() {
    let mut network = star(&[100_000_000; 2], 1);
    for link in [2, 3] {
        network.links[link].impairment.disturbance = Disturbance::new(400_000_000, Duration::from_milliseconds(5), 400_000_000, 9);
    }
    let pattern = Pattern::Listed(vec![(NodeId(0), NodeId(1))]);
    let mut single = workload("single", pattern, Rhythm::Period(Duration::from_milliseconds(100)), Sizes::fixed(1_000));
    single.tcp = Tcp { application: transfers(1, Some(120)), ..tcp() };
    network.workloads = vec![single];
    let (outcome, complete) = play(&network, 10_050, 1);
    assert_eq!(complete.len(), 101);
    let model = play_as_flows(&network, &[], 10_050, 1, &complete);
    for (port, model) in outcome.ports.iter().zip(&model.ports) {
        assert_eq!(port.offered, model.offered, "{}", port.name);
    }
}

fn slots_are_like_flows(
    seed: u64,
    (loss, disturbed): (f64, bool),
    queues: u32,
    (request, handshake, slow): (Option<u32>, bool, bool),
) -> Result<(), TestCaseError> {
    let mut network = star(&[97_000_003, 113_000_017, 11_000_027, 55_000_009], queues);
    network.links[5].impairment.loss = random_loss(loss);
    network.links[2].impairment.loss = random_loss(loss / 2.0);
    if disturbed {
        network.links[3].impairment.disturbance = Disturbance::new(50_000_000, Duration::from_microseconds(700), 50_000_000, 9);
    }
    let sizes = Sizes::new(&[(300.0, 0.3), (3_000.0, 0.8), (90_000.0, 1.0)]).unwrap();
    let mut many = workload("many", random(&network), Rhythm::Poisson { per_second: 400.0 }, sizes);
    many.tcp = Tcp { handshake, application: transfers(1, request), ..tcp() };
    if slow {
        many.tcp.processing = Duration::from_microseconds(13);
    }
    let pattern = Pattern::Incast { from: hosts(&network), to: vec![NodeId(2)], senders: 2 };
    let mut rounds = workload("rounds", pattern, Rhythm::Period(Duration::from_nanoseconds(17_123_457)), Sizes::fixed(4_000));
    rounds.stop = Some(Duration::from_milliseconds(300));
    // What is not complete at the end is not compared, so nothing new comes in the last part.
    many.stop = Some(Duration::from_milliseconds(400));
    network.workloads = vec![many, rounds];
    let (outcome, mut completions) = play(&network, 60_000, seed);
    // A connection that loses six packets in a row takes more than a minute.
    prop_assume!(outcome.workloads.iter().all(|workload| workload.unfinished == 0));
    prop_assert!(outcome.replications[0].connection_slots < completions.len() as u64);
    // In the order of arrival, which is that of their numbers; connections of a round are told apart by their sizes only, which are equal.
    completions.retain(|completion| completion.workload == 0);
    completions.sort_by_key(|completion| completion.began.picoseconds());
    network.workloads.truncate(1);
    let (outcome, mut alone) = play(&network, 60_000, seed);
    prop_assume!(outcome.workloads[0].unfinished == 0);
    alone.sort_by_key(|completion| completion.began.picoseconds());
    let model = as_flows(&network, &[], 60_000, seed, &alone);
    for (completion, time) in alone.iter().zip(model) {
        prop_assert_eq!(Some(completion.time.picoseconds()), time.map(|time| (time * 1e12).round() as u64));
    }
    Ok(())
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let mut network = star(&[97_000_003, 113_000_017, 11_000_027], 3);
    network.workloads = vec![workload("many", random(&network), Rhythm::Poisson { per_second: 300.0 }, Sizes::fixed(20_000))];
    let experiment = Experiment { duration: Duration::from_seconds(1), replications: 4, ..Experiment::default() };
    let with = |threads| run(&network, &experiment, &Control { threads: NonZeroUsize::new(threads), ..Control::default() }).unwrap();
    assert_eq!(with(1), with(3));
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let network = star(&[1_000_000; 3], 1);
    let refused = |change: &dyn Fn(&mut Network)| {
        let mut network = network.clone();
        network.workloads = vec![workload("w", random(&network), Rhythm::Poisson { per_second: 1.0 }, Sizes::fixed(1000))];
        change(&mut network);
        run(&network, &Experiment::default(), &Control::default()).unwrap_err().to_string()
    };
    let one_way = refused(&|network| {
        network.links.remove(1);
    });
    assert!(one_way.contains("no links lead from"), "{one_way}");
    let senders =
        refused(&|network| network.workloads[0].pattern = Pattern::Incast { from: hosts(network), to: hosts(network), senders: 3 });
    assert!(senders.contains("senders"), "{senders}");
    let endless = refused(&|network| network.workloads[0].tcp.application = Application::Endless);
    assert!(endless.contains("source"), "{endless}");
    let long = refused(&|network| network.links[2].port.longest_frame = 1000);
    assert!(long.contains("frames of 1514 bytes, and link up 1 accepts 1000"), "{long}");
    let places = refused(&|network| network.workloads[0].places = 0);
    assert!(places.contains("places"), "{places}");
    let itself = refused(&|network| network.workloads[0].pattern = Pattern::Listed(vec![(NodeId(0), NodeId(0))]));
    assert!(itself.contains("pairs"), "{itself}");
}

#[test]
fn paths_of_equal_weight_share_connections() {
    // Two switches between two hosts.
    let mut network = Network { nodes: (0..4).map(|node| node.to_string()).collect(), ..Network::default() };
    for (from, to) in [(0, 1), (1, 3), (0, 2), (2, 3), (3, 1), (1, 0), (3, 2), (2, 0)] {
        network.links.push(link(&format!("{from}:{to}"), from, to, Duration::ZERO, deep(1_000_000_000, 1)));
    }
    let mut spread =
        workload("spread", Pattern::Listed(vec![(NodeId(0), NodeId(3))]), Rhythm::Poisson { per_second: 20_000.0 }, Sizes::fixed(1000));
    spread.equal_paths = EqualPaths::Flow;
    network.workloads = vec![spread];
    let reach = Reach::of(&network).unwrap();
    let shares = reach.shares(&network, &network.workloads[0], false);
    assert_eq!(shares, [0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]);
    let (outcome, _) = play(&network, 500, 1);
    let sent = |link: usize| outcome.ports[link].sent.packets as f64;
    assert!((sent(0) / (sent(0) + sent(2)) - 0.5).abs() < 0.03);
    assert!((sent(4) / (sent(4) + sent(6)) - 0.5).abs() < 0.03);
}
