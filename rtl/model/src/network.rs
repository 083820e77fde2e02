//! The single-stage recirculating shuffle-exchange network: log2 N cycles through N/2 decision blocks.
//!
//! **Law.** For N streams, k = log2 N:
//! 1. After k cycles position 0 holds the first stream in the order of precedence and position N-1 the last, always.
//! 2. Position i precedes position j if the bits of i are among those of j. So a stream at a position with h bits set has a rank from 2^h to
//!    N - 2^(k-h) + 1. Nothing more holds: **it is not a sorted list**, and more cycles change nothing.
//! 3. k times k cycles on the same wires, with a control bit per decision block, deliver a sorted list ([`Routing::Exact`]).
//!
//! **Source**: Krishnamurthy et al., "ShareStreams", section 4 and Figure 5. For the exact order: Stone, "Parallel processing with the perfect
//! shuffle", IEEE Transactions on Computers C-20(2), 1971. Batcher, "Sorting networks and their applications", 1968.
//!
//! **State**: N words of [`Attributes`], the outputs of the decision blocks.
//!
//! **Cost**: N/2 comparisons per cycle and k cycles; N - 1 comparisons in all if only winners are routed; k^2 cycles, k(k+1)/2 of them with
//! comparisons, for the exact order.
//!
//! **RTL twin**: this is the model of it.
//!
//! **Deviations**: the paper calls the output of its base architecture a sorted list; its wiring keeps law 2 only.

use crate::decision::Attributes;
use alloc::vec::Vec;
use core::mem;

/// N, the number of streams that the network takes at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Size {
    /// Two decision blocks.
    Four,
    /// Four decision blocks.
    Eight,
    /// Eight decision blocks.
    Sixteen,
    /// Sixteen decision blocks.
    ThirtyTwo,
}

impl Size {
    /// All of them.
    pub const ALL: [Size; 4] = [Size::Four, Size::Eight, Size::Sixteen, Size::ThirtyTwo];

    /// k = log2 N.
    pub const fn bits(self) -> u32 {
        match self {
            Size::Four => 2,
            Size::Eight => 3,
            Size::Sixteen => 4,
            Size::ThirtyTwo => 5,
        }
    }

    /// N, the number of ports.
    pub const fn ports(self) -> usize {
        1 << self.bits()
    }
}

/// The wiring, which decides what is known after a decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Routing {
    /// Winners and losers recirculate: the winner, and the lattice order of law 2.
    #[default]
    Lattice,
    /// Winners and losers recirculate, and a control bit per decision block lets it pass or turn: the exact order, for k^2 cycles.
    Exact,
    /// Only winners recirculate, over a tree of decision blocks: the winner and nothing else.
    Winner,
}

impl Routing {
    /// The cycles of one decision among N streams.
    pub const fn cycles(self, size: Size) -> u32 {
        match self {
            Routing::Lattice | Routing::Winner => size.bits(),
            Routing::Exact => size.bits() * size.bits(),
        }
    }
}

/// The routing of a decision block's two ports in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    /// The winner leaves on the even port.
    Even,
    /// The winner leaves on the odd port.
    Odd,
    /// Both go straight through.
    Straight,
}

/// The network and the words at its ports.
///
/// ```
/// use tidegate_rtl_model::{Attributes, Network, Routing, Size};
/// let stream = |deadline, id| Attributes { valid: true, deadline, id, ..Attributes::NONE };
/// let mut network = Network::new(Size::Four, Routing::Lattice);
/// let winner = network.decide(&[stream(1, 0), stream(2, 1), stream(3, 2), stream(4, 3)]);
/// assert_eq!(winner.deadline, 1);
/// // What leaves the decision blocks is not sorted, even though it came in sorted.
/// assert_eq!(network.order().map(|stream| stream.deadline).collect::<Vec<_>>(), [1, 3, 2, 4]);
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    size: Size,
    routing: Routing,
    ports: Vec<Attributes>,
    recirculated: Vec<Attributes>,
    winners: Vec<Attributes>,
    cycles: u64,
    comparisons: u64,
}

impl Network {
    /// A network without streams.
    pub fn new(size: Size, routing: Routing) -> Network {
        let ports = || alloc::vec![Attributes::NONE; size.ports()];
        Network {
            size,
            routing,
            ports: ports(),
            recirculated: ports(),
            winners: Vec::with_capacity(size.ports()),
            cycles: 0,
            comparisons: 0,
        }
    }

