//! The TCP connections of a simulation: carries what their ends send to the data plane, and wakes them.
//!
//! The two ends of a connection share the event of its flow, which is due when the first of them has something to do. Each end acts at its own instants
//! only, so that it does the same where the other end is simulated elsewhere.

use super::agenda::Agenda;
use super::data_plane::DataPlane;
use super::packet::{InTransit, PacketMeta, WINDOW_REDUCED};
use super::starts::Starts;
use super::workloads::Workloads;
use crate::experiment::Experiment;
use crate::network::Network;
use crate::partition::{Share, ends, has};
use crate::random::Stream;
use crate::route::{BACK, Hop, Routes, Variant};
use crate::source::Source;
use crate::tagging::Tagger;
use crate::tcp::receiving_end::{ReceivingEnd, Transfer};
use crate::tcp::segment::{Message, NUMBER_BITS, Segment};
use crate::tcp::sending_end::SendingEnd;
use crate::time::NEVER;
use tidegate_core::packet::Colour;
use tidegate_core::units::Overhead;

/// The sending end of a connection, and where its packets start.
pub(super) struct SendingFlow<'a> {
    pub end: SendingEnd<'a>,
    /// The number of its flow.
    pub flow: usize,
    /// The number of the connection.
    pub number: usize,
    tagger: Tagger,
    /// Where data starts.
    pub starts: Starts,
}

/// The receiving end of a connection, and where its acknowledgements start.
pub(super) struct ReceivingFlow<'a> {
    pub end: ReceivingEnd<'a>,
    pub flow: usize,
    pub number: usize,
    /// Where acknowledgements start.
    pub starts: Starts,
}

/// The place of an end in another part of the network.
const ELSEWHERE: u32 = u32::MAX;

/// The places of the ends of a connection in their lists, or [`ELSEWHERE`].
#[derive(Clone, Copy)]
struct Places {
    sending: u32,
    receiving: u32,
}

pub(super) struct Connections<'a> {
    /// In the order of their flows; those of workloads come behind.
    pub sending: Vec<SendingFlow<'a>>,
    pub receiving: Vec<ReceivingFlow<'a>>,
    places: Vec<Places>,
    /// By flow of the network, the number of its connection, if it is one.
    connection_of: Vec<u32>,
    /// The number of the first connection of a workload.
    pub first_pooled: usize,
    pub workloads: Workloads<'a>,
}

