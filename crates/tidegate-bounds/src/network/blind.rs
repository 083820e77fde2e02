//! Bounds for any order of service within a queue: separated flows (SFA) and pay multiplexing only once (PMOO).
//!
//! **Law.** The examined flow has the lowest priority everywhere, so bursts of the others count as if it were absent. Flows that come over one link are
//! bounded together.
//! * SFA: the residuals `(R - r, (R T + b) / (R - r))` in a row.
//! * PMOO: `R = min (R_h - r_h)`, `T = sum T_h + sum_x (b_x + r_x sum T_h of its hops) / R`.
//!
//! All service curves have to be strict, and the network without cycles. A flow that leaves the path and returns counts as another one there.
//!
//! **Source.** J. Schmitt, F. Zdarsky, M. Fidler, "Delay bounds under arbitrary multiplexing", INFOCOM 2008; S. Bondorf and J. Schmitt, the DISCO
//! deterministic network calculator, whose values the tests reproduce.
//!
//! **Cost.** Bursts are found by recursion against the flows; beyond 100,000 steps there is no bound.

use super::layout::Layout;
use super::model::{Network, Server};
use super::total_flow::TotalFlow;
use crate::aggregate::delay;
use crate::curve::{RateLatency, Service};
use crate::quantity::{NoBound, Picobits, Picoseconds, as_bound, plus, times, up};
use std::cell::Cell;

/// Steps of the recursion at most.
const MOST_STEPS: u32 = 100_000;

/// The bound by SFA for any order of service; propagation is included.
///
/// # Errors
/// A curve that is not strict, too little rate, a recursion that is too long or has no end, and out of range.
pub fn separated_blind(network: &Network, total: &TotalFlow, flow: usize) -> Result<Picoseconds, NoBound> {
    let blind = Blind::new(network, total)?;
    let own = &network.flows[flow];
    let (mut latency, mut least) = (0, u64::MAX);
    for &server in &own.path {
        let RateLatency { rate, latency: begin } = blind.curve(server)?;
        let others = blind.rate(server, &[flow]);
        let left = i128::from(rate) - others;
        if left <= 0 {
            return Err(NoBound::Because("the others leave no rate"));
        }
        let burst = blind.bursts(server, &[flow], None)?;
        latency += up(plus(times(rate.into(), begin)?, burst)?, left) + blind.packetiser(own, server);
        least = least.min(left as u64);
    }
    as_bound(delay(&own.arrival, &Service::rate_latency(least, latency))? + own.propagation)
}

/// The bound by PMOO; propagation is included.
///
/// # Errors
/// As [`separated_blind`].
pub fn pay_multiplexing_once(network: &Network, total: &TotalFlow, flow: usize) -> Result<Picoseconds, NoBound> {
    let blind = Blind::new(network, total)?;
    let own = &network.flows[flow];
    let (mut latency, mut least) = (0, i128::MAX);
    for &server in &own.path {
        let RateLatency { rate, latency: begin } = blind.curve(server)?;
        least = least.min(i128::from(rate) - blind.rate(server, &[flow]));
        latency += begin + blind.packetiser(own, server);
    }
    let rate = u64::try_from(least).ok().filter(|&rate| rate > 0).ok_or(NoBound::Because("the others leave no rate"))?;
    // Others that share the same part of the path and come over the same link count together.
    let mut groups: Vec<(Option<usize>, Vec<usize>, Vec<usize>)> = Vec::new();
    for (number, other) in network.flows.iter().enumerate().filter(|&(number, _)| number != flow) {
        for shared in runs(&own.path, &other.path) {
            let from = before(&other.path, shared[0]);
            match groups.iter_mut().find(|group| group.0 == from && group.1 == shared) {
                Some(group) => group.2.push(number),
                None => groups.push((from, shared.to_vec(), vec![number])),
            }
        }
    }
    let mut work = 0;
    for (_, shared, flows) in groups {
        let burst = blind.bursts(shared[0], &[flow], Some(&flows))?;
        let rate: i128 = flows.iter().map(|&flow| i128::from(network.flows[flow].arrival.rate())).sum();
        let mut begin = 0;
        for server in shared {
            begin += blind.curve(server)?.latency;
        }
        work = plus(work, plus(burst, times(rate, begin)?)?)?;
    }
    latency += up(work, rate.into());
    as_bound(delay(&own.arrival, &Service::rate_latency(rate, latency))? + own.propagation)
}

