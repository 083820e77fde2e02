//! Shares an overloaded link: within a class in proportion to the contracts, among classes by priority with minimum shares.
//!
//! **Law.** While the demand of a class exceeds its grant, every connection of the class sends at the same fraction of its rate, and the
//! class at its grant. Grants come from water-filling: first every class's minimum share, then the rest by priority. A class with a minimum
//! share gets it whatever the others do: it goes first when it is owed a slot. No stream is sped up, so each stays within its contract.
//!
//! **Source.** Schiller and Gunningberg, section 4.5: the traffic parameters are adapted as soon as a connection is shaped. The paper does
//! not say how; the rule is this project's.
//!
//! **State.** [`RateScaling`]: six words per class, two more with minimum shares, and two for all.
//!
//! **Cost.** An addition and two divisions, for the rates, when a connection changes state. Then, if the demand exceeds the link, two
//! divisions for the class that gets less than it asks for; none if it has the whole link. With minimum shares, two per such class. While
//! several classes share an overload, a multiplication and a few comparisons per cell of a stretched class.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** None from the paper's sentences. A class without a grant is not stretched: it sends in idle slots. No class is stretched
//! more than 256 times, because a planned connection keeps its time when the overload ends. A higher class that is idle most of the time
//! takes slots that are not in its grant. While a lower class gets less than its grant, its clock stands still, so that all of its
//! connections get less in the same proportion.
//!
//! It works with a CDVT of one slot, because connections are slowed down before their cells collide.

use crate::serial::{earlier, is_before, later};
use core::fmt;

/// Ticks in one cell slot.
pub const SLOT: u64 = 1 << 16;

/// The number of priority classes; class 0 is served first.
pub const CLASSES: usize = 8;

/// The longest interval, and the longest burst tolerance, of any contract, in ticks: 2^29 slots. A cell is planned ahead by at most the sum
/// of the two, which compares serially in 32 bits of slots.
pub const LONGEST_INTERVAL: u64 = SLOT << 29;

/// A rate in 2^-40 cells per slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CellRate(pub u64);

impl CellRate {
    /// Nothing.
    pub const ZERO: CellRate = CellRate(0);
    /// The whole link: one cell in every slot.
    pub const LINK: CellRate = CellRate(1 << 40);

    /// `cells` cells in `slots` slots, rounded down. `None` if `slots` is 0 or the rate exceeds 64 bits.
    pub const fn floor_of_ratio(cells: u64, slots: u64) -> Option<CellRate> {
        if slots == 0 {
            return None;
        }
        let rate = ((cells as u128) << 40) / slots as u128;
        if rate > u64::MAX as u128 { None } else { Some(CellRate(rate as u64)) }
    }
}

/// The factor by which the intervals of a class are stretched in an overload, less 1, with 32 fraction bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stretch(u64);

impl Stretch {
    /// No overload.
    pub const NONE: Stretch = Stretch(0);

    /// The largest stretch: a connection that is planned 256 intervals ahead returns soon after the overload ends.
    pub const MOST: Stretch = Stretch(255 << 32);

    /// `demand / grant`, rounded up, at most [`Stretch::MOST`]; none if the grant covers the demand. A class without a grant is not
    /// stretched either: it sends in idle slots only.
    pub const fn ceil(demand: u64, grant: u64) -> Stretch {
        if grant == 0 || grant >= demand {
            return Stretch::NONE;
        }
        let more = (demand - grant) as u128;
        // Usually a class is alone and has the whole link.
        let ratio =
            if grant == CellRate::LINK.0 { more.div_ceil(CellRate::LINK.0 as u128 >> 32) } else { (more << 32).div_ceil(grant as u128) };
        if ratio > Stretch::MOST.0 as u128 { Stretch::MOST } else { Stretch(ratio as u64) }
    }

    /// True without overload.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == Stretch::NONE.0
    }

    /// The stretched interval, rounded up so that shares never exceed the grant; at most [`LONGEST_INTERVAL`], as the interval is.
    #[inline]
    pub const fn ceil_of(self, interval: u64) -> u64 {
        // Intervals are seldom stretched, and the branch is cheaper than the product.
        if self.is_none() {
            return interval;
        }
        // The sum fits: the interval is at most LONGEST_INTERVAL, 2^45, and the stretch at most 256.
        let product = interval as u128 * self.0 as u128;
        let stretched = interval + (product >> 32) as u64 + (product as u32 != 0) as u64;
        if stretched > LONGEST_INTERVAL { LONGEST_INTERVAL } else { stretched }
    }
}

/// How late a class may get its grant before its clock stands still: rounding to slots and a cell of another class.
const LATENESS_ALLOWANCE: u64 = 2 * SLOT;

