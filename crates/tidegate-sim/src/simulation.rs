//! One replication: plays the events of a network in the order of their instants.
//!
//! | part | holds |
//! |---|---|
//! | [`agenda`] | the next event of every port, link, source and host |
//! | [`sources`] | what emits packets by the clock, and greedy sources |
//! | [`connections`] | TCP connections, which react to packets and to their timers; [`starts`] where their packets set out |
//! | [`arrivals`], [`workloads`], [`pool`] | connections that come and go, and their slots |
//! | [`data_plane`] | ports and links, and the packets on them |
//! | [`signalling`] | calls that are set up and released |
//! | [`admitting_ports`] | the ports that admit flows, and the rates of their flows |
//! | [`flows`] | what the data plane reports about flows |
//! | [`failures`] | links that fail and recover |
//! | [`pauses`] | what nodes hold and pause; [`pausing`] how packets pass a port that can be paused |
//! | [`workers`] | the port of a link that several workers share |
//! | [`divided`] | a replication on several threads, and [`exchange`] what they tell each other |
//! | [`tracing`] | the steps of packets, where they are traced |
//! | [`accounting`] | the checks at the end |
//!
//! Nothing is allocated per packet: packets are kept in the pool of their port or in that of all links. Both grow to what they must hold, and
//! stay.

use crate::calls::CallStatistics;
use crate::course::{Course, Happening, Phase};
use crate::error::SimulationError;
use crate::experiment::Experiment;
use crate::failure::{FailureStatistics, Reroute};
use crate::id::LinkId;
use crate::network::Network;
use crate::partition::{Partition, Share, ends, has};
use crate::random::spread_hash;
use crate::route::slots::Paths;
use crate::source::Source;
use crate::statistics::flow::{FlowMeter, PathSummary};
use crate::statistics::tcp::AckMeter;
use crate::statistics::{Replication, TcpStatistics};
use crate::time::NEVER;
use crate::trace::Tracer;
use crate::workload::CompletionSink;
use admitting_ports::AdmittingPorts;
use agenda::{Agenda, Due};
use connections::Connections;
use data_plane::DataPlane;
use flights::Flights;
use flows::Flows;
use link::LinkPort;
use outbox::Outbox;
use pauses::Pauses;
use signalling::Signalling;
use sources::Sources;
use tidegate_core::port::{Switched, Volume};
use tracing::Tracing;
use workloads::Workloads;

mod accounting;
mod adapter;
mod admitting_ports;
mod agenda;
mod arrivals;
mod connections;
mod data_plane;
mod divided;
mod exchange;
mod failures;
mod flights;
mod flows;
mod link;
mod outbox;
mod packet;
mod pausable_port;
mod pauses;
mod pausing;
mod pool;
mod reverse_path;
mod signalling;
mod sources;
mod starts;
#[cfg(test)]
mod tests;
mod tracing;
mod workers;
mod workloads;

pub(crate) use divided::run_divided;

/// Events between two looks at progress and cancellation.
const EVENTS_PER_TICK: u32 = 1 << 15;

pub(crate) struct Simulation<'a> {
    network: &'a Network,
    course: &'a Course,
    replication: u32,
    seed: u64,
    warm_up: u64,
    end: u64,
    plane: DataPlane<'a>,
    sources: Sources,
    connections: Connections<'a>,
    signalling: Signalling<'a>,
    /// What the changes so far did, one entry each.
    changes: Vec<Switched>,
    /// How much of what happens to links and routes has happened.
    happened: usize,
}

