//! Workloads with pauses, with paths by packet, with failures and with policies that change: the laws of each hold with the others.

mod connections;
mod failing;
mod networks;
mod traced;

use connections::{Kept, as_flows, deep, play, play_with_changes, random, star, tcp, transfers, workload};
use failing::{any_failures, any_graph, duplex, failure, micros, with_failures};
use networks::{fifo, flow, parameters, port, random_loss, rate};
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, LengthRange, Rule};
use tidegate_core::packet::DropReason;
use tidegate_core::port::{PortSetup, Volume};
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::units::{Duration, Time};
use tidegate_sim::pause::{headroom, links_back};
use tidegate_sim::rerouting::reroutes;
use tidegate_sim::routing::{EqualPaths, flow_hash};
use tidegate_sim::source::Cbr;
use tidegate_sim::tcp::Tcp;
use tidegate_sim::workload::Sizes;
use tidegate_sim::workload::reach::Reach;
use tidegate_sim::{
    Completion, Control, Experiment, LinkId, Network, NetworkChange, NodeId, Outcome, Pattern, Pause, Rhythm, RoutedPath, Source, Workload,
    run, run_with_changes,
};
use traced::{Steps, counts, lives, of_connections};

const ANY_PATHS: [EqualPaths; 3] = [EqualPaths::First, EqualPaths::Flow, EqualPaths::Packet];

