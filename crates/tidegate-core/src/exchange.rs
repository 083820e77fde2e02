//! Exchange: several workers send one link's packets. At each exchange every worker reports its demand and is granted rates.
//!
//! A *worker* runs a port of its own with the whole tree of the link's scheduler. A leaf belongs to one worker. A *spanning node* has children on several
//! workers: the link itself, and nodes directly below other spanning nodes. A *member* is a child of a spanning node that belongs to one worker, with all
//! that is below it. Until the next exchange the worker sends at its granted rate ([`Port::change_link_rate`](crate::port::Port::change_link_rate)) and
//! keeps each spanning node below the link to the rate granted there ([`Limits`]). Its [`WorkerMeter`] observes its port.
//!
//! **Law.**
//! 1. A node has a rate of its own if it is the link or has a contract. The rates granted at such a node never sum up to more than its rate and the credit
//!    spread over one interval. Credit is what was left unused before, at most what the rate carries in one interval, or one longest packet. Each worker
//!    has at least 1 kbit/s.
//! 2. On each worker the rate granted to a node is at most the one granted to the node above.
//! 3. Between any two exchanges in time, the packets started below such a node take no more than its rate carries in that time, plus
//!    [`Exchange::burst`]: the credit limit, and what each worker may start ahead of its rate.
//! 4. Members and spanning nodes that stay backlogged are served in proportion to their weights, whichever workers they are on. The service per weight of
//!    any two below one node is brought together again within a fixed time, so that differences do not add up. Tested, not proven.
//!
//! **Source.** Weighted max-min shares on each level, as in hierarchical generalised processor sharing: A. K. Parekh, R. G. Gallager, IEEE/ACM Transactions
//! on Networking 1(3), 1993; J. C. R. Bennett, H. Zhang, IEEE/ACM Transactions on Networking 5(5), 1997. Rates that follow reports every 100 to 200 us:
//! `cake_mq` of Linux 7.0, which has no tree, and loses a third of the link under an 80/20 load.
//!
//! **State.** 152 bytes per worker and spanning node; per meter 8 bytes per flow, 48 per part and 88 per spanning node.
//!
//! **Cost.** An exchange takes a few divisions per worker and spanning node and at most as many rounds as there are children, whatever the number of
//! members. A meter takes a few additions and two multiplications per packet, and a division when a member begins or ceases to stand. Nothing is
//! allocated after the build.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** The rates are those of the last reports, so they are late by one interval. Priorities are not part of it: every spanning node shares
//! by weight alone.

mod assignment;
mod error;
mod filling;
mod grants;
mod meter;
mod node;
mod units;
mod workers;

pub use assignment::assign;
pub use error::{ExchangeError, Inconsistency};
pub use meter::{Report, WorkerMeter};
pub use workers::{Above, Part, SpanningNode, Workers};

use crate::buffer::BufferManager;
use crate::port::Port;
use crate::registry::AnyScheduler;
use crate::shaper::ShapingContract;
use crate::units::{Duration, Rate, Time};
use alloc::vec::Vec;
use filling::Participant;
use node::{Node, Place};
use units::BYTE;

/// Bytes that members send while they are not backlogged are averaged over about this many intervals.
const AVERAGE_SHIFT: u32 = 3;

/// The same for members that their contracts hold back.
const BOUNDED_SHIFT: u32 = 7;

/// Divides the rate of one link among workers, and that of every node that spans workers.
///
/// ```
/// use tidegate_core::exchange::{Exchange, Report, Workers};
/// use tidegate_core::units::{Duration, Rate, Time};
/// let rate = Rate::new(1_000_000_000).unwrap();
/// let interval = Duration::from_microseconds(150);
/// let workers = Workers::of_link(2, interval, &[3, 1], &[0, 1]);
/// let mut exchange = Exchange::new(Time::ZERO, &workers, rate, 1500).unwrap();
/// // The member of weight 3 is backlogged on the first worker, and the one of weight 1 on the second.
/// let backlogged = |weight| Report { backlogged_weight: weight, ..Report::default() };
/// exchange.exchange(Time::ZERO + interval, &[backlogged(3), backlogged(1)]);
/// // What nothing used in the first interval is credit: for one interval the workers send at twice the link's rate.
/// let granted = |worker| exchange.granted(worker)[0].bits_per_second() / 1_000_000;
/// assert_eq!([granted(0), granted(1)], [1497, 502]);
/// ```
#[derive(Clone, Debug)]
pub struct Exchange {
    interval: Duration,
    longest_packet: u32,
    workers: usize,
    last: Time,
    /// The link first.
    nodes: Vec<Node>,
    /// For each node in turn, each worker's part of it.
    places: Vec<Place>,
    /// For each worker in turn, the rate of each node.
    granted: Vec<Rate>,
    /// Those that share the rate of the node that is looked at; room for the most.
    participants: Vec<Participant>,
}