impl<'a> Simulation<'a> {
    /// A replication of an experiment, or its part; both experiment and network have been checked.
    pub(crate) fn new(
        network: &'a Network,
        experiment: &Experiment,
        course: &'a Course,
        replication: u32,
        tracer: Option<&'a dyn Tracer>,
        completions: Option<&'a dyn CompletionSink>,
        share: Option<Share<'a>>,
    ) -> Simulation<'a> {
        let routes = &course.routes;
        let (warm_up, end) = (experiment.warm_up.picoseconds(), experiment.duration.picoseconds());
        let mut sources = Sources::new(network, experiment, routes, replication, share);
        let workloads = Workloads::new(network, course.reach.as_ref(), completions, experiment, replication);
        let mut connections = Connections::new(network, experiment, routes, replication, workloads, share);
        let (links, driven) = link::build(network, course, experiment, replication, tracer.is_some(), share);
        let late_links = link::late_links(&links);
        let link_ends = links.len() + late_links.len();
        let flows = (network.flows.len(), connections.count(), connections.slow_hosts());
        let (links_and_pauses, signals) = ((driven.len(), link_ends, network.pauses.len()), !network.calls.is_empty());
        let mut agenda = Agenda::new(links_and_pauses, flows, signals, network.workloads.len());
        for (index, flow) in network.flows.iter().enumerate().filter(|(_, flow)| has(share, ends(network, flow).0)) {
            agenda.set_source(index, sources.first(index, flow.start.picoseconds()));
        }
        // Calls start their sources.
        network.calls.iter().flat_map(|calls| &calls.flows).for_each(|&flow| agenda.set_source(flow, NEVER));
        connections.set_first_events(&mut agenda);
        let summaries = PathSummary::of_all(network).into_iter();
        let meters = summaries.map(|summary| FlowMeter::new(summary, warm_up, experiment.flow_interval())).collect();
        let tracing = tracer.map(|tracer| Box::new(Tracing::new(tracer, network)));
        let flows = Flows::new(
            Paths::new(network, routes, course.holders.as_ref()),
            meters,
            connections.count(),
            sources::greedy_windows(network),
            tracing,
        );
        let flights = Flights::default();
        let admission = AdmittingPorts::of(network);
        let failures = vec![FailureStatistics::default(); network.failures.len()];
        let pauses = course.holders.as_ref().map(|holders| Box::new(Pauses::new(network, holders)));
        let (limit, events, packet_hops) = (0, 0, 0);
        let outbox = share.map(|share| Box::new(Outbox::new(network, share)));
        let mut plane = DataPlane {
            agenda,
            links,
            driven,
            flights,
            late_links,
            flows,
            end,
            limit,
            events,
            packet_hops,
            admission,
            failures,
            pauses,
            outbox,
        };
        plane.start_exchanges();
        connections.workloads.start(&mut plane);
        let signalling = Signalling::new(network, experiment, replication, &mut plane);
        let seed = experiment.seed;
        let (changes, happened) = (Vec::new(), 0);
        Simulation { network, course, replication, seed, warm_up, end, plane, sources, connections, signalling, changes, happened }
    }

    /// Runs to the end. `tick` is told now and then which part is done, and says whether to go on.
    pub(crate) fn run(mut self, tick: &mut dyn FnMut(f64) -> bool) -> Result<Replication, SimulationError> {
        self.run_until(self.warm_up, tick)?;
        self.restart();
        self.run_until(self.end, tick)?;
        tick(1.0);
        self.finish()
    }

    /// The warm-up is over.
    fn restart(&mut self) {
        let warm_up = self.warm_up;
        self.plane.links.iter_mut().for_each(|link| link.restart(warm_up));
        self.plane.flows.meters.iter_mut().for_each(FlowMeter::restart);
        self.connections.restart();
        self.signalling.restart(warm_up);
        if let Some(pauses) = &mut self.plane.pauses {
            pauses.restart(warm_up);
        }
    }

    /// Plays everything before `limit`, changes of ports and failures included.
    fn run_until(&mut self, limit: u64, tick: &mut dyn FnMut(f64) -> bool) -> Result<(), SimulationError> {
        let course = self.course;
        loop {
            let happening = course.happenings.get(self.happened).filter(|(at, _)| *at < limit);
            let phase = course.phases.get(self.changes.len()).filter(|phase| phase.at < limit);
            match (happening, phase) {
                (Some(&(at, happening)), phase) if phase.is_none_or(|phase| at < phase.at) => {
                    self.play_until(at, tick)?;
                    self.happen(at, happening);
                    self.happened += 1;
                }
                // Ports change before all else that happens at the same instant.
                (_, Some(phase)) => {
                    self.play_until(phase.at, tick)?;
                    self.change(phase);
                }
                (_, None) => return self.play_until(limit, tick),
            }
        }
    }

    /// Ports change.
    fn change(&mut self, phase: &'a Phase) {
        self.plane.flows.routes.change(&phase.routes, &phase.links);
        self.connections.renew_paths(&mut self.plane);
        // Ports tell of packets that they drop, so the paths have to be found in two places.
        let routes = self.plane.flows.routes.clone();
        let mut done = Switched::default();
        for (index, link) in &phase.links {
            done += self.plane.switch(phase.at, *index, link, &self.course.classes[*index], &routes);
        }
        self.changes.push(done);
    }

    fn happen(&mut self, now: u64, happening: Happening) {
        let (network, routes) = (self.network, &self.course.routes);
        match happening {
            Happening::Recovery(failure) => {
                network.failures[failure].links.iter().for_each(|link| self.plane.recover(now, link.0));
            }
            Happening::Failure(failure) => {
                network.failures[failure].links.iter().for_each(|link| self.plane.fail(now, link.0, failure));
                self.wake_greedy(now);
            }
            Happening::Reroute(index) => {
                let (Reroute { flow, is_back, .. }, start) = (&network.reroutes[index], routes.reroutes[index]);
                let spec = &network.flows[*flow];
                if matches!(spec.source, Source::Tcp(_)) {
                    let hash = spread_hash(self.seed, self.replication, &spec.name);
                    self.connections.reroute(*flow, *is_back, start.variants(routes), hash);
                } else {
                    self.sources.reroute(*flow, start);
                }
            }
            Happening::Avoid(index) => self.connections.avoid(&self.course.avoided[index].1, &mut self.plane),
        }
    }

    /// Greedy sources whose first queue has changed look at it.
    #[inline]
    fn wake_greedy(&mut self, now: u64) {
        while let Some(flow) = self.plane.flows.next_woken() {
            self.sources.fill(now, flow, &mut self.plane);
        }
    }

    fn play_until(&mut self, limit: u64, tick: &mut dyn FnMut(f64) -> bool) -> Result<(), SimulationError> {
        self.plane.limit = limit;
        loop {
            for _ in 0..EVENTS_PER_TICK {
                let (now, slot) = self.plane.agenda.first();
                if now >= limit {
                    return Ok(());
                }
                self.plane.events += 1;
                self.play(now, slot);
                self.wake_greedy(now);
            }
            self.tick(tick)?;
        }
    }

    fn tick(&self, tick: &mut dyn FnMut(f64) -> bool) -> Result<(), SimulationError> {
        let goes_on = tick(self.plane.agenda.first().0.min(self.end) as f64 / self.end as f64);
        if goes_on { Ok(()) } else { Err(SimulationError::Cancelled) }
    }

    #[inline]
    fn play(&mut self, now: u64, slot: usize) {
        let Simulation { plane, sources, connections, signalling, .. } = self;
        match plane.agenda.due(slot) {
            Due::Port(port) => plane.serve(now, plane.driven[port] as usize),
            Due::LinkEnd(list) => {
                if let Some((hop, packet)) = plane.land(now, list) {
                    connections.receive(now, hop, packet, plane);
                }
            }
            Due::PauseFrame(pause) => plane.hear_pause(now, pause),
            Due::Source(flow) => {
                if !sources.emit(now, flow, plane) {
                    connections.wake(now, flow, plane);
                }
            }
            Due::Connection(flow) => connections.wake(now, flow, plane),
            Due::Workload(workload) => connections.arrive(now, workload, plane),
            Due::Host(connection) => connections.leave(now, connection, plane),
            Due::Signalling => signalling.play(now, sources, plane),
        }
    }

    /// The statistics of a network that one thread has played.
    fn finish(self) -> Result<Replication, SimulationError> {
        let Simulation { network, course, replication, end, .. } = self;
        let (mut played, calls, changes) = self.close();
        let plane = &mut played.plane;
        let deadlock = plane.pauses.as_ref().map_or_else(Vec::new, |pauses| pauses.deadlock(&plane.links, &plane.flows.routes));
        let deadlock = deadlock.into_iter().map(|(link, class)| (LinkId(link), class)).collect();
        let failures = std::mem::take(&mut plane.failures);
        let connection_slots = plane.flows.pool.slots() as u64;
        let statistics = Replication { calls, changes, deadlock, failures, connection_slots, ..Replication::default() };
        combine(network, course, replication, end, None, vec![played], statistics)
    }

    /// Brings everything up to the end.
    fn close(mut self) -> (Played<'a>, Vec<CallStatistics>, Vec<Switched>) {
        if let Some(tracing) = &mut self.plane.flows.tracing {
            tracing.tell_until(self.end);
        }
        for link in &mut self.plane.links {
            link.advance(self.end);
            if let LinkPort::Fifo(port) = &link.port {
                // What waits at a FIFO has been counted on its link already.
                self.plane.packet_hops -= port.accounts().1.packets;
            }
        }
        let Simulation { end, plane, connections, signalling, changes, .. } = self;
        (Played { plane, connections }, signalling.finish(end), changes)
    }
}

