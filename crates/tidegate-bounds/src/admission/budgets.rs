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

use super::request::{Admitted, Constraint, Hop, Offer, Refused, Request};
use crate::curve::{Arrival, Service, TokenBucket};
use crate::quantity::{NoBound, PICOBITS, Picobits, Picoseconds, bits, down, up};
use crate::service::latest_under_deadlines;
use std::collections::{BTreeMap, HashMap};

/// How a port serves its classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// By strict priority, class 0 first; with one class, first in first out.
    StrictPriority,
    /// Each class has this curve, whatever the others send.
    Isolated(Vec<Service>),
    /// Earliest deadline first, with these delays.
    Deadline(Vec<Picoseconds>),
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
    /// The budget of each class.
    pub budgets: Vec<Picoseconds>,
    /// The buffer in bits.
    pub buffer: u64,
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
}

/// An admitted flow.
#[derive(Clone, Copy, Debug)]
struct Held {
    burst: u64,
    rate: u64,
    path: u32,
    shortest: u32,
    class: u16,
}

/// The ports of a network, and the flows that were admitted.
///
/// ```
/// use tidegate_bounds::admission::{Budgets, Discipline, Offer, PortSettings, Request};
///
/// let port = PortSettings {
///     rate: 10_000_000,
///     longest: 12_000,
///     discipline: Discipline::StrictPriority,
///     budgets: vec![5_000_000_000, 50_000_000_000],
///     buffer: 1_000_000,
/// };
/// let mut network = Budgets::new(vec![port; 2]);
/// let call = Request {
///     id: 1, path: &[0, 1], class: 0, burst: 30_000, rate: 1_000_000, longest: 12_000, shortest: 12_000, target: 10_000_000_000, propagation: 0,
/// };
/// assert_eq!(network.request(&call).unwrap().delay, 10_000_000_000);
/// let another = Request { id: 2, ..call };
/// let refused = network.request(&another).unwrap_err();
/// assert_eq!(refused.to_string(), "port 0: class 0 has a budget of 5000000000 ps, and would need 7200000000 ps");
/// assert!(network.release(1) && network.request(&another).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Budgets {
    ports: Vec<Port>,
    flows: BTreeMap<u64, Held>,
    /// The paths in use, each once.
    paths: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
}

impl Budgets {
    /// A network without flows.
    pub fn new(ports: Vec<PortSettings>) -> Budgets {
        let port = |settings: PortSettings| Port { sums: vec![Sums::default(); settings.budgets.len()], settings };
        Budgets { ports: ports.into_iter().map(port).collect(), flows: BTreeMap::new(), paths: Vec::new(), numbers: HashMap::new() }
    }

    /// Admits a flow at every port of its path, or at none.
    ///
    /// # Errors
    /// [`Refused`]: the first port that refuses, and what is short.
    pub fn request(&mut self, request: &Request<'_>) -> Result<Admitted, Refused> {
        if self.flows.contains_key(&request.id) {
            return Err(meaningless("a flow of this name is admitted already: release it first"));
        }
        let admitted = self.test(request)?;
        let Request { burst, rate, shortest, class, .. } = *request;
        let path = match self.numbers.get(request.path) {
            Some(&number) => number,
            None => {
                let number = u32::try_from(self.paths.len()).map_err(|_| meaningless("there are more than 2^32 paths"))?;
                self.paths.push(request.path.into());
                self.numbers.insert(request.path.into(), number);
                number
            }
        };
        let held = Held { burst, rate, path, shortest, class };
        self.change(&held, |sums, flow| *sums = Sums { rate: sums.rate + flow.rate, burst: sums.burst + flow.burst });
        self.flows.insert(request.id, held);
        Ok(admitted)
    }

    /// Gives back all that a flow holds; false if it was not admitted.
    pub fn release(&mut self, id: u64) -> bool {
        let Some(held) = self.flows.remove(&id) else { return false };
        self.change(&held, |sums, flow| *sums = Sums { rate: sums.rate - flow.rate, burst: sums.burst - flow.burst });
        true
    }

