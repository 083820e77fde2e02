//! The turns of deficit and weighted round robin among the flows of one ring, in a table that may hold the flows of other rings, too.
//!
//! Each flow has a deficit, a weight and the length of its head. The ring holds what one byte costs and what a turn grants. Where packets are counted
//! in place of bytes, each costs one, and a turn grants the weight.

use super::active_list::{InRounds, PrefetchPredictor, Rounds};
use super::moves::Moves;
use crate::packet::Flow;
use crate::units::MAX_BYTES;

/// The state that deficit round robin keeps of a flow.
pub(super) trait InTurns: InRounds {
    /// The rest of the turn under way, or what the next turn grants, in the unit of the ring.
    fn deficit_mut(&mut self) -> &mut u64;
    /// The share of the flow.
    fn weight(&self) -> u32;
    /// The wire length of its head in bytes.
    fn length_mut(&mut self) -> &mut u32;
}

/// Implements [`InTurns`] and what it builds on for a type with fields `links`, `round`, `deficit`, `weight` and `length`.
macro_rules! in_turns {
    ($type:ty) => {
        $crate::scheduler::active_list::in_rounds!($type);

        impl $crate::scheduler::deficit_turns::InTurns for $type {
            #[inline]
            fn deficit_mut(&mut self) -> &mut u64 {
                &mut self.deficit
            }

            #[inline]
            fn weight(&self) -> u32 {
                self.weight
            }

            #[inline]
            fn length_mut(&mut self) -> &mut u32 {
                &mut self.length
            }
        }
    };
}
pub(super) use in_turns;

/// The calls of a scheduler that has nothing but the `turns` of its `flows`.
macro_rules! flows_take_turns {
    () => {
        #[inline]
        fn activate(&mut self, _now: Time, flow: Flow, head: Head) {
            self.turns.activate(&mut self.flows, flow.0, head.length);
        }

        #[inline]
        fn select(&mut self, _now: Time) -> Decision {
            match self.turns.settle(&mut self.flows) {
                Some(flow) => Decision::Serve(Flow(flow)),
                None => Decision::Idle,
            }
        }

        #[inline]
        fn served(&mut self, _now: Time, flow: Flow, next: Option<Head>) {
            self.turns.served(&mut self.flows, flow.0, next.map(|head| head.length));
        }
    };
}
pub(super) use flows_take_turns;

/// Those of a scheduler whose flows keep their turns while they are suspended.
macro_rules! flows_keep_turns {
    () => {
        fn served_and_suspended(&mut self, now: Time, flow: Flow, next: Head) {
            self.served(now, flow, Some(next));
            self.suspend(now, flow);
        }

        fn suspend(&mut self, _now: Time, flow: Flow) {
            self.turns.suspend(&mut self.flows, flow.0);
        }

        fn resume(&mut self, _now: Time, flow: Flow, head: Head) {
            self.turns.resume(&mut self.flows, flow.0, head.length);
        }

        fn adopt(&mut self, now: Time, old: &mut Self, kept: &[Kept]) {
            let unit = self.turns.unit_after(&old.turns);
            for kept in kept {
                let turn = &mut self.flows[kept.to.index()];
                let Turn { deficit, round, length, .. } = old.flows[kept.from.index()];
                (turn.deficit, turn.round, turn.length) = (unit.converted(deficit), round, length);
            }
            let mut moves = Moves::new(old.flows.len(), kept);
            self.turns.adopt(&mut self.flows, &mut old.turns, &mut old.flows, &mut moves);
            moves.activate_others(self, now, kept);
        }

        #[inline]
        fn prefetch_hint(&mut self) -> Option<Flow> {
            Some(self.turns.prefetch_hint())
        }

        #[inline]
        fn prefetch(&self, flow: Flow) {
            prefetch_in(&self.flows, flow.index());
        }
    };
}
pub(super) use flows_keep_turns;

/// From this grant on, rounding it up makes no quantum longer by more than a thousandth.
const FINE_GRANT: u128 = 1024;

/// One ring.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct DeficitTurns {
    /// What one byte costs, in the unit of deficits; 0 where a packet costs one, however long it is.
    cost: u32,
    /// What a turn grants per unit of weight, in the same unit.
    grant: u32,
    active: Rounds,
    predictor: PrefetchPredictor,
}

/// How deficits change when the cost of a byte does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    from: u32,
    to: u32,
}

impl Unit {
    /// A deficit in the new unit, rounded down.
    #[inline]
    pub(super) fn converted(self, deficit: u64) -> u64 {
        if self.from == self.to {
            return deficit;
        }
        // Below three quanta, unless parameters differ by more than 62 bits can hold.
        (u128::from(deficit) * u128::from(self.to) / u128::from(self.from)).min(1 << 62) as u64
    }
}

impl DeficitTurns {
    /// An empty ring in which a turn grants `quantum` per unit of weight, and a byte costs `cost`.
    pub(super) const fn new(quantum: u32, cost: u32) -> DeficitTurns {
        DeficitTurns { cost, grant: quantum, active: Rounds::EMPTY, predictor: PrefetchPredictor::NEW }
    }

    /// An empty ring in which a turn grants as many packets as the weight.
    pub(super) const BY_PACKETS: DeficitTurns = DeficitTurns::new(1, 0);

    /// True if both count bytes, or both packets.
    pub(super) const fn counts_as(&self, other: &DeficitTurns) -> bool {
        (self.cost == 0) == (other.cost == 0)
    }

