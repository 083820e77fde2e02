//! Computes when the next cell of one connection may leave: the GCRA as a time instead of a test.
//!
//! **Law.** A stream whose every cell leaves at or after [`Shaping::next`] is accepted without exception by a policer of the same contract:
//! GCRA(T, CDVT), and GCRA(Ts, BT) for a sustained rate. The policer's own CDVT on top of BT is a margin.
//!
//! **Source.** Schiller and Gunningberg, section 4.3: states, modes, and state that changes only when a cell leaves; the GCRA of ATM Forum
//! Traffic Management 4.0 in the virtual scheduling form. The share clock, for section 4.5, is this project's.
//!
//! **State.** 56 bytes: three clocks, the contract, and two of the bytes that the schedulers keep in the same cache line.
//!
//! **Cost.** Two additions per cell while the connection is steady: it sends at one interval, and no cell is late enough to change it.
//! Otherwise two dozen additions and comparisons, and two multiplications while the class is overloaded.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** The paper counts tokens; here the bucket is the GCRA's theoretical arrival time, which gives the same counts and after
//! delays may allow one cell more. The tolerance only forgives lateness: planning from `max(next, t - CDVT)` keeps the policer's
//! theoretical arrival time at or before `next + CDVT`, because `max(TAT, t) + T <= max(next, t - CDVT) + T + CDVT`. So a cell at or after
//! `next` conforms.
//!
//! A late cell that finds its bucket full takes its token late, so that the burst would end one cell early. A burst therefore waits for
//! tokens, in all for as long as its cells were late. (If it could wait the whole CDVT at every cell, a connection whose intervals differ
//! by less would never leave the burst.) The pause in which a bucket refills is a state of its own, because a connection in it asks for
//! nothing. A share clock that is ahead survives inactivity, so posting cell by cell gains nothing in an overload. Peak and sustained
//! interval are both stretched.

use crate::contract::{CellContract, Mode};
use crate::time::Ticks;
use tidegate_core::serial::{earlier, is_before, later};
use tidegate_core::sharing::{CellRate, SLOT, Stretch};

/// How far the share clock may fall behind and catch up, in ticks: slots lost to conflicts within it are not lost to the share.
pub const CATCH_UP: u64 = 64 * SLOT;

/// The limit on the next cell of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// PCR: the peak interval; tokens are left.
    Peak,
    /// SCR: the next token.
    Sustained,
    /// The bucket, which must refill first.
    Refill,
}

/// The state of a connection in its scheduler; kept here because the cache line has room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Place {
    /// The number is free.
    Vacant,
    /// Removed, with an entry left in a list that cannot be searched.
    Dead,
    /// It has never had a cell to send.
    Fresh,
    /// It has no cell to send.
    Inactive,
    /// It has cells to send after inactivity, and none has arrived on the adapter.
    Starting,
    /// It was due without a cell on the adapter.
    Starved,
    /// In the ready list.
    Listed,
}

/// The shaping state of one connection.
///
/// ```
/// use tidegate_cells::{CellContract, Mode, Shaping, State, Stretch, Sustained, Ticks, SLOT};
/// let mut contract = CellContract::constant(Ticks::slots(2));
/// contract.mode = Mode::SingleBucket(Sustained { interval: Ticks::slots(10), maximum_burst_size: 3 });
/// contract.delay_variation_tolerance = Ticks::ZERO;
/// let mut shaping = Shaping::new(&contract);
/// shaping.start(0);
/// let mut slots = [0; 5];
/// for slot in &mut slots {
///     *slot = shaping.next() / SLOT;
///     shaping.on_sent(*slot * SLOT, Stretch::NONE);
/// }
/// assert_eq!(slots, [0, 2, 4, 14, 24]); // a burst of three, then a cell per token
/// assert_eq!(shaping.state(), State::Sustained);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shaping {
    /// The planned time of the next cell.
    next: u64,
    /// When the token bucket is full again: the theoretical arrival time of GCRA(Ts, BT).
    full: u64,
    peak: u64,
    /// 0 without a sustained rate.
    sustained: u64,
    burst: u64,
    tolerance: u32,
    /// How long before `next` the class's share alone would let the cell leave: the share clock. Saturates above [`CATCH_UP`].
    lag: u32,
    /// How late the bucket is because of late cells: the burst may wait this long for tokens in all. While the connection is steady, the
    /// lateness below which the next cell follows after one interval.
    slack: u32,
    phase: Phase,
    state: State,
    pub(crate) class: u8,
    pub(crate) place: Place,
}

