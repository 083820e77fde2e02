//! The network of the calculus: queues as servers, and what is known of their traffic as flows.
//!
//! Services may depend on arrivals of other queues at the port. Ports are solved from the sources on, so that arrivals are known. Ports in a
//! cycle are solved together, by services that need no arrivals or that the network itself iterates.

use super::arrivals::Lengths;
use super::bundles::{Bundle, Cut, Reason, Segment, cut, line, wider};
use super::limits::{self, Held};
use super::port::{self, PortQueue, Traffic};
use super::queues::Queues;

use super::stages::Stages;
use crate::policy::Policy;
use tidegate_bounds::aggregate::{Aggregate, delay};
use tidegate_bounds::curve::{Arrival, Service, TokenBucket};
use tidegate_bounds::network::{Flow, Network, Rules, Server, Serving, TotalFlow, total_flow};
use tidegate_bounds::quantity::{NoBound, Picoseconds, bits};
use tidegate_sim::LinkId;

/// The network, as far as it has bounds.
pub(super) struct Solved {
    /// The bundles.
    pub bundles: Vec<Bundle>,
    /// The flows of the network.
    pub segments: Vec<Segment>,
    /// Of each bundle the segment at each hop, with the segment's own hop there.
    pub at: Vec<Vec<Option<(usize, usize)>>>,
    /// Why a queue has no bound, and the flow that the reason is about.
    pub unproven: Vec<Option<Reason>>,
    /// What a queue without a bound for all that comes holds at most.
    pub held: Vec<Option<Held>>,
    /// The network of segments.
    pub network: Network,
    /// Its delays by total flow analysis.
    pub total: TotalFlow,
}

/// Solves a network: what has no bound is found step by step, and left out.
pub(super) fn solve(queues: &Queues<'_>, bundles: Vec<Bundle>) -> Solved {
    let count = queues.all.len();
    let of_link = |queue: usize| {
        let link = queues.all[queue].link;
        queues.unproven(link).map(|reason| Reason { cause: NoBound::Because(reason), queue, flow: None })
    };
    let mut unproven: Vec<Option<Reason>> = (0..count).map(of_link).collect();
    let facts = facts(queues, &bundles);
    let stages = Stages::of(queues, &bundles);
    loop {
        let Cut { segments, at } = cut(queues, &bundles, &mut unproven);
        let mut solving = Solving {
            queues,
            bundles: &bundles,
            segments: &segments,
            facts: &facts,
            stages: &stages,
            servers: vec![placeholder(); count],
            guaranteed: vec![None; count],
        };
        if let Some((network, total)) = solving.all(&mut unproven) {
            let held = |queue: usize| {
                let row = &solving.guaranteed[queue].as_ref()?.row;
                (unproven[queue].is_some() && of_link(queue).is_none()).then_some(())?;
                limits::least(queues, &bundles, queue, facts[queue].lengths?, row)
            };
            let held = (0..count).map(held).collect();
            return Solved { segments, at, unproven, held, network, total, bundles };
        }
    }
}

/// A server that delays nothing: of queues without a bound, and of those that are not solved yet.
fn placeholder() -> Server {
    Server::fluid(Service::link(1 << 55))
}

/// What is known of the packets in a queue, whatever the bounds.
#[derive(Clone, Default)]
struct Facts {
    /// The lengths of its frames; `None` without any.
    lengths: Option<Lengths>,
    /// Its longest packet, in the most bits that it takes anywhere.
    longest: u64,
    /// What its line carries, in the same bits.
    line: Option<TokenBucket>,
}

fn facts(queues: &Queues<'_>, bundles: &[Bundle]) -> Vec<Facts> {
    let mut all = vec![Facts::default(); queues.all.len()];
    for bundle in bundles {
        for (hop, &queue) in bundle.queues.iter().enumerate() {
            let Facts { lengths, longest, line: carried } = &mut all[queue];
            let own = line(queues, bundle, hop).map(|curve| curve.sustained());
            *carried = match (lengths.is_some(), *carried, own) {
                (false, _, own) => own,
                (true, Some(one), Some(other)) => Some(wider(one, other)),
                (true, _, _) => None,
            };
            let (least, most) = lengths.unwrap_or(bundle.lengths);
            *lengths = Some((least.min(bundle.lengths.0), most.max(bundle.lengths.1)));
            *longest = (*longest).max(bundle.wire.bits(bundle.lengths.1));
        }
    }
    all
}

