//! The TCP connections of a simulation: carries what their ends send to the data plane, and wakes them.

use super::agenda::Agenda;
use super::data_plane::DataPlane;
use super::packet::{InTransit, PacketMeta, WINDOW_REDUCED};
use super::workloads::Workloads;
use crate::experiment::Experiment;
use crate::network::Network;
use crate::random::Stream;
use crate::route::{BACK, Hop, Routes, Start, Variant};
use crate::source::Source;
use crate::tagging::Tagger;
use crate::tcp::connection::Connection;
use crate::tcp::segment::{Message, NUMBER_BITS, Segment};
use crate::time::NEVER;
use tidegate_core::packet::Colour;
use tidegate_core::units::Overhead;

/// One connection, and where its packets start.
pub(super) struct TcpFlow<'a> {
    pub connection: Connection<'a>,
    /// The number of its flow.
    pub flow: usize,
    tagger: Tagger,
    data: Variant,
    acknowledgements: Variant,
    /// The paths of data and of acknowledgements, if one of them has not exactly one.
    starts: Option<Box<Starts>>,
}

struct Starts {
    data: Start,
    acknowledgements: Start,
    hash: u64,
}

pub(super) struct Connections<'a> {
    /// In the order of their flows; those of workloads come behind.
    pub all: Vec<TcpFlow<'a>>,
    /// By flow of the network, the number of its connection, if it is one.
    connection_of: Vec<u32>,
    /// The number of the first connection of a workload.
    first_pooled: usize,
    pub workloads: Workloads<'a>,
}

impl<'a> Connections<'a> {
    pub(super) fn new(
        network: &'a Network,
        experiment: &Experiment,
        routes: &Routes,
        replication: u32,
        workloads: Workloads<'a>,
    ) -> Connections<'a> {
        let sample_interval = experiment.sample_interval.map_or(0, |interval| interval.picoseconds());
        let (mut all, mut connection_of) = (Vec::new(), vec![u32::MAX; network.flows.len()]);
        for (index, flow) in network.flows.iter().enumerate() {
            let Source::Tcp(tcp) = &flow.source else { continue };
            let stream = Stream::new(experiment.seed, replication, &flow.name);
            let stop = flow.stop.map_or(NEVER, |stop| stop.picoseconds());
            let first = routes.first_variant[index] as usize;
            connection_of[index] = all.len() as u32;
            all.push(TcpFlow {
                connection: Connection::new(tcp, stream, flow.start.picoseconds(), stop, experiment.warm_up.picoseconds(), sample_interval),
                flow: index,
                tagger: Tagger::new(flow.tagging.as_ref(), network.links[flow.path[0].0].overhead()),
                data: routes.variants[first],
                acknowledgements: routes.variants[first + 1],
                starts: None,
            });
        }
        Connections { first_pooled: all.len(), all, connection_of, workloads }
    }

    /// What a connection sends takes other paths from now on, or what comes back to it.
    pub(super) fn reroute(&mut self, flow: usize, is_back: bool, start: Start, plane: &DataPlane, hash: impl Fn() -> u64) {
        let tcp = &mut self.all[self.connection_of[flow] as usize];
        let first = plane.flows.routes.fixed.first_variant[flow];
        let starts = tcp.starts.get_or_insert_with(|| {
            let [data, acknowledgements] = [first, first + 1].map(Start::of_one_path);
            Box::new(Starts { data, acknowledgements, hash: hash() })
        });
        *(if is_back { &mut starts.acknowledgements } else { &mut starts.data }) = start;
    }

    /// The number of sending hosts that take time to send: of all connections, or 0 if none does.
    pub(super) fn slow_hosts(&self) -> usize {
        if self.all.iter().all(|tcp| tcp.connection.tcp().is_instant()) { 0 } else { self.all.len() }
    }

    pub(super) fn set_first_events(&self, agenda: &mut Agenda) {
        for TcpFlow { connection, flow, .. } in &self.all {
            agenda.set_source(*flow, if connection.wake() < connection.stop() { connection.wake() } else { NEVER });
        }
    }

    /// A packet reaches an end of its connection, which answers.
    #[inline]
    pub(super) fn receive(&mut self, now: u64, hop: Hop, packet: InTransit, plane: &mut DataPlane) {
        let number = hop.queue.index();
        if number >= self.first_pooled {
            return self.receive_of_workload(now, number, hop, packet, plane);
        }
        self.exchange(now, number, hop, packet, plane);
    }

    /// The same for a connection of a workload.
    fn receive_of_workload(&mut self, now: u64, number: usize, hop: Hop, packet: InTransit, plane: &mut DataPlane) {
        self.exchange(now, number, hop, packet, plane);
        let tcp = &self.all[number];
        self.workloads.follow(now, (number - self.first_pooled, tcp.flow), &tcp.connection, plane);
        let flows = &mut plane.flows;
        flows.pool.settle(number as u32, &flows.reverse_path);
    }

    #[inline]
    fn exchange(&mut self, now: u64, number: usize, hop: Hop, packet: InTransit, plane: &mut DataPlane) {
        let (length, meta) = (packet.length, packet.meta);
        let tcp = &mut self.all[number];
        let mut sooner = false;
        if hop.flow & BACK == 0 {
            let is_measured = plane.flows.deliver(now, hop.flow, &packet);
            let data = length - tcp.connection.tcp().headers;
            let (earlier, answer) = tcp.connection.on_segment(now, meta.segment_number(), data, meta.ecn(), meta.says_reduced());
            for message in earlier.map(Message::Ack).into_iter().chain(answer) {
                tcp.send_back(now, number, message, plane);
            }
            if !is_measured {
                tcp.connection.disregard();
            }
        } else {
            plane.flows.reverse_path.meters[number].delivered.add(length);
            match plane.flows.reverse_path.take(meta.flags) {
                Message::Ack(ack) => sooner = tcp.connection.on_ack(now, &ack),
                Message::Request(request) => tcp.connection.on_request(now, request),
                Message::Open => tcp.open(now, number, plane),
            }
            sooner |= tcp.send(now, number, plane);
        }
        tcp.reschedule(now, sooner, plane);
    }

    /// The pending event of a flow's connection is due.
    #[cold]
    pub(super) fn wake(&mut self, now: u64, flow: usize, plane: &mut DataPlane) {
        let number = match self.connection_of.get(flow) {
            Some(&number) => number as usize,
            None => {
                let slot = flow - self.connection_of.len();
                if self.workloads.is_closed(slot) {
                    // A closed connection has nothing to do by itself, and its slot may be free.
                    return plane.agenda.set_source(flow, NEVER);
                }
                slot + self.first_pooled
            }
        };
        let tcp = &mut self.all[number];
        let (ack, message, opens) = tcp.connection.on_timer(now);
        for message in ack.map(Message::Ack).into_iter().chain(message) {
            tcp.send_back(now, number, message, plane);
        }
        if opens {
            tcp.open(now, number, plane);
        }
        tcp.send(now, number, plane);
        plane.agenda.set_source(flow, NEVER);
        tcp.reschedule(now, true, plane);
    }

    pub(super) fn leave(&mut self, now: u64, number: usize, plane: &mut DataPlane) {
        let tcp = &mut self.all[number];
        let (segment, next) = tcp.connection.leave();
        plane.agenda.set_host(number, next);
        if let Some(segment) = segment {
            tcp.depart(now, segment, plane);
        }
        if let Some(slot) = number.checked_sub(self.first_pooled) {
            let tcp = &self.all[number];
            self.workloads.follow(now, (slot, tcp.flow), &tcp.connection, plane);
        }
    }
}

