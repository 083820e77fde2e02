//! Exchange: several workers send one link's packets. At each exchange every worker reports its demand and is granted a rate.
//!
//! A *worker* runs a port of its own, with some of the members below the root of the link's scheduler. A *member* belongs to one worker. The worker
//! sends at its granted rate until the next exchange ([`Port::change_link_rate`](crate::port::Port::change_link_rate)); its [`WorkerMeter`] observes its port.
//!
//! **Law.**
//! 1. The granted rates never sum up to more than the link's rate and the credit spread over one interval. Credit is what the workers left unused
//!    before, at most what the link carries in one interval.
//! 2. Between any two exchanges in time, the packets started take no more than the link carries in that time, plus the credit limit
//!    and one longest packet per worker ([`Exchange::burst`]).
//! 3. Members that stay backlogged are served in proportion to their weights, whichever workers they are on. The service per weight of any two
//!    workers is brought together again within a fixed time, so that differences do not add up. Tested, not proven.
//!
//! **Source.** Weighted max-min shares as in generalised processor sharing: A. K. Parekh, R. G. Gallager, IEEE/ACM Transactions on Networking 1(3), 1993.
//! Rates that follow reports every 100 to 200 us: `cake_mq` of Linux 7.0, which has no tree, and loses a third of the link under an 80/20 load.
//!
//! **State.** 88 bytes per worker; per meter 8 bytes per flow and 24 per member.
//!
//! **Cost.** An exchange takes a few divisions per worker and at most as many rounds as there are workers, whatever the number of members. A meter
//! takes a few additions and a multiplication per packet, and a division when a member begins or ceases to stand. Nothing is allocated after
//! the build.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** The rates are those of the last reports, so they are late by one interval. Priorities, contracts of the root and members that span
//! workers themselves are not part of it: the root shares by weight alone.

mod assignment;
mod meter;

pub use assignment::assign;
pub use meter::{Report, WorkerMeter};

use crate::units::{Duration, PICOSECONDS_PER_SECOND, Rate, Time};
use alloc::vec::Vec;
use core::fmt;
use meter::FRACTION;

/// A byte in units of work: bits per second times picoseconds.
const BYTE: i128 = 8 * PICOSECONDS_PER_SECOND as i128;

/// One hundredth of the link's rate is granted to the workers alike, so that an idle worker starts its next packet at once.
const FLOOR_PARTS: u64 = 100;

/// The number of intervals over which a difference in service per weight is made up for, at least.
const CORRECTION_INTERVALS: u64 = 16;

/// The number of longest packets over whose time it is made up for, at least: the reports count whole packets.
const CORRECTION_PACKETS: u64 = 32;

/// Bytes that members send while they are not backlogged are averaged over about this many intervals.
const AVERAGE_SHIFT: u32 = 3;

/// Why there can be no exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExchangeError {
    /// Fewer than 2 workers, or more than 256.
    Workers(usize),
    /// The interval is shorter than 10 us or longer than 100 ms.
    Interval(Duration),
    /// The link has less than 100 kbit/s per worker.
    Rate(Rate),
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExchangeError::Workers(workers) => write!(f, "{workers} workers: 2 to 256 workers can share a link"),
            ExchangeError::Interval(interval) => {
                write!(f, "an interval of {} us: 10 us to 100 ms is right", interval.picoseconds() / 1_000_000)
            }
            ExchangeError::Rate(rate) => {
                write!(f, "{} bit/s: each worker needs a part of at least 100 kbit/s; fewer workers are right", rate.bits_per_second())
            }
        }
    }
}

impl core::error::Error for ExchangeError {}

/// Divides the rate of one link among workers.
///
/// ```
/// use tidegate_core::exchange::{Exchange, Report};
/// use tidegate_core::units::{Duration, Rate, Time};
/// let rate = Rate::new(1_000_000_000).unwrap();
/// let interval = Duration::from_microseconds(150);
/// let mut exchange = Exchange::new(Time::ZERO, rate, 2, interval, 1500).unwrap();
/// // Members of weight 3 are backlogged on the first worker, and of weight 1 on the second.
/// let backlogged = |weight| Report { backlogged_weight: weight, ..Report::default() };
/// let granted = exchange.exchange(Time::ZERO + interval, &[backlogged(3), backlogged(1)]);
/// // What nothing used in the first interval is credit: for one interval the workers send at twice the link's rate.
/// assert_eq!(granted.iter().map(|rate| rate.bits_per_second() / 1_000_000).collect::<Vec<_>>(), [1497, 502]);
/// ```
#[derive(Clone, Debug)]
pub struct Exchange {
    rate: Rate,
    interval: Duration,
    longest_packet: u32,
    /// The time over which a difference in service per weight is made up for.
    correction: Duration,
    last: Time,
    /// What the link could have carried so far less what has been started, as work; at most one interval.
    credit: i128,
    workers: Vec<Worker>,
    granted: Vec<Rate>,
}