    /// Finds the first of `streams`, at most N^2 of them. More than N are tiled vertically: a round for every N of them, and then a tree over
    /// the winners of the rounds, one cycle per level.
    ///
    /// # Panics
    /// If there are more than N^2 streams.
    pub fn decide(&mut self, streams: &[Attributes]) -> Attributes {
        self.winners.clear();
        for tile in streams.chunks(self.size.ports()) {
            self.load(tile);
            match self.routing {
                Routing::Lattice => self.lattice(),
                Routing::Exact => self.exact(),
                Routing::Winner => self.tree(self.size.bits()),
            }
            self.winners.push(self.ports[0]);
        }
        if self.winners.len() > 1 {
            let winners = mem::take(&mut self.winners);
            self.load(&winners);
            self.tree(ceil_log2(winners.len()));
            self.winners = winners;
        }
        self.ports[0]
    }

    /// The words that the last decision left on the ports, after k cycles back at their own.
    pub fn home(&self) -> &[Attributes] {
        &self.ports
    }

    /// The streams in the order in which the last decision delivers them: at the outputs of the decision blocks in the last cycle, from the
    /// first to the last port, or the sorted list. Meaningful only if losers are routed and streams are not tiled.
    pub fn order(&self) -> impl Iterator<Item = &Attributes> {
        let bits = self.size.bits();
        (0..self.size.ports()).map(move |index| {
            let place = if self.routing == Routing::Exact { index.reverse_bits() >> (usize::BITS - bits) } else { unshuffled(index, bits) };
            &self.ports[place]
        })
    }

    /// SCHEDULE cycles so far.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Comparisons of all decision blocks so far.
    pub fn comparisons(&self) -> u64 {
        self.comparisons
    }

    fn load(&mut self, streams: &[Attributes]) {
        self.ports[..streams.len()].copy_from_slice(streams);
        self.ports[streams.len()..].fill(Attributes::NONE);
    }

    /// k cycles: one comparison along each dimension of the hypercube of port numbers.
    fn lattice(&mut self) {
        (0..self.size.bits()).for_each(|_| self.cycle(|_| Direction::Even));
    }

    /// Batcher's bitonic sort: stage s merges runs of 2^s streams along the last s dimensions of a pass. The order of the dimensions is that of
    /// the wires, so rank r is at the port with the reversed bits of r.
    fn exact(&mut self) {
        let bits = self.size.bits();
        for stage in 1..=bits {
            for dimension in 0..bits {
                let compares = dimension >= bits - stage;
                // The port at which the word started that is at `port` after `dimension` cycles.
                let origin = |port: usize| (0..dimension).fold(port, |port, _| shuffled(port, bits));
                let turns = |port: usize| stage < bits && origin(port) >> (bits - stage - 1) & 1 == 1;
                self.cycle(|port| match (compares, turns(port)) {
                    (false, _) => Direction::Straight,
                    (true, false) => Direction::Even,
                    (true, true) => Direction::Odd,
                });
            }
        }
    }

    /// One cycle through the decision blocks and back: the even ports go to the lower half, the odd ones to the upper.
    fn cycle(&mut self, direction: impl Fn(usize) -> Direction) {
        let bits = self.size.bits();
        for even in (0..self.size.ports()).step_by(2) {
            let (mut first, mut second) = (self.ports[even], self.ports[even + 1]);
            let direction = direction(even);
            if direction != Direction::Straight {
                self.comparisons += 1;
                if first.wins(&second) != (direction == Direction::Even) {
                    mem::swap(&mut first, &mut second);
                }
            }
            self.recirculated[unshuffled(even, bits)] = first;
            self.recirculated[unshuffled(even + 1, bits)] = second;
        }
        mem::swap(&mut self.ports, &mut self.recirculated);
        self.cycles += 1;
    }

    /// `depth` cycles over a tree: in cycle c (from 0) every 2^c-th decision block works, and passes its winner on.
    fn tree(&mut self, depth: u32) {
        for cycle in 0..depth {
            let distance = 1 << cycle;
            for even in (0..self.size.ports()).step_by(2 * distance) {
                self.comparisons += 1;
                if !self.ports[even].wins(&self.ports[even + distance]) {
                    self.ports[even] = self.ports[even + distance];
                }
            }
            self.cycles += 1;
        }
    }
}

/// The port to which the wires lead from `index`: its bits rotated right by one.
const fn unshuffled(index: usize, bits: u32) -> usize {
    (index >> 1) | ((index & 1) << (bits - 1))
}

/// The port from which the wires lead to `index`: its bits rotated left by one.
const fn shuffled(index: usize, bits: u32) -> usize {
    (index << 1 | index >> (bits - 1)) & ((1 << bits) - 1)
}

/// The depth of a tree over `leaves`.
pub(crate) const fn ceil_log2(leaves: usize) -> u32 {
    leaves.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests;
