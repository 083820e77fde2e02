//! Admission with a budget of delay for each class at each port.
//!
//! **Law.** The burst of a flow at a hop is `b + r * (sum of the budgets before)`. With these bursts each class of each port has a delay of at most
//! its budget. So the budgets are delays `D` with `F(D) <= D`, which bound all delays, in networks with cycles too.
//!
//! **Source.** The fixed point is that of `network::total_flow`; budgets per class are derived from it here.
//!
//! **State.** Per port and class a sum of rates and one of bursts; per flow 40 bytes in a tree.
//!
//! **Cost.** Per hop and class some additions and a division.

use super::offers::{Tests, with_offers};
use crate::curve::{Arrival, Service, TokenBucket};
use crate::quantity::{NoBound, PICOBITS, Picobits, Picoseconds, bits, down, up};
use crate::service::latest_under_deadlines;
use std::collections::{BTreeMap, HashMap};
use tidegate_core::admission::{
    AdmissionControl, Admitted, Answer, Constraint, FlowSpec, Hop, Method, Refused, RequestError, Service as Asked, Shortage, Target,
};
use tidegate_core::units::{Duration, Time};

/// How a port serves its classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// By strict priority, class 0 first; with one class, first in first out.
    StrictPriority,
    /// Each class has this curve, whatever the others send. It is strict, for flows come and go.
    Isolated(Vec<Service>),
    /// Earliest deadline first, with these delays.
    Deadline(Vec<Picoseconds>),
}

/// A class of a port: one queue, first in first out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassSettings {
    /// The delay of its packets that admission may use up.
    pub budget: Picoseconds,
    /// Its buffer, by its index in [`PortSettings::buffers`].
    pub buffer: usize,
}

/// A port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortSettings {
    /// The rate of its link in bit/s.
    pub rate: u64,
    /// The longest packet in bits, of any class and of what is not admitted here.
    pub longest: u64,
    /// How it serves its classes.
    pub discipline: Discipline,
    /// Its classes.
    pub classes: Vec<ClassSettings>,
    /// Its buffers in bits; classes may share one.
    pub buffers: Vec<u64>,
    /// Propagation and processing behind the port, which the bound on a delay includes.
    pub latency: Picoseconds,
}

/// The sums of one class at one port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Sums {
    rate: u64,
    burst: Picobits,
}

#[derive(Clone, Debug)]
struct Port {
    settings: PortSettings,
    sums: Vec<Sums>,
    /// The number of its first queue.
    first: u32,
}

/// What of a request counts at a hop.
#[derive(Clone, Copy, Debug)]
struct Demand {
    burst: u64,
    rate: u64,
    shortest: u64,
}

impl Demand {
    fn of(spec: &FlowSpec<'_>) -> Demand {
        let rate = match spec.target {
            Some(Target::Rate(rate)) => rate,
            _ => spec.traffic.rate().bits_per_second(),
        };
        Demand { burst: spec.traffic.burst(), rate, shortest: spec.traffic.shortest_packet() }
    }
}

/// An admitted flow.
#[derive(Clone, Copy, Debug)]
struct Held {
    demand: Demand,
    path: u32,
}

