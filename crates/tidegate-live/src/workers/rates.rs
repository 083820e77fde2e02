//! The rates of the workers of a direction: each reports, and the first that finds an exchange due makes it.

use crate::locks::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::exchange::{Exchange, ExchangeError, Report, WorkerMeter};
use tidegate_core::units::{Duration, Rate, Time};

#[derive(Debug)]
pub(super) struct Rates {
    state: Mutex<State>,
    /// The granted rates in bit/s.
    granted: Box<[AtomicU64]>,
}

#[derive(Debug)]
struct State {
    exchange: Exchange,
    /// What each worker has reported since the last exchange.
    reports: Vec<Report>,
    /// The bytes on the wire that all workers have sent.
    sent: u64,
    interval: Duration,
    next: Time,
}

impl Rates {
    pub(super) fn new(now: Time, rate: Rate, workers: usize, interval: Duration, longest: u32) -> Result<Rates, ExchangeError> {
        let exchange = Exchange::new(now, rate, workers, interval, longest)?;
        let granted = exchange.granted().iter().map(|rate| AtomicU64::new(rate.bits_per_second())).collect();
        let state = State { exchange, reports: vec![Report::default(); workers], sent: 0, interval, next: now + interval };
        Ok(Rates { state: Mutex::new(state), granted })
    }

    /// The rate of a worker in bit/s.
    #[inline]
    pub(super) fn granted(&self, worker: usize) -> u64 {
        self.granted[worker].load(Ordering::Relaxed)
    }

    /// Takes the report of a worker, and makes an exchange if one is due. Returns when the next is due; `None` if another worker reports at this moment
    /// and this one does not `wait` for it.
    pub(super) fn report(&self, now: Time, worker: usize, meter: &mut WorkerMeter, waits: bool) -> Option<Time> {
        let mut state = if waits { lock(&self.state) } else { self.state.try_lock().ok()? };
        let State { exchange, reports, sent, interval, next } = &mut *state;
        let report = meter.take_report();
        *sent += report.sent;
        add(&mut reports[worker], report);
        if !now.is_before(*next) {
            let granted = exchange.exchange(now, reports);
            for (shared, rate) in self.granted.iter().zip(granted) {
                shared.store(rate.bits_per_second(), Ordering::Relaxed);
            }
            reports.iter_mut().for_each(begin);
            *next = now + *interval;
        }
        Some(*next)
    }

    /// The bytes on the wire that all workers have reported.
    pub(super) fn sent(&self) -> u64 {
        lock(&self.state).sent
    }
}

/// Adds a report to those that the same worker has made since the last exchange.
fn add(sum: &mut Report, report: Report) {
    let Report { sent, backlogged_weight, standing_weight, service, passing_weight, passing_bytes } = report;
    sum.sent += sent;
    sum.service += service;
    sum.passing_bytes += passing_bytes;
    (sum.backlogged_weight, sum.standing_weight) = (backlogged_weight, standing_weight);
    // A member that sent in both counts once.
    sum.passing_weight = sum.passing_weight.max(passing_weight);
}

/// What is known of a worker that has not reported since the exchange.
fn begin(report: &mut Report) {
    let Report { backlogged_weight, standing_weight, .. } = *report;
    *report = Report { backlogged_weight, standing_weight, ..Report::default() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_add_up_until_the_exchange() {
        let first = Report { sent: 5, backlogged_weight: 3, standing_weight: 2, service: 7, passing_weight: 4, passing_bytes: 1 };
        let mut sum = Report::default();
        add(&mut sum, first);
        add(&mut sum, Report { sent: 10, backlogged_weight: 1, standing_weight: 1, service: 70, passing_weight: 2, passing_bytes: 10 });
        assert_eq!(sum, Report { sent: 15, backlogged_weight: 1, standing_weight: 1, service: 77, passing_weight: 4, passing_bytes: 11 });
        begin(&mut sum);
        assert_eq!(sum, Report { backlogged_weight: 1, standing_weight: 1, ..Report::default() });
    }

    #[test]
    fn the_first_worker_that_finds_an_exchange_due_makes_it() {
        let at = |microseconds| Time::ZERO + Duration::from_microseconds(microseconds);
        let rates = Rates::new(Time::ZERO, Rate::new(1_000_000_000).unwrap(), 2, Duration::from_microseconds(150), 1500).unwrap();
        let mut meter = WorkerMeter::new(tidegate_core::units::Overhead::None, &[0], &[1]);
        assert_eq!(rates.report(at(50), 0, &mut meter, false), Some(at(150)));
        assert_eq!((rates.granted(0), rates.granted(1)), (500_000_000, 500_000_000));
        assert_eq!(rates.report(at(160), 1, &mut meter, false), Some(at(310)));
        // What nothing used is credit for one interval.
        assert!(rates.granted(0) == rates.granted(1) && rates.granted(0) > 900_000_000, "{}", rates.granted(0));
        assert_eq!(rates.report(at(161), 0, &mut meter, false), Some(at(310)));
    }
}
