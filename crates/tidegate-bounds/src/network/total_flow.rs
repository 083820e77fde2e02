//! Total flow analysis (TFA++): the delay of each server for all its traffic together, and the bursts that follow from it.
//!
//! **Law.** A flow's delay is at most the sum of its servers' delays. What a server sends on is the least of:
//! * jitter: of each flow `alpha(t + sum of (D - L / C))`, with the flow's shortest packet `L`;
//! * group: of an edge `b + r (T + rest / R)` and one packet, where `rest` is the burst of the flows that go elsewhere;
//! * line: of an edge one packet and the rate of the line.
//!
//! **Cycles.** Let `F` map delays of servers to those that follow from them, by jitter and line. It is monotone and concave, and `F(0) > 0`. Then
//! any `D` with `F(D) <= D` bounds all delays of a network that is empty at first. Proof: stop all sources at some time. The true delays `D'` are finite and
//! `D' <= F(D')`. If the largest `D'_i / D_i` were some `k > 1`, then `F(kD) <= k F(D) - (k - 1) F(0) < kD`, so `D' < kD` everywhere, a
//! contradiction. Iteration from 0 with delays rounded up ends in an integer fixed point, which is its own proof; with fractions it never ends.
//!
//! **Source.** A. Mifdaoui, T. Leydier, "Beyond the accuracy-complexity tradeoffs of compositional analyses using network calculus for complex
//! networks", 2017, for TFA++; L. Thomas, J.-Y. Le Boudec, A. Mifdaoui, "On cyclic dependencies and regulators in time-sensitive networks", RTSS
//! 2019, for cycles.
//!
//! **Cost.** One pass over all flows and hops without cycles; tens of passes with them.

use super::layout::{Edge, Layout};
use super::model::{Network, Serving};
use crate::aggregate::Aggregate;
use crate::curve::{Arrival, Service, TokenBucket};
use crate::quantity::{NoBound, PICOBITS, Picobits, Picoseconds, as_bound, bits, plus, times, up};
use crate::service::latest_under_deadlines;
use std::collections::HashMap;

/// Delays above this, 100 s, end the iteration of a cycle.
const UNSETTLED: Picoseconds = 100 * PICOBITS;

/// Rounds after which the iteration of a cycle ends.
const MOST_ROUNDS: usize = 2_000;

/// Passes over a cycle by all rules, from its certificate on.
const MOST_PASSES: usize = 6;

/// Which output rules are used besides jitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The group rule.
    pub group: bool,
    /// The line rule.
    pub line: bool,
}

impl Rules {
    /// All of them.
    pub const ALL: Rules = Rules { group: true, line: true };
}

/// The result: bounds for each server and each flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TotalFlow {
    /// The delay of each server.
    pub delays: Vec<Picoseconds>,
    /// The backlog of each server in bits. A buffer that frees a packet only when it has left needs one packet more.
    pub backlogs: Vec<u64>,
    /// What comes to each server.
    pub arrivals: Vec<Arrival>,
    /// The service curve of each server beside the traffic that is before it; `None` under earliest deadline first and in any order.
    pub services: Vec<Option<Service>>,
    /// For each flow the jitter before each of its servers, and behind the last: its curve there is `arrival.delayed(jitter)`.
    pub jitters: Vec<Vec<Picoseconds>>,
    /// The rounds to the fixed point; 1 without a cycle.
    pub rounds: usize,
}

impl TotalFlow {
    /// The bound on the delay of a flow, propagation included.
    pub fn delay(&self, network: &Network, flow: usize) -> Result<Picoseconds, NoBound> {
        let flow = &network.flows[flow];
        as_bound(flow.path.iter().map(|&server| self.delays[server]).sum::<Picoseconds>() + flow.propagation)
    }
}