/// Hosts 0 to 3 at two leaves 4 and 5, below three spines 6 to 8; rates and delays are odd, so that no two packets meet at one instant.
fn fabric(queues: u32) -> Network {
    let mut network = duplex(9, &[(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (4, 8), (5, 6), (5, 7), (5, 8)]);
    for (index, link) in network.links.iter_mut().enumerate() {
        let bits = [97_000_003, 113_000_017, 61_000_027, 55_000_009][index % 4] + 1_001 * index as u64;
        (link.port, link.propagation) = (deep(bits, queues), Duration::from_nanoseconds(11_003 + 377 * index as u64));
    }
    network
}

fn all_hosts() -> Vec<NodeId> {
    (0..4).map(NodeId).collect()
}

fn many(per_second: f64, equal_paths: EqualPaths) -> Workload {
    let sizes = Sizes::new(&[(300.0, 0.3), (3_000.0, 0.8), (60_000.0, 1.0)]).unwrap();
    let pattern = Pattern::Random { from: all_hosts(), to: all_hosts() };
    let mut many = workload("many", pattern, Rhythm::Poisson { per_second }, sizes);
    many.equal_paths = equal_paths;
    many.stop = Some(Duration::from_milliseconds(300));
    many
}

/// All arrivals of the first workload in their order: what arrives does not depend on the network.
fn arrivals(network: &Network, milliseconds: u64, seed: u64) -> Vec<Completion> {
    let undisturbed = Network { failures: Vec::new(), ..network.clone() };
    let (outcome, mut all) = play(&undisturbed, milliseconds, seed);
    assert_eq!(outcome.workloads[0].unfinished, 0);
    all.sort_by_key(|completion| completion.began.picoseconds());
    all
}

/// How long each of the arrivals took, in picoseconds; `None` for those that are not complete.
fn took(arrivals: &[Completion], complete: &[Completion]) -> Vec<Option<u64>> {
    let time = |arrival: &Completion| {
        let is_same = |other: &&Completion| {
            (other.began, other.from, other.to, other.bytes) == (arrival.began, arrival.from, arrival.to, arrival.bytes)
        };
        complete.iter().find(is_same).map(|completion| completion.time.picoseconds())
    };
    arrivals.iter().map(time).collect()
}

fn picoseconds(seconds: Vec<Option<f64>>) -> Vec<Option<u64>> {
    seconds.into_iter().map(|time| time.map(|time| (time * 1e12).round() as u64)).collect()
}

/// The changes of a port of one class with several queues to another number of queues, and to another rate.
fn changed(port: &PortSetup, bits: u64, queues: u32) -> PortSetup {
    PortSetup { longest_frame: port.longest_frame, ..deep(bits, queues) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    /// A connection of a workload takes the paths that a flow with its header takes: by packet, while links fail, without a path, and while ports change. Its slot
    /// makes no difference.
    #[test]
    fn connections_behave_as_flows_do(
        seed in 0u64..1000,
        equal_paths in select(ANY_PATHS.to_vec()),
        failures in prop::collection::vec((prop::collection::vec(0usize..20, 1..4), 0u64..350_000, 1u64..200_000, 0u64..20_000), 0..5),
        loss in prop_oneof![Just(0.0), Just(0.02)],
        request in prop_oneof![Just(None), Just(Some(120u32))],
        handshake in any::<bool>(),
        queues in prop_oneof![Just(2u32), Just(7)],
        changes in prop::collection::vec((0usize..20, 0u64..400_000, 20_000_000u64..120_000_000, 2u32..9), 0..4),
    ) {
        let mut network = fabric(queues);
        network.links[9].impairment.loss = random_loss(loss);
        let mut many = many(300.0, equal_paths);
        many.tcp = Tcp { handshake, application: transfers(1, request), ..tcp() };
        network.workloads = vec![many];
        for (links, at, lasts, detection) in failures {
            let mut links: Vec<usize> = links.into_iter().flat_map(|link| [link & !1, link | 1]).collect();
            links.sort_unstable();
            links.dedup();
            network.failures.push(failure(&links, at, Some(at + lasts), detection));
        }
        let mut changes: Vec<NetworkChange> = changes.into_iter().map(|(link, at, bits, queues)| {
            NetworkChange { at: micros(at), ports: vec![(LinkId(link), changed(&network.links[link].port, bits, queues))] }
        }).collect();
        changes.sort_by_key(|change| change.at);
        let milliseconds = 20_000;
        let all = arrivals(&network, milliseconds, seed);
        let (outcome, complete) = play_with_changes(&network, &changes, milliseconds, seed);
        prop_assert!(outcome.replications[0].connection_slots < all.len() as u64 || all.len() < 60);
        let model = picoseconds(as_flows(&network, &changes, milliseconds, seed, &all));
        prop_assert_eq!(took(&all, &complete), model);
    }

    /// The books balance, whatever meets: flows and connections in random graphs with all schedulers, failures, pauses and changes.
    #[test]
    fn books_balance_whatever_meets(
        network in any_graph(),
        equal_paths in select(ANY_PATHS.to_vec()),
        failures in any_failures(),
        paused in prop::collection::vec(prop::option::of((0u64..6_000, 0u64..6_000)), 40),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0u64..450_000, 500_000u64..5_000_000), 0..4),
        meets in any::<[bool; 3]>(),
        (seed, warm_up) in (any::<u64>(), 0u64..400),
    ) {
        let mut network = network;
        let [fails, pauses, is_changed] = meets;
        network.links.iter_mut().for_each(|link| link.port.policers[0] = None);
        let mut routed = Vec::new();
        if fails {
            with_failures(&mut network, failures);
        }
        if pauses {
            for (index, paused) in paused.iter().enumerate().take(network.links.len()) {
                let (Some((one, other)), None) = (paused, network.links[index].impairment.disturbance) else { continue };
                network.pauses.push(Pause { link: LinkId(index), classes: vec![0, 2], above: *one.max(other), below: *one.min(other) });
            }
        }
        let nodes: Vec<NodeId> = (0..4).map(NodeId).collect();
        let graph = network.graph();
        for number in 0..2 {
            let (name, from, to) = (format!("flow {number}"), NodeId(number), NodeId(number + 2));
            let choice = equal_paths.choice(flow_hash(&name, &Default::default()));
            let paths = graph.toward(to, |_| true).choices(&graph, from, choice);
            let path: Vec<usize> = paths[0].iter().map(|link| link.0).collect();
            let source = Source::Cbr(Cbr { rate: rate(900_000), length: 700, random_phase: true });
            routed.push(RoutedPath { flow: number, is_back: false, choice, paths });
            network.flows.push(flow(&name, source, number as u8, &path));
        }
        network.reroutes = reroutes(&network, &routed);
        let sizes = Sizes::new(&[(300.0, 0.3), (3_000.0, 0.8), (30_000.0, 1.0)]).unwrap();
        let mut some = workload("some", Pattern::Random { from: nodes.clone(), to: nodes.clone() }, Rhythm::Poisson { per_second: 60.0 }, sizes);
        (some.tcp.segment, some.equal_paths) = (1000, equal_paths);
        let incast = Pattern::Incast { from: nodes.clone(), to: nodes, senders: 2 };
        let mut rounds = workload("rounds", incast, Rhythm::Pause(micros(3_000)), Sizes::fixed(2_500));
        (rounds.tcp.segment, rounds.equal_paths) = (1000, equal_paths);
        network.workloads = vec![some, rounds];
        let mut changes: Vec<NetworkChange> = changes.into_iter().map(|(link, at, bits)| {
            let link = link.index(network.links.len());
            let kind = SchedulerKind::DeficitRoundRobin;
            let of_class = [0, 1, 2].map(|class| parameters(kind, class, bits / 4));
            NetworkChange { at: micros(at), ports: vec![(LinkId(link), port(bits, kind, &of_class, 12))] }
        }).collect();
        changes.sort_by_key(|change| change.at);
        if !is_changed || !network.pauses.is_empty() {
            changes.clear();
        }
        // A port, a connection, a slot or a count of pauses that does not balance is an error already.
        let experiment = Experiment { duration: micros(500_000), warm_up: Duration::from_milliseconds(warm_up), seed, replications: 2, ..Experiment::default() };
        let outcome = run_with_changes(&network, &changes, &experiment, &Control::default()).unwrap();
        for (port, link) in outcome.ports.iter().zip(&network.links) {
            let dropped: u64 = port.dropped.iter().map(|volume| volume.packets).sum();
            prop_assert_eq!(port.offered.packets, port.sent.packets + dropped + port.queued.packets, "{}", link.name);
        }
        prop_assert_eq!(&outcome, &run_with_changes(&network, &changes, &experiment, &Control::default()).unwrap());

        // A trace changes nothing, and has what is counted.
        let experiment = Experiment { warm_up: Duration::ZERO, replications: 1, ..experiment };
        let (steps, complete) = (Steps::default(), Kept::default());
        let control = Control { tracer: Some(&steps), completions: Some(&complete), ..Control::default() };
        let [mut traced, mut plain] = [control, Control::default()].map(|control| run_with_changes(&network, &changes, &experiment, &control).unwrap());
        // A port that is computed ahead knows of packets that leave it after the end.
        traced.flows.iter_mut().chain(&mut plain.flows).for_each(|flow| flow.longest = None);
        let told = |outcome: &Outcome| format!("{:?}", (&outcome.flows, &outcome.ports, &outcome.workloads, &outcome.failures));
        prop_assert_eq!(told(&traced), told(&plain));
        let (steps, complete) = (steps.0.into_inner().unwrap(), complete.0.into_inner().unwrap());
        counts(&traced, &steps)?;
        lives(&steps)?;
        of_connections(&network, &traced, &complete, network.workloads[0].tcp.headers, &steps)?;
    }

    /// Pauses with the headroom that is derived lose nothing of workloads: no segment is sent twice, and all is released at the end.
    #[test]
    fn nothing_of_workloads_is_lost_with_the_headroom(
        seed in 0u64..1000,
        equal_paths in select(ANY_PATHS.to_vec()),
        (above, below) in (0u64..20_000, 0u64..20_000).prop_map(|(one, other)| (one.max(other), one.min(other))),
        senders in 1u32..4,
    ) {
        let mut network = fabric(1);
        network.links.iter_mut().for_each(|link| link.port.longest_frame = 1514);
        network.pauses = (0..network.links.len()).map(|link| Pause { link: LinkId(link), classes: vec![0], above, below }).collect();
        let back = links_back(&network);
        let needs: Vec<u64> = network.links.iter().map(|link| {
            let into = network.pauses.iter().zip(&back).filter(|(pause, _)| network.links[pause.link.0].to == link.from);
            into.map(|(pause, back)| pause.above + headroom(&network.links[pause.link.0], &network.links[back.unwrap().0])).sum()
        }).collect();
        // Links between switches are a tenth as fast, so that they fill.
        for (link, bytes) in network.links.iter_mut().zip(needs) {
            if link.from.0 >= 4 {
                let limits = BufferParameters { flows: 1, bytes: Some(bytes), ..BufferParameters::default() };
                link.port.buffer = BufferKind::TailDrop.build(&limits).unwrap();
            }
        }
        let incast = Pattern::Incast { from: all_hosts(), to: all_hosts(), senders };
        let mut rounds = workload("rounds", incast, Rhythm::Pause(micros(500)), Sizes::fixed(40_000));
        (rounds.equal_paths, rounds.stop) = (equal_paths, Some(Duration::from_milliseconds(300)));
        rounds.tcp.initial_window = 40;
        let mut many = many(400.0, equal_paths);
        many.tcp.initial_window = 40;
        network.workloads = vec![rounds, many];
        let (outcome, _) = play(&network, 2_000, seed);
        for port in &outcome.ports {
            prop_assert!(port.dropped.iter().all(|volume| volume.packets == 0), "{}: {:?}", port.name, port.dropped);
            prop_assert!(port.queued.packets == 0 && port.pauses.iter().all(|pause| pause.paused_at_end == 0), "{}", port.name);
        }
        prop_assert!(outcome.workloads.iter().all(|workload| workload.unfinished == 0));
        let pauses: u64 = outcome.ports.iter().flat_map(|port| &port.pauses).map(|pause| pause.pauses).sum();
        prop_assert!(pauses > 0 || senders == 1 || above > 10_000);
        // Limits that are never reached change nothing but the number of events.
        network.pauses.iter_mut().for_each(|pause| (pause.above, pause.below) = (1 << 40, 1 << 39));
        let (idle, of_idle) = play(&network, 2_000, seed);
        let plain = Network { pauses: Vec::new(), links: driven(&network), ..network.clone() };
        let (plain, of_plain) = play(&plain, 2_000, seed);
        prop_assert_eq!((&idle.workloads, of_idle), (&plain.workloads, of_plain));
    }
}

