//! Every choice of the schedulers ordered by time and by key beside a model of the textbook: all heads in a table, searched from end to end,
//! without wrap-around.

mod heap;

use heap::Heap;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::ready::{ReadyList, Wheel};
use tidegate_core::scheduler::{
    Decision, EarliestDeadlineFirst, Fifo, FlowParameters, QuickFair, Scheduler, SelfClocked, Setup, VirtualClock, Wf2qPlus,
};
use tidegate_core::units::{Duration, Rate, Time, TimePerByte};

/// Few flows, so that queues are long, or more than the sorted run of the wheel holds.
const FEW_FLOWS: usize = 6;
const MANY_FLOWS: usize = 200;

/// A queued packet as the referee knows it: on an axis that starts at 0 and does not wrap.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    arrival: u128,
    length: u32,
}

/// A discipline by the book.
trait Referee {
    /// `queues` hold all packets; `flow` has got a new head.
    fn head(&mut self, now: u128, queues: &[VecDeque<Packet>], flow: usize);
    /// The scheduler chose `flow`: was that right?
    fn check(&mut self, now: u128, queues: &[VecDeque<Packet>], flow: usize) -> Result<(), TestCaseError>;
    /// The head of `flow` is being sent.
    fn sent(&mut self, now: u128, flow: usize, packet: Packet);
}

/// Checks that no backlogged flow has a smaller key than the chosen one.
fn smallest(queues: &[VecDeque<Packet>], flow: usize, key: impl Fn(usize) -> u128) -> Result<(), TestCaseError> {
    for other in (0..queues.len()).filter(|&other| !queues[other].is_empty()) {
        prop_assert!(key(flow) <= key(other), "flow {} with {} before flow {} with {}", flow, key(flow), other, key(other));
    }
    Ok(())
}

struct InOrder;

impl Referee for InOrder {
    fn head(&mut self, _: u128, _: &[VecDeque<Packet>], _: usize) {}
    fn check(&mut self, _: u128, queues: &[VecDeque<Packet>], flow: usize) -> Result<(), TestCaseError> {
        smallest(queues, flow, |flow| u128::from(queues[flow][0].number))
    }
    fn sent(&mut self, _: u128, _: usize, _: Packet) {}
}

struct Deadlines {
    delays: Vec<u64>,
}

impl Referee for Deadlines {
    fn head(&mut self, _: u128, _: &[VecDeque<Packet>], _: usize) {}
    fn check(&mut self, _: u128, queues: &[VecDeque<Packet>], flow: usize) -> Result<(), TestCaseError> {
        smallest(queues, flow, |flow| queues[flow][0].arrival + u128::from(self.delays[flow]))
    }
    fn sent(&mut self, _: u128, _: usize, _: Packet) {}
}

struct Clocks {
    rates: Vec<TimePerByte>,
    clocks: Vec<u128>,
}

impl Clocks {
    fn finish(&self, flow: usize, packet: Packet) -> u128 {
        self.clocks[flow].max(packet.arrival) + time(self.rates[flow], packet.length)
    }
}

impl Referee for Clocks {
    fn head(&mut self, _: u128, _: &[VecDeque<Packet>], _: usize) {}
    fn check(&mut self, _: u128, queues: &[VecDeque<Packet>], flow: usize) -> Result<(), TestCaseError> {
        smallest(queues, flow, |flow| self.finish(flow, queues[flow][0]))
    }
    fn sent(&mut self, _: u128, flow: usize, packet: Packet) {
        self.clocks[flow] = self.finish(flow, packet);
    }
}

/// SCFQ, with the stamps that packets get on arrival: the flow's stamp before, or the clock if that is later, and the packet's own time.
struct SelfClock {
    rates: Vec<TimePerByte>,
    /// The stamp of the flow's last packet that was sent.
    charged: Vec<u128>,
    /// The clock when the flow's queue last became non-empty.
    joined: Vec<u128>,
    clock: u128,
}

impl SelfClock {
    fn stamp(&self, flow: usize, packet: Packet) -> u128 {
        self.charged[flow].max(self.joined[flow]) + time(self.rates[flow], packet.length)
    }
}

