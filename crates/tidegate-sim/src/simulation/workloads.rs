//! The connections of workloads while they are there: which slot has which, and what is measured of them.
//!
//! The number of slots grows to the most that are needed at once. A slot is used again when nothing of its last connection is under way.

use super::data_plane::DataPlane;
use crate::experiment::Experiment;
use crate::id::{LinkId, NodeId};
use crate::network::Network;
use crate::random::{Stream, spread_hash};
use crate::route::slots::{Paths, Region};
use crate::route::{BACK, Variant, reversed};
use crate::statistics::WorkloadStatistics;
use crate::tcp::receiving_end::ReceivingEnd;
use crate::tcp::sending_end::SendingEnd;
use crate::time::NEVER;
use crate::workload::detours::Detours;
use crate::workload::reach::Reach;
use crate::workload::{Completion, CompletionSink, Pattern, Rhythm, Workload};
use tidegate_core::classifier::Header;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Time};

pub(super) struct Workloads<'a> {
    pub network: &'a Network,
    /// The paths of connections; `None` without workloads.
    pub detours: Option<Detours<'a>>,
    sink: Option<&'a dyn CompletionSink>,
    pub seed: u64,
    pub replication: u32,
    pub warm_up: u64,
    pub all: Vec<State>,
    /// By slot, the connection that has or had it.
    pub present: Vec<Present>,
    pub rounds: Vec<Round>,
    pub free_rounds: Vec<u32>,
    /// Reused by every arrival.
    pub ends: Vec<(NodeId, NodeId)>,
}

/// One workload.
pub(super) struct State {
    pub stream: Stream,
    /// Connections and rounds so far.
    pub connections: u64,
    pub rounds: u64,
    /// The connections and the rounds that are not complete.
    pub active: u32,
    pub active_rounds: u32,
    pub statistics: WorkloadStatistics,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Data is on its way.
    Sending,
    /// The receiver has everything.
    Delivered,
    /// The sender knows, and no end sends any more by itself. The slot is free when nothing is under way.
    Closed,
}

/// The connection of a slot.
pub(super) struct Present {
    /// Where its paths are.
    pub regions: Vec<Region>,
    pub stage: Stage,
    pub workload: u32,
    /// Its number among those of the workload.
    pub number: u64,
    /// The place of its round in `rounds`.
    pub round: u32,
    pub ends: (NodeId, NodeId),
    pub bytes: u64,
    pub began: u64,
    pub ideal: u64,
    /// What the slot had emitted before, and the packets that had come back to it.
    pub emitted_before: Volume,
    pub answers_before: u64,
}

/// A round that is not complete.
#[derive(Clone, Copy)]
pub(super) struct Round {
    pub number: u64,
    pub began: u64,
    pub left: u32,
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
            detours: reach.map(Detours::new),
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
            set(plane, index, workload, workload.start.picoseconds().saturating_add(wait.unwrap_or(0)));
        }
    }

    /// True if the connection of a slot is closed.
    pub(super) fn is_closed(&self, slot: usize) -> bool {
        self.present[slot].stage == Stage::Closed
    }

    /// What the connection of a slot has sent, to be compared with what its slot has emitted in all.
    pub(super) fn sent(&self, slot: usize, end: &SendingEnd) -> Volume {
        self.present[slot].emitted_before + end.sent()
    }

    /// The paths of the connection of a slot while no link fails, of its data or of what comes back.
    pub(super) fn first(&self, slot: usize, is_back: bool) -> Vec<Vec<LinkId>> {
        let Some(detours) = &self.detours else { return Vec::new() };
        let (workload, header, ends) = self.packets(slot, is_back);
        detours.first(workload, &header, ends)
    }

    /// Where packets of the connection of a slot start at present, whose first paths are these. Empty if no path is left.
    pub(super) fn starts(
        &mut self,
        slot: usize,
        (flow, connection): (u32, u32),
        is_back: bool,
        first: Vec<Vec<LinkId>>,
        paths: &mut Paths,
    ) -> Vec<Variant> {
        let (workload, header, ends) = self.packets(slot, is_back);
        let (present, Some(detours)) = (&mut self.present[slot], &mut self.detours) else { return Vec::new() };
        let links = detours.present(workload, &header, ends, first);
        let flow = if is_back { connection | BACK } else { flow };
        paths.starts(&mut present.regions, (flow, connection), &header, &links)
    }

    /// The header of the data of the connection of a slot.
    pub(super) fn header(&self, slot: usize) -> Header {
        self.packets(slot, false).1
    }

    /// The workload of the connection of a slot, and header and ends of its data, or of what comes back.
    fn packets(&self, slot: usize, is_back: bool) -> (&'a Workload, Header, (NodeId, NodeId)) {
        let Present { workload, number, ends: (from, to), .. } = self.present[slot];
        let workload = &self.network.workloads[workload as usize];
        let header = workload.header_of(number, from, to);
        if is_back { (workload, reversed(&header), (to, from)) } else { (workload, header, (from, to)) }
    }

    /// Routes avoid these links from now on.
    pub(super) fn avoid(&mut self, links: &'a [bool]) {
        if let Some(detours) = &mut self.detours {
            detours.avoid(links);
        }
    }

    /// The name of the connection of a slot, after which its random streams are named.
    pub(super) fn connection_name(&self, slot: usize) -> String {
        format!("workload {} {}", self.name_of(slot), self.present[slot].number)
    }

    /// By what packets of the connection of this name choose among several paths.
    pub(super) fn spread_hash(&self, name: &str) -> u64 {
        spread_hash(self.seed, self.replication, name)
    }

    /// The packets of a slot before its connection: of data, and of what comes back.
    pub(super) fn packets_before(&self, slot: usize) -> [u64; 2] {
        let Present { emitted_before, answers_before, .. } = &self.present[slot];
        [emitted_before.packets, *answers_before]
    }

    /// The name of the workload whose connection a slot has.
    pub(super) fn name_of(&self, slot: usize) -> &str {
        &self.network.workloads[self.present[slot].workload as usize].name
    }

    /// Something has happened at the ends of a connection: it may be complete, or closed.
    pub(super) fn follow(
        &mut self,
        now: u64,
        (slot, flow): (usize, usize),
        (end, receiving): (&SendingEnd, &ReceivingEnd),
        plane: &mut DataPlane,
    ) {
        let next = receiving.next();
        let present = &mut self.present[slot];
        if present.stage == Stage::Sending && end.is_delivered(next) {
            present.stage = Stage::Delivered;
            self.complete(now, slot, plane);
        }
        let present = &mut self.present[slot];
        if present.stage == Stage::Delivered && end.is_closed(next) && !receiving.owes_acknowledgement() {
            present.stage = Stage::Closed;
            plane.agenda.set_source(flow, NEVER);
            let flows = &mut plane.flows;
            flows.pool.close(slot, &flows.reverse_path);
        }
    }

    /// The receiver has the last byte.
    fn complete(&mut self, now: u64, slot: usize, plane: &mut DataPlane) {
        let Present { workload: index, number, round: place, ends: (from, to), bytes, began, ideal, .. } = self.present[slot];
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
                number,
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
pub(super) fn set(plane: &mut DataPlane, index: usize, workload: &Workload, at: u64) {
    let stop = workload.stop.map_or(NEVER, |stop| stop.picoseconds());
    plane.agenda.set_workload(index, if at < stop { at } else { NEVER });
}
