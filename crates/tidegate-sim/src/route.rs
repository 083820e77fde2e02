//! The paths of packets, computed once: the next link at every hop, and the queue of its port.
//!
//! The header of a flow is classified at every port of its path when the simulation is built; of a capture, every distinct header is. At run time
//! a packet carries a cursor into one table, and a hop costs one look-up. Behind a port that changes code points or colours, paths part by
//! colour: a packet that leaves yellow may be classified otherwise from there on than a green one. Code points of congestion notification are not
//! part of a path, because any port may change them, and neither are lengths. Where queues depend on them, or on what a scheduler has assigned, a hop
//! has rows in a second table.

use crate::id::LinkId;
use crate::network::Network;
use crate::routing::choose_path;
use crate::source::{Capture, Source};
use std::collections::HashMap;
use std::sync::Arc;
use tidegate_core::classifier::{Classifier, FlowKey, Header, Network as Layer, Transport};
use tidegate_core::packet::{Colour, Ecn, Flow};
use tidegate_core::remark::{CodePoint, Remarks};

pub(crate) mod slots;

/// The link of a hop that is the sink.
pub(crate) const SINK: u32 = u32::MAX;

/// The link of a hop that is an end of a TCP connection. Unlike a sink it reacts, so a packet arrives there by an event.
pub(crate) const ENDPOINT: u32 = u32::MAX - 1;

/// Marks the flow of a hop on a reverse path, which acknowledgements take.
pub(crate) const BACK: u32 = 1 << 31;

/// Marks the queue of a hop that depends on more than the path: the other bits are an index into [`Routes::choices`].
const CHOSEN: u32 = 1 << 31;

/// One step of a packet's path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The link, [`SINK`] or [`ENDPOINT`].
    pub link: u32,
    /// The queue of its port, which [`Routes::queue`] reads; at an [`ENDPOINT`] the number of the connection.
    pub queue: Flow,
    /// The number of the link within the path, from 0.
    pub place: u16,
    /// True if packets arrive cell by cell: from a link that carries cells, at a port where cells contend.
    pub comes_as_cells: bool,
    /// True if cells come one by one, as the port of cells before sends them: all cells of the queue come from one queue of that port.
    pub comes_one_by_one: bool,
    /// The flow; on a reverse path the number of the connection, and [`BACK`].
    pub flow: u32,
}

const COLOURS: [Colour; Remarks::COLOURS] = [Colour::Green, Colour::Yellow, Colour::Red];

/// Behind a port that changes code points or colours: the next hop and the colour there, by the colour in which a packet leaves.
type Crossing = [(u32, Colour); Remarks::COLOURS];

/// A hop without a crossing: the next in the table follows, and the colour stays.
const STRAIGHT: u32 = u32::MAX;

/// The queues of a hop by code point of congestion notification, and the keys by which a scheduler assigns others. The rows of a hop follow each
/// other, one per range of lengths.
#[derive(Clone, Copy, Debug)]
struct QueueChoice {
    queues: [Flow; CODE_POINTS.len()],
    keys: [Option<FlowKey>; CODE_POINTS.len()],
}

impl QueueChoice {
    /// The queue of packets with this code point, and their key.
    #[inline]
    fn of(&self, ecn: Ecn) -> (Flow, Option<FlowKey>) {
        (self.queues[ecn as usize], self.keys[ecn as usize])
    }
}

const CODE_POINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Where the packets with one header start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variant {
    /// The first hop, as an index into [`Routes::hops`].
    pub cursor: u32,
    /// The colour that the header gives the packet.
    pub colour: Colour,
    /// The code point of congestion notification that the header has.
    pub ecn: Ecn,
    /// The length that the header has; packets may have others.
    pub length: u32,
}

/// Where packets start on paths that take the place of a flow's first one: those of one path follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The first variant of the first path.
    first: u32,
    /// The number of paths; 0 if none is left.
    paths: u32,
    /// The variants of each: 1, but for captures.
    headers: u32,
}

impl Start {
    /// The start of a flow with one path.
    pub(crate) fn of_one_path(first: u32) -> Start {
        Start { first, paths: 1, headers: 1 }
    }

    /// The variants of all paths.
    pub(crate) fn variants(self, routes: &Routes) -> &[Variant] {
        &routes.variants[self.first as usize..(self.first + self.paths * self.headers) as usize]
    }