impl Referee for SelfClock {
    fn head(&mut self, _: u128, queues: &[VecDeque<Packet>], flow: usize) {
        // The source starts afresh when nothing is queued. Its clock is at 0 then, as are all stamps; a common shift changes no order.
        if queues.iter().map(VecDeque::len).sum::<usize>() == 1 {
            self.charged.fill(0);
            self.joined.fill(0);
            self.clock = 0;
        }
        self.joined[flow] = self.clock;
    }
    fn check(&mut self, _: u128, queues: &[VecDeque<Packet>], flow: usize) -> Result<(), TestCaseError> {
        smallest(queues, flow, |flow| self.stamp(flow, queues[flow][0]))
    }
    fn sent(&mut self, _: u128, flow: usize, packet: Packet) {
        self.charged[flow] = self.stamp(flow, packet);
        self.clock = self.clock.max(self.charged[flow]);
    }
}

/// WF2Q+: the virtual time function and the two stamps. A queue holds its packet until that has left.
struct Fluid {
    link: TimePerByte,
    rates: Vec<TimePerByte>,
    starts: Vec<u128>,
    virtual_time: u128,
    /// The service in progress: when it began and how long it takes.
    service: (u128, u128),
    /// Whose packet that is.
    in_service: usize,
    latest_finish: u128,
}

impl Fluid {
    fn virtual_time(&self, now: u128) -> u128 {
        self.virtual_time + (now - self.service.0).min(self.service.1)
    }

    fn finish(&self, flow: usize, packet: Packet) -> u128 {
        self.starts[flow] + time(self.rates[flow], packet.length)
    }
}

impl Referee for Fluid {
    fn head(&mut self, now: u128, queues: &[VecDeque<Packet>], flow: usize) {
        if queues.iter().map(VecDeque::len).sum::<usize>() == 1 && now - self.service.0 >= self.service.1 {
            self.virtual_time = (self.virtual_time + self.service.1).max(self.latest_finish);
            self.service = (now, 0);
        }
        let is_backlogged = self.in_service == flow && now < self.service.0 + self.service.1;
        if !is_backlogged {
            self.starts[flow] = self.starts[flow].max(self.virtual_time(now));
        }
    }
    fn check(&mut self, now: u128, queues: &[VecDeque<Packet>], flow: usize) -> Result<(), TestCaseError> {
        let backlogged: Vec<usize> = (0..queues.len()).filter(|&flow| !queues[flow].is_empty()).collect();
        let present = self.virtual_time(now);
        let earliest = backlogged.iter().map(|&flow| self.starts[flow]).min().unwrap_or(present);
        self.virtual_time += earliest.saturating_sub(present);
        let present = self.virtual_time(now);
        prop_assert!(self.starts[flow] <= present, "flow {} starts at {}, and it is {}", flow, self.starts[flow], present);
        for other in backlogged.into_iter().filter(|&other| self.starts[other] <= present) {
            prop_assert!(self.finish(flow, queues[flow][0]) <= self.finish(other, queues[other][0]), "flow {} before flow {}", flow, other);
        }
        Ok(())
    }
    fn sent(&mut self, now: u128, flow: usize, packet: Packet) {
        self.starts[flow] = self.finish(flow, packet);
        self.latest_finish = self.latest_finish.max(self.starts[flow]);
        self.virtual_time += self.service.1;
        self.service = (now, time(self.link, packet.length));
        self.in_service = flow;
    }
}

/// QFQ: of all groups that have started, the one that is finished first; ties go to the shorter slots.
struct Slots {
    link: TimePerByte,
    rates: Vec<TimePerByte>,
    slots: Vec<u128>,
    starts: Vec<u128>,
    virtual_time: u128,
    /// The service in progress: when it ends, and whose packet that is.
    service_end: u128,
    in_service: Option<usize>,
}

impl Slots {
    fn new(link: Rate, rates: &[Rate]) -> Slots {
        let rates: Vec<TimePerByte> = rates.iter().map(|rate| rate.time_per_byte()).collect();
        let slots = rates.iter().map(|&rate| time(rate, 1000).next_power_of_two()).collect();
        let starts = vec![0; rates.len()];
        Slots { link: link.time_per_byte(), rates, slots, starts, virtual_time: 0, service_end: 0, in_service: None }
    }

