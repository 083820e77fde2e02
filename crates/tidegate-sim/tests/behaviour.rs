//! What networks do, where it can be worked out by hand.

mod networks;

use networks::{fifo, flow, header, link, one_link, port, random_loss, rate};
use tidegate_core::buffer::{BufferParameters, FlowLimit};
use tidegate_core::packet::DropReason;
use tidegate_core::policer::Contract;
use tidegate_core::port::Volume;
use tidegate_core::registry::{AnyScheduler, BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::{Duration, Overhead};
use tidegate_link::LossStream;
use tidegate_sim::source::{Capture, Cbr, Greedy};
use tidegate_sim::{CapturePacket, Control, Experiment, LinkId, Network, NodeId, Outcome, SimulationError, Source, Subject, run};

const SECOND: Duration = Duration::from_seconds(1);

fn simulate(network: &Network, experiment: Experiment) -> Outcome {
    run(network, &experiment, &Control::default()).unwrap()
}

fn cbr(bits_per_second: u64, length: u32) -> Source {
    Source::Cbr(Cbr { rate: rate(bits_per_second), length, random_phase: false })
}

fn microseconds(us: u64) -> Duration {
    Duration::from_microseconds(us)
}

/// The packets of a capture: microseconds, length, code point.
fn capture(packets: &[(u64, u32, u8)]) -> Source {
    let packets = packets.iter().map(|&(us, length, dscp)| CapturePacket { offset: microseconds(us), length, header: header(dscp) });
    Source::Capture(Capture { packets: packets.collect() })
}

#[test]
fn a_packet_is_stored_and_forwarded_at_every_hop() {
    // 1000 bits at 10, 5 and 1 Mbit/s take 100, 200 and 1000 us; the links add 1 ms, nothing and 2 ms.
    let links = vec![
        link("1-2", 0, 1, Duration::from_milliseconds(1), fifo(10_000_000, 9)),
        link("2-3", 1, 2, Duration::ZERO, fifo(5_000_000, 9)),
        link("3-4", 2, 3, Duration::from_milliseconds(2), fifo(1_000_000, 9)),
    ];
    let flows = vec![flow("flow", cbr(100_000, 125), 0, &[0, 1, 2])];
    let network = Network { nodes: (1..=4).map(|node| node.to_string()).collect(), links, flows, ..Network::default() };
    assert_eq!(network.shortest_path(NodeId(0), NodeId(3)), Some(vec![LinkId(0), LinkId(1), LinkId(2)]));
    assert_eq!(network.shortest_path(NodeId(3), NodeId(0)), None);
    let outcome = simulate(&network, Experiment { duration: SECOND, ..Experiment::default() });
    let (flow, delay) = (&outcome.flows[0], outcome.flows[0].delay.as_ref().unwrap());
    assert_eq!(delay.mean_s.mean, 4.3e-3);
    assert_eq!(delay.histogram.maximum(), Some(4.3e-3));
    assert_eq!(delay.jitter_s.unwrap().mean, 0.0);
    assert_eq!(delay.mean_s.half_width, None);
    // One packet every 10 ms from 0 on: the last, of 990 ms, arrives in time.
    assert_eq!((flow.offered.packets, flow.delivered.packets, flow.in_network.packets), (100, 100, 0));
    assert_eq!(outcome.packet_hops(), 300);
    // A source, and the two ends of a link that are not a sink: no packet ever waited for a link to become free.
    assert_eq!(outcome.events(), 300);
    assert_eq!(outcome.ports[1].utilisation.mean, 0.02);
}

#[test]
fn packets_under_way_at_the_end_are_accounted_for() {
    // 10 ms of transmission and 25 ms of propagation; a packet every 10 ms, at 0, 10, 20, ..., 90 ms; the end at 95 ms.
    let network = Network {
        nodes: vec!["a".into(), "b".into(), "c".into()],
        links: vec![
            link("a-b", 0, 1, Duration::from_milliseconds(25), fifo(100_000, 9)),
            link("b-c", 1, 2, Duration::from_milliseconds(25), fifo(100_000, 9)),
        ],
        flows: vec![flow("flow", cbr(100_000, 125), 0, &[0, 1])],
        ..Network::default()
    };
    let outcome = simulate(&network, Experiment { duration: Duration::from_milliseconds(95), ..Experiment::default() });
    let flow = &outcome.flows[0];
    // Delivered after 70 ms each: those of 0, 10 and 20 ms. Those of 30 and 40 ms are on the second link beyond its port, 50 is being
    // transmitted there, and the rest is on the first link.
    assert_eq!((flow.offered.packets, flow.delivered.packets, flow.in_network.packets), (10, 3, 7));
    assert_eq!(outcome.ports[0].queued, Volume::default());
    // The second link started at 35 ms and was busy ever since.
    assert!((outcome.ports[1].utilisation.mean - 60.0 / 95.0).abs() < 1e-12);
}

#[test]
fn departures_come_before_arrivals_at_one_instant() {
    // The buffer holds one packet. Three arrive while the first is transmitted until 1000 us: the second waits, the third is refused, and
    // the fourth comes at the very instant at which the second leaves its place.
    let source = capture(&[(0, 125, 0), (10, 125, 0), (20, 125, 0), (1000, 125, 0)]);
    let network = one_link(fifo(1_000_000, 1), vec![flow("flow", source, 0, &[0])]);
    let outcome = simulate(&network, Experiment { duration: SECOND, ..Experiment::default() });
    let flow = &outcome.flows[0];
    assert_eq!(flow.delivered.packets, 3);
    assert_eq!(flow.drops, [(LinkId(0), DropReason::SharedLimit, Volume { packets: 1, bytes: 125 })]);
    assert_eq!(flow.delay.as_ref().unwrap().histogram.maximum(), Some(2e-3));
    // Delays 1000, 1990 and 2000 us.
    let jitter = flow.delay.as_ref().unwrap().jitter_s.unwrap().mean;
    assert!((jitter - (990e-6 + 10e-6) / 2.0).abs() < 1e-12);
}

#[test]
fn flows_that_meet_at_one_instant_go_in_the_order_of_the_network() {
    let flows = vec![flow("first", capture(&[(0, 125, 0)]), 0, &[0]), flow("second", capture(&[(0, 125, 0)]), 0, &[0])];
    let delays = |network: &Network| {
        let outcome = simulate(network, Experiment { duration: SECOND, ..Experiment::default() });
        outcome.flows.iter().map(|flow| (flow.name.clone(), flow.delay.as_ref().unwrap().mean_s.mean)).collect::<Vec<_>>()
    };
    let mut network = one_link(fifo(1_000_000, 9), flows);
    assert_eq!(delays(&network), [("first".into(), 1e-3), ("second".into(), 2e-3)]);
    network.flows.reverse();
    assert_eq!(delays(&network), [("second".into(), 1e-3), ("first".into(), 2e-3)]);
}

#[test]
fn greedy_sources_fill_the_link_by_their_weights() {
    let classes = [1, 3].map(|weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() });
    let port = port(10_000_000, SchedulerKind::DeficitRoundRobin, &classes, 100);
    let flows = vec![
        flow("light", Source::Greedy(Greedy { length: 1000, window: 8 }), 0, &[0]),
        flow("heavy", Source::Greedy(Greedy { length: 500, window: 8 }), 1, &[0]),
    ];
    let experiment = Experiment { duration: Duration::from_seconds(10), warm_up: SECOND, ..Experiment::default() };
    let outcome = simulate(&one_link(port, flows), experiment);
    assert_eq!(outcome.ports[0].utilisation.mean, 1.0);
    let [light, heavy] = [0, 1].map(|flow| outcome.flows[flow].throughput_bps.mean);
    assert!((light / 2.5e6 - 1.0).abs() < 0.01 && (heavy / 7.5e6 - 1.0).abs() < 0.01, "{light} {heavy}");
    // The windows are full at all times: 8 packets each wait while one more is transmitted.
    assert_eq!(outcome.ports[0].queued, Volume { packets: 16, bytes: 12_000 });
    assert_eq!(outcome.ports[0].occupancy_mean_bytes.mean, 12_000.0);
    assert!(outcome.flows.iter().all(|flow| flow.loss.mean == 0.0));
}

