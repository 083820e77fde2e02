//! Computes when the next packet of a stream may start so that the stream keeps its contract of one or two leaky buckets.
//!
//! **Law**: if every packet starts at or after [`Allowance::release`] and is charged then, a policer of the same contract accepts the whole
//! stream: GCRA(peak, tolerance), and GCRA(rate, burst tolerance + tolerance). With [`Bucket::Dual`], no burst starts before the planned
//! instant at which the bucket is full. A burst and its pause last as long as its bytes at the rate, plus the lateness of the burst's start
//! beyond the tolerance.
//!
//! **Law of a change** ([`Allowance::change`]): the same contract keeps its state. Another carries the tokens over in bytes, at most as many as
//! the new bucket holds; a bucket that lacks bytes goes on lacking them. So no bytes are granted twice: one bucket that has at every instant
//! the rate and the depth of the contract in force accepts the whole stream. A policer of the new contract that is full at the change accepts
//! what follows. A packet that may start before a change may start after it. The pause of a dual bucket lasts until the new bucket is full.
//!
//! **Source**: ATM Forum Traffic Management 4.0, GCRA in the virtual scheduling form; [`crate::policer::packet_burst_tolerance`] derives the
//! burst tolerance from a maximum burst size. The two kinds of bucket are SLB and DLB of Schiller and Gunningberg, section 4.3.
//!
//! **State**: 48 bytes: two planned instants, two times per byte, two tolerances. The kind of bucket is a bit of one of them.
//!
//! **Cost**: two multiplications per packet charged, no division, and one branch that each stream always takes the same way. A change costs two
//! divisions.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: a policer grants its tolerance to early packets. Here the tolerance only forgives lateness: a packet that starts late,
//! because the link was busy, shifts the plan by the lateness beyond the tolerance. The stream conforms, because a policer's theoretical
//! arrival time is at most the tolerance after the planned instant. `max(TAT, t) + I <= max(plan, t - tolerance) + I + tolerance` holds
//! whenever `TAT <= plan + tolerance` does. Without tolerance and without burst, every wait for the link costs the stream as much time.
//! Times of packets are rounded up to a picosecond, and the burst's down. So the last packet of a burst that exactly fits may be due a few
//! picoseconds late; [`ROUNDING`] keeps a dual bucket from ending the burst there.

use crate::contract_state::ContractState;
use crate::packet::Flow;
use crate::policer::{Contract, ContractError, ContractField, packet_burst_tolerance};
use crate::units::{Duration, MAX_BYTES, Rate, SERIAL_HORIZON, Time, TimePerByte};
use alloc::vec::Vec;

/// What follows a burst.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Bucket {
    /// Single leaky bucket (SLB): each packet leaves as soon as the bucket holds enough for it.
    #[default]
    Single,
    /// Dual leaky bucket (DLB): once a packet has to wait for the bucket, nothing leaves until the bucket is full again.
    Dual,
}

/// The contract of a shaped stream. Lengths are on the wire.
///
/// ```
/// use tidegate_core::shaper::ShapingContract;
/// use tidegate_core::units::{Duration, Rate, Time};
/// // 1500-byte packets at 12 Mbit/s: one per millisecond, two of them back to back after a pause.
/// let contract = ShapingContract::new(Rate::new(12_000_000).unwrap(), 3000, 1500);
/// let mut allowance = contract.allowance().unwrap();
/// let mut starts = [Time::ZERO; 4];
/// for start in &mut starts {
///     *start = allowance.release().later(Time::ZERO);
///     allowance.charge(*start, 1500);
/// }
/// assert_eq!(starts.map(|start| start.since(Time::ZERO).picoseconds() / 1_000_000_000), [0, 0, 1, 2]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapingContract {
    /// The rate in the long run.
    pub rate: Rate,
    /// Bytes, at least the longest packet. Without a peak rate: the depth of a token bucket, hence the most that may leave ahead of the rate;
    /// it fills while a burst leaves. With a peak rate: the maximum burst size, hence the most that may leave back to back at the peak rate.
    pub burst: u32,
    /// The longest packet of the stream in bytes, at least 1.
    pub longest_packet: u32,
    /// The rate within a burst, at least `rate`; `None`: as fast as the link.
    pub peak: Option<Rate>,
    /// How late a packet may start without delaying those after it (ATM's CDVT). At least the time of the link's
    /// longest packet, or a stream without a burst falls short of its rate.
    pub tolerance: Duration,
    /// What follows a burst. A burst of one longest packet leaves no difference.
    pub bucket: Bucket,
}

