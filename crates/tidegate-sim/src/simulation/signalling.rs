//! Signalling: calls ask for admission along their paths, hop by hop, and are torn down behind their last packets.

use super::data_plane::DataPlane;
use super::link::{LinkPort, PortKind};
use super::sources::Sources;
use crate::calls::{Arrivals, BrokeredPath, BrokeredQueue, CallStatistics, Calls, PathControl, Refusals};
use crate::experiment::Experiment;
use crate::id::LinkId;
use crate::network::Network;
use crate::random::Stream;
use crate::route::{Routes, Variant};
use crate::statistics::TimeWeighted;
use crate::time::NEVER;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_core::admission::{Answer, Demand, FlowSpec, Hop, Refused, ReserveError, Service, Shortage};
use tidegate_core::buffer::FlowShare;
use tidegate_core::fault;
use tidegate_core::packet::{Colour, Ecn, Flow};
use tidegate_core::port::Leaving;
use tidegate_core::scheduler::{FlowParameters, Profile, ServiceClass};
use tidegate_core::units::{Duration, Time};

/// How long a release waits before it looks again whether a queue is empty.
const RELEASE_POLL_INTERVAL: u64 = 1_000_000_000;

/// What happens next to a call, or to calls of one kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A request of these calls; `Some` for the flow that it is for.
    Request { calls: u32, flow: Option<u32> },
    /// The set-up of the call reaches this place of its path.
    SetUp { call: u32, place: u32 },
    /// The call leaves.
    Leave { call: u32 },
    /// Its release reaches this place of its path.
    Release { call: u32, place: u32 },
}

/// One flow that calls use.
struct Call {
    calls: usize,
    flow: usize,
    /// Its path: each link with the number of its port for admission, if it admits, and its propagation delay.
    path: Vec<(usize, Option<u32>, u64)>,
    /// The ports on the path that admit flows.
    ports: Vec<u32>,
    /// Its allocation at each of them.
    hops: Vec<Hop>,
    /// The partition of the buffer at each place of the path.
    partitions: Vec<u32>,
}

struct Kind<'a> {
    calls: &'a Calls,
    stream: Stream,
    /// Its flows, by their calls.
    members: std::ops::Range<usize>,
    /// Those that a Poisson process of requests may use, the lowest first.
    free: BinaryHeap<Reverse<usize>>,
    statistics: CallStatistics,
    held: TimeWeighted,
}

pub(super) struct Signalling<'a> {
    kinds: Vec<Kind<'a>>,
    calls: Vec<Call>,
    /// Decides for the calls that are brokered.
    broker: Option<(Box<dyn PathControl>, &'a [BrokeredQueue])>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// Events so far: what comes first at an instant was entered first.
    entered: u64,
}

