//! Cost of enqueue plus dequeue: the queues and the scheduler of a port, every flow backlogged, bursts of 32.
//!
//! As in `benches/peers/sched.c`, a round takes a burst out and puts each packet back into the queue it came from, so the backlog
//! stays. Flows are activated in random order and have weights, rates, delays and priorities of their own, such that all of them take
//! turns: the `ready` line says how many do. Only strict priority serves none but the flows of its highest priority, one in eight.
//!
//! | name | scheduler |
//! |---|---|
//! | `rate-controlled` | first in, first out behind a shaper that holds every flow to a rate of its own |
//! | `shaped-X` | scheduler X behind such a shaper |
//! | `tree-X` | two levels of X, with groups of neighbouring flows |
//! | `shaped-tree-X` | the same, with a shaper for every flow and group |
//! | `overloaded-...` | the rates add up to more than the port's, which is shared in proportion |
//! | `layered-...` | overloaded, with every flow in one of two priorities |
//!
//! Without `overloaded-` or `layered-` the rates add up to less than the port's, so every packet waits for its release.

use crate::flows::Random;
use crate::{BURST, Benchmark, PACKET_BYTES};
use std::num::NonZeroU32;
use tidegate_core::packet::{Colour, Ecn, Flow, Packet, Part};
use tidegate_core::queue::Queues;
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{Decision, FlowParameters, LeafSpec, NodeSpec, Parameter, Scheduler, ServiceClass, Setup, Task};
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::{Duration, Overhead, PICOSECONDS_PER_SECOND, Rate, Time, TimePerByte};

/// The port's rate in bits per second, as the peer's: 100 Gbit/s.
pub(crate) const PORT_RATE: u64 = 100_000_000_000;

/// Packets in one round; few in the tests.
pub(crate) const ROUND_PACKETS: u64 = if cfg!(any(test, debug_assertions)) { 1 << 14 } else { 1 << 20 };

/// Schedulers that are measured behind a shaper too, and in trees: groups send two dozen packets in a row by DRR, and one by WRR.
const COMPOSED: [&str; 4] = ["shaped-drr", "tree-drr", "shaped-tree-drr", "tree-wrr"];

/// Schedulers that shape and are measured with more demand than the port can serve, too.
const OVERLOADED: [&str; 2] = ["overloaded-rate-controlled", "layered-rate-controlled"];

/// Every registered scheduler of many flows, and some of them composed or overloaded. The coupled queues are two.
pub fn names() -> impl Iterator<Item = &'static str> {
    let of_many = SchedulerKind::ALL.iter().filter(|kind| **kind != SchedulerKind::DualQueue);
    of_many.map(|kind| kind.name()).chain(COMPOSED).chain(OVERLOADED)
}

/// Builds the named scheduler for backlogged flows and runs it for two packets per flow.
///
/// # Errors
/// An unknown name, or parameters that the scheduler refuses.
pub fn set_up(name: &str, flows: u32, backlog: u32) -> Result<Benchmark, String> {
    let (unshaped, layered) = (name.strip_prefix("shaped-"), name.strip_prefix("layered-"));
    let fitting = layered.or(name.strip_prefix("overloaded-"));
    let alone = unshaped.or(fitting).unwrap_or(name);
    let member = alone.strip_prefix("tree-");
    let kind = SchedulerKind::from_name(member.unwrap_or(alone)).ok_or_else(|| format!("no scheduler is called \"{name}\""))?;
    let shaped = unshaped.is_some() || kind.shapes();
    let rate = Rate::new(PORT_RATE).map_err(|error| error.to_string())?;
    let mut random = Random::new();
    let mut contracts: Vec<FlowParameters> = (0..flows).map(|_| draw(kind, flows, &mut random)).collect();
    if shaped {
        for given in &mut contracts {
            let mut rate = draw_rate(flows, &mut random);
            if fitting.is_some() {
                rate = Rate::new(2 * rate.bits_per_second()).map_err(|error| error.to_string())?;
            }
            given.shape = Some(ShapingContract::new(rate, 2 * PACKET_BYTES, PACKET_BYTES));
            given.priority = layered.map(|_| random.below(2)).or(given.priority);
        }
    }
    let setup = Setup::new(rate, 1522);
    let mut scheduler = match member {
        Some(_) => tree(kind, &setup, &contracts)?,
        None => kind.build(&setup, &contracts).map_err(|error| error.to_string())?,
    };
    if shaped && !kind.shapes() && member.is_none() {
        let contracts: Vec<Option<ShapingContract>> = contracts.iter().map(|given| given.shape).collect();
        let shaped = Shaped::new(scheduler, &contracts).map_err(|(flow, error)| format!("flow {}: {error}", flow.0))?;
        scheduler = AnyScheduler::Shaped(Box::new(shaped));
    }
    let mut node = Node::new(scheduler, flows, backlog)?;
    let packets = node.packets;
    let order = random.shuffled(flows);
    for index in 0..packets {
        node.enqueue(Flow(order[(index % flows) as usize]));
    }
    let warm_up = (2 * u64::from(packets)).max(ROUND_PACKETS);
    let waits = node.run(warm_up);
    let mut served = vec![false; flows as usize];
    for _ in 0..(4 * packets).div_ceil(BURST as u32) {
        node.burst().0.into_iter().for_each(|flow| served[flow.index()] = true);
    }
    let served = served.into_iter().filter(|&was_served| was_served).count();
    Ok(Benchmark {
        operation: format!("schedule-{name}"),
        flows,
        facts: format!(",waits={waits},served={served}"),
        round: Box::new(move || {
            node.run(ROUND_PACKETS);
            ROUND_PACKETS
        }),
    })
}

