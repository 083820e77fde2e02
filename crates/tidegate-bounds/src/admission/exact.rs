//! Admission by all bounds of a network: for planning, where each request may cost a pass over all flows, and a refusal many.
//!
//! **Law.** Every admitted flow has a bound of at most the delay that it was promised: its target, if it named a delay.
//!
//! **State.** The network of `network::model`, and a promise per flow.
//!
//! **Cost.** A request costs [`EndToEnd::new`] and a sum per flow. The costly methods run for the flows whose promise the others do not confirm.
//! The offers of a refusal cost up to 70 requests.

use super::offers::{Tests, with_offers};
use crate::curve::{Arrival, TokenBucket};
use crate::end_to_end::EndToEnd;
use crate::network::{Flow, Network, Serving};
use crate::quantity::{NoBound, Picoseconds};
use tidegate_core::admission::{
    AdmissionControl, Admitted, Answer, Constraint, FlowSpec, Hop, Method, Refused, RequestError, Service, Shortage, Target,
};
use tidegate_core::units::{Duration, Time};

/// The delay that a flow was promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Promise {
    id: u64,
    /// Propagation included; `None` without a target of delay.
    delay: Option<Duration>,
}

/// A network of which every flow keeps its promise.
///
/// A path is one of servers.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    network: Network,
    /// Propagation behind each server.
    latencies: Vec<Picoseconds>,
    /// In the order of the network's flows.
    promises: Vec<Promise>,
    /// The hops of the last answer.
    hops: Vec<Hop>,
}

impl Exact {
    /// Servers without flows. `latencies` are the propagation behind each of them; those that are missing are 0.
    pub fn new(network: Network, latencies: Vec<Picoseconds>) -> Exact {
        Exact { network: Network { flows: Vec::new(), ..network }, latencies, ..Exact::default() }
    }

    /// The network with the flows that were admitted.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Checks that the request has a meaning here.
    fn check(&self, spec: &FlowSpec<'_>) -> Result<(), RequestError> {
        if spec.kind != Service::Guaranteed {
            return Err(RequestError::OnlyGuaranteed);
        }
        spec.check()?;
        for (at, &server) in spec.path.iter().enumerate() {
            if server as usize >= self.network.servers.len() {
                return Err(RequestError::UnknownPort(server));
            }
            if spec.path[..at].contains(&server) {
                return Err(RequestError::RepeatedPort(server));
            }
        }
        Ok(())
    }

    /// Adds a flow without a test.
    fn enter(&mut self, spec: &FlowSpec<'_>) {
        let traffic = &spec.traffic;
        let (rate, delay) = match spec.target {
            Some(Target::Rate(rate)) => (rate, None),
            Some(Target::Delay(delay)) => (traffic.rate().bits_per_second(), Some(delay)),
            _ => (traffic.rate().bits_per_second(), None),
        };
        let peak = TokenBucket::of_bits(traffic.longest_packet(), traffic.peak().bits_per_second().max(rate));
        let latency = |&server: &u32| self.latencies.get(server as usize).copied().unwrap_or(0);
        let flow = Flow {
            arrival: Arrival::new([peak, TokenBucket::of_bits(traffic.burst(), rate)]),
            path: spec.path.iter().map(|&server| server as usize).collect(),
            shortest: traffic.shortest_packet(),
            propagation: spec.path.iter().map(latency).sum(),
        };
        self.network.flows.push(flow);
        self.promises.push(Promise { id: spec.id, delay });
    }

    /// The bound of the last flow, if all promises hold.
    fn bound(&self) -> Result<Picoseconds, Broken> {
        let newest = self.promises.len() - 1;
        let none = |reason: NoBound, number: usize| match reason {
            NoBound::Overloaded { .. } => Broken::Rate,
            _ => Broken::Promise { number, need: u64::MAX },
        };
        let bounds = EndToEnd::new(&self.network).map_err(|reason| none(reason, newest))?;
        let mut last = 0;
        for (number, promise) in self.promises.iter().enumerate() {
            let within = promise.delay.map_or(Picoseconds::MAX, |delay| delay.picoseconds().into());
            last = bounds.quick(number).map_err(|reason| none(reason, number))?.0;
            if last > within {
                // The costly methods decide only where the quick ones do not.
                last = bounds.flow(number).map_err(|reason| none(reason, number))?.delay;
            }
            if last > within {
                return Err(Broken::Promise { number, need: u64::try_from(last).unwrap_or(u64::MAX) });
            }
        }
        Ok(last)
    }

