//! Priority flow control: nothing is lost where buffers have the headroom that is derived, which is tight. What is behind a paused class waits, other
//! classes do not. A cycle of pauses that never ends is reported.

mod networks;

use networks::dumbbell::{OC_3, dumbbell, fifo_of_bytes, scenario_a};
use networks::{fifo, flow, link, parameters, port, rate};
use proptest::prelude::*;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::packet::DropReason;
use tidegate_core::port::{PortSetup, RateStep, VaryingRate, Volume};
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::Duration;
use tidegate_sim::pause::{headroom, links_back};
use tidegate_sim::source::Cbr;
use tidegate_sim::tcp::Tcp;
use tidegate_sim::{Control, Experiment, Failure, Link, LinkId, Network, Outcome, Pause, SimulationError, Source, run};

const LONGEST: u64 = 1500;

fn us(microseconds: u64) -> Duration {
    Duration::from_microseconds(microseconds)
}

fn cbr(bits_per_second: u64, length: u32) -> Source {
    Source::Cbr(Cbr { rate: rate(bits_per_second), length, random_phase: false })
}

fn pause(link: usize, above: u64, below: u64) -> Pause {
    Pause { link: LinkId(link), classes: vec![0], above, below }
}

fn play(network: &Network, duration: Duration) -> Outcome {
    run(network, &Experiment { duration, ..Experiment::default() }, &Control::default()).unwrap()
}

fn dropped(outcome: &Outcome, link: usize) -> u64 {
    outcome.ports[link].dropped.iter().map(|volume: &Volume| volume.packets).sum()
}

/// A host floods a switch whose next link hardly moves, while the link back is full of the longest packets: a pause frame comes at the worst time. The
/// delays are a multiple of the time of a packet. At 8 Mbit/s a byte takes a microsecond.
fn worst_case(room: u32) -> Network {
    // 1500 us for the packet on the link back, 64 us for the frame, and the rest of six packets on both links.
    let propagation = us((6 * LONGEST - LONGEST - 64) / 2);
    let rate = 8_000_000;
    let links = vec![
        link("to switch", 0, 1, propagation, fifo(rate, 1000)),
        link("back", 1, 0, propagation, fifo(rate, 1000)),
        link("onward", 1, 2, us(0), fifo(1000, room)),
    ];
    let mut back = flow("back", cbr(2 * rate, LONGEST as u32), 0, &[1]);
    // Both sources are faster than their links, so that a packet is ready whenever one ends. Packets begin on the link back when others come.
    back.start = Duration::from_picoseconds(propagation.picoseconds() % us(LONGEST).picoseconds());
    let flows = vec![flow("flood", cbr(2 * rate, LONGEST as u32), 0, &[0, 2]), back];
    let nodes = ["host", "switch", "sink"].map(String::from).to_vec();
    Network { nodes, links, flows, pauses: vec![pause(0, 4 * LONGEST, 2 * LONGEST)], ..Network::default() }
}

#[test]
fn the_headroom_is_enough_and_a_packet_less_is_not() {
    let network = worst_case(100);
    let headroom = headroom(&network.links[0], &network.links[1]);
    assert_eq!(headroom, (2 + 6) * LONGEST);
    let room = ((4 * LONGEST + headroom) / LONGEST) as u32;
    let outcome = play(&worst_case(room), us(100_000));
    assert_eq!(dropped(&outcome, 2), 0);
    assert_eq!(outcome.ports[0].pauses[0].greatest_held_bytes, 4 * LONGEST + headroom);
    let outcome = play(&worst_case(room - 1), us(100_000));
    assert_eq!(dropped(&outcome, 2), 1);
}

/// The switch, the rate and the delay of the link, the packets, and the switch of the receiver.
type Host = (usize, (u64, u64), (u64, u32), usize);