/// The links of a network with a scheduler that is not computed ahead, and serves one class as a FIFO does.
fn driven(network: &Network) -> Vec<tidegate_sim::Link> {
    let kind = SchedulerKind::StrictPriority;
    let mut links = network.links.clone();
    for link in &mut links {
        let of_class = port(link.port.rate.bits_per_second(), kind, &[parameters(kind, 0, 1000)], 1);
        link.port.scheduler = of_class.scheduler;
    }
    links
}

#[test]
fn connections_that_find_no_path_wait_for_one() {
    // One way only, which is cut from 100 ms to 200 ms; routes know 1 ms later.
    let mut network = duplex(2, &[(0, 1)]);
    network.links.iter_mut().for_each(|link| link.port = deep(100_000_000, 1));
    let mut regular = workload(
        "regular",
        Pattern::Listed(vec![(NodeId(0), NodeId(1))]),
        Rhythm::Period(Duration::from_milliseconds(10)),
        Sizes::fixed(1000),
    );
    regular.tcp.handshake = false;
    regular.stop = Some(Duration::from_milliseconds(300));
    network.workloads = vec![regular];
    network.failures = vec![failure(&[0, 1], 100_000, Some(200_000), 1_000)];
    let (outcome, complete) = play(&network, 3_000, 1);
    let workload = &outcome.workloads[0];
    assert_eq!((workload.arrivals, workload.unfinished, complete.len()), (30, 0, 30));
    // Those of 110 ms to 200 ms: at 200 ms routes still avoid the link.
    assert_eq!(workload.without_path, 10);
    // The first of them is lost at the port; the others where they set out, and their timers try again.
    assert_eq!(outcome.ports[0].dropped[DropReason::LinkDown as usize].packets, 1);
    for connection in &complete {
        let began = connection.began.since(Time::ZERO).picoseconds() / 1_000_000_000;
        assert_eq!(connection.time.picoseconds() > 90_000_000_000, (100..=200).contains(&began), "{connection:?}");
    }
}

