//! The port of a link that several workers share: one port per worker, at rates that they exchange.
//!
//! It has one event: the next end of a transmission, the next instant at which a scheduler wants to be asked, or the next exchange. Each worker transmits at
//! its granted rate, so transmissions of different workers overlap, and a packet is on the link from the end of its own.

use super::flows::PortWatch;
use super::packet::{InTransit, PacketMeta};
use crate::network::Link;
use crate::time::NEVER;
use tidegate_core::classifier::FlowKey;
use tidegate_core::exchange::{Exchange, Limits, Report, WorkerMeter};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet};
use tidegate_core::port::{Counters, Next, Port, PortSetup, Transmission, Volume};
use tidegate_core::queue::Occupancy;
use tidegate_core::random::SplitMix64;
use tidegate_core::units::{Overhead, Rate, Time, TimePerByte};

pub(super) struct WorkersPort {
    workers: Vec<Worker>,
    exchange: Exchange,
    /// By flow: its worker.
    worker_of: Vec<u32>,
    reports: Vec<Report>,
    interval: u64,
    next_exchange: u64,
    /// The link's own rate.
    link: TimePerByte,
    overhead: Overhead,
    /// The time that the link needs for what has been started, in all and before the end of the warm-up.
    carried: u64,
    carried_before: u64,
}

struct Worker {
    port: Port<PacketMeta>,
    meter: WorkerMeter,
    limits: Limits,
    rate: Rate,
    under_way: Option<EndedTransmission>,
    /// When the transmission under way ends, or when the port wants to be asked again.
    wake: u64,
}

/// A packet whose transmission ends.
#[derive(Clone, Copy)]
pub(super) struct EndedTransmission {
    pub packet: InTransit,
    /// The code point of congestion notification with which it came.
    pub came: Ecn,
    pub start: u64,
}

impl WorkersPort {
    /// The port of a link that has been checked; `None` if one worker has all of it.
    pub(super) fn of(link: &Link, seed: u64) -> Option<WorkersPort> {
        let plan = link.workers.as_ref()?;
        let (rate, overhead) = (link.port.rate, link.port.overhead);
        let longest = overhead.wire_length(link.port.longest_frame);
        let exchange = Exchange::new(Time::ZERO, plan, rate, longest).ok()?;
        let mut seeds = SplitMix64::new(seed);
        let meter = WorkerMeter::new(overhead, rate, plan);
        let worker = |number: usize| {
            let mut port = Port::new(Time::ZERO, PortSetup { seed: seeds.next_word(), ..link.port.clone() });
            let rate = exchange.granted(number)[0];
            port.change_link_rate(Time::ZERO, rate);
            let limits = Limits::new(&exchange, plan, number);
            limits.begin(Time::ZERO, &mut port);
            Worker { port, meter: meter.clone(), limits, rate, under_way: None, wake: NEVER }
        };
        Some(WorkersPort {
            workers: (0..plan.count as usize).map(worker).collect(),
            worker_of: (0..plan.part_of.len()).map(|flow| plan.worker_of(flow)).collect(),
            reports: Vec::with_capacity(plan.count as usize * plan.nodes.len()),
            interval: plan.exchange_every.picoseconds(),
            next_exchange: plan.exchange_every.picoseconds(),
            link: rate.time_per_byte(),
            exchange,
            overhead,
            carried: 0,
            carried_before: 0,
        })
    }

    pub(super) fn workers(&self) -> usize {
        self.workers.len()
    }

    /// When something happens next.
    pub(super) fn next(&self) -> u64 {
        self.workers.iter().map(|worker| worker.wake).fold(self.next_exchange, u64::min)
    }

    /// The bytes that wait at all workers.
    pub(super) fn backlog(&self) -> u64 {
        self.workers.iter().map(|worker| worker.port.occupancy().bytes()).sum()
    }

    /// A packet comes to the worker of its flow.
    pub(super) fn arrive(&mut self, now: u64, packet: Packet<PacketMeta>, key: Option<FlowKey>, watch: &mut PortWatch) {
        let number = self.worker_of[packet.flow.index()] as usize;
        watch.meter.elsewhere = self.backlog() - self.workers[number].port.occupancy().bytes();
        let worker = &mut self.workers[number];
        worker.port.offer_keyed(packet, key, &mut Watched { meter: &mut worker.meter, watch });
        watch.meter.elsewhere = 0;
        if worker.under_way.is_none() && worker.port.occupancy().packets() > 0 {
            worker.wake = now;
        }
    }

    /// The packet of a worker whose transmission ends now.
    pub(super) fn departed(&mut self, now: u64, worker: usize) -> Option<EndedTransmission> {
        let worker = &mut self.workers[worker];
        if worker.wake > now { None } else { worker.under_way.take() }
    }