/// The rule for the next cell, which follows from the mode of the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Phase {
    /// Without a sustained rate, or with one token per cell after a burst.
    Single,
    /// The bucket must refill after a burst.
    Dual,
    /// As `Single`, while cells follow one another at the interval of the contract.
    Steady,
}

const _: () = assert!(size_of::<Shaping>() == 56, "a cache line, less the counters of a connection");

/// How far a share clock is behind, at least 0, saturated.
#[inline]
const fn lag(behind: i64) -> u32 {
    if behind > u32::MAX as i64 { u32::MAX } else { behind as u32 }
}

impl Shaping {
    /// The state of a connection that has not sent yet. The contract has been checked.
    pub const fn new(contract: &CellContract) -> Shaping {
        let (sustained, phase) = match contract.mode {
            Mode::Constant => (0, Phase::Single),
            Mode::SingleBucket(sustained) => (sustained.interval.0, Phase::Single),
            Mode::DualBucket(sustained) => (sustained.interval.0, Phase::Dual),
        };
        Shaping {
            next: 0,
            full: 0,
            peak: contract.peak_interval.0,
            sustained,
            burst: contract.burst_tolerance().0,
            tolerance: contract.delay_variation_tolerance.0 as u32,
            lag: 0,
            slack: 0,
            phase,
            state: State::Peak,
            class: contract.class,
            place: Place::Fresh,
        }
    }

    /// The planned time of the next cell, in ticks.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The limit on the next cell.
    #[inline]
    pub const fn state(&self) -> State {
        self.state
    }

    /// How late a cell may leave without delaying those after it.
    #[inline]
    pub const fn tolerance(&self) -> Ticks {
        Ticks(self.tolerance as u64)
    }

    /// Sets the limit on the next cell.
    #[inline]
    pub(crate) const fn set_state(&mut self, state: State) {
        self.state = state;
    }

    /// Restarts: the bucket is full and the first cell may leave at `now`.
    pub const fn start(&mut self, now: u64) {
        self.next = now;
        self.full = now;
        self.lag = 0;
        self.unsteady();
        self.slack = 0;
        self.state = State::Peak;
    }

    /// Cells come after inactivity: the next one is planned for `now`, or for when the contract allows it. A connection that was in a pause
    /// stays in it.
    #[inline]
    pub const fn on_data(&mut self, now: u64) {
        self.unsteady();
        if is_before(self.next, now) {
            self.next = now;
            self.state = State::Peak;
            self.lag = 0;
            self.slack = 0;
        } else {
            // The share clock begins at `now`, unless it is later.
            self.lag = self.lag_of(earlier(self.next, later(self.share(), now)));
        }
    }

    const fn share(&self) -> u64 {
        self.next.wrapping_sub(self.lag as u64)
    }

    /// The lag of a share clock that is at or before `next`.
    const fn lag_of(&self, share: u64) -> u32 {
        lag(self.next.wrapping_sub(share) as i64)
    }

    /// The planned cell was missing and has arrived.
    #[inline]
    pub(crate) const fn put_off(&mut self, now: u64) {
        self.unsteady();
        let share = self.share();
        self.next = later(self.next, now);
        self.lag = self.lag_of(share);
    }

    /// The next cell has to be computed.
    const fn unsteady(&mut self) {
        if matches!(self.phase, Phase::Steady) {
            (self.phase, self.slack) = (Phase::Single, 0);
        }
    }

    /// A cell leaves at `now`, at or after [`Shaping::next`], while intervals are stretched by `stretch`: plans the cell after it.
    #[inline]
    pub const fn on_sent(&mut self, now: u64, stretch: Stretch) {
        self.state = self.plan_next(self.next, now.wrapping_sub(self.next), stretch);
    }

    /// True if the cell after one that leaves this late follows after one interval, while no interval is stretched.
    #[inline(always)]
    pub(crate) const fn is_steady(&self, late: u64) -> bool {
        matches!(self.phase, Phase::Steady) && late < self.slack as u64
    }

    /// Plans the cell after one that was planned for `origin`, [`Shaping::next`], if [`Shaping::is_steady`]. No other state changes.
    #[inline(always)]
    pub(crate) const fn plan_steady(&mut self, origin: u64) -> u64 {
        let interval = if self.sustained > 0 { self.sustained } else { self.peak };
        self.next = origin.wrapping_add(interval);
        self.full = self.full.wrapping_add(interval);
        self.next
    }