    fn bound(&self, flow: usize) -> u128 {
        self.starts[flow] / self.slots[flow] * self.slots[flow]
    }
}

impl Referee for Slots {
    fn head(&mut self, now: u128, queues: &[VecDeque<Packet>], flow: usize) {
        let is_over = now >= self.service_end;
        if is_over && queues.iter().map(VecDeque::len).sum::<usize>() == 1 {
            self.virtual_time += 2 * self.slots.iter().max().unwrap();
        }
        if is_over || self.in_service != Some(flow) {
            self.starts[flow] = self.starts[flow].max(self.virtual_time);
        }
    }
    fn check(&mut self, _: u128, queues: &[VecDeque<Packet>], flow: usize) -> Result<(), TestCaseError> {
        // Length of its slots, and where the first one begins, of every group.
        let mut groups = BTreeMap::new();
        for other in (0..queues.len()).filter(|&other| !queues[other].is_empty()) {
            let start = groups.entry(self.slots[other]).or_insert(u128::MAX);
            *start = self.bound(other).min(*start);
        }
        self.virtual_time = groups.values().copied().min().unwrap_or(0).max(self.virtual_time);
        let started = groups.into_iter().filter(|&(_, start)| start <= self.virtual_time);
        let (finish, slot) = started.map(|(slot, start)| (start + 2 * slot, slot)).min().unwrap();
        prop_assert_eq!((self.bound(flow) + 2 * self.slots[flow], self.slots[flow]), (finish, slot), "flow {}", flow);
        Ok(())
    }
    fn sent(&mut self, now: u128, flow: usize, packet: Packet) {
        self.starts[flow] += time(self.rates[flow], packet.length);
        self.virtual_time += time(self.link, packet.length);
        self.service_end = now + time(self.link, packet.length);
        self.in_service = Some(flow);
    }
}

fn time(rate: TimePerByte, length: u32) -> u128 {
    u128::from(rate.ceil(length).picoseconds())
}

/// Flows count modulo the number there is.
#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive {
        flow: usize,
        length: u32,
    },
    LoseHead(usize),
    LoseTail(usize),
    /// The link may send for this many times a 1000-byte packet's time, in sixteenths.
    Pass(u8),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let flow = || prop_oneof![0..FEW_FLOWS, 0..MANY_FLOWS];
    let event = prop_oneof![
        6 => (flow(), prop_oneof![Just(1000u32), 1u32..=1000]).prop_map(|(flow, length)| Event::Arrive { flow, length }),
        1 => flow().prop_map(Event::LoseHead),
        1 => flow().prop_map(Event::LoseTail),
        2 => any::<u8>().prop_map(Event::Pass),
        2 => (0u8..32).prop_map(Event::Pass),
    ];
    let all = |lengths: Vec<u32>| lengths.into_iter().enumerate().map(|(flow, length)| Event::Arrive { flow, length }).collect();
    let events = prop_oneof![
        99 => event.prop_map(|event| vec![event]),
        1 => prop::collection::vec(1u32..=1000, MANY_FLOWS).prop_map(all),
    ];
    prop::collection::vec(events, 1..300).prop_map(|events| events.concat())
}

/// Where the wrapping axes of the scheduler begin: its clock and the numbers of its packets.
#[derive(Clone, Copy, Debug)]
struct Origin {
    time: u64,
    number: u32,
}

fn origins() -> impl Strategy<Value = Origin> {
    let time = prop_oneof![Just(0u64), (1u64..1 << 34).prop_map(u64::wrapping_neg), ((1u64 << 63) - (1 << 34)..1 << 63), any::<u64>()];
    (time, prop_oneof![Just(0u32), (1u32..100).prop_map(u32::wrapping_neg), any::<u32>()])
        .prop_map(|(time, number)| Origin { time, number })
}

