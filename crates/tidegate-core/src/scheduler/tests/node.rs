//! A link with queues for shaped virtual clocks, and a slow model of the port of an integrated services node to compare it with.

use super::super::{Decision, FlowParameters, IntServOptions, OutOfProfile, Scheduler, ServiceClass, Stamping};
use crate::packet::{Colour, Flow, Head};
use crate::units::{Duration, Rate, Time};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use proptest::prelude::*;

/// Picoseconds per byte of the link: 10 Mbit/s.
pub(crate) const BYTE: u64 = 800_000;

/// The link's rate.
pub(crate) fn link() -> Rate {
    Rate::new(10_000_000).unwrap()
}

/// A packet that has left: when it began to, its flow, its length, and its mark: `None` if it leaves as it came.
pub(crate) type Sent = (u64, usize, u32, Option<Colour>);

/// A scheduler or a model of one.
pub(crate) trait Port {
    fn arrive(&mut self, now: u64, flow: usize, length: u32);
    /// The packet that leaves now; or when to ask again, if that is known.
    fn send(&mut self, now: u64) -> Result<(usize, u32, Option<Colour>), Option<u64>>;
    fn lose_head(&mut self, now: u64, flow: usize);
    /// The flow has this rate in bits per second from its next head on.
    fn rerate(&mut self, now: u64, flow: usize, rate: u64);
}

/// A scheduler with its queues.
pub(crate) struct Queued<S> {
    pub(crate) scheduler: S,
    queues: Vec<VecDeque<Head>>,
    given: Vec<FlowParameters>,
    number: u32,
}

impl<S: Scheduler> Queued<S> {
    pub(crate) fn new(scheduler: S, given: &[FlowParameters]) -> Queued<S> {
        Queued { scheduler, queues: alloc::vec![VecDeque::new(); given.len()], given: given.to_vec(), number: 0 }
    }

    pub(crate) fn head(&self, flow: usize) -> Option<Head> {
        self.queues[flow].front().copied()
    }
}

fn at(ps: u64) -> Time {
    Time::from_picoseconds(ps)
}

impl<S: Scheduler> Port for Queued<S> {
    fn arrive(&mut self, now: u64, flow: usize, length: u32) {
        let head = Head { length, number: self.number, arrival: at(now), colour: Colour::Red };
        self.number += 1;
        self.queues[flow].push_back(head);
        if self.queues[flow].len() == 1 {
            self.scheduler.activate(at(now), Flow(flow as u32), head);
        }
    }

    fn send(&mut self, now: u64) -> Result<(usize, u32, Option<Colour>), Option<u64>> {
        let decision = self.scheduler.select(at(now));
        assert_eq!(decision, self.scheduler.select(at(now)), "asked twice");
        let (flow, colour) = match decision {
            Decision::Serve(flow) => (flow, None),
            Decision::ServeAs(flow, colour) => (flow, Some(colour)),
            Decision::WaitUntil(time) => return Err(Some(time.picoseconds())),
            Decision::Idle => return Err(None),
            Decision::Discard(flow) => panic!("{flow:?} is never late"),
        };
        let head = self.queues[flow.index()].pop_front().expect("only backlogged flows are named");
        let next = self.head(flow.index());
        self.scheduler.served(at(now), flow, next);
        Ok((flow.index(), head.length, colour))
    }

    fn lose_head(&mut self, now: u64, flow: usize) {
        if self.queues[flow].pop_front().is_some() {
            let next = self.head(flow);
            self.scheduler.lost(at(now), Flow(flow as u32), next);
        }
    }

    fn rerate(&mut self, now: u64, flow: usize, rate: u64) {
        let given = FlowParameters { rate: Rate::new(rate).ok(), ..self.given[flow] };
        self.scheduler.change(at(now), Flow(flow as u32), &given).unwrap();
    }
}

/// The node as the literature has it, with stamps as fractions of the rate, lists that are searched, and turns that are granted when they begin.
pub(crate) struct Model {
    pub(crate) flows: Vec<Modelled>,
    pub(crate) options: IntServOptions,
    /// What a turn grants.
    pub(crate) quantum: u32,
    /// It serves shaped virtual clocks only, and marks nothing.
    pub(crate) only_clocks: bool,
    rings: [VecDeque<usize>; 2],
    credit: u64,
}

/// A flow of the model. Stamps count picoseconds times bits per second.
pub(crate) struct Modelled {
    class: ServiceClass,
    rate: u128,
    next_rate: u128,
    tolerance: u64,
    queue: VecDeque<u32>,
    start: u128,
    finish: u128,
    deficit: u32,
    turn_has_begun: bool,
}