#[test]
fn what_a_failure_takes_of_a_connection_frees_its_slot() {
    // Data, or acknowledgements, take 400 ms; the link fails while something of all 20 connections is on it. They wait for their timers, and are complete
    // when others come.
    for failing in [0, 1] {
        let mut network = duplex(2, &[(0, 1)]);
        network.links.iter_mut().for_each(|link| link.port = deep(100_000_000, 1));
        network.links[failing].propagation = Duration::from_milliseconds(400);
        let between = Pattern::Listed(vec![(NodeId(0), NodeId(1))]);
        let mut brief = workload("brief", between, Rhythm::Period(Duration::from_milliseconds(5)), Sizes::fixed(1000));
        brief.tcp = Tcp { handshake: false, delayed_ack: Some(Duration::ZERO), ..tcp() };
        brief.stop = Some(Duration::from_milliseconds(100));
        let (start, stop) = (Duration::from_seconds(6), Some(Duration::from_milliseconds(6_100)));
        let later = Workload { name: "later".into(), start, stop, ..brief.clone() };
        network.workloads = vec![brief, later];
        network.failures = vec![failure(&[failing], 150_000, Some(150_001), 1_000_000)];
        let (outcome, complete) = play(&network, 12_000, 1);
        assert_eq!((complete.len(), outcome.replications[0].connection_slots), (40, 20));
        assert_eq!(outcome.failures[0].lost.on_link.packets, 20);
    }
}

