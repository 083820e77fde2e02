//! Servers and flows.

use crate::curve::{Arrival, Service, TokenBucket};
use crate::quantity::{NoBound, Picoseconds, bits, down, up};

/// How a server serves its queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Serving {
    /// By a curve that no other traffic changes.
    Fixed(Service),
    /// By what servers of higher priority at the same port leave of a strict curve, and packets of up to `lower` bits of lower priority.
    Below {
        /// The strict curve that the priorities divide.
        port: Service,
        /// The servers of higher priority.
        higher: Vec<usize>,
        /// The longest packet of lower priority, in bits.
        lower: u64,
    },
    /// Earliest deadline first among servers of the same port.
    Deadline {
        /// The strict curve that they divide.
        port: Service,
        /// Each of them, itself included: server, delay and longest packet in bits.
        classes: Vec<(usize, Picoseconds, u64)>,
    },
    /// In any order among servers of the same port, whose packets may overtake each other. A packet has left when nothing of them waits any more:
    /// `(R T + sum b + lower) / (R - sum r)` after the first of them came.
    AnyOrder {
        /// The strict curve that they share.
        port: Service,
        /// Each of them, itself included.
        servers: Vec<usize>,
        /// The longest packet of others that may be in transmission when the first of them comes, in bits.
        lower: u64,
    },
}

/// The queue of a class at a port.
///
/// The fields about packets are 0 or `None` for fluids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    /// Its service.
    pub serving: Serving,
    /// True if the service curve is strict, so that methods for any order of service within the queue hold.
    pub is_strict: bool,
    /// The most that leaves it on its line: the longest packet, and the rate of the line.
    pub line: Option<TokenBucket>,
    /// The longest packet in bits: what leaves in whole packets comes later by one of them.
    pub longest: u64,
    /// What that costs in latency for a curve of what leaves: `L / C`, or `L / r` behind a guaranteed rate. The last hop of a path is without.
    pub packetiser: Picoseconds,
}

impl Server {
    /// A server of fluid.
    pub const fn fluid(service: Service) -> Server {
        Server { serving: Serving::Fixed(service), is_strict: true, line: None, longest: 0, packetiser: 0 }
    }

    /// A queue with this service on a line of `rate` bit/s, with packets of up to `longest` bits.
    pub fn packets(service: Service, is_strict: bool, rate: u64, longest: u64) -> Server {
        Server {
            serving: Serving::Fixed(service),
            is_strict,
            line: Some(TokenBucket::of_bits(longest, rate)),
            longest,
            packetiser: up(bits(longest), rate.into()),
        }
    }

    /// The least time that a packet of `shortest` bits is delayed: its transmission. Rounded down.
    pub(crate) fn transmission(&self, shortest: u64) -> Picoseconds {
        self.line.filter(|line| line.rate > 0).map_or(0, |line| down(bits(shortest), line.rate.into()))
    }

    /// The other servers whose traffic its service depends on.
    pub fn related(&self) -> Vec<usize> {
        match &self.serving {
            Serving::Fixed(_) => Vec::new(),
            Serving::Below { higher, .. } => higher.clone(),
            Serving::Deadline { classes, .. } => classes.iter().map(|class| class.0).collect(),
            Serving::AnyOrder { servers, .. } => servers.clone(),
        }
    }
}

/// A flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// What it sends at its first server.
    pub arrival: Arrival,
    /// The servers that it passes; none twice.
    pub path: Vec<usize>,
    /// Its shortest packet in bits; 0 for a fluid.
    pub shortest: u64,
    /// What is added to its delay once: propagation on its links.
    pub propagation: Picoseconds,
}

impl Flow {
    /// A fluid of one token bucket.
    pub fn fluid(burst: u64, rate: u64, path: Vec<usize>) -> Flow {
        Flow { arrival: Arrival::token_bucket(burst, rate), path, shortest: 0, propagation: 0 }
    }
}

/// Servers, and flows through them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Network {
    /// The servers.
    pub servers: Vec<Server>,
    /// The flows.
    pub flows: Vec<Flow>,
}

impl Network {
    /// Checks that every path has a server, names servers that exist, and none of them twice.
    ///
    /// # Errors
    /// What is wrong, as a clause.
    pub fn check(&self) -> Result<(), NoBound> {
        let mut seen = vec![usize::MAX; self.servers.len()];
        for (number, flow) in self.flows.iter().enumerate() {
            if flow.path.is_empty() {
                return Err(NoBound::Because("a path without a server"));
            }
            for &server in &flow.path {
                match seen.get_mut(server) {
                    None => return Err(NoBound::Because("a path names a server that does not exist")),
                    Some(last) if *last == number => return Err(NoBound::Because("a path visits a server twice")),
                    Some(last) => *last = number,
                }
            }
        }
        let related = self.servers.iter().flat_map(Server::related);
        if related.into_iter().any(|server| server >= self.servers.len()) {
            return Err(NoBound::Because("a server depends on one that does not exist"));
        }
        Ok(())
    }
}
