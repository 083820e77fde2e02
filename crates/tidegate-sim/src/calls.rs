//! Calls: flows that ask for admission hop by hop, hold what they were given, and leave.
//!
//! A call uses a flow of the network: while it holds, the flow's source sends. At every port of the path that admits flows
//! ([`Link::admission`](crate::network::Link::admission)) the set-up reserves and fills the flow's place at the port. A refusal gives back what was
//! reserved before. When a call leaves, its source stops, and the release follows the last packet: each port is left when the queue there is empty.
//!
//! Calls through a [`Broker`] are decided at once for the whole path, by whatever admission control the network has. Their packets share the queues
//! of classes, in which the burst of a call outlives it. So the release waits at each port until the classes that the call may have delayed
//! are without backlog.

use crate::fault::Fault;
use crate::id::LinkId;
use std::fmt::Debug;
use std::sync::Arc;
use tidegate_core::admission::{AdmissionControl, FlowSpec, Refused, Service, Target, TrafficSpec};
use tidegate_core::units::Duration;

/// Admission control of which every replication gets a copy.
pub trait PathControl: AdmissionControl + Debug + Send + Sync {
    /// A copy in the same state.
    fn copied(&self) -> Box<dyn PathControl>;
}

impl<C: AdmissionControl + Clone + Debug + Send + Sync + 'static> PathControl for C {
    fn copied(&self) -> Box<dyn PathControl> {
        Box::new(self.clone())
    }
}

/// A bandwidth broker: admits calls to the queues of classes, for whole paths at once.
#[derive(Clone, Debug)]
pub struct Broker {
    /// Decides. It has admitted no call.
    pub control: Arc<dyn PathControl>,
    /// The queues, by the numbers that they have in paths.
    pub queues: Vec<BrokeredQueue>,
}

/// The queue of a class at a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokeredQueue {
    /// The link of the port.
    pub link: LinkId,
    /// The class, by its index in the classifier of the port.
    pub class: usize,
    /// The classes of the port whose packets a call here may delay, its own included.
    pub delays: Vec<usize>,
}

/// The way of calls through the queues of a [`Broker`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokeredPath {
    /// Their queues: one at each link of the path, in order.
    pub queues: Vec<u32>,
    /// What to call other paths that a refusal may offer, and their queues.
    pub alternatives: Vec<(String, Vec<u32>)>,
}

/// Calls of one kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Calls {
    /// A unique name; their random stream is named after it.
    pub name: String,
    /// The flows that calls use, by index, one call each at a time. A request that finds none free is refused.
    pub flows: Vec<usize>,
    /// When requests come.
    pub arrivals: Arrivals,
    /// The mean time that a call holds; exponential.
    pub hold: Duration,
    /// What the flow declares.
    pub traffic: TrafficSpec,
    /// What it asks for.
    pub target: Option<Target>,
    /// The service.
    pub service: Service,
    /// How early a packet may come at every port and still be in profile; `None`: the jitter that the hops upstream may add, as admission says.
    pub tolerance: Option<Duration>,
    /// Whether packets beyond the buffer that admission reserves count as marked, where the buffer manager can tell.
    pub enforces_reserve: bool,
    /// The queues of the network's broker that they ask for; `None`: they ask hop by hop, for rates of their own.
    pub brokered: Option<BrokeredPath>,
}

/// When requests come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// Whatever is under way: a Poisson process with this mean time between requests.
    Poisson(Duration),
    /// An exponential time with this mean after the call before has left or was refused. Each flow asks by itself.
    AfterLast(Duration),
    /// Once for every flow at the start; they never leave. Hop by hop there is no test; a broker does test them.
    Permanent,
}

impl Calls {
    /// What a call with this flow asks of these ports.
    pub(crate) fn request<'a>(&self, flow: usize, ports: &'a [u32]) -> FlowSpec<'a> {
        FlowSpec { id: flow as u64, path: ports, alternatives: &[], traffic: self.traffic, target: self.target, kind: self.service }
    }

    /// Checks the values; the network checks the flows.
    ///
    /// # Errors
    /// The first [`Fault`].
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.flows.is_empty() {
            return Err(Fault::new("flows", "none", "at least one flow"));
        }
        match self.arrivals {
            Arrivals::Poisson(Duration::ZERO) | Arrivals::AfterLast(Duration::ZERO) => {
                Err(Fault::new("interval", "no time between requests", "a mean time above 0"))
            }
            Arrivals::Permanent => Ok(()),
            _ if self.hold == Duration::ZERO => Err(Fault::new("hold", "calls that hold for no time", "a mean time above 0")),
            _ => Ok(()),
        }
    }
}

/// What became of the requests of one kind of calls in one replication, from the end of the warm-up.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct CallStatistics {
    /// Requests.
    pub requests: u64,
    /// Those that were admitted.
    pub admitted: u64,
    /// Those that a link refused, by what was short; only what occurred.
    pub refused: Vec<Refusals>,
    /// Those that found no flow free.
    pub without_place: u64,
    /// The mean number of calls that hold, over time.
    pub mean_held: f64,
    /// The longest delay that a broker promised to one of them; `None` if none was promised.
    pub promised_delay: Option<Duration>,
}

impl CallStatistics {
    /// The requests that were refused, per request; `None` without a request.
    pub fn blocking(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.all_refused() as f64 / self.requests as f64)
    }

    /// The requests that were refused for any reason.
    pub fn all_refused(&self) -> u64 {
        self.without_place + self.refused.iter().map(|refused| refused.requests).sum::<u64>()
    }
}

/// Requests that one port refused because one thing was short.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusals {
    /// The link of the port.
    pub link: LinkId,
    /// The class that is short, by its index in the policy; `None` if admission knows no classes.
    pub class: Option<usize>,
    /// How many.
    pub requests: u64,
    /// The first of them: what was short, and what would have been admitted.
    pub first: Refused,
}

impl Refusals {
    /// Adds refusals, those of the same port for the same reason together.
    pub(crate) fn add(all: &mut Vec<Refusals>, new: Refusals) {
        let is_same =
            |known: &&mut Refusals| (known.link, known.class, known.first.constraint) == (new.link, new.class, new.first.constraint);
        match all.iter_mut().find(is_same) {
            Some(known) => known.requests += new.requests,
            None => all.push(new),
        }
    }
}
