//! The queues that packets pass: the port's own classifier sees the flow's header at every link, as it is changed on the way.
//!
//! Behind a port that sets code points by colour, packets of one flow may go on through different queues. Each such path is a strand, and all
//! strands of a flow count, so that no packet is missed.

use super::arrivals::{self, Lengths, Overheads, told_apart};
use super::queues::Queues;
use crate::policy::Policy;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::quantity::NoBound;
use tidegate_core::classifier::Header;
use tidegate_core::packet::{Colour, Ecn};
use tidegate_core::remark::{CodePoint, Remarks};
use tidegate_core::units::Overhead;
use tidegate_sim::source::Capture;
use tidegate_sim::tcp::{Application, EcnMode, Transfers};
use tidegate_sim::{Arrivals, FlowSpec, LinkId, Source, reversed};

const COLOURS: [Colour; Remarks::COLOURS] = [Colour::Green, Colour::Yellow, Colour::Red];

/// More paths of one flow are not followed.
const MOST_PATHS: usize = 64;

/// Packets of one flow that pass the same queues.
#[derive(Clone, Debug)]
pub(super) struct Strand {
    /// The flow.
    pub flow: usize,
    /// True for acknowledgements, on the way back.
    pub is_back: bool,
    /// The links.
    pub links: Vec<LinkId>,
    /// The queue at each of them, as numbered by [`Queues`].
    pub queues: Vec<usize>,
    /// The class at each of them: a queue may serve several.
    pub classes: Vec<usize>,
    /// The overheads on the way.
    pub wire: Overheads,
    /// The lengths of the frames.
    pub lengths: Lengths,
    /// What comes to the first queue, or why that is unknown.
    pub arrival: Result<Arrival, NoBound>,
    /// The most bits that a source which nothing else limits keeps in its first queue, if there is a limit.
    pub window: Option<u64>,
}

/// The strands of all flows.
///
/// # Errors
/// A flow whose packets part too often.
pub(super) fn strands(ports: &mut Queues<'_>) -> Result<Vec<Strand>, String> {
    let network = ports.network;
    let mut strands = Vec::new();
    let comes_and_goes: HashSet<usize> =
        network.calls.iter().filter(|calls| calls.arrivals != Arrivals::Permanent).flat_map(|calls| calls.flows.iter().copied()).collect();
    for (number, flow) in network.flows.iter().enumerate() {
        let first = &network.links[flow.path[0].0];
        let longest = if first.cells { u32::from(u16::MAX) } else { ports.longest_frame(flow.path[0]) };
        let wire = Overheads::of(flow.path.iter().flat_map(|link| ports.overheads(*link)));
        let lengths = arrivals::lengths(&flow.source, longest);
        let window = match &flow.source {
            Source::Greedy(greedy) => Some(u64::from(greedy.window).saturating_mul(wire.bits(greedy.length))),
            _ => None,
        };
        let strand = |links: &[LinkId], Way { queues, classes }: Way| Strand {
            flow: number,
            is_back: false,
            links: links.to_vec(),
            queues,
            classes,
            wire: wire.clone(),
            lengths,
            arrival: Err(NoBound::OutOfRange),
            window,
        };
        if let Source::Capture(capture) = &flow.source {
            for (way, packets) in of_capture(ports, flow, capture)? {
                let all =
                    capture.packets.iter().zip(&packets).filter(|(_, is_here)| **is_here).map(|(packet, _)| (packet.offset, packet.length));
                let arrival = shaped(flow, first.overhead(), lengths, &wire, || arrivals::of_packets(all, &wire));
                strands.push(Strand { arrival, ..strand(&flow.path, way) });
            }
            continue;
        }
        let arrival = if comes_and_goes.contains(&number) {
            Err(NoBound::Because("calls come at random times"))
        } else {
            shaped(flow, first.overhead(), lengths, &wire, || arrivals::of_source(&flow.source, &wire))
        };
        let seen = (code_points(&flow.source, &flow.header), lengths);
        for way in paths(ports, &flow.path, flow.header, flow.tagging.is_some(), seen)? {
            strands.push(Strand { arrival: arrival.clone(), ..strand(&flow.path, way) });
        }
        if let Source::Tcp(tcp) = &flow.source {
            let back = &tcp.reverse_path;
            let wire = Overheads::of(back.iter().flat_map(|link| ports.overheads(*link)));
            let requests =
                if let Application::Transfers(Transfers { request: Some(bytes), .. }) = tcp.application { bytes } else { tcp.headers };
            let lengths = (tcp.headers.min(requests), ports.longest_frame(back[0]));
            for way in paths(ports, back, reversed(&flow.header), false, (&[Ecn::NotEct], lengths))? {
                let (arrival, wire) = (arrival.clone(), wire.clone());
                strands.push(Strand { is_back: true, wire, lengths, arrival, ..strand(back, way) });
            }
        }
    }
    Ok(strands)
}

/// The curve of a source behind its sender's shape, if it has one.
fn shaped(
    flow: &FlowSpec,
    first: Overhead,
    lengths: Lengths,
    wire: &Overheads,
    source: impl FnOnce() -> Result<Arrival, NoBound>,
) -> Result<Arrival, NoBound> {
    match &flow.shaping {
        Some(shape) => arrivals::of_shape(shape).and_then(|curve| wire.most(&curve, lengths, first)),
        None => source(),
    }
}

