//! A port as the laws of the role read, over any AQMs: each call in its place, sums by counting, no fast paths.

use super::{Event, Events};
use tidegate_core::aqm::{Aqm, Judgement};
use tidegate_core::buffer::{Admission, Arrival, BufferManager, Change, Victim};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{DropReason, Ecn, Flow, Packet};
use tidegate_core::queue::{Backlog, Occupancy, Queues};
use tidegate_core::random::SplitMix64;
use tidegate_core::registry::{AnyBufferManager, AnyScheduler};
use tidegate_core::scheduler::{Decision, Kept, Scheduler};
use tidegate_core::units::{Overhead, Rate, Time};

/// The queues of one class.
struct Class<'a> {
    port: &'a Occupancy,
    first: u32,
    flows: u32,
}

impl Class<'_> {
    fn queues(&self) -> impl Iterator<Item = Flow> {
        (self.first..self.first + self.flows).map(Flow)
    }
}

impl Backlog for Class<'_> {
    fn packets(&self) -> u32 {
        self.queues().map(|flow| self.port.flow_packets(flow)).sum()
    }

    fn bytes(&self) -> u64 {
        self.queues().map(|flow| u64::from(self.port.flow_bytes(flow))).sum()
    }

    fn flow_packets(&self, flow: Flow) -> u32 {
        self.port.flow_packets(Flow(flow.0 + self.first))
    }

    fn flow_bytes(&self, flow: Flow) -> u32 {
        self.port.flow_bytes(Flow(flow.0 + self.first))
    }

    fn waiting_since(&self, flow: Flow) -> Option<Time> {
        self.port.waiting_since(Flow(flow.0 + self.first))
    }

    fn port(&self) -> &Occupancy {
        self.port
    }
}

/// A slow port. Its classes have equally many queues.
pub struct SlowPort<A> {
    pub aqms: Vec<Option<A>>,
    pub draws: SplitMix64,
    pub events: Events,
    /// What an AQM has done that no AQM may do.
    pub broken: Option<String>,
    flows: u32,
    queues: Queues<u32>,
    scheduler: AnyScheduler,
    buffer: AnyBufferManager,
    rate: Rate,
    clock: Time,
    busy_until: Time,
    /// By class, in half bytes: what drops may still take of the service where they count as served.
    credits: Vec<u64>,
}

/// 64 KiB.
const MOST_CREDIT: u64 = 131_072;

impl<A: Aqm> SlowPort<A> {
    pub fn new(now: Time, aqms: Vec<Option<A>>, flows: u32, scheduler: AnyScheduler, buffer: AnyBufferManager, rate: Rate) -> SlowPort<A> {
        let mut port = SlowPort {
            credits: vec![MOST_CREDIT; aqms.len()],
            queues: Queues::new(aqms.len() * flows as usize, 10_000, Overhead::None),
            aqms,
            draws: SplitMix64::new(1),
            events: Events::default(),
            broken: None,
            flows,
            scheduler,
            buffer,
            rate,
            clock: now,
            busy_until: now,
        };
        port.scheduler.start(now);
        port.aqms.iter_mut().flatten().for_each(|aqm| aqm.start(now));
        port
    }

    /// What `call` makes of the AQM of a flow's class, if it has one.
    fn ask<R>(&mut self, flow: Flow, call: impl FnOnce(&mut A, Flow, &Class, &mut SplitMix64) -> R) -> Option<R> {
        let class = flow.0 / self.flows;
        let first = class * self.flows;
        let view = Class { port: self.queues.occupancy(), first, flows: self.flows };
        self.aqms[class as usize].as_mut().map(|aqm| call(aqm, Flow(flow.0 - first), &view, &mut self.draws))
    }

    fn drop(&mut self, now: Time, packet: Packet<u32>, reason: DropReason) {
        self.events.dropped(now, packet, reason, self.queues.occupancy());
    }

    fn check(&mut self, judgement: Judgement, ecn: Ecn) -> Judgement {
        if judgement == Judgement::Mark && !ecn.is_capable() {
            self.broken = Some("it marks a packet whose transport does not understand it".into());
            return Judgement::Pass;
        }
        judgement
    }

    fn mark(&mut self, now: Time, packet: &mut Packet<u32>) {
        if packet.ecn != Ecn::Ce {
            packet.ecn = Ecn::Ce;
            self.events.congestion_marked(now, packet);
        }
    }