impl Model {
    pub(crate) fn new(given: &[FlowParameters], options: IntServOptions, quantum: u32, only_clocks: bool) -> Model {
        let flow = |given: &FlowParameters| {
            let rate = given.rate.map_or(1, |rate| rate.bits_per_second().into());
            Modelled {
                class: if only_clocks { ServiceClass::Guaranteed } else { given.class.unwrap_or_default() },
                rate,
                next_rate: rate,
                tolerance: given.tolerance.unwrap_or(Duration::ZERO).picoseconds(),
                queue: VecDeque::new(),
                start: 0,
                finish: 0,
                deficit: 0,
                turn_has_begun: false,
            }
        };
        Model { flows: given.iter().map(flow).collect(), options, quantum, only_clocks, rings: Default::default(), credit: 0 }
    }

    fn is_eligible(&self, now: u64, flow: usize) -> bool {
        let flow = &self.flows[flow];
        flow.class != ServiceClass::BestEffort && !flow.queue.is_empty() && flow.start / flow.rate <= u128::from(now + flow.tolerance)
    }

    fn stamp(&mut self, now: u64, flow: usize, is_first: bool) {
        let own = &mut self.flows[flow];
        let Some(&length) = own.queue.front() else { return };
        // The fraction of a picosecond is rounded down when the rate changes.
        let (whole, part) = (own.finish / own.rate, own.finish % own.rate);
        own.finish = whole * own.next_rate + part * own.next_rate / own.rate;
        own.rate = own.next_rate;
        let restarts = is_first || self.options.stamp == Stamping::Literal;
        own.start = if restarts && own.finish / own.rate < u128::from(now) { u128::from(now) * own.rate } else { own.finish };
        own.finish = own.start + u128::from(length) * 8_000_000_000_000;
        if !self.only_clocks && self.options.out_of_profile_weight > 0 && !self.is_eligible(now, flow) && !self.rings[0].contains(&flow) {
            self.rings[0].push_back(flow);
        }
    }

    fn leave(&mut self, flow: usize) {
        self.rings.iter_mut().for_each(|ring| ring.retain(|&other| other != flow));
        (self.flows[flow].deficit, self.flows[flow].turn_has_begun) = (0, false);
    }

    /// The flow whose turn it is in a ring.
    fn settle(&mut self, ring: usize) -> Option<usize> {
        loop {
            let flow = *self.rings[ring].front()?;
            let own = &mut self.flows[flow];
            if !own.turn_has_begun {
                own.deficit += self.quantum;
                own.turn_has_begun = true;
            }
            if own.queue[0] <= own.deficit {
                return Some(flow);
            }
            own.turn_has_begun = false;
            self.rings[ring].rotate_left(1);
        }
    }

    fn send_in_turn(&mut self, now: u64, ring: usize, flow: usize) -> (usize, u32, Option<Colour>) {
        let own = &mut self.flows[flow];
        let length = own.queue.pop_front().unwrap();
        own.deficit -= length;
        if own.queue.is_empty() {
            self.leave(flow);
        }
        if ring == 1 {
            return (flow, length, None);
        }
        let own = &mut self.flows[flow];
        if self.options.out_of_profile == OutOfProfile::Refund {
            own.finish = own.start;
        }
        self.stamp(now, flow, false);
        (flow, length, Some(Colour::Yellow))
    }
}

impl Port for Model {
    fn arrive(&mut self, now: u64, flow: usize, length: u32) {
        let own = &mut self.flows[flow];
        own.queue.push_back(length);
        if own.queue.len() == 1 {
            if own.class == ServiceClass::BestEffort {
                self.rings[1].push_back(flow);
            } else {
                self.stamp(now, flow, true);
            }
        }
    }

    fn send(&mut self, now: u64) -> Result<(usize, u32, Option<Colour>), Option<u64>> {
        let eligible: Vec<usize> = (0..self.flows.len()).filter(|&flow| self.is_eligible(now, flow)).collect();
        // The finishes of two flows are compared in whole picoseconds.
        let rank = |flow: &usize| (self.flows[*flow].class as u32, self.flows[*flow].finish / self.flows[*flow].rate, *flow);
        if let Some(flow) = eligible.into_iter().min_by_key(rank) {
            let length = self.flows[flow].queue.pop_front().unwrap();
            self.leave(flow);
            self.stamp(now, flow, false);
            return Ok((flow, length, (!self.only_clocks).then_some(Colour::Green)));
        }
        let (one, other) = (u64::from(self.options.out_of_profile_weight), u64::from(self.options.best_effort_weight));
        let mut ring = usize::from(self.rings[0].is_empty());
        if !self.rings[0].is_empty() && !self.rings[1].is_empty() {
            self.credit += one;
            if self.credit >= one + other {
                self.credit -= one + other;
            } else {
                ring = 1;
            }
        }
        match self.settle(ring) {
            Some(flow) => Ok(self.send_in_turn(now, ring, flow)),
            None => {
                let clocked = self.flows.iter().filter(|flow| flow.class != ServiceClass::BestEffort && !flow.queue.is_empty());
                Err(clocked.map(|flow| (flow.start / flow.rate) as u64 - flow.tolerance).min())
            }
        }
    }