#[test]
fn loads_by_packet_are_those_that_are_measured() {
    // From 0 to 5 over 1 and 3, 1 and 4, or 2 and 4: three paths, of which two begin with 1.
    let mut network = duplex(6, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5)]);
    network.links.iter_mut().for_each(|link| link.port = deep(1_000_000_000, 1));
    let mut spread =
        workload("spread", Pattern::Listed(vec![(NodeId(0), NodeId(5))]), Rhythm::Poisson { per_second: 2_000.0 }, Sizes::fixed(14_600));
    (spread.equal_paths, spread.tcp.handshake) = (EqualPaths::Packet, false);
    network.workloads = vec![spread];
    let reach = Reach::of(&network).unwrap();
    let shares = reach.shares(&network, &network.workloads[0], false);
    let third = 1.0 / 3.0;
    let expected = [2.0 * third, third, third, third, third, third, 2.0 * third];
    let (outcome, complete) = play(&network, 2_000, 1);
    for (index, expected) in expected.into_iter().enumerate() {
        assert!((shares[2 * index] - expected).abs() < 1e-9, "{shares:?}");
        let sent = outcome.ports[2 * index].sent.packets as f64 / (10.0 * complete.len() as f64);
        assert!((sent - expected).abs() < 0.02, "{index}: {sent} {expected}");
    }
    // No connection is faster than the ideal one, which one alone reaches within its first window but for rounding and one short frame.
    assert!(complete.iter().all(|connection| connection.time.picoseconds() + 60 >= connection.ideal.picoseconds()));
}

#[test]
fn a_connection_alone_over_several_paths_is_not_faster_than_the_ideal() {
    for bytes in [1, 1460, 1461, 5_000, 14_600, 60_000] {
        let mut network = fabric(1);
        let mut alone = workload(
            "alone",
            Pattern::Listed(vec![(NodeId(0), NodeId(2))]),
            Rhythm::Period(Duration::from_milliseconds(500)),
            Sizes::fixed(bytes),
        );
        alone.equal_paths = EqualPaths::Packet;
        network.workloads = vec![alone];
        let (_, complete) = play(&network, 5_000, 1);
        assert_eq!(complete.len(), 10);
        for connection in complete {
            let (time, ideal) = (connection.time.picoseconds(), connection.ideal.picoseconds());
            assert!(time + 60 >= ideal, "{bytes}: {time} {ideal}");
            assert!(bytes > 14_600 || time < ideal * 3 / 2, "{bytes}: {time} {ideal}");
        }
    }
}