/// The queues of a network, and the flows that were admitted.
///
/// A path is one of queues: those of the first port have the numbers from 0 on, class by class, then those of the next port.
///
/// A burst outlives its flow in the queues that it has filled. So [`AdmissionControl::release`] is for flows whose packets have left, and after whose
/// last packet every port of the path has been without backlog once, in all classes that the flow delays there.
///
/// ```
/// use tidegate_bounds::admission::{Budgets, ClassSettings, Discipline, PortSettings};
/// use tidegate_core::admission::{AdmissionControl, Answer, FlowSpec, Service, Target, TrafficSpec};
/// use tidegate_core::units::{Duration, Rate};
///
/// let port = PortSettings {
///     rate: 10_000_000,
///     longest: 12_000,
///     discipline: Discipline::StrictPriority,
///     classes: [5, 50].map(|ms| ClassSettings { budget: ms * 1_000_000_000, buffer: 0 }).to_vec(),
///     buffers: vec![1_000_000],
///     latency: 0,
/// };
/// let mut network = Budgets::new(vec![port; 2]);
/// let rate = Rate::new(1_000_000).unwrap();
/// let call = FlowSpec {
///     id: 1,
///     path: &[0, 2],
///     alternatives: &[&[1, 3]],
///     traffic: TrafficSpec::new(12_000, 30_000, rate, rate).unwrap(),
///     target: Some(Target::Delay(Duration::from_milliseconds(200))),
///     kind: Service::Guaranteed,
/// };
/// let Ok(Answer::Admitted(admitted)) = network.request(&call) else { panic!() };
/// assert_eq!(admitted.delay, Some(Duration::from_milliseconds(10)));
/// let another = FlowSpec { id: 2, ..call };
/// let Ok(Answer::Refused(refused)) = network.request(&another) else { panic!() };
/// assert_eq!(
///     refused.to_string(),
///     "port 0: delay budget: needs 7200000000 ps, has 5000000000 ps; would admit its alternative path 0"
/// );
/// assert!(network.release(1) && matches!(network.request(&another), Ok(Answer::Admitted(_))));
/// ```
#[derive(Clone, Debug)]
pub struct Budgets {
    ports: Vec<Port>,
    /// By queue, its port and its class there.
    places: Vec<(u32, u16)>,
    flows: BTreeMap<u64, Held>,
    /// The paths in use, each once.
    paths: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
    /// The hops of the last answer.
    hops: Vec<Hop>,
    /// The sums of a port with a newcomer, while it is tested.
    scratch: Vec<Sums>,
}

impl Budgets {
    /// A network without flows.
    ///
    /// # Panics
    /// If there are 2^32 queues, or a port has 2^16 classes or a class without a buffer.
    pub fn new(ports: Vec<PortSettings>) -> Budgets {
        let mut places = Vec::new();
        let port = |(number, settings): (u32, PortSettings)| {
            let first = u32::try_from(places.len()).expect("fewer than 2^32 queues");
            let classes = u16::try_from(settings.classes.len()).expect("fewer than 2^16 classes");
            places.extend((0..classes).map(|class| (number, class)));
            assert!(settings.classes.iter().all(|class| class.buffer < settings.buffers.len()), "every class has a buffer");
            Port { sums: vec![Sums::default(); settings.classes.len()], settings, first }
        };
        Budgets {
            ports: (0..).zip(ports).map(port).collect(),
            places,
            flows: BTreeMap::new(),
            paths: Vec::new(),
            numbers: HashMap::new(),
            hops: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The number of flows that are admitted.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The delay of a queue with what is admitted; never above its budget.
    ///
    /// # Errors
    /// Out of range.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn delay(&self, queue: u32) -> Result<Picoseconds, NoBound> {
        let (port, class) = self.places[queue as usize];
        let port = &self.ports[port as usize];
        port.delay(class.into(), &port.sums)
    }

    /// The rate in bit/s and the burst in bits, rounded up, of what each queue has admitted.
    pub fn sums(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ports.iter().flat_map(|port| &port.sums).map(|sums| (sums.rate, in_bits(sums.burst)))
    }

    /// Checks that the request has a meaning here.
    fn check(&self, spec: &FlowSpec<'_>) -> Result<(), RequestError> {
        if spec.kind != Asked::Guaranteed {
            return Err(RequestError::OnlyGuaranteed);
        }
        spec.check()?;
        for (at, &queue) in spec.path.iter().enumerate() {
            let &(port, _) = self.places.get(queue as usize).ok_or(RequestError::UnknownPort(queue))?;
            if spec.path[..at].iter().any(|&before| self.places[before as usize].0 == port) {
                return Err(RequestError::RepeatedPort(queue));
            }
        }
        Ok(())
    }

    /// Tests a request that has a meaning at all ports of its path, and notes its hops. Returns the bound on its delay.
    fn test(&mut self, spec: &FlowSpec<'_>) -> Result<Picoseconds, Refused> {
        let demand = Demand::of(spec);
        self.hops.clear();
        let (mut delay, mut tolerance, mut burst) = (0, 0, bits(demand.burst));
        let mut refused = None;
        for &queue in spec.path {
            let (port, class) = self.places[queue as usize];
            let (port, class) = (&self.ports[port as usize], usize::from(class));
            let budget = port.settings.classes[class].budget;
            self.scratch.clear();
            self.scratch.extend_from_slice(&port.sums);
            let own = &mut self.scratch[class];
            *own = Sums { rate: own.rate.saturating_add(demand.rate), burst: own.burst.saturating_add(burst) };
            let held = burst.saturating_add(i128::from(demand.rate).saturating_mul(budget));
            if refused.is_none()
                && let Err((class, shortage)) = port.test(class, &self.scratch, demand.rate, held)
            {
                refused = Some(Refused::new(port.first + class as u32, shortage));
            }
            self.hops.push(Hop {
                port: queue,
                rate: demand.rate,
                buffer: in_bits(held),
                tolerance: duration(tolerance),
                budget: Some(duration(budget)),
            });
            let jitter = port.jitter(class, demand);
            delay += budget + port.settings.latency;
            tolerance += jitter;
            burst = burst.saturating_add(i128::from(demand.rate).saturating_mul(jitter));
        }
        match spec.target {
            Some(Target::Delay(target)) if delay > i128::from(target.picoseconds()) => {
                let shortage = Shortage { constraint: Constraint::Target, have: target.picoseconds(), need: whole(delay) };
                Err(Refused::new(spec.path[spec.path.len() - 1], shortage))
            }
            _ => refused.map_or(Ok(delay), Err),
        }
    }

    /// The number of a path.
    fn number_of(&mut self, path: &[u32]) -> Result<u32, RequestError> {
        if let Some(&number) = self.numbers.get(path) {
            return Ok(number);
        }
        let number = u32::try_from(self.paths.len()).map_err(|_| RequestError::TooManyFlows { port: None })?;
        self.paths.push(path.into());
        self.numbers.insert(path.into(), number);
        Ok(number)
    }

    /// Changes the sums of the ports of an admitted flow.
    fn change(&mut self, Held { demand, path }: Held, mut change: impl FnMut(&mut Sums, Sums)) {
        let mut burst = bits(demand.burst);
        for &queue in &self.paths[path as usize] {
            let (port, class) = self.places[queue as usize];
            let (port, class) = (&mut self.ports[port as usize], usize::from(class));
            change(&mut port.sums[class], Sums { rate: demand.rate, burst });
            burst = burst.saturating_add(i128::from(demand.rate).saturating_mul(port.jitter(class, demand)));
        }
    }
}

impl Tests for Budgets {
    fn is_admitted(&mut self, spec: &FlowSpec<'_>) -> bool {
        self.check(spec).is_ok() && self.test(spec).is_ok()
    }

