//! The laws of Space-Saving, and counts beside exact ones.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

proptest! {
    #[test]
    fn the_laws_hold_whatever_the_hash(counters in 1usize..9, bits in 0u32..9,
        stream in prop::collection::vec((prop_oneof![0u8..5, any::<u8>()], 1u64..2000), 0..400)) {
        // Few bits of hash make the probes long.
        let hash = |key: u8| u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits).min(63);
        let (mut sketch, mut exact) = (SpaceSaving::new(counters), HashMap::<u8, u64>::new());
        for &(key, weight) in &stream {
            sketch.add(key, hash(key), weight, weight);
            *exact.entry(key).or_default() += weight;
        }
        let total: u64 = stream.iter().map(|(_, weight)| weight).sum();
        prop_assert_eq!(sketch.total(), total);
        prop_assert!(sketch.error() <= total / counters as u64);
        let found = sketch.heaviest();
        prop_assert!(found.is_sorted_by_key(|heavy| std::cmp::Reverse(heavy.count)));
        prop_assert_eq!(found.iter().map(|heavy| heavy.count).sum::<u64>(), total);
        for heavy in &found {
            let weight = exact[&heavy.key];
            prop_assert!(heavy.count - heavy.error <= weight && weight <= heavy.count && heavy.error <= sketch.error());
            prop_assert_eq!(Some(heavy.value), stream.iter().rev().find(|(key, _)| *key == heavy.key).map(|(_, weight)| *weight));
        }
        for (key, weight) in exact {
            prop_assert!(found.iter().any(|heavy| heavy.key == key) || weight <= sketch.error());
        }
        sketch.clear();
        sketch.add(1, hash(1), 0, 7);
        prop_assert_eq!(sketch.heaviest().len(), 1);
    }

    #[test]
    fn merged_tables_keep_the_law_over_both_streams(counters in 1usize..9,
        stream in prop::collection::vec((0u8..20, 1u64..2000, any::<bool>()), 0..300)) {
        let (mut tables, mut exact) = ([SpaceSaving::new(counters), SpaceSaving::new(counters)], HashMap::<u8, u64>::new());
        for &(key, weight, second) in &stream {
            tables[usize::from(second)].add(key, u64::from(key), (), weight);
            *exact.entry(key).or_default() += weight;
        }
        let merged = SpaceSaving::merged(&[&tables[0], &tables[1]], |&key| u64::from(key));
        prop_assert_eq!(merged.total(), exact.values().sum::<u64>());
        let found = merged.heaviest();
        for heavy in &found {
            let weight = exact[&heavy.key];
            prop_assert!(heavy.count - heavy.error <= weight && weight <= heavy.count, "{:?}: {}", heavy, weight);
        }
        for (key, weight) in exact {
            prop_assert!(found.iter().any(|heavy| heavy.key == key) || weight <= merged.error());
        }
    }
}