    /// The variant of this header that the `packet`-th packet starts with; `None` if there is no path.
    #[inline]
    pub(crate) fn variant(self, header: u32, hash: u64, packet: u64) -> Option<usize> {
        if self.paths == 1 {
            return Some((self.first + header) as usize);
        }
        let path = choose_path(hash, packet, self.paths);
        (self.paths > 0).then_some((self.first + path * self.headers + header) as usize)
    }
}

/// The paths of all flows.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// The hops; those of one path follow each other, the sink last. Paths that part at a port follow each other.
    pub hops: Vec<Hop>,
    /// The hops at which paths go on behind a port that changes code points or colours, in order.
    parted: Vec<u32>,
    /// By hop, the index of its crossing, or [`STRAIGHT`]; it ends with the last crossing.
    crossing_of: Vec<u32>,
    crossings: Vec<Crossing>,
    /// The queues of hops that depend on more than the path.
    choices: Vec<QueueChoice>,
    /// Where the ranges of lengths begin that any port treats alike, but for the first.
    length_steps: Vec<u32>,
    /// The crossings of hops whose class depends on code points or lengths, by hop and [case](Routes::case), in order: what a port changes may differ.
    sorted_crossings: Vec<((u32, u32), Crossing)>,
    /// The variants; those of one flow follow each other.
    pub variants: Vec<Variant>,
    /// Each flow's first variant.
    pub first_variant: Vec<u32>,
    /// Each flow's packets as variants, for captures.
    pub packet_variants: Vec<Arc<[u32]>>,
    /// Where packets start after each of [`Network::reroutes`].
    pub reroutes: Vec<Start>,
}

impl Routes {
    /// The paths through a network that has been checked.
    pub(crate) fn of(network: &Network) -> Routes {
        let mut length_steps: Vec<u32> = network.links.iter().flat_map(|link| link.port.classifier.length_steps()).collect();
        length_steps.sort_unstable();
        length_steps.dedup();
        let mut routes = Routes {
            length_steps,
            hops: Vec::new(),
            parted: Vec::new(),
            crossing_of: Vec::new(),
            crossings: Vec::new(),
            choices: Vec::new(),
            sorted_crossings: Vec::new(),
            variants: Vec::new(),
            first_variant: Vec::new(),
            packet_variants: Vec::new(),
            reroutes: Vec::new(),
        };
        let mut connections = 0;
        // By flow, the number of its connection, if it is one.
        let mut connection_of = Vec::with_capacity(network.flows.len());
        for (index, flow) in network.flows.iter().enumerate() {
            let number = index as u32;
            routes.first_variant.push(routes.variants.len() as u32);
            connection_of.push(connections);
            let packet_variants = routes.add_ahead(network, number, &flow.path, connections);
            if let Source::Tcp(tcp) = &flow.source {
                routes.add_back(network, number, &tcp.reverse_path, connections);
                connections += 1;
            }
            routes.packet_variants.push(packet_variants.into());
        }
        for reroute in &network.reroutes {
            let (first, number, connection) = (routes.variants.len() as u32, reroute.flow as u32, connection_of[reroute.flow]);
            for path in &reroute.paths {
                if reroute.is_back {
                    routes.add_back(network, number, path, connection);
                } else {
                    routes.add_ahead(network, number, path, connection);
                }
            }
            let paths = reroute.paths.len() as u32;
            let headers = (routes.variants.len() as u32 - first) / paths.max(1);
            routes.reroutes.push(Start { first, paths, headers });
        }
        routes.sorted_crossings.sort_unstable_by_key(|crossing| crossing.0);
        routes.find_streams(network);
        routes
    }

    /// Adds a path of the packets of a flow. Returns those of a capture as variants.
    fn add_ahead(&mut self, network: &Network, number: u32, path: &[LinkId], connection: u32) -> Vec<u32> {
        let flow = &network.flows[number as usize];
        let mut packet_variants = Vec::new();
        match &flow.source {
            Source::Capture(Capture { packets }) => {
                let mut known: HashMap<Header, u32> = HashMap::new();
                for packet in packets.iter() {
                    let next = known.len() as u32;
                    let variant = *known.entry(Header { length: 0, ..packet.header }).or_insert(next);
                    if variant == next {
                        self.add(network, number, path, &packet.header, (SINK, Flow(0)));
                    }
                    packet_variants.push(variant);
                }
            }
            Source::Tcp(_) => self.add(network, number, path, &flow.header, (ENDPOINT, Flow(connection))),
            _ => self.add(network, number, path, &flow.header, (SINK, Flow(0))),
        }
        packet_variants
    }

