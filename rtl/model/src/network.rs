//! The single-stage recirculating shuffle-exchange network: log2 N cycles through N/2 decision blocks.
//!
//! **Law.** For N streams, k = log2 N:
//! 1. after k cycles position 0 holds the first stream in the order of precedence and position N-1 the last, always;
//! 2. position i precedes position j if the bits of i are among those of j; a position with h bits set has a rank from 2^h to
//!    N - 2^(k-h) + 1. **It is not a sorted list**, and more cycles do not change that;
//! 3. k times k cycles on the same wires, with a control bit per decision block, deliver one ([`Routing::Exact`]).
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
//! **Deviations**: the paper calls the output of its base architecture a sorted list; its wiring gives law 2.

use crate::decision::Attributes;
use alloc::vec::Vec;
use core::mem;

/// How many streams the network takes at once: N.
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

/// What is wired, and so what is known after a decision.
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

/// What a decision block does with its two ports in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    /// The winner leaves on the even port.
    Even,
    /// The winner leaves on the odd port.
    Odd,
    /// Both go straight through.
    Straight,
}

/// The network with what its ports hold.
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

    /// Finds the first of `streams`, at most N^2 of them. More than N take a round each, and the winners of the rounds as many cycles more
    /// as a tree of them is deep (vertical tiling).
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

    /// What the last decision left on the ports, back home after k cycles.
    pub fn home(&self) -> &[Attributes] {
        &self.ports
    }

    /// The streams in the order in which the last decision delivers them: what leaves the decision blocks in the last cycle, from the first
    /// to the last port, or the sorted list. Means something only where losers are routed and streams are not tiled.
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

    /// Decisions that decision blocks made so far.
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

    /// Batcher's bitonic sort: stage s merges runs of 2^s streams along the last s dimensions that a pass comes through. The order of the
    /// dimensions is that of the wires, so ranks are found at the ports with reversed bits.
    fn exact(&mut self) {
        let bits = self.size.bits();
        for stage in 1..=bits {
            for dimension in 0..bits {
                let compares = dimension >= bits - stage;
                // The port at which a word started, from where it is after `dimension` cycles.
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

/// Where the wires take what leaves port `index`: the number's bits turned right by one.
const fn unshuffled(index: usize, bits: u32) -> usize {
    (index >> 1) | ((index & 1) << (bits - 1))
}

/// The port from which the wires lead to `index`: the number's bits turned left by one.
const fn shuffled(index: usize, bits: u32) -> usize {
    (index << 1 | index >> (bits - 1)) & ((1 << bits) - 1)
}

/// How deep a tree over `leaves` is.
pub(crate) const fn ceil_log2(leaves: usize) -> u32 {
    leaves.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;
    use tidegate_core::dwcs::{Order, Rank, Tolerance};

    /// Streams whose ranks are their deadlines.
    fn ranked(ranks: &[u16]) -> Vec<Attributes> {
        ranks.iter().map(|&deadline| Attributes { valid: true, deadline, id: deadline as u8, ..Attributes::NONE }).collect()
    }

    fn decided(size: Size, routing: Routing, ranks: &[u16]) -> Network {
        let mut network = Network::new(size, routing);
        network.decide(&ranked(ranks));
        network
    }

    fn home(network: &Network) -> Vec<u16> {
        network.home().iter().map(|stream| stream.deadline).collect()
    }

    fn order(network: &Network) -> Vec<u16> {
        network.order().map(|stream| stream.deadline).collect()
    }

    /// Calls `visit` with every permutation (Heap's algorithm).
    fn permutations(items: &mut [u16], fixed: usize, visit: &mut impl FnMut(&[u16])) {
        if fixed + 1 >= items.len() {
            return visit(items);
        }
        for index in fixed..items.len() {
            items.swap(fixed, index);
            permutations(items, fixed + 1, visit);
            items.swap(fixed, index);
        }
    }

    /// Laws 1 and 2, and that another k cycles change nothing.
    fn check_lattice(size: Size, ranks: &[u16]) {
        let mut network = decided(size, Routing::Lattice, ranks);
        let (ports, home) = (size.ports(), home(&network));
        assert_eq!((home[0], usize::from(home[ports - 1])), (0, ports - 1));
        for i in 0..ports {
            assert!((0..ports).filter(|j| i & j == i && i != *j).all(|j| home[i] < home[j]), "{home:?}");
            let (set, rank) = (i.count_ones(), usize::from(home[i]) + 1);
            assert!((1 << set..=ports - (1 << (size.bits() - set)) + 1).contains(&rank), "{home:?}");
        }
        network.lattice();
        assert_eq!(self::home(&network), home);
    }

    /// Oracle S1.
    #[test]
    fn a_sorted_input_leaves_the_blocks_unsorted() {
        assert_eq!(order(&decided(Size::Four, Routing::Lattice, &[1, 2, 3, 4])), [1, 3, 2, 4]);
        assert_eq!(order(&decided(Size::Four, Routing::Lattice, &[1, 3, 2, 4])), [1, 2, 3, 4]);
    }

    /// Oracle S2.
    #[test]
    fn the_lattice_order_is_a_fixed_point() {
        let mut network = decided(Size::Eight, Routing::Lattice, &[3, 4, 6, 1, 2, 7, 5, 0]);
        assert_eq!(home(&network), [0, 4, 2, 6, 1, 5, 3, 7]);
        network.lattice();
        assert_eq!(home(&network), [0, 4, 2, 6, 1, 5, 3, 7]);
    }

    /// Oracle S3.
    #[test]
    fn all_inputs_of_four_and_eight_streams_are_known() {
        for (size, inputs, sorted, second) in [(Size::Four, 24, 16, 16), (Size::Eight, 40_320, 1024, 23_040)] {
            let (mut seen, mut sorted_seen, mut second_seen) = (0, 0, 0);
            let mut ranks_at = alloc::vec![BTreeSet::new(); size.ports()];
            let mut items: Vec<u16> = (0..size.ports() as u16).collect();
            permutations(&mut items, 0, &mut |ranks| {
                check_lattice(size, ranks);
                let network = decided(size, Routing::Lattice, ranks);
                home(&network).iter().zip(&mut ranks_at).for_each(|(&rank, at)| _ = at.insert(rank + 1));
                let order = order(&network);
                seen += 1;
                sorted_seen += u32::from(order.is_sorted());
                second_seen += u32::from(order[1] == 1);
            });
            assert_eq!((seen, sorted_seen, second_seen), (inputs, sorted, second));
            if size == Size::Eight {
                let expected = [1..=1, 2..=5, 2..=5, 4..=7, 2..=5, 4..=7, 4..=7, 8..=8];
                assert!(ranks_at.iter().zip(expected).all(|(seen, expected)| seen.iter().copied().eq(expected)), "{ranks_at:?}");
            }
        }
    }

    #[test]
    fn cycles_and_comparisons_are_counted() {
        for (size, cycles, sorting, compared_in) in
            [(Size::Four, 2, 4, 3), (Size::Eight, 3, 9, 6), (Size::Sixteen, 4, 16, 10), (Size::ThirtyTwo, 5, 25, 15)]
        {
            let ranks: Vec<u16> = (0..size.ports() as u16).rev().collect();
            let blocks = size.ports() as u64 / 2;
            let counts = |routing| {
                let network = decided(size, routing, &ranks);
                assert_eq!(network.cycles(), u64::from(routing.cycles(size)));
                (network.cycles(), network.comparisons())
            };
            assert_eq!(counts(Routing::Lattice), (cycles, blocks * cycles));
            assert_eq!(counts(Routing::Winner), (cycles, 2 * blocks - 1));
            assert_eq!(counts(Routing::Exact), (sorting, blocks * compared_in));
        }
    }

    fn any_attributes() -> impl Strategy<Value = Attributes> {
        (0u8..10, 0u16..4, 0u8..4, 0u8..3, 0u16..4).prop_map(|(flags, deadline, numerator, more, arrival)| Attributes {
            valid: flags > 0,
            infinite: flags == 1,
            deadline: 65_534u16.wrapping_add(deadline),
            numerator,
            denominator: numerator + more,
            arrival: 65_533u16.wrapping_add(arrival),
            id: 0,
        })
    }

    /// Numbered streams.
    fn numbered(streams: &[Attributes]) -> Vec<Attributes> {
        streams.iter().zip(0..).map(|(&stream, id)| Attributes { id, ..stream }).collect()
    }

    /// The flat scan over 64-bit ranks.
    fn first(streams: &[Attributes]) -> Option<u8> {
        let rank = |of: &Attributes| Rank {
            deadline: if of.infinite { u64::MAX } else { of.deadline.wrapping_sub(65_534).into() },
            tolerance: Tolerance { numerator: of.numerator.into(), in_violation: false, denominator: of.denominator.into() },
            arrival: of.arrival.wrapping_sub(65_533).into(),
            stream: of.id.into(),
        };
        let valid = streams.iter().filter(|stream| stream.valid).map(rank);
        valid.min_by(|a, b| a.compare(b, Order::DeadlineFirst)).map(|rank| rank.stream as u8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]

        #[test]
        fn sixteen_and_thirty_two_streams_keep_the_laws(seed in proptest::collection::vec(any::<u32>(), 32)) {
            for size in [Size::Sixteen, Size::ThirtyTwo] {
                let mut ranks: Vec<u16> = (0..size.ports() as u16).collect();
                ranks.sort_by_key(|&rank| seed[usize::from(rank)]);
                check_lattice(size, &ranks);
                let sorted = decided(size, Routing::Exact, &ranks);
                prop_assert!(order(&sorted).into_iter().eq(0..size.ports() as u16));
                prop_assert_eq!(sorted.home()[0].deadline, 0);
            }
        }

        #[test]
        fn every_routing_finds_the_first(streams in proptest::collection::vec(any_attributes(), 32)) {
            for size in Size::ALL {
                let streams = numbered(&streams[..size.ports()]);
                for routing in [Routing::Lattice, Routing::Exact, Routing::Winner] {
                    let mut network = Network::new(size, routing);
                    let winner = network.decide(&streams);
                    prop_assert_eq!(winner.valid.then_some(winner.id), first(&streams));
                    if routing == Routing::Exact {
                        let valid: Vec<Attributes> = network.order().copied().take_while(|stream| stream.valid).collect();
                        prop_assert_eq!(valid.len(), streams.iter().filter(|stream| stream.valid).count());
                        prop_assert!(valid.windows(2).all(|pair| pair[0].wins(&pair[1])));
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]

        /// Oracle S7: a hundred states in each of a thousand cases.
        #[test]
        fn tiles_find_the_first_in_their_cycles(states in proptest::collection::vec(proptest::collection::vec(any_attributes(), 32), 100)) {
            for state in &states {
                for (streams, size, cycles) in [(16, Size::Eight, 7), (32, Size::Sixteen, 9), (32, Size::Eight, 14)] {
                    let streams = numbered(&state[..streams]);
                    for routing in [Routing::Lattice, Routing::Winner] {
                        let mut network = Network::new(size, routing);
                        let winner = network.decide(&streams);
                        prop_assert_eq!(winner.valid.then_some(winner.id), first(&streams));
                        prop_assert_eq!(network.cycles(), cycles);
                    }
                }
            }
        }
    }
}