#[test]
fn greedy_sources_keep_trying_when_packets_are_lost() {
    // The policer lets through one packet per 10 ms, the link could carry ten: every packet time the source tries again.
    let mut setup = fifo(1_000_000, 100);
    let contract = Contract::new(rate(100_000), 125);
    setup.policers = vec![Some(PolicerKind::Gcra.build(&contract).unwrap())];
    let network = one_link(setup, vec![flow("greedy", Source::Greedy(Greedy { length: 125, window: 4 }), 0, &[0])]);
    let outcome = simulate(&network, Experiment { duration: SECOND, ..Experiment::default() });
    let greedy = &outcome.flows[0];
    assert!((99..=101).contains(&greedy.delivered.packets), "{:?}", greedy.delivered);
    assert!((900..=1200).contains(&greedy.offered.packets), "{:?}", greedy.offered);
    assert_eq!(greedy.drops[0].1, DropReason::Policed);

    // Pushed out of the longest queue by its own packets, it neither stops nor spins.
    let mut setup = fifo(1_000_000, 3);
    let buffer = BufferParameters { flows: 1, packets: Some(3), ..BufferParameters::default() };
    setup.buffer = BufferKind::LongestQueuePushOut.build(&buffer).unwrap();
    let network = one_link(setup, vec![flow("greedy", Source::Greedy(Greedy { length: 125, window: 9 }), 0, &[0])]);
    let outcome = simulate(&network, Experiment { duration: SECOND, ..Experiment::default() });
    assert_eq!(outcome.ports[0].utilisation.mean, 1.0);
    // One packet in ten is one too many.
    let loss = outcome.flows[0].loss.mean;
    assert!((0.08..0.12).contains(&loss), "{loss}");
}

