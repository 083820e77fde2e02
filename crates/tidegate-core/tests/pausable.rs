//! The law of `Pausable`, for every registered scheduler, alone and shaped. A paused flow is never named, and the others are served as if it had no
//! packets. Pauses without effect change nothing.

mod workload;

use proptest::prelude::*;
use std::collections::VecDeque;
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{Decision, FlowParameters, Pausable, Scheduler};
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time};
use workload::{LONGEST, Wishes, link_rate, setup, wishes};

const FLOWS: usize = 5;

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive(usize, u32),
    Send,
    LoseHead(usize),
    Pause(usize),
    Release(usize),
    Wait(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        6 => (0..FLOWS, prop_oneof![Just(1000), 40..=LONGEST]).prop_map(|(flow, length)| Event::Arrive(flow, length)),
        6 => Just(Event::Send),
        1 => (0..FLOWS).prop_map(Event::LoseHead),
        2 => (0..FLOWS).prop_map(Event::Pause),
        2 => (0..FLOWS).prop_map(Event::Release),
        1 => (0u64..20_000_000_000).prop_map(Event::Wait),
    ];
    prop::collection::vec(event, 0..300)
}

fn build(kind: SchedulerKind, flows: &[Wishes], is_shaped: bool) -> AnyScheduler {
    let parameters: Vec<FlowParameters> = flows.iter().map(|flow| flow.parameters(kind)).collect();
    let scheduler = kind.build(&setup(), &parameters).unwrap();
    if !is_shaped {
        return scheduler;
    }
    let contract = |flow: &Wishes| Some(ShapingContract::new(Rate::new(flow.kilobits * 1000).unwrap(), 2 * LONGEST, LONGEST));
    let contracts: Vec<_> = flows.iter().map(contract).collect();
    AnyScheduler::Shaped(Box::new(Shaped::new(scheduler, &contracts).unwrap()))
}

/// Queues in front of a scheduler.
struct Link<S> {
    scheduler: S,
    queues: Vec<VecDeque<Head>>,
    now: Time,
    number: u32,
}

impl<S: Scheduler> Link<S> {
    fn new(mut scheduler: S) -> Link<S> {
        scheduler.start(Time::ZERO);
        Link { scheduler, queues: vec![VecDeque::new(); FLOWS], now: Time::ZERO, number: 0 }
    }

    fn arrive(&mut self, flow: usize, length: u32) {
        let head = Head { length, number: self.number, arrival: self.now, colour: Colour::Green };
        self.number += 1;
        self.queues[flow].push_back(head);
        if self.queues[flow].len() == 1 {
            self.scheduler.activate(self.now, Flow(flow as u32), head);
        }
    }

    fn lose_head(&mut self, flow: usize) {
        if self.queues[flow].pop_front().is_some() {
            self.scheduler.lost(self.now, Flow(flow as u32), self.queues[flow].front().copied());
        }
    }

    /// What the scheduler says, and the packet that leaves; late packets are dropped on the way.
    fn send(&mut self) -> (Decision, Option<Head>) {
        loop {
            let decision = self.scheduler.select(self.now);
            assert_eq!(decision, self.scheduler.select(self.now), "asking again changes the answer");
            match decision {
                Decision::Serve(flow) | Decision::ServeAs(flow, _) => {
                    let head = self.queues[flow.index()].pop_front().expect("only backlogged flows are named");
                    self.scheduler.served(self.now, flow, self.queues[flow.index()].front().copied());
                    self.now += link_rate().time_per_byte().ceil(head.length);
                    return (decision, Some(head));
                }
                Decision::Discard(flow) => self.lose_head(flow.index()),
                Decision::WaitUntil(time) => {
                    assert!(time.is_after(self.now));
                    return (decision, None);
                }
                Decision::Idle => return (decision, None),
            }
        }
    }
}

fn kinds() -> impl Iterator<Item = (SchedulerKind, bool)> {
    SchedulerKind::ALL.iter().flat_map(|&kind| [(kind, false), (kind, true)])
}