/// Ports in which all hashed queues share the link.
fn hashed() -> Network {
    let mut network = star(&[97_000_003, 113_000_017, 11_000_027], 5);
    network.links.iter_mut().for_each(|link| link.port = deep(link.port.rate.bits_per_second(), 5));
    network.workloads = vec![workload("many", random(&network), Rhythm::Poisson { per_second: 300.0 }, Sizes::fixed(20_000))];
    network
}

#[test]
fn a_change_to_the_same_policy_changes_no_connection() {
    let network = hashed();
    let same = |at| NetworkChange {
        at: micros(at),
        ports: (0..network.links.len()).map(|link| (LinkId(link), network.links[link].port.clone())).collect(),
    };
    let (plain, of_plain) = play(&network, 1_000, 3);
    let (changed, of_changed) = play_with_changes(&network, &[same(300_000), same(301_000)], 1_000, 3);
    assert_eq!((&plain.workloads, &plain.ports, of_plain), (&changed.workloads, &changed.ports, of_changed));
}

#[test]
fn a_class_that_comes_has_the_connections_that_its_rules_match() {
    let mut network = hashed();
    let tcp = ClassRules { name: "to port 80".into(), queues: 3, rules: vec![Rule { protocol: Some(6), ..Rule::default() }] };
    let rest = ClassRules { name: "all".into(), queues: 5, rules: Vec::new() };
    let classifier = Classifier::new(vec![tcp, rest], 1).unwrap();
    let link = 5;
    let mut port = PortSetup { classifier, ..deep(11_000_027, 8) };
    port.policers = vec![None; 8];
    let change = NetworkChange { at: micros(500_000), ports: vec![(LinkId(link), port)] };
    network.workloads[0].stop = Some(micros(900_000));
    let (outcome, complete) = play_with_changes(&network, &[change], 4_000, 3);
    assert_eq!(outcome.workloads[0].unfinished, 0);
    assert!(complete.len() > 200);
    let classes = &outcome.ports[link].classes;
    let sent: Vec<u64> = classes.iter().map(|class| class.sent.packets).collect();
    assert_eq!(classes.len(), 2);
    assert!(sent.iter().all(|&packets| packets > 500), "{sent:?}");
    // Nothing is offered to the old class any more, and what was queued there has moved.
    let before = play(
        &Network { workloads: vec![Workload { stop: Some(micros(500_000)), ..network.workloads[0].clone() }], ..network.clone() },
        500,
        3,
    )
    .0;
    let class = |outcome: &Outcome, name: &str| outcome.ports[link].classes.iter().find(|class| class.name == name).unwrap().offered;
    let moved = outcome.replications[0].changes[0].moved;
    assert!(moved.packets > 10);
    assert_eq!(class(&outcome, "all") + moved, class(&before, "all"));
}

#[test]
fn a_rate_changes_while_its_link_is_down() {
    // A packet per millisecond; the link is down from 100.5 ms to 200.5 ms, and has half the rate from 150 ms on.
    let mut network = duplex(2, &[(0, 1)]);
    network.links[0].port = fifo(16_000_000, 100);
    let source = Source::Cbr(Cbr { rate: rate(8_000_000), length: 1000, random_phase: false });
    network.flows.push(flow("flow", source, 0, &[0]));
    network.failures = vec![failure(&[0], 100_500, Some(200_500), 0)];
    let change = |at, bits| NetworkChange { at: micros(at), ports: vec![(LinkId(0), fifo(bits, 100))] };
    let experiment = Experiment { duration: micros(300_000), ..Experiment::default() };
    let outcome = run_with_changes(&network, &[change(150_000, 4_000_000)], &experiment, &Control::default()).unwrap();
    let packets = |packets: u64| Volume { packets, bytes: 1000 * packets };
    let lost = outcome.failures[0].lost;
    // Those of 98 ms, which would arrive at that instant, 99 ms and 100 ms have left the port; those of 101 ms to 200 ms come while it is down.
    assert_eq!((lost.on_link, lost.queued, lost.arrived), (packets(3), packets(0), packets(100)));
    // From 201 ms on a packet takes 2 ms: 50 have begun to leave, and the rest waits.
    assert_eq!(outcome.ports[0].sent.packets, 101 + 50);
    assert_eq!(outcome.ports[0].queued.packets, 99 - 50);
    assert_eq!(outcome.replications[0].changes.len(), 1);
    // A failure and a change at one instant: the change comes first, and sees what the failure then takes. At 4 Mbit/s 15 packets wait at 30.1 ms.
    network.links[0].port = fifo(4_000_000, 20);
    network.failures = vec![failure(&[0], 30_100, None, 0)];
    let changes = [change(30_100, 8_000_000)];
    let at_once = run_with_changes(&network, &changes, &experiment, &Control::default()).unwrap();
    assert_eq!((at_once.replications[0].changes[0].kept, at_once.failures[0].lost.queued), (packets(15), packets(15)));
}