/// Computes it.
///
/// # Errors
/// A network that [`Network::check`] refuses, an overloaded server, a cycle that does not settle, and out of range.
///
/// ```
/// use tidegate_bounds::curve::Service;
/// use tidegate_bounds::network::{Flow, Network, Rules, Server, total_flow};
///
/// // Two flows of 25 bit and 5 bit/s through one server of 10 bit/s after 10 s: 15 s.
/// let server = Server::fluid(Service::rate_latency(10, 10_000_000_000_000));
/// let network = Network { servers: vec![server], flows: vec![Flow::fluid(25, 5, vec![0]); 2] };
/// assert_eq!(total_flow(&network, Rules::ALL).unwrap().delays, [15_000_000_000_000]);
/// ```
pub fn total_flow(network: &Network, rules: Rules) -> Result<TotalFlow, NoBound> {
    network.check()?;
    let layout = Layout::new(network);
    let mut state = State::new(network, &layout, rules);
    let mut rounds = 1;
    if let Some(order) = &layout.order {
        for &server in order {
            state.update(server)?;
        }
    } else {
        rounds = state.settle()?;
        state.improve(if rules.group { MOST_PASSES } else { 1 })?;
    }
    state.result(rounds)
}

/// Takes bounds on jitter that were found otherwise into account: each server is computed again from what is known.
pub(super) fn refined(network: &Network, layout: &Layout, known: TotalFlow) -> Result<TotalFlow, NoBound> {
    let TotalFlow { delays, services, jitters, rounds, .. } = known;
    let mut state = State { delays, services, jitters, ..State::new(network, layout, Rules::ALL) };
    state.improve(MOST_PASSES)?;
    state.result(rounds)
}

/// What is known so far.
struct State<'a> {
    network: &'a Network,
    layout: &'a Layout,
    rules: Rules,
    delays: Vec<Picoseconds>,
    services: Vec<Option<Service>>,
    /// The bursts of edges by the group rule.
    groups: Vec<Option<Picobits>>,
    /// For each flow and hop the jitter before it.
    jitters: Vec<Vec<Picoseconds>>,
}

