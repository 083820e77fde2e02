//! Weighted water-filling with credit: every claimant is filled to one level, less what it had before, and at most to its claim.
//!
//! **Law.** `G_i = clip(w_i * level - u_i, 0, N_i)` to within one unit, and the sum of all `G_i` is exactly `min(capacity, sum N_i)`.
//!
//! **Source.** Max-min fairness with weights: Bertsekas and Gallager, *Data Networks*, section 6.5. The credit `u_i` is that of the I/O Bus
//! Utilization Guard.
//!
//! **State.** 16 bytes per corner of the piecewise linear total, two corners per claimant.
//!
//! **Cost.** O(n): the segment that holds the level is found by selection, not by sorting. One division per claimant below its claim.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** The level is a fraction, and grants are integers. Each is rounded down, and the remainders add up along the claimants: the one
//! at which their sum reaches a unit gets it.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// What one claimant asks for, in units of the caller's choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// Its weight, at least 1.
    pub weight: u32,
    /// The most it takes: `N_i`.
    pub most: i64,
    /// What it already had: `u_i`; negative if it is owed something.
    pub credit: i64,
}

/// A corner of the total as a function of the level, at `position / |weight|`. The slope changes there by `weight`.
#[derive(Clone, Copy, Debug)]
struct Corner {
    position: i64,
    weight: i64,
}

impl Corner {
    /// By level. Corners at one level are equal: the total is continuous, so their order does not matter.
    fn order(&self, other: &Corner) -> Ordering {
        product(self.position, other.weight.abs()).cmp(&product(other.position, self.weight.abs()))
    }
}

/// The total of all grants over a range of levels: `slope * level + offset`.
#[derive(Clone, Copy, Default)]
struct Segment {
    slope: i64,
    offset: i64,
}

impl Segment {
    /// The segment after this corner.
    #[inline]
    fn after(self, corner: &Corner) -> Segment {
        Segment { slope: self.slope + corner.weight, offset: self.offset - corner.position * corner.weight.signum() }
    }

    /// True if the total at the corner that ends this segment is at least `target`.
    fn reaches(self, target: i64, corner: &Corner) -> bool {
        product(self.slope, corner.position) >= product(target - self.offset, corner.weight.abs())
    }
}

/// One multiplication of 64 by 64 bits.
#[inline]
fn product(one: i64, other: i64) -> i128 {
    i128::from(one) * i128::from(other)
}

/// Water-filling, with the memory it needs.
///
/// ```
/// use tidegate_core::guard::{Claim, WaterFilling};
/// let claim = |most| Claim { weight: 1, most, credit: 0 };
/// let mut grants = [0; 3];
/// let spare = WaterFilling::new(3).fill(&[claim(1), claim(9), claim(9)], 7, &mut grants);
/// assert_eq!((grants, spare), ([1, 3, 3], 0));
/// ```
#[derive(Clone, Debug)]
pub struct WaterFilling {
    corners: Vec<Corner>,
}

impl WaterFilling {
    /// For up to `claimants` claimants. With more of them, a call allocates.
    pub fn new(claimants: usize) -> WaterFilling {
        WaterFilling { corners: Vec::with_capacity(2 * claimants) }
    }

    /// Divides `capacity` among the claimants, and returns what is left over when all have their claims.
    ///
    /// The weights add up to less than 2^32. Claims, and the magnitudes of credits, add up to less than 2^61 with `capacity`. `grants` is as long as `claims`.
    pub fn fill(&mut self, claims: &[Claim], capacity: i64, grants: &mut [i64]) -> i64 {
        debug_assert_eq!(claims.len(), grants.len());
        let total: i64 = claims.iter().map(|claim| claim.most).sum();
        let is_scarce = 0 < capacity && capacity < total;
        if !is_scarce {
            let is_enough = total <= capacity;
            for (claim, grant) in claims.iter().zip(grants) {
                *grant = if is_enough { claim.most } else { 0 };
            }
            return if is_enough { capacity - total } else { 0 };
        }
        let Segment { slope, offset } = self.segment(claims, capacity);
        // The total at the beginning of the segment is below the capacity, so it rises.
        let target = capacity - offset;
        let (whole, part, slope) = (target.div_euclid(slope), target.rem_euclid(slope).unsigned_abs(), slope.unsigned_abs());
        let mut carried = 0;
        for (claim, grant) in claims.iter().zip(grants) {
            let scaled = u64::from(claim.weight) * part;
            let (quotient, rest) = (scaled / slope, scaled % slope);
            let level = i64::from(claim.weight).saturating_mul(whole).saturating_add_unsigned(quotient);
            let wanted = level.saturating_sub(claim.credit);
            *grant = wanted.clamp(0, claim.most);
            if 0 <= wanted && wanted < claim.most {
                carried += rest;
                if carried >= slope {
                    carried -= slope;
                    *grant += 1;
                }
            }
        }
        0
    }

    /// The segment on which the total rises to `target`, which is above 0 and below the sum of the claims.
    fn segment(&mut self, claims: &[Claim], target: i64) -> Segment {
        self.corners.clear();
        for claim in claims.iter().filter(|claim| claim.most > 0) {
            let weight = i64::from(claim.weight);
            self.corners.push(Corner { position: claim.credit, weight });
            self.corners.push(Corner { position: claim.credit + claim.most, weight: -weight });
        }
        let mut unsettled = self.corners.as_mut_slice();
        let mut segment = Segment::default();
        while !unsettled.is_empty() {
            let middle = unsettled.len() / 2;
            let (before, corner, after) = unsettled.select_nth_unstable_by(middle, Corner::order);
            let reached = before.iter().fold(segment, Segment::after);
            if reached.reaches(target, corner) {
                unsettled = before;
            } else {
                segment = reached.after(corner);
                unsettled = after;
            }
        }
        segment
    }
}
