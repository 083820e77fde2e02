//! Admission along a path: the allocation at every hop, the test of all hops, and then the reservation at all of them or none.
//!
//! **Law**: a request that is refused, or is in error, changes nothing at any link.
//!
//! **Source**: RFC 2212 for the allocation; the order of test and reservation as in RSVP (RFC 2205), at one instant.
//!
//! **State**: the links, and 24 to 32 bytes per flow with 4 per hop.
//!
//! **Cost**: O(1) per hop; O(log n) per hop with flows of controlled load. A refusal computes its offers with up to three more tests of the path.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: the offers are ours.

use super::AdmissionControl;
use super::answer::{Admitted, Answer, Constraint, Hop, Method, Offer, Refused, Shortage};
use super::flow_spec::{FlowSpec, RequestError, Service, Target};
use super::flow_table::FlowTable;
use super::guaranteed::ErrorTerms;
use super::link::{Demand, Link, LinkSettings, ReserveError, SettingsError};
use crate::units::{Duration, Time};
use alloc::vec;
use alloc::vec::Vec;

/// A network of links, each named by its index, that admits flows to paths.
///
/// ```
/// use tidegate_core::admission::{AdmissionControl, Answer, FlowSpec, LinkSettings, PathAdmission, Service, Target, TrafficSpec};
/// use tidegate_core::units::{Duration, Rate};
///
/// let link = LinkSettings::new(Rate::new(10_000_000).unwrap(), 1_000, 500_000);
/// let mut network = PathAdmission::new(&[link; 4], 100, 4).unwrap();
/// let rate = Rate::new(1_500_000).unwrap();
/// let spec = FlowSpec {
///     id: 1,
///     path: &[0, 1, 2, 3],
///     alternatives: &[],
///     traffic: TrafficSpec::new(1_000, 15_000, rate, rate).unwrap(),
///     target: Some(Target::Delay(Duration::from_milliseconds(10))),
///     kind: Service::Guaranteed,
/// };
/// let Ok(Answer::Admitted(admitted)) = network.request(&spec) else { panic!() };
/// assert_eq!(admitted.delay, Some(Duration::from_picoseconds(3_733_333_334)));
/// assert_eq!(admitted.hops[3].rate, 1_500_000);
/// // M/R + Lmax/C at each of the three hops upstream.
/// assert_eq!(admitted.hops[3].tolerance, Duration::from_picoseconds(3 * 766_666_667));
/// assert!(network.release(1));
/// ```
#[derive(Clone, Debug)]
pub struct PathAdmission {
    links: Vec<Link>,
    /// The row of a flow in `paths`.
    flows: FlowTable<Row>,
    /// The paths of the flows, `longest_path` ports each.
    paths: Vec<u32>,
    vacant: Vec<u32>,
    longest_path: usize,
    /// The allocation of the last request.
    hops: Vec<Hop>,
}

/// Where the path of a flow is.
#[derive(Clone, Copy, Debug)]
struct Row {
    index: u32,
    ports: u32,
}

/// The part of an answer that is not in [`PathAdmission::hops`].
#[derive(Clone, Copy)]
struct Promise {
    delay: Option<Duration>,
    slack: Duration,
    method: Method,
}

impl PathAdmission {
    /// A network without flows, for up to `flows` of them with paths of up to `longest_path` ports.
    ///
    /// # Errors
    /// The index of a link whose settings have no meaning, and why.
    ///
    /// # Panics
    /// If `flows` is 2^28 or more.
    pub fn new(links: &[LinkSettings], flows: usize, longest_path: usize) -> Result<PathAdmission, (u32, SettingsError)> {
        assert!(flows < 1 << 28, "a network admits fewer than 2^28 flows");
        let link = |(index, settings): (u32, &LinkSettings)| Link::new(*settings).map_err(|error| (index, error));
        Ok(PathAdmission {
            links: (0..).zip(links).map(link).collect::<Result<_, _>>()?,
            flows: FlowTable::new(flows),
            paths: vec![0; flows * longest_path],
            vacant: (0..flows as u32).rev().collect(),
            longest_path,
            hops: Vec::with_capacity(longest_path),
        })
    }

    /// The link of a port.
    pub fn link(&self, port: u32) -> Option<&Link> {
        self.links.get(port as usize)
    }

    /// The link of a port, for signalling hop by hop.
    pub fn link_mut(&mut self, port: u32) -> Option<&mut Link> {
        self.links.get_mut(port as usize)
    }

    /// The rate that a flow has at a port now, in bit/s: see [`Link::rate_of`].
    pub fn rate_of(&self, port: u32, id: u64) -> Option<u64> {
        self.link(port)?.rate_of(id)
    }