#[derive(Clone, Debug, Default)]
struct Worker {
    /// Bytes per weight that standing members have been sent beyond the mean, in 2^-24; `None` if there are none.
    service: Option<i128>,
    /// The average of the bytes of other members per interval, shifted by [`AVERAGE_SHIFT`].
    passing: u64,
    /// The greatest weight of passing members in a report; it fades by a sixteenth per interval.
    passing_weight: u64,
    /// The rate that those members need.
    demand: u128,
    /// What it is granted before floors, in bit/s.
    grant: u128,
}

impl Exchange {
    /// All workers are idle at `now`. `longest_packet` is in bytes on the wire.
    ///
    /// # Errors
    /// [`ExchangeError`] names what is out of range.
    pub fn new(now: Time, rate: Rate, workers: usize, interval: Duration, longest_packet: u32) -> Result<Exchange, ExchangeError> {
        if !(2..=256).contains(&workers) {
            return Err(ExchangeError::Workers(workers));
        }
        if !(Duration::from_microseconds(10)..=Duration::from_milliseconds(100)).contains(&interval) {
            return Err(ExchangeError::Interval(interval));
        }
        let equal = rate.bits_per_second() / workers as u64;
        if equal < FLOOR_PARTS * Rate::MIN.bits_per_second() {
            return Err(ExchangeError::Rate(rate));
        }
        let packets = rate.time_per_byte().ceil(longest_packet).picoseconds() * CORRECTION_PACKETS;
        let correction = Duration::from_picoseconds((interval.picoseconds() * CORRECTION_INTERVALS).max(packets));
        let granted = (0..workers).map(|_| Rate::new(equal).unwrap_or(rate)).collect();
        let workers = (0..workers).map(|_| Worker::default()).collect();
        Ok(Exchange { rate, interval, longest_packet, correction, last: now, credit: 0, workers, granted })
    }

    /// The rates granted last, one per worker; equal ones before the first exchange.
    pub fn granted(&self) -> &[Rate] {
        &self.granted
    }

    /// The bytes that may be started between two exchanges beyond what the link carries in that time, if exchanges are never late.
    pub fn burst(&self) -> u64 {
        (self.credit_limit() / BYTE) as u64 + 1 + self.started_early()
    }

    /// What the link carries in one interval.
    fn credit_limit(&self) -> i128 {
        i128::from(self.rate.bits_per_second()) * i128::from(self.interval.picoseconds())
    }

    /// Packets count when they start: the bytes by which that may be before the granted rate has carried them.
    fn started_early(&self) -> u64 {
        u64::from(self.longest_packet) * self.workers.len() as u64
    }

    /// Grants rates until the next exchange, from one report per worker since the last.
    ///
    /// # Panics
    /// If there is not one report per worker.
    pub fn exchange(&mut self, now: Time, reports: &[Report]) -> &[Rate] {
        assert_eq!(reports.len(), self.workers.len(), "one report per worker");
        let elapsed = now.since(self.last);
        self.last = now;
        let budget = self.budget(elapsed, reports);
        self.note_service(reports);
        // The floors come first: they are 1 % of the rate.
        let floor = u128::from(self.rate.bits_per_second() / FLOOR_PARTS) / self.workers.len() as u128;
        let shared = budget.saturating_sub(floor * self.workers.len() as u128);
        let share = self.share_per_weight(shared, elapsed, reports);
        let mut sum = 0;
        for (index, report) in reports.iter().enumerate() {
            let worker = &self.workers[index];
            let passing = worker.demand.min((share * u128::from(worker.passing_weight)) >> FRACTION);
            let fair = passing + ((share * u128::from(report.backlogged_weight)) >> FRACTION);
            let lag = worker.service.map_or(0, |service| -service);
            let grant = fair.saturating_add_signed(self.correction(report.standing_weight, lag, fair));
            sum += grant;
            self.workers[index].grant = grant;
        }
        // What is left over when demand is low goes to all alike; corrections that were cut must not exceed the budget.
        let spare = shared.saturating_sub(sum) / self.workers.len() as u128;
        for (granted, worker) in self.granted.iter_mut().zip(&self.workers) {
            let grant = if sum > shared { worker.grant * shared / sum } else { worker.grant };
            *granted = rate_of(grant + spare + floor);
        }
        &self.granted
    }