    /// From the next quantum on `least` is the least weight, whose quantum is `quantum` bytes. Returns another unit if deficits have to be converted
    /// to it.
    pub(super) fn scale(&mut self, quantum: u32, least: u32) -> Option<Unit> {
        if self.cost == 0 {
            return None;
        }
        let product = u128::from(quantum) * u128::from(self.cost);
        let grant = product.div_ceil(least.into());
        let is_coarse = self.cost < least && grant < FINE_GRANT && !product.is_multiple_of(least.into());
        if !is_coarse && grant <= u128::from(MAX_BYTES) {
            self.grant = grant as u32;
            return None;
        }
        // In another unit, so that quanta are fine enough and do not overflow: that of a scheduler built anew.
        self.active.forget_comeback();
        let unit = Unit { from: self.cost, to: least };
        (self.cost, self.grant) = (least, quantum);
        Some(unit)
    }

    /// How deficits of `old` become deficits here.
    pub(super) const fn unit_after(&self, old: &DeficitTurns) -> Unit {
        Unit { from: old.cost, to: self.cost }
    }

    /// The flow whose turn it is, or was when the ring was settled last.
    #[inline]
    pub(super) fn front(&self) -> Option<u32> {
        self.active.front()
    }

    #[inline]
    fn quantum<T: InTurns>(&self, turn: &T) -> u64 {
        u64::from(turn.weight()) * u64::from(self.grant)
    }

    /// The quantum of a flow in bytes, rounded down.
    #[cfg(test)]
    pub(super) fn quantum_in_bytes<T: InTurns>(&self, turn: &T) -> u64 {
        self.quantum(turn) / u64::from(self.cost)
    }

    #[inline]
    fn cost(&self, length: u32) -> u64 {
        u64::from(length) * u64::from(self.cost) + u64::from(self.cost == 0)
    }

    /// A flow joins the ring with a fresh quantum.
    #[inline]
    pub(super) fn activate<T: InTurns>(&mut self, flows: &mut [T], flow: u32, length: u32) {
        let turn = &mut flows[flow as usize];
        let quantum = self.quantum(turn);
        let kept = if fault!(DrrKeepsDeficits) { *turn.deficit_mut() } else { 0 };
        *turn.deficit_mut() = kept + quantum;
        *turn.length_mut() = length;
        self.active.join(flows, flow);
    }

    /// The flow whose turn it is, after turns have passed on until one suffices for the head of its flow.
    #[inline]
    pub(super) fn settle<T: InTurns>(&mut self, flows: &mut [T]) -> Option<u32> {
        loop {
            let front = self.active.front()?;
            let turn = &mut flows[front as usize];
            if *turn.deficit_mut() >= self.cost(*turn.length_mut()) {
                return Some(front);
            }
            // Its turn is over: the next one is granted.
            let quantum = self.quantum(turn);
            *turn.deficit_mut() += quantum;
            self.predictor.turn_of(flows, front);
            self.active.pass(flows);
        }
    }

    /// The head of the front flow has been sent.
    #[inline]
    pub(super) fn served<T: InTurns>(&mut self, flows: &mut [T], flow: u32, next: Option<u32>) {
        debug_assert_eq!(self.active.front(), Some(flow), "only the selected flow is served");
        let Some(length) = next else { return self.leave(flows, flow) };
        let turn = &mut flows[flow as usize];
        *turn.deficit_mut() -= self.cost(*turn.length_mut());
        *turn.length_mut() = length;
    }

    /// A flow that has nothing left to send leaves the ring.
    #[inline]
    pub(super) fn leave<T: InTurns>(&mut self, flows: &mut [T], flow: u32) {
        if self.active.front() == Some(flow) {
            self.predictor.turn_of(flows, flow);
        }
        self.active.leave(flows, flow);
    }

    /// A flow leaves the ring with the rest of its turn.
    pub(super) fn suspend<T: InTurns>(&mut self, flows: &mut [T], flow: u32) {
        let left = *flows[flow as usize].deficit_mut();
        let kept = self.active.suspend(flows, flow, left);
        *flows[flow as usize].deficit_mut() = kept;
    }

    /// A suspended flow comes back to its turn.
    pub(super) fn resume<T: InTurns>(&mut self, flows: &mut [T], flow: u32, length: u32) {
        let turn = &mut flows[flow as usize];
        let quantum = self.quantum(turn);
        let (round, kept) = (turn.round(), *turn.deficit_mut());
        *turn.length_mut() = length;
        // Decided only now: a head that was lost meanwhile has no part in whether the turn was over.
        if kept < self.cost(length) {
            *turn.deficit_mut() += quantum;
            *turn.round_mut() = round.wrapping_add(1);
        }
        let deficit = *turn.deficit_mut();
        if self.active.resume(flows, flow, deficit < quantum) {
            *flows[flow as usize].deficit_mut() = deficit.max((deficit + quantum).min(2 * quantum));
        }
        let turn = &mut flows[flow as usize];
        let after = (turn.round(), *turn.deficit_mut());
        self.active.remember(flow, [(round, kept), after]);
    }

    /// Takes over the flows that stay from `old`, in the order of their turns. `flows`, which are in no ring, have the rounds, deficits and lengths
    /// of theirs.
    pub(super) fn adopt<T: InTurns>(&mut self, flows: &mut [T], old: &mut DeficitTurns, old_flows: &mut [T], moves: &mut Moves) {
        self.active.adopt(flows, &mut old.active, old_flows, moves);
        if old.cost != self.cost {
            self.active.forget_comeback();
        }
    }

    /// A flow whose turn comes soon.
    #[inline]
    pub(super) fn prefetch_hint(&self) -> Flow {
        self.predictor.prefetch_hint()
    }
}
