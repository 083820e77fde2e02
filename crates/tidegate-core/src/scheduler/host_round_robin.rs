//! Host round robin: sparse round robin among flows whose quanta are divided by the number of flows that their hosts keep busy.
//!
//! **Law.** As [`SparseRoundRobin`](super::SparseRoundRobin), with the quantum of a flow divided by its load. By source, that is the number of
//! backlogged flows from its host which have used up a turn. By destination, it is the number of those to its host; by both, the larger number.
//! **Source.** T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE: a comprehensive queue management solution for home gateways", LANMAN 2018,
//! sections III.C and III.D.
//! **State.** 44 bytes per flow, and 12 per flow for loads and their reciprocals.
//! **Cost.** Constant per packet for loads up to 63; beyond that, one more visit of a flow per 63 of its load. Assigning a queue looks at up to 8 tags.
//! **RTL twin.** None.
//! **Deviations.** A flow with a debt of several quanta waits that number of rounds in a wheel, where the source visits it in each of them. Hosts
//! that hash alike share one load.

use super::active_list::{ActiveList, Links, linked};
use super::queue_options::HostFairness;
use super::{BuildError, Decision, FlowParameters, Kept, Scheduler, Scheduling, Setup, activate_in_order};
use crate::algorithm::Algorithm;
use crate::classifier::FlowKey;
use crate::packet::{Flow, Head};
use crate::prefetch::prefetch_in;
use crate::units::Time;
use alloc::vec::Vec;

/// Sparse round robin that shares among hosts, with queues that flows find by their keys.
///
/// ```
/// use tidegate_core::classifier::FlowKey;
/// use tidegate_core::packet::Flow;
/// use tidegate_core::scheduler::{FlowParameters, HostRoundRobin, Scheduler, Setup};
/// use tidegate_core::units::Rate;
///
/// let setup = Setup::new(Rate::new(10_000_000).unwrap(), 1514);
/// let mut scheduler: HostRoundRobin = setup.build(&[FlowParameters::default(); 16]).unwrap();
/// // A flow gets the queue that its hash says if that is free, and keeps it.
/// let key = FlowKey { flow: 7, source: 1, destination: 2 };
/// assert_eq!(scheduler.assign(Flow(3), key), Flow(3));
/// assert_eq!(scheduler.assign(Flow(3), key), Flow(3));
/// ```
#[derive(Clone, Debug)]
pub struct HostRoundRobin {
    flows: Vec<Turn>,
    keys: Vec<FlowKey>,
    /// Flows that have become backlogged and have not used up a turn since.
    new: ActiveList,
    /// The others, and flows that were emptied not long ago.
    old: RoundWheel,
    hosts: Hosts,
    /// The quantum of a flow whose load is 1, in bytes.
    quantum: u32,
    /// 2^32 / `quantum`.
    rounds_per_byte: u64,
}

/// Deficits count units of 2^-16 bytes.
const UNIT_SHIFT: u32 = 16;

/// The rounds that a flow can wait for, and one.
const ROUNDS: usize = 64;

/// The queues that a flow may be assigned.
const WAYS: u32 = 8;

/// Where a flow is if it is in the list of new flows.
const IS_NEW: u8 = u8::MAX;

/// A flow's deficit and place. It is in a list, or all of this is meaningless.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Turn {
    /// What it may still send; not above 0 once its turn is used up.
    deficit: i64,
    /// Wire length of its head.
    length: u32,
    links: Links,
    /// The list of the wheel that it is in, or [`IS_NEW`].
    round: u8,
    has_head: bool,
    /// True if it has sent nothing since it was listed.
    is_fresh: bool,
}

linked!(Turn);

impl Turn {
    const NONE: Turn = Turn { deficit: 0, length: 0, links: Links::NONE, round: IS_NEW, has_head: false, is_fresh: false };

    /// True if it counts for the load of its hosts.
    const fn is_bulk(&self) -> bool {
        self.has_head && self.round != IS_NEW
    }
}

/// Lists of flows by the round of their next turn.
#[derive(Clone, Debug)]
struct RoundWheel {
    lists: [ActiveList; ROUNDS],
    /// A bit per list that is not empty.
    occupied: u64,
    /// The list of this round.
    current: u32,
}

impl RoundWheel {
    const EMPTY: RoundWheel = RoundWheel { lists: [ActiveList::EMPTY; ROUNDS], occupied: 0, current: 0 };