impl<'a> Connections<'a> {
    /// The ends of connections in a network, or in a part of it.
    pub(super) fn new(
        network: &'a Network,
        experiment: &Experiment,
        routes: &Routes,
        replication: u32,
        workloads: Workloads<'a>,
        share: Option<Share>,
    ) -> Connections<'a> {
        let sample_interval = experiment.flow_interval();
        let warm_up = experiment.warm_up.picoseconds();
        let connection_of = vec![u32::MAX; network.flows.len()];
        let (sending, receiving, places) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = Connections { sending, receiving, places, connection_of, first_pooled: 0, workloads };
        for (index, flow) in network.flows.iter().enumerate() {
            let Source::Tcp(tcp) = &flow.source else { continue };
            let first = routes.first_variant[index] as usize;
            let number = all.places.len();
            all.connection_of[index] = number as u32;
            let mut places = Places { sending: ELSEWHERE, receiving: ELSEWHERE };
            let (from, to) = ends(network, flow);
            if has(share, from) {
                places.sending = all.sending.len() as u32;
                let stream = Stream::new(experiment.seed, replication, &flow.name);
                let stop = flow.stop.map_or(NEVER, |stop| stop.picoseconds());
                all.sending.push(SendingFlow {
                    end: SendingEnd::new(tcp, stream, flow.start.picoseconds(), stop, warm_up, sample_interval),
                    flow: index,
                    number,
                    tagger: Tagger::new(flow.tagging.as_ref(), network.links[flow.path[0].0].overhead()),
                    starts: Starts::of_one(routes.variants[first]),
                });
            }
            if has(share, to) {
                places.receiving = all.receiving.len() as u32;
                all.receiving.push(ReceivingFlow {
                    end: ReceivingEnd::new(tcp, warm_up),
                    flow: index,
                    number,
                    starts: Starts::of_one(routes.variants[first + 1]),
                });
            }
            all.places.push(places);
        }
        all.first_pooled = all.places.len();
        all
    }

    /// The receiving end of a connection learns from another part of the network that a transfer begins.
    pub(super) fn expect(&mut self, connection: usize, transfer: Transfer) {
        self.receiving[self.places[connection].receiving as usize].end.expect(transfer);
    }

    /// Adds the ends of another part of the network.
    pub(super) fn absorb(&mut self, part: Connections<'a>) {
        self.sending.extend(part.sending);
        self.receiving.extend(part.receiving);
        self.sending.sort_by_key(|tcp| tcp.number);
        self.receiving.sort_by_key(|tcp| tcp.number);
    }

    /// What a connection sends takes other paths from now on, or what comes back to it.
    pub(super) fn reroute(&mut self, flow: usize, is_back: bool, paths: &[Variant], hash: u64) {
        self.set_starts(self.connection_of[flow] as usize, is_back, paths, (hash, 0));
    }

    /// Packets of a connection start on these paths from now on; they choose by a hash, and by their number after `before`.
    pub(super) fn set_starts(&mut self, number: usize, is_back: bool, paths: &[Variant], (hash, before): (u64, u64)) {
        let Places { sending, receiving } = self.places[number];
        if is_back {
            self.receiving[receiving as usize].starts = Starts::new(paths, !hash, before);
        } else {
            self.sending[sending as usize].starts = Starts::new(paths, hash, before);
        }
    }

    /// A connection of a workload arrives: in a new slot behind all others, or in that of an old one.
    pub(super) fn put(&mut self, number: usize, sending: SendingFlow<'a>, receiving: ReceivingFlow<'a>) {
        match self.places.get(number) {
            Some(&places) => {
                self.sending[places.sending as usize] = sending;
                self.receiving[places.receiving as usize] = receiving;
            }
            None => {
                self.places.push(Places { sending: self.sending.len() as u32, receiving: self.receiving.len() as u32 });
                self.sending.push(sending);
                self.receiving.push(receiving);
            }
        }
    }

    /// The number of connections of the network.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// The number of sending hosts that take time to send: of all connections, or 0 if none does.
    pub(super) fn slow_hosts(&self) -> usize {
        if self.sending.iter().all(|tcp| tcp.end.tcp().is_instant()) { 0 } else { self.count() }
    }

    pub(super) fn set_first_events(&self, agenda: &mut Agenda) {
        self.receiving.iter().for_each(|tcp| agenda.set_source(tcp.flow, NEVER));
        self.sending.iter().for_each(|tcp| agenda.set_source(tcp.flow, tcp.end.wake()));
    }

    /// Forgets what the ends have measured so far.
    pub(super) fn restart(&mut self) {
        self.sending.iter_mut().for_each(|tcp| tcp.end.restart());
        self.receiving.iter_mut().for_each(|tcp| tcp.end.disregard());
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
        self.follow(now, number, plane);
        let flows = &mut plane.flows;
        flows.pool.settle(number as u32, &flows.reverse_path);
    }

    /// Something has happened at a connection of a workload.
    fn follow(&mut self, now: u64, number: usize, plane: &mut DataPlane) {
        let places = self.places[number];
        let sending = &self.sending[places.sending as usize];
        let receiving = &self.receiving[places.receiving as usize].end;
        self.workloads.follow(now, (number - self.first_pooled, sending.flow), (&sending.end, receiving), plane);
    }

    #[inline]
    fn exchange(&mut self, now: u64, number: usize, hop: Hop, packet: InTransit, plane: &mut DataPlane) {
        let places = self.places[number];
        if hop.flow & BACK == 0 {
            self.receive_segment(now, places, packet, plane);
        } else {
            plane.flows.reverse_path.meters[number].delivered.add(packet.length);
            let message = plane.flows.reverse_path.take(packet.meta.flags);
            let tcp = &mut self.sending[places.sending as usize];
            let mut sooner = false;
            match message {
                Message::Ack(ack) => sooner = tcp.end.on_ack(now, &ack),
                Message::Request(request) => tcp.end.on_request(now, request),
                Message::Open => tcp.open(now, plane),
            }
            sooner |= tcp.send(now, plane);
            tcp.reschedule(now, sooner, plane);
            if let Some(transfer) = tcp.end.announcement() {
                tcp.announce(self.receiving.get_mut(places.receiving as usize), transfer, plane);
            }
        }
    }

    /// A packet reaches the receiving end.
    #[inline]
    fn receive_segment(&mut self, now: u64, places: Places, packet: InTransit, plane: &mut DataPlane) {
        let (length, meta) = (packet.length, packet.meta);
        let tcp = &mut self.receiving[places.receiving as usize];
        let is_measured = plane.flows.deliver(now, tcp.flow as u32, &packet);
        let data = length - tcp.end.tcp().headers;
        if data > 0 {
            let number = tcp.end.number(meta.segment_number());
            let answers = tcp.end.on_segment(now, number, data, meta.ecn(), meta.says_reduced());
            if tcp.end.has_transfers() {
                self.complete(now, places, number, plane);
            }
            let tcp = &mut self.receiving[places.receiving as usize];
            answers.into_iter().flatten().for_each(|ack| tcp.send(now, Message::Ack(ack), plane));
        } else {
            let asks = self.sending.get_mut(places.sending as usize).filter(|sending| sending.end.answers_requests());
            let request = asks.and_then(|sending| {
                let request = sending.end.on_opened(now);
                sending.reschedule(now, false, plane);
                request
            });
            tcp.send(now, request.unwrap_or_else(|| Message::Ack(tcp.end.on_opening())), plane);
        }
        let tcp = &mut self.receiving[places.receiving as usize];
        if !is_measured {
            tcp.end.disregard();
        }
        tcp.reschedule(now, plane);
    }

    /// A segment of a finite transfer has arrived, which may complete it.
    fn complete(&mut self, now: u64, places: Places, number: u64, plane: &mut DataPlane) {
        let receiving = &mut self.receiving[places.receiving as usize].end;
        match self.sending.get_mut(places.sending as usize).filter(|sending| sending.end.answers_requests()) {
            Some(sending) => {
                if let Some(began) = sending.end.on_delivered(now, number, receiving.next()) {
                    receiving.completed(now, began);
                }
                sending.reschedule(now, false, plane);
            }
            None => receiving.complete(now),
        }
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
        let places = self.places[number];
        plane.agenda.set_source(flow, NEVER);
        // An event for each end that has one, wherever the other end is simulated.
        plane.events -= 1;
        let mut next = NEVER;
        if let Some(tcp) = self.receiving.get_mut(places.receiving as usize) {
            if tcp.end.wake() <= now {
                plane.events += 1;
                if let Some(ack) = tcp.end.on_timer(now) {
                    tcp.send(now, Message::Ack(ack), plane);
                }
                tcp.end.reschedule(now);
            }
            next = tcp.end.wake();
        }
        if let Some(tcp) = self.sending.get_mut(places.sending as usize) {
            if tcp.end.wake() <= now {
                plane.events += 1;
                let (message, opens) = tcp.end.on_timer(now);
                if let Some(message) = message {
                    self.receiving[places.receiving as usize].send(now, message, plane);
                }
                if opens {
                    tcp.open(now, plane);
                }
                tcp.send(now, plane);
                tcp.end.reschedule(now, true);
                if let Some(transfer) = tcp.end.announcement() {
                    tcp.announce(self.receiving.get_mut(places.receiving as usize), transfer, plane);
                }
            }
            next = next.min(tcp.end.wake());
        }
        plane.agenda.set_source(flow, next);
        if number >= self.first_pooled {
            self.follow(now, number, plane);
        }
    }

    pub(super) fn leave(&mut self, now: u64, number: usize, plane: &mut DataPlane) {
        let tcp = &mut self.sending[self.places[number].sending as usize];
        let (segment, next) = tcp.end.leave();
        plane.agenda.set_host(number, next);
        if let Some(segment) = segment {
            tcp.depart(now, segment, plane);
        }
        if number >= self.first_pooled {
            self.follow(now, number, plane);
        }
    }
}

