//! The workers of a link, and one port that has the whole of it, with the same arrivals.

use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::exchange::{Above, Exchange, Limits, Part, Report, SpanningNode, WorkerMeter, Workers};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::registry::{AnyScheduler, BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, LeafSpec, NodeSpec};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Duration, Overhead, Rate, Time};

pub const LONGEST: u32 = 1500;

/// What a member offers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// It is always backlogged.
    Standing,
    /// Packets at this part of the link's rate, in thousandths.
    Rate(u64),
    /// This many packets at once, again and again after this many microseconds.
    Bursts(u32, u64),
}

/// A leaf of the tree.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The node above.
    pub node: usize,
    pub worker: usize,
    pub weight: u32,
    /// What it is shaped to.
    pub cap: Option<Rate>,
    pub length: u32,
    pub load: Load,
}

pub fn member(worker: usize, weight: u32, load: Load) -> Member {
    Member { node: 0, worker, weight, cap: None, length: LONGEST, load }
}

/// An inner node of the tree.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub above: usize,
    pub weight: u32,
    /// What it is shaped to.
    pub cap: Option<Rate>,
    /// The worker that has all of it; `None` if it spans workers.
    pub worker: Option<usize>,
}

/// A link, and the tree by which it is shared.
#[derive(Clone, Debug)]
pub struct Net {
    pub rate: Rate,
    /// The link first.
    pub nodes: Vec<Node>,
    pub members: Vec<Member>,
}

impl Net {
    /// All members are directly below the link.
    pub fn flat(rate: Rate, members: &[Member]) -> Net {
        Net { rate, nodes: vec![Node { above: 0, weight: 1, cap: None, worker: None }], members: members.to_vec() }
    }

    /// A port with all members, of which a worker uses its own, on a link of this rate.
    pub fn port(&self, rate: Rate) -> Port<()> {
        let weight = |weight| FlowParameters { weight: Some(weight), ..FlowParameters::default() };
        let shape = |cap: Option<Rate>| cap.map(contract);
        let node = |index: usize| {
            let Node { above, weight: own, cap, .. } = self.nodes[index];
            let node = NodeSpec::new((index > 0).then_some(above), SchedulerKind::DeficitRoundRobin, self.rate, weight(own));
            NodeSpec { shape: shape(cap), ..node }
        };
        let leaf = |index: usize| {
            let Member { node, weight: own, cap, .. } = self.members[index];
            LeafSpec { parent: node, parameters: weight(own), shape: shape(cap) }
        };
        let scheduler = AnyScheduler::tree(LONGEST, (self.nodes.len(), node), (self.members.len(), leaf)).unwrap();
        let flows = self.members.len();
        let limit = 400 * flows as u32;
        let class = ClassRules { name: "all".into(), queues: flows as u32, rules: vec![] };
        let buffer = BufferParameters { flows, packets: Some(limit), ..BufferParameters::default() };
        let setup = PortSetup {
            rate,
            overhead: Overhead::None,
            classifier: Classifier::new(vec![class], 0).unwrap(),
            policers: vec![],
            aqms: vec![],
            seed: 0,
            buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
            scheduler,
            packet_limit: limit,
            longest_frame: LONGEST,
            remarks: Default::default(),
        };
        Port::new(Time::ZERO, setup)
    }

    /// The workers, of which each has the members that name it.
    pub fn workers(&self, count: usize, exchange_every: Duration) -> Workers {
        // By node: its number among spanning nodes, or among parts.
        let (mut place, mut nodes, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(worker) = node.worker {
                parts.push(Part { above: place[node.above], worker: worker as u32, weight: node.weight, most: node.cap });
                place.push(Above::Part(parts.len() - 1));
            } else {
                let above = match place.get(node.above) {
                    Some(Above::Spanning(above)) => *above,
                    None => 0,
                    Some(Above::Part(_)) => panic!("a spanning node is below another"),
                };
                nodes.push(SpanningNode { above, node: index, weight: node.weight, shape: node.cap.map(contract) });
                place.push(Above::Spanning(nodes.len() - 1));
            }
        }
        let first = parts.len() as u32;
        parts.extend(self.members.iter().map(|member| Part {
            above: place[member.node],
            worker: member.worker as u32,
            weight: member.weight,
            most: member.cap,
        }));
        Workers { count: count as u32, exchange_every, nodes, parts, part_of: (first..first + self.members.len() as u32).collect() }
    }