    /// The allocation that a flow needs, computed and not tested: what [`AdmissionControl::request`] would reserve. Signalling carries it from hop to hop
    /// and reserves [`Demand::at`] each.
    ///
    /// # Errors
    /// A request that has no meaning.
    pub fn allocate(&mut self, spec: &FlowSpec<'_>) -> Result<Answer<'_>, RequestError> {
        self.check(spec)?;
        Ok(match self.plan(spec) {
            Ok(promise) => self.admitted(promise),
            Err(refused) => Answer::Refused(refused),
        })
    }

    /// Releases at the ports where signalling has reserved before another refused.
    pub fn abandon(&mut self, id: u64, reserved: &[u32]) {
        if fault!(CacLeaksUpstream) {
            return;
        }
        for &port in reserved {
            self.links[port as usize].release(id);
        }
    }

    fn admitted(&self, promise: Promise) -> Answer<'_> {
        let Promise { delay, slack, method } = promise;
        Answer::Admitted(Admitted { hops: &self.hops, delay, slack, method })
    }

    /// That the request has a meaning.
    fn check(&self, spec: &FlowSpec<'_>) -> Result<(), RequestError> {
        if spec.path.len() > self.longest_path {
            return Err(RequestError::PathTooLong { limit: self.longest_path });
        }
        for (index, &port) in spec.path.iter().enumerate() {
            if port as usize >= self.links.len() {
                return Err(RequestError::UnknownPort(port));
            }
            if spec.path[..index].contains(&port) {
                return Err(RequestError::RepeatedPort(port));
            }
        }
        spec.check()
    }

    /// The error terms summed over a path, with the latency behind each port.
    fn path_terms(&self, spec: &FlowSpec<'_>) -> ErrorTerms {
        spec.path.iter().fold(ErrorTerms::default(), |sum, &port| {
            let link = &self.links[port as usize];
            let latency = ErrorTerms { rate_dependent: 0, rate_independent: link.settings().latency };
            sum.plus(link.error_terms(&spec.traffic)).plus(latency)
        })
    }

    /// Computes the allocation of a request that has a meaning.
    fn plan(&mut self, spec: &FlowSpec<'_>) -> Result<Promise, Refused> {
        let (rate, promise) = match spec.target {
            Some(target) => {
                let terms = self.path_terms(spec);
                let refused = |have: Duration| {
                    let port = spec.path[spec.path.len() - 1];
                    let (have, need) = (have.picoseconds(), terms.rate_independent.picoseconds());
                    Refused::new(port, Shortage { constraint: Constraint::Target, have, need })
                };
                let (rate, within) = match target {
                    Target::Delay(within) => (terms.rate_needed(&spec.traffic, within).ok_or_else(|| refused(within))?, within),
                    Target::Rate(rate) => (rate, Duration::ZERO),
                };
                let delay = terms.delay(&spec.traffic, rate).ok_or_else(|| refused(Duration::MAX))?;
                let slack = within.saturating_sub(delay);
                (rate, Promise { delay: Some(delay), slack, method: Method::GuaranteedService })
            }
            None => {
                let promise = Promise { delay: None, slack: Duration::ZERO, method: Method::Measured };
                (spec.traffic.rate().bits_per_second(), promise)
            }
        };
        self.hops.clear();
        let mut terms = ErrorTerms::default();
        let mut tolerance = Duration::ZERO;
        for &port in spec.path {
            let link = &self.links[port as usize];
            terms = terms.plus(link.error_terms(&spec.traffic));
            let buffer = if spec.target.is_some() { terms.buffer(&spec.traffic, rate) } else { 0 };
            self.hops.push(Hop { port, rate, buffer, tolerance, budget: None });
            let jitter = link.jitter(&spec.traffic, rate).picoseconds();
            tolerance = Duration::from_picoseconds(tolerance.picoseconds().saturating_add(jitter).min(Duration::MAX.picoseconds()));
        }
        Ok(promise)
    }

    /// Computes the allocation, and tests it at every link.
    fn test(&mut self, spec: &FlowSpec<'_>) -> Result<Promise, Refused> {
        let promise = self.plan(spec)?;
        for hop in &self.hops {
            self.links[hop.port as usize].test(&Demand::at(spec, hop)).map_err(|shortage| Refused::new(hop.port, shortage))?;
        }
        Ok(promise)
    }

    /// The alternative path that would be admitted.
    fn alternative(&mut self, spec: &FlowSpec<'_>) -> Option<u8> {
        spec.widest_shortest(|path| {
            let offered = FlowSpec { path, ..*spec };
            let is_admitted = self.check(&offered).is_ok() && self.test(&offered).is_ok();
            is_admitted.then(|| path.iter().map(|&port| self.links[port as usize].free_rate()).min().unwrap_or(0))
        })
    }