/// The state while a network is solved.
struct Solving<'a> {
    queues: &'a Queues<'a>,
    bundles: &'a [Bundle],
    segments: &'a [Segment],
    facts: &'a [Facts],
    stages: &'a Stages,
    /// As far as they are known.
    servers: Vec<Server>,
    guaranteed: Vec<Option<PortQueue>>,
}

impl Solving<'_> {
    /// Solves stage by stage. `None` if something has been found to have no bound.
    fn all(&mut self, unproven: &mut [Option<Reason>]) -> Option<(Network, TotalFlow)> {
        for stage in 0..self.stages.links.len() {
            let (_, before) = self.until(stage, unproven)?;
            let mut is_new = false;
            for &link in &self.stages.links[stage] {
                let known = (!self.stages.is_cyclic[stage]).then_some(&before);
                for (queue, port) in self.port(link, known, unproven) {
                    match self.server(queue, &port, known, unproven) {
                        Ok(server) => self.servers[queue] = server,
                        Err(_) if unproven[queue].is_some() => {}
                        Err(cause) => {
                            unproven[queue] = Some(Reason { cause, queue, flow: None });
                            is_new = true;
                        }
                    }
                    self.guaranteed[queue] = Some(port);
                }
            }
            if is_new {
                return None;
            }
        }
        self.until(self.stages.links.len(), unproven)
    }

    /// The network up to a stage, whose own queues delay nothing yet, and its delays. `None` if something has been found to have no bound.
    fn until(&self, stage: usize, unproven: &mut [Option<Reason>]) -> Option<(Network, TotalFlow)> {
        let stage_of = |queue: usize| self.stages.of_link[self.queues.all[queue].link.0];
        let flows = self.segments.iter().map(|segment| self.flow(segment, |queue| stage_of(queue) <= stage));
        let network = Network { servers: self.servers.clone(), flows: flows.filter(|flow| !flow.path.is_empty()).collect() };
        match total_flow(&network, Rules::ALL) {
            Ok(total) => Some((network, total)),
            Err(cause) => {
                // Each queue has been judged alone, so that only what depends on each other is left: a cycle.
                let cyclic = |queue: &usize| stage_of(*queue) < stage && self.stages.is_cyclic[stage_of(*queue)];
                let found: Vec<usize> = (0..unproven.len()).filter(cyclic).filter(|&queue| unproven[queue].is_none()).collect();
                let all: Vec<usize> = (0..unproven.len()).filter(|&queue| unproven[queue].is_none()).collect();
                for queue in if found.is_empty() { all } else { found } {
                    unproven[queue] = Some(Reason { cause: cause.clone(), queue, flow: None });
                }
                None
            }
        }
    }

    /// A segment as a flow, as far as its queues are in.
    fn flow(&self, segment: &Segment, is_in: impl Fn(usize) -> bool) -> Flow {
        let bundle = &self.bundles[segment.bundle];
        let hops = segment.hops.0..segment.hops.1;
        let path: Vec<usize> = bundle.queues[hops.clone()].iter().copied().take_while(|&queue| is_in(queue)).collect();
        let links = &bundle.links[hops];
        let propagation = |link: &LinkId| Picoseconds::from(self.queues.network.links[link.0].propagation.picoseconds());
        Flow {
            arrival: segment.arrival.clone(),
            path,
            shortest: bundle.wire.least_bits(bundle.lengths.0),
            propagation: links.iter().map(propagation).sum(),
        }
    }

    /// What the queues in use at the port of a link are guaranteed, if their arrivals are known, or without arrivals.
    fn port(&self, link: LinkId, known: Option<&TotalFlow>, unproven: &[Option<Reason>]) -> Vec<(usize, PortQueue)> {
        let number = |class: usize, queue: u32| self.queues.find(link, class, queue);
        let arrival = |class: usize, queue: u32| match (number(class, queue), known) {
            (None, _) => Ok(Arrival::token_bucket(0, 0)),
            (Some(queue), _) if unproven[queue].is_some() => {
                Err(unproven[queue].as_ref().map_or(NoBound::OutOfRange, |reason| reason.cause.clone()))
            }
            (Some(_), None) => Err(NoBound::Because("what comes there follows from a cycle of ports")),
            (Some(queue), Some(known)) => Ok(known.arrivals[queue].clone()),
        };
        let lengths = |class: usize, queue: u32| number(class, queue).and_then(|queue| self.facts[queue].lengths);
        let shortest = self.queues.all.iter().zip(self.facts).filter(|(queue, _)| queue.link == link);
        let shortest = shortest.filter_map(|(_, facts)| facts.lengths.map(|lengths| lengths.0)).min().unwrap_or(1);
        let kept = |policy: &&Policy| port::kept_rate(policy.rate, policy.overhead.wire_length(shortest));
        let rate = self.queues.states(link).iter().map(kept).min().unwrap_or(0);
        let traffic = Traffic { rate, arrival: &arrival, lengths: &lengths, number: &number };
        let policy = self.queues.policies[link.0];
        let found = match (&self.queues.network.links[link.0].adapter, self.queues.transitions(link)) {
            (Some(setup), _) => port::adapter(policy, setup, &traffic),
            (None, Some(transitions)) if !transitions.is_steady => port::changing(transitions, &traffic),
            (None, _) => port::queues(&policy.parts, &traffic),
        };
        let mut all = Vec::new();
        for (class, of_class) in found.into_iter().enumerate() {
            for (queue, port) in of_class.into_iter().enumerate() {
                // Of queues that share their place the first counts.
                let own = number(class, queue as u32).filter(|&number| {
                    let first = self.queues.all[number];
                    (first.class, first.queue) == (class, queue as u32)
                });
                all.extend(own.map(|number| (number, port)));
            }
        }
        all
    }

    /// The server of a queue, if it has a bound for what comes: by its scheduler, or else the best of what it is left in any order of service.
    fn server(&self, queue: usize, port: &PortQueue, known: Option<&TotalFlow>, unproven: &[Option<Reason>]) -> Result<Server, NoBound> {
        let judged = |server: &Server| Ok((self.delay(queue, port, server, known, unproven)?, server.clone()));
        let by_scheduler = port.server.clone().and_then(|server| judged(&server));
        let (_, server) = by_scheduler.or_else(|cause| {
            let left = port.left.iter().filter_map(|server| judged(server).ok());
            left.min_by_key(|&(delay, _)| delay).ok_or(cause)
        })?;
        Ok(Server { line: self.facts[queue].line, longest: self.facts[queue].longest, ..server })
    }

    /// The bound for what comes to a queue with a server; 0 if that is not known yet.
    fn delay(
        &self,
        queue: usize,
        port: &PortQueue,
        server: &Server,
        known: Option<&TotalFlow>,
        unproven: &[Option<Reason>],
    ) -> Result<Picoseconds, NoBound> {
        for other in server.related() {
            let Some(reason) = &unproven[other] else { continue };
            let shares = self.queues.transitions(self.queues.all[queue].link).is_some_and(|transitions| !transitions.is_steady);
            let changes = NoBound::Because("its policy changes while it runs, and one of those that may go before it then has no bound");
            return Err(if shares && other != queue { changes } else { reason.cause.clone() });
        }
        let Some(known) = known else { return Ok(0) };
        let arrival = &known.arrivals[queue];
        match &server.serving {
            Serving::Fixed(service) => delay(arrival, service),
            Serving::Below { port, higher, lower } => {
                let sum = Aggregate::of(higher.iter().map(|&other| &known.arrivals[other]))?;
                let buckets = if sum.is_empty() { Vec::new() } else { sum.as_arrival()?.buckets().to_vec() };
                delay(arrival, &port.beside(&buckets, bits(*lower))?)
            }
            Serving::Deadline { .. } => port.row.delay_of(arrival),
            Serving::AnyOrder { port, servers, lower } => {
                let sum = Aggregate::of(servers.iter().map(|&other| &known.arrivals[other]))?;
                Ok(port.beside(sum.as_arrival()?.buckets(), bits(*lower))?.latency())
            }
        }
    }
}