    /// The spanning nodes above a member, by their numbers.
    fn spanning_above(&self, member: usize) -> Vec<usize> {
        let number = |node: usize| self.nodes[..node].iter().filter(|node| node.worker.is_none()).count();
        let mut node = self.members[member].node;
        let mut above = Vec::new();
        loop {
            if self.nodes[node].worker.is_none() {
                above.push(number(node));
            }
            if node == 0 {
                return above;
            }
            node = self.nodes[node].above;
        }
    }
}

/// A burst of 20 longest packets. What waits for the link delays nothing.
fn contract(rate: Rate) -> ShapingContract {
    ShapingContract { tolerance: Duration::from_milliseconds(30), ..ShapingContract::new(rate, 20 * LONGEST, LONGEST) }
}

/// What was sent in a run.
#[derive(Debug)]
pub struct Outcome {
    /// Bytes of each member through one port that has the whole link.
    pub alone: Vec<u64>,
    /// Bytes of each member through the workers.
    pub shared: Vec<u64>,
    /// By spanning node.
    pub nodes: Vec<Excess>,
}

/// What was sent below a spanning node that has a rate.
#[derive(Debug, Default)]
pub struct Excess {
    /// The most bytes between two exchanges beyond what the rate carries in that time.
    pub excess: i128,
    /// What that may be.
    pub burst: u64,
    level: i128,
    lowest: i128,
}

impl Excess {
    /// The greatest rise of what was sent beyond the rate, over all pairs of exchanges.
    fn note(&mut self, sent: u64, rate: Rate, interval: Duration) {
        self.level += i128::from(sent) * 8_000_000_000_000 - i128::from(rate.bits_per_second()) * i128::from(interval.picoseconds());
        self.lowest = self.lowest.min(self.level);
        self.excess = self.excess.max((self.level - self.lowest) / 8_000_000_000_000);
    }
}

impl Outcome {
    /// The greatest difference between the two runs, as a part of what the member sent alone. Three packets may fall on either side of an end.
    pub fn error(&self) -> f64 {
        let part = |(&one, &other): (&u64, &u64)| one.abs_diff(other).saturating_sub(3 * u64::from(LONGEST)) as f64 / one.max(1) as f64;
        self.alone.iter().zip(&self.shared).map(part).fold(0.0, f64::max)
    }

    pub fn sum(&self) -> u64 {
        self.shared.iter().sum()
    }

    /// No spanning node has sent more than its rate and its burst.
    pub fn judge_bursts(&self) {
        for (number, node) in self.nodes.iter().enumerate() {
            assert!(node.excess <= i128::from(node.burst), "node {number}: {} of {} bytes", node.excess, node.burst);
        }
    }
}

/// Sends what is due up to an instant, and returns its bytes.
fn send(port: &mut Port<()>, to: Time, bytes: &mut [u64], observer: &mut impl Observer<()>) -> u64 {
    let mut sent = 0;
    port.advance(to, observer, |transmission| {
        sent += u64::from(transmission.packet.length);
        bytes[transmission.packet.flow.index()] += u64::from(transmission.packet.length);
    });
    sent
}

