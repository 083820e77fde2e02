//! The ways that packets take, worked out once: which link comes next, and which queue of its port.
//!
//! A flow's header is classified at every port of its path when the simulation is built; of a capture's packets every distinct
//! header is. At run time a packet carries a cursor into one table, and a hop costs one look at it.

use crate::network::{LinkId, Network};
use crate::source::Source;
use std::collections::HashMap;
use std::sync::Arc;
use tidegate_core::classifier::{Header, Network as Layer, Transport};
use tidegate_core::packet::{Colour, Flow};

/// The link of a hop that stands for the sink.
pub(crate) const SINK: u32 = u32::MAX;

/// The link of a hop that stands for an end of a TCP connection. Unlike a sink it reacts, so a packet arrives there by an event.
pub(crate) const ENDPOINT: u32 = u32::MAX - 1;

/// Marks the flow of a hop on the way back, which acknowledgements take.
pub(crate) const BACK: u32 = 1 << 31;

/// One step of a packet's way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The link, [`SINK`] or [`ENDPOINT`].
    pub link: u32,
    /// The queue of its port; at an [`ENDPOINT`] the number of the connection.
    pub queue: Flow,
    /// The number of the link within the path, from 0.
    pub place: u16,
    /// True if packets arrive cell by cell: they have been on a link that carries cells, and come to a port at which cells contend.
    pub comes_as_cells: bool,
    /// True if cells come one by one, as the port of cells before has sent them: the queue has all its cells from one queue of that port.
    pub comes_one_by_one: bool,
    /// The flow; on the way back the number of the connection, and [`BACK`].
    pub flow: u32,
}

/// Where the packets with one header start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// The first hop, as an index into [`Routes::hops`].
    pub cursor: u32,
    /// The colour that the header gives the packet.
    pub colour: Colour,
}

/// The ways of all flows.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// The hops; those of one way follow each other, the sink last.
    pub hops: Vec<Hop>,
    /// The variants; those of one flow follow each other.
    pub variants: Vec<Variant>,
    /// Each flow's first variant.
    pub first_variant: Vec<u32>,
    /// Each flow's packets as variants, for captures.
    pub packet_variants: Vec<Arc<[u32]>>,
}

impl Routes {
    /// The ways through a network that has been checked.
    pub(crate) fn of(network: &Network) -> Routes {
        let mut routes = Routes { hops: Vec::new(), variants: Vec::new(), first_variant: Vec::new(), packet_variants: Vec::new() };
        let mut connections = 0;
        for (index, flow) in network.flows.iter().enumerate() {
            let number = index as u32;
            routes.first_variant.push(routes.variants.len() as u32);
            let mut packet_variants = Vec::new();
            match &flow.source {
                Source::Capture { packets } => {
                    let mut known: HashMap<Header, u32> = HashMap::new();
                    for packet in packets.iter() {
                        let next = known.len() as u32;
                        let variant = *known.entry(packet.header).or_insert(next);
                        if variant == next {
                            routes.add(network, number, &flow.path, &packet.header, (SINK, Flow(0)));
                        }
                        packet_variants.push(variant);
                    }
                }
                Source::Tcp(tcp) => {
                    let end = (ENDPOINT, Flow(connections));
                    routes.add(network, number, &flow.path, &flow.header, end);
                    routes.add(network, connections | BACK, &tcp.back, &reversed(&flow.header), end);
                    connections += 1;
                }
                _ => routes.add(network, number, &flow.path, &flow.header, (SINK, Flow(0))),
            }
            routes.packet_variants.push(packet_variants.into());
        }
        routes.find_streams(network);
        routes
    }

    fn add(&mut self, network: &Network, flow: u32, path: &[LinkId], header: &Header, end: (u32, Flow)) {
        self.variants.push(Variant { cursor: self.hops.len() as u32, colour: Colour::of(header) });
        let mut carries_cells = false;
        for (place, &link) in path.iter().enumerate() {
            let comes_as_cells = carries_cells && network.links[link.0].cells;
            carries_cells = network.links[link.0].carries_cells();
            let queue = network.links[link.0].port.classifier.classify(header);
            self.hops.push(Hop { link: link.0 as u32, queue, place: place as u16, comes_as_cells, comes_one_by_one: false, flow });
        }
        self.hops.push(Hop { link: end.0, queue: end.1, place: path.len() as u16, comes_as_cells: false, comes_one_by_one: false, flow });
    }

    /// Marks the hops to which cells come one by one.
    fn find_streams(&mut self, network: &Network) {
        let is_of_cells = |hop: &Hop| hop.link < ENDPOINT && network.links[hop.link as usize].cells;
        // A port of cells, and an adapter, sends the cells of a queue one by one.
        let sends_cells = |hop: &Hop| is_of_cells(hop) || hop.link < ENDPOINT && network.links[hop.link as usize].adapter.is_some();
        // Of every queue of cells the one queue of cells that leads to it; none if there are several, or others.
        let mut feeders: HashMap<(u32, u32), Option<(u32, u32)>> = HashMap::new();
        for (index, hop) in self.hops.iter().enumerate().filter(|(_, hop)| is_of_cells(hop)) {
            let before = if hop.place > 0 { Some(&self.hops[index - 1]) } else { None };
            let feeder = before.filter(|before| sends_cells(before)).map(|before| (before.link, before.queue.0));
            let known = feeders.entry((hop.link, hop.queue.0)).or_insert(feeder);
            if *known != feeder {
                *known = None;
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
            if matches!(&network.flows[flow].source, Source::Capture { packets } if packets.is_empty()) {
                return Vec::new();
            }
            let cursor = self.variants[variant as usize].cursor as usize;
            let hops = self.hops[cursor..].iter().zip(path);
            hops.map(|(hop, link)| (*link, network.links[link.0].port.classifier.class_of(hop.queue))).collect()
        };
        self.first_variant.iter().enumerate().map(of_flow).collect()
    }
}

/// The header of what comes back: addresses and ports change places.
fn reversed(header: &Header) -> Header {
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