    /// Sets the rates anew if it is time. No transmission ends at this instant any more.
    pub(super) fn exchange(&mut self, now: u64) {
        if now < self.next_exchange {
            return;
        }
        self.next_exchange += self.interval;
        self.reports.clear();
        self.workers.iter_mut().for_each(|worker| self.reports.extend(worker.meter.take_reports()));
        let at = Time::from_picoseconds(now);
        self.exchange.exchange(at, &self.reports);
        for (number, worker) in self.workers.iter_mut().enumerate() {
            let granted = self.exchange.granted(number);
            self.exchange.levels().enumerate().for_each(|(node, level)| worker.meter.set_level(node, level));
            if !worker.limits.follow(at, &mut worker.port, granted.iter().copied()) {
                continue;
            }
            if worker.under_way.is_some() {
                // What is left of the transmission takes that much less or more time, as in the port.
                let left = u128::from(worker.wake - now) * u128::from(worker.rate.bits_per_second());
                worker.wake = now + left.div_ceil(u128::from(granted[0].bits_per_second())) as u64;
            } else if worker.port.occupancy().packets() > 0 {
                worker.wake = now;
            }
            worker.rate = granted[0];
        }
    }

    /// Asks the port of a worker if it is time, and starts what it answers.
    pub(super) fn poll(&mut self, now: u64, number: usize, watch: &mut PortWatch) {
        if self.workers[number].wake > now {
            return;
        }
        watch.meter.elsewhere = self.backlog() - self.workers[number].port.occupancy().bytes();
        let worker = &mut self.workers[number];
        let next = worker.port.poll(Time::from_picoseconds(now), &mut Watched { meter: &mut worker.meter, watch });
        watch.meter.elsewhere = 0;
        worker.wake = match next {
            Next::Transmit(Transmission { packet, start, finish }) => {
                self.carried += self.link.ceil(self.overhead.wire_length(packet.length)).picoseconds();
                let came = packet.payload.ecn();
                worker.under_way = Some(EndedTransmission { packet: InTransit::from_port(&packet), came, start: start.picoseconds() });
                finish.picoseconds()
            }
            Next::WaitUntil(time) => time.picoseconds(),
            Next::Idle => NEVER,
        };
    }

    /// Everything that the ports have counted, and what is queued.
    pub(super) fn accounts(&self) -> (Counters, Volume) {
        let mut sum = (Counters::default(), Volume::default());
        for Worker { port, .. } in &self.workers {
            let (counters, queued) = &mut sum;
            let Counters { offered, sent, dropped, marked } = *port.counters();
            counters.offered += offered;
            counters.sent += sent;
            counters.marked += marked;
            counters.dropped.iter_mut().zip(dropped).for_each(|(sum, dropped)| *sum += dropped);
            *queued += Volume { packets: u64::from(port.occupancy().packets()), bytes: port.occupancy().bytes() };
        }
        sum
    }

    /// The packets that are in transmission: they count as sent, and are not on the link yet.
    pub(super) fn under_way(&self) -> Volume {
        let mut sum = Volume::default();
        self.workers.iter().filter_map(|worker| worker.under_way).for_each(|departure| sum.add(departure.packet.length));
        sum
    }

    /// The warm-up ends.
    pub(super) fn restart(&mut self) {
        self.carried_before = self.carried;
    }

    /// The part of `span` picoseconds since the warm-up in which the link, at its own rate, was needed.
    pub(super) fn utilisation(&self, span: u64) -> f64 {
        if span == 0 { 0.0 } else { ((self.carried - self.carried_before) as f64 / span as f64).min(1.0) }
    }
}

/// Observes the port of one worker: for the exchange, and as any other port.
struct Watched<'a, 'b, 'c, 'n> {
    meter: &'a mut WorkerMeter,
    watch: &'b mut PortWatch<'c, 'n>,
}

impl Observer<PacketMeta> for Watched<'_, '_, '_, '_> {
    fn offered(&mut self, now: Time, packet: &Packet<PacketMeta>) {
        self.watch.offered(now, packet);
    }

    fn marked(&mut self, now: Time, packet: &Packet<PacketMeta>, from: Colour) {
        self.watch.marked(now, packet, from);
    }

    fn remarked(&mut self, now: Time, packet: &Packet<PacketMeta>, from: Colour) {
        self.watch.remarked(now, packet, from);
    }

    fn congestion_marked(&mut self, now: Time, packet: &Packet<PacketMeta>) {
        self.watch.congestion_marked(now, packet);
    }

    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        Observer::<PacketMeta>::queued(self.meter, now, packet, occupancy);
        self.watch.queued(now, packet, occupancy);
    }

    fn moved(&mut self, now: Time, packet: &Packet<PacketMeta>, to: Flow) {
        self.watch.moved(now, packet, to);
    }

    fn dropped(&mut self, now: Time, packet: Packet<PacketMeta>, reason: DropReason, occupancy: &Occupancy) {
        self.meter.dropped(now, packet, reason, occupancy);
        self.watch.dropped(now, packet, reason, occupancy);
    }

    fn sent(&mut self, now: Time, packet: &Packet<PacketMeta>, finish: Time, occupancy: &Occupancy) {
        self.meter.sent(now, packet, finish, occupancy);
        self.watch.sent(now, packet, finish, occupancy);
    }
}