    /// The rate that may be granted in all: the link's, and the credit spread over the next interval.
    fn budget(&mut self, elapsed: Duration, reports: &[Report]) -> u128 {
        let carried = i128::from(self.rate.bits_per_second()) * i128::from(elapsed.picoseconds());
        let started: i128 = reports.iter().map(|report| i128::from(report.sent) * BYTE).sum();
        self.credit = (self.credit + carried - started).min(self.credit_limit());
        // Late exchanges may have granted credit for too long: that is taken back.
        let overdrawn = (self.credit + i128::from(self.started_early()) * BYTE).min(0);
        let credit = self.credit.max(0) + overdrawn;
        let budget = i128::from(self.rate.bits_per_second()) + credit / i128::from(self.interval.picoseconds());
        budget.max(0) as u128
    }

    /// Adds what standing members were sent per weight, and subtracts the mean over the workers that have some.
    fn note_service(&mut self, reports: &[Report]) {
        let (mut sum, mut weights) = (0, 0);
        for (worker, report) in self.workers.iter_mut().zip(reports) {
            let weight = i128::from(report.standing_weight);
            if let (Some(service), 1..) = (&mut worker.service, weight) {
                *service += i128::from(report.service);
                sum += *service * weight;
                weights += weight;
            }
        }
        let mean = if weights > 0 { sum / weights } else { 0 };
        for (worker, report) in self.workers.iter_mut().zip(reports) {
            // A worker whose members begin to stay backlogged has no claim from before.
            worker.service = (report.standing_weight > 0).then(|| worker.service.map_or(0, |service| service - mean));
        }
    }

    /// The rate per weight, in 2^-24 bit/s, at which all demand takes `shared` in all: water filling. Members that pass take what they need, up to
    /// that share.
    fn share_per_weight(&mut self, shared: u128, elapsed: Duration, reports: &[Report]) -> u128 {
        let mut weights = 0;
        for (worker, report) in self.workers.iter_mut().zip(reports) {
            worker.passing += report.passing_bytes;
            let average = worker.passing >> AVERAGE_SHIFT;
            worker.passing -= average;
            worker.demand = u128::from(average) * BYTE as u128 / u128::from(elapsed.picoseconds().max(1));
            let faded = worker.passing_weight - worker.passing_weight.div_ceil(CORRECTION_INTERVALS);
            worker.passing_weight = report.passing_weight.max(faded);
            weights += u128::from(report.backlogged_weight) + u128::from(worker.passing_weight);
        }
        // Each round settles a worker whose passing members need less than the share, which raises the share of the others.
        let mut share = (shared << FRACTION) / weights.max(1);
        for _ in 0..self.workers.len() {
            let (mut weights, mut rest, before) = (0, shared, share);
            for (worker, report) in self.workers.iter().zip(reports) {
                weights += u128::from(report.backlogged_weight);
                if worker.demand <= (share * u128::from(worker.passing_weight)) >> FRACTION {
                    rest = rest.saturating_sub(worker.demand);
                } else {
                    weights += u128::from(worker.passing_weight);
                }
            }
            if weights == 0 {
                break;
            }
            share = (rest << FRACTION) / weights;
            if share == before {
                break;
            }
        }
        share
    }

    /// By how much a worker is granted more whose members of `weight` lag by `lag` in service per weight; at most its `fair` rate.
    fn correction(&self, weight: u64, lag: i128, fair: u128) -> i128 {
        let most = fair as i128;
        let rate = ((i128::from(weight) * lag) >> FRACTION) * BYTE / i128::from(self.correction.picoseconds());
        rate.clamp(-most, most)
    }
}

/// The rate in bit/s; what is out of range is brought to the nearest bound, which floor and budget never reach.
fn rate_of(bits_per_second: u128) -> Rate {
    let bounded = bits_per_second.clamp(Rate::MIN.bits_per_second().into(), Rate::MAX.bits_per_second().into());
    Rate::new(bounded as u64).unwrap_or(Rate::MIN)
}