/// True if every other flow that shares a part of the path enters the network there: then no burst depends on the examined flow.
pub(crate) fn others_enter_fresh(network: &Network, flow: usize) -> bool {
    let own = &network.flows[flow].path;
    let others = network.flows.iter().enumerate().filter(|&(number, _)| number != flow);
    others.flat_map(|(_, other)| runs(own, &other.path).into_iter().map(|run| run[0] == other.path[0])).all(|is_fresh| is_fresh)
}

/// The parts of `own` that `other` passes without leaving it.
fn runs<'a>(own: &'a [usize], other: &[usize]) -> Vec<&'a [usize]> {
    let mut runs = Vec::new();
    let mut first = 0;
    while first < own.len() {
        let Some(at) = other.iter().position(|&server| server == own[first]) else {
            first += 1;
            continue;
        };
        let length = own[first..].iter().zip(&other[at..]).take_while(|(one, two)| one == two).count();
        runs.push(&own[first..first + length]);
        first += length;
    }
    runs
}

/// The server before `server` on a path.
fn before(path: &[usize], server: usize) -> Option<usize> {
    let at = path.iter().position(|&other| other == server)?;
    at.checked_sub(1).map(|before| path[before])
}

/// The recursion for bursts.
struct Blind<'a> {
    network: &'a Network,
    curves: Vec<Option<RateLatency>>,
    steps: Cell<u32>,
}

impl<'a> Blind<'a> {
    fn new(network: &'a Network, total: &TotalFlow) -> Result<Blind<'a>, NoBound> {
        if Layout::new(network).order.is_none() {
            return Err(NoBound::Because("any order of service has a bound here only without cycles"));
        }
        let curve = |(server, service): (&Server, &Option<Service>)| {
            let fastest = |service: &Service| service.pieces().last().copied();
            service.as_ref().filter(|_| server.is_strict).and_then(fastest)
        };
        let curves = network.servers.iter().zip(&total.services).map(curve).collect();
        Ok(Blind { network, curves, steps: Cell::new(0) })
    }

    fn curve(&self, server: usize) -> Result<RateLatency, NoBound> {
        self.curves[server].ok_or(NoBound::Because("a service curve on the way is not strict"))
    }

    /// What packets cost at a hop but the last.
    fn packetiser(&self, flow: &super::model::Flow, server: usize) -> Picoseconds {
        if flow.path.last() == Some(&server) { 0 } else { self.network.servers[server].packetiser }
    }

    /// The rate of the flows at a server without the absent ones.
    fn rate(&self, server: usize, absent: &[usize]) -> i128 {
        let flows = self.network.flows.iter().enumerate();
        let here = flows.filter(|(number, flow)| !absent.contains(number) && flow.path.contains(&server));
        here.map(|(_, flow)| i128::from(flow.arrival.rate())).sum()
    }

    /// The burst at a server of the flows there, or of `only` these, without the absent ones.
    fn bursts(&self, server: usize, absent: &[usize], only: Option<&[usize]>) -> Result<Picobits, NoBound> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS {
            return Err(NoBound::Because("the recursion for bursts is too long"));
        }
        let mut links: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
        for (number, flow) in self.network.flows.iter().enumerate() {
            let counts = !absent.contains(&number) && only.is_none_or(|only| only.contains(&number)) && flow.path.contains(&server);
            if !counts {
                continue;
            }
            let from = before(&flow.path, server);
            match links.iter_mut().find(|link| link.0 == from) {
                Some(link) => link.1.push(number),
                None => links.push((from, vec![number])),
            }
        }
        let mut sum = 0;
        for (from, flows) in links {
            let burst = match from {
                None => flows.iter().map(|&flow| self.network.flows[flow].arrival.sustained().burst).sum(),
                Some(from) => self.behind(from, &flows, absent)?,
            };
            sum = plus(sum, burst)?;
        }
        Ok(sum)
    }

    /// The burst of these flows behind a server, in which all others go first.
    fn behind(&self, server: usize, flows: &[usize], absent: &[usize]) -> Result<Picobits, NoBound> {
        let RateLatency { rate, latency } = self.curve(server)?;
        let gone: Vec<usize> = absent.iter().chain(flows).copied().collect();
        let left = i128::from(rate) - self.rate(server, &gone);
        if left <= 0 {
            return Err(NoBound::Because("the others leave no rate"));
        }
        let own: i128 = flows.iter().map(|&flow| i128::from(self.network.flows[flow].arrival.rate())).sum();
        let before = self.bursts(server, absent, Some(flows))?;
        let work = plus(times(rate.into(), latency)?, self.bursts(server, &gone, None)?)?;
        // Rounded once: the burst grows by the rate for the latency of what is left. Whole packets come later by one.
        let grown = up(times(own, work)?, left);
        plus(plus(before, grown)?, times(own, self.network.servers[server].packetiser)?)
    }
}
