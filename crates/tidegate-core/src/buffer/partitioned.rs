//! A buffer in partitions: each has a manager, a size and flows of its own.
//!
//! **Law.** A partition treats its packets as it would in a buffer of its own: no packet of another partition changes what becomes of them. The port
//! needs room for the sum of the partitions' packets.
//! **Source.** Complete partitioning: F. Kamoun and L. Kleinrock, "Analysis of shared finite storage in a computer network node environment under
//! general traffic conditions", IEEE Transactions on Communications 28(7), 1980.
//! **State.** 8 bytes per flow of the port, 4 per place in a partition, and the managers.
//! **Cost.** Per packet and decision one table of 8 bytes per flow, and one of 4 for other flows that a manager asks about.
//! **RTL twin.** None yet.
//! **Deviations.** None. Partitions do not contain partitions.

use super::{Admission, Arrival, BufferError, BufferField, BufferManager, Change, FlowShare, Victim};
use crate::packet::{DropReason, Flow};
use crate::queue::{Backlog, Marked, Numbering, Occupancy, Subset};
use crate::scheduler::Kept;
use alloc::vec::Vec;

/// Partitions with managers of type `M`. Each manager knows the flows of its partition by numbers of their own, from 0.
///
/// ```
/// use tidegate_core::buffer::BufferParameters;
/// use tidegate_core::registry::{AnyBufferManager, BufferKind, PartitionSpec};
///
/// let spec = |kind, flows| PartitionSpec {
///     kind,
///     parameters: BufferParameters { flows, packets: Some(100), ..BufferParameters::default() },
/// };
/// let specs = [spec(BufferKind::TailDrop, 1), spec(BufferKind::DynamicThreshold, 2)];
/// // The first and the third flow of the port share the second partition.
/// assert!(AnyBufferManager::partitioned(&specs, &[Some(1), Some(0), Some(1)]).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Partitioned<M> {
    /// By the port's flows.
    places: Vec<Place>,
    partitions: Vec<Partition<M>>,
}

/// Where a flow of the port is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    /// Its partition; [`VACANT`] if it has none.
    partition: u32,
    /// Its number there.
    local: u32,
}

/// The partition of a flow that has no place, and the flow in a vacant place.
const VACANT: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Partition<M> {
    manager: M,
    packets: u32,
    bytes: u64,
    /// The port's number of each of its flows.
    flows: Vec<Flow>,
    /// Places without a flow.
    vacant: Vec<u32>,
}

/// The port's numbers of the flows of a partition.
struct Numbers<'a> {
    flows: &'a [Flow],
    /// A flow that is asked about often: its numbers in the partition and at the port.
    near: (Flow, Flow),
}

impl Numbering for Numbers<'_> {
    #[inline]
    fn of(&self, flow: Flow) -> Flow {
        if flow == self.near.0 { self.near.1 } else { self.flows[flow.index()] }
    }
}

impl<M> Partition<M> {
    /// Its manager, and what that reads; `near` is a flow of it, by both numbers.
    #[inline]
    fn split<'a>(&'a mut self, near: (Flow, Flow), port: &'a Occupancy) -> (&'a mut M, Subset<'a, Numbers<'a>>) {
        (&mut self.manager, Subset { packets: self.packets, bytes: self.bytes, numbering: Numbers { flows: &self.flows, near }, port })
    }
}

impl<M: BufferManager> Partitioned<M> {
    /// Partitions with these managers, each for a number of places. `partition_of` has the partition of each flow of the port, `None` for a vacant
    /// place. The flows of a partition are numbered in the order of the port. No manager is itself in partitions.
    ///
    /// # Errors
    /// A flow in a partition that does not exist, or in one that has no place for it.
    pub fn new(managers: Vec<(M, usize)>, partition_of: &[Option<u32>]) -> Result<Partitioned<M>, BufferError> {
        let none = Place { partition: VACANT, local: 0 };
        let mut buffer = Partitioned { places: alloc::vec![none; partition_of.len()], partitions: Vec::new() };
        for (manager, places) in managers {
            // The lowest place is taken first.
            let vacant = (0..places as u32).rev().collect();
            buffer.partitions.push(Partition { manager, packets: 0, bytes: 0, flows: alloc::vec![Flow(VACANT); places], vacant });
        }
        for (flow, partition) in (0..).map(Flow).zip(partition_of) {
            if let Some(partition) = *partition {
                buffer.seat(flow, partition)?;
            }
        }
        Ok(buffer)
    }