/// Plays the events on a scheduler with pauses, and watches the law.
fn plays(kind: SchedulerKind, is_shaped: bool, flows: &[Wishes], events: &[Event]) {
    let mut link = Link::new(Pausable::new(build(kind, flows, is_shaped), FLOWS));
    let mut paused = [false; FLOWS];
    let mut last = [None; FLOWS];
    let mut offered = 0;
    let mut gone = 0;
    for &event in events {
        match event {
            Event::Arrive(flow, length) => {
                link.arrive(flow, length);
                offered += 1;
            }
            Event::LoseHead(flow) => {
                gone += usize::from(!link.queues[flow].is_empty());
                link.lose_head(flow);
            }
            Event::Pause(flow) => {
                link.scheduler.pause(link.now, Flow(flow as u32));
                paused[flow] = true;
            }
            Event::Release(flow) => {
                link.scheduler.release(link.now, Flow(flow as u32));
                paused[flow] = false;
            }
            Event::Wait(time) => link.now += Duration::from_picoseconds(time),
            Event::Send => {
                let before: usize = link.queues.iter().map(VecDeque::len).sum();
                let waiting = (0..FLOWS).any(|flow| !paused[flow] && !link.queues[flow].is_empty());
                let (decision, sent) = link.send();
                gone += before - link.queues.iter().map(VecDeque::len).sum::<usize>();
                match (decision, sent) {
                    (Decision::Serve(flow) | Decision::ServeAs(flow, _), Some(head)) => {
                        let flow = flow.index();
                        assert!(!paused[flow], "{kind:?}: a paused flow is named");
                        assert!(last[flow].replace(head.number).is_none_or(|last| last < head.number), "{kind:?}: out of order");
                    }
                    (Decision::Idle, _) => {
                        let left = (0..FLOWS).any(|flow| !paused[flow] && !link.queues[flow].is_empty());
                        assert!(!left, "{kind:?}, shaped {is_shaped}: idle with a backlogged flow that is not paused");
                    }
                    _ => assert!(waiting, "{kind:?}: waits for paused flows only"),
                }
            }
        }
    }
    // In the end all are released, and everything leaves.
    (0..FLOWS as u32).for_each(|flow| link.scheduler.release(link.now, Flow(flow)));
    loop {
        let before: usize = link.queues.iter().map(VecDeque::len).sum();
        let (decision, _) = link.send();
        gone += before - link.queues.iter().map(VecDeque::len).sum::<usize>();
        match decision {
            Decision::Idle => break,
            Decision::WaitUntil(time) => link.now = time,
            _ => {}
        }
    }
    assert_eq!(offered, gone, "{kind:?}: a packet is forgotten");
}

/// The packets that leave with pauses of flow 0 only, from which it is released before the end, and without that flow's packets.
fn others(kind: SchedulerKind, flows: &[Wishes], events: &[Event], has_paused: bool) -> Vec<(Time, Flow, u32)> {
    let mut link = Link::new(Pausable::new(build(kind, flows, false), FLOWS));
    link.scheduler.pause(Time::ZERO, Flow(0));
    let mut sent = Vec::new();
    for &event in events {
        match event {
            Event::Arrive(0, _) | Event::LoseHead(0) if !has_paused => {}
            Event::Arrive(flow, length) => link.arrive(flow, length),
            Event::LoseHead(flow) => link.lose_head(flow),
            Event::Wait(time) => link.now += Duration::from_picoseconds(time),
            Event::Send => {
                let at = link.now;
                if let (Decision::Serve(flow) | Decision::ServeAs(flow, _), Some(head)) = link.send() {
                    sent.push((at, flow, head.length));
                }
            }
            Event::Pause(_) | Event::Release(_) => {}
        }
    }
    sent
}

/// What leaves where each pause is taken back at once, and where there is none.
fn blinking(kind: SchedulerKind, is_shaped: bool, flows: &[Wishes], events: &[Event], blinks: bool) -> Vec<(Time, Flow, u32)> {
    let mut link = Link::new(Pausable::new(build(kind, flows, is_shaped), FLOWS));
    let mut sent = Vec::new();
    for &event in events {
        match event {
            Event::Arrive(flow, length) => link.arrive(flow, length),
            Event::LoseHead(flow) => link.lose_head(flow),
            Event::Wait(time) => link.now += Duration::from_picoseconds(time),
            Event::Send => {
                let at = link.now;
                if let (Decision::Serve(flow) | Decision::ServeAs(flow, _), Some(head)) = link.send() {
                    sent.push((at, flow, head.length));
                }
            }
            // A flow without packets: its pause leaves no trace.
            Event::Pause(flow) | Event::Release(flow) if blinks && link.queues[flow].is_empty() => {
                link.scheduler.pause(link.now, Flow(flow as u32));
                link.scheduler.release(link.now, Flow(flow as u32));
            }
            Event::Pause(_) | Event::Release(_) => {}
        }
    }
    sent
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn a_paused_flow_waits_and_no_other_does(flows in prop::collection::vec(wishes(), FLOWS), events in events()) {
        for (kind, is_shaped) in kinds() {
            plays(kind, is_shaped, &flows, &events);
        }
    }

    #[test]
    fn the_others_are_served_as_if_it_had_no_packets(flows in prop::collection::vec(wishes(), FLOWS), events in events()) {
        for (kind, _) in kinds().filter(|(_, is_shaped)| !is_shaped) {
            prop_assert_eq!(others(kind, &flows, &events, true), others(kind, &flows, &events, false), "{:?}", kind);
        }
    }

    #[test]
    fn pauses_without_packets_change_nothing(flows in prop::collection::vec(wishes(), FLOWS), events in events()) {
        for (kind, is_shaped) in kinds() {
            let with = blinking(kind, is_shaped, &flows, &events, true);
            prop_assert_eq!(with, blinking(kind, is_shaped, &flows, &events, false), "{:?}", kind);
        }
    }
}