/// How far a class may be ahead of its grant; more makes up for no later shortfall.
const LEAD_LIMIT: u64 = 64 * SLOT;

/// A rule that shares an overloaded link. Instants are in ticks, classes below [`CLASSES`].
pub trait Sharing {
    /// A connection of the class asks for `to` from now on, and for `from` no longer.
    #[inline]
    fn demand_changed(&mut self, class: usize, from: CellRate, to: CellRate) {
        let _ = (class, from, to);
    }

    /// The present stretch of the intervals of the class.
    #[inline]
    fn stretch(&mut self, class: usize) -> Stretch {
        let _ = class;
        Stretch::NONE
    }

    /// How far the clock of the class, in which its connections are shaped, is behind real time. It never decreases.
    #[inline]
    fn delay(&self, class: usize) -> u64 {
        let _ = class;
        0
    }

    /// A cell of the class, planned for `planned` on the class's clock, leaves at `now` in real time.
    #[inline]
    fn sent(&mut self, class: usize, planned: u64, now: u64) {
        let _ = (class, planned, now);
    }

    /// The same while the class is not stretched; its clock does not stand still then.
    #[inline]
    fn sent_unstretched(&mut self, class: usize, planned: u64, now: u64) {
        self.sent(class, planned, now);
    }

    /// The instant from which on the class is owed a slot, before classes that are owed none; `None` if it has no minimum share.
    #[inline]
    fn owed(&self, class: usize) -> Option<u64> {
        let _ = class;
        None
    }

    /// Moves old instants up so that they still compare correctly.
    fn refresh(&mut self, now: u64) {
        let _ = now;
    }
}

/// No sharing: in an overload, cells leave in the order in which they are due.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSharing;

impl Sharing for NoSharing {}

/// Minimum shares that exceed the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharesError;

impl fmt::Display for SharesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "minimum shares: their sum must not exceed the link's one cell per slot")
    }
}

impl core::error::Error for SharesError {}

/// Checks that minimum shares fit on the link.
fn check_shares(minimum: &[CellRate; CLASSES]) -> Result<(), SharesError> {
    let sum: u128 = minimum.iter().map(|share| u128::from(share.0)).sum();
    if sum > u128::from(CellRate::LINK.0) { Err(SharesError) } else { Ok(()) }
}

/// The number of guaranteed cells that a class may claim late.
const LATE_CLAIM_CELLS: u64 = 4;

/// When the classes are owed the cells of their minimum shares.
#[derive(Clone, Debug)]
pub struct Guarantees {
    /// The interval of guaranteed cells; 0 without a minimum share.
    interval: [u64; CLASSES],
    /// When the next guaranteed cell is owed.
    owed: [u64; CLASSES],
}

impl Guarantees {
    /// # Errors
    /// [`SharesError`] if the shares sum up to more than the link.
    pub fn new(minimum: &[CellRate; CLASSES]) -> Result<Guarantees, SharesError> {
        check_shares(minimum)?;
        // Rounded down: a guarantee is at least its share. A share is at most one cell per slot, so the interval is at least a slot.
        let interval = minimum.map(|share| ((u128::from(SLOT) << 40).checked_div(u128::from(share.0))).unwrap_or(0) as u64);
        Ok(Guarantees { interval, owed: [0; CLASSES] })
    }

    /// The instant from which on the class is owed a slot; `None` without a minimum share.
    #[inline]
    pub fn owed(&self, class: usize) -> Option<u64> {
        (self.interval[class] > 0).then_some(self.owed[class])
    }

    /// A cell of the class leaves.
    #[inline]
    pub fn sent(&mut self, class: usize, now: u64) {
        let interval = self.interval[class];
        // Clamped both ways: a class that did not send may claim a few cells at most, and slots beyond its guarantee do not count
        // against it.
        let oldest = now.wrapping_sub(LATE_CLAIM_CELLS.wrapping_mul(interval));
        self.owed[class] = earlier(later(self.owed[class], oldest).wrapping_add(interval), now.wrapping_add(interval));
    }

    /// Moves old instants up so that they still compare correctly.
    pub fn refresh(&mut self, now: u64) {
        for (owed, interval) in self.owed.iter_mut().zip(self.interval) {
            *owed = later(*owed, now.wrapping_sub(LATE_CLAIM_CELLS.wrapping_mul(interval)));
        }
    }
}

