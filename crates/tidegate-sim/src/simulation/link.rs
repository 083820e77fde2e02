//! A link, and the port that feeds it.
//!
//! [`LinkPort`] has two forms. At a FIFO that drops nothing it has let in, the departure of a packet is known on its arrival, and no event is
//! needed. Any other port has a slot for its next event.

use super::adapter::AdapterLink;
use super::flights::Flying;
use super::packet::PacketMeta;
use super::pausable_port::PausablePort;
use super::workers::WorkersPort;
use crate::cells::CellPort;
use crate::course::Course;
use crate::experiment::Experiment;
use crate::fifo_port::FifoPort;
use crate::network::{Link, Network};
use crate::partition::{Share, has};
use crate::random::loss_stream;
use crate::source::Source;
use crate::statistics::PortStatistics;
use crate::statistics::port::PortMeter;
use tidegate_atm::adapter::CELL;
use tidegate_core::classifier::{Class, Classifier};
use tidegate_core::packet::Flow;
use tidegate_core::port::{Counters, Port, PortSetup, Volume};
use tidegate_core::random::SplitMix64;
use tidegate_core::scheduler::Scheduler;
use tidegate_core::units::Time;
use tidegate_link::{DisturbanceStream, LossStream};

/// How long the release of a brokered call waits before it looks again, in picoseconds: the golden part of a millisecond, which falls into step with no
/// source of whole milliseconds.
const SETTLE_POLL_INTERVAL: u64 = 618_033_989;

/// What every packet needs of a link, in one cache line.
#[repr(align(64))]
pub(super) struct LinkState {
    pub port: LinkPort,
    pub flying: Flying,
    /// The propagation delay in picoseconds.
    pub propagation: u64,
    pub rest: Box<LinkRest>,
}

const _: () = assert!(size_of::<LinkState>() == 64);

/// What only some packets need of a link.
pub(super) struct LinkRest {
    pub meter: PortMeter,
    /// The queued bytes from which on packets are marked.
    pub mark_above: u64,
    /// The longest transmission in picoseconds.
    pub longest_transmission: u64,
    /// The time from one cell to the next of a packet on this link; 0 if it carries no cells.
    pub pace: u64,
}

pub(super) enum LinkPort {
    /// Packets leave in the order in which they come.
    Fifo(FifoPort),
    /// Any other port, driven by events.
    Driven(Box<DrivenPort>),
}

pub(super) struct DrivenPort {
    pub kind: PortKind,
    pub slot: usize,
    pub loss: Option<LossStream>,
    pub disturbance: Option<Box<DisturbedLink>>,
    /// `Some` if the link fails at some time.
    pub failing: Option<Box<FailingLink>>,
    /// True if a packet to a sink is delivered by an event, when it arrives, and not when its transmission starts.
    pub delivers_by_events: bool,
    /// What was lost on the link, and at a port of cells.
    pub lost: Volume,
    /// True if packets may reach the far end with another code point or colour than they left the port with.
    pub rewrites: bool,
}

/// A link that fails at some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailingLink {
    /// The failures that hold at present.
    pub down: u32,
    /// The failure that took the link down, by index.
    pub by: usize,
    /// The failures that come before the end.
    pub ahead: u32,
}

/// A link that some packets pass late, and some twice.
pub(super) struct DisturbedLink {
    pub stream: DisturbanceStream,
    /// How much later the late packets come, in picoseconds.
    pub extra: u64,
    /// The late packets on the link, in order: by the number of the list among those of all links.
    pub late_list: usize,
    /// What has been late, and what has come twice.
    pub late: Volume,
    pub duplicated: Volume,
    /// The same at the end of the warm-up.
    before: (Volume, Volume),
}

/// What contends at a port that is driven by events.
// One for each link.
#[allow(clippy::large_enum_variant)]
pub(super) enum PortKind {
    /// Packets; until when the link transmits.
    Packets { port: Port<PacketMeta>, busy_until: u64 },
    /// Packets as trains of cells.
    Cells(CellPort<PacketMeta>),
    /// Frames at an ATM adapter.
    Adapter(AdapterLink),
    /// Packets at several workers.
    Workers(WorkersPort),
    /// Packets in classes that the far end may pause.
    Pausable(PausablePort),
    /// None: the port is in another part of the network.
    Elsewhere,
}