    fn free_rate(&self, queue: u32) -> u64 {
        self.ports[self.places[queue as usize].0 as usize].free()
    }
}

impl AdmissionControl for Budgets {
    fn request(&mut self, spec: &FlowSpec<'_>) -> Result<Answer<'_>, RequestError> {
        self.check(spec)?;
        if self.flows.contains_key(&spec.id) {
            return Err(RequestError::FlowExists(spec.id));
        }
        let delay = match self.test(spec) {
            Ok(delay) => delay,
            Err(refused) => return Ok(Answer::Refused(with_offers(self, spec, refused))),
        };
        let held = Held { demand: Demand::of(spec), path: self.number_of(spec.path)? };
        self.change(held, |sums, flow| *sums = Sums { rate: sums.rate + flow.rate, burst: sums.burst + flow.burst });
        self.flows.insert(spec.id, held);
        let slack = match spec.target {
            Some(Target::Delay(target)) => target.saturating_sub(duration(delay)),
            _ => Duration::ZERO,
        };
        Ok(Answer::Admitted(Admitted { hops: &self.hops, delay: Some(duration(delay)), slack, method: Method::Budgets }))
    }

    fn release(&mut self, id: u64) -> bool {
        let Some(held) = self.flows.remove(&id) else { return false };
        self.change(held, |sums, flow| *sums = Sums { rate: sums.rate - flow.rate, burst: sums.burst - flow.burst });
        true
    }

    /// Does nothing: what is proven is not measured.
    fn measured(&mut self, _: u32, _: u64, _: u32, _: Time) {}
}

/// A time of the core; the longest one in place of any longer.
fn duration(time: Picoseconds) -> Duration {
    Duration::from_picoseconds(whole(time).min(Duration::MAX.picoseconds()))
}

/// A number of 64 bits; the largest one in place of any larger.
fn whole(number: i128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Picobits in bits, rounded up.
fn in_bits(data: Picobits) -> u64 {
    whole(up(data, PICOBITS))
}

impl Port {
    /// By how much the delays of a flow's packets differ here: the budget, less the transmission of its shortest packet.
    fn jitter(&self, class: usize, demand: Demand) -> Picoseconds {
        let transmission = down(bits(demand.shortest), self.settings.rate.into());
        (self.settings.classes[class].budget - transmission).max(0)
    }

    /// The rate that no class has.
    fn free(&self) -> u64 {
        self.settings.rate.saturating_sub(self.sums.iter().map(|sums| sums.rate).sum())
    }

    /// The classes whose delay a newcomer of `class` changes.
    fn touched(&self, class: usize) -> std::ops::Range<usize> {
        match self.settings.discipline {
            Discipline::StrictPriority => class..self.sums.len(),
            Discipline::Isolated(_) => class..class + 1,
            Discipline::Deadline(_) => 0..self.sums.len(),
        }
    }

    /// Tests the budgets of all classes that `class` touches, and its buffer. `sums` include the newcomer, which has `rate` and holds `held` of the
    /// buffer. Returns the class that refuses.
    fn test(&self, class: usize, sums: &[Sums], rate: u64, held: Picobits) -> Result<(), (usize, Shortage)> {
        for other in self.touched(class) {
            if other != class && sums[other].rate == 0 {
                continue;
            }
            let budget = self.settings.classes[other].budget;
            let (constraint, have, need) = match self.delay(other, sums) {
                Ok(delay) if delay <= budget => continue,
                Ok(delay) => (Constraint::Budget, whole(budget), whole(delay)),
                Err(NoBound::Overloaded { offered, served }) => {
                    // What is left beside the others.
                    let others = offered.saturating_sub(rate.into());
                    (Constraint::Rate, u64::try_from(u128::from(served).saturating_sub(others)).unwrap_or(u64::MAX), rate)
                }
                Err(_) => (Constraint::Budget, whole(budget), u64::MAX),
            };
            return Err((other, Shortage { constraint, have, need }));
        }
        let buffer = self.settings.classes[class].buffer;
        let sharing = sums.iter().zip(&self.settings.classes).filter(|(_, class)| class.buffer == buffer);
        let holds = |(sums, class): (&Sums, &ClassSettings)| sums.burst.saturating_add(i128::from(sums.rate).saturating_mul(class.budget));
        let all = sharing.map(holds).fold(0, i128::saturating_add);
        let limit = bits(self.settings.buffers[buffer]);
        if all <= limit {
            return Ok(());
        }
        let have = whole(down((limit - (all - held)).max(0), PICOBITS));
        Err((class, Shortage { constraint: Constraint::Buffer, have, need: in_bits(held) }))
    }

    /// The delay of a class with these sums.
    fn delay(&self, class: usize, sums: &[Sums]) -> Result<Picoseconds, NoBound> {
        let PortSettings { rate, longest, .. } = self.settings;
        let overloaded = |offered: u128, served: u64| NoBound::Overloaded { offered, served };
        match &self.settings.discipline {
            Discipline::StrictPriority => {
                let above: u128 = sums[..class].iter().map(|sums| u128::from(sums.rate)).sum();
                let offered = above + u128::from(sums[class].rate);
                if offered > rate.into() || above >= rate.into() {
                    return Err(overloaded(offered, rate));
                }
                let burst = sums[..=class].iter().fold(bits(longest), |sum, sums| sum.saturating_add(sums.burst));
                Ok(up(burst, i128::from(rate) - above as i128))
            }
            Discipline::Isolated(curves) => {
                let Sums { rate, burst } = sums[class];
                let curve = curves.get(class).ok_or(NoBound::Because("the class has no curve"))?;
                let carries = curve.pieces().iter().filter(|piece| piece.rate >= rate);
                let delay = carries.map(|piece| piece.latency + up(burst, piece.rate.into())).min();
                delay.ok_or(overloaded(rate.into(), curve.rate()))
            }
            Discipline::Deadline(delays) => {
                let class_of = |(sums, &delay): (&Sums, &Picoseconds)| {
                    (delay, Arrival::new([TokenBucket { burst: sums.burst, rate: sums.rate }]), longest)
                };
                let due: Vec<_> = sums.iter().zip(delays).map(class_of).collect();
                if class >= due.len() {
                    return Err(NoBound::Because("the class has no delay"));
                }
                latest_under_deadlines(&due, &Service::link(rate), class)
            }
        }
    }
}