/// Switches in a row, hosts at each, and packets from every host to the one at the end; ports of the switches have the room that is derived, in bytes.
#[derive(Clone, Debug)]
struct Tree {
    /// By switch its parent, which comes before it; the first has none.
    parents: Vec<usize>,
    /// By link upward: rate in Mbit/s, and delay in microseconds.
    links: Vec<(u64, u64)>,
    hosts: Vec<Host>,
    /// Above which bytes a port is paused, and at which it goes on.
    limits: (u64, u64),
    seed: u64,
}

const DEEPEST: usize = 5;

fn tree() -> impl Strategy<Value = Tree> {
    let shape = (1u64..100, 0u64..200);
    let host = (0..DEEPEST, shape.clone(), (1u64..100, 64u32..=LONGEST as u32), 0..DEEPEST);
    let parents = (1usize..=DEEPEST).prop_flat_map(|switches| (1..switches).map(|switch| (0..switch).boxed()).collect::<Vec<_>>());
    let links = prop::collection::vec(shape, DEEPEST);
    let limits = (0u64..40_000, 0u64..40_000).prop_map(|(one, other)| (one.max(other), one.min(other)));
    (parents, links, prop::collection::vec(host, 2..7), limits, any::<u64>()).prop_map(|(parents, links, hosts, limits, seed)| Tree {
        parents,
        links,
        hosts,
        limits,
        seed,
    })
}

impl Tree {
    fn switches(&self) -> usize {
        self.parents.len() + 1
    }

