//! The arrivals of workloads: draws connections, and starts each in a free slot. What happens to links gives connections other paths.

use super::connections::{Connections, ReceivingFlow, SendingFlow};
use super::data_plane::DataPlane;
use super::starts::Starts;
use super::workloads::{Present, Round, Stage, set};
use crate::id::NodeId;
use crate::random::Stream;
use crate::tcp::receiving_end::ReceivingEnd;
use crate::tcp::sending_end::SendingEnd;
use crate::time::NEVER;
use crate::trace::TracedConnection;
use crate::workload::Pattern;
use crate::workload::ideal::completion_time;

impl<'a> Connections<'a> {
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
        let network = workloads.network;
        let (workload, state) = (&network.workloads[index], &mut workloads.all[index]);
        let number = state.connections;
        state.connections += 1;
        let bytes = workload.sizes.draw(&mut state.stream);
        if now >= workloads.warm_up {
            state.statistics.bytes += bytes;
        }
        let flows = &mut plane.flows;
        let slot = flows.pool.take(&mut flows.reverse_path);
        plane.agenda.grow(flows.pool.slots());
        let (flow, connection) = (flows.pool.first_flow + slot as u32, flows.pool.first_connection + slot as u32);
        let mut regions = workloads.present.get_mut(slot).map_or_else(Vec::new, |before| std::mem::take(&mut before.regions));
        flows.routes.release(&mut regions);
        let present = Present {
            regions,
            stage: Stage::Sending,
            workload: index as u32,
            number,
            round,
            ends,
            bytes,
            began: now,
            ideal: 0,
            emitted_before: flows.pool.emitted(flow),
            answers_before: flows.reverse_path.meters[connection as usize].emitted.packets,
        };
        if let Some(tracing) = &mut flows.tracing {
            tracing.begin(slot, TracedConnection { workload: index, number, from: ends.0, to: ends.1 });
        }
        if slot == workloads.present.len() {
            workloads.present.push(present);
        } else {
            workloads.present[slot] = present;
        }
        let first = [false, true].map(|is_back| workloads.first(slot, is_back));
        workloads.present[slot].ideal = completion_time(&workload.tcp, network, &first, bytes);
        let name = workloads.connection_name(slot);
        let (hash, before) = (workloads.spread_hash(&name), workloads.packets_before(slot));
        let [first_ahead, first_back] = first;
        let ahead = workloads.starts(slot, (flow, connection), false, first_ahead, &mut flows.routes);
        let back = workloads.starts(slot, (flow, connection), true, first_back, &mut flows.routes);
        if now >= workloads.warm_up && (ahead.is_empty() || back.is_empty()) {
            workloads.all[index].statistics.without_path += 1;
        }
        let stream = Stream::new(workloads.seed, workloads.replication, &name);
        let (flow, connection) = (flow as usize, connection as usize);
        let sending = SendingEnd::of_size(&workload.tcp, stream, now, bytes);
        let sending = SendingFlow::of_workload(sending, flow, connection, Starts::new(&ahead, hash, before[0]));
        let receiving = ReceivingEnd::unmeasured(&workload.tcp);
        let receiving = ReceivingFlow::of_workload(receiving, flow, connection, Starts::new(&back, !hash, before[1]));
        self.put(connection, sending, receiving);
        self.wake(now, flow, plane);
    }

    /// Routes avoid these links from now on: connections that are there take the paths that are left, or return to their first ones.
    pub(super) fn avoid(&mut self, links: &'a [bool], plane: &mut DataPlane) {
        self.workloads.avoid(links);
        let flows = &mut plane.flows;
        for slot in (0..self.workloads.present.len()).filter(|&slot| !flows.pool.is_free(slot)) {
            let numbers = (flows.pool.first_flow + slot as u32, flows.pool.first_connection + slot as u32);
            let hash = self.workloads.spread_hash(&self.workloads.connection_name(slot));
            let before = self.workloads.packets_before(slot);
            for is_back in [false, true] {
                let first = self.workloads.first(slot, is_back);
                let starts = self.workloads.starts(slot, numbers, is_back, first, &mut flows.routes);
                let connection = numbers.1 as usize;
                self.set_starts(connection, is_back, &starts, (hash, before[usize::from(is_back)]));
            }
        }
    }

    /// Ports have changed: finds the queues on the paths of connections again.
    pub(super) fn renew_paths(&self, plane: &mut DataPlane) {
        let flows = &mut plane.flows;
        for (slot, present) in self.workloads.present.iter().enumerate().filter(|(slot, _)| !flows.pool.is_free(*slot)) {
            flows.routes.renew(&present.regions, &self.workloads.header(slot));
        }
    }
}