    /// A packet arrives.
    pub fn offer(&mut self, mut packet: Packet<u32>) {
        let Packet { flow, length, arrival: now, colour, part, ecn, .. } = packet;
        self.clock = now;
        let arrival = Arrival { flow, length, colour, part, ecn, now };
        let judgement = self.ask(flow, |aqm, flow, class, draws| aqm.admit(&Arrival { flow, ..arrival }, class, draws));
        let judgement = self.check(judgement.unwrap_or(Judgement::Pass), ecn);
        if judgement == Judgement::Drop {
            return self.drop(now, packet, DropReason::Congestion);
        }
        loop {
            match self.buffer.admit(&arrival, self.queues.occupancy()) {
                Admission::Accept => break,
                Admission::Refuse(reason) => {
                    self.ask(flow, |aqm, flow, _, _| aqm.refused(now, flow));
                    return self.drop(now, packet, reason);
                }
                Admission::PushOut(Victim::Head(victim)) => {
                    let (gone, next) = self.queues.pop(victim).unwrap();
                    self.scheduler.lost(now, victim, next);
                    self.ask(victim, |aqm, flow, _, _| aqm.pushed_out(now, flow));
                    self.gone(now, &gone);
                    self.drop(now, gone, DropReason::PushedOut);
                }
                other => panic!("{other:?}: no manager of these tests says that"),
            }
        }
        if judgement == Judgement::Mark {
            self.mark(now, &mut packet);
        }
        let seen = packet.seen();
        let head = self.queues.push(packet);
        self.buffer.changed(Change::joined(&seen), self.queues.occupancy());
        self.ask(flow, |aqm, flow, class, _| aqm.joined(now, flow, class));
        self.events.queued(now, &seen, self.queues.occupancy());
        if let Some(head) = head {
            self.scheduler.activate(now, flow, head);
        }
    }

    fn gone(&mut self, now: Time, packet: &Packet<u32>) {
        self.buffer.changed(Change::left(packet), self.queues.occupancy());
        self.ask(packet.flow, |aqm, flow, class, _| aqm.left(now, flow, class));
    }

    /// Judges the oldest packet of `flow` and takes it out of its queue: dropped, or sent in no time.
    pub fn take(&mut self, now: Time, flow: Flow) -> Option<Packet<u32>> {
        let head = self.queues.occupancy().oldest(flow)?;
        let judgement = self.ask(flow, |aqm, flow, class, draws| aqm.depart(now, &Packet { flow, ..head }, class, draws));
        let judgement = self.check(judgement.unwrap_or(Judgement::Pass), head.ecn);
        let (mut packet, next) = self.queues.pop(flow).unwrap();
        let credit = self.credits[(flow.0 / self.flows) as usize];
        let length = u64::from(packet.length);
        if judgement == Judgement::Drop {
            let charges = self.ask(flow, |aqm, _, _, _| aqm.charges_drops()) == Some(true);
            if charges && 2 * length <= credit {
                self.credits[(flow.0 / self.flows) as usize] = credit - 2 * length;
                self.scheduler.served(now, flow, next);
                self.busy_until = now + self.rate.time_per_byte().ceil(packet.length);
            } else {
                self.scheduler.lost(now, flow, next);
            }
            self.gone(now, &packet);
            self.drop(now, packet, DropReason::Congestion);
            return None;
        }
        self.credits[(flow.0 / self.flows) as usize] = MOST_CREDIT.min(credit + length);
        self.scheduler.served(now, flow, next);
        self.gone(now, &packet);
        if judgement == Judgement::Mark {
            self.mark(now, &mut packet);
        }
        Some(packet)
    }

    /// All turns up to `until`.
    pub fn advance(&mut self, until: Time) {
        let mut at = self.clock;
        loop {
            at = at.later(self.busy_until);
            if at.is_after(until) {
                break;
            }
            match self.scheduler.select(at) {
                Decision::Serve(flow) => {
                    if let Some(packet) = self.take(at, flow) {
                        self.busy_until = at + self.rate.time_per_byte().ceil(packet.length);
                        self.events.sent(at, &packet, self.busy_until, self.queues.occupancy());
                    }
                }
                Decision::Idle => break,
                other => panic!("{other:?}: no scheduler of these tests says that"),
            }
        }
        self.clock = self.clock.later(until);
    }

    /// True if nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.queues.occupancy().packets() == 0
    }

    /// The flows of a class under the numbers that its AQM knows, with their heads.
    pub fn kept(&self, class: u32) -> Vec<Kept> {
        let kept = |flow| Kept { from: Flow(flow), to: Flow(flow), head: self.queues.head(Flow(class * self.flows + flow)) };
        (0..self.flows).map(kept).collect()
    }
}

impl Observer<u32> for Events {
    fn queued(&mut self, at: Time, packet: &Packet<()>, _: &Occupancy) {
        self.0.push(Event::Queued(at, packet.flow, packet.ecn));
    }

    fn congestion_marked(&mut self, at: Time, packet: &Packet<u32>) {
        self.0.push(Event::Marked(at, packet.payload));
    }

    fn dropped(&mut self, at: Time, packet: Packet<u32>, reason: DropReason, _: &Occupancy) {
        self.0.push(Event::Dropped(at, packet.payload, reason));
    }

    fn sent(&mut self, at: Time, packet: &Packet<u32>, _: Time, _: &Occupancy) {
        self.0.push(Event::Sent(at, packet.payload, packet.ecn));
    }
}
