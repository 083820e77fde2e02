//! The arrivals of workloads: draws connections, and starts each in a free slot.

use super::connections::{Connections, ReceivingFlow, SendingFlow};
use super::data_plane::DataPlane;
use super::workloads::{Present, Round, Stage, set};
use crate::id::{LinkId, NodeId};
use crate::random::Stream;
use crate::route::reversed;
use crate::route::slots::Region;
use crate::tcp::receiving_end::ReceivingEnd;
use crate::tcp::sending_end::SendingEnd;
use crate::time::NEVER;
use crate::workload::Pattern;
use crate::workload::ideal::completion_time;

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
        let back = reach.path(workload, &reversed(&header), ends.1, ends.0);

        let flows = &mut plane.flows;
        let slot = flows.pool.take(&mut flows.reverse_path);
        plane.agenda.grow(flows.pool.slots());
        let (flow, connection) = (flows.pool.first_flow + slot as u32, flows.pool.first_connection + slot as u32);
        let mut region = workloads.present.get(slot).map_or_else(Region::default, |before| before.region);
        let [data, acknowledgements] = flows.routes.write(network, &mut region, (flow, connection), &header, (&path, &back));
        let links = |path: &[LinkId]| path.iter().map(|link| &network.links[link.0]).collect::<Vec<_>>();
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
        let (flow, connection) = (flow as usize, connection as usize);
        let sending = SendingEnd::of_size(&workload.tcp, stream, now, bytes);
        let sending = SendingFlow::of_workload(sending, flow, connection, data);
        let receiving = ReceivingFlow::of_workload(ReceivingEnd::unmeasured(&workload.tcp), flow, connection, acknowledgements);
        if slot == workloads.present.len() {
            workloads.present.push(present);
        } else {
            workloads.present[slot] = present;
        }
        self.put(connection, sending, receiving);
        self.wake(now, flow, plane);
    }
}