impl ShapingContract {
    /// A contract of one rate and a single bucket, without tolerance.
    pub const fn new(rate: Rate, burst: u32, longest_packet: u32) -> ShapingContract {
        ShapingContract { rate, burst, longest_packet, peak: None, tolerance: Duration::ZERO, bucket: Bucket::Single }
    }

    /// The same contract for a policer: `dual-gcra` if there is a peak rate, `gcra` otherwise. What follows a burst is not policed.
    pub const fn policed(&self) -> Contract {
        let mut contract = Contract::new(self.rate, self.longest_packet);
        contract.peak_rate = self.peak;
        contract.burst = Some(self.burst);
        contract.delay_variation_tolerance = Some(self.tolerance);
        contract
    }

    /// The state that keeps a stream within the contract, all bursts unspent.
    ///
    /// # Errors
    /// [`ContractError`] names the field that is out of range.
    pub fn allowance(&self) -> Result<Allowance, ContractError> {
        let error = |field, problem| Err(ContractError { field, problem });
        if self.longest_packet == 0 || self.longest_packet > MAX_BYTES {
            return error(ContractField::LongestPacket, "must be at least one byte and less than 2^30");
        }
        if self.burst < self.longest_packet || self.burst > MAX_BYTES {
            return error(
                ContractField::Burst,
                "must hold at least the longest packet, which could otherwise never leave, and less than 2^30 bytes",
            );
        }
        if self.peak.is_some_and(|peak| peak < self.rate) {
            return error(ContractField::PeakRate, "must be at least the rate");
        }
        let rate = self.rate.time_per_byte();
        let burst = match self.peak {
            Some(peak) => packet_burst_tolerance(self.burst, self.longest_packet, peak.time_per_byte(), rate),
            None => rate.floor(self.burst - self.longest_packet),
        };
        if self.tolerance > SERIAL_HORIZON {
            return error(ContractField::DelayVariationTolerance, "must be at most 26 days");
        }
        if burst + self.tolerance + rate.ceil(self.longest_packet) > SERIAL_HORIZON {
            return error(
                ContractField::Burst,
                "with tolerance and longest packet takes more than 26 days at this rate: lower it or raise the rate",
            );
        }
        Ok(Allowance {
            peak: Time::ZERO,
            sustained: Time::ZERO,
            peak_rate: self.peak.map_or(TimePerByte::ZERO, Rate::time_per_byte),
            sustained_rate: rate,
            burst,
            // Without a burst tolerance there is never more than one packet to wait for.
            tolerance: self.tolerance.picoseconds() | if self.bucket == Bucket::Dual && burst > Duration::ZERO { DUAL } else { 0 },
        })
    }
}

/// The bit of [`Allowance::tolerance`] that marks a dual bucket. Tolerances end at [`SERIAL_HORIZON`], 2^61 ps.
const DUAL: u64 = 1 << 63;

/// A dual bucket ends a burst if the next packet has to wait longer than this for it. It covers the picosecond by which each of up to 1000
/// packets is rounded up; a longer burst may end one packet early.
const ROUNDING: Duration = Duration::from_nanoseconds(1);

/// When the next packet of one stream may start.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// The instant planned for the next packet by the peak rate, or the end of the pause that follows a burst from a dual bucket.
    peak: Time,
    /// The instant at which the bucket of the sustained rate is full again.
    sustained: Time,
    peak_rate: TimePerByte,
    sustained_rate: TimePerByte,
    /// How far before `sustained` a packet may start.
    burst: Duration,
    /// In picoseconds, below 2^62; the top bit marks a dual bucket.
    tolerance: u64,
}

impl Allowance {
    /// No contract: every packet may start at once.
    pub const UNLIMITED: Allowance = Allowance {
        peak: Time::ZERO,
        sustained: Time::ZERO,
        peak_rate: TimePerByte::ZERO,
        sustained_rate: TimePerByte::ZERO,
        burst: Duration::ZERO,
        tolerance: 0,
    };