#[test]
fn a_shaped_class_waits_while_the_other_passes() {
    // Class 0 may send 100 kbit/s, 10 ms per packet, on a link of 10 Mbit/s. Class 1 sends one packet while the link waits for class 0's
    // next release, which must neither delay it nor be forgotten.
    let parameters = [
        FlowParameters { priority: Some(0), ..FlowParameters::default() },
        FlowParameters { priority: Some(1), ..FlowParameters::default() },
    ];
    let mut setup = port(10_000_000, SchedulerKind::StrictPriority, &parameters, 9);
    let contract = ShapingContract::new(rate(100_000), 125, 125);
    setup.scheduler = AnyScheduler::Shaped(Box::new(Shaped::new(setup.scheduler, &[Some(contract), None]).unwrap()));
    let shaped = flow("shaped", capture(&[(0, 125, 0), (0, 125, 0), (0, 125, 0)]), 0, &[0]);
    let other = flow("other", capture(&[(0, 125, 1), (4_000, 125, 1)]), 1, &[0]);
    let outcome = simulate(&one_link(setup, vec![shaped, other]), Experiment { duration: SECOND, ..Experiment::default() });
    let delay = |flow: usize| outcome.flows[flow].delay.as_ref().unwrap();
    // The first of class 1 follows the first of class 0; the second finds the link idle.
    assert_eq!(delay(1).histogram.maximum(), Some(200e-6));
    assert!((delay(1).mean_s.mean - 150e-6).abs() < 1e-12);
    // Class 0 starts at 0, 10 and 20 ms.
    assert!((delay(0).mean_s.mean - 10.1e-3).abs() < 1e-8, "{:?}", delay(0).mean_s);
    assert!((delay(0).histogram.maximum().unwrap() - 20.1e-3).abs() < 1e-8);
}

#[test]
fn a_capture_is_classified_packet_by_packet() {
    // Two packets of code point 1 and one of code point 0, all in one flow; the policy serves code point 0 first.
    let classes: Vec<_> = (0..2).map(|priority| FlowParameters { priority: Some(priority), ..FlowParameters::default() }).collect();
    let source = capture(&[(0, 125, 1), (1, 125, 1), (2, 250, 0)]);
    let network = one_link(port(1_000_000, SchedulerKind::StrictPriority, &classes, 9), vec![flow("capture", source, 0, &[0])]);
    let outcome = simulate(&network, Experiment { duration: SECOND, ..Experiment::default() });
    let [high, low] = [0, 1].map(|class| &outcome.ports[0].classes[class]);
    assert_eq!((high.sent, low.sent), (Volume { packets: 1, bytes: 250 }, Volume { packets: 2, bytes: 250 }));
    // The first is on the link until 1000 us, the urgent one until 3000 us, the other until 4000 us.
    assert_eq!(high.delays.maximum(), Some(2998e-6));
    assert_eq!(low.delays.maximum(), Some(3999e-6));
    assert_eq!(outcome.flows[0].classes, [(LinkId(0), 1)]);
}

