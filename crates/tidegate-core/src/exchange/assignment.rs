//! Which worker each member belongs to.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Assigns members of these weights to `workers` workers, the heaviest first, each to the worker with the least weight so far. Ties go to the lower
/// number. No worker has more than its part of all weight and the greatest weight of a member. The same weights give the same assignment.
///
/// Source: R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM Journal on Applied Mathematics 17(2), 1969: longest processing time first.
///
/// ```
/// use tidegate_core::exchange::assign;
/// assert_eq!(assign(&[1, 5, 2, 2], 2), [1, 0, 1, 1]);
/// ```
pub fn assign(weights: &[u32], workers: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&member| Reverse(weights[member]));
    let mut sums = vec![0u64; workers as usize];
    let mut assigned = vec![0; weights.len()];
    for member in order {
        let Some((worker, sum)) = (0..).zip(&mut sums).min_by_key(|(_, sum)| **sum) else { break };
        *sum += u64::from(weights[member]);
        assigned[member] = worker;
    }
    assigned
}