/// The links of a network, and those whose ports have events, in the order of their slots.
/// Where packets are traced, no port is computed ahead. In a part of a network, ports that are elsewhere have no state.
pub(super) fn build(
    network: &Network,
    course: &Course,
    experiment: &Experiment,
    replication: u32,
    is_traced: bool,
    share: Option<Share>,
) -> (Vec<LinkState>, Vec<u32>) {
    let sample_interval = experiment.sample_interval.map_or(0, |interval| interval.picoseconds());
    let mut driven = Vec::new();
    let mut late_lists = 0;
    let is_watched = watched(network);
    let has_events = ends_by_events(network);
    let failing = failing(network, experiment.duration.picoseconds());
    let is_pausable = network.pausable();
    let links = network.links.iter().enumerate().map(|(index, link)| {
        let impairment = &link.impairment;
        let is_sound = impairment.loss.is_none() && impairment.rates.is_none() && impairment.disturbance.is_none();
        let is_plain = !is_traced
            && !link.cells
            && link.adapter.is_none()
            && link.workers.is_none()
            && is_sound
            && !is_watched[index]
            && !has_events[index]
            && failing[index].is_none()
            && !is_pausable[index]
            && !course.changes(index);
        let mark_above = impairment.mark_above.unwrap_or(u64::MAX);
        let is_elsewhere = !has(share, link.from);
        let port = is_plain.then(|| FifoPort::of(&link.port)).flatten().filter(|_| !is_elsewhere).map_or_else(
            || {
                if is_elsewhere {
                    return LinkPort::elsewhere();
                }
                driven.push(index as u32);
                let loss = impairment.loss.map(|loss| {
                    let stream = loss_stream(network.same_loss_before(index), experiment.seed, replication);
                    LossStream::new(loss, stream)
                });
                let disturbance = impairment.disturbance.map(|disturbance| {
                    let stream = loss_stream(network.same_disturbance_before(index), experiment.seed, replication);
                    late_lists += 1;
                    Box::new(DisturbedLink {
                        stream: DisturbanceStream::new(disturbance, stream),
                        extra: disturbance.extra().picoseconds(),
                        late_list: late_lists - 1,
                        late: Volume::default(),
                        duplicated: Volume::default(),
                        before: Default::default(),
                    })
                });
                let seed = lots(link.port.seed, index, experiment.seed, replication);
                let (kind, slot) = (PortKind::of(link, mark_above, seed, is_pausable[index]), driven.len() - 1);
                let delivers_by_events = disturbance.is_some() || failing[index].is_some() || has_events[index];
                let failing = failing[index].map(Box::new);
                let (lost, rewrites) = (Volume::default(), link.rewrites());
                LinkPort::Driven(Box::new(DrivenPort { kind, slot, loss, disturbance, failing, delivers_by_events, lost, rewrites }))
            },
            LinkPort::Fifo,
        );
        let rest = LinkRest {
            longest_transmission: longest_transmission_of(link),
            meter: PortMeter::new(&link.port.classifier, course.classes[index].len(), sample_interval),
            mark_above,
            pace: pace_of(link),
        };
        let flying = match share {
            Some(share) if share.has(link.from) && !share.has(link.to) => Flying::elsewhere(share.partition.part_of(link.to)),
            _ => Flying::default(),
        };
        LinkState { port, flying, propagation: link.propagation.picoseconds(), rest: Box::new(rest) }
    });
    (links.collect(), driven)
}

/// The seed of the lots that the AQMs of the `index`-th link draw: others at every link and in every replication.
fn lots(port: u64, index: usize, seed: u64, replication: u32) -> u64 {
    SplitMix64::new(port ^ loss_stream(index, seed, replication)).next_word()
}

/// The links that packets may be late on, in the order of their lists of late packets.
pub(super) fn late_links(links: &[LinkState]) -> Vec<(u32, Flying)> {
    let is_disturbed = |link: &LinkState| matches!(&link.port, LinkPort::Driven(port) if port.disturbance.is_some());
    (0..).zip(links).filter(|(_, link)| is_disturbed(link)).map(|(number, _)| (number, Flying::default())).collect()
}

/// By link, true if a greedy source looks at its queue at the instant of every change, which takes events.
fn watched(network: &Network) -> Vec<bool> {
    let mut is_watched = vec![false; network.links.len()];
    for flow in network.flows.iter().filter(|flow| matches!(flow.source, Source::Greedy(_))) {
        is_watched[flow.path[0].0] = true;
    }
    for reroute in network.reroutes.iter().filter(|reroute| matches!(network.flows[reroute.flow].source, Source::Greedy(_))) {
        reroute.paths.iter().for_each(|path| is_watched[path[0].0] = true);
    }
    is_watched
}