impl<'a> SendingFlow<'a> {
    /// That of a workload's connection.
    pub(super) fn of_workload(end: SendingEnd<'a>, flow: usize, number: usize, starts: Starts) -> SendingFlow<'a> {
        SendingFlow { end, flow, number, tagger: Tagger::new(None, Overhead::None), starts }
    }

    /// Tells the receiving end of a transfer that begins.
    #[cold]
    fn announce(&self, receiving: Option<&mut ReceivingFlow>, transfer: Transfer, plane: &mut DataPlane) {
        match receiving {
            Some(receiving) => receiving.end.expect(transfer),
            None => plane.announce(self.flow, self.number, transfer),
        }
    }

    #[inline]
    fn reschedule(&mut self, now: u64, sooner: bool, plane: &mut DataPlane) {
        if let Some(at) = self.end.reschedule(now, sooner) {
            plane.agenda.set_source_by(self.flow, at);
        }
    }

    /// Takes all that the connection may send now. True if its timer was started.
    #[inline]
    fn send(&mut self, now: u64, plane: &mut DataPlane) -> bool {
        let was_waiting = self.end.sender.is_waiting();
        while let Some(segment) = self.end.next_segment(now) {
            self.post(now, segment, plane);
        }
        !was_waiting
    }

    /// The sending end opens the connection, or agrees to open it.
    #[cold]
    fn open(&mut self, now: u64, plane: &mut DataPlane) {
        let segment = self.end.opening();
        self.post(now, segment, plane);
    }

    /// A segment goes through the sending host.
    #[inline]
    fn post(&mut self, now: u64, segment: Segment, plane: &mut DataPlane) {
        if self.end.tcp().is_instant() {
            self.depart(now, segment, plane);
        } else if let Some(leaves) = self.end.post(now, segment) {
            plane.agenda.set_host(self.number, leaves);
        }
    }

    #[inline]
    fn depart(&mut self, now: u64, segment: Segment, plane: &mut DataPlane) {
        let tcp = self.end.tcp();
        let mut flags = segment.number as u32 & ((1 << NUMBER_BITS) - 1);
        flags |= PacketMeta::ecn_flags(segment.ecn) | if segment.reduced { WINDOW_REDUCED } else { 0 };
        let length = segment.length + tcp.headers;
        let Some(start) = self.starts.of(plane.flows.emitted(self.flow)) else {
            plane.flows.emit(self.flow, length, false);
            return plane.flows.lose_unrouted(self.flow, length);
        };
        let colour = self.tagger.colour(now, length, start.colour);
        plane.flows.emit(self.flow, length, colour != Colour::Green);
        plane.arrive(now, InTransit::emitted(now, start.cursor, flags, length, colour));
    }
}

impl<'a> ReceivingFlow<'a> {
    /// That of a workload's connection.
    pub(super) fn of_workload(end: ReceivingEnd<'a>, flow: usize, number: usize, starts: Starts) -> ReceivingFlow<'a> {
        ReceivingFlow { end, flow, number, starts }
    }

    #[inline]
    fn reschedule(&mut self, now: u64, plane: &mut DataPlane) {
        if let Some(at) = self.end.reschedule(now) {
            plane.agenda.set_source_by(self.flow, at);
        }
    }

    /// An acknowledgement or a request sets out.
    #[inline]
    fn send(&mut self, now: u64, message: Message, plane: &mut DataPlane) {
        let length = self.end.tcp().length_of(&message);
        let reverse_path = &mut plane.flows.reverse_path;
        let packet = reverse_path.meters[self.number].emitted.packets;
        reverse_path.meters[self.number].emitted.add(length);
        match self.starts.of(packet) {
            Some(start) => {
                let place = reverse_path.put(message);
                plane.arrive(now, InTransit::returned(now, start, place, length));
            }
            None => plane.flows.lose_answer_unrouted(self.number, length),
        }
    }
}
