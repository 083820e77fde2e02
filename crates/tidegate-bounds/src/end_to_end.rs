//! The least proven bound of each flow, and the method that gives it.
//!
//! Ties go to the simpler method: TFA++ before SFA, PMOO and PLP. What has no bound says why.

use crate::curve::Arrival;
use crate::network::{Network, Rules, TotalFlow, descended, others_enter_fresh, pay_multiplexing_once, separated_flow, tandem, total_flow};
use crate::quantity::{NoBound, PICOBITS, Picoseconds, up};

/// How a bound was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// Total flow analysis, TFA++: a sum over servers.
    TotalFlow,
    /// Separated flow analysis, SFA: what the others leave.
    SeparatedFlow,
    /// Pay multiplexing only once, PMOO: for any order of service.
    PayMultiplexingOnce,
    /// A linear program of the path, PLP, with its proof.
    Program,
}

impl Method {
    /// Every one, the simplest first.
    pub const ALL: [Method; 4] = [Method::TotalFlow, Method::SeparatedFlow, Method::PayMultiplexingOnce, Method::Program];

    /// The name to print.
    pub const fn name(self) -> &'static str {
        match self {
            Method::TotalFlow => "TFA++",
            Method::SeparatedFlow => "SFA",
            Method::PayMultiplexingOnce => "PMOO",
            Method::Program => "PLP",
        }
    }
}

/// What is proven of one flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The least bound on its delay, from the arrival of a packet's last bit to its departure from the last server, and propagation.
    pub delay: Picoseconds,
    /// The method that gives it.
    pub method: Method,
    /// What each method gives, in the order of [`Method::ALL`], or why it gives nothing.
    pub all: [Result<Picoseconds, NoBound>; 4],
    /// The most by which delays of its packets differ.
    pub jitter: Picoseconds,
    /// What it may have in the queue of each server of its path, in bits.
    pub backlogs: Vec<u64>,
    /// Its curve where it leaves the network.
    pub output: Arrival,
}

/// The bounds of a network: computed once for all flows, by the costly methods only for those that are asked for.
#[derive(Clone, Debug)]
pub struct EndToEnd<'a> {
    network: &'a Network,
    total: TotalFlow,
    separated: Vec<Result<Picoseconds, NoBound>>,
}

impl<'a> EndToEnd<'a> {
    /// TFA++ and SFA of all flows.
    ///
    /// # Errors
    /// As [`total_flow`].
    pub fn new(network: &'a Network) -> Result<EndToEnd<'a>, NoBound> {
        let total = total_flow(network, Rules::ALL)?;
        let separated = separated_flow(network, &total, true)?;
        Ok(EndToEnd { network, total, separated })
    }

    /// The same with the bounds of cycles improved by linear programs, as far as a few steps go.
    ///
    /// # Errors
    /// As [`EndToEnd::new`].
    pub fn descend(self) -> Result<EndToEnd<'a>, NoBound> {
        let total = descended(self.network, self.total)?;
        let again = separated_flow(self.network, &total, true)?;
        // Both hold; another piece of a service may have been taken.
        let least = |(old, new): (Result<Picoseconds, NoBound>, Result<Picoseconds, NoBound>)| match (old, new) {
            (Ok(old), Ok(new)) => Ok(old.min(new)),
            (old, new) => new.or(old),
        };
        let separated = self.separated.into_iter().zip(again).map(least).collect();
        Ok(EndToEnd { network: self.network, total, separated })
    }

    /// The bounds of the servers.
    pub fn total(&self) -> &TotalFlow {
        &self.total
    }

    /// The bound of a flow by TFA++ and SFA, whichever is less.
    ///
    /// # Errors
    /// Why no method gives one.
    pub fn quick(&self, flow: usize) -> Result<(Picoseconds, Method), NoBound> {
        let total = self.total.delay(self.network, flow)?;
        match &self.separated[flow] {
            Ok(separated) if *separated < total => Ok((*separated, Method::SeparatedFlow)),
            _ => Ok((total, Method::TotalFlow)),
        }
    }

    /// The least bound of a flow by all methods.
    ///
    /// # Errors
    /// Why no method gives one.
    ///
    /// ```
    /// use tidegate_bounds::curve::Service;
    /// use tidegate_bounds::end_to_end::{EndToEnd, Method};
    /// use tidegate_bounds::network::{Flow, Network, Server};
    ///
    /// // One flow through servers of 10 bit/s after 10 s and 6 bit/s after 6 s: its burst counts once, 121/6 s.
    /// let server = |rate, s: i128| Server::fluid(Service::rate_latency(rate, s * 1_000_000_000_000));
    /// let network = Network { servers: vec![server(10, 10), server(6, 6)], flows: vec![Flow::fluid(25, 5, vec![0, 1])] };
    /// let bound = EndToEnd::new(&network).unwrap().flow(0).unwrap();
    /// assert_eq!((bound.delay, bound.method), (20_166_666_666_667, Method::SeparatedFlow));
    /// ```
    pub fn flow(&self, flow: usize) -> Result<Bound, NoBound> {
        self.bound(flow, true)
    }