    const fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// The next flow; the wheel turns to its round.
    #[inline]
    fn front(&mut self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        self.current = (self.current + self.occupied.rotate_right(self.current).trailing_zeros()) % ROUNDS as u32;
        self.lists[self.current as usize].front()
    }

    /// Adds a flow that is in no list, this number of rounds ahead.
    #[inline]
    fn join(&mut self, flows: &mut [Turn], flow: u32, ahead: u32) {
        let round = (self.current + ahead) % ROUNDS as u32;
        flows[flow as usize].round = round as u8;
        self.lists[round as usize].join(flows, flow);
        self.occupied |= 1 << round;
    }

    #[inline]
    fn leave(&mut self, flows: &mut [Turn], flow: u32) {
        let round = flows[flow as usize].round;
        let list = &mut self.lists[usize::from(round)];
        list.leave(flows, flow);
        if list.front().is_none() {
            self.occupied &= !(1 << round);
        }
    }
}

/// How many bulk flows hosts have, by hashes of addresses.
#[derive(Clone, Debug)]
struct Hosts {
    fairness: HostFairness,
    sources: Vec<u32>,
    destinations: Vec<u32>,
    /// By load, its reciprocal in units of 2^-16.
    reciprocals: Vec<u32>,
}

impl Hosts {
    fn new(fairness: HostFairness, flows: usize) -> Hosts {
        let reciprocals = (0..=flows as u32).map(|load| ((1u32 << UNIT_SHIFT) / load.max(1)).max(1)).collect();
        Hosts { fairness, sources: alloc::vec![0; flows.max(1)], destinations: alloc::vec![0; flows.max(1)], reciprocals }
    }

    #[inline]
    fn of(loads: &mut [u32], hash: u32) -> &mut u32 {
        let place = (u64::from(hash) * loads.len() as u64) >> 32;
        &mut loads[place as usize]
    }

    #[inline]
    fn enter(&mut self, key: FlowKey) {
        *Hosts::of(&mut self.sources, key.source) += 1;
        *Hosts::of(&mut self.destinations, key.destination) += 1;
    }

    #[inline]
    fn leave(&mut self, key: FlowKey) {
        *Hosts::of(&mut self.sources, key.source) -= 1;
        *Hosts::of(&mut self.destinations, key.destination) -= 1;
    }

    /// At least 1.
    #[inline]
    fn load(&mut self, key: FlowKey) -> u32 {
        if fault!(HostsShareByFlows) {
            return 1;
        }
        let (source, destination) = (*Hosts::of(&mut self.sources, key.source), *Hosts::of(&mut self.destinations, key.destination));
        let load = match self.fairness {
            HostFairness::Off => 1,
            HostFairness::Source => source,
            HostFairness::Destination => destination,
            HostFairness::Both => source.max(destination),
        };
        load.max(1)
    }
}

impl HostRoundRobin {
    /// What a flow of this load may send per round.
    #[inline]
    fn quantum(&self, load: u32) -> i64 {
        i64::from(self.quantum) * i64::from(self.hosts.reciprocals[load as usize])
    }

    /// The flow whose turn it is, after used-up turns and empty flows have been passed over.
    #[inline]
    fn settle(&mut self) -> Option<Flow> {
        loop {
            let (front, from_new) = match self.new.front() {
                Some(front) => (front, true),
                None => (self.old.front()?, false),
            };
            let Turn { deficit, has_head, .. } = self.flows[front as usize];
            if deficit > 0 && has_head {
                return Some(Flow(front));
            }
            if from_new {
                self.new.leave(&mut self.flows, front);
            } else {
                self.old.leave(&mut self.flows, front);
            }
            if deficit <= 0 {
                let key = self.keys[front as usize];
                if from_new && has_head {
                    self.hosts.enter(key);
                }
                let load = self.hosts.load(key);
                let rounds = self.rounds(deficit, load);
                self.old.join(&mut self.flows, front, rounds);
                self.flows[front as usize].deficit += self.quantum(load) * i64::from(rounds);
            } else if from_new && !self.old.is_empty() {
                // It passes through the old ones once, as in sparse round robin.
                self.old.join(&mut self.flows, front, 1);
            }
        }
    }