/// Stretches the intervals of a class by demand over grant, where the demand is the sum of its connections' present rates.
///
/// ```
/// use tidegate_core::sharing::{CellRate, RateScaling, Sharing, Stretch};
/// let mut sharing = RateScaling::strict();
/// sharing.demand_changed(1, CellRate::ZERO, CellRate(CellRate::LINK.0 * 3 / 2));
/// assert_eq!(sharing.stretch(1).ceil_of(1000), 1500);
/// assert_eq!(sharing.stretch(0), Stretch::NONE);
/// ```
#[derive(Clone, Debug)]
pub struct RateScaling {
    minimum: [CellRate; CLASSES],
    demand: [CellRate; CLASSES],
    stretch: [Stretch; CLASSES],
    /// For a stretched class, the link over its grant.
    pace: [Stretch; CLASSES],
    total: CellRate,
    guarantees: Option<Guarantees>,
    is_stretched: bool,
    clocks: [Clock; CLASSES],
    /// A bit per class that has sent no cell since it is stretched.
    fresh: u8,
    /// A bit per class that has ever had a demand.
    asking: u8,
    /// True if a class is stretched and several have a demand: one alone has the whole link.
    has_clocks: bool,
}

/// The clock of a class, which stands still while the class gets less than its grant.
#[derive(Clone, Copy, Default, Debug)]
struct Clock {
    /// How far it is behind.
    delay: u64,
    /// When the next cell should leave by the grant, in real time.
    next: u64,
}

impl RateScaling {
    /// With minimum shares for the classes; 0 for none.
    ///
    /// # Errors
    /// [`SharesError`] if they sum up to more than the link.
    pub fn new(minimum: [CellRate; CLASSES]) -> Result<RateScaling, SharesError> {
        let guarantees = Guarantees::new(&minimum)?;
        let has_minimum = minimum.iter().any(|share| share.0 > 0);
        Ok(RateScaling { minimum, guarantees: has_minimum.then_some(guarantees), ..RateScaling::strict() })
    }

    /// Without minimum shares: lower classes get what is left.
    pub fn strict() -> RateScaling {
        let none = [CellRate::ZERO; CLASSES];
        let stretch = [Stretch::NONE; CLASSES];
        RateScaling {
            minimum: none,
            demand: none,
            stretch,
            pace: stretch,
            total: CellRate::ZERO,
            guarantees: None,
            is_stretched: false,
            clocks: [Clock::default(); CLASSES],
            fresh: u8::MAX,
            asking: 0,
            has_clocks: false,
        }
    }

    /// The present demand of a class.
    pub fn demand(&self, class: usize) -> CellRate {
        self.demand[class]
    }

    /// By how much a packet of a class that is stretched takes longer at its grant than at the link's rate.
    #[inline]
    pub(crate) fn pace(&self, class: usize) -> Stretch {
        self.pace[class % CLASSES]
    }

    /// A cell of the class, planned for `planned` on the class's clock, leaves at `now`: the clock has stood still for as long as the class
    /// has waited beyond its grant.
    #[inline(never)]
    fn keep_clock(&mut self, class: usize, planned: u64, now: u64) {
        if self.stretch(class).is_none() {
            return;
        }
        let (interval, is_fresh, clock) = (self.pace(class).ceil_of(SLOT), self.fresh >> class & 1 == 1, &mut self.clocks[class % CLASSES]);
        let due = if is_fresh { now } else { later(clock.next, planned.wrapping_add(clock.delay)) };
        let latest = now.wrapping_sub(LATENESS_ALLOWANCE);
        if is_before(due, latest) {
            clock.delay = clock.delay.wrapping_add(latest.wrapping_sub(due));
        }
        clock.next = earlier(later(due, latest), now.wrapping_add(LEAD_LIMIT)).wrapping_add(interval);
        self.fresh &= !(1 << class);
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self) {
        self.is_stretched = self.total > CellRate::LINK;
        self.has_clocks = self.is_stretched && !self.asking.is_power_of_two();
        if !self.is_stretched {
            self.fresh = u8::MAX;
            self.stretch = [Stretch::NONE; CLASSES];
            return;
        }
        // `water_fill` in one pass: in an overload the demand changes every few cells.
        if self.guarantees.is_none() {
            // The first class that gets less than it asks for gets all that is left; those after it get nothing.
            self.stretch = [Stretch::NONE; CLASSES];
            let mut left = CellRate::LINK.0;
            for (class, demand) in self.demand.iter().enumerate() {
                if demand.0 > left {
                    self.stretch[class] = if fault!(CellsWithoutStretch) { Stretch::NONE } else { Stretch::ceil(demand.0, left) };
                    self.pace[class] = Stretch::ceil(CellRate::LINK.0, left);
                    self.fresh |= !(1 << class);
                    return;
                }
                left -= demand.0;
            }
            return;
        }
        let reserved = |class: usize| self.demand[class].min(self.minimum[class]).0;
        let mut left = (0..CLASSES).fold(CellRate::LINK.0, |left, class| left.saturating_sub(reserved(class)));
        for class in 0..CLASSES {
            let demand = self.demand[class].0;
            self.stretch[class] = Stretch::NONE;
            let fresh = self.fresh;
            self.fresh |= 1 << class;
            if demand > 0 {
                let reserved = reserved(class);
                let more = (demand - reserved).min(left);
                left -= more;
                if reserved + more < demand {
                    self.stretch[class] = if fault!(CellsWithoutStretch) { Stretch::NONE } else { Stretch::ceil(demand, reserved + more) };
                    self.pace[class] = Stretch::ceil(CellRate::LINK.0, reserved + more);
                    self.fresh = fresh;
                }
            }
        }
    }
}