    /// The state for each of these contracts.
    ///
    /// # Errors
    /// The first flow whose contract is out of range, and what is wrong with it.
    pub(super) fn of_each(contracts: &[Option<ShapingContract>]) -> Result<Vec<Allowance>, (Flow, ContractError)> {
        let state = |(index, contract): (usize, &Option<ShapingContract>)| match contract {
            Some(contract) => contract.allowance().map_err(|error| (Flow(index as u32), error)),
            None => Ok(Allowance::UNLIMITED),
        };
        contracts.iter().enumerate().map(state).collect()
    }

    /// The state that keeps a stream within the contract, if there is one, all bursts unspent at `now`.
    ///
    /// # Errors
    /// As [`ShapingContract::allowance`].
    pub fn at(now: Time, contract: Option<&ShapingContract>) -> Result<Allowance, ContractError> {
        let mut allowance = contract.map_or(Ok(Allowance::UNLIMITED), ShapingContract::allowance)?;
        allowance.start(now);
        Ok(allowance)
    }

    /// From `now` on the stream keeps this contract, or none. An error changes nothing.
    ///
    /// # Errors
    /// As [`ShapingContract::allowance`].
    ///
    /// ```
    /// use tidegate_core::shaper::{Allowance, ShapingContract};
    /// use tidegate_core::units::{Rate, Time};
    /// // 1000-byte packets at 8 Mbit/s, one per millisecond. The second of two is due in a millisecond.
    /// let contract = ShapingContract::new(Rate::new(8_000_000).unwrap(), 1000, 1000);
    /// let mut allowance = contract.allowance().unwrap();
    /// allowance.charge(Time::ZERO, 1000);
    /// // Half a packet is missing when the rate doubles: it takes a quarter of a millisecond more.
    /// let now = Time::from_nanoseconds(500_000);
    /// let doubled = ShapingContract { rate: Rate::new(16_000_000).unwrap(), ..contract };
    /// allowance.change(now, Some(&doubled)).unwrap();
    /// assert_eq!(allowance.release(), Time::from_nanoseconds(750_000));
    /// ```
    pub fn change(&mut self, now: Time, contract: Option<&ShapingContract>) -> Result<(), ContractError> {
        let old = core::mem::replace(self, Allowance::at(now, contract)?);
        self.adopt(now, &old);
        Ok(())
    }

    /// Continues at `now` from the state of another contract, or of the same. This one has started at `now`.
    pub fn adopt(&mut self, now: Time, old: &Allowance) {
        if old.contract() == self.contract() {
            *self = *old;
            return;
        }
        let (missing, is_refilling) = (old.sustained.since(now), old.is_refilling(now));
        let debt = missing.saturating_sub(old.burst);
        let tokens = old.burst.saturating_sub(missing);
        let (debt, tokens) = match rescaled(debt, old.sustained_rate, self.sustained_rate) {
            // Rounded against the stream.
            Some((_, debt)) => (debt, rescaled(tokens, old.sustained_rate, self.sustained_rate).map_or(self.burst, |(floor, _)| floor)),
            None => (Duration::ZERO, self.burst),
        };
        self.sustained = now + self.burst.saturating_sub(tokens) + debt;
        // The end of a pause has taken the place of the peak rate's plan, which was earlier than this.
        let planned = if is_refilling { old.sustained - old.burst } else { old.peak };
        self.peak = now + rescaled(planned.since(now), old.peak_rate, self.peak_rate).map_or(Duration::ZERO, |(_, debt)| debt);
        if self.is_dual() && (is_refilling || self.waits_for_the_bucket(now)) {
            self.peak = self.peak.later(self.sustained);
        }
    }

    /// What remains of the contract: all but the state.
    fn contract(&self) -> (TimePerByte, TimePerByte, Duration, u64) {
        (self.peak_rate, self.sustained_rate, self.burst, self.tolerance)
    }

    /// Starts afresh: all bursts are unspent at `now`.
    pub fn start(&mut self, now: Time) {
        self.peak = now;
        self.sustained = now;
    }

    /// The earliest instant at which the next packet may start; at or before the present means now. The packet's length does not matter:
    /// it counts against those after it.
    #[inline]
    pub fn release(&self) -> Time {
        self.peak.later(self.sustained - self.burst)
    }

    /// A packet of `length` bytes starts at `now`, which is not before [`Allowance::release`].
    #[inline]
    pub fn charge(&mut self, now: Time, length: u32) {
        if self.is_dual() {
            return self.charge_dual(now, length);
        }
        self.plan(now - Duration::from_picoseconds(self.tolerance), length);
    }