    /// Adds a path of what comes back to a connection.
    fn add_back(&mut self, network: &Network, number: u32, path: &[LinkId], connection: u32) {
        let header = reversed(&network.flows[number as usize].header);
        self.add(network, connection | BACK, path, &header, (ENDPOINT, Flow(connection)));
    }

    fn add(&mut self, network: &Network, flow: u32, path: &[LinkId], header: &Header, end: (u32, Flow)) {
        let ecn = header.network.ecn();
        self.variants.push(Variant { cursor: self.hops.len() as u32, colour: Colour::of(header), ecn, length: header.length });
        let tags = network.flows.get(flow as usize).is_some_and(|flow| flow.tagging.is_some());
        let mut way = Way { network, flow, path, end, tags, known: HashMap::new() };
        self.lead(&mut way, 0, Header { length: 0, network: header.network.with_ecn(Ecn::NotEct), ..*header });
    }

    /// Adds the path of packets with this header from a place on, and the paths that part from it; returns the first hop.
    fn lead(&mut self, way: &mut Way<'_>, from: usize, header: Header) -> u32 {
        if let Some(&known) = way.known.get(&(from, header)) {
            return known;
        }
        let first = self.hops.len() as u32;
        way.known.insert((from, header), first);
        if from > 0 {
            self.parted.push(first);
        }
        for (place, &LinkId(number)) in way.path.iter().enumerate().skip(from) {
            let link = &way.network.links[number];
            let comes_as_cells = link.cells && place > 0 && way.network.links[way.path[place - 1].0].carries_cells();
            let rows = choice(&link.port.classifier, &header, &self.length_steps);
            let queues: Vec<Flow> = rows.iter().flat_map(|row| row.queues).collect();
            let is_sorted = queues.iter().any(|&queue| queue != queues[0]);
            let has_keys = rows.iter().flat_map(|row| row.keys).any(|key| key.is_some());
            let queue = if is_sorted || has_keys { self.choose(rows) } else { queues[0] };
            let hop = Hop { link: number as u32, queue, place: place as u16, comes_as_cells, comes_one_by_one: false, flow: way.flow };
            self.hops.push(hop);
            if link.rewrites() {
                let at = self.hops.len() - 1;
                if is_sorted {
                    for (case, queue) in queues.into_iter().enumerate() {
                        let crossing = self.cross(way, place, header, queue);
                        self.sorted_crossings.push(((at as u32, case as u32), crossing));
                    }
                    return first;
                }
                let crossing = self.cross(way, place, header, queues[0]);
                self.crossing_of.resize(self.hops.len().max(self.crossing_of.len()), STRAIGHT);
                self.crossing_of[at] = self.crossings.len() as u32;
                self.crossings.push(crossing);
                return first;
            }
        }
        let (link, queue) = way.end;
        let place = way.path.len() as u16;
        self.hops.push(Hop { link, queue, place, comes_as_cells: false, comes_one_by_one: false, flow: way.flow });
        first
    }

    /// Where packets of this header go on behind a port that rewrites, from this queue.
    fn cross(&mut self, way: &mut Way<'_>, place: usize, header: Header, queue: Flow) -> Crossing {
        let link = &way.network.links[way.path[place].0];
        let class = link.port.classifier.class_of(queue);
        COLOURS.map(|colour| {
            let remark = link.port.remarks.of(class, colour);
            let remarked = remark.of(header);
            // A sender's tag is part of the packet until a code point replaces it.
            let keeps = link.carries_cells() || (way.tags && remark.dscp == CodePoint::Keep);
            // No port reads the header behind the last link, so no path parts there.
            let read = if place + 1 < way.path.len() { remarked } else { header };
            (self.lead(way, place + 1, read), if keeps { colour } else { Colour::of(&remarked) })
        })
    }