impl Sharing for RateScaling {
    #[inline]
    fn demand_changed(&mut self, class: usize, from: CellRate, to: CellRate) {
        let (demand, total) = (&mut self.demand[class].0, &mut self.total.0);
        // Sums of at most 2^22 rates of at most 2^40 each.
        *demand = *demand - from.0 + to.0;
        *total = *total - from.0 + to.0;
        self.asking |= 1 << class;
        if self.is_stretched || self.total > CellRate::LINK {
            self.fill();
        }
    }

    #[inline]
    fn stretch(&mut self, class: usize) -> Stretch {
        self.stretch[class % CLASSES]
    }

    // An inactive class has no demand, so its slots are granted to lower ones. Without slots that are owed, it would take them back from the
    // minimum shares.
    #[inline]
    fn owed(&self, class: usize) -> Option<u64> {
        self.guarantees.as_ref()?.owed(class)
    }

    #[inline]
    fn delay(&self, class: usize) -> u64 {
        self.clocks[class % CLASSES].delay
    }

    #[inline]
    fn sent(&mut self, class: usize, planned: u64, now: u64) {
        if self.has_clocks {
            self.keep_clock(class, planned, now);
        }
        self.sent_unstretched(class, planned, now);
    }

    #[inline]
    fn sent_unstretched(&mut self, class: usize, _planned: u64, now: u64) {
        if let Some(guarantees) = &mut self.guarantees {
            guarantees.sent(class, now);
        }
    }

    fn refresh(&mut self, now: u64) {
        if let Some(guarantees) = &mut self.guarantees {
            guarantees.refresh(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The grant of every class: the smaller of its minimum share and its demand, then of the rest as much as it asks for, class by class.
    ///
    /// ```
    /// use tidegate_core::sharing::{CLASSES, CellRate, water_fill};
    /// let percent = |n| CellRate::floor_of_ratio(n, 100).unwrap();
    /// let (mut demand, mut minimum) = ([CellRate::ZERO; CLASSES], [CellRate::ZERO; CLASSES]);
    /// (demand[0], demand[1], demand[2], minimum[2]) = (percent(10), percent(325), percent(20), percent(5));
    /// let granted = water_fill(&demand, &minimum).map(|rate| (rate.0 * 1000 + (1 << 39)) >> 40);
    /// assert_eq!(granted[..3], [100, 850, 50]); // thousandths of the link
    /// ```
    fn water_fill(demand: &[CellRate; CLASSES], minimum: &[CellRate; CLASSES]) -> [CellRate; CLASSES] {
        let mut left = CellRate::LINK.0;
        let mut granted = [CellRate::ZERO; CLASSES];
        for class in 0..CLASSES {
            granted[class] = demand[class].min(minimum[class]);
            left = left.saturating_sub(granted[class].0);
        }
        for class in 0..CLASSES {
            let more = (demand[class].0 - granted[class].0).min(left);
            granted[class].0 += more;
            left -= more;
        }
        granted
    }

    proptest! {
        /// Every class is stretched by its demand over the grant of `water_fill`.
        #[test]
        fn stretches_follow_the_grants(
            demand in prop::array::uniform8(prop_oneof![Just(0), 1u64..1 << 42]),
            minimum in prop::array::uniform8(prop_oneof![Just(0), 1u64..1 << 37]),
        ) {
            let (demand, minimum) = (demand.map(CellRate), minimum.map(CellRate));
            for minimum in [minimum, [CellRate::ZERO; CLASSES]] {
                let mut sharing = RateScaling::new(minimum).unwrap();
                for (class, &rate) in demand.iter().enumerate() {
                    sharing.demand_changed(class, CellRate::ZERO, rate);
                }
                let granted = water_fill(&demand, &minimum);
                for class in 0..CLASSES {
                    prop_assert_eq!(sharing.stretch(class), Stretch::ceil(demand[class].0, granted[class].0));
                }
            }
        }
    }
}
