//! Workloads: TCP connections that come by themselves, carry a size from a distribution, and go.
//!
//! | module | holds |
//! |---|---|
//! | [`sizes`] | empirical distributions of sizes, and two published ones |
//! | [`reach`] | the paths between the hosts of workloads, and the load they bring to each link |
//! | `detours` | the paths that connections take while links fail |
//! | [`classes`] | the classes that packets of connections may have |
//! | `ideal` | how long a connection takes alone on its path |
//!
//! An arrival is one connection, or with [`Pattern::Incast`] a round of several to one receiver. Arrivals do not wait for the network, except with
//! [`Rhythm::Pause`]: the model is open-loop.

use crate::fault::Fault;
use crate::id::NodeId;
use crate::random::Stream;
use crate::routing::EqualPaths;
use crate::source::role::TrafficSource;
use crate::tcp::{Application, Tcp};
use crate::time::{LONGEST_DURATION, random_span};
pub use sizes::Sizes;
use tidegate_core::classifier::{Header, Network as Layer};
use tidegate_core::units::{Duration, Time};

pub mod classes;
pub(crate) mod detours;
pub(crate) mod ideal;
pub mod reach;
pub mod sizes;

/// Connections that arrive, carry their data and go.
#[derive(Clone, Debug)]
pub struct Workload {
    /// A unique name; the random streams are named after it.
    pub name: String,
    /// Between which hosts the connections are.
    pub pattern: Pattern,
    /// When they arrive.
    pub rhythm: Rhythm,
    /// How much each carries.
    pub sizes: Sizes,
    /// The TCP of all of them: one transfer each. Its reverse path and the size of its transfer are not used.
    pub tcp: Tcp,
    /// The header of all of them, but for the addresses, which are those of the hosts, and the source port, which counts up from 49152 to 65535 and begins
    /// again.
    pub header: Header,
    /// The most connections at once that are not complete. Arrivals beyond are refused and counted.
    pub places: u32,
    /// When the first may arrive.
    pub start: Duration,
    /// From when on none arrives; those that are there go on. `None`: never.
    pub stop: Option<Duration>,
    /// How connections use several paths of equal weight; the hash of a connection is that of its header.
    pub equal_paths: EqualPaths,
}

/// Between which hosts connections are.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Sender and receiver are drawn anew for each connection, and differ.
    Random {
        /// The senders.
        from: Vec<NodeId>,
        /// The receivers.
        to: Vec<NodeId>,
    },
    /// Each connection draws one of these pairs of sender and receiver.
    Listed(Vec<(NodeId, NodeId)>),
    /// Rounds: a receiver is drawn, and this many different senders begin at one instant.
    Incast {
        /// The senders.
        from: Vec<NodeId>,
        /// The receivers.
        to: Vec<NodeId>,
        /// How many take part in a round.
        senders: u32,
    },
}

/// When connections or rounds arrive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rhythm {
    /// By a Poisson process with this many arrivals per second.
    Poisson {
        /// Arrivals per second.
        per_second: f64,
    },
    /// Always this long after the one before, whatever has become of it.
    Period(Duration),
    /// This long after all connections of the one before are complete.
    Pause(Duration),
}

/// A connection that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The replication, from 0.
    pub replication: u32,
    /// The workload, by its place in [`Network::workloads`](crate::Network::workloads).
    pub workload: usize,
    /// Its number among those of the workload, from 0.
    pub number: u64,
    /// The round, from 0: connections of one round arrive at one instant.
    pub round: u64,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Bytes of data.
    pub bytes: u64,
    /// When it arrived.
    pub began: Time,
    /// From there until the receiver had the last byte.
    pub time: Duration,
    /// How long it takes alone on its path, without a window.
    pub ideal: Duration,
}

/// Sees every connection that is complete, warm-up included. Replications run one after the other then.
pub trait CompletionSink: Sync {
    /// The next.
    fn complete(&self, completion: &Completion);
}

/// The first of the source ports that connections take in turn, and their number (RFC 6335).
const EPHEMERAL_PORTS: (u16, u64) = (49_152, 16_384);

impl Workload {
    /// The header of the data of the `number`-th connection, from 0, between two hosts.
    pub fn header_of(&self, number: u64, from: NodeId, to: NodeId) -> Header {
        let mut header = self.header;
        if let Layer::V4 { source, destination, transport } = &mut header.network {
            (*source, *destination) = (host_address(from), host_address(to));
            if let Some((port, _)) = &mut transport.ports {
                *port = EPHEMERAL_PORTS.0 + (number % EPHEMERAL_PORTS.1) as u16;
            }
        }
        header
    }