    /// The least bound of a flow by TFA++ and SFA, which cost least.
    ///
    /// # Errors
    /// As [`EndToEnd::flow`].
    pub fn quick_flow(&self, flow: usize) -> Result<Bound, NoBound> {
        self.bound(flow, false)
    }

    fn bound(&self, flow: usize, by_all: bool) -> Result<Bound, NoBound> {
        let (network, total) = (self.network, &self.total);
        let left_out = || Err(NoBound::Because("this method was left out"));
        let all = [
            total.delay(network, flow),
            self.separated[flow].clone(),
            // That others' bursts are as without this flow is published for any order of service, and not proven for first in first out.
            if !by_all {
                left_out()
            } else if others_enter_fresh(network, flow) {
                pay_multiplexing_once(network, total, flow)
            } else {
                Err(NoBound::Because("others join its path from elsewhere, and their bursts may depend on this flow"))
            },
            if by_all { tandem(network, total, &self.separated, flow) } else { left_out() },
        ];
        // The first of the least ones.
        let found = all.iter().zip(Method::ALL).filter_map(|(bound, method)| Some((*bound.as_ref().ok()?, method)));
        let Some((delay, method)) = found.min_by_key(|found| found.0) else {
            return Err(all[0].clone().err().unwrap_or(NoBound::OutOfRange));
        };
        let own = &network.flows[flow];
        let jitters = &total.jitters[flow];
        let least: Picoseconds = own.path.iter().map(|&server| network.servers[server].transmission(own.shortest)).sum();
        let jitter = jitters[own.path.len()].min(delay - own.propagation - least).max(0);
        let mut backlogs = Vec::with_capacity(own.path.len());
        for (hop, &server) in own.path.iter().enumerate() {
            // What waits has come within the delay of the server.
            let waiting = own.arrival.delayed(jitters[hop])?.at(total.delays[server])?;
            let waiting = u64::try_from(up(waiting, PICOBITS)).map_err(|_| NoBound::OutOfRange)?;
            backlogs.push(waiting.min(total.backlogs[server]));
        }
        Ok(Bound { delay, method, all, jitter, backlogs, output: own.arrival.delayed(jitter)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{Service, TokenBucket};
    use crate::network::{Flow, Server};

    /// The flow `path-constant` of `scenarios/parking-lot.toml`: four links of 10 Mbit/s with fair queueing, 3.1 Mbit/s for its class.
    #[test]
    fn a_parking_lot() {
        const MS: Picoseconds = 1_000_000_000;
        const FRAME: u64 = 1_518 * 8;
        // A guaranteed rate: what leaves in whole packets is late by L/r.
        let server = Server {
            packetiser: 1_000 * MS * 1_000 / 3_100_000 + 1,
            ..Server::packets(Service::rate_latency(3_100_000, 1_214_400_000), false, 10_000_000, FRAME)
        };
        let server = Server { line: Some(TokenBucket::of_bits(1_000, 10_000_000)), longest: 1_000, ..server };
        let packets = |path: Vec<usize>| Flow { shortest: 1_000, ..Flow::fluid(1_000, 1_500_000, path) };
        let mut flows = vec![Flow { propagation: 4 * MS, ..packets(vec![0, 1, 2, 3]) }];
        flows.extend((0..4).map(|server| packets(vec![server])));
        let network = Network { servers: vec![server; 4], flows };
        let bounds = EndToEnd::new(&network).unwrap();
        let bound = bounds.flow(0).unwrap();
        // 7.741 ms and 4 ms of propagation; TFA++ is at most 13.741 ms without it. The longest that was measured is 8.93 ms.
        assert!(bound.all[0].clone().unwrap() <= 13_741 * MS / 1_000 + 4 * MS);
        let by_residual = bound.all[1].clone().unwrap();
        assert!((11_740..=11_742).contains(&(by_residual * 1_000 / MS)), "{by_residual}");
        assert!(bound.delay <= by_residual && bound.delay >= 8_930 * MS / 1_000);
        assert!(bound.all[2].is_err(), "the curve of a guaranteed rate need not be strict");
        assert_eq!(bound.backlogs.len(), 4);
        assert!(bound.output.burst_bits() > 1_000 && bound.jitter < bound.delay);
        assert!(bounds.quick(0).unwrap().0 >= bound.delay);
    }
}