    /// The number of flows that are admitted.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The delay of a class at a port with what is admitted; never above its budget.
    ///
    /// # Errors
    /// Out of range.
    ///
    /// # Panics
    /// If there is no such port or class.
    pub fn delay(&self, port: u32, class: u16) -> Result<Picoseconds, NoBound> {
        let port = &self.ports[port as usize];
        port.delay(class.into(), &port.sums)
    }

    /// The sums of all ports, for tests.
    #[cfg(test)]
    pub(super) fn ports(&self) -> Vec<impl core::fmt::Debug + use<>> {
        self.ports.iter().map(|port| port.sums.clone()).collect()
    }

    /// What would be admitted in place of a refused request, each value by itself. `paths` are other paths of the flow.
    pub fn offers(&self, request: &Request<'_>, paths: &[&[u32]]) -> Vec<Offer> {
        let mut offers = Vec::new();
        let is_admitted = |request: &Request<'_>| self.test(request).is_ok();
        let target = self.budget(request).map(|budget| budget + request.propagation);
        if let Some(target) = target.filter(|&target| target > request.target && is_admitted(&Request { target, ..*request })) {
            offers.push(Offer::Target(target));
        }
        let with_burst = |burst: u64| is_admitted(&Request { burst, ..*request });
        offers.extend(largest(request.longest.into(), request.burst, with_burst).map(Offer::Burst));
        let with_rate = |rate: u64| is_admitted(&Request { rate, ..*request });
        offers.extend(largest(1, request.rate, with_rate).map(Offer::Rate));
        let classes = request.path.iter().filter_map(|&port| Some(self.ports.get(port as usize)?.sums.len())).min().unwrap_or(0);
        // The least urgent one that will do.
        let class = (0..classes as u16).rev().find(|&class| class != request.class && is_admitted(&Request { class, ..*request }));
        offers.extend(class.map(Offer::Class));
        let bottleneck = |path: &[u32]| path.iter().map(|&port| self.ports[port as usize].free()).min().unwrap_or(0);
        let path = paths.iter().enumerate().filter(|(_, path)| is_admitted(&Request { path, ..*request }));
        let path = path.min_by_key(|(_, path)| (path.len(), std::cmp::Reverse(bottleneck(path))));
        offers.extend(path.map(|(number, _)| Offer::Path(number)));
        offers
    }

    /// The sum of the budgets along the path; `None` if there is no such port or class.
    fn budget(&self, request: &Request<'_>) -> Option<Picoseconds> {
        let budget = |&port: &u32| self.ports.get(port as usize)?.settings.budgets.get(usize::from(request.class)).copied();
        request.path.iter().map(budget).sum()
    }

    /// Tests all ports of a path.
    fn test(&self, request: &Request<'_>) -> Result<Admitted, Refused> {
        let Some(budget) = self.budget(request) else {
            return Err(meaningless("the path or the class does not exist"));
        };
        if request.path.is_empty() || (1..request.path.len()).any(|at| request.path[..at].contains(&request.path[at])) {
            return Err(meaningless("the path needs a port, and none twice"));
        }
        if request.burst < request.longest.into() {
            return Err(meaningless("the burst is at least the longest packet"));
        }
        let delay = budget + request.propagation;
        if delay > request.target {
            return Err(Refused { port: None, constraint: Constraint::Target, have: request.target, need: delay });
        }
        let held = Held { burst: request.burst, rate: request.rate, path: 0, shortest: request.shortest, class: request.class };
        let mut hops = Vec::with_capacity(request.path.len());
        let mut sums = Vec::new();
        let mut refused = None;
        self.walk(request.path, &held, |number, port, flow| {
            sums.clear();
            sums.extend_from_slice(&port.sums);
            let own = &mut sums[usize::from(request.class)];
            *own = Sums { rate: own.rate.saturating_add(flow.rate), burst: own.burst.saturating_add(flow.burst) };
            let budget = port.settings.budgets[usize::from(request.class)];
            match port.test(request.class, &sums) {
                Ok(()) => {
                    let buffer = up(flow.burst + i128::from(flow.rate) * budget, PICOBITS);
                    hops.push(Hop { port: number, budget, buffer: u64::try_from(buffer).unwrap_or(u64::MAX) });
                    true
                }
                Err((constraint, have, need)) => {
                    refused = Some(Refused { port: Some(number), constraint, have, need });
                    false
                }
            }
        });
        refused.map_or(Ok(Admitted { delay, hops }), Err)
    }