impl Exchange {
    /// All workers are idle at `now`, and share a link of this rate. `longest_packet` is in bytes on the wire.
    ///
    /// # Errors
    /// [`ExchangeError`] names what is out of range.
    pub fn new(now: Time, workers: &Workers, rate: Rate, longest_packet: u32) -> Result<Exchange, ExchangeError> {
        workers.check(rate, workers.part_of.len())?;
        let (count, interval) = (workers.count as usize, workers.exchange_every);
        let nodes: Vec<Node> =
            (0..).zip(&workers.nodes).map(|(number, node)| Node::new(number, node, workers, rate, longest_packet)).collect();
        let equal = |rate: Rate| Rate::new(rate.bits_per_second() / u64::from(workers.count)).unwrap_or(rate);
        let granted = (0..count * nodes.len()).map(|place| equal(nodes[place % nodes.len()].rate.unwrap_or(rate))).collect();
        let places = (0..count * nodes.len()).map(|_| Place::default()).collect();
        let participants = Vec::with_capacity(3 * count + nodes.len());
        Ok(Exchange { interval, longest_packet, workers: count, last: now, nodes, places, granted, participants })
    }

    /// The rates granted last to a worker, one per spanning node: the first is that of its port. Before the first exchange all workers have equal rates.
    pub fn granted(&self, worker: usize) -> &[Rate] {
        &self.granted[worker * self.nodes.len()..][..self.nodes.len()]
    }

    /// For each spanning node, the rate per weight that competing members have, in 2^-24 bit/s ([`WorkerMeter::set_level`]).
    pub fn levels(&self) -> impl Iterator<Item = u64> {
        self.nodes.iter().map(Node::level)
    }

    /// The bytes that may be started below a spanning node between two exchanges beyond what its rate carries in that time, if exchanges are never late.
    /// `None` if the node has no rate of its own.
    pub fn burst(&self, node: usize) -> Option<u64> {
        let node = &self.nodes[node];
        node.rate.map(|_| (node.credit_limit / BYTE) as u64 + 1 + node.started_early())
    }

    /// Grants rates until the next exchange. `reports` holds for each worker in turn one report per spanning node since the last.
    ///
    /// # Panics
    /// If there is another number of reports.
    pub fn exchange(&mut self, now: Time, reports: &[Report]) {
        assert_eq!(reports.len(), self.granted.len(), "one report per worker and spanning node");
        let elapsed = now.since(self.last);
        self.last = now;
        self.note_reports(elapsed, reports);
        self.note_service(reports);
        self.find_demands(reports);
        self.share(reports);
        self.grant();
    }

    /// A contract of a spanning node that keeps a worker to a rate.
    fn limit(&self, node: usize, rate: Rate) -> ShapingContract {
        let Node { depth, tolerance, .. } = self.nodes[node];
        ShapingContract { tolerance, ..ShapingContract::new(rate, depth, self.longest_packet) }
    }
}

/// What keeps a worker's port to the rates that it is granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// For each spanning node but the link: its number in the scheduler's tree, and its contract.
    nodes: Vec<(usize, ShapingContract)>,
}

impl Limits {
    /// Those of a worker before the first exchange.
    pub fn new(exchange: &Exchange, workers: &Workers, worker: usize) -> Limits {
        let granted = exchange.granted(worker);
        let nodes = (1..).zip(workers.nodes.iter().skip(1)).map(|(number, node)| (node.node, exchange.limit(number, granted[number])));
        Limits { nodes: nodes.collect() }
    }

    /// Sets all of them at a port that is new.
    pub fn begin<P, B: BufferManager>(&self, now: Time, port: &mut Port<P, AnyScheduler, B>) {
        for (node, contract) in &self.nodes {
            let limited = port.scheduler_mut().limit_node(now, *node, contract);
            debug_assert!(limited.is_ok(), "node {node}: {limited:?}");
        }
    }

    /// Brings a port to these rates, the first of which is its own. True if one has changed.
    pub fn follow<P, B: BufferManager>(
        &mut self,
        now: Time,
        port: &mut Port<P, AnyScheduler, B>,
        granted: impl Iterator<Item = Rate>,
    ) -> bool {
        let mut granted = granted;
        let mut has_changed = false;
        if let Some(rate) = granted.next().filter(|&rate| rate != port.rate()) {
            port.change_link_rate(now, rate);
            has_changed = true;
        }
        for ((node, contract), rate) in self.nodes.iter_mut().zip(granted) {
            if contract.rate != rate {
                contract.rate = rate;
                let limited = port.scheduler_mut().limit_node(now, *node, contract);
                debug_assert!(limited.is_ok(), "node {node}: {limited:?}");
                has_changed = true;
            }
        }
        has_changed
    }
}
