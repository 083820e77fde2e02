//! Two ports of cells in a row: what the second gets is what the first has sent, cell by cell. Held against a slow model in which every cell is an event
//! and a receiver reassembles frames from nothing but their cells.

mod networks;

use networks::{flow, header, link, port, random_loss, rate};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::packet::{Colour, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Next, Port, PortSetup};
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::{Duration, Time};
use tidegate_sim::source::Capture;
use tidegate_sim::{CapturePacket, Control, Experiment, FlowSpec, Link, LinkId, Network, Outcome, PortOutcome, Source, run};

/// The time of a cell at 500 and at 400 Mbit/s.
const PACES: [u64; 2] = [848_000, 1_060_000];
const RATES: [u64; 2] = [500_000_000, 400_000_000];
const PROPAGATION: u64 = 3_000_000;

fn cell_port(number: usize, flows: usize, buffer: u32, kind: BufferKind, scheduler: SchedulerKind) -> PortSetup {
    let share = |_| FlowParameters { rate: (scheduler != SchedulerKind::Fifo).then(|| rate(10_000_000)), ..FlowParameters::default() };
    let mut setup = port(RATES[number], scheduler, &(0..flows).map(share).collect::<Vec<_>>(), buffer);
    let limits = BufferParameters { flows, packets: Some(buffer), ..BufferParameters::default() };
    setup.buffer = kind.build(&limits).unwrap();
    setup.longest_frame = 53;
    setup
}

/// The links that a flow takes: both ports, the first alone, or the second alone.
const PATHS: [&[usize]; 3] = [&[0, 1], &[0], &[1]];

/// The length of a packet of `cells` cells.
fn length(cells: u32) -> u32 {
    48 * cells - 8
}

/// For each flow its path, and its packets: when each sets out after the one before, and its cells.
type Traffic = Vec<(usize, Vec<(u64, u32)>)>;

fn network(traffic: &Traffic, ports: [PortSetup; 2]) -> Network {
    let propagation = Duration::from_picoseconds(PROPAGATION);
    let links = ports.into_iter().enumerate();
    let links =
        links.map(|(number, port)| Link { cells: true, ..link(&number.to_string(), number, number + 1, propagation, port) }).collect();
    let flows = traffic.iter().enumerate().map(|(number, (path, packets))| {
        let mut at = 0;
        let packets = packets.iter().map(|&(pause, cells)| {
            at += pause;
            CapturePacket { offset: Duration::from_picoseconds(at), length: length(cells), header: header(number as u8) }
        });
        flow(&number.to_string(), Source::Capture(Capture { packets: packets.collect() }), number as u8, PATHS[*path])
    });
    Network { nodes: vec!["a".into(), "b".into(), "c".into()], links, flows: flows.collect(), ..Network::default() }
}

fn play(network: &Network) -> Outcome {
    run(network, &Experiment { duration: Duration::from_milliseconds(40), ..Experiment::default() }, &Control::default()).unwrap()
}

/// A cell of the slow model: of which packet, which of how many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cell {
    packet: usize,
    index: u32,
    cells: u32,
}

/// Departures come before arrivals, those of cells that are on their way before those that sources send at that instant, and all in the order of
/// their queues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Free(usize),
    Arrives(bool, usize, usize, Cell),
}

struct Slow {
    ports: Vec<Port<Cell>>,
    is_within: Vec<[bool; 2]>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// By flow, what has reached its end since the end of a frame.
    held: Vec<Vec<Cell>>,
    /// By flow, which packets were delivered, and when.
    delivered: Vec<Vec<(usize, u64)>>,
}

impl Slow {
    fn run(traffic: &Traffic, ports: [PortSetup; 2]) -> Slow {
        let flows = traffic.len();
        let mut slow = Slow {
            ports: ports.into_iter().map(|setup| Port::new(Time::ZERO, setup)).collect(),
            is_within: vec![[false; 2]; flows],
            events: BinaryHeap::new(),
            held: vec![Vec::new(); flows],
            delivered: vec![Vec::new(); flows],
        };
        for (flow, (path, packets)) in traffic.iter().enumerate() {
            let entry = PATHS[*path][0];
            let (mut offset, mut free) = (0, 0);
            for (packet, &(pause, cells)) in packets.iter().enumerate() {
                offset += pause;
                let first = offset.max(free);
                for index in 0..cells {
                    let at = first + u64::from(index) * PACES[entry];
                    slow.events.push(Reverse((at, Event::Arrives(at == offset, entry, flow, Cell { packet, index, cells }))));
                    free = at + PACES[entry];
                }
            }
        }
        while let Some(Reverse((now, event))) = slow.events.pop() {
            let at = Time::from_picoseconds(now);
            match event {
                Event::Free(port) => slow.poll(traffic, at, port),
                Event::Arrives(_, port, flow, cell) => {
                    let is_last = cell.index + 1 == cell.cells;
                    let part = Part::of(!slow.is_within[flow][port], is_last);
                    slow.is_within[flow][port] = !is_last;
                    let packet = Packet {
                        ecn: Ecn::NotEct,
                        flow: Flow(flow as u32),
                        length: 53,
                        arrival: at,
                        colour: Colour::Green,
                        part,
                        payload: cell,
                    };
                    slow.ports[port].offer_packet(packet, &mut ());
                    if slow.ports[port].busy_until(at).is_none() {
                        slow.poll(traffic, at, port);
                    }
                }
            }
        }
        slow
    }

