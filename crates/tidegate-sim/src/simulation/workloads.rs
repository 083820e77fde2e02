//! The arrivals of workloads: draws connections, starts each in a free slot, and measures it.
//!
//! The number of slots grows to the most that are needed at once. A slot is used again when nothing of its last connection is under way.

use super::connections::{Connections, TcpFlow};
use super::data_plane::DataPlane;
use crate::experiment::Experiment;
use crate::id::NodeId;
use crate::network::Network;
use crate::random::Stream;
use crate::route::slots::Region;
use crate::statistics::WorkloadStatistics;
use crate::tcp::connection::Connection;
use crate::time::NEVER;
use crate::workload::ideal::completion_time;
use crate::workload::{Completion, CompletionSink, Pattern, Reach, Rhythm, Workload};
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Time};

pub(super) struct Workloads<'a> {
    network: &'a Network,
    reach: Option<&'a Reach>,
    sink: Option<&'a dyn CompletionSink>,
    seed: u64,
    replication: u32,
    warm_up: u64,
    all: Vec<State>,
    /// By slot, the connection that has or had it.
    present: Vec<Present>,
    rounds: Vec<Round>,
    free_rounds: Vec<u32>,
    /// Reused by every arrival.
    ends: Vec<(NodeId, NodeId)>,
}

/// One workload.
struct State {
    stream: Stream,
    /// Connections and rounds so far.
    connections: u64,
    rounds: u64,
    /// The connections and the rounds that are not complete.
    active: u32,
    active_rounds: u32,
    statistics: WorkloadStatistics,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Data is on its way.
    Sending,
    /// The receiver has everything.
    Delivered,
    /// The sender knows. What still arrives is counted, and has no effect.
    Closed,
}

/// The connection of a slot.
struct Present {
    region: Region,
    stage: Stage,
    workload: u32,
    /// The place of its round in `rounds`.
    round: u32,
    ends: (NodeId, NodeId),
    bytes: u64,
    began: u64,
    ideal: u64,
    /// What the slot had emitted before.
    emitted_before: Volume,
}

/// A round that is not complete.
#[derive(Clone, Copy)]
struct Round {
    number: u64,
    began: u64,
    left: u32,
}

impl<'a> Workloads<'a> {
    pub(super) fn new(
        network: &'a Network,
        reach: Option<&'a Reach>,
        sink: Option<&'a dyn CompletionSink>,
        experiment: &Experiment,
        replication: u32,
    ) -> Workloads<'a> {
        let state = |workload: &Workload| State {
            stream: Stream::new(experiment.seed, replication, &format!("workload {}", workload.name)),
            connections: 0,
            rounds: 0,
            active: 0,
            active_rounds: 0,
            statistics: WorkloadStatistics::default(),
        };
        Workloads {
            network,
            reach,
            sink,
            seed: experiment.seed,
            replication,
            warm_up: experiment.warm_up.picoseconds(),
            all: network.workloads.iter().map(state).collect(),
            present: Vec::new(),
            rounds: Vec::new(),
            free_rounds: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Sets the first arrival of every workload.
    pub(super) fn start(&mut self, plane: &mut DataPlane) {
        for (index, (workload, state)) in self.network.workloads.iter().zip(&mut self.all).enumerate() {
            // A Poisson process has no point at its start; rounds by the clock begin at once.
            let wait = if let Rhythm::Poisson { .. } = workload.rhythm { workload.interval(&mut state.stream) } else { None };
            self::set(plane, index, workload, workload.start.picoseconds().saturating_add(wait.unwrap_or(0)));
        }
    }

    /// True if the connection of a slot is closed.
    pub(super) fn is_closed(&self, slot: usize) -> bool {
        self.present[slot].stage == Stage::Closed
    }

    /// What the connection of a slot has sent, to be compared with what its slot has emitted in all.
    pub(super) fn sent(&self, slot: usize, connection: &Connection) -> Volume {
        self.present[slot].emitted_before + connection.sent()
    }

    /// The name of the workload whose connection a slot has.
    pub(super) fn name_of(&self, slot: usize) -> &str {
        &self.network.workloads[self.present[slot].workload as usize].name
    }

    /// Something has happened at a connection: it may be complete, or closed.
    pub(super) fn follow(&mut self, now: u64, slot: usize, tcp: &TcpFlow<'_>, plane: &mut DataPlane) {
        let present = &mut self.present[slot];
        if present.stage == Stage::Sending && tcp.connection.is_delivered() {
            present.stage = Stage::Delivered;
            self.complete(now, slot, plane);
        }
        let present = &mut self.present[slot];
        if present.stage == Stage::Delivered && tcp.connection.is_closed() {
            present.stage = Stage::Closed;
            plane.agenda.set_source(tcp.flow, NEVER);
            plane.agenda.set_host(plane.flows.pool.first_connection as usize + slot, NEVER);
            let flows = &mut plane.flows;
            flows.pool.close(slot, &flows.reverse_path);
        }
    }

    /// The receiver has the last byte.
    fn complete(&mut self, now: u64, slot: usize, plane: &mut DataPlane) {
        let Present { workload: index, round: place, ends: (from, to), bytes, began, ideal, .. } = self.present[slot];
        let (workload, state) = (&self.network.workloads[index as usize], &mut self.all[index as usize]);
        let round = &mut self.rounds[place as usize];
        round.left -= 1;
        state.active -= 1;
        let is_measured = began >= self.warm_up;
        if is_measured {
            state.statistics.complete(bytes, now - began, ideal);
        }
        if let Some(sink) = self.sink {
            sink.complete(&Completion {
                replication: self.replication,
                workload: index as usize,
                round: round.number,
                from,
                to,
                bytes,
                began: Time::from_picoseconds(began),
                time: Duration::from_picoseconds(now - began),
                ideal: Duration::from_picoseconds(ideal),
            });
        }
        if round.left == 0 {
            if is_measured && matches!(workload.pattern, Pattern::Incast { .. }) {
                state.statistics.rounds.times.record(now - round.began);
            }
            state.active_rounds -= 1;
            self.free_rounds.push(place);
            if let Rhythm::Pause(pause) = workload.rhythm {
                set(plane, index as usize, workload, now.saturating_add(pause.picoseconds()));
            }
        }
    }

    /// The measurements of each workload.
    pub(super) fn finish(mut self) -> Vec<WorkloadStatistics> {
        for present in self.present.iter().filter(|present| present.stage == Stage::Sending && present.began >= self.warm_up) {
            self.all[present.workload as usize].statistics.unfinished += 1;
        }
        for (workload, state) in self.network.workloads.iter().zip(&mut self.all) {
            let rounds = &mut state.statistics.rounds;
            if matches!(workload.pattern, Pattern::Incast { .. }) {
                rounds.unfinished = rounds.arrivals - rounds.refused - rounds.times.count();
            }
        }
        self.all.into_iter().map(|state| state.statistics).collect()
    }
}

/// Sets the next arrival of a workload, if it comes before the workload stops.
fn set(plane: &mut DataPlane, index: usize, workload: &Workload, at: u64) {
    let stop = workload.stop.map_or(NEVER, |stop| stop.picoseconds());
    plane.agenda.set_workload(index, if at < stop { at } else { NEVER });
}

impl Connections<'_> {
    /// Connections of a workload arrive.
    #[cold]
    pub(super) fn arrive(&mut self, now: u64, index: usize, plane: &mut DataPlane) {
        let workloads = &mut self.workloads;
        let workload = &workloads.network.workloads[index];
        let state = &mut workloads.all[index];
        let interval = workload.interval(&mut state.stream);
        set(plane, index, workload, interval.map_or(NEVER, |interval| now.saturating_add(interval)));
        let mut ends = std::mem::take(&mut workloads.ends);
        workload.draw(&mut state.stream, &mut ends);
        let (count, is_measured) = (ends.len() as u32, now >= workloads.warm_up);
        let statistics = &mut state.statistics;
        let (is_refused, is_round) = (count > workload.places - state.active, matches!(workload.pattern, Pattern::Incast { .. }));
        if is_measured {
            statistics.arrivals += u64::from(count);
            statistics.refused += if is_refused { u64::from(count) } else { 0 };
            let rounds = &mut statistics.rounds;
            rounds.arrivals += u64::from(is_round);
            rounds.refused += u64::from(is_round && is_refused);
            rounds.overlapping += u64::from(is_round && state.active_rounds > 0);
        }
        if !is_refused {
            let number = state.rounds;
            state.rounds += 1;
            state.active += count;
            state.active_rounds += 1;
            statistics.most_at_once = statistics.most_at_once.max(state.active);
            let round = Round { number, began: now, left: count };
            let place = match workloads.free_rounds.pop() {
                Some(place) => {
                    workloads.rounds[place as usize] = round;
                    place
                }
                None => {
                    workloads.rounds.push(round);
                    workloads.rounds.len() as u32 - 1
                }
            };
            for &ends in &ends {
                self.begin(now, (index, place), ends, plane);
            }
        }
        self.workloads.ends = ends;
    }