    /// Draws the ends of the connections of one arrival.
    pub(crate) fn draw(&self, stream: &mut Stream, ends: &mut Vec<(NodeId, NodeId)>) {
        ends.clear();
        let mut one_of = |nodes: &[NodeId]| nodes[stream.below(nodes.len() as u64) as usize];
        match &self.pattern {
            Pattern::Random { from, to } => loop {
                let pair = (one_of(from), one_of(to));
                if pair.0 != pair.1 {
                    return ends.push(pair);
                }
            },
            Pattern::Listed(pairs) => ends.push(pairs[stream.below(pairs.len() as u64) as usize]),
            Pattern::Incast { from, to, senders } => {
                let receiver = one_of(to);
                let mut others: Vec<NodeId> = from.iter().copied().filter(|&sender| sender != receiver).collect();
                for chosen in 0..(*senders as usize).min(others.len()) {
                    let other = chosen + stream.below((others.len() - chosen) as u64) as usize;
                    others.swap(chosen, other);
                    ends.push((others[chosen], receiver));
                }
            }
        }
    }

    /// The time from one arrival to the next in picoseconds; `None` if it depends on the end of this one.
    pub(crate) fn interval(&self, stream: &mut Stream) -> Option<u64> {
        match self.rhythm {
            Rhythm::Poisson { per_second } => Some(random_span(1e12 / per_second, stream.exponential()).max(1)),
            Rhythm::Period(period) => Some(period.picoseconds()),
            Rhythm::Pause(_) => None,
        }
    }

    /// Mean arrivals per second; `None` if it depends on the network.
    pub fn arrivals_per_second(&self) -> Option<f64> {
        match self.rhythm {
            Rhythm::Poisson { per_second } => Some(per_second),
            Rhythm::Period(period) => Some(1e12 / period.picoseconds() as f64),
            Rhythm::Pause(_) => None,
        }
    }

    /// The length of the packet with which the receiver asks for the data; `None` if it does not.
    pub(crate) fn request(&self) -> Option<u32> {
        let Application::Transfers(transfers) = &self.tcp.application else { return None };
        transfers.request
    }

    /// What cannot be simulated in a network of this many nodes, if anything; the paths are checked by [`reach::Reach::of`].
    pub(crate) fn check(&self, nodes: usize) -> Result<(), Fault> {
        let (lists, least): (Vec<&[NodeId]>, u32) = match &self.pattern {
            Pattern::Random { from, to } => (vec![from, to], 1),
            Pattern::Listed(_) => (Vec::new(), 1),
            Pattern::Incast { from, to, senders } => (vec![from, to], *senders),
        };
        let pairs: &[(NodeId, NodeId)] = if let Pattern::Listed(pairs) = &self.pattern { pairs } else { &[] };
        let is_unknown = |node: &NodeId| node.0 >= nodes;
        if lists.iter().any(|list| list.is_empty() || list.iter().any(is_unknown))
            || (lists.is_empty() && pairs.is_empty())
            || pairs.iter().any(|(from, to)| is_unknown(from) || is_unknown(to) || from == to)
        {
            return Err(Fault::new("pairs", "no node, or an unknown one", "pairs of different nodes of the network"));
        }
        if let [from, to] = &lists[..] {
            let has_other = |receiver: &NodeId| from.iter().filter(|sender| *sender != receiver).count() >= least as usize;
            if least == 0 || !to.iter().all(has_other) {
                return Err(Fault::new("senders", format!("{least} senders"), "from 1 to as many as there are beside each receiver"));
            }
        }
        let is_possible = match self.rhythm {
            Rhythm::Poisson { per_second } => per_second > 0.0 && per_second <= 1e12,
            Rhythm::Period(period) => period > Duration::ZERO && period <= LONGEST_DURATION,
            Rhythm::Pause(pause) => pause <= LONGEST_DURATION,
        };
        if !is_possible {
            return Err(Fault::new("interval", "none at all, or more than 26 days", "a time that can be simulated"));
        }
        if self.places == 0 || self.places < least || self.places > MOST_PLACES {
            let expected = format!("{} to {MOST_PLACES}, and no fewer than the senders of a round", least.max(1));
            return Err(Fault::new("places", self.places.to_string(), expected));
        }
        if self.start > LONGEST_DURATION {
            return Err(Fault::new("start", "later than 26 days", "a start within the experiment"));
        }
        if self.stop.is_some_and(|stop| stop <= self.start) {
            return Err(Fault::new("stop", "not after the start", "a later instant, or none"));
        }
        let is_one_transfer = matches!(&self.tcp.application, Application::Transfers(transfers) if transfers.count == Some(1));
        if !is_one_transfer || self.tcp.start_within != Duration::ZERO {
            return Err(Fault::new("source", "not one transfer that begins at once", "a TCP source without transfers of its own"));
        }
        Box::new(self.tcp.clone()).check()
    }
}

/// The most connections of a workload at once.
pub const MOST_PLACES: u32 = 10_000_000;

/// The address of a host: 10.128.0.1 for the first node of the network, and so on.
fn host_address(node: NodeId) -> u32 {
    0x0a80_0000 | (node.0 as u32 + 1) & 0x7f_ffff
}