    /// Visits the ports of a path with what the flow brings to each; stops when `visit` returns false.
    fn walk(&self, path: &[u32], held: &Held, mut visit: impl FnMut(u32, &Port, Sums) -> bool) {
        let mut burst = bits(held.burst);
        for &number in path {
            let port = &self.ports[number as usize];
            if !visit(number, port, Sums { rate: held.rate, burst }) {
                return;
            }
            burst = burst.saturating_add(port.growth(held));
        }
    }

    /// Changes the sums of the ports of an admitted flow.
    fn change(&mut self, held: &Held, mut change: impl FnMut(&mut Sums, Sums)) {
        let mut burst = bits(held.burst);
        for &number in &self.paths[held.path as usize] {
            let port = &mut self.ports[number as usize];
            change(&mut port.sums[usize::from(held.class)], Sums { rate: held.rate, burst });
            burst = burst.saturating_add(port.growth(held));
        }
    }
}

/// The largest value from `least` to below `most` that is admitted, if the least one is. What is admitted stays so with less.
fn largest(least: u64, most: u64, is_admitted: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (least, most.checked_sub(1)?);
    if low > high || !is_admitted(low) {
        return None;
    }
    while low < high {
        let middle = high - (high - low) / 2;
        if is_admitted(middle) { low = middle } else { high = middle - 1 }
    }
    Some(low)
}

/// A request without a meaning.
fn meaningless(problem: &'static str) -> Refused {
    Refused { port: None, constraint: Constraint::Meaning(problem), have: 0, need: 0 }
}

impl Port {
    /// By how much the burst of a flow grows here: its rate for the budget, less the transmission of its shortest packet.
    fn growth(&self, held: &Held) -> Picobits {
        let transmission = down(bits(held.shortest.into()), self.settings.rate.into());
        let jitter = (self.settings.budgets[usize::from(held.class)] - transmission).max(0);
        i128::from(held.rate).saturating_mul(jitter)
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

    /// Tests the budgets of all classes that `class` touches, and the buffer.
    fn test(&self, class: u16, sums: &[Sums]) -> Result<(), (Constraint, i128, i128)> {
        for other in self.touched(class.into()) {
            let number = other as u16;
            if other != usize::from(class) && sums[other].rate == 0 {
                continue;
            }
            match self.delay(other, sums) {
                Ok(delay) if delay <= self.settings.budgets[other] => {}
                Ok(delay) => return Err((Constraint::Budget(number), self.settings.budgets[other], delay)),
                Err(NoBound::Overloaded { offered, served }) => {
                    return Err((Constraint::Rate(number), served.into(), i128::try_from(offered).unwrap_or(i128::MAX)));
                }
                Err(_) => return Err((Constraint::Budget(number), self.settings.budgets[other], i128::MAX)),
            }
        }
        let held = |(sums, &budget): (&Sums, &Picoseconds)| sums.burst.saturating_add(i128::from(sums.rate).saturating_mul(budget));
        let needed = sums.iter().zip(&self.settings.budgets).map(held).fold(0i128, i128::saturating_add);
        let (have, need) = (self.settings.buffer.into(), needed / PICOBITS + i128::from(needed % PICOBITS > 0));
        if need > have { Err((Constraint::Buffer, have, need)) } else { Ok(()) }
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