    /// The rates of all flows through a server, in bit/s.
    fn load(&self, server: usize) -> u64 {
        let through = self.network.flows.iter().filter(|flow| flow.path.contains(&server));
        through.fold(0, |sum: u64, flow| sum.saturating_add(flow.arrival.rate()))
    }

    /// The rate of a server's curve, and the flows that share it: its own and those before it.
    fn offered_and_served(&self, server: usize) -> (u64, u64) {
        let before = |servers: &mut dyn Iterator<Item = usize>| servers.fold(0u64, |sum, other| sum.saturating_add(self.load(other)));
        match &self.network.servers[server].serving {
            Serving::Fixed(service) => (self.load(server), service.rate()),
            Serving::Below { port, higher, .. } => (self.load(server).saturating_add(before(&mut higher.iter().copied())), port.rate()),
            Serving::Deadline { port, classes } => (before(&mut classes.iter().map(|class| class.0)), port.rate()),
            Serving::AnyOrder { port, servers, .. } => (before(&mut servers.iter().copied()), port.rate()),
        }
    }

    /// Tests a request that has a meaning.
    fn test(&mut self, spec: &FlowSpec<'_>) -> Result<Picoseconds, Refused> {
        self.enter(spec);
        let newest = self.promises.len() - 1;
        let need = self.network.flows[newest].arrival.rate();
        let last = spec.path[spec.path.len() - 1];
        let answer = self.bound().map_err(|broken| match broken {
            Broken::Rate => {
                let over = (0..self.network.servers.len()).find_map(|server| {
                    let (offered, served) = self.offered_and_served(server);
                    (offered > served).then(|| (server as u32, served.saturating_sub(offered.saturating_sub(need))))
                });
                let (port, have) = over.unwrap_or((last, 0));
                Refused::new(port, Shortage { constraint: Constraint::Rate, have, need })
            }
            Broken::Promise { number, need } => {
                let have = self.promises[number].delay.map_or(0, Duration::picoseconds);
                let constraint = if number == newest { Constraint::Target } else { Constraint::Promise };
                let mut refused = Refused::new(last, Shortage { constraint, have, need });
                refused.flow = (number != newest).then(|| self.promises[number].id);
                refused
            }
        });
        self.network.flows.pop();
        self.promises.pop();
        answer
    }
}

/// Why the flows do not all have their bounds.
enum Broken {
    /// More comes to a server than it serves.
    Rate,
    /// This flow's promise; its bound would be `need` picoseconds.
    Promise { number: usize, need: u64 },
}

impl Tests for Exact {
    fn is_admitted(&mut self, spec: &FlowSpec<'_>) -> bool {
        self.check(spec).is_ok() && self.test(spec).is_ok()
    }

    fn free_rate(&self, server: u32) -> u64 {
        let (offered, served) = self.offered_and_served(server as usize);
        served.saturating_sub(offered)
    }
}

impl AdmissionControl for Exact {
    fn request(&mut self, spec: &FlowSpec<'_>) -> Result<Answer<'_>, RequestError> {
        self.check(spec)?;
        if self.promises.iter().any(|promise| promise.id == spec.id) {
            return Err(RequestError::FlowExists(spec.id));
        }
        let delay = match self.test(spec) {
            Ok(delay) => delay,
            Err(refused) => return Ok(Answer::Refused(with_offers(self, spec, refused))),
        };
        self.enter(spec);
        let rate = self.network.flows[self.promises.len() - 1].arrival.rate();
        let hop = |&port: &u32| Hop { port, rate, ..Hop::default() };
        self.hops = spec.path.iter().map(hop).collect();
        let delay = Duration::from_picoseconds(u64::try_from(delay).unwrap_or(u64::MAX).min(Duration::MAX.picoseconds()));
        let slack = match spec.target {
            Some(Target::Delay(target)) => target.saturating_sub(delay),
            _ => Duration::ZERO,
        };
        Ok(Answer::Admitted(Admitted { hops: &self.hops, delay: Some(delay), slack, method: Method::Network }))
    }

    /// Takes a flow out. The others keep their bounds, or get smaller ones.
    fn release(&mut self, id: u64) -> bool {
        let Some(at) = self.promises.iter().position(|promise| promise.id == id) else { return false };
        self.network.flows.remove(at);
        self.promises.remove(at);
        true
    }

    /// Does nothing: what is proven is not measured.
    fn measured(&mut self, _: u32, _: u64, _: u32, _: Time) {}
}