fn judge(
    scheduler: &mut impl Scheduler,
    referee: &mut impl Referee,
    flows: usize,
    link: Rate,
    origin: Origin,
    script: &[Event],
) -> Result<(), TestCaseError> {
    let mut queues: Vec<VecDeque<Packet>> = vec![VecDeque::new(); flows];
    let instant = |time: u128| Time::from_picoseconds(origin.time.wrapping_add(time as u64));
    let seen = |packet: &Packet| Head {
        length: packet.length,
        number: origin.number.wrapping_add(packet.number as u32),
        arrival: instant(packet.arrival),
        colour: Colour::Green,
    };
    let (mut now, mut free, mut number) = (0u128, 0u128, 0u64);
    scheduler.start(instant(now));
    let end = [Event::Pass(255)].repeat(script.len());
    for &event in script.iter().chain(&end) {
        match event {
            Event::Arrive { flow, length } => {
                let flow = flow % flows;
                queues[flow].push_back(Packet { number, arrival: now, length });
                number += 1;
                if queues[flow].len() == 1 {
                    scheduler.activate(instant(now), Flow(flow as u32), seen(&queues[flow][0]));
                    referee.head(now, &queues, flow);
                }
            }
            Event::LoseHead(flow) => {
                let flow = flow % flows;
                if queues[flow].pop_front().is_some() {
                    scheduler.lost(instant(now), Flow(flow as u32), queues[flow].front().map(seen));
                }
            }
            Event::LoseTail(flow) => {
                let flow = flow % flows;
                if queues[flow].pop_back().is_some() && queues[flow].is_empty() {
                    scheduler.lost(instant(now), Flow(flow as u32), None);
                }
            }
            Event::Pass(sixteenths) => {
                let until = now + time(link.time_per_byte(), 1000) * u128::from(sixteenths) / 16;
                while free.max(now) <= until {
                    let at = free.max(now);
                    match scheduler.select(instant(at)) {
                        Decision::Serve(flow) | Decision::ServeAs(flow, _) => {
                            let index = flow.index();
                            prop_assert!(!queues[index].is_empty(), "flow {} is not backlogged", index);
                            referee.check(at, &queues, index)?;
                            let Some(packet) = queues[index].pop_front() else { break };
                            referee.sent(at, index, packet);
                            scheduler.served(instant(at), flow, queues[index].front().map(seen));
                            free = at + time(link.time_per_byte(), packet.length);
                        }
                        Decision::Idle => {
                            prop_assert!(queues.iter().all(VecDeque::is_empty), "idle while something is queued");
                            break;
                        }
                        other => panic!("{other:?} from a work-conserving scheduler"),
                    }
                }
                now = until;
            }
        }
    }
    prop_assert!(queues.iter().all(VecDeque::is_empty));
    Ok(())
}

fn links() -> impl Strategy<Value = Rate> {
    prop_oneof![Just(10_000_000u64), 10_000_000u64..100_000_000_000].prop_map(|rate| Rate::new(rate).unwrap())
}

/// A value for each of few or many flows.
fn for_each_flow(value: impl Strategy<Value = u64> + Clone) -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![prop::collection::vec(value.clone(), FEW_FLOWS), prop::collection::vec(value, MANY_FLOWS)]
}

/// Shares of the link that make it up together, but for fractions of a bit per second.
fn shares(link: Rate, weights: &[u64]) -> Vec<Rate> {
    let sum: u64 = weights.iter().sum();
    weights.iter().map(|weight| Rate::new(link.bits_per_second() * weight / sum).unwrap()).collect()
}