    /// Gives a flow without a place one.
    fn seat(&mut self, flow: Flow, partition: u32) -> Result<Place, BufferError> {
        let Some(chosen) = self.partitions.get_mut(partition as usize) else {
            return Err(BufferField::Partition.wrong("there is no such partition"));
        };
        let Some(local) = chosen.vacant.pop() else {
            return Err(BufferField::Partition.wrong("all places of the partition are taken"));
        };
        chosen.flows[local as usize] = flow;
        let place = Place { partition, local };
        self.places[flow.index()] = place;
        Ok(place)
    }

    fn unseat(&mut self, flow: Flow) {
        let place = core::mem::replace(&mut self.places[flow.index()], Place { partition: VACANT, local: 0 });
        if let Some(partition) = self.partitions.get_mut(place.partition as usize) {
            partition.flows[place.local as usize] = Flow(VACANT);
            partition.vacant.push(place.local);
            partition.manager.forget(Flow(place.local));
        }
    }
}

impl<M: BufferManager> BufferManager for Partitioned<M> {
    fn needs_marked_lists(&self) -> bool {
        self.partitions.iter().any(|partition| partition.manager.needs_marked_lists())
    }

    fn pushes_out(&self) -> bool {
        self.partitions.iter().any(|partition| partition.manager.pushes_out())
    }

    #[inline]
    fn admit<O: Backlog>(&mut self, arrival: &Arrival, backlog: &O) -> Admission {
        let Place { partition, local } = self.places[arrival.flow.index()];
        let Some(partition) = self.partitions.get_mut(partition as usize) else { return Admission::Refuse(DropReason::Removed) };
        let (manager, view) = partition.split((Flow(local), arrival.flow), backlog.port());
        match manager.admit(&Arrival { flow: Flow(local), ..*arrival }, &view) {
            Admission::PushOut(victim) => Admission::PushOut(match victim {
                Victim::Head(flow) => Victim::Head(view.numbering.of(flow)),
                Victim::Tail(flow) => Victim::Tail(view.numbering.of(flow)),
                Victim::Marked(flow) => Victim::Marked(view.numbering.of(flow)),
            }),
            other => other,
        }
    }

    #[inline]
    fn changed<O: Backlog>(&mut self, change: Change, backlog: &O) {
        let Place { partition, local } = self.places[change.flow.index()];
        let partition = &mut self.partitions[partition as usize];
        if change.has_joined {
            partition.packets += 1;
            partition.bytes += u64::from(change.length);
        } else {
            partition.packets -= 1;
            partition.bytes -= u64::from(change.length);
        }
        let (manager, view) = partition.split((Flow(local), change.flow), backlog.port());
        manager.changed(Change { flow: Flow(local), ..change }, &view);
    }

    fn change<O: Backlog>(&mut self, flow: Flow, share: &FlowShare, backlog: &O) -> Result<(), BufferError> {
        let before = self.places[flow.index()];
        let mut place = before;
        if before.partition != share.partition {
            if backlog.flow_packets(flow) > 0 {
                return Err(BufferField::Partition.wrong("cannot change while packets of the flow are queued"));
            }
            place = self.seat(flow, share.partition)?;
        }
        let (manager, view) = self.partitions[place.partition as usize].split((Flow(place.local), flow), backlog.port());
        let changed = manager.change(Flow(place.local), share, &view);
        if before != place {
            // One of the two places is free again.
            if changed.is_ok() {
                self.places[flow.index()] = before;
            }
            self.unseat(flow);
            self.places[flow.index()] = if changed.is_ok() { place } else { before };
        }
        changed
    }

    fn partition_of(&self, flow: Flow) -> u32 {
        self.places[flow.index()].partition
    }

    fn forget(&mut self, flow: Flow) {
        self.unseat(flow);
    }

    fn restore<O: Backlog>(&mut self, flow: Flow, marked: Marked, backlog: &O) {
        let Place { partition, local } = self.places[flow.index()];
        let Some(partition) = self.partitions.get_mut(partition as usize) else { return };
        partition.packets += backlog.flow_packets(flow);
        partition.bytes += u64::from(backlog.flow_bytes(flow));
        let (manager, view) = partition.split((Flow(local), flow), backlog.port());
        manager.restore(Flow(local), marked, &view);
    }

    /// A partition continues the one that its first kept flow was in.
    fn adopt(&mut self, old: &Partitioned<M>, kept: &[Kept]) {
        for number in 0..self.partitions.len() as u32 {
            let mut from = None;
            let mut stay: Vec<Kept> = Vec::new();
            for &Kept { from: before, to, head } in kept {
                let (before, to) = (old.places[before.index()], self.places[to.index()]);
                if to.partition == number && before.partition != VACANT && *from.get_or_insert(before.partition) == before.partition {
                    stay.push(Kept { from: Flow(before.local), to: Flow(to.local), head });
                }
            }
            if let Some(from) = from {
                self.partitions[number as usize].manager.adopt(&old.partitions[from as usize].manager, &stay);
            }
        }
    }
}