#[test]
fn losses_are_told_apart_by_link_and_reason() {
    // Of 20 packets at once the first is transmitted, four wait within the flow's limit, and the link behind has room for one more.
    let mut narrow = fifo(1_000_000, 100);
    let limit = FlowLimit { packets: Some(4), bytes: None };
    narrow.buffer = BufferKind::TailDrop.build(&BufferParameters { flows: 1, flow: limit, ..BufferParameters::default() }).unwrap();
    let mut behind = fifo(100_000, 1);
    behind.longest_frame = 125;
    let packets: Vec<_> = (0..20).map(|_| (0, 125, 0)).chain([(500_000, 126, 0)]).collect();
    let network = Network {
        nodes: vec!["a".into(), "b".into(), "c".into()],
        links: vec![link("narrow", 0, 1, Duration::ZERO, narrow), link("behind", 1, 2, Duration::ZERO, behind)],
        flows: vec![flow("flow", capture(&packets), 0, &[0, 1])],
        ..Network::default()
    };
    let experiment = Experiment { duration: SECOND, sample_interval: Some(Duration::from_milliseconds(250)), ..Experiment::default() };
    let outcome = simulate(&network, experiment);
    let volume = |packets, length| Volume { packets, bytes: packets * length };
    let expected = [
        (LinkId(0), DropReason::FlowLimit, volume(15, 125)),
        (LinkId(1), DropReason::SharedLimit, volume(3, 125)),
        (LinkId(1), DropReason::Oversize, volume(1, 126)),
    ];
    assert_eq!(outcome.flows[0].drops, expected);
    assert_eq!(outcome.ports[0].drops_over_time, [(DropReason::FlowLimit, vec![60.0, 0.0, 0.0, 0.0])]);
    assert_eq!(outcome.ports[1].drops_over_time[1], (DropReason::Oversize, vec![0.0, 0.0, 4.0, 0.0]));
    assert_eq!(outcome.sample_times_s(), [0.25, 0.5, 0.75, 1.0]);
    assert_eq!(outcome.flows[0].throughput_over_time_bps, [2.0 * 1000.0 / 0.25, 0.0, 0.0, 0.0]);
}

#[test]
fn the_warm_up_is_left_out() {
    // A burst during the warm-up, a steady flow throughout; the burst's 250 kbit drain at 500 kbit/s net and are gone after half a second.
    let burst: Vec<_> = (0..25).map(|_| (0, 1250, 0)).collect();
    let flows = vec![flow("burst", capture(&burst), 0, &[0]), flow("steady", cbr(500_000, 125), 0, &[0])];
    let network = one_link(fifo(1_000_000, 1000), flows);
    let experiment = Experiment { duration: Duration::from_seconds(4), warm_up: SECOND, ..Experiment::default() };
    let outcome = simulate(&network, experiment);
    let (port, steady) = (&outcome.ports[0], &outcome.flows[1]);
    assert_eq!(outcome.flows[0].offered, Volume::default());
    assert_eq!(outcome.flows[0].delay, None);
    assert_eq!(port.occupancy_max_bytes, 125);
    assert_eq!((steady.throughput_bps.mean, port.utilisation.mean), (5e5, 0.5));
    assert_eq!(steady.delay.as_ref().unwrap().histogram.maximum(), Some(1e-3));
    // With 400 ms of warm-up the end of the burst is seen, and what was queued by then counts as offered.
    let experiment = Experiment { warm_up: Duration::from_milliseconds(400), ..experiment };
    let port = &simulate(&network, experiment).ports[0];
    assert!(port.occupancy_max_bytes > 5_000);
    let dropped: u64 = port.dropped.iter().map(|volume| volume.packets).sum();
    assert_eq!(port.offered.packets, port.sent.packets + dropped + port.queued.packets);
    assert_eq!(port.offered.bytes, port.sent.bytes + port.queued.bytes);
}

#[test]
fn overhead_takes_link_time_but_is_not_counted_as_throughput() {
    let mut setup = fifo(10_000_000, 9);
    setup.overhead = Overhead::ETHERNET;
    let network = one_link(setup, vec![flow("flow", Source::Greedy(Greedy { length: 101, window: 2 }), 0, &[0])]);
    let outcome = simulate(&network, Experiment { duration: SECOND, ..Experiment::default() });
    assert_eq!(outcome.ports[0].utilisation.mean, 1.0);
    // 125 bytes on the wire: 100 us each. The delivery of the last comes at the very end, which is not within.
    assert_eq!(outcome.flows[0].delivered.packets, 9_999);
}

#[test]
fn start_and_stop_bound_the_emissions() {
    let mut network = one_link(fifo(1_000_000, 9), vec![flow("flow", cbr(100_000, 125), 0, &[0])]);
    network.flows[0].start = Duration::from_milliseconds(200);
    network.flows[0].stop = Some(Duration::from_milliseconds(500));
    let outcome = simulate(&network, Experiment { duration: SECOND, ..Experiment::default() });
    // At 200, 210, ..., 490 ms.
    assert_eq!(outcome.flows[0].offered.packets, 30);
    network.flows[0].source = Source::Greedy(Greedy { length: 125, window: 3 });
    let outcome = simulate(&network, Experiment { duration: SECOND, ..Experiment::default() });
    // 300 transmissions of 1 ms and the three packets queued behind them when the source stops.
    assert_eq!(outcome.flows[0].delivered.packets, 303);
}