    fn lose_head(&mut self, now: u64, flow: usize) {
        let own = &mut self.flows[flow];
        if own.queue.pop_front().is_none() {
            return;
        }
        if own.class != ServiceClass::BestEffort {
            own.finish = own.start;
        }
        if self.flows[flow].queue.is_empty() {
            self.leave(flow);
        } else if self.flows[flow].class != ServiceClass::BestEffort {
            self.stamp(now, flow, false);
        }
    }

    fn rerate(&mut self, _now: u64, flow: usize, rate: u64) {
        self.flows[flow].next_rate = rate.into();
    }
}

/// What happens to a port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Arrive {
        flow: usize,
        length: u32,
    },
    /// The next packet leaves, however long that takes.
    Send,
    LoseHead(usize),
    /// Nothing happens for this many picoseconds.
    Pause(u64),
    Rerate {
        flow: usize,
        rate: u64,
    },
}

/// Random events for `flows` flows with packets of 1 to `longest` bytes, many of one length, and rates up to `rate`.
pub(crate) fn events(flows: usize, longest: u32, rate: u64) -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (0..flows, prop_oneof![Just(longest), 1..=longest]).prop_map(|(flow, length)| Event::Arrive { flow, length }),
        8 => Just(Event::Send),
        2 => (0..flows).prop_map(Event::LoseHead),
        2 => (0u64..400_000_000).prop_map(Event::Pause),
        1 => (0..flows, 1_000..=rate).prop_map(|(flow, rate)| Event::Rerate { flow, rate }),
    ];
    proptest::collection::vec(event, 0..300)
}

/// Lets the events happen to a port on a link of 10 Mbit/s, and empties it.
pub(crate) fn run(port: &mut impl Port, events: &[Event]) -> Vec<Sent> {
    let (mut now, mut sent) = (0, Vec::new());
    for &event in events {
        match event {
            Event::Arrive { flow, length } => port.arrive(now, flow, length),
            Event::Send => {
                send(port, &mut now, &mut sent);
            }
            Event::LoseHead(flow) => port.lose_head(now, flow),
            Event::Pause(span) => now += span,
            Event::Rerate { flow, rate } => port.rerate(now, flow, rate),
        }
    }
    while send(port, &mut now, &mut sent) {}
    sent
}

/// Sends the next packet and waits until the link is free again.
pub(crate) fn send(port: &mut impl Port, now: &mut u64, sent: &mut Vec<Sent>) -> bool {
    loop {
        match port.send(*now) {
            Ok((flow, length, colour)) => {
                sent.push((*now, flow, length, colour));
                *now += u64::from(length) * BYTE;
                return true;
            }
            Err(Some(later)) => {
                assert!(later > *now, "waits for the past");
                *now = later;
            }
            Err(None) => return false,
        }
    }
}

/// Sends what arrives, packets of 125 bytes: (time, flow), in order.
pub(crate) fn replay(port: &mut impl Port, arrivals: &[(u64, usize)]) -> Vec<Sent> {
    let (mut now, mut sent, mut next) = (0, Vec::new(), 0);
    loop {
        while let Some(&(time, flow)) = arrivals.get(next).filter(|arrival| arrival.0 <= now) {
            port.arrive(time, flow, 125);
            next += 1;
        }
        let arrival = arrivals.get(next).map(|arrival| arrival.0);
        match port.send(now) {
            Ok((flow, length, colour)) => {
                sent.push((now, flow, length, colour));
                let free = now + u64::from(length) * BYTE;
                while let Some(&(time, flow)) = arrivals.get(next).filter(|arrival| arrival.0 < free) {
                    port.arrive(time, flow, 125);
                    next += 1;
                }
                now = free;
            }
            Err(later) => match arrival.into_iter().chain(later).min() {
                Some(time) => now = time,
                None => return sent,
            },
        }
    }
}
