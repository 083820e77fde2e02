//! What the flows claim of the link: each of them, each priority, and all together.

use super::{BuildError, CLASSES, CellRate, FlowParameters, Parameter};
use crate::units::Rate;

/// More priorities than there are lists.
pub(super) const TOO_MANY_PRIORITIES: BuildError =
    BuildError { flow: None, parameter: Parameter::Priority, problem: "more than 8 priorities are in use: let some share one" };

/// Guarantees that exceed the link.
const TOO_MUCH: BuildError = BuildError {
    flow: None,
    parameter: Parameter::Rate,
    problem: "the flows' guaranteed rates sum up to more than the rate that is shared: lower them",
};

/// What one flow claims of the link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Claim {
    /// Its guaranteed rate in bits per second; 0 without a guarantee.
    guaranteed: u64,
    /// The same as a part of the link.
    minimum: CellRate,
    is_shaped: bool,
}

/// What a flow claims of a link with this number of places, and the rates that it asks for in a burst and in the long run.
pub(super) fn claim(given: &FlowParameters, link: Rate, places: usize) -> (Claim, [CellRate; 2]) {
    // Rounded down, and as high as the sum of all can be counted: at least a few times the link.
    let most = (1 << 62) / places.max(1) as u128;
    let part_of_link = |rate: Rate| {
        let part = (u128::from(rate.bits_per_second()) << 40) / u128::from(link.bits_per_second());
        CellRate(part.min(most) as u64)
    };
    // A flow without a contract takes the rest, and asks for its guarantee.
    let sustained = given.shape.map(|contract| contract.rate).or(given.rate).map_or(CellRate::ZERO, part_of_link);
    let peak = given.shape.and_then(|contract| contract.peak).map_or(sustained, part_of_link);
    let minimum = given.rate.map_or(CellRate::ZERO, |rate| part_of_link(rate).min(CellRate::LINK));
    let guaranteed = given.rate.map_or(0, Rate::bits_per_second);
    (Claim { guaranteed, minimum, is_shaped: given.shape.is_some() }, [peak, sustained])
}

/// The sums over the flows of every priority, highest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    /// The priorities in use.
    ranks: [u32; CLASSES],
    levels: usize,
    /// The number of flows without a contract, and with one.
    flows: [[u32; 2]; CLASSES],
    /// Bits per second.
    pub(super) guaranteed: [u64; CLASSES],
    pub(super) minimum: [CellRate; CLASSES],
    /// The most that all flows may ask for.
    asked: u64,
}

impl Totals {
    /// Of no flows, for these priorities.
    pub(super) fn new(priorities: &[u32]) -> Totals {
        let mut ranks = [0; CLASSES];
        ranks[..priorities.len()].copy_from_slice(priorities);
        let (guaranteed, minimum) = ([0; CLASSES], [CellRate::ZERO; CLASSES]);
        Totals { ranks, levels: priorities.len(), flows: [[0; 2]; CLASSES], guaranteed, minimum, asked: 0 }
    }

    /// The priorities in use.
    pub(super) fn ranks(&self) -> &[u32] {
        &self.ranks[..self.levels]
    }

    pub(super) fn add(&mut self, level: usize, claim: &Claim, rates: &[CellRate; 2]) {
        self.flows[level][usize::from(claim.is_shaped)] += 1;
        self.guaranteed[level] += claim.guaranteed;
        self.minimum[level].0 += claim.minimum.0;
        self.asked += rates[0].max(rates[1]).0;
    }

    pub(super) fn remove(&mut self, level: usize, claim: &Claim, rates: &[CellRate; 2]) {
        self.flows[level][usize::from(claim.is_shaped)] -= 1;
        self.guaranteed[level] -= claim.guaranteed;
        self.minimum[level].0 -= claim.minimum.0;
        self.asked -= rates[0].max(rates[1]).0;
    }

    /// # Errors
    /// Guarantees that exceed the link.
    pub(super) fn check(&self, link: Rate) -> Result<(), BuildError> {
        if self.guaranteed.iter().sum::<u64>() > link.bits_per_second() { Err(TOO_MUCH) } else { Ok(()) }
    }

    /// The level of a priority. If it is new, the second number is the level that moves there: one more than before, or with 8 in use one
    /// without flows.
    ///
    /// # Errors
    /// More than 8 priorities.
    pub(super) fn level_of(&mut self, priority: u32) -> Result<(usize, Option<usize>), BuildError> {
        let Err(at) = self.ranks().binary_search(&priority) else {
            return Ok((self.ranks().partition_point(|&rank| rank < priority), None));
        };
        let mut from = self.levels;
        if self.levels == CLASSES {
            from = (0..CLASSES).find(|&level| self.is_empty(level)).ok_or(TOO_MANY_PRIORITIES)?;
        } else {
            self.levels += 1;
        }
        // The level that is given up leaves a gap.
        let at = at - usize::from(from < at);
        self.ranks[from] = priority;
        shift(&mut self.ranks, from, at);
        shift(&mut self.flows, from, at);
        shift(&mut self.guaranteed, from, at);
        shift(&mut self.minimum, from, at);
        Ok((at, Some(from)))
    }

    /// True if no flow is of this level.
    pub(super) fn is_empty(&self, level: usize) -> bool {
        self.flows[level] == [0; 2]
    }

    /// True if flows differ in priority.
    pub(super) fn has_priorities(&self) -> bool {
        (0..CLASSES).filter(|&level| !self.is_empty(level)).count() > 1
    }

    /// True if all flows together may ask for more than the link.
    pub(super) fn may_exceed_link(&self) -> bool {
        self.asked > CellRate::LINK.0
    }

    /// True if a flow without a contract is above one with a contract: it may take the whole link.
    pub(super) fn has_open_flow_above(&self) -> bool {
        let lowest = self.flows.iter().rposition(|flows| flows[1] > 0);
        lowest.is_some_and(|lowest| self.flows[..lowest].iter().any(|flows| flows[0] > 0))
    }
}

/// Moves an item to another place; those between shift by one.
pub(super) fn shift<T>(items: &mut [T], from: usize, to: usize) {
    if from > to { items[to..=from].rotate_right(1) } else { items[from..=to].rotate_left(1) }
}
