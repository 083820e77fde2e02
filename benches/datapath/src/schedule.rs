//! Cost of enqueue plus dequeue: the queues and the scheduler of a port, every flow backlogged, bursts of 32.
//!
//! As in `benches/peers/sched.c`, a round takes a burst out and puts each packet back into the queue it came from, so the backlog
//! stays. Flows are activated in random order and have weights, rates, delays and priorities of their own.
//!
//! `shaped-` is the scheduler behind a shaper that holds every flow to a rate of its own. The rates add up to less than the port's, so
//! that every packet has to wait for its release.

use crate::flows::Random;
use crate::{BURST, Benchmark, PACKET_BYTES};
use tidegate_core::packet::{Colour, Flow, Packet};
use tidegate_core::port::Overhead;
use tidegate_core::queue::Queues;
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{Decision, FlowParameters, Hierarchy, Parameter, Scheduler, Setup};
use tidegate_core::shaper::{Shaped, ShapingContract};
use tidegate_core::units::{Duration, Rate, Time, TimePerByte};

/// The port's rate in bits per second, as the peer's: 100 Gbit/s.
const PORT_RATE: u64 = 100_000_000_000;

/// Packets in one round; few in the tests.
const ROUND_PACKETS: u64 = if cfg!(test) { 1 << 14 } else { 1 << 20 };

/// Schedulers that are measured behind a shaper too.
const SHAPED: [&str; 2] = ["shaped-fifo", "shaped-drr"];

/// Every registered scheduler, and some of them shaped.
pub fn names() -> impl Iterator<Item = &'static str> {
    SchedulerKind::ALL.iter().map(|kind| kind.name()).chain(SHAPED)
}

/// Builds the named scheduler for backlogged flows and runs it for two packets per flow.
///
/// # Errors
/// An unknown name, or parameters that the scheduler refuses.
pub fn set_up(name: &str, flows: u32, backlog: u32) -> Result<Benchmark, String> {
    let inner = name.strip_prefix("shaped-");
    let kind = SchedulerKind::from_name(inner.unwrap_or(name)).ok_or_else(|| format!("no scheduler is called \"{name}\""))?;
    let rate = Rate::new(PORT_RATE).map_err(|error| error.to_string())?;
    let mut random = Random::new();
    let parameters: Vec<FlowParameters> = (0..flows).map(|_| draw(kind, flows, &mut random)).collect();
    let mut scheduler = kind.build(&Setup { rate, longest_packet: 1522 }, &parameters).map_err(|error| error.to_string())?;
    if inner.is_some() {
        let contract = |_| Some(ShapingContract::new(draw_rate(flows, &mut random), 2 * PACKET_BYTES, PACKET_BYTES));
        let contracts: Vec<Option<ShapingContract>> = (0..flows).map(contract).collect();
        let shaped = Shaped::new(scheduler, &contracts, Hierarchy::GRANULE).map_err(|(flow, error)| format!("flow {}: {error}", flow.0))?;
        scheduler = AnyScheduler::Shaped(Box::new(shaped));
    }
    scheduler.start(Time::ZERO);
    let packets = (flows * backlog).max(BURST as u32);
    let mut node =
        Node { queues: Queues::new(flows as usize, packets, Overhead::None), scheduler, link: rate.time_per_byte(), now: Time::ZERO };
    let order = random.shuffled(flows);
    for index in 0..packets {
        node.enqueue(Flow(order[(index % flows) as usize]));
    }
    let warm_up = (2 * u64::from(packets)).max(ROUND_PACKETS);
    let waits = node.run(warm_up);
    Ok(Benchmark {
        operation: format!("schedule-{name}"),
        flows,
        facts: format!(",waits={waits}"),
        round: Box::new(move || {
            node.run(ROUND_PACKETS);
            ROUND_PACKETS
        }),
    })
}

/// One half to three quarters of an equal share of the port.
fn draw_rate(flows: u32, random: &mut Random) -> Rate {
    let share = PORT_RATE / u64::from(flows) * u64::from(5000 + random.below(2501)) / 10_000;
    Rate::new(share).expect("the share of a flow is a supported rate")
}

/// Distinct parameters, all that the discipline uses.
fn draw(kind: SchedulerKind, flows: u32, random: &mut Random) -> FlowParameters {
    let all = FlowParameters {
        priority: Some(random.below(8)),
        weight: Some(1 + random.below(1000)),
        rate: Some(draw_rate(flows, random)),
        delay: Some(Duration::from_microseconds(u64::from(1000 + random.below(99_000)))),
    };
    let uses = |parameter| kind.requires().contains(&parameter) || kind.accepts().contains(&parameter);
    FlowParameters {
        priority: all.priority.filter(|_| uses(Parameter::Priority)),
        // Where a rate is given, a weight would contradict it.
        weight: all.weight.filter(|_| uses(Parameter::Weight) && !uses(Parameter::Rate)),
        rate: all.rate.filter(|_| uses(Parameter::Rate)),
        delay: all.delay.filter(|_| uses(Parameter::Delay)),
    }
}

struct Node {
    queues: Queues<()>,
    scheduler: AnyScheduler,
    link: TimePerByte,
    now: Time,
}

impl Node {
    /// Takes `packets` packets out in bursts and puts them back; returns how often the scheduler had nothing to send at once.
    fn run(&mut self, packets: u64) -> u64 {
        let mut waits = 0;
        let mut burst = [Flow(0); BURST];
        for _ in 0..packets / BURST as u64 {
            for place in &mut burst {
                let (flow, waited) = self.dequeue();
                *place = flow;
                waits += waited;
            }
            for flow in burst {
                self.enqueue(flow);
            }
            self.now += self.link.ceil(PACKET_BYTES * BURST as u32);
        }
        waits
    }

    #[inline]
    fn enqueue(&mut self, flow: Flow) {
        let packet = Packet { flow, length: PACKET_BYTES, arrival: self.now, colour: Colour::Green, payload: () };
        if self.queues.push(packet)
            && let Some(head) = self.queues.head(flow)
        {
            self.scheduler.activate(self.now, flow, head);
        }
    }

    /// Serves the next packet; a scheduler that waits has its time come at once, and the wait is counted.
    #[inline]
    fn dequeue(&mut self) -> (Flow, u64) {
        let mut waited = 0;
        loop {
            match self.scheduler.select(self.now) {
                Decision::Serve(flow) => {
                    self.queues.pop(flow);
                    self.scheduler.served(self.now, flow, self.queues.head(flow));
                    if let Some(upcoming) = self.scheduler.upcoming() {
                        self.queues.prefetch(upcoming);
                    }
                    return (flow, waited);
                }
                Decision::Discard(flow) => {
                    self.queues.pop(flow);
                    self.scheduler.lost(self.now, flow, self.queues.head(flow));
                    return (flow, waited + 1);
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