    /// The rounds after which a flow of this load has a deficit above 0, as far as the wheel reaches.
    #[inline]
    fn rounds(&self, deficit: i64, load: u32) -> u32 {
        let debt = (-deficit) as u64 >> UNIT_SHIFT;
        // A debt beyond 2^38 bytes is beyond the wheel, too.
        let rounds = ((debt * u64::from(load)).min(1 << 38) * self.rounds_per_byte) >> 32;
        1 + rounds.min(ROUNDS as u64 - 2) as u32
    }
}

impl Scheduler for HostRoundRobin {
    const WORK_CONSERVING: bool = true;

    #[inline]
    fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
        let turn = &mut self.flows[flow.index()];
        (turn.length, turn.has_head) = (head.length, true);
        let key = self.keys[flow.index()];
        if turn.links.is_in_ring() {
            if turn.is_bulk() {
                self.hosts.enter(key);
            }
            return;
        }
        (turn.round, turn.is_fresh) = (IS_NEW, true);
        let load = self.hosts.load(key);
        self.flows[flow.index()].deficit = self.quantum(load);
        self.new.join(&mut self.flows, flow.0);
    }

    #[inline]
    fn select(&mut self, _now: Time) -> Decision {
        match self.settle() {
            Some(flow) => Decision::Serve(flow),
            None => Decision::Idle,
        }
    }

    #[inline]
    fn served(&mut self, now: Time, flow: Flow, next: Option<Head>) {
        let turn = &mut self.flows[flow.index()];
        turn.deficit -= i64::from(turn.length) << UNIT_SHIFT;
        turn.is_fresh = false;
        self.lost(now, flow, next);
    }

    #[inline]
    fn lost(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
        let turn = &mut self.flows[flow.index()];
        if let Some(head) = next {
            turn.length = head.length;
            return;
        }
        let was_bulk = turn.is_bulk();
        turn.has_head = false;
        if was_bulk {
            self.hosts.leave(self.keys[flow.index()]);
        } else if turn.is_fresh && turn.round == IS_NEW {
            self.new.leave(&mut self.flows, flow.0);
        }
    }

    fn assign(&mut self, flow: Flow, key: FlowKey) -> Flow {
        let ways = if self.flows.len().is_multiple_of(WAYS as usize) { WAYS } else { 1 };
        let set = flow.0 & !(ways - 1);
        let place = |step: u32| (set + ((flow.0 + step) & (ways - 1))) as usize;
        let is_free = |flow: usize| !self.flows[flow].links.is_in_ring();
        if let Some(own) = (0..ways).map(place).find(|&flow| self.keys[flow] == key) {
            return Flow(own as u32);
        }
        let Some(free) = (0..ways).map(place).find(|&flow| is_free(flow)) else { return flow };
        self.keys[free] = key;
        Flow(free as u32)
    }

    /// A flow has no parameters.
    fn change(&mut self, _now: Time, _flow: Flow, _parameters: &FlowParameters) -> Result<(), BuildError> {
        Ok(())
    }

    fn forget(&mut self, _now: Time, flow: Flow) {
        let turn = self.flows[flow.index()];
        if turn.links.is_in_ring() {
            if turn.is_bulk() {
                self.hosts.leave(self.keys[flow.index()]);
            }
            if turn.round == IS_NEW {
                self.new.leave(&mut self.flows, flow.0);
            } else {
                self.old.leave(&mut self.flows, flow.0);
            }
        }
        (self.flows[flow.index()], self.keys[flow.index()]) = (Turn::NONE, FlowKey::default());
    }

    fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
        const NO_FLOW: u32 = u32::MAX;
        let mut places = alloc::vec![NO_FLOW; old.flows.len()];
        for flow in kept {
            places[flow.from.index()] = flow.to.0;
            self.keys[flow.to.index()] = old.keys[flow.from.index()];
        }
        let next_rounds = (0..ROUNDS as u32).map(|ahead| (ahead, old.old.lists[(old.old.current + ahead) as usize % ROUNDS]));
        for (ahead, list) in core::iter::once((0, old.new)).chain(next_rounds) {
            for flow in list.flows(&old.flows) {
                let place = places[flow as usize];
                if place == NO_FLOW {
                    continue;
                }
                let Turn { deficit, round, is_fresh, .. } = old.flows[flow as usize];
                let turn = &mut self.flows[place as usize];
                (turn.deficit, turn.is_fresh) = (deficit.min(i64::from(self.quantum) << UNIT_SHIFT), is_fresh);
                if round == IS_NEW {
                    turn.round = IS_NEW;
                    self.new.join(&mut self.flows, place);
                } else {
                    self.old.join(&mut self.flows, place, ahead);
                }
            }
        }
        activate_in_order(self, now, kept);
    }

    #[inline]
    fn prefetch(&self, flow: Flow) {
        prefetch_in(&self.flows, flow.index());
    }
}