    /// Determines whether the connection is steady, after a cell has been planned.
    ///
    /// In the sustained state the next cell is planned for its token or its share, whichever is later; that one is an interval after the
    /// previous cell's, and stays so. The peak interval does not limit the cell unless lateness fills the bucket or exceeds the wait for the
    /// token, and the share clock gives nothing up within [`CATCH_UP`]. Without a sustained rate the peak interval replaces the token's.
    const fn update_steady(&mut self, state: State) {
        const fn min(a: i64, b: i64) -> i64 {
            if a < b { a } else { b }
        }
        let on_time = if self.sustained == 0 {
            self.tolerance as i64 + 1
        } else if let State::Sustained = state {
            let taken = self.full.wrapping_sub(self.next) as i64;
            let wait = taken + (self.sustained - self.peak) as i64 - self.burst as i64;
            if wait > 0 { min(taken + 1, wait + self.tolerance as i64) } else { 0 }
        } else {
            return;
        };
        let on_time = min(on_time, CATCH_UP as i64 + 1 - self.lag as i64);
        if on_time > 0 {
            (self.phase, self.slack) = (Phase::Steady, on_time as u32);
        }
    }

    /// [`Shaping::on_sent`] for a cell that was planned for `origin`, [`Shaping::next`], and leaves this late. Returns the state instead of
    /// setting it.
    #[inline(never)]
    pub(crate) const fn plan_next(&mut self, origin: u64, late: u64, stretch: Stretch) -> State {
        self.unsteady();
        let state = self.compute_next(origin, late, stretch);
        if stretch.is_none() {
            self.update_steady(state);
        }
        state
    }

    #[inline(always)]
    const fn compute_next(&mut self, origin: u64, late: u64, stretch: Stretch) -> State {
        const fn max(a: i64, b: i64) -> i64 {
            if a > b { a } else { b }
        }
        // All instants are relative to the planned time of the cell that leaves.
        let (late, tolerance) = (late as i64, self.tolerance as i64);
        let base = max(late.wrapping_sub(tolerance), 0);
        let mut last_share = -(self.lag as i64);
        if late.wrapping_sub(last_share) > CATCH_UP as i64 {
            last_share = max(late.wrapping_sub(max(tolerance, CATCH_UP as i64)), last_share);
        }
        // The clock of the contract, or of the share. Without a stretch the share is at or before the contract.
        let mut next = base.wrapping_add(self.peak as i64);
        let mut share = last_share.wrapping_add(self.peak as i64);
        if !stretch.is_none() {
            share = last_share.wrapping_add(stretch.ceil_of(self.peak) as i64);
            next = max(next, share);
        }
        let mut state = State::Peak;
        if self.sustained > 0 {
            let mut taken = self.full.wrapping_sub(origin) as i64;
            if taken < late {
                // The bucket is full: the token is taken late.
                let slack = (self.slack as i64).wrapping_add(late).wrapping_sub(max(taken, base));
                self.slack = if slack < tolerance { slack as u32 } else { tolerance as u32 };
                taken = late;
            }
            let refilled = taken.wrapping_add(self.sustained as i64);
            self.full = origin.wrapping_add(refilled as u64);
            let token = refilled.wrapping_sub(self.burst as i64);
            let wait = token.wrapping_sub(next);
            if wait > 0 {
                if wait <= self.slack as i64 {
                    self.slack -= wait as u32;
                    next = token;
                } else {
                    self.slack = 0;
                    if let Phase::Dual = self.phase {
                        // The burst after a pause restarts its share, as after inactivity.
                        next = max(next, refilled);
                        (state, share) = (State::Refill, next);
                    } else {
                        share = last_share.wrapping_add(stretch.ceil_of(self.sustained) as i64);
                        (state, next) = (State::Sustained, max(token, share));
                    }
                }
            }
        }
        self.next = origin.wrapping_add(next as u64);
        self.lag = lag(next.wrapping_sub(share));
        state
    }

    /// The interval between cells in this state, in ticks. After a pause it is the peak interval.
    #[inline]
    pub(crate) const fn spacing(&self, stretch: Stretch) -> u64 {
        stretch.ceil_of(if let State::Sustained = self.state { self.sustained } else { self.peak })
    }

    #[inline]
    pub(crate) const fn shortest(&self) -> u64 {
        self.peak
    }