    /// Starts a connection between two hosts.
    fn begin(&mut self, now: u64, (index, round): (usize, u32), ends: (NodeId, NodeId), plane: &mut DataPlane) {
        let workloads = &mut self.workloads;
        let (network, Some(reach)) = (workloads.network, workloads.reach) else { return };
        let (workload, state) = (&network.workloads[index], &mut workloads.all[index]);
        let number = state.connections;
        state.connections += 1;
        let bytes = workload.sizes.draw(&mut state.stream);
        if now >= workloads.warm_up {
            state.statistics.bytes += bytes;
        }
        let header = workload.header_of(number, ends.0, ends.1);
        let path = reach.path(workload, &header, ends.0, ends.1);
        let back = reach.path(workload, &crate::route::reversed(&header), ends.1, ends.0);

        let flows = &mut plane.flows;
        let slot = flows.pool.take(&mut flows.reverse_path);
        plane.agenda.grow(flows.pool.slots());
        let (flow, connection) = (flows.pool.first_flow + slot as u32, flows.pool.first_connection + slot as u32);
        let mut region = workloads.present.get(slot).map_or_else(Region::default, |before| before.region);
        let [data, acknowledgements] = flows.routes.write(network, &mut region, (flow, connection), &header, (&path, &back));
        let links = |path: &[crate::id::LinkId]| path.iter().map(|link| &network.links[link.0]).collect::<Vec<_>>();
        let present = Present {
            region,
            stage: Stage::Sending,
            workload: index as u32,
            round,
            ends,
            bytes,
            began: now,
            ideal: completion_time(&workload.tcp, &links(&path), &links(&back), bytes),
            emitted_before: flows.pool.data(flow).emitted,
        };
        let stream = Stream::new(workloads.seed, workloads.replication, &format!("workload {} {number}", workload.name));
        let tcp = TcpFlow::of_workload(Connection::of_size(&workload.tcp, stream, now, bytes), flow as usize, data, acknowledgements);
        if slot == workloads.present.len() {
            workloads.present.push(present);
            self.all.push(tcp);
        } else {
            workloads.present[slot] = present;
            self.all[connection as usize] = tcp;
        }
        self.wake(now, flow as usize, plane);
    }
}