#[test]
fn packets_of_a_connection_keep_to_the_ports_that_are_up() {
    // Both spines but one fail: what is sent behind the detection crosses the last one only.
    for equal_paths in ANY_PATHS {
        let mut network = fabric(1);
        network.workloads = vec![many(400.0, equal_paths)];
        let spine = |number: usize| [8 + 2 * number, 9 + 2 * number, 14 + 2 * number, 15 + 2 * number];
        network.failures = vec![failure(&[spine(0), spine(1)].concat(), 0, None, 0)];
        let (outcome, complete) = play(&network, 5_000, 1);
        assert!(complete.len() > 80 && outcome.workloads[0].unfinished == 0);
        for link in [spine(0), spine(1)].concat() {
            assert_eq!(outcome.ports[link].offered.packets, 0, "{}", network.links[link].name);
        }
        assert!(outcome.ports[spine(2)[0]].sent.packets > 0);
    }
}

#[test]
fn what_stays_apart_is_refused() {
    let refused = |network: &Network, changes: &[NetworkChange]| {
        run_with_changes(network, changes, &Experiment { duration: micros(10), ..Experiment::default() }, &Control::default())
            .unwrap_err()
            .to_string()
    };
    let mut network = fabric(1);
    network.workloads = vec![many(100.0, EqualPaths::Flow)];
    network.pauses = vec![Pause { link: LinkId(0), classes: vec![0], above: 10_000, below: 0 }];
    let change = NetworkChange { at: micros(1), ports: vec![(LinkId(0), network.links[0].port.clone())] };
    let text = refused(&network, std::slice::from_ref(&change));
    assert!(text.contains("nodes pause ports, and count their packets by class"), "{text}");
    // Long packets have a class of their own at a paused port.
    let long = Rule { length: Some(LengthRange { first: 1000, last: u32::MAX }), ..Rule::default() };
    let classes = [("long", vec![long]), ("all", Vec::new())].map(|(name, rules)| ClassRules { name: name.into(), queues: 1, rules });
    let kind = SchedulerKind::Fifo;
    let mut sorted = port(97_000_003, kind, &[0, 1].map(|class| parameters(kind, class, 1000)), 100);
    (sorted.classifier, sorted.longest_frame) = (Classifier::new(classes.to_vec(), 1).unwrap(), 1514);
    network.links[0].port = sorted;
    let text = refused(&network, &[]);
    assert!(text.contains("may come in several of its classes by their lengths"), "{text}");
    // A port that a connection may only come to by a detour polices.
    let mut network = fabric(1);
    network.workloads =
        vec![workload("here", Pattern::Listed(vec![(NodeId(0), NodeId(1))]), Rhythm::Poisson { per_second: 1.0 }, Sizes::fixed(1))];
    network.links[12].port.longest_frame = 1000;
    run(&network, &Experiment { duration: micros(10), ..Experiment::default() }, &Control::default()).unwrap();
    network.failures = vec![failure(&[0], 1, None, 0)];
    let text = refused(&network, &[]);
    assert!(text.contains("accepts 1000"), "{text}");
}