/// Runs the workers and the single port for this many exchanges. Bytes count from a tenth of the run on.
pub fn run(net: &Net, workers: usize, interval: Duration, exchanges: u64) -> Outcome {
    let (rate, members) = (net.rate, &net.members[..]);
    let mut alone = net.port(rate);
    let plan = net.workers(workers, interval);
    let mut exchange = Exchange::new(Time::ZERO, &plan, rate, LONGEST).unwrap();
    let meter = WorkerMeter::new(Overhead::None, rate, &plan);
    let mut limits: Vec<_> = (0..workers).map(|worker| Limits::new(&exchange, &plan, worker)).collect();
    let part = |worker: usize| {
        let mut port = net.port(exchange.granted(worker)[0]);
        limits[worker].begin(Time::ZERO, &mut port);
        (port, meter.clone())
    };
    let mut parts: Vec<_> = (0..workers).map(part).collect();
    let excess = |node| Excess { burst: exchange.burst(node).unwrap_or(u64::MAX), ..Excess::default() };
    let nodes = (0..plan.nodes.len()).map(excess).collect();
    let mut outcome = Outcome { alone: vec![0; members.len()], shared: vec![0; members.len()], nodes };
    let above: Vec<_> = (0..members.len()).map(|member| net.spanning_above(member)).collect();
    let mut next: Vec<Time> = vec![Time::ZERO; members.len()];
    let mut total = 0u64;
    let backlog = 2 + 2 * (rate.bits_per_second() / 8 * (interval.picoseconds() / 1000) / 1_000_000_000 / 60).min(150) as u32;
    for round in 0..exchanges {
        if round == exchanges / 10 {
            outcome.alone.fill(0);
            outcome.shared.fill(0);
        }
        let begin = Time::ZERO + Duration::from_picoseconds(round * interval.picoseconds());
        let end = begin + interval;
        // The arrivals of the interval in the order of time; members that always stay backlogged are filled up at its begin.
        let mut arrivals: Vec<(Time, usize)> = Vec::new();
        for (index, member) in members.iter().enumerate() {
            let (count, period) = match member.load {
                Load::Standing => continue,
                Load::Rate(part) => (1, u64::from(member.length) * 8 * 1_000_000_000 / (rate.bits_per_second() / 1_000_000 * part).max(1)),
                Load::Bursts(count, microseconds) => (count, microseconds * 1_000_000),
            };
            while next[index].is_before(end) {
                (0..count).for_each(|_| arrivals.push((next[index], index)));
                next[index] += Duration::from_picoseconds(period);
            }
        }
        arrivals.sort_by_key(|(time, index)| (time.picoseconds(), *index));
        let refill = |port: &mut Port<()>, index: usize, meter: Option<&mut WorkerMeter>| {
            let flow = Flow(index as u32);
            let missing = backlog.saturating_sub(port.occupancy().flow_packets(flow));
            match meter {
                Some(meter) => (0..missing).for_each(|_| port.offer(begin, flow, members[index].length, Colour::Green, (), meter)),
                None => (0..missing).for_each(|_| port.offer(begin, flow, members[index].length, Colour::Green, (), &mut ())),
            }
        };
        let (mut started, before) = (0, outcome.shared.clone());
        for (index, member) in members.iter().enumerate().filter(|(_, member)| member.load == Load::Standing) {
            refill(&mut alone, index, None);
            let (port, meter) = &mut parts[member.worker];
            refill(port, index, Some(meter));
        }
        for (time, index) in arrivals {
            let (flow, length) = (Flow(index as u32), members[index].length);
            send(&mut alone, time, &mut outcome.alone, &mut ());
            alone.offer(time, flow, length, Colour::Green, (), &mut ());
            let (port, meter) = &mut parts[members[index].worker];
            started += send(port, time, &mut outcome.shared, meter);
            port.offer(time, flow, length, Colour::Green, (), meter);
        }
        send(&mut alone, end, &mut outcome.alone, &mut ());
        for (port, meter) in &mut parts {
            started += send(port, end, &mut outcome.shared, meter);
            port.check().unwrap();
        }
        let reports: Vec<Report> = parts.iter_mut().flat_map(|(_, meter)| meter.take_reports()).collect();
        assert_eq!(reports.iter().map(|report| report.sent).sum::<u64>(), started, "reports count every byte once");
        total += started;
        for (number, (node, excess)) in plan.nodes.iter().zip(&mut outcome.nodes).enumerate() {
            let own = (0..members.len()).filter(|&member| above[member].contains(&number));
            let sent = own.map(|member| outcome.shared[member] - before[member]).sum();
            if let Some(rate) = node.shape.map(|shape| shape.rate).or((number == 0).then_some(rate)) {
                excess.note(sent, rate, interval);
            }
        }
        exchange.exchange(end, &reports);
        for (worker, (limits, (port, meter))) in limits.iter_mut().zip(&mut parts).enumerate() {
            limits.follow(end, port, exchange.granted(worker).iter().copied());
            exchange.levels().enumerate().for_each(|(node, level)| meter.set_level(node, level));
        }
    }
    assert!(total > 0);
    outcome
}