fn given(rates: &[Rate]) -> Vec<FlowParameters> {
    rates.iter().map(|&rate| FlowParameters { rate: Some(rate), ..FlowParameters::default() }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn fifo(link in links(), origin in origins(), flows in prop_oneof![Just(FEW_FLOWS), Just(MANY_FLOWS)], script in events()) {
        let setup = Setup::new(link, 1000);
        let mut scheduler = setup.build::<Fifo>(&vec![FlowParameters::default(); flows]).unwrap();
        judge(&mut scheduler, &mut InOrder, flows, link, origin, &script)?;
    }

    #[test]
    fn earliest_deadline_first(
        link in links(),
        origin in origins(),
        delays in for_each_flow(prop_oneof![0u64..100, 0u64..1_000_000]),
        script in events(),
    ) {
        fn go<R: ReadyList>(link: Rate, origin: Origin, delays: &[u64], script: &[Event]) -> Result<(), TestCaseError> {
            // Delays in sixteenths of a packet's time: close to each other, or far apart.
            let unit = link.time_per_byte().ceil(1000).picoseconds() / 16;
            let delays: Vec<u64> = delays.iter().map(|delay| delay * unit).collect();
            let within = |&delay: &u64| FlowParameters { delay: Some(Duration::from_picoseconds(delay)), ..FlowParameters::default() };
            let flows: Vec<_> = delays.iter().map(within).collect();
            let mut scheduler: EarliestDeadlineFirst<R> = Setup::new(link, 1000).build(&flows).unwrap();
            judge(&mut scheduler, &mut Deadlines { delays }, flows.len(), link, origin, script)
        }
        go::<Heap>(link, origin, &delays, &script)?;
        go::<Wheel>(link, origin, &delays, &script)?;
    }

    #[test]
    fn virtual_clock(link in links(), origin in origins(), weights in for_each_flow(1u64..20), script in events()) {
        fn go<R: ReadyList>(link: Rate, origin: Origin, weights: &[u64], script: &[Event]) -> Result<(), TestCaseError> {
            let rates = shares(link, weights);
            let mut scheduler: VirtualClock<R> = Setup::new(link, 1000).build(&given(&rates)).unwrap();
            let rates = rates.iter().map(|rate| rate.time_per_byte()).collect();
            judge(&mut scheduler, &mut Clocks { rates, clocks: vec![0; weights.len()] }, weights.len(), link, origin, script)
        }
        go::<Heap>(link, origin, &weights, &script)?;
        go::<Wheel>(link, origin, &weights, &script)?;
    }

    #[test]
    fn self_clocked(link in links(), origin in origins(), weights in for_each_flow(1u64..20), script in events()) {
        fn go<R: ReadyList>(link: Rate, origin: Origin, weights: &[u64], script: &[Event]) -> Result<(), TestCaseError> {
            let rates = shares(link, weights);
            let mut scheduler: SelfClocked<R> = Setup::new(link, 1000).build(&given(&rates)).unwrap();
            let rates = rates.iter().map(|rate| rate.time_per_byte()).collect();
            let zeros = || vec![0; weights.len()];
            let mut referee = SelfClock { rates, charged: zeros(), joined: zeros(), clock: 0 };
            judge(&mut scheduler, &mut referee, weights.len(), link, origin, script)
        }
        go::<Heap>(link, origin, &weights, &script)?;
        go::<Wheel>(link, origin, &weights, &script)?;
    }

    #[test]
    fn wf2q_plus(link in links(), origin in origins(), weights in for_each_flow(1u64..20), script in events()) {
        fn go<R: ReadyList>(link: Rate, origin: Origin, weights: &[u64], script: &[Event]) -> Result<(), TestCaseError> {
            let rates = shares(link, weights);
            let mut scheduler: Wf2qPlus<R> = Setup::new(link, 1000).build(&given(&rates)).unwrap();
            let mut referee = Fluid {
                link: link.time_per_byte(),
                rates: rates.iter().map(|rate| rate.time_per_byte()).collect(),
                starts: vec![0; weights.len()],
                virtual_time: 0,
                service: (0, 0),
                in_service: 0,
                latest_finish: 0,
            };
            judge(&mut scheduler, &mut referee, weights.len(), link, origin, script)
        }
        go::<Heap>(link, origin, &weights, &script)?;
        go::<Wheel>(link, origin, &weights, &script)?;
    }
}

proptest! {
    // One random script in several hundred keeps a group blocked by two others.
    #![proptest_config(ProptestConfig::with_cases(6 * ProptestConfig::default().cases))]

    #[test]
    fn quick_fair(
        link in links(),
        origin in origins(),
        weights in prop_oneof![prop::collection::vec(prop_oneof![1u64..10, 1u64..1500], FEW_FLOWS), prop::collection::vec(1u64..45, MANY_FLOWS)],
        script in events(),
    ) {
        let rates = shares(link, &weights);
        let mut scheduler = Setup::new(link, 1000).build::<QuickFair>(&given(&rates)).unwrap();
        judge(&mut scheduler, &mut Slots::new(link, &rates), weights.len(), link, origin, &script)?;
    }
}
