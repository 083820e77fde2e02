//! Which worker each member belongs to.

use alloc::vec::Vec;
use core::cmp::Reverse;

/// Assigns members of these weights to workers, the heaviest first, each to the worker with the least weight so far. Ties go to the worker with the least
/// load, then to the lower number. `loads` has one entry per worker, what it has already; it is not changed. No worker has more than its part of all
/// weight and the greatest weight of a member. The same numbers give the same assignment.
///
/// Source: R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM Journal on Applied Mathematics 17(2), 1969: longest processing time first.
///
/// ```
/// use tidegate_core::exchange::assign;
/// assert_eq!(assign(&[1, 5, 2, 2], &[0, 0]), [1, 0, 1, 1]);
/// ```
pub fn assign(weights: &[u32], loads: &[u64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&member| Reverse(weights[member]));
    let mut sums: Vec<(u64, u64)> = loads.iter().map(|&load| (0, load)).collect();
    let mut assigned = alloc::vec![0; weights.len()];
    for member in order {
        let Some((worker, sum)) = (0..).zip(&mut sums).min_by_key(|(_, sum)| **sum) else { break };
        sum.0 += u64::from(weights[member]);
        assigned[member] = worker;
    }
    assigned
}
