//! E9: blocking of guaranteed flows by signalling alone, against Erlang B and against Kaufman and Roberts.
//!
//! Flows ask for one of the lot's four paths. All cross the last link, so it alone blocks: it holds as many circuits as their rates fit into nine
//! tenths of it.

use super::lot::PATHS;
use super::packets::mbps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_core::admission::{AdmissionControl, Answer, FlowSpec, LinkSettings, PathAdmission, Service, Target, TrafficSpec};
use tidegate_sim::random::Stream as Random;

/// The mean time between requests of a path at load 1, in seconds.
const INTERVAL: f64 = 50.0;
/// The mean time that a flow holds, in seconds.
const HOLD: f64 = 100.0;

/// A run of signalling: the rates of the paths in Mbit/s, a factor on the requests, and the simulated seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Calls {
    pub rates: [f64; PATHS],
    pub x: f64,
    pub seconds: f64,
    pub seed: u64,
}

/// Requests and refusals, by path.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Blocking {
    pub requests: [f64; PATHS],
    pub refused: [f64; PATHS],
    /// After all have left: what the links still hold.
    pub left: u64,
}

impl Blocking {
    /// The part of all requests that is refused.
    pub fn of_all(&self) -> f64 {
        self.refused.iter().sum::<f64>() / self.requests.iter().sum::<f64>()
    }

    /// The same of each path.
    pub fn by_path(&self) -> [f64; PATHS] {
        std::array::from_fn(|path| self.refused[path] / self.requests[path])
    }
}

/// A time in nanoseconds, a flow that leaves or a path that asks.
type Event = (u64, Option<u64>, usize);

/// Lets flows come, hold and leave.
pub fn run(calls: &Calls) -> Blocking {
    let settings = [LinkSettings::new(mbps(10.0), 1000, 500_000); PATHS];
    let mut network = PathAdmission::new(&settings, 100, PATHS).expect("the settings are the paper's");
    let mut random = Random::new(calls.seed, 0, "signalling");
    let mut after = |now: u64, mean: f64| now + (random.exponential() * mean * 1e9) as u64;
    let paths: [Vec<u32>; PATHS] = std::array::from_fn(|path| (path as u32..PATHS as u32).collect());
    let mut events: BinaryHeap<Reverse<Event>> = BinaryHeap::new();
    (0..PATHS).for_each(|path| events.push(Reverse((after(0, INTERVAL / calls.x), None, path))));
    let (mut blocking, mut next_flow) = (Blocking::default(), 0u64);
    let end = (calls.seconds * 1e9) as u64;
    while let Some(Reverse((now, leaving, path))) = events.pop() {
        if let Some(flow) = leaving {
            network.release(flow);
            continue;
        }
        if now >= end {
            continue;
        }
        events.push(Reverse((after(now, INTERVAL / calls.x), None, path)));
        let rate = mbps(calls.rates[path]);
        let traffic = TrafficSpec::new(1000, 15_000, rate, rate).expect("a bucket of 15 packets");
        let target = Some(Target::Rate(rate.bits_per_second()));
        let spec = FlowSpec { id: next_flow, path: &paths[path], alternatives: &[], traffic, target, kind: Service::Guaranteed };
        blocking.requests[path] += 1.0;
        match network.request(&spec).expect("the request has a meaning") {
            Answer::Admitted(_) => events.push(Reverse((after(now, HOLD), Some(next_flow), path))),
            Answer::Refused(_) => blocking.refused[path] += 1.0,
        }
        next_flow += 1;
    }
    blocking.left = (0..PATHS as u32).filter_map(|port| network.link(port)).map(|link| link.totals().rate).sum();
    blocking
}

/// Erlang's formula B: the part of requests that `circuits` refuse under a load of `erlangs`.
pub fn erlang_b(circuits: u32, erlangs: f64) -> f64 {
    (1..=circuits).fold(1.0, |blocked, circuit| erlangs * blocked / (f64::from(circuit) + erlangs * blocked))
}

/// The recursion of Kaufman and Roberts: the part of requests of each kind, by units and erlangs, that a link of `units` refuses.
pub fn kaufman_roberts(units: usize, kinds: &[(usize, f64)]) -> Vec<f64> {
    let mut occupied = vec![1.0];
    for level in 1..=units {
        let sum: f64 =
            kinds.iter().filter(|kind| kind.0 <= level).map(|&(size, erlangs)| size as f64 * erlangs * occupied[level - size]).sum();
        occupied.push(sum / level as f64);
    }
    let all: f64 = occupied.iter().sum();
    kinds.iter().map(|&(size, _)| occupied[units + 1 - size..].iter().sum::<f64>() / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulae_have_their_published_values() {
        for (circuits, erlangs, blocked) in
            [(6, 6.4, 0.292415), (6, 8.0, 0.389752), (6, 9.6, 0.467663), (9, 8.0, 0.173141), (10, 8.0, 0.121661)]
        {
            assert!((erlang_b(circuits, erlangs) - blocked).abs() < 1e-6);
        }
        let blocked = kaufman_roberts(9, &[(1, 4.0), (2, 4.0)]);
        assert!((blocked[0] - 0.261992).abs() < 1e-6 && (blocked[1] - 0.488029).abs() < 1e-6, "{blocked:?}");
    }

    #[test]
    fn one_kind_is_the_formula_of_erlang() {
        assert!((kaufman_roberts(6, &[(1, 8.0)])[0] - erlang_b(6, 8.0)).abs() < 1e-12);
    }
}
