//! Says when the next packet of a stream may start so that the stream keeps a contract: a dual leaky bucket turned round from a test into
//! a time.
//!
//! **Law**: if every packet starts at or after [`Allowance::release`] and is charged when it starts, the stream is accepted without
//! exception by a policer of the same contract: GCRA(peak, tolerance) and GCRA(rate, burst tolerance + tolerance), both or one.
//!
//! **Source**: ATM Forum Traffic Management 4.0, GCRA in the virtual scheduling form; the burst tolerance of a maximum burst size is
//! the one of [`crate::policer::packet_burst_tolerance`].
//!
//! **State**: 48 bytes: two planned instants, two times per byte, two tolerances.
//!
//! **Cost**: two multiplications per packet charged, no division and no branch.
//!
//! **RTL twin**: none yet.
//!
//! **Deviations**: a policer grants its tolerance to packets that come too early. Here the stream is planned without it, and the tolerance
//! only forgives lateness: a packet that starts late, because the link was taken, shifts the plan by no more than the lateness beyond
//! the tolerance. It conforms all the same: a policer's theoretical arrival time never lies more than the tolerance after the planned
//! one, because `max(TAT, t) + I <= max(plan, t - tolerance) + I + tolerance` holds whenever `TAT <= plan + tolerance` does. With no
//! tolerance at all and no burst, every wait for the link costs the stream as much rate. Times of packets are rounded up to a picosecond
//! and the burst's down, so the last packet of a burst that exactly fits may be due a few picoseconds after the others.

use crate::packet::Flow;
use crate::policer::{Contract, ContractError, ContractField, packet_burst_tolerance};
use crate::units::{Duration, MAX_BYTES, Rate, SERIAL_HORIZON, Time, TimePerByte};
use alloc::vec::Vec;

/// What a shaped stream must keep to. Lengths are on the wire.
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
    /// it fills while a burst leaves. With one: the maximum burst size, hence the most that may leave back to back at the peak rate.
    pub burst: u32,
    /// The longest packet of the stream in bytes, at least 1.
    pub longest_packet: u32,
    /// The rate within a burst, at least `rate`; `None`: as fast as the link.
    pub peak: Option<Rate>,
    /// How late a packet may start without delaying those after it (ATM's CDVT). At least the time of the link's
    /// longest packet, or a stream without a burst falls short of its rate.
    pub tolerance: Duration,
}

impl ShapingContract {
    /// A contract of one rate, without tolerance.
    pub const fn new(rate: Rate, burst: u32, longest_packet: u32) -> ShapingContract {
        ShapingContract { rate, burst, longest_packet, peak: None, tolerance: Duration::ZERO }
    }

    /// The same contract as a policer takes it: `dual-gcra` if there is a peak rate, `gcra` otherwise.
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
            tolerance: self.tolerance,
        })
    }
}

/// When the next packet of one stream may start.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// The instant planned for the next packet by the peak rate.
    peak: Time,
    /// The instant planned for the next packet by the sustained rate: when its bucket is empty again.
    sustained: Time,
    peak_rate: TimePerByte,
    sustained_rate: TimePerByte,
    /// How far before `sustained` a packet may start.
    burst: Duration,
    tolerance: Duration,
}

impl Allowance {
    /// No contract: every packet may start at once.
    pub const UNLIMITED: Allowance = Allowance {
        peak: Time::ZERO,
        sustained: Time::ZERO,
        peak_rate: TimePerByte::ZERO,
        sustained_rate: TimePerByte::ZERO,
        burst: Duration::ZERO,
        tolerance: Duration::ZERO,
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
        let late = now - self.tolerance;
        self.peak = self.peak.later(late) + self.peak_rate.ceil(length);
        self.sustained = self.sustained.later(late) + self.sustained_rate.ceil(length);
    }

    /// How far after a packet of `length` bytes, which was charged last, the contract would have the next one leave: at the peak rate
    /// while the burst lasts, then at the sustained rate.
    #[inline]
    pub fn spacing(&self, length: u32) -> Duration {
        if self.is_bursting() { self.peak_rate.ceil(length) } else { self.sustained_rate.ceil(length) }
    }

    /// True if it is the peak rate, if anything, that delays the next packet.
    #[inline]
    pub fn is_bursting(&self) -> bool {
        !(self.sustained - self.burst).is_after(self.peak)
    }

    /// How late a packet may start without delaying those after it.
    #[inline]
    pub const fn tolerance(&self) -> Duration {
        self.tolerance
    }

    /// Pulls instants that lie far in the past up to where they still compare correctly.
    pub fn refresh(&mut self, now: Time) {
        let oldest = now - SERIAL_HORIZON;
        self.peak = self.peak.later(oldest);
        self.sustained = self.sustained.later(oldest);
    }
}