    /// The next packet waits until the bucket is full if it has to wait for the bucket at all.
    #[inline(never)]
    fn charge_dual(&mut self, now: Time, length: u32) {
        self.plan(now - self.tolerance(), length);
        if self.waits_for_the_bucket(now) {
            self.peak = self.sustained;
        }
    }

    /// True if at `now` the next packet has to wait for the bucket, and not only for the peak rate.
    #[inline]
    fn waits_for_the_bucket(&self, now: Time) -> bool {
        (self.sustained - self.burst).is_after(self.peak.later(now) + ROUNDING)
    }

    /// Plans the packet after one of `length` bytes. Plans before `late` are given up.
    #[inline(always)]
    fn plan(&mut self, late: Time, length: u32) {
        self.peak = self.peak.later(late) + self.peak_rate.ceil(length);
        self.sustained = self.sustained.later(late) + self.sustained_rate.ceil(length);
    }

    /// True while a dual bucket fills after a burst: the stream may not send whatever it has.
    #[inline]
    pub fn is_refilling(&self, now: Time) -> bool {
        self.is_dual() && self.peak == self.sustained && self.peak.is_after(now)
    }

    #[inline]
    const fn is_dual(&self) -> bool {
        self.tolerance >= DUAL
    }

    /// By how much the next packet is planned behind one of `length` bytes, which was charged last: at the peak rate while the burst lasts,
    /// then at the sustained rate.
    #[inline]
    pub fn spacing(&self, length: u32) -> Duration {
        if self.is_bursting() { self.peak_rate.ceil(length) } else { self.sustained_rate.ceil(length) }
    }

    /// True if only the peak rate, if there is one, delays the next packet.
    #[inline]
    pub fn is_bursting(&self) -> bool {
        !(self.sustained - self.burst).is_after(self.peak)
    }

    /// How late a packet may start without delaying those after it.
    #[inline]
    pub const fn tolerance(&self) -> Duration {
        Duration::from_picoseconds(self.tolerance & !DUAL)
    }

    /// A single bucket without a peak rate in short: the instant at which it is full plus the tolerance, the time per byte, and how far before that
    /// instant a packet may start.
    ///
    /// With `full` for the instant, a packet may start at `full - lead`, and after one of `n` bytes at `now` it is `max(full, now) + rate * n`.
    pub(crate) fn single(&self) -> Option<(Time, TimePerByte, Duration)> {
        let is_single = self.peak_rate == TimePerByte::ZERO && !self.is_dual();
        is_single.then(|| (self.sustained + self.tolerance(), self.sustained_rate, self.burst + self.tolerance()))
    }

    /// The same contract with the state that [`Allowance::single`] shortens to this instant.
    pub(crate) fn with_single(&self, full: Time) -> Allowance {
        let sustained = full - self.tolerance();
        Allowance { sustained, peak: sustained - self.burst, ..*self }
    }

    /// Shows what has been granted.
    pub(crate) fn visit_state(&mut self, state: &mut dyn ContractState) {
        let late = state.resting_at() - self.tolerance();
        // Plans before `late` are given up by the next packet, whatever they are.
        let rests = !self.peak.is_after(late) && !self.sustained.is_after(late);
        if state.contract(rests) {
            state.instant(&mut self.peak);
            state.instant(&mut self.sustained);
        } else if !rests {
            self.peak = self.peak.earlier(late);
            self.sustained = self.sustained.earlier(late);
        }
    }

    /// Moves instants that are far in the past to where they still compare correctly.
    pub fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        self.peak = self.peak.later(oldest);
        self.sustained = self.sustained.later(oldest);
    }
}

/// The time that the bytes of `time` at one rate take at another, rounded down and rounded up, at most [`SERIAL_HORIZON`]. `None` without a
/// first rate.
fn rescaled(time: Duration, from: TimePerByte, to: TimePerByte) -> Option<(Duration, Duration)> {
    // Below 2^62, 2^33 and 2^28.
    let product = (u128::from(time.picoseconds()) * u128::from(to.mantissa())) << from.shift();
    let divisor = u128::from(from.mantissa()) << to.shift();
    let quotient = product.checked_div(divisor)?;
    let at_most = |time: u128| Duration::from_picoseconds(time.min(u128::from(SERIAL_HORIZON.picoseconds())) as u64);
    Some((at_most(quotient), at_most(product.div_ceil(divisor))))
}
