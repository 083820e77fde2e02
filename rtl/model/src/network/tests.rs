//! Inputs and outputs of the network, exhaustively for four and eight streams.

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