/// A way, and whether each packet may take it.
type Taken = (Way, Vec<bool>);

/// The paths of a capture's packets, and which packets may take each.
fn of_capture(ports: &mut Queues<'_>, flow: &FlowSpec, capture: &Capture) -> Result<Vec<Taken>, String> {
    let mut known: HashMap<Header, Vec<Way>> = HashMap::new();
    let mut found: Vec<Taken> = Vec::new();
    let mut number_of: HashMap<Way, usize> = HashMap::new();
    for (index, packet) in capture.packets.iter().enumerate() {
        let ways = match known.entry(packet.header) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let seen = (code_points(&flow.source, &packet.header), (packet.length, packet.length));
                new.insert(paths(ports, &flow.path, packet.header, flow.tagging.is_some(), seen)?)
            }
        };
        for way in ways.iter() {
            let number = *number_of.entry(way.clone()).or_insert_with(|| {
                found.push((way.clone(), vec![false; capture.packets.len()]));
                found.len() - 1
            });
            if number >= MOST_PATHS {
                return Err(format!("flow `{}`: its packets take too many paths", flow.name));
            }
            found[number].1[index] = true;
        }
    }
    Ok(found)
}

/// The queues and the classes on the way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Way {
    queues: Vec<usize>,
    classes: Vec<usize>,
}

/// The code points of congestion notification that a flow's packets may have on their way. Where any may be marked, CE is one.
fn code_points(source: &Source, header: &Header) -> &'static [Ecn] {
    let sent = match source {
        Source::Tcp(tcp) => match tcp.ecn {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::L4s => Ecn::Ect1,
            EcnMode::Classic | EcnMode::Dctcp | EcnMode::Accurate => Ecn::Ect0,
        },
        _ => header.network.ecn(),
    };
    match sent {
        Ecn::NotEct => &[Ecn::NotEct],
        Ecn::Ect0 => &[Ecn::NotEct, Ecn::Ect0, Ecn::Ce],
        Ecn::Ect1 => &[Ecn::NotEct, Ecn::Ect1, Ecn::Ce],
        Ecn::Ce => &[Ecn::Ce],
    }
}

/// All ways that packets with this header, and each of these code points of congestion notification and lengths, may take.
fn paths(
    ports: &mut Queues<'_>,
    path: &[LinkId],
    header: Header,
    tags: bool,
    (ecn, lengths): (&[Ecn], Lengths),
) -> Result<Vec<Way>, String> {
    let colour = Colour::of(&header);
    let colours = if tags { COLOURS.to_vec() } else { vec![colour] };
    let mut under_way: Vec<(Way, Header, Colour)> = colours.into_iter().map(|colour| (Way::default(), header, colour)).collect();
    for &link in path {
        let states = ports.states(link).to_vec();
        let carries_cells = ports.overheads(link).any(|overhead| overhead == Overhead::Aal5);
        let mut next: Vec<(Way, Header, Colour)> = Vec::new();
        let reads_ecn = states.iter().any(|policy| policy.classifier().reads_ecn());
        let ecn = if reads_ecn { ecn } else { &[Ecn::NotEct] };
        let lengths = told_apart(states.iter().map(|policy| policy.classifier()), lengths);
        let cases: Vec<(Ecn, u32)> = ecn.iter().flat_map(|&ecn| lengths.iter().map(move |&length| (ecn, length))).collect();
        let seen =
            |header: Header| cases.iter().map(move |&(ecn, length)| Header { length, network: header.network.with_ecn(ecn), ..header });
        for (mut way, header, colour) in
            under_way.iter().flat_map(|(way, header, colour)| seen(*header).map(move |header| (way.clone(), header, *colour)))
        {
            let (class, queue) = class_and_queue(states[0], &header);
            way.classes.push(class);
            way.queues.push(ports.number(link, class, queue));
            // It may be coloured under one policy and leave under another.
            let recolours = states.iter().any(|policy| Queues::recolours(policy, class_and_queue(policy, &header).0));
            let leaving = COLOURS.into_iter().filter(|&leaves| recolours || leaves == colour);
            for (leaves, policy) in leaving.flat_map(|leaves| states.iter().map(move |policy| (leaves, policy))) {
                let remark = policy.remarks().of(class_and_queue(policy, &header).0, leaves);
                let remarked = remark.of(Header { length: 0, network: header.network.with_ecn(Ecn::NotEct), ..header });
                let decides = policy.classes.iter().any(|class| class.police.is_some()) && !carries_cells;
                let keeps = carries_cells || (policy.remarks().is_empty() && !decides) || (tags && remark.dscp == CodePoint::Keep);
                let way = (way.clone(), remarked, if keeps { leaves } else { Colour::of(&remarked) });
                if !next.contains(&way) {
                    next.push(way);
                }
            }
        }
        under_way = next;
        if under_way.len() > MOST_PATHS * COLOURS.len() {
            return Err("packets of a flow take too many paths".to_owned());
        }
    }
    let mut all: Vec<Way> = under_way.into_iter().map(|way| way.0).collect();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// The class of a packet under a policy, and the queue of the class.
fn class_and_queue(policy: &Policy, header: &Header) -> (usize, u32) {
    let classifier = policy.classifier();
    let queue = classifier.classify(header);
    let class = classifier.class_of(queue);
    (class, queue.0 - classifier.classes()[class].first_flow.0)
}