    /// Adds rows of queues, as the queue of a hop.
    fn choose(&mut self, rows: Vec<QueueChoice>) -> Flow {
        let first = self.choices.len() as u32;
        self.choices.extend(rows);
        Flow(CHOSEN | first)
    }

    /// The number of the range of lengths that a packet's is in.
    #[inline]
    fn range_of(&self, length: u32) -> usize {
        self.length_steps.iter().take_while(|&&step| step <= length).count()
    }

    /// The queue that a packet with this code point of congestion notification and length joins at a hop, unless its scheduler assigns another.
    #[inline]
    pub(crate) fn queue(&self, hop: Hop, ecn: Ecn, length: u32) -> Flow {
        self.queue_and_key(hop, ecn, length).0
    }

    /// The same, and the key by which a scheduler assigns queues.
    #[inline]
    pub(crate) fn queue_and_key(&self, hop: Hop, ecn: Ecn, length: u32) -> (Flow, Option<FlowKey>) {
        if hop.queue.0 & CHOSEN == 0 {
            return (hop.queue, None);
        }
        self.choices[(hop.queue.0 & !CHOSEN) as usize + self.range_of(length)].of(ecn)
    }

    /// Every queue that a packet may join at a hop.
    fn queues(&self, hop: Hop) -> Vec<Flow> {
        if hop.queue.0 & CHOSEN == 0 {
            return vec![hop.queue];
        }
        let first = (hop.queue.0 & !CHOSEN) as usize;
        self.choices[first..=first + self.length_steps.len()].iter().flat_map(|row| row.queues).collect()
    }

    /// Every next hop of packets at a hop, with the queue there that leads to it; `rewrites` says whether the port of the hop does.
    pub(crate) fn ways(&self, cursor: u32, rewrites: bool) -> Vec<(u32, Flow)> {
        let hop = self.hops[cursor as usize];
        if !rewrites {
            return self.queues(hop).into_iter().map(|queue| (cursor + 1, queue)).collect();
        }
        let mut ways = Vec::new();
        for &length in [0].iter().chain(&self.length_steps) {
            for ecn in CODE_POINTS {
                let queue = self.queue(hop, ecn, length);
                ways.extend(COLOURS.map(|colour| (self.crossing(cursor, ecn, length, colour).0, queue)));
            }
        }
        ways
    }

    /// The number of a code point and a range of lengths among those that a hop may tell apart.
    #[inline]
    fn case(&self, ecn: Ecn, length: u32) -> u32 {
        (self.range_of(length) * CODE_POINTS.len() + ecn as usize) as u32
    }

    /// True if packets that are under way on the paths of `other` find theirs here: only queues, and colours behind ports, differ.
    pub(crate) fn parts_like(&self, other: &Routes) -> bool {
        let hops = |routes: &Routes| routes.hops.iter().map(|hop| (hop.link, hop.place, hop.flow)).collect::<Vec<_>>();
        let lengths: Vec<u32> = [&[0], &self.length_steps[..], &other.length_steps].concat();
        let behind = |routes: &Routes, hop| {
            let of_length = |&length| CODE_POINTS.map(|ecn| COLOURS.map(|colour| routes.crossing(hop, ecn, length, colour).0));
            lengths.iter().map(of_length).collect::<Vec<_>>()
        };
        let starts =
            |routes: &Routes| routes.variants.iter().map(|variant| (variant.cursor, variant.colour, variant.ecn)).collect::<Vec<_>>();
        hops(self) == hops(other)
            && starts(self) == starts(other)
            && (0..self.hops.len() as u32).all(|hop| behind(self, hop) == behind(other, hop))
            && (&self.first_variant, &self.packet_variants) == (&other.first_variant, &other.packet_variants)
    }

    /// The hop behind a port that [rewrites](crate::network::Link::rewrites), and the colour there of a packet that came with this code point and length.
    pub(crate) fn crossing(&self, cursor: u32, came: Ecn, length: u32, colour: Colour) -> (u32, Colour) {
        match self.crossing_of.get(cursor as usize) {
            Some(&crossing) if crossing != STRAIGHT => self.crossings[crossing as usize][colour as usize],
            _ => match self.sorted_crossings.binary_search_by_key(&(cursor, self.case(came, length)), |crossing| crossing.0) {
                Ok(found) => self.sorted_crossings[found].1[colour as usize],
                Err(_) => (cursor + 1, colour),
            },
        }
    }