    /// The network with this scheduler at every port; the links of the hosts come first.
    fn network(&self, kind: SchedulerKind) -> Network {
        let switches = self.switches();
        let mut links: Vec<Link> = Vec::new();
        let duplex = |links: &mut Vec<Link>, one: usize, other: usize, (megabits, delay): (u64, u64)| {
            let port = || port(megabits * 1_000_000, kind, &[parameters(kind, 0, 1000)], 100_000);
            links.push(link(&format!("{one}-{other}"), one, other, us(delay), port()));
            links.push(link(&format!("{other}-{one}"), other, one, us(delay), port()));
        };
        for (index, &(switch, shape, ..)) in self.hosts.iter().enumerate() {
            duplex(&mut links, switches + index, switch % switches, shape);
        }
        for (index, &parent) in self.parents.iter().enumerate() {
            duplex(&mut links, index + 1, parent, self.links[index]);
        }
        let nodes = (0..switches + self.hosts.len()).map(|node| format!("n{node}")).collect();
        let pauses = (0..links.len()).map(|index| pause(index, self.limits.0, self.limits.1)).collect();
        let mut network = Network { nodes, links, pauses, ..Network::default() };
        let graph = network.graph();
        let last = self.hosts.len();
        for (index, &(_, _, (megabits, length), to)) in self.hosts.iter().enumerate() {
            let to = if to % last == index { (index + 1) % last } else { to % last };
            let table = graph.toward(tidegate_sim::NodeId(switches + to), |_| true);
            let Some(path) = table.path(&graph, tidegate_sim::NodeId(switches + index), tidegate_sim::routing::Choice::First) else {
                continue;
            };
            let path: Vec<usize> = path.iter().map(|link| link.0).collect();
            let mut flow = flow(&format!("flow {index}"), cbr(megabits * 1_000_000, length), 0, &path);
            flow.start = us((self.seed >> index) % 1000);
            flow.stop = Some(us(20_000));
            network.flows.push(flow);
        }
        // The room of a port of a switch: what may come to it over all links to the switch.
        let back = links_back(&network);
        for index in 0..network.links.len() {
            let node = network.links[index].from;
            if node.0 >= switches {
                continue;
            }
            let into = network.pauses.iter().zip(&back).filter(|(pause, _)| network.links[pause.link.0].to == node);
            let needs: u64 =
                into.map(|(pause, back)| pause.above + headroom(&network.links[pause.link.0], &network.links[back.unwrap().0])).sum();
            let bytes = Some(needs);
            network.links[index].port.buffer =
                BufferKind::TailDrop.build(&BufferParameters { flows: 1, bytes, ..BufferParameters::default() }).unwrap();
        }
        network
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// In a tree nothing is lost behind the hosts, and when the sources have stopped everything arrives.
    #[test]
    fn nothing_is_lost_with_the_headroom(tree in tree()) {
        let network = tree.network(SchedulerKind::Fifo);
        let outcome = play(&network, Duration::from_seconds(20));
        for index in 0..network.links.len() {
            prop_assert_eq!(dropped(&outcome, index), 0, "{}", network.links[index].name);
        }
        for flow in &outcome.flows {
            prop_assert_eq!(flow.delivered, flow.offered, "{}", flow.name);
        }
        prop_assert!(outcome.replications[0].deadlock.is_empty());
        prop_assert!(outcome.ports.iter().flat_map(|port| &port.pauses).all(|pause| pause.paused_at_end == 0));
    }

    /// Limits that are never reached change nothing at all but the number of events.
    #[test]
    fn pauses_that_never_begin_change_nothing(mut tree in tree()) {
        tree.limits = (1 << 40, 1 << 39);
        // Not a FIFO, which would be computed ahead without pauses: ties would break otherwise.
        let paused = tree.network(SchedulerKind::StrictPriority);
        let plain = Network { pauses: Vec::new(), ..paused.clone() };
        let (mut paused, plain) = (play(&paused, us(50_000)), play(&plain, us(50_000)));
        prop_assert!(paused.ports.iter().flat_map(|port| &port.pauses).all(|pause| pause.pauses == 0));
        paused.ports.iter_mut().for_each(|port| port.pauses.clear());
        prop_assert_eq!(&paused.flows, &plain.flows);
        prop_assert_eq!(&paused.ports, &plain.ports);
    }
}

/// Three TCP connections share a link. The room behind it is what pauses need, and the windows fit into the buffers of the hosts: nothing is ever sent again.
#[test]
fn tcp_loses_nothing_and_sends_nothing_again() {
    let tcp = |back| Tcp { start_within: Duration::ZERO, ..scenario_a(back) };
    let mut network = dumbbell(3, OC_3, Duration::from_milliseconds(1), 700_000, tcp);
    let plain = play(&Network { links: limited(&network, 50_000), ..network.clone() }, Duration::from_seconds(2));
    assert!(dropped(&plain, 0) > 0, "without pauses the shared port drops");
    network.pauses = (0..network.links.len()).map(|index| pause(index, 50_000, 40_000)).collect();
    let back = links_back(&network);
    let into: Vec<usize> = (0..network.links.len()).filter(|&link| network.links[link].to == network.links[0].from).collect();
    let needs = into.iter().map(|&link| 50_000 + headroom(&network.links[link], &network.links[back[link].unwrap().0])).sum();
    network.links = limited(&network, needs);
    let outcome = play(&network, Duration::from_seconds(2));
    assert!((0..network.links.len()).all(|link| dropped(&outcome, link) == 0));
    for flow in &outcome.flows {
        let tcp = flow.tcp.as_ref().unwrap();
        assert_eq!(tcp.retransmissions, 0, "{}", flow.name);
        assert!(tcp.goodput_bps.mean > 30e6, "{}", tcp.goodput_bps.mean);
    }
    assert!(outcome.ports.iter().flat_map(|port| &port.pauses).any(|pause| pause.pauses > 0));
}

/// The links of a network with this room at the first.
fn limited(network: &Network, bytes: u64) -> Vec<Link> {
    let mut links = network.links.clone();
    links[0].port = fifo_of_bytes(OC_3, bytes);
    links
}

/// Three switches in a ring. Each of three flows takes two links of it, and each of these links has two flows.
fn ring(propagation: Duration) -> Network {
    let mut links = Vec::new();
    for index in 0..3 {
        let next = (index + 1) % 3;
        links.push(link(&format!("ring {index}"), index, next, propagation, fifo(10_000_000, 100)));
        links.push(link(&format!("ring back {index}"), next, index, propagation, fifo(10_000_000, 100)));
        links.push(link(&format!("in {index}"), 3 + index, index, propagation, fifo(10_000_000, 100_000)));
        links.push(link(&format!("out {index}"), index, 3 + index, propagation, fifo(10_000_000, 100)));
    }
    let flows = (0..3).map(|index| {
        let path = [4 * index + 2, 4 * index, 4 * ((index + 1) % 3), 4 * ((index + 2) % 3) + 3];
        flow(&format!("flow {index}"), cbr(10_000_000, LONGEST as u32), 0, &path)
    });
    let flows = flows.collect();
    let pauses = (0..12).map(|index| pause(index, 6000, 3000)).collect();
    Network { nodes: (0..6).map(|node| format!("n{node}")).collect(), links, flows, pauses, ..Network::default() }
}

#[test]
fn a_cycle_of_pauses_that_never_ends_is_reported() {
    let outcome = play(&ring(us(1)), us(1_000_000));
    let deadlock = &outcome.replications[0].deadlock;
    assert_eq!(deadlock, &[(LinkId(0), 0), (LinkId(4), 0), (LinkId(8), 0)]);
    for index in [0, 4, 8] {
        let pauses = &outcome.ports[index].pauses[0];
        assert_eq!((pauses.deadlocked, pauses.paused_at_end), (1, 1));
        assert!(pauses.share.mean > 0.9, "{}", pauses.share.mean);
    }
    // No packet arrives any more.
    let later = play(&ring(us(1)), us(2_000_000));
    assert_eq!(later.flows[0].delivered, outcome.flows[0].delivered);
    // Without the third flow the cycle is open: all arrives that the links carry.
    let mut open = ring(us(1));
    open.flows.pop();
    let outcome = play(&open, us(1_000_000));
    assert!(outcome.replications[0].deadlock.is_empty());
    assert!(outcome.flows.iter().all(|flow| flow.throughput_bps.mean > 4.5e6));
}

/// A failure of both directions of a link.
fn failure(links: [usize; 2], at: u64, until: Option<u64>) -> Failure {
    Failure { name: "cut".into(), links: links.map(LinkId).to_vec(), at: us(at), until: until.map(us), detection: us(1_000_000) }
}

#[test]
fn a_failure_breaks_a_deadlock() {
    let cut = |until| {
        let mut network = ring(us(1));
        network.failures = vec![failure([0, 1], 500_000, until)];
        play(&network, us(1_000_000))
    };
    let before = play(&ring(us(1)), us(1_000_000));
    let down = cut(None);
    assert!(down.replications[0].deadlock.is_empty(), "{:?}", down.replications[0].deadlock);
    // The flow that does not cross the link goes on for the other half second, with half of a link of 10 Mbit/s.
    let gain = |outcome: &Outcome| outcome.flows[1].delivered.packets - before.flows[1].delivered.packets;
    assert!(gain(&down) > 180, "{}", gain(&down));
    // Half a second later all three meet again, and a class that is paused at the end is in the deadlock.
    let back = cut(Some(600_000));
    assert_eq!(back.replications[0].deadlock, [(LinkId(0), 0), (LinkId(4), 0), (LinkId(8), 0)]);
    let lost: u64 = [&down, &back].map(|outcome| outcome.failures[0].lost.queued.packets)[1];
    assert!(lost >= 4, "what was deadlocked at the port: {lost}");
    // Without the link back the port is not paused, whatever the node asks for.
    let mut network = ring(us(1));
    network.failures = vec![Failure { links: vec![LinkId(1)], ..failure([0, 1], 500_000, None) }];
    let released = play(&network, us(500_001));
    assert!(released.replications[0].deadlock.is_empty(), "{:?}", released.replications[0].deadlock);
}

#[test]
fn a_pause_ends_with_its_link_and_is_asked_for_again() {
    // The next link hardly moves, so that the pause never ends by itself.
    let mut network = worst_case(100);
    let paused = |outcome: &Outcome| (outcome.ports[0].pauses[0].share.mean * 400_000.0).round() as u64;
    let before = play(&network, us(400_000));
    let most = 4 * LONGEST + 2 * headroom(&network.links[0], &network.links[1]);
    for (links, waits) in [(vec![0, 1], 0), (vec![1], 0), (vec![0], LONGEST)] {
        let is_back_alone = links == [1];
        network.failures = vec![Failure { links: links.into_iter().map(LinkId).collect(), ..failure([0, 1], 200_000, Some(203_000)) }];
        let outcome = play(&network, us(400_000));
        // While a direction is down nothing is paused. Then a frame of 64 us asks for the pause; it takes 3718 us on the way, behind a packet at most.
        let less = paused(&before) - paused(&outcome);
        let least = 3_000 + 64 + 3_718;
        assert!((least..=least + waits).contains(&less), "{less}");
        let pauses = &outcome.ports[0].pauses[0];
        assert_eq!((pauses.pauses, pauses.paused_at_end, dropped(&outcome, 2)), (2, 1, 0));
        let more = if is_back_alone { 2 * LONGEST } else { 0 };
        assert!(pauses.greatest_held_bytes <= most + more, "{} {most}", pauses.greatest_held_bytes);
    }
}

#[test]
fn pause_frames_over_a_failed_link_are_lost() {
    // The link back is down when the limit is crossed: the host goes on, and the switch drops.
    let mut network = worst_case(14);
    network.failures = vec![Failure { links: vec![LinkId(1)], ..failure([0, 1], 0, Some(60_000)) }];
    let outcome = play(&network, us(100_000));
    let (whole, lost) = (play(&worst_case(14), us(100_000)), dropped(&outcome, 2));
    assert_eq!(dropped(&whole, 2), 0);
    // A packet takes 1500 us on both links: those of the time until the frame that is sent at the recovery has effect.
    assert!((25..60).contains(&lost), "{lost}");
    assert_eq!(outcome.ports[0].pauses[0].pauses, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Links of a tree fail in both directions and recover. Only failures lose packets if there is room for a headroom more for each recovery; what is not
    /// lost arrives, and nothing stays paused.
    #[test]
    fn only_failures_lose_packets(
        tree in tree(),
        failures in prop::collection::vec((any::<prop::sample::Index>(), 0u64..25_000, 1u64..10_000), 1..4),
        kind in prop::sample::select(vec![SchedulerKind::Fifo, SchedulerKind::StrictPriority, SchedulerKind::DeficitRoundRobin]),
    ) {
        let mut network = tree.network(kind);
        let rounds = failures.len() as u64 + 1;
        network.failures = failures.into_iter().map(|(link, at, lasts)| {
            let first = link.index(network.links.len()) & !1;
            failure([first, first + 1], at, Some(at + lasts))
        }).collect();
        // Each recovery lets a headroom more come.
        let back = links_back(&network);
        let room = |index: usize| {
            let into = network.pauses.iter().zip(&back).filter(|(pause, _)| network.links[pause.link.0].to == network.links[index].from);
            let needs = |(pause, back): (&Pause, &Option<LinkId>)| {
                pause.above + rounds * headroom(&network.links[pause.link.0], &network.links[back.unwrap().0])
            };
            into.map(needs).sum::<u64>()
        };
        let rooms: Vec<u64> = (0..network.links.len()).map(room).collect();
        for (link, bytes) in network.links.iter_mut().zip(rooms) {
            if link.from.0 < tree.switches() {
                let limits = BufferParameters { flows: 1, bytes: Some(bytes), ..BufferParameters::default() };
                link.port.buffer = BufferKind::TailDrop.build(&limits).unwrap();
            }
        }
        let outcome = play(&network, Duration::from_seconds(20));
        for (port, link) in outcome.ports.iter().zip(&network.links) {
            for (reason, volume) in port.dropped.iter().enumerate() {
                prop_assert!(reason == DropReason::LinkDown as usize || volume.packets == 0, "{}: {} {:?}", link.name, reason, volume);
            }
            prop_assert_eq!(port.queued.packets, 0, "{}", link.name);
            prop_assert!(port.pauses.iter().all(|pause| pause.paused_at_end == 0), "{}", link.name);
        }
        for flow in &outcome.flows {
            let dropped: Volume = flow.drops.iter().map(|drop| drop.2).sum();
            prop_assert_eq!(flow.delivered + dropped, flow.offered, "{}", flow.name);
        }
        prop_assert!(outcome.replications[0].deadlock.is_empty());
    }
}

/// Two classes, the first before the second, in one buffer.
fn two_classes(bits_per_second: u64, packets: u32) -> PortSetup {
    let parameters = [0, 1].map(|priority| FlowParameters { priority: Some(priority), ..FlowParameters::default() });
    port(bits_per_second, SchedulerKind::StrictPriority, &parameters, packets)
}

/// A switch pauses a host whose flow `congested` meets a slow link. `victim` goes elsewhere, in the class of this code point.
fn head_of_line(class_of_victim: u8, pauses: bool) -> Outcome {
    let links = vec![
        link("to switch", 0, 1, us(5), two_classes(100_000_000, 100_000)),
        link("back", 1, 0, us(5), two_classes(100_000_000, 1000)),
        link("slow", 1, 2, us(5), two_classes(10_000_000, 1000)),
        link("fast", 1, 3, us(5), two_classes(100_000_000, 1000)),
    ];
    let flows = vec![
        flow("congested", cbr(40_000_000, LONGEST as u32), 0, &[0, 2]),
        flow("victim", cbr(40_000_000, LONGEST as u32), class_of_victim, &[0, 3]),
    ];
    let pauses = if pauses { vec![pause(0, 30_000, 20_000)] } else { Vec::new() };
    let network = Network { nodes: (0..4).map(|node| format!("n{node}")).collect(), links, flows, pauses, ..Network::default() };
    play(&network, us(1_000_000))
}

#[test]
fn what_shares_a_paused_class_waits_and_other_classes_do_not() {
    let rates = |outcome: &Outcome| [0, 1].map(|flow: usize| (outcome.flows[flow].throughput_bps.mean / 1e6).round());
    // Without pauses the slow link drops, and the victim is whole.
    let plain = head_of_line(0, false);
    assert_eq!(rates(&plain), [10.0, 40.0]);
    assert!(dropped(&plain, 2) > 1000);
    // With them nothing is lost behind the host, and the victim goes as slowly as the other, packet by packet.
    let same = head_of_line(0, true);
    assert_eq!((rates(&same), dropped(&same, 2)), ([10.0, 10.0], 0));
    assert!(same.ports[0].pauses[0].share.mean > 0.5);
    // In another class it is whole.
    let other = head_of_line(1, true);
    assert_eq!((rates(&other), dropped(&other, 2)), ([10.0, 40.0], 0));
    assert!(other.ports[0].pauses[0].share.mean > 0.5);
}

#[test]
fn what_cannot_be_paused_is_refused() {
    let refused = |change: &dyn Fn(&mut Network)| {
        let mut network = worst_case(100);
        change(&mut network);
        match run(&network, &Experiment { duration: us(10), ..Experiment::default() }, &Control::default()) {
            Err(SimulationError::Refused(problem)) => format!("{}: {}", problem.name, problem.problem),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&|network| network.pauses[0].below = 7000), "to switch: it would be released above the limit at which it is paused");
    assert_eq!(refused(&|network| network.pauses.push(pause(0, 1, 0))), "to switch: it is paused twice");
    assert_eq!(refused(&|network| network.pauses[0].classes = vec![]), "to switch: it pauses 0 classes");
    assert_eq!(refused(&|network| network.pauses[0].classes = vec![1]), "to switch: it pauses 1 classes");
    let back = "onward: no link leads back from sink to switch, and pause frames need one";
    assert_eq!(refused(&|network| network.pauses[0].link = LinkId(2)), back);
    let rates = "onward: its rate varies, and it feeds or leaves a node that pauses others";
    assert_eq!(
        refused(&|network| {
            let steps = vec![RateStep { at: Duration::ZERO, rate: Some(rate(1_000_000)) }];
            network.links[2].impairment.rates = Some(VaryingRate::new(steps, None).unwrap());
        }),
        rates
    );
}
