//! Networks of all sorts: rings of links with sources, connections and ports of all kinds.

use super::{flow, header, link, parameters, port, random_loss, rate};
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_atm::adapter::{AdapterSetup, Encapsulation};
use tidegate_cells::{CLASSES as PRIORITIES, CellContract, CellRate, Conflict, Mode, Prefetch, SLOT, Sustained, Ticks, TransferSetup};
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::policer::Contract;
use tidegate_core::port::{RateStep, VaryingRate};
use tidegate_core::registry::{AqmKind, BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::units::{Duration, Overhead};
use tidegate_link::Disturbance;
use tidegate_sim::source::{Capture, Cbr, FrameTrace, Greedy, OnOff, Poisson};
use tidegate_sim::tcp::{Application, CongestionKind, EcnMode, RecoveryKind, Tcp, TimerKind, TimerSettings, TransferSize, Transfers};
use tidegate_sim::{CapturePacket, FlowSpec, Holding, Impairment, LengthDistribution, Link, LinkId, Network, NodeId, Remainder, Source};

const NODES: usize = 4;
const CLASSES: usize = 3;

fn any_source() -> impl Strategy<Value = Source> {
    let milliseconds = |range: std::ops::Range<u64>| range.prop_map(Duration::from_milliseconds);
    let holding = prop_oneof![
        milliseconds(1..20).prop_map(|time| Holding::Constant { time }),
        milliseconds(1..20).prop_map(|mean| Holding::Exponential { mean }),
        (milliseconds(1..20), 1.1..3.0f64).prop_map(|(mean, shape)| Holding::Pareto { mean, shape }),
    ];
    let length = prop_oneof![
        (1u32..2000).prop_map(LengthDistribution::Fixed),
        (1.0..500.0f64).prop_map(|mean| LengthDistribution::Exponential { mean }),
        (1u32..100, 100u32..1500).prop_map(|(shortest, longest)| LengthDistribution::Uniform { shortest, longest }),
    ];
    let capture = prop::collection::vec((0u64..1000, 1u32..1600, 0u8..4), 0..50).prop_map(|packets| {
        let mut at = 0;
        let packets = packets.into_iter().map(|(gap, length, dscp)| {
            at += gap;
            CapturePacket { offset: Duration::from_microseconds(at), length, header: header(dscp) }
        });
        Source::Capture(Capture { packets: packets.collect() })
    });
    let remainder = select(&[Remainder::Carried, Remainder::Completed][..]);
    prop_oneof![
        (1_000u64..3_000_000, 1u32..1500, any::<bool>()).prop_map(|(bits, length, random_phase)| Source::Cbr(Cbr {
            rate: rate(bits),
            length,
            random_phase
        })),
        (1.0..2000.0f64, length).prop_map(|(packets_per_second, length)| Source::Poisson(Poisson { packets_per_second, length })),
        (100_000u64..5_000_000, 50u32..1500, holding.clone(), holding, remainder)
            .prop_map(|(peak, length, on, off, remainder)| Source::OnOff(OnOff { peak: rate(peak), length, on, off, remainder })),
        (prop::collection::vec(0u32..9000, 1..9), milliseconds(1..50), 100u32..1500, any::<bool>()).prop_map(
            |(mut frames, interval, packet_length, random_start)| {
                frames[0] += 1;
                Source::FrameTrace(FrameTrace { frames: frames.into(), interval, packet_length, random_start })
            }
        ),
        capture,
        (1u32..1500, 1u32..20).prop_map(|(length, window)| Source::Greedy(Greedy { length, window })),
    ]
}

/// Connections of all sorts.
fn any_connection() -> impl Strategy<Value = Source> {
    let milliseconds = |range: std::ops::Range<u64>| range.prop_map(Duration::from_milliseconds);
    let size = prop_oneof![
        (1u64..100_000).prop_map(TransferSize::Fixed),
        (1.0..50_000.0f64).prop_map(TransferSize::Exponential),
        (1.0..50_000.0f64, 1.1..3.0f64).prop_map(|(mean, shape)| TransferSize::Pareto { mean, shape }),
    ];
    let think = prop::option::of(milliseconds(1..50).prop_map(|mean| Holding::Exponential { mean }));
    let transfers = (size, prop::option::of(1u64..5), think, prop::option::of(1u32..900), any::<bool>()).prop_map(
        |(size, count, think, request, reconnects)| Application::Transfers(Transfers { size, count, think, request, reconnects }),
    );
    let application = prop_oneof![Just(Application::Endless), transfers];
    let kinds = (select(CongestionKind::ALL), select(RecoveryKind::ALL), select(TimerKind::ALL), select(EcnMode::ALL));
    let kinds = kinds.prop_filter("they go together", |&(congestion, recovery, _, ecn)| {
        let scales = congestion.default_ecn() != EcnMode::Off;
        let measures = matches!(congestion, CongestionKind::Bbr | CongestionKind::Bbr3 | CongestionKind::Prague);
        let is_selective = measures || matches!(ecn, EcnMode::Accurate | EcnMode::L4s);
        (recovery.is_selective() || !is_selective) && ecn != if scales { EcnMode::Classic } else { EcnMode::L4s }
    });
    let flags = prop::array::uniform4(any::<bool>());
    (application, kinds, flags, 100u32..1400, 1u32..12, 1u64..60_000, 0u64..3, 0u64..40).prop_map(
        |(application, (congestion, recovery, timer, ecn), flags, segment, initial_window, window, jitter, delay)| {
            let [window_scale, limited_transmit, avoid_multiple_fast_retransmits, handshake] = flags;
            Source::Tcp(Box::new(Tcp {
                congestion,
                recovery,
                timer: TimerSettings::default_for(timer),
                segment,
                initial_window,
                window: window.max(u64::from(segment)),
                window_scale,
                limited_transmit,
                avoid_multiple_fast_retransmits,
                handshake,
                ecn,
                delayed_ack: (delay > 0).then(|| Duration::from_milliseconds(delay)),
                jitter: Duration::from_milliseconds(jitter),
                application,
                ..Tcp::modern(Vec::new())
            }))
        },
    )
}

/// What leaves a port.
#[derive(Clone, Debug)]
enum Kind {
    Packets,
    Cells,
    Adapter(AdapterSetup),
}

/// An ATM adapter with contracts of all modes, and one of the lowest priority with a minimum share.
fn any_adapter() -> impl Strategy<Value = AdapterSetup> {
    let conflict = select(&Conflict::ALL[..]);
    let encapsulation = select(&[Encapsulation::VcMultiplexed, Encapsulation::LlcSnap][..]);
    let transfer = prop::option::of((0u32..6, 1u32..20, 1u32..200).prop_map(|(access_latency, burst, buffer)| TransferSetup {
        prefetch: Prefetch::JustInTime,
        access_latency,
        cell_time: Ticks(SLOT / 3),
        burst,
        buffer,
    }));
    (conflict, encapsulation, transfer, SLOT..9 * SLOT, 1u32..50).prop_map(|(conflict, encapsulation, transfer, peak, burst)| {
        let sustained = Sustained { interval: Ticks(3 * peak), maximum_burst_size: burst };
        let modes = [Mode::Constant, Mode::SingleBucket(sustained), Mode::DualBucket(sustained)];
        let contract =
            |class: usize| CellContract { mode: modes[class % modes.len()], class: class as u8, ..CellContract::constant(Ticks(peak)) };
        let mut minimum_shares = [CellRate::ZERO; PRIORITIES];
        minimum_shares[CLASSES - 1] = CellRate(CellRate::LINK.0 / 5);
        AdapterSetup { contracts: (0..CLASSES).map(contract).collect(), conflict, minimum_shares, transfer, encapsulation }
    })
}

/// A ring of links, so that paths of any length exist.
fn any_link(index: usize) -> impl Strategy<Value = Link> {
    let scheduler = select(SchedulerKind::ALL);
    let buffer = select(BufferKind::ALL);
    let policer = prop::option::of(100_000u64..2_000_000);
    let loss = prop_oneof![3 => Just(0.0), 1 => 0.0..0.2f64];
    let mark_above = prop::option::of(0u64..20_000);
    let kind = prop_oneof![5 => Just(Kind::Packets), 3 => Just(Kind::Cells), 3 => any_adapter().prop_map(Kind::Adapter)];
    let disturbance = prop::option::of((0u64..400_000_000, 0u64..9_000, 0u64..400_000_000));
    let outage = prop::option::of((1u64..90, 1u64..90));
    let behind = (loss, disturbance, outage);
    (scheduler, buffer, policer, 500_000u64..5_000_000, 1u32..30, 0u64..20_000, behind, mark_above, kind).prop_map(
        move |(scheduler, buffer, policed, bits, packets, microseconds, (loss, disturbance, outage), mark_above, kind)| {
            let cells = matches!(kind, Kind::Cells);
            // A few packets' worth of cells.
            let packets = if cells { 20 * packets } else { packets };
            let parameters: Vec<_> = (0..CLASSES as u32).map(|class| parameters(scheduler, class, bits / 4)).collect();
            let mut setup = port(bits, scheduler, &parameters, packets);
            let limits = BufferParameters { flows: CLASSES, packets: Some(packets), ..BufferParameters::default() };
            setup.buffer = buffer.build(&limits).unwrap();
            setup.policers[0] = policed.map(|bits| PolicerKind::Gcra.build(&Contract::new(rate(bits), 1500)).unwrap());
            let propagation = Duration::from_microseconds(microseconds);
            let mut link = link(&format!("link {index}"), index, (index + 1) % NODES, propagation, setup);
            (link.impairment, link.cells) = (Impairment { loss: random_loss(loss), mark_above, ..Impairment::default() }, cells);
            if matches!(kind, Kind::Packets) {
                let micros = Duration::from_microseconds;
                let disturbed = |(late, by, twice)| Disturbance::new(late, micros(by), twice, 1);
                link.impairment.disturbance = disturbance.and_then(disturbed);
                let step = |at, rate| RateStep { at: Duration::from_milliseconds(at), rate };
                link.impairment.rates = outage.and_then(|(begin, length)| {
                    let steps = vec![step(0, Some(rate(bits))), step(begin, None), step(begin + length, Some(rate(bits / 2)))];
                    VaryingRate::new(steps, Some(Duration::from_milliseconds(begin + 2 * length))).ok()
                });
            }
            if let Kind::Adapter(adapter) = kind {
                (link.port.overhead, link.adapter) = (Overhead::Aal5, Some(adapter));
            }
            link
        },
    )
}

fn any_flow(index: usize) -> impl Strategy<Value = FlowSpec> {
    let source = prop_oneof![2 => any_source(), 1 => any_connection()];
    (source, 0u8..4, 0..NODES, 1..=NODES, 0u64..200, prop::option::of(1u64..300)).prop_map(
        move |(mut source, dscp, from, links, start, stop)| {
            if let Source::Tcp(tcp) = &mut source {
                // On a ring the way back is the rest of it, or all of it once more.
                let (end, rest) = (from + links, if links == NODES { NODES } else { NODES - links });
                tcp.reverse_path = (end..end + rest).map(|link| LinkId(link % NODES)).collect();
            }
            let path: Vec<usize> = (from..from + links).map(|link| link % NODES).collect();
            let mut flow = flow(&format!("flow {index}"), source, dscp, &path);
            flow.start = Duration::from_milliseconds(start);
            flow.stop = stop.map(|stop| Duration::from_milliseconds(start + stop));
            flow
        },
    )
}

pub fn any_network() -> impl Strategy<Value = Network> {
    let links: Vec<_> = (0..NODES).map(any_link).collect();
    let flows = (1usize..8).prop_flat_map(|flows| (0..flows).map(any_flow).collect::<Vec<_>>());
    (links, flows).prop_map(|(links, flows)| Network {
        nodes: (0..NODES).map(|node| node.to_string()).collect(),
        links,
        flows,
        ..Network::default()
    })
}

/// Trees with links both ways, some with a queue that CoDel keeps short. Every flow takes the only path.
pub fn any_tree() -> impl Strategy<Value = Network> {
    (3usize..8).prop_flat_map(|nodes| {
        let parents: Vec<_> = (1..nodes).map(|node| 0..node).collect();
        let links: Vec<_> = (0..2 * (nodes - 1)).map(|index| (any_link(index), any::<bool>())).collect();
        let any_flow = move |index| (any_flow(index), 0..nodes, 1..nodes);
        let flows = (1usize..10).prop_flat_map(move |flows| (0..flows).map(any_flow).collect::<Vec<_>>());
        (parents, links, flows).prop_map(move |(parents, links, flows)| {
            let mut network = Network { nodes: (0..nodes).map(|node| node.to_string()).collect(), ..Network::default() };
            for (index, (mut link, has_codel)) in links.into_iter().enumerate() {
                let (node, parent) = (NodeId(index / 2 + 1), NodeId(parents[index / 2]));
                (link.from, link.to) = if index % 2 == 0 { (node, parent) } else { (parent, node) };
                if has_codel {
                    let setup = AqmSetup { flows: CLASSES, rate: link.port.rate, longest_frame: link.port.longest_frame };
                    let codel = AqmKind::CoDel.build(&setup, &AqmParameters::default()).unwrap();
                    link.port.aqms = vec![Some(codel), None, None];
                }
                network.links.push(link);
            }
            for (mut flow, from, by) in flows {
                let (from, to) = (NodeId(from), NodeId((from + by) % nodes));
                flow.path = network.shortest_path(from, to).unwrap();
                if let Source::Tcp(tcp) = &mut flow.source {
                    tcp.reverse_path = network.shortest_path(to, from).unwrap();
                }
                network.flows.push(flow);
            }
            network
        })
    })
}