impl<'a> Signalling<'a> {
    /// No call is under way; the first requests are entered.
    pub(super) fn new(network: &'a Network, experiment: &Experiment, replication: u32, plane: &mut DataPlane) -> Signalling<'a> {
        let broker = network.broker.as_ref().map(|broker| (broker.control.copied(), &broker.queues[..]));
        let mut signalling = Signalling { kinds: Vec::new(), calls: Vec::new(), broker, events: BinaryHeap::new(), entered: 0 };
        let port_of = |link: usize| plane.admission.as_ref().and_then(|admission| admission.port_of(link));
        for calls in &network.calls {
            let first = signalling.calls.len();
            for &flow in &calls.flows {
                let hop = |link: &LinkId| {
                    (link.0, port_of(link.0).filter(|_| calls.brokered.is_none()), network.links[link.0].propagation.picoseconds())
                };
                let path: Vec<(usize, Option<u32>, u64)> = network.flows[flow].path.iter().map(hop).collect();
                let ports = path.iter().filter_map(|&(_, port, _)| port).collect();
                signalling.calls.push(Call { calls: signalling.kinds.len(), flow, path, ports, partitions: Vec::new(), hops: Vec::new() });
            }
            signalling.kinds.push(Kind {
                calls,
                stream: Stream::new(experiment.seed, replication, &format!("calls {}", calls.name)),
                members: first..signalling.calls.len(),
                free: (first..signalling.calls.len()).map(Reverse).collect(),
                statistics: CallStatistics::default(),
                held: TimeWeighted::new(0),
            });
        }
        // The places of calls are vacant until they are set up.
        for call in 0..signalling.calls.len() {
            for place in 0..signalling.calls[call].path.len() {
                signalling.note_partition(call, place, plane);
                signalling.vacate(0, call, place, plane);
            }
        }
        for kind in 0..signalling.kinds.len() {
            signalling.enter_first(kind);
        }
        // Without calls the agenda has no place for signalling.
        if !signalling.kinds.is_empty() {
            plane.agenda.set_signalling(signalling.next());
        }
        signalling
    }

    /// Notes the partition that the flow has at this place of its path before it is vacated.
    fn note_partition(&mut self, call: usize, place: usize, plane: &DataPlane) {
        let Call { flow, path, partitions, .. } = &mut self.calls[call];
        let queue = queue_at(plane.flows.routes.fixed, *flow, place);
        partitions.push(match &plane.links[path[place].0].port {
            LinkPort::Driven(driven) => match &driven.kind {
                PortKind::Packets { port, .. } => port.partition_of(queue),
                PortKind::Cells(_) | PortKind::Adapter(_) | PortKind::Workers(_) | PortKind::Pausable(_) | PortKind::Elsewhere => 0,
            },
            LinkPort::Fifo(_) => 0,
        });
    }

    fn enter_first(&mut self, kind: usize) {
        let Kind { calls, stream, members, .. } = &mut self.kinds[kind];
        let number = kind as u32;
        let first: Vec<(u64, Event)> = match calls.arrivals {
            Arrivals::Poisson(mean) => vec![(exponential(stream, mean), Event::Request { calls: number, flow: None })],
            Arrivals::AfterLast(mean) => {
                members.clone().map(|call| (exponential(stream, mean), Event::Request { calls: number, flow: Some(call as u32) })).collect()
            }
            Arrivals::Permanent => members.clone().map(|call| (0, Event::Request { calls: number, flow: Some(call as u32) })).collect(),
        };
        first.into_iter().for_each(|(at, event)| self.enter(at, event));
    }

    fn enter(&mut self, at: u64, event: Event) {
        self.events.push(Reverse((at, self.entered, event)));
        self.entered += 1;
    }

    fn next(&self) -> u64 {
        self.events.peek().map_or(NEVER, |Reverse((at, ..))| *at)
    }

    /// Counting starts anew.
    pub(super) fn restart(&mut self, now: u64) {
        for kind in &mut self.kinds {
            kind.statistics = CallStatistics::default();
            kind.held.restart(now);
        }
    }

    pub(super) fn finish(self, end: u64) -> Vec<CallStatistics> {
        let finish = |mut kind: Kind| {
            kind.held.finish(end);
            CallStatistics { mean_held: kind.held.mean(), ..kind.statistics }
        };
        self.kinds.into_iter().map(finish).collect()
    }

    /// The next event is due.
    pub(super) fn play(&mut self, now: u64, sources: &mut Sources, plane: &mut DataPlane) {
        let Some(Reverse((_, _, event))) = self.events.pop() else { return };
        match event {
            Event::Request { calls, flow } => self.request(now, calls as usize, flow.map(|call| call as usize), sources, plane),
            Event::SetUp { call, place } => self.set_up(now, call as usize, place as usize, sources, plane),
            Event::Leave { call } => {
                sources.stop(self.calls[call as usize].flow, plane);
                self.set_held(now, call as usize, false);
                self.release(now, call as usize, 0, plane);
            }
            Event::Release { call, place } => self.release(now, call as usize, place as usize, plane),
        }
        plane.agenda.set_signalling(self.next());
    }

    fn request(&mut self, now: u64, number: usize, call: Option<usize>, sources: &mut Sources, plane: &mut DataPlane) {
        let kind = &mut self.kinds[number];
        kind.statistics.requests += 1;
        let next = match kind.calls.arrivals {
            Arrivals::Poisson(mean) => Some(now + exponential(&mut kind.stream, mean)),
            _ => None,
        };
        let free = call.or_else(|| kind.free.peek().map(|&Reverse(call)| call));
        if let Some(at) = next {
            self.enter(at, Event::Request { calls: number as u32, flow: None });
        }
        let Some(call) = free else {
            self.kinds[number].statistics.without_place += 1;
            return;
        };
        let asking = &self.calls[call];
        let calls = self.kinds[number].calls;
        if let Some(path) = &calls.brokered {
            if let Some(refusals) = self.ask_broker(call, calls, path) {
                self.count_refused(call, refusals);
                return self.ask_again(now, call);
            }
            if next.is_some() {
                self.kinds[number].free.pop();
            }
            return self.set_up(now, call, 0, sources, plane);
        }
        let spec = calls.request(asking.flow, &asking.ports);
        let Some(admission) = &mut plane.admission else { return };
        match admission.paths.allocate(&spec) {
            Ok(Answer::Admitted(admitted)) => {
                self.calls[call].hops.clear();
                self.calls[call].hops.extend_from_slice(admitted.hops);
                if next.is_some() {
                    self.kinds[number].free.pop();
                }
                self.set_up(now, call, 0, sources, plane);
            }
            Ok(Answer::Refused(refused)) => {
                let link = self.calls[call].path.iter().find(|(_, port, _)| *port == Some(refused.port)).map_or(0, |&(link, ..)| link);
                self.count_refused(call, Refusals { link: LinkId(link), class: None, requests: 1, first: refused });
                self.ask_again(now, call);
            }
            Err(error) => unreachable!("the network has been checked: {error}"),
        }
    }

    /// Asks the broker for the whole path. Returns its refusal, if it refuses.
    fn ask_broker(&mut self, call: usize, calls: &Calls, path: &BrokeredPath) -> Option<Refusals> {
        let (broker, queues) = self.broker.as_mut()?;
        let alternatives: Vec<&[u32]> = path.alternatives.iter().map(|(_, path)| &path[..]).collect();
        let spec = FlowSpec { alternatives: &alternatives, ..calls.request(self.calls[call].flow, &path.queues) };
        match broker.request(&spec) {
            Ok(Answer::Admitted(admitted)) => {
                let statistics = &mut self.kinds[self.calls[call].calls].statistics;
                statistics.promised_delay = statistics.promised_delay.max(admitted.delay);
                None
            }
            Ok(Answer::Refused(first)) => {
                let BrokeredQueue { link, class, .. } = queues[first.port as usize];
                Some(Refusals { link, class: Some(class), requests: 1, first })
            }
            Err(error) => unreachable!("the network has been checked, and a flow is one call at a time: {error}"),
        }
    }

    /// Reserves at the ports from this place of the path on that the set-up passes at this instant.
    fn set_up(&mut self, now: u64, call: usize, place: usize, sources: &mut Sources, plane: &mut DataPlane) {
        let Some(&(link, port, propagation)) = self.calls[call].path.get(place) else {
            return self.hold(now, call, sources, plane);
        };
        if let Some(port) = port {
            match self.reserve(now, call, port, plane) {
                Ok(()) => self.fill(now, call, place, port, link, plane),
                Err(shortage) => {
                    self.give_back(now, call, place, plane);
                    let first = Refused::new(port, shortage);
                    self.count_refused(call, Refusals { link: LinkId(link), class: None, requests: 1, first });
                    return self.free(now, call);
                }
            }
        }
        self.enter(now + propagation, Event::SetUp { call: call as u32, place: place as u32 + 1 });
    }

    fn reserve(&mut self, now: u64, call: usize, port: u32, plane: &mut DataPlane) -> Result<(), Shortage> {
        let asking = &self.calls[call];
        let Call { calls, flow, hops, .. } = asking;
        let kind = &self.kinds[*calls];
        let (Some(admission), Some(hop)) = (&mut plane.admission, hops.iter().find(|hop| hop.port == port)) else { return Ok(()) };
        let demand = Demand::at(&kind.calls.request(*flow, &asking.ports), hop);
        let Some(admitting) = admission.paths.link_mut(port) else { return Ok(()) };
        admitting.advance(Time::from_picoseconds(now));
        let id = *flow as u64;
        let answer = match kind.calls.arrivals {
            Arrivals::Permanent => admitting.provision(id, demand),
            _ => admitting.reserve(id, demand),
        };
        match answer {
            Err(ReserveError::Short(shortage)) => Err(shortage),
            Err(error) => unreachable!("the tables have room for every call, and a flow is one call at a time: {error}"),
            Ok(()) => Ok(()),
        }
    }

    /// Gives the flow's place at a port the parameters that admission says.
    fn fill(&self, now: u64, call: usize, place: usize, port: u32, link: usize, plane: &mut DataPlane) {
        let Call { calls, flow, hops, partitions, .. } = &self.calls[call];
        let calls = self.kinds[*calls].calls;
        let Some(admission) = &mut plane.admission else { return };
        let rate = admission.rate_of(port, *flow as u64);
        let hop = hops.iter().find(|hop| hop.port == port).copied().unwrap_or_default();
        let jitter = hop.tolerance;
        let reserve = (calls.enforces_reserve && hop.buffer > 0).then(|| u32::try_from(hop.buffer / 8).unwrap_or(u32::MAX));
        let share = FlowShare { partition: partitions[place], reserve, ..FlowShare::default() };
        let tolerance = calls.tolerance.unwrap_or(jitter);
        let declared = calls.traffic;
        let jitter_bits = u128::from(declared.rate().bits_per_second()) * u128::from(tolerance.picoseconds()) / 1_000_000_000_000;
        let parameters = FlowParameters {
            rate: Some(rate),
            class: Some(match calls.service {
                Service::Guaranteed => ServiceClass::Guaranteed,
                _ => ServiceClass::ControlledLoad,
            }),
            tolerance: Some(tolerance),
            profile: Some(Profile { rate: declared.rate(), burst: ((u128::from(declared.burst()) + jitter_bits) / 8) as u32 }),
            ..FlowParameters::default()
        };
        let queue = queue_at(plane.flows.routes.fixed, *flow, place);
        if calls.service == Service::ControlledLoad {
            admission.set_told(port, queue, *flow as u64, parameters);
        }
        let LinkPort::Driven(driven) = &mut plane.links[link].port else { return };
        let PortKind::Packets { port, .. } = &mut driven.kind else { return };
        let shared = port.change_share(queue, &share);
        debug_assert!(shared.is_ok(), "{shared:?}");
        let filled = port.change_flow(Time::from_picoseconds(now), queue, &parameters);
        debug_assert!(filled.is_ok(), "{filled:?}");
        // A head may be eligible sooner.
        plane.wake(now, link);
    }

    fn hold(&mut self, now: u64, call: usize, sources: &mut Sources, plane: &mut DataPlane) {
        let kind = &mut self.kinds[self.calls[call].calls];
        kind.statistics.admitted += 1;
        let leave = match kind.calls.arrivals {
            Arrivals::Permanent => None,
            _ => Some(now + exponential(&mut kind.stream, kind.calls.hold)),
        };
        if let Some(at) = leave {
            self.enter(at, Event::Leave { call: call as u32 });
        }
        self.set_held(now, call, true);
        sources.restart(now, self.calls[call].flow, plane);
    }

    fn set_held(&mut self, now: u64, call: usize, holds: bool) {
        let held = &mut self.kinds[self.calls[call].calls].held;
        held.set(now, if holds { held.value() + 1 } else { held.value() - 1 });
    }

    fn count_refused(&mut self, call: usize, refusals: Refusals) {
        Refusals::add(&mut self.kinds[self.calls[call].calls].statistics.refused, refusals);
    }

    /// The call is over; its flow may be used again.
    fn free(&mut self, now: u64, call: usize) {
        let kind = &mut self.kinds[self.calls[call].calls];
        if let Arrivals::Poisson(_) = kind.calls.arrivals {
            kind.free.push(Reverse(call));
        }
        self.ask_again(now, call);
    }

    /// A flow that asks by itself asks again later.
    fn ask_again(&mut self, now: u64, call: usize) {
        let number = self.calls[call].calls;
        let kind = &mut self.kinds[number];
        if let Arrivals::AfterLast(mean) = kind.calls.arrivals {
            let at = now + exponential(&mut kind.stream, mean);
            self.enter(at, Event::Request { calls: number as u32, flow: Some(call as u32) });
        }
    }

    /// Gives back what was reserved before this place; nothing has been sent.
    fn give_back(&mut self, now: u64, call: usize, before: usize, plane: &mut DataPlane) {
        for place in 0..before {
            self.leave_port(now, call, place, plane);
        }
    }

    /// Leaves the port at this place if the queue is empty, else looks again later. The release follows the last packet to the next port.
    fn release(&mut self, now: u64, call: usize, place: usize, plane: &mut DataPlane) {
        let Call { calls, flow, ref path, .. } = self.calls[call];
        let Some(&(link, _, propagation)) = path.get(place) else {
            if let (Some((broker, _)), Some(_)) = (&mut self.broker, &self.kinds[calls].calls.brokered) {
                broker.release(flow as u64);
            }
            return self.free(now, call);
        };
        let brokered = self.kinds[calls].calls.brokered.as_ref().zip(self.broker.as_ref());
        let drained = match brokered {
            Some(_) if fault!(BudgetsReleasedAtOnce) => Ok(now),
            Some((path, (_, queues))) => plane.links[link].settled_at(now, &queues[path.queues[place] as usize].delays),
            None => {
                let queue = queue_at(plane.flows.routes.fixed, flow, place);
                plane.links[link].drained_by(now, queue).ok_or(now + RELEASE_POLL_INTERVAL)
            }
        };
        let drained = match drained {
            Ok(drained) => drained,
            Err(again) => return self.enter(again, Event::Release { call: call as u32, place: place as u32 }),
        };
        self.leave_port(now, call, place, plane);
        self.enter(drained + propagation, Event::Release { call: call as u32, place: place as u32 + 1 });
    }

    fn leave_port(&mut self, now: u64, call: usize, place: usize, plane: &mut DataPlane) {
        let (_, port, _) = self.calls[call].path[place];
        let (Some(port), Some(admission)) = (port, &mut plane.admission) else { return };
        if let Some(admitting) = admission.paths.link_mut(port) {
            admitting.advance(Time::from_picoseconds(now));
            admitting.release(self.calls[call].flow as u64);
        }
        self.vacate(now, call, place, plane);
    }

    /// Makes the flow's place at a port that admits flows vacant.
    fn vacate(&self, now: u64, call: usize, place: usize, plane: &mut DataPlane) {
        let Call { flow, ref path, .. } = self.calls[call];
        let (link, Some(port), _) = path[place] else { return };
        let queue = queue_at(plane.flows.routes.fixed, flow, place);
        if let Some(admission) = &mut plane.admission {
            admission.forget(port, queue);
        }
        plane.remove_flow(now, link, queue, Leaving::Drain);
    }
}

/// The queue of a flow's packets at this place of its path.
fn queue_at(routes: &Routes, flow: usize, place: usize) -> Flow {
    let Variant { mut cursor, length, .. } = routes.variants[routes.first_variant[flow] as usize];
    for _ in 0..place {
        cursor = routes.crossing(cursor, Ecn::NotEct, length, Colour::Green).0;
    }
    routes.queue(routes.hops[cursor as usize], Ecn::NotEct, length)
}

fn exponential(stream: &mut Stream, mean: Duration) -> u64 {
    (stream.exponential() * mean.picoseconds() as f64) as u64
}