/// Groups of flows, as many as there are flows in each, with the same discipline within them and among them. Groups have equal weights: the
/// flows of a large one, whose next packets are always there, would keep the port to themselves for long.
fn tree(kind: SchedulerKind, setup: &Setup, flows: &[FlowParameters]) -> Result<AnyScheduler, String> {
    let groups = flows.len().isqrt();
    let node = |parent, given: &FlowParameters| {
        let parameters = FlowParameters { shape: None, weight: None, ..*given };
        NodeSpec { dwcs: setup.dwcs, intserv: setup.intserv, ..NodeSpec::new(parent, kind, setup.rate, parameters) }
    };
    let nodes: Vec<NodeSpec> =
        std::iter::once(node(None, &flows[0])).chain(flows[..groups].iter().map(|given| node(Some(0), given))).collect();
    let leaf = |(index, given): (usize, &FlowParameters)| LeafSpec {
        parent: 1 + index * groups / flows.len(),
        parameters: FlowParameters { shape: None, ..*given },
        shape: given.shape,
    };
    let leaves: Vec<LeafSpec> = flows.iter().enumerate().map(leaf).collect();
    AnyScheduler::tree(setup.longest_packet, (nodes.len(), |node| nodes[node]), (leaves.len(), |leaf| leaves[leaf]))
        .map_err(|error| error.to_string())
}

/// One half to three quarters of an equal share of the port.
fn draw_rate(flows: u32, random: &mut Random) -> Rate {
    let share = PORT_RATE / u64::from(flows) * u64::from(5000 + random.below(2501)) / 10_000;
    Rate::new(share).expect("the share of a flow is a supported rate")
}

/// From one to three times the time that one packet of every flow takes. Were the delays much longer than that, the flows with the shortest
/// ones, whose next packets are always there, would keep the port to themselves.
fn draw_delay(flows: u32, random: &mut Random) -> Duration {
    let packet = u64::from(PACKET_BYTES) * 8 * PICOSECONDS_PER_SECOND / PORT_RATE;
    Duration::from_picoseconds(packet * u64::from(flows) * u64::from(10_000 + random.below(20_001)) / 10_000)
}

/// Distinct parameters, all that the discipline uses.
pub(crate) fn draw(kind: SchedulerKind, flows: u32, random: &mut Random) -> FlowParameters {
    let all = FlowParameters {
        priority: Some(random.below(8)),
        weight: Some(1 + random.below(1000)),
        rate: Some(draw_rate(flows, random)),
        delay: Some(draw_delay(flows, random)),
        shape: None,
        class: Some(ServiceClass::ALL[random.below(2) as usize]),
        ..FlowParameters::default()
    };
    let uses = |parameter| kind.requires().contains(&parameter) || kind.accepts().contains(&parameter);
    FlowParameters {
        // Rate-controlled flows are all of one priority, as in one queue behind the shapers.
        priority: all.priority.filter(|_| uses(Parameter::Priority) && !kind.shapes()),
        // Where a rate is given, a weight would contradict it.
        weight: all.weight.filter(|_| uses(Parameter::Weight) && !uses(Parameter::Rate)),
        rate: all.rate.filter(|_| uses(Parameter::Rate) && !kind.shapes()),
        delay: all.delay.filter(|_| uses(Parameter::Delay)),
        shape: None,
        class: all.class.filter(|_| uses(Parameter::Class)),
        ..all
    }
}

/// What a packet carries: the number of its buffer, which plays the part of the peer's pointer.
type Buffer = NonZeroU32;