impl<'a> State<'a> {
    fn new(network: &'a Network, layout: &'a Layout, rules: Rules) -> State<'a> {
        State {
            network,
            layout,
            rules,
            delays: vec![LARGE; network.servers.len()],
            services: vec![None; network.servers.len()],
            groups: vec![None; layout.edges.len()],
            jitters: network.flows.iter().map(|flow| (0..=flow.path.len()).map(|hop| if hop == 0 { 0 } else { LARGE }).collect()).collect(),
        }
    }

    /// Computes all servers again: every bound that follows from bounds is one, by group and by the shortest packet of each flow.
    fn improve(&mut self, passes: usize) -> Result<(), NoBound> {
        for _ in 0..passes {
            let before: Picoseconds = self.delays.iter().sum();
            for server in 0..self.network.servers.len() {
                self.update(server)?;
            }
            let after: Picoseconds = self.delays.iter().sum();
            if (before - after) * 1_000 <= before {
                // Less than a thousandth is gained.
                break;
            }
        }
        Ok(())
    }

    /// The curve of what comes over an edge.
    fn over(&self, edge: &Edge, group: Option<Picobits>, sum: &mut Aggregate) -> Result<(), NoBound> {
        let flows = &self.network.flows;
        let Some(from) = edge.from else {
            for &(flow, _) in &edge.flows {
                sum.add(&flows[flow].arrival)?;
            }
            return Ok(());
        };
        let (mut several, mut one) = (Aggregate::default(), TokenBucket { burst: 0, rate: 0 });
        for &(flow, hop) in &edge.flows {
            let (arrival, jitter) = (&flows[flow].arrival, self.jitters[flow][hop]);
            if let [bucket] = arrival.buckets() {
                one.burst = plus(one.burst, bucket.at(jitter)?)?;
                one.rate = one.rate.checked_add(bucket.rate).ok_or(NoBound::OutOfRange)?;
            } else {
                several.add(&arrival.delayed(jitter)?)?;
            }
        }
        let line = self.network.servers[from].line.filter(|_| self.rules.line);
        if several.is_empty() {
            let burst = group.map_or(one.burst, |group| group.min(one.burst));
            return sum.add_on_line(TokenBucket { burst, ..one }, line);
        }
        several.add(&Arrival::new([one]))?;
        let mut buckets = several.as_arrival()?.buckets().to_vec();
        let rate = buckets.iter().map(|bucket| bucket.rate).min().unwrap_or(0);
        buckets.extend(group.map(|burst| TokenBucket { burst, rate }));
        buckets.extend(line);
        sum.add(&Arrival::new(buckets))
    }

    /// All that comes to a server.
    fn arrivals(&self, server: usize) -> Result<Aggregate, NoBound> {
        let mut sum = Aggregate::default();
        for &edge in &self.layout.into[server] {
            self.over(&self.layout.edges[edge], self.groups[edge], &mut sum)?;
        }
        Ok(sum)
    }

    /// All that comes to these servers together.
    fn together(&self, servers: &[usize]) -> Result<Vec<TokenBucket>, NoBound> {
        let mut sum = Aggregate::default();
        for &server in servers {
            sum.add_all(&self.arrivals(server)?)?;
        }
        Ok(if sum.is_empty() { Vec::new() } else { sum.as_arrival()?.buckets().to_vec() })
    }

    /// The service of a server, and the delay of what comes to it.
    fn serve(&self, server: usize, arrivals: &Aggregate) -> Result<(Option<Service>, Picoseconds), NoBound> {
        let service = match &self.network.servers[server].serving {
            Serving::Fixed(service) => service.clone(),
            Serving::Below { port, higher, lower } => port.beside(&self.together(higher)?, bits(*lower))?,
            // The curve beside all of them begins when nothing of them is left.
            Serving::AnyOrder { port, servers, lower } => {
                let delay = port.beside(&self.together(servers)?, bits(*lower))?.latency();
                return Ok((None, as_bound(delay)?));
            }
            Serving::Deadline { port, classes } => {
                let mut due = Vec::with_capacity(classes.len());
                for &(other, delay, longest) in classes {
                    let arrivals = self.arrivals(other)?;
                    if !arrivals.is_empty() {
                        due.push((other, delay, arrivals.as_arrival()?, longest));
                    }
                }
                let Some(own) = due.iter().position(|class| class.0 == server) else { return Ok((None, 0)) };
                let due: Vec<_> = due.into_iter().map(|(_, delay, arrivals, longest)| (delay, arrivals, longest)).collect();
                return Ok((None, latest_under_deadlines(&due, port, own)?));
            }
        };
        let delay = if arrivals.is_empty() { 0 } else { arrivals.delay(&service)? };
        Ok((Some(service), delay))
    }

    /// Computes a server from what is known before it, and what follows for the edges behind it.
    fn update(&mut self, server: usize) -> Result<(), NoBound> {
        let arrivals = self.arrivals(server)?;
        let (service, delay) = self.serve(server, &arrivals)?;
        self.delays[server] = self.delays[server].min(delay);
        // What follows from other bounds on the same traffic holds, too: the larger of two strict curves is one.
        self.services[server] = match (self.services[server].take(), service) {
            (Some(old), Some(new)) if old != new => Some(Service::new(old.pieces().iter().chain(new.pieces()).copied())?),
            (old, new) => new.or(old),
        };
        // Jitter of the flows behind the server.
        for &edge in &self.layout.into[server] {
            for &(flow, hop) in &self.layout.edges[edge].flows {
                let least = self.network.servers[server].transmission(self.network.flows[flow].shortest);
                let behind = self.jitters[flow][hop] + self.delays[server] - least;
                self.jitters[flow][hop + 1] = self.jitters[flow][hop + 1].min(behind);
            }
        }
        if self.rules.group {
            self.update_groups(server)?;
        }
        Ok(())
    }

    /// The bursts that flows bring over an edge: one each, or by the group rule all together.
    fn bursts(&self, edge: usize) -> Result<(Vec<Picobits>, Picobits), NoBound> {
        let of_flow = |&(flow, hop): &(usize, usize)| self.network.flows[flow].arrival.sustained().at(self.jitters[flow][hop]);
        let each = self.layout.edges[edge].flows.iter().map(of_flow).collect::<Result<Vec<_>, NoBound>>()?;
        let sum = each.iter().try_fold(0, |sum, &burst| plus(sum, burst))?;
        Ok((each, self.groups[edge].map_or(sum, |group| group.min(sum))))
    }

    fn update_groups(&mut self, server: usize) -> Result<(), NoBound> {
        let Some(service) = &self.services[server] else { return Ok(()) };
        // For each edge out: burst and rate of its flows, and by how much the bursts of all edges in shrink without them.
        let (mut all, mut offered) = (0, 0i128);
        let mut out: HashMap<usize, (Picobits, i128, Picobits)> = HashMap::new();
        for &edge in &self.layout.into[server] {
            let (each, together) = self.bursts(edge)?;
            all = plus(all, together)?;
            let sum: Picobits = each.iter().sum();
            let mut parts: Vec<(usize, Picobits, i128, usize)> = Vec::new();
            for (&(flow, hop), &burst) in self.layout.edges[edge].flows.iter().zip(&each) {
                let rate = i128::from(self.network.flows[flow].arrival.rate());
                offered += rate;
                let Some(&next) = self.layout.edge_of[flow].get(hop + 1) else { continue };
                match parts.iter_mut().find(|part| part.0 == next) {
                    Some(part) => *part = (next, part.1 + burst, part.2 + rate, part.3 + 1),
                    None => parts.push((next, burst, rate, 1)),
                }
            }
            let count = each.len();
            for (next, burst, rate, flows) in parts {
                let (own, less) = if flows == count { (together, together) } else { (burst, together - (sum - burst)) };
                let entry = out.entry(next).or_default();
                *entry = (entry.0 + own, entry.1 + rate, entry.2 + less);
            }
        }
        for (edge, (burst, rate, less)) in out {
            let rest = all - less;
            let mut least = None;
            for piece in service.pieces().iter().filter(|piece| i128::from(piece.rate) >= offered) {
                let wait = piece.latency + up(rest, piece.rate.into());
                let group = plus(plus(burst, times(rate, wait)?)?, bits(self.network.servers[server].longest))?;
                least = Some(least.map_or(group, |least: Picobits| least.min(group)));
            }
            self.groups[edge] = match (self.groups[edge], least) {
                (Some(old), Some(new)) => Some(old.min(new)),
                (old, new) => new.or(old),
            };
        }
        Ok(())
    }

    /// Iterates all delays of a cyclic network to a fixed point, by jitter and line. Returns the rounds.
    fn settle(&mut self) -> Result<usize, NoBound> {
        let servers = &self.network.servers;
        // The unknown of a server is its delay less the least transmission of its packets.
        let mut least = vec![Picoseconds::MAX; servers.len()];
        for flow in &self.network.flows {
            flow.path.iter().for_each(|&server| least[server] = least[server].min(servers[server].transmission(flow.shortest)));
        }
        let mut unknowns = vec![0; servers.len()];
        for round in 1..=MOST_ROUNDS {
            for (flow, jitters) in self.network.flows.iter().zip(&mut self.jitters) {
                let mut sum = 0;
                for (hop, &server) in flow.path.iter().enumerate() {
                    jitters[hop] = sum;
                    sum += unknowns[server];
                }
                jitters[flow.path.len()] = sum;
            }
            let mut next = Vec::with_capacity(servers.len());
            for (server, &transmission) in least.iter().enumerate() {
                let arrivals = self.arrivals(server)?;
                if arrivals.is_empty() {
                    next.push(0);
                    continue;
                }
                let (_, delay) = self.serve(server, &arrivals)?;
                // One picosecond more keeps F(0) positive where a lone packet is all that waits.
                next.push(delay - transmission + Picoseconds::from(transmission > 0 || delay == 0));
            }
            if next == unknowns {
                let delay = |(unknown, &transmission): (&Picoseconds, &Picoseconds)| unknown + if *unknown == 0 { 0 } else { transmission };
                self.delays = unknowns.iter().zip(&least).map(delay).collect();
                return Ok(round);
            }
            let grow = next.iter().zip(&unknowns).enumerate().filter(|(_, (new, old))| new > old).map(|(server, _)| server);
            if round == MOST_ROUNDS || next.iter().any(|&unknown| unknown > UNSETTLED) {
                let servers: Vec<usize> = grow.collect();
                let load_percent = servers.iter().filter_map(|&server| self.load(server)).max().unwrap_or(0);
                return Err(NoBound::Unsettled { servers, load_percent });
            }
            unknowns = next;
        }
        unreachable!("the last round returns")
    }

    /// The load of a server in percent, if its rate is fixed.
    fn load(&self, server: usize) -> Option<u64> {
        let Serving::Fixed(service) = &self.network.servers[server].serving else { return None };
        let rate = self.arrivals(server).ok()?.rate();
        u64::try_from(up(rate * 100, service.rate().into())).ok()
    }

    fn result(self, rounds: usize) -> Result<TotalFlow, NoBound> {
        let mut backlogs = Vec::with_capacity(self.delays.len());
        let mut all = Vec::with_capacity(self.delays.len());
        for server in 0..self.delays.len() {
            let arrivals = self.arrivals(server)?;
            all.push(arrivals.as_arrival()?);
            backlogs.push(match &self.services[server] {
                _ if arrivals.is_empty() => 0,
                Some(service) => arrivals.backlog_bits(service)?,
                // What waits has come within the delay.
                None => {
                    let waiting = arrivals.as_arrival()?.at(self.delays[server])?;
                    u64::try_from(up(waiting, PICOBITS)).map_err(|_| NoBound::OutOfRange)?
                }
            });
        }
        Ok(TotalFlow { delays: self.delays, backlogs, arrivals: all, services: self.services, jitters: self.jitters, rounds })
    }
}