impl<'a> TcpFlow<'a> {
    /// A connection of a workload that arrives.
    pub(super) fn of_workload(connection: Connection<'a>, flow: usize, data: Variant, acknowledgements: Variant) -> TcpFlow<'a> {
        TcpFlow { connection, flow, tagger: Tagger::new(None, Overhead::None), data, acknowledgements, starts: None }
    }

    #[inline]
    fn reschedule(&mut self, now: u64, sooner: bool, plane: &mut DataPlane) {
        if let Some(at) = self.connection.reschedule(now, sooner) {
            plane.agenda.set_source(self.flow, at);
        }
    }

    /// Takes all that the connection may send now. True if its timer was started.
    #[inline]
    fn send(&mut self, now: u64, number: usize, plane: &mut DataPlane) -> bool {
        let was_waiting = self.connection.sender.is_waiting();
        while let Some(segment) = self.connection.next_segment(now) {
            self.post(now, number, segment, plane);
        }
        !was_waiting
    }

    /// The sending end opens the connection, or agrees to open it.
    #[cold]
    fn open(&mut self, now: u64, number: usize, plane: &mut DataPlane) {
        let segment = self.connection.opening();
        self.post(now, number, segment, plane);
    }

    /// A segment goes through the sending host.
    #[inline]
    fn post(&mut self, now: u64, number: usize, segment: Segment, plane: &mut DataPlane) {
        if self.connection.tcp().is_instant() {
            self.depart(now, segment, plane);
        } else if let Some(leaves) = self.connection.post(now, segment) {
            plane.agenda.set_host(number, leaves);
        }
    }

    #[inline]
    fn depart(&mut self, now: u64, segment: Segment, plane: &mut DataPlane) {
        let tcp = self.connection.tcp();
        let mut flags = segment.number as u32 & ((1 << NUMBER_BITS) - 1);
        flags |= PacketMeta::ecn_flags(segment.ecn) | if segment.reduced { WINDOW_REDUCED } else { 0 };
        let length = segment.length + tcp.headers;
        let mut start = self.data;
        if let Some(starts) = &self.starts {
            let packet = plane.flows.meters[self.flow].emitted.packets;
            let Some(variant) = starts.data.variant(0, starts.hash, packet) else {
                plane.flows.meters[self.flow].emit(length, false);
                return plane.flows.lose_unrouted(self.flow, length);
            };
            start = plane.flows.routes.fixed.variants[variant];
        }
        let colour = self.tagger.colour(now, length, start.colour);
        plane.flows.emit(self.flow, length, colour != Colour::Green);
        plane.arrive(now, InTransit::emitted(now, start.cursor, flags, length, colour));
    }

    /// An acknowledgement or a request sets out.
    #[inline]
    fn send_back(&mut self, now: u64, number: usize, message: Message, plane: &mut DataPlane) {
        let length = self.connection.tcp().length_of(&message);
        let mut start = Some(self.acknowledgements);
        let reverse_path = &mut plane.flows.reverse_path;
        let packet = reverse_path.meters[number].emitted.packets;
        reverse_path.meters[number].emitted.add(length);
        if let Some(starts) = &self.starts {
            let variant = starts.acknowledgements.variant(0, !starts.hash, packet);
            start = variant.map(|variant| plane.flows.routes.fixed.variants[variant]);
        }
        match start {
            Some(start) => {
                let place = reverse_path.put(message);
                plane.arrive(now, InTransit::returned(now, start, place, length));
            }
            None => plane.flows.lose_answer_unrouted(number, length),
        }
    }
}