/// By link, true if deliveries to a sink over it have to wait for those over another: a flow takes both to its end.
fn ends_by_events(network: &Network) -> Vec<bool> {
    let mut has_events = vec![false; network.links.len()];
    for reroute in network.reroutes.iter().filter(|reroute| !reroute.is_back) {
        let first = network.flows[reroute.flow].path.last();
        for last in reroute.paths.iter().map(|path| path.last()).filter(|&last| last != first) {
            last.into_iter().chain(first).for_each(|link| has_events[link.0] = true);
        }
    }
    has_events
}

/// By link, how often it fails before the end; `None` if it never does.
fn failing(network: &Network, end: u64) -> Vec<Option<FailingLink>> {
    let mut failing = vec![None; network.links.len()];
    for failure in network.failures.iter().filter(|failure| failure.at.picoseconds() < end) {
        for link in &failure.links {
            failing[link.0].get_or_insert(FailingLink { down: 0, by: 0, ahead: 0 }).ahead += 1;
        }
    }
    failing
}

/// The queues of a class.
pub(super) fn queues_of(classifier: &Classifier, class: usize) -> impl Iterator<Item = Flow> {
    let Class { first_flow, queues, .. } = classifier.classes()[class];
    (first_flow.0..first_flow.0 + queues).map(Flow)
}

/// The time that the longest packet takes on a link, in picoseconds.
pub(super) fn longest_transmission_of(link: &Link) -> u64 {
    let longest = link.port.overhead.wire_length(link.port.longest_frame);
    let constant = || link.port.rate.time_per_byte().ceil(longest);
    link.impairment.rates.as_ref().map_or_else(constant, |rates| rates.longest_transmission(longest)).picoseconds()
}

/// The time from one cell to the next of a packet on a link that carries cells, else 0. Rounded down: rounded up, the cells of back-to-back
/// packets would fall behind the packets little by little, and sources would drift past each other.
pub(super) fn pace_of(link: &Link) -> u64 {
    if link.carries_cells() { link.port.rate.time_per_byte().floor(CELL).picoseconds() } else { 0 }
}

impl LinkPort {
    /// The port of a link that starts in another part of the network.
    fn elsewhere() -> LinkPort {
        let (kind, lost) = (PortKind::Elsewhere, Volume::default());
        let (loss, disturbance, failing) = (None, None, None);
        let (rewrites, delivers_by_events) = (false, false);
        LinkPort::Driven(Box::new(DrivenPort { kind, slot: usize::MAX, loss, disturbance, lost, rewrites, delivers_by_events, failing }))
    }
}

impl PortKind {
    fn of(link: &Link, mark_above: u64, seed: u64, is_pausable: bool) -> PortKind {
        if is_pausable {
            return PortKind::Pausable(PausablePort::new(PortSetup { seed, ..link.port.clone() }));
        }
        if link.cells {
            return PortKind::Cells(CellPort::new(link.port.clone(), mark_above));
        }
        if let Some(workers) = WorkersPort::of(link, seed) {
            return PortKind::Workers(workers);
        }
        match AdapterLink::of(link) {
            Some(adapter) => PortKind::Adapter(adapter),
            None => {
                let mut port = Port::new(Time::ZERO, PortSetup { seed, ..link.port.clone() });
                if let Some(rates) = &link.impairment.rates {
                    port.vary_rate(Time::ZERO, rates);
                }
                PortKind::Packets { port, busy_until: 0 }
            }
        }
    }
}

impl LinkState {
    /// Brings what is computed ahead up to date: all that happens before `limit`.
    pub(super) fn advance(&mut self, limit: u64) {
        if let LinkPort::Fifo(port) = &mut self.port {
            port.advance(limit.saturating_sub(1), &mut self.rest.meter);
        }
    }

    pub(super) fn restart(&mut self, now: u64) {
        self.advance(now);
        let (counters, queued) = self.accounts();
        self.rest.meter.restart(now, &counters, queued);
        let LinkPort::Driven(port) = &mut self.port else { return };
        match &mut port.kind {
            PortKind::Adapter(adapter) => adapter.restart(),
            PortKind::Workers(workers) => workers.restart(),
            PortKind::Packets { .. } | PortKind::Cells(_) | PortKind::Pausable(_) | PortKind::Elsewhere => {}
        }
        if let Some(disturbed) = &mut port.disturbance {
            disturbed.before = (disturbed.late, disturbed.duplicated);
        }
    }