/// A delay or jitter that is not computed yet.
const LARGE: Picoseconds = 1 << 100;

#[cfg(test)]
mod tests {
    use super::super::model::{Flow, Server};
    use super::*;
    use proptest::prelude::*;

    /// The delays that follow from delays, by jitter and line.
    fn image(network: &Network, delays: &[Picoseconds]) -> Vec<Picoseconds> {
        let layout = Layout::new(network);
        let mut state = State::new(network, &layout, Rules { group: false, line: true });
        for (flow, jitters) in network.flows.iter().zip(&mut state.jitters) {
            for (hop, &server) in flow.path.iter().enumerate() {
                jitters[hop + 1] = jitters[hop] + delays[server];
            }
        }
        let delay = |server: usize| state.serve(server, &state.arrivals(server).unwrap()).unwrap().1;
        (0..network.servers.len()).map(delay).collect()
    }

    proptest! {
        /// `F(kD) <= k F(D) - (k - 1) F(0)`: what the proof for cycles needs. A latency and a delay are rounded up, by less than 1 ps each.
        #[test]
        fn delays_follow_concavely(
            flows in proptest::collection::vec((1u64..9, 1u64..8, proptest::sample::subsequence(vec![0usize, 1, 2, 3, 4], 1..=5).prop_shuffle(), any::<bool>()), 2..7),
            lines in proptest::collection::vec((0u64..4, 0i128..4), 5),
            delays in proptest::collection::vec(0i128..20, 10),
            k in 2i128..5,
            in_order in any::<bool>(),
        ) {
            // Two priorities at each of five ports of 100 bit/s, the lower one in any order or not.
            let servers = (0..10).map(|server: usize| {
                let (burst, latency) = lines[server / 2];
                let port = Service::rate_latency(100, latency * PICOBITS);
                let serving = match (server % 2 == 1, in_order) {
                    (false, _) => Serving::Below { port: port.clone(), higher: Vec::new(), lower: 1 },
                    (true, true) => Serving::Below { port: port.clone(), higher: vec![server - 1], lower: 1 },
                    (true, false) => Serving::AnyOrder { port: port.clone(), servers: vec![server - 1, server], lower: 1 },
                };
                Server { serving, line: Some(TokenBucket::of_bits(burst, 100)), ..Server::fluid(port) }
            });
            let flows = flows.iter().map(|(burst, rate, path, low)| {
                Flow::fluid(*burst, *rate, path.iter().map(|port| 2 * port + usize::from(*low)).collect())
            });
            let network = Network { servers: servers.collect(), flows: flows.collect() };
            let delays: Vec<Picoseconds> = delays.iter().map(|delay| delay * PICOBITS).collect();
            let longer: Vec<Picoseconds> = delays.iter().map(|delay| delay * k).collect();
            let (far, near, zero) = (image(&network, &longer), image(&network, &delays), image(&network, &[0; 10]));
            for server in 0..10 {
                let most = k * near[server] - (k - 1) * zero[server];
                prop_assert!(far[server] <= most + 2 * k, "{} exceeds {most}", far[server]);
                prop_assert!(near[server] >= zero[server] && far[server] >= near[server]);
            }
        }
    }
}