    fn poll(&mut self, traffic: &Traffic, now: Time, port: usize) {
        let Next::Transmit(transmission) = self.ports[port].poll(now, &mut ()) else { return };
        let (flow, cell) = (transmission.packet.flow.index(), transmission.packet.payload);
        let finish = transmission.finish.picoseconds();
        self.events.push(Reverse((finish, Event::Free(port))));
        let arrives = finish + PROPAGATION;
        if port == 0 && traffic[flow].0 == 0 {
            return self.events.push(Reverse((arrives, Event::Arrives(false, 1, flow, cell))));
        }
        let held = &mut self.held[flow];
        held.push(cell);
        if cell.index + 1 == cell.cells {
            let is_whole = held.iter().enumerate().all(|(index, held)| held.packet == cell.packet && held.index == index as u32);
            if is_whole && held.len() as u32 == cell.cells {
                self.delivered[flow].push((cell.packet, arrives));
            }
            held.clear();
        }
    }
}

proptest! {
    /// Both deliver the same packets at the same instants, and both ports have done the same to as many cells.
    #[test]
    fn the_slow_model_agrees(
        kinds in prop::array::uniform2(prop::sample::select(vec![BufferKind::TailDrop, BufferKind::PartialPacketDiscard,
            BufferKind::EarlyPacketDiscard, BufferKind::SelectiveDrop, BufferKind::LongestQueuePushOut])),
        schedulers in prop::array::uniform2(prop::sample::select(vec![SchedulerKind::Fifo, SchedulerKind::SelfClocked])),
        buffers in prop::array::uniform2(1u32..60),
        traffic in prop::collection::vec((0usize..3, prop::collection::vec((0u64..12_000_000, 1u32..14), 1..25)), 1..6),
    ) {
        let ports = || [0, 1].map(|number| cell_port(number, traffic.len(), buffers[number], kinds[number], schedulers[number]));
        let (slow, fast) = (Slow::run(&traffic, ports()), play(&network(&traffic, ports())));
        for (number, flow) in fast.replications[0].flows.iter().enumerate() {
            let delivered = &slow.delivered[number];
            prop_assert_eq!(flow.delivered.packets, delivered.len() as u64, "flow {}", number);
            prop_assert_eq!(flow.in_network.packets, 0);
            let offsets: Vec<u64> = traffic[number].1.iter().scan(0, |at, packet| { *at += packet.0; Some(*at) }).collect();
            let sum: u64 = delivered.iter().map(|&(packet, at)| at - offsets[packet]).sum();
            let mean = flow.delays.mean().unwrap_or(0.0) * delivered.len() as f64;
            prop_assert!((mean - sum as f64 / 1e12).abs() < 1e-12, "flow {}: delays of {} and {}", number, mean, sum);
        }
        for (port, slow) in fast.ports.iter().zip(&slow.ports) {
            let counters = slow.counters();
            prop_assert_eq!((port.offered, port.sent, port.dropped), (counters.offered, counters.sent, counters.dropped));
        }
    }
}

/// Ten channels of constant bit rate from the first port to the second, which is slower.
fn ten(change: impl FnOnce(&mut Vec<Link>, &mut Vec<FlowSpec>)) -> Outcome {
    let traffic: Traffic = (0..10).map(|flow| (0, vec![(90_000_000 + 1_000_000 * flow, 10); 150])).collect();
    let ports = [0, 1].map(|number| cell_port(number, 10, 200, BufferKind::EarlyPacketDiscard, SchedulerKind::Fifo));
    let mut network = network(&traffic, ports);
    change(&mut network.links, &mut network.flows);
    play(&network)
}

#[test]
fn cells_of_other_channels_come_in_between() {
    let outcome = ten(|_, _| ());
    let (first, second) = (&outcome.ports[0], &outcome.ports[1]);
    assert_eq!(second.offered.packets, first.sent.packets);
    // The second port is the narrow one: it drops whole frames, and lets all of their ends pass.
    let lost = |port: &PortOutcome| port.dropped.iter().map(|lost| lost.packets).sum::<u64>();
    assert_eq!((lost(first), lost(second) % 9), (0, 0));
    let spoilt: u64 = outcome.flows.iter().map(|flow| flow.offered.packets - flow.delivered.packets).sum();
    assert_eq!(lost(second) / 9, spoilt);
    assert!(spoilt > 50, "{spoilt}");
}

#[test]
fn a_packet_lost_on_the_link_between_is_lost_there_and_its_cells_still_come() {
    let (sound, lossy) = (ten(|_, _| ()), ten(|links, _| links[0].impairment.loss = random_loss(0.2)));
    assert_eq!(sound.ports[1].offered, lossy.ports[1].offered);
    let lost: u64 = lossy.flows.iter().flat_map(|flow| &flow.lost_on_links).map(|lost| lost.1.packets).sum();
    assert!(lost > 200, "{lost}");
    let delivered = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.delivered.packets).sum::<u64>();
    assert!(delivered(&lossy) < delivered(&sound));
}

/// Channels that share a queue of the second port but none of the first are merged: frames are collected, so that none of them is spoilt by another.
#[test]
fn where_channels_are_merged_frames_stay_whole() {
    let outcome = ten(|links, flows| {
        links[1].port = cell_port(1, 1, 100_000, BufferKind::TailDrop, SchedulerKind::Fifo);
        links[0].port = cell_port(0, 10, 100_000, BufferKind::TailDrop, SchedulerKind::Fifo);
        for flow in flows {
            flow.path = vec![LinkId(0), LinkId(1)];
        }
    });
    assert!(outcome.flows.iter().all(|flow| flow.delivered.packets == 150), "{:?}", outcome.ports[1].dropped);
}