/// A scheduler and its queues.
pub(crate) struct Node {
    scheduler: AnyScheduler,
    store: Store,
    /// The number of packets that all queues together hold.
    pub(crate) packets: u32,
    /// If a packet that has been taken out goes to a random queue, and not to the one that it came from.
    pub(crate) scatter: Option<Random>,
}

struct Store {
    queues: Queues<Buffer>,
    link: TimePerByte,
    now: Time,
}

impl Node {
    /// Empty queues, `backlog` packets for each, and a burst at least.
    pub(crate) fn new(mut scheduler: AnyScheduler, flows: u32, backlog: u32) -> Result<Node, String> {
        scheduler.start(Time::ZERO);
        let packets = (flows * backlog).max(BURST as u32);
        let link = Rate::new(PORT_RATE).map_err(|error| error.to_string())?.time_per_byte();
        let store = Store { queues: Queues::new(flows as usize, packets, Overhead::None), link, now: Time::ZERO };
        Ok(Node { scheduler, store, packets, scatter: None })
    }

    /// Takes `packets` packets out in bursts and puts them back; returns how often the scheduler had nothing to send at once.
    pub(crate) fn run(&mut self, packets: u64) -> u64 {
        (0..packets / BURST as u64).map(|_| self.burst().1).sum()
    }

    /// Takes a burst out and puts it back; returns whose packets it was and how often the scheduler had nothing to send at once.
    #[inline]
    fn burst(&mut self) -> ([Flow; BURST], u64) {
        let (burst, waits) = self.scheduler.drive(Dequeue(&mut self.store));
        for mut flow in burst {
            if let Some(random) = &mut self.scatter {
                flow = Flow(random.below(self.store.queues.occupancy().flows() as u32));
            }
            self.enqueue(flow);
        }
        self.store.now += self.store.link.ceil(PACKET_BYTES * BURST as u32);
        (burst, waits)
    }

    // Inlined as `Port::offer` is: a call would be the benchmark's own.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, flow: Flow) {
        let Store { queues, now, .. } = &mut self.store;
        let packet = Packet {
            flow,
            length: PACKET_BYTES,
            arrival: *now,
            colour: Colour::Green,
            part: Part::Whole,
            ecn: Ecn::NotEct,
            payload: Buffer::MIN,
        };
        if let Some(head) = queues.push(packet) {
            self.scheduler.activate(*now, flow, head);
        }
    }
}

/// Takes out a burst, as `Port::advance` does, and counts the waits in between.
struct Dequeue<'a>(&'a mut Store);

impl Task for Dequeue<'_> {
    type Output = ([Flow; BURST], u64);

    #[inline]
    fn run<S: Scheduler>(self, scheduler: &mut S) -> ([Flow; BURST], u64) {
        let mut burst = [Flow(0); BURST];
        let mut waits = 0;
        for place in &mut burst {
            let (flow, waited) = self.0.dequeue(scheduler);
            *place = flow;
            waits += waited;
        }
        (burst, waits)
    }
}

impl Store {
    /// Serves the next packet; a scheduler that waits has its time come at once, and the wait is counted.
    #[inline]
    fn dequeue<S: Scheduler>(&mut self, scheduler: &mut S) -> (Flow, u64) {
        let mut waited = 0;
        loop {
            match scheduler.select(self.now) {
                Decision::Serve(flow) | Decision::ServeAs(flow, _) => {
                    let next = self.queues.pop(flow).and_then(|(_, next)| next);
                    scheduler.served(self.now, flow, next);
                    if let Some(hint) = scheduler.prefetch_hint() {
                        self.queues.prefetch(hint);
                    }
                    return (flow, waited);
                }
                Decision::Discard(flow) => {
                    let next = self.queues.pop(flow).and_then(|(_, next)| next);
                    scheduler.lost(self.now, flow, next);
                    waited += 1;
                    return (flow, waited);
                }
                Decision::WaitUntil(time) => {
                    self.now = time;
                    waited += 1;
                }
                Decision::Idle => unreachable!("every flow is backlogged"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flows_take_turns() {
        const FLOWS: u32 = 1000;
        for name in names() {
            let facts = set_up(name, FLOWS, 1).unwrap().facts;
            let served: u32 = facts.rsplit_once("served=").unwrap().1.parse().unwrap();
            let expected = if name == "strict-priority" { FLOWS / 8 - FLOWS / 40..FLOWS / 8 + FLOWS / 40 } else { FLOWS..FLOWS + 1 };
            assert!(expected.contains(&served), "{name}: {facts}");
        }
    }
}