    /// Adds what would be admitted instead. Every offer is tested like a request.
    fn with_offers(&mut self, spec: &FlowSpec<'_>, mut refused: Refused) -> Refused {
        let links = || spec.path.iter().map(|&port| &self.links[port as usize]);
        let rate = links().map(|link| link.free_rate()).min().unwrap_or(0);
        let sustained = links().map(|link| link.free_sustained_rate()).min().unwrap_or(0);
        let burst = match (refused.constraint, spec.target) {
            (Constraint::Buffer, Some(target)) => {
                // With a target of delay a smaller burst needs a lower rate, and a lower rate more buffer: at most that of the sustained rate.
                let reserved = match target {
                    Target::Delay(_) => spec.traffic.rate().bits_per_second(),
                    Target::Rate(rate) => rate,
                };
                let mut terms = ErrorTerms::default();
                let within = |link: &Link| {
                    terms = terms.plus(link.error_terms(&spec.traffic));
                    terms.burst_within(&spec.traffic, reserved, link.free_buffer()).unwrap_or(0)
                };
                links().map(within).min()
            }
            (Constraint::Rate | Constraint::RateGuarantee, Some(Target::Delay(within))) => {
                self.path_terms(spec).burst_for_delay(&spec.traffic, rate.min(sustained), within)
            }
            _ => None,
        };
        let burst = burst.filter(|&burst| burst < spec.traffic.burst()).map(Offer::Burst);
        let offers = match spec.target {
            Some(target) => {
                let rate = rate.min(sustained);
                let delay =
                    (rate >= spec.traffic.rate().bits_per_second()).then(|| self.path_terms(spec).delay(&spec.traffic, rate)).flatten();
                match target {
                    Target::Delay(_) => [delay.map(Offer::Delay), burst],
                    Target::Rate(_) => [delay.map(|_| Offer::Rate(rate)), burst],
                }
            }
            None => [Some(Offer::Peak(rate)), Some(Offer::Rate(sustained))],
        };
        for offer in offers.into_iter().flatten() {
            let offered = offer.applied_to(spec).filter(|offered| offered != spec);
            if offered.is_some_and(|offered| self.check(&offered).is_ok() && self.test(&offered).is_ok()) {
                refused.offers.push(offer);
            }
        }
        if let Some(index) = self.alternative(spec) {
            refused.offers.push(Offer::Path(index));
        }
        refused
    }
}

impl Demand {
    /// What a request asks of the link at one of its hops.
    pub const fn at(spec: &FlowSpec<'_>, hop: &Hop) -> Demand {
        match spec.kind {
            Service::Guaranteed => Demand::Guaranteed { rate: hop.rate, buffer: hop.buffer },
            Service::ControlledLoad => Demand::ControlledLoad(spec.traffic),
        }
    }
}

impl AdmissionControl for PathAdmission {
    fn request(&mut self, spec: &FlowSpec<'_>) -> Result<Answer<'_>, RequestError> {
        self.check(spec)?;
        if self.flows.get(spec.id).is_some() {
            return Err(RequestError::FlowExists(spec.id));
        }
        let promise = match self.test(spec) {
            Ok(promise) => promise,
            Err(refused) => {
                if fault!(CacLeaksUpstream) {
                    for hop in self.hops.iter().take_while(|hop| hop.port != refused.port) {
                        self.links[hop.port as usize].enter(spec.id, Demand::at(spec, hop));
                    }
                }
                return Ok(Answer::Refused(self.with_offers(spec, refused)));
            }
        };
        if self.flows.is_full() {
            return Err(RequestError::TooManyFlows { port: None });
        }
        for hop in &self.hops {
            self.links[hop.port as usize].has_room(spec.id, &Demand::at(spec, hop)).map_err(|error| match error {
                ReserveError::TooManyFlows => RequestError::TooManyFlows { port: Some(hop.port) },
                _ => RequestError::FlowExists(spec.id),
            })?;
        }
        for hop in &self.hops {
            self.links[hop.port as usize].enter(spec.id, Demand::at(spec, hop));
        }
        let index = self.vacant.pop().expect("there is a row for every flow of the table");
        let row = Row { index, ports: spec.path.len() as u32 };
        self.paths[row.index as usize * self.longest_path..][..spec.path.len()].copy_from_slice(spec.path);
        self.flows.insert(spec.id, row).expect("the table is not full");
        Ok(self.admitted(promise))
    }

    fn release(&mut self, id: u64) -> bool {
        let Some(row) = self.flows.remove(id) else { return false };
        for &port in &self.paths[row.index as usize * self.longest_path..][..row.ports as usize] {
            self.links[port as usize].release(id);
        }
        self.vacant.push(row.index);
        true
    }

    fn measured(&mut self, port: u32, id: u64, bits: u32, now: Time) {
        self.links[port as usize].measured(id, bits, now);
    }
}
