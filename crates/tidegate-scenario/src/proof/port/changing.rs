//! The queues of a port whose policy changes while it runs: what they are guaranteed under every policy, and across the changes.
//!
//! **Law.** A set of classes *goes first* if under each policy no packet from outside starts while one of the set waits. While the set is backlogged, the
//! link sends its packets at the lowest rate or faster, after one of others that was in transmission. No change costs time: the transmission goes
//! on at its rate, and no link is idle under schedulers that hold nothing.
//! * A class *stays* if each policy gives it the same packets: it keeps its order. It has what the rest of the smallest set with it leaves.
//! * Packets of other classes may move behind later ones. They have left when nothing of the set waits: `(sum b + L) / (C - sum r)` after they came.
//!
//! Classes among which schedulers divide a rate in shares are one set: what they know of a class across a change is not bounded here.

use super::members::Members;
use super::{PortQueue, Traffic};
use crate::policy::Policy;
use crate::proof::transitions::Transitions;
use tidegate_bounds::aggregate::Aggregate;
use tidegate_bounds::curve::Service;
use tidegate_bounds::network::{Server, Serving};
use tidegate_bounds::quantity::{NoBound, bits, up};
use tidegate_bounds::service::Row;
use tidegate_core::registry::SchedulerKind;

/// One policy: how early the link serves each class.
struct State {
    /// The rank of each class: none of a higher number goes first.
    ranks: Vec<u32>,
    /// The least rank of a class or group that may hold packets back.
    held: Option<u32>,
}

/// Classes that go first: those that stay, one by one, and all others together.
#[derive(Clone, PartialEq, Eq)]
struct Set {
    stays: Vec<bool>,
    others: bool,
}

/// What each queue of each class of the first policy is guaranteed.
pub(in crate::proof) fn changing(transitions: &Transitions<'_>, traffic: &Traffic<'_>) -> Vec<Vec<PortQueue>> {
    let Transitions { states, stay, .. } = transitions;
    let longest = states.iter().map(|policy| 8 * u64::from(policy.overhead.wire_length(policy.longest_frame))).max().unwrap_or(0);
    let known = states.iter().map(|policy| State::of(policy, traffic)).collect();
    let port = Port { classes: states[0].classes.len(), stay: *stay, traffic, states: known, longest };
    let keeps_order = |class: usize| class < *stay && states.iter().all(|policy| policy.classes[class].queues == 1);
    let of_class = |class: usize| vec![port.queue(class, keeps_order(class)); states[0].classes[class].queues as usize];
    (0..port.classes).map(of_class).collect()
}

/// A port and its policies.
struct Port<'a> {
    /// The number of classes of the first policy.
    classes: usize,
    /// The number of classes that stay.
    stay: usize,
    traffic: &'a Traffic<'a>,
    states: Vec<State>,
    /// The longest packet, in bits.
    longest: u64,
}

impl State {
    fn of(policy: &Policy, traffic: &Traffic<'_>) -> State {
        let members = Members::of(&policy.parts, traffic);
        let root = members.node(0).scheduler;
        let mut state = State { ranks: vec![0; policy.classes.len()], held: None };
        if root == SchedulerKind::RateControlled || members.waits(0) {
            state.held = Some(0);
        }
        for &member in &members.below[0] {
            let rank = if root == SchedulerKind::StrictPriority { members.parameters(member).priority.unwrap_or(0) } else { 0 };
            members.leaves_below(member).into_iter().for_each(|leaf| state.ranks[policy.parts.class(leaf)] = rank);
            if members.is_held(member) {
                state.held = Some(state.held.map_or(rank, |least| least.min(rank)));
            }
        }
        state
    }
}

impl Port<'_> {
    fn has(&self, set: &Set, class: usize) -> bool {
        set.stays.get(class).copied().unwrap_or(set.others)
    }

    fn add(&self, set: &mut Set, class: usize) {
        *set.stays.get_mut(class).unwrap_or(&mut set.others) = true;
    }

    /// The smallest set with a class that goes first under every policy.
    fn first(&self, class: usize) -> Result<Set, NoBound> {
        let mut set = Set { stays: vec![false; self.stay], others: false };
        self.add(&mut set, class);
        loop {
            let before = set.clone();
            for State { ranks, held } in &self.states {
                let Some(last) = (0..ranks.len()).filter(|&class| self.has(&set, class)).map(|class| ranks[class]).max() else { continue };
                if held.is_some_and(|held| held <= last) {
                    return Err(NoBound::Because("its policy changes while it runs, and holds packets back while the link is idle"));
                }
                (0..ranks.len()).filter(|&class| ranks[class] <= last).for_each(|class| self.add(&mut set, class));
            }
            if set == before {
                return Ok(set);
            }
        }
    }

    /// What the queue of a class is guaranteed.
    fn queue(&self, class: usize, keeps_order: bool) -> PortQueue {
        let Traffic { rate, arrival, number, .. } = self.traffic;
        let none = |reason: NoBound| Row { guaranteed: Err(reason.clone()), strict: Err(reason), delay: None };
        let set = match self.first(class) {
            Ok(set) => set,
            Err(reason) => return PortQueue { row: none(reason.clone()), server: Err(reason), left: Vec::new() },
        };
        let is_all = |state: &State| (0..state.ranks.len()).all(|class| self.has(&set, class));
        let lower = if self.states.iter().all(is_all) { 0 } else { self.longest };
        let port = Service::link(*rate);
        let others: Vec<usize> = (0..self.classes).filter(|&other| other != class && self.has(&set, other)).collect();
        let numbers = |classes: &mut dyn Iterator<Item = usize>| classes.filter_map(|class| number(class, 0)).collect();
        let server = |serving, is_strict| {
            Ok(Server { serving, is_strict, line: None, longest: self.longest, packetiser: up(bits(self.longest), (*rate).into()) })
        };
        if !keeps_order {
            let servers = numbers(&mut others.into_iter().chain([class]));
            let row = none(NoBound::Because("a change of the policy may move its packets behind later ones"));
            return PortQueue { row, server: server(Serving::AnyOrder { port, servers, lower }, false), left: Vec::new() };
        }
        // The others are strictly before it only if no policy puts one of them behind.
        let is_before = |State { ranks, .. }: &State| {
            (0..ranks.len()).all(|other| other == class || !self.has(&set, other) || ranks[other] < ranks[class])
        };
        let is_strict = self.states.iter().all(is_before);
        let beside = || {
            let mut sum = Aggregate::default();
            for &other in &others {
                sum.add(&arrival(other, 0)?)?;
            }
            port.beside(sum.as_arrival()?.buckets(), bits(lower))
        };
        let guaranteed = beside();
        let unsteady = NoBound::Because("a change of the policy may put others before it that have waited for long");
        let strict = if is_strict { guaranteed.clone() } else { Err(unsteady) };
        let higher = numbers(&mut others.iter().copied());
        let server = server(Serving::Below { port, higher, lower }, is_strict);
        PortQueue { row: Row { guaranteed, strict, delay: None }, server, left: Vec::new() }
    }
}