    /// Marks the hops to which cells come one by one.
    fn find_streams(&mut self, network: &Network) {
        let is_of_cells = |hop: &Hop| hop.link < ENDPOINT && network.links[hop.link as usize].cells;
        // A port of cells, and an adapter, sends the cells of a queue one by one.
        let sends_cells = |hop: &Hop| is_of_cells(hop) || hop.link < ENDPOINT && network.links[hop.link as usize].adapter.is_some();
        // By queue of cells, the one queue of cells that feeds it; none if several do, or packets.
        let mut feeders: HashMap<(u32, u32), Option<(u32, u32)>> = HashMap::new();
        for (index, hop) in self.hops.iter().enumerate().filter(|(_, hop)| is_of_cells(hop)) {
            // Paths that part at a port are not followed: their packets are collected.
            let follows = hop.place > 0 && self.parted.binary_search(&(index as u32)).is_err();
            let before = if follows { Some(&self.hops[index - 1]) } else { None };
            let is_chosen = |hop: &Hop| hop.queue.0 & CHOSEN != 0;
            let from_one = before.filter(|before| sends_cells(before) && !is_chosen(before) && !is_chosen(hop));
            let feeder = from_one.map(|before| (before.link, before.queue.0));
            for queue in self.queues(*hop) {
                let known = feeders.entry((hop.link, queue.0)).or_insert(feeder);
                if *known != feeder {
                    *known = None;
                }
            }
        }
        for hop in self.hops.iter_mut().filter(|hop| hop.link < ENDPOINT) {
            hop.comes_one_by_one = feeders.get(&(hop.link, hop.queue.0)).is_some_and(Option::is_some);
        }
    }

    /// The class of each flow's first variant at every link of its path.
    pub(crate) fn classes(&self, network: &Network) -> Vec<Vec<(LinkId, usize)>> {
        let of_flow = |(flow, &variant): (usize, &u32)| {
            let path = &network.flows[flow].path;
            // A capture without packets has no variant, and the next flow's must not be taken for its own.
            if matches!(&network.flows[flow].source, Source::Capture(Capture { packets }) if packets.is_empty()) {
                return Vec::new();
            }
            let Variant { cursor, ecn, length, .. } = self.variants[variant as usize];
            let ecn = if let Source::Tcp(tcp) = &network.flows[flow].source { tcp.ecn.code_point(false) } else { ecn };
            let hops = self.hops[cursor as usize..].iter().zip(path);
            hops.map(|(hop, link)| (*link, network.links[link.0].port.classifier.class_of(self.queue(*hop, ecn, length)))).collect()
        };
        self.first_variant.iter().enumerate().map(of_flow).collect()
    }
}

/// The queues of packets with this header, by range of lengths.
fn choice(classifier: &Classifier, header: &Header, length_steps: &[u32]) -> Vec<QueueChoice> {
    let of_length = |length| {
        let header = Header { length, ..*header };
        let queues = if classifier.reads_ecn() {
            CODE_POINTS.map(|ecn| classifier.classify(&Header { network: header.network.with_ecn(ecn), ..header }))
        } else {
            [classifier.classify(&header); CODE_POINTS.len()]
        };
        QueueChoice { queues, keys: queues.map(|queue| classifier.key(&header, queue)) }
    };
    [0].iter().chain(length_steps).map(|&length| of_length(length)).collect()
}

/// A flow's path while it is being computed.
struct Way<'a> {
    network: &'a Network,
    flow: u32,
    path: &'a [LinkId],
    /// The link and the queue of the hop at its end.
    end: (u32, Flow),
    tags: bool,
    known: HashMap<(usize, Header), u32>,
}

/// The header of acknowledgements: source and destination exchanged.
pub fn reversed(header: &Header) -> Header {
    let mut header = *header;
    let turn = |transport: &mut Transport| transport.ports = transport.ports.map(|(source, destination)| (destination, source));
    match &mut header.network {
        Layer::V4 { source, destination, transport } => {
            std::mem::swap(source, destination);
            turn(transport);
        }
        Layer::V6 { source, destination, transport } => {
            std::mem::swap(source, destination);
            turn(transport);
        }
        _ => {}
    }
    header
}
