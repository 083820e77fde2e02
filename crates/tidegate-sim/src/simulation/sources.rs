//! The traffic sources of a simulation, in the order of their flows.

use super::data_plane::DataPlane;
use super::packet::{InTransit, PacketMeta};
use crate::experiment::Experiment;
use crate::network::{FlowSpec, Network};
use crate::partition::{Share, ends, has};
use crate::random::{Stream, spread_hash};
use crate::route::{Routes, Start};
use crate::source::Source;
use crate::source::greedy::GreedyWindow;
use crate::source::role::Generator;
use crate::source::sender_shaper::SenderShaper;
use crate::tagging::Tagger;
use crate::time::NEVER;
use tidegate_core::packet::Colour;

struct FlowSource {
    /// `None` if the network drives the source.
    generator: Option<Box<dyn Generator>>,
    stream: Stream,
    stop: u64,
    start: Start,
    /// By which packets choose among several paths.
    hash: u64,
    tagger: Tagger,
}

pub(super) struct Sources(Vec<FlowSource>);

impl Sources {
    pub(super) fn new(network: &Network, experiment: &Experiment, routes: &Routes, replication: u32, share: Option<Share>) -> Sources {
        let overhead = |flow: &FlowSpec| network.links[flow.path[0].0].overhead();
        let generator = |index: usize, flow: &FlowSpec| -> Option<Box<dyn Generator>> {
            if !has(share, ends(network, flow).0) {
                return None;
            }
            let source = flow.source.start(&routes.packet_variants[index])?;
            let Some(contract) = &flow.shaping else { return Some(source) };
            Some(Box::new(SenderShaper::new(source, contract, overhead(flow))))
        };
        let source = |(index, flow): (usize, &FlowSpec)| FlowSource {
            generator: generator(index, flow),
            stream: Stream::new(experiment.seed, replication, &flow.name),
            stop: flow.stop.map_or(NEVER, |stop| stop.picoseconds()),
            start: Start::of_one_path(routes.first_variant[index]),
            hash: spread_hash(experiment.seed, replication, &flow.name),
            tagger: Tagger::new(flow.tagging.as_ref(), overhead(flow)),
        };
        Sources(network.flows.iter().enumerate().map(source).collect())
    }

    /// The first event of a flow's source that starts at `start`, or [`NEVER`] if it stops before.
    pub(super) fn first(&mut self, flow: usize, start: u64) -> u64 {
        let source = &mut self.0[flow];
        let first = source.generator.as_mut().map_or(start, |generator| generator.first(start, &mut source.stream));
        if first < source.stop { first } else { NEVER }
    }

    /// The packets of a flow take other paths from now on.
    pub(super) fn reroute(&mut self, flow: usize, start: Start) {
        self.0[flow].start = start;
    }

    /// Starts the source of a call afresh.
    pub(super) fn restart(&mut self, now: u64, flow: usize, plane: &mut DataPlane) {
        let first = self.first(flow, now);
        plane.agenda.set_source(flow, first);
    }

    /// Stops the source of a call.
    pub(super) fn stop(&mut self, flow: usize, plane: &mut DataPlane) {
        plane.agenda.set_source(flow, NEVER);
    }

    /// A source's packet is due, or a greedy source tries again. False if the flow is a TCP connection.
    #[inline]
    pub(super) fn emit(&mut self, now: u64, flow: usize, plane: &mut DataPlane) -> bool {
        let source = &mut self.0[flow];
        let Some(generator) = &mut source.generator else {
            let Some(window) = plane.flows.greedy(flow) else { return false };
            window.retry();
            self.fill(now, flow, plane);
            return true;
        };
        let emission = generator.emit(now, &mut source.stream);
        plane.agenda.set_source(flow, if emission.next < source.stop { emission.next } else { NEVER });
        source.send(now, flow, emission.variant, emission.length, plane);
        true
    }

    /// Lets a greedy source fill its window.
    #[cold]
    pub(super) fn fill(&mut self, now: u64, flow: usize, plane: &mut DataPlane) {
        let source = &mut self.0[flow];
        if now >= source.stop {
            return plane.agenda.set_source(flow, NEVER);
        }
        while let Some(window) = plane.flows.greedy(flow) {
            if !window.offers() {
                let retry = window.retry_after().map_or(NEVER, |interval| now + interval);
                return plane.agenda.set_source(flow, retry);
            }
            let length = window.length;
            source.send(now, flow, 0, length, plane);
        }
    }
}

impl FlowSource {
    #[inline]
    fn send(&mut self, now: u64, flow: usize, variant: u32, length: u32, plane: &mut DataPlane) {
        let packet = plane.flows.meters[flow].emitted.packets;
        let Some(variant) = self.start.variant(variant, self.hash, packet) else {
            plane.flows.meters[flow].emit(length, false);
            return plane.flows.lose_unrouted(flow, length);
        };
        let variant = plane.flows.routes.fixed.variants[variant];
        let colour = self.tagger.colour(now, length, variant.colour);
        plane.flows.meters[flow].emit(length, colour != Colour::Green);
        plane.arrive(now, InTransit::emitted(now, variant.cursor, PacketMeta::ecn_flags(variant.ecn), length, colour));
    }
}

pub(super) fn greedy_windows(network: &Network) -> Vec<Option<GreedyWindow>> {
    let window = |flow: &FlowSpec| match &flow.source {
        Source::Greedy(greedy) => {
            let port = &network.links[flow.path[0].0].port;
            let retry_interval = port.rate.time_per_byte().ceil(port.overhead.wire_length(greedy.length));
            Some(GreedyWindow::new(greedy.length, greedy.window, retry_interval.picoseconds()))
        }
        _ => None,
    };
    network.flows.iter().map(window).collect()
}