    /// Everything that the port has counted, and what is queued.
    pub(super) fn accounts(&self) -> (Counters, Volume) {
        fn of<P, S: Scheduler>(port: &Port<P, S>) -> (Counters, Volume) {
            let queued = Volume { packets: u64::from(port.occupancy().packets()), bytes: port.occupancy().bytes() };
            (*port.counters(), queued)
        }
        match &self.port {
            LinkPort::Fifo(port) => port.accounts(),
            LinkPort::Driven(driven) => match &driven.kind {
                PortKind::Packets { port, .. } => of(port),
                PortKind::Cells(cells) => of(cells.port()),
                PortKind::Adapter(adapter) => adapter.accounts(),
                PortKind::Workers(workers) => workers.accounts(),
                PortKind::Pausable(PausablePort { port, .. }) => of(port),
                PortKind::Elsewhere => Default::default(),
            },
        }
    }

    /// When the last packet of a queue leaves the port, at the latest, if no more arrive; `None` while that is not known.
    pub(super) fn drained_by(&self, now: u64, queue: Flow) -> Option<u64> {
        let waits = match &self.port {
            LinkPort::Fifo(port) => return Some(now.max(port.busy_until())),
            LinkPort::Driven(driven) => match &driven.kind {
                PortKind::Packets { port, .. } => port.occupancy().flow_packets(queue) > 0,
                // Of several queues of cells no one says alone what is under way.
                PortKind::Cells(_) | PortKind::Adapter(_) | PortKind::Workers(_) | PortKind::Pausable(_) | PortKind::Elsewhere => {
                    self.accounts().1.packets > 0
                }
            },
        };
        (!waits).then_some(now + self.rest.longest_transmission)
    }

    /// When the last packets of these classes have left the port, if no packet of them is in it then; `Err`: when to look again.
    pub(super) fn settled_at(&self, now: u64, classes: &[usize]) -> Result<u64, u64> {
        let (waits, busy_until) = match &self.port {
            LinkPort::Fifo(port) => return if port.busy_until() <= now { Ok(now) } else { Err(port.busy_until()) },
            LinkPort::Driven(driven) => match &driven.kind {
                PortKind::Packets { port, busy_until } => {
                    let queues = classes.iter().flat_map(|&class| queues_of(port.classifier(), class));
                    let waits = queues.into_iter().any(|queue| port.occupancy().flow_packets(queue) > 0);
                    (waits, (*busy_until).max(now))
                }
                PortKind::Cells(_) | PortKind::Adapter(_) | PortKind::Workers(_) | PortKind::Pausable(_) | PortKind::Elsewhere => {
                    (self.accounts().1.packets > 0, now + self.rest.longest_transmission)
                }
            },
        };
        match () {
            () if waits => Err(now + SETTLE_POLL_INTERVAL),
            // The packet in transmission may be one of these classes. A picosecond before its end none of them has begun to follow it.
            () if busy_until > now + 1 => Err(busy_until - 1),
            () => Ok(busy_until),
        }
    }

    /// The port and its meter, if packets contend there as cells.
    #[inline]
    pub(super) fn cells(&mut self) -> Option<(&mut CellPort<PacketMeta>, &mut PortMeter)> {
        let LinkPort::Driven(port) = &mut self.port else { return None };
        let PortKind::Cells(cells) = &mut port.kind else { return None };
        Some((cells, &mut self.rest.meter))
    }

    /// True if the link has failed, and has not recovered.
    pub(super) fn is_down(&self) -> bool {
        matches!(&self.port, LinkPort::Driven(port) if port.failing.as_ref().is_some_and(|failing| failing.down > 0))
    }

    /// A packet is lost on the link, or at its port of cells.
    pub(super) fn count_loss(&mut self, length: u32) {
        if let LinkPort::Driven(port) = &mut self.port {
            port.lost.add(length);
        }
    }

    pub(super) fn finish(self, end: u64) -> PortStatistics {
        let (counters, queued) = self.accounts();
        let start = self.rest.meter.start();
        let mut statistics = self.rest.meter.finish(end, &counters, queued);
        let LinkPort::Driven(driven) = self.port else { return statistics };
        let cells = match driven.kind {
            PortKind::Adapter(adapter) => adapter.records(),
            PortKind::Workers(workers) => {
                statistics.utilisation = workers.utilisation(end - start);
                Vec::new()
            }
            PortKind::Packets { .. } | PortKind::Cells(_) | PortKind::Pausable(_) | PortKind::Elsewhere => Vec::new(),
        };
        let disturbed = driven.disturbance.as_ref().map(|link| (link.late - link.before.0, link.duplicated - link.before.1));
        let (late, duplicated) = disturbed.unwrap_or_default();
        PortStatistics { cells, late, duplicated, ..statistics }
    }
}