impl Algorithm<Scheduling> for HostRoundRobin {
    const NAME: &'static str = "host-round-robin";
    const SUMMARY: &'static str = "sparse flows go first, and hosts share what their flows share within them";

    fn build((setup, flows): (&Setup, &[FlowParameters])) -> Result<HostRoundRobin, BuildError> {
        let quantum = setup.queue.quantum.map_or(setup.longest_packet.max(1), |quantum| quantum.bytes());
        let places = setup.places(flows);
        Ok(HostRoundRobin {
            flows: alloc::vec![Turn::NONE; places],
            keys: alloc::vec![FlowKey::default(); places],
            new: ActiveList::EMPTY,
            old: RoundWheel::EMPTY,
            hosts: Hosts::new(setup.queue.hosts, places),
            quantum,
            rounds_per_byte: (1 << 32) / u64::from(quantum),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::QueueOptions;
    use crate::scheduler::tests::{Backlog, Server};
    use crate::units::Rate;
    use alloc::vec::Vec;

    fn scheduler(flows: usize, hosts: HostFairness) -> HostRoundRobin {
        let setup = Setup { queue: QueueOptions { hosts, ..QueueOptions::default() }, ..Setup::new(Rate::MAX, 1514) };
        setup.build(&alloc::vec![FlowParameters::default(); flows]).unwrap()
    }

    /// What flows between these hosts send of 12,000 packets while all of them are backlogged.
    fn shares(fairness: HostFairness, hosts: &[(u32, u32)]) -> Vec<usize> {
        let mut scheduler = scheduler(16, fairness);
        let keys = hosts.iter().enumerate().map(|(flow, &(source, destination))| FlowKey {
            flow: flow as u32 + 1,
            source: source << 28,
            destination: destination << 28,
        });
        let queues: Vec<usize> = keys.enumerate().map(|(flow, key)| scheduler.assign(Flow(flow as u32), key).index()).collect();
        let mut server = Backlog::new(scheduler, 16);
        for _ in 0..12_000 {
            queues.iter().for_each(|&queue| server.arrive(queue, 1000));
        }
        let mut sent = alloc::vec![0; 16];
        (0..12_000).for_each(|_| sent[server.send().unwrap().0] += 1);
        queues.iter().map(|&queue| sent[queue]).collect()
    }

    fn assert_near(sent: &[usize], expected: &[usize]) {
        assert!(sent.iter().zip(expected).all(|(&sent, &expected)| sent.abs_diff(expected) < 12), "{sent:?}, expected {expected:?}");
    }

    #[test]
    fn hosts_share_and_flows_share_within_them() {
        let flows = [(1, 1), (1, 1), (1, 2), (2, 2)];
        assert_near(&shares(HostFairness::Off, &flows), &[3000; 4]);
        assert_near(&shares(HostFairness::Source, &flows), &[2000, 2000, 2000, 6000]);
        assert_near(&shares(HostFairness::Destination, &flows), &[3000; 4]);
        assert_near(&shares(HostFairness::Both, &flows), &[2667, 2667, 2667, 4000]);
    }

    #[test]
    fn flows_find_a_free_queue_of_their_set() {
        let mut scheduler = scheduler(16, HostFairness::Off);
        let hashes = [3, 19, 35, 3, 11, 0, 16, 32, 48, 64, 80, 3];
        let queues = hashes.map(|hash| {
            let key = FlowKey { flow: hash + 1, source: 0, destination: 0 };
            let queue = scheduler.assign(Flow(hash % 16), key);
            let head = Head { length: 100, number: 0, arrival: Time::ZERO, colour: crate::packet::Colour::Green };
            if !scheduler.flows[queue.index()].has_head {
                scheduler.activate(Time::ZERO, queue, head);
            }
            queue.0
        });
        assert_eq!(queues, [3, 4, 5, 3, 11, 0, 1, 2, 6, 7, 0, 3]);
    }
}