    /// The rate that a connection in a state asks for.
    pub(crate) const fn rate(&self, state: State) -> CellRate {
        match state {
            State::Peak => Ticks(self.peak).floor_rate(),
            State::Sustained => Ticks(self.sustained).floor_rate(),
            State::Refill => CellRate::ZERO,
        }
    }

    /// Takes another contract from the next cell on, with a full bucket.
    pub(crate) const fn change(&mut self, contract: &CellContract) {
        let new = Shaping::new(contract);
        *self = Shaping { next: self.next, full: self.next, lag: self.lag, place: self.place, ..new };
    }

    /// Moves all clocks by `span`, the difference between the clocks of two classes.
    pub(crate) const fn shift(&mut self, span: u64) {
        self.next = self.next.wrapping_add(span);
        self.full = self.full.wrapping_add(span);
    }

    /// Pulls instants that lie far in the past up to `oldest`.
    pub(crate) const fn refresh(&mut self, oldest: u64) {
        self.next = later(self.next, oldest);
        self.full = later(self.full, oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Sustained;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A cell leaves this late, while intervals are stretched by this many 64ths.
        Send(u64, u64),
        /// A cell arrives this long after the previous one has left.
        PutOff(u64),
        OnData(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let late = || prop_oneof![8 => 0..4 * SLOT, 4 => 0..80 * SLOT, 1 => 0..5000 * SLOT];
        prop_oneof![
            60 => (late(), Just(0)).prop_map(|(late, stretch)| Step::Send(late, stretch)),
            2 => (late(), 0u64..100).prop_map(|(late, stretch)| Step::Send(late, stretch)),
            1 => late().prop_map(Step::PutOff),
            1 => late().prop_map(Step::OnData),
        ]
    }

    proptest! {
        /// A steady connection plans what would be computed for it.
        #[test]
        fn a_steady_connection_is_as_if_computed(
            start: u64, peak in SLOT..100 * SLOT, ratio in 64u64..400, size in 1u32..6, tolerance in 0..20 * SLOT, mode in 0usize..3,
            steps in prop::collection::vec(step(), 1..200),
        ) {
            let sustained = Sustained { interval: Ticks(peak * ratio / 64), maximum_burst_size: size };
            let contract = CellContract {
                mode: [Mode::Constant, Mode::SingleBucket(sustained), Mode::DualBucket(sustained)][mode],
                delay_variation_tolerance: Ticks(tolerance),
                ..CellContract::constant(Ticks(peak))
            };
            let mut shaping = Shaping::new(&contract);
            shaping.start(start);
            for step in steps {
                let mut computed = shaping;
                computed.unsteady();
                let now = shaping.next;
                match step {
                    Step::Send(late, stretch) => {
                        let stretch = Stretch::ceil(64 + stretch, 64);
                        if stretch.is_none() && shaping.is_steady(late) {
                            shaping.plan_steady(now);
                        } else {
                            shaping.state = shaping.plan_next(now, late, stretch);
                        }
                        computed.state = computed.plan_next(now, late, stretch);
                    }
                    Step::PutOff(late) => {
                        shaping.put_off(now.wrapping_add(late));
                        computed.put_off(now.wrapping_add(late));
                    }
                    Step::OnData(late) => {
                        shaping.on_data(now.wrapping_add(late));
                        computed.on_data(now.wrapping_add(late));
                    }
                }
                let fields = |mut shaping: Shaping| {
                    shaping.unsteady();
                    let full = if shaping.sustained > 0 { shaping.full } else { 0 };
                    (shaping.next, full, shaping.lag, shaping.slack, shaping.state)
                };
                prop_assert_eq!(fields(shaping), fields(computed));
            }
        }

        /// Equal lateness leaves every connection that is not in a pause steady, once its burst is over.
        #[test]
        fn a_connection_is_steady_after_its_burst(peak in SLOT..100 * SLOT, ratio in 65u64..400, size in 1u32..6, late in 0..SLOT) {
            for mode in [Mode::Constant, Mode::SingleBucket(Sustained { interval: Ticks(peak * ratio / 64), maximum_burst_size: size })] {
                let mut shaping = Shaping::new(&CellContract { mode, ..CellContract::constant(Ticks(peak)) });
                shaping.start(0);
                for _ in 0..64 * size {
                    shaping.state = shaping.plan_next(shaping.next, late, Stretch::NONE);
                }
                prop_assert!(late >= peak * (ratio - 64) / 64 || shaping.is_steady(0), "{shaping:?}");
            }
        }
    }
}