/// A network, or a part of it, at the end.
struct Played<'a> {
    plane: DataPlane<'a>,
    connections: Connections<'a>,
}

/// The statistics of a replication from its parts. `statistics` has what only undivided networks have.
fn combine(
    network: &Network,
    course: &Course,
    replication: u32,
    end: u64,
    partition: Option<&Partition>,
    parts: Vec<Played>,
    mut statistics: Replication,
) -> Result<Replication, SimulationError> {
    let mut accounted = Volume::default();
    let (mut links, mut connections, mut pooled, mut paused) = (Vec::new(), None::<Connections>, Vec::new(), Vec::new());
    let (mut meters, mut reverse): (Vec<FlowMeter>, Vec<AckMeter>) = (Vec::new(), Vec::new());
    for Played { plane, connections: ends } in parts {
        accounted += accounting::accounted(&plane, network, replication)?;
        statistics.events += plane.events;
        statistics.packet_hops += plane.packet_hops;
        pooled.extend(plane.flows.pool.all_data().copied());
        paused.extend(plane.pauses.into_iter().flat_map(|pauses| pauses.finish(end, network.links.len())));
        links.push(plane.links.into_iter());
        match &mut connections {
            None => {
                connections = Some(ends);
                (meters, reverse) = (plane.flows.meters, plane.flows.reverse_path.meters);
            }
            Some(all) => {
                all.absorb(ends);
                meters.iter_mut().zip(plane.flows.meters).for_each(|(meter, other)| meter.absorb(other));
                reverse.iter_mut().zip(plane.flows.reverse_path.meters).for_each(|(meter, other)| meter.absorb(other));
            }
        }
    }
    let Some(connections) = connections else { return Err(SimulationError::Cancelled) };
    accounting::check(accounted, &meters, (&reverse, &pooled), &connections, network, replication)?;
    for (meter, flow) in meters.into_iter().zip(&network.flows) {
        let (emitted, accounted) = (meter.emitted + meter.duplicated(), meter.gone());
        let Some(of_flow) = meter.finish(end, &flow.path) else {
            let place = format!("flow {}", flow.name);
            return Err(SimulationError::NotConserved { replication, place, emitted, accounted });
        };
        statistics.flows.push(of_flow);
    }
    let Connections { sending, receiving, workloads, first_pooled, .. } = connections;
    for ((sending, receiving), back) in sending.into_iter().zip(receiving).zip(&reverse).take(first_pooled) {
        let tcp = TcpStatistics::of(sending.end.finish(end), receiving.end.finish(), back);
        statistics.flows[sending.flow].tcp = Some(Box::new(tcp));
    }
    for link in &network.links {
        let part = partition.map_or(0, |partition| partition.part_of(link.from) as usize);
        // Each part has all links, of which its own have ports.
        for (number, links) in links.iter_mut().enumerate() {
            let state = links.next().filter(|_| number == part);
            statistics.ports.extend(state.map(|state| state.finish(end)));
        }
    }
    statistics.ports.iter_mut().zip(paused).for_each(|(port, paused)| port.pauses = paused);
    statistics.workloads = workloads.finish();
    accounting::check_classes(network, &course.classes, &statistics, replication)?;
    Ok(statistics)
}