#[test]
fn impossible_networks_and_experiments_are_refused_with_their_place() {
    let good = one_link(fifo(1_000_000, 9), vec![flow("flow", cbr(100_000, 125), 0, &[0])]);
    let refused = |change: &dyn Fn(&mut Network, &mut Experiment)| {
        let (mut network, mut experiment) = (good.clone(), Experiment::default());
        change(&mut network, &mut experiment);
        match run(&network, &experiment, &Control::default()) {
            Err(SimulationError::Refused(problem)) => (problem.subject, problem.key, problem.to_string()),
            other => panic!("{other:?}"),
        }
    };
    let (subject, key, text) = refused(&|network, _| network.flows[0].path.push(LinkId(0)));
    assert_eq!((subject, key), (Subject::Flow(0), "path"));
    assert_eq!(text, "flow flow: path: link link ends at b but link link starts at a; expected links that join up");
    assert_eq!(refused(&|network, _| network.flows[0].path.clear()).1, "path");
    assert_eq!(refused(&|network, _| network.flows[0].path = vec![LinkId(1)]).1, "path");
    assert_eq!(refused(&|network, _| network.flows.push(network.flows[0].clone())).0, Subject::Flow(1));
    assert_eq!(refused(&|network, _| network.flows[0].stop = Some(Duration::ZERO)).1, "stop");
    assert_eq!(refused(&|network, _| network.flows[0].start = Duration::MAX).1, "start");
    assert_eq!(refused(&|network, _| network.flows[0].source = cbr(100_000, 0)).1, "length");
    assert_eq!(refused(&|network, _| network.flows[0].source = Source::Greedy(Greedy { length: 1, window: 0 })).1, "window");
    assert_eq!(refused(&|network, _| network.links[0].to = NodeId(7)).0, Subject::Link(0));
    assert_eq!(refused(&|network, _| network.links.push(network.links[0].clone())).1, "name");
    assert_eq!(refused(&|network, _| network.links[0].propagation = Duration::MAX).1, "propagation");
    let (subject, key, _) = refused(&|_, experiment| experiment.duration = Duration::ZERO);
    assert_eq!((subject, key), (Subject::Experiment, "duration"));
    assert_eq!(refused(&|_, experiment| experiment.warm_up = experiment.duration).1, "warm_up");
    assert_eq!(refused(&|_, experiment| experiment.replications = 0).1, "replications");
    let sample = |interval| move |_: &mut Network, experiment: &mut Experiment| experiment.sample_interval = Some(interval);
    assert_eq!(refused(&sample(Duration::ZERO)).1, "sample_interval");
    assert_eq!(refused(&sample(microseconds(10))).1, "sample_interval");
}

/// What a replay or a live link loses by the number of the packet is lost here; the second link with the same loss has another stream, as the other
/// direction of a bridge has.
#[test]
fn the_packets_that_get_lost_are_those_of_the_other_worlds() {
    let lossy = |name, from| {
        let mut link = link(name, from, from + 1, Duration::from_milliseconds(2), fifo(1_000_000, 100));
        link.impairment.loss = random_loss(0.3);
        link
    };
    // Every packet is a flow of its own, so that its fate can be read.
    let flows = (0..300).map(|number| flow(&number.to_string(), capture(&[(2000 * number, 100, 0)]), 0, &[0, 1]));
    let network = Network {
        nodes: vec!["a".into(), "b".into(), "c".into()],
        links: vec![lossy("first", 0), lossy("second", 1)],
        flows: flows.collect(),
        ..Network::default()
    };
    let fates = |outcome: &Outcome| -> Vec<Option<LinkId>> {
        outcome.flows.iter().map(|flow| flow.lost_on_links.first().map(|(link, _)| *link)).collect()
    };
    let [mut first, mut second] = [0, 1].map(|stream| LossStream::new(random_loss(0.3).unwrap(), stream));
    let expected: Vec<_> = (0..300)
        .map(|_| match first.loses_next() {
            true => Some(LinkId(0)),
            false => second.loses_next().then_some(LinkId(1)),
        })
        .collect();
    let outcome = simulate(&network, Experiment { replications: 2, ..Experiment::default() });
    let one = simulate(&network, Experiment::default());
    assert_eq!(fates(&one), expected);
    // The second replication, and another experiment, have losses of their own.
    assert!(outcome.replications[0].flows == one.replications[0].flows && outcome.replications[1].flows != one.replications[0].flows);
    assert_ne!(fates(&simulate(&network, Experiment { seed: 2, ..Experiment::default() })), expected);
}
