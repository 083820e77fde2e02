//! The rates of the workers of a direction: each reports, and the first that finds an exchange due makes it.

use crate::locks::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::exchange::{Exchange, ExchangeError, Limits, Report, WorkerMeter, Workers};
use tidegate_core::port::Port;
use tidegate_core::units::{Duration, Rate, Time};

#[derive(Debug)]
pub(super) struct Rates {
    state: Mutex<State>,
    /// For each worker in turn the granted rate of each spanning node, in bit/s.
    granted: Box<[AtomicU64]>,
    /// The level of each spanning node.
    levels: Box<[AtomicU64]>,
    /// The number of exchanges so far.
    exchanges: AtomicU64,
    /// The rate of the link.
    link: Rate,
}

#[derive(Debug)]
struct State {
    exchange: Exchange,
    /// What each worker has reported since the last exchange, for each spanning node.
    reports: Vec<Report>,
    interval: Duration,
    next: Time,
}

impl Rates {
    /// Those of a direction, and what keeps each worker to its own.
    pub(super) fn new(now: Time, workers: &Workers, rate: Rate, longest: u32) -> Result<(Rates, Vec<Limits>), ExchangeError> {
        let exchange = Exchange::new(now, workers, rate, longest)?;
        let limits: Vec<Limits> = (0..workers.count as usize).map(|worker| Limits::new(&exchange, workers, worker)).collect();
        let (interval, nodes) = (workers.exchange_every, workers.nodes.len());
        let granted = (0..limits.len()).flat_map(|worker| exchange.granted(worker)).map(|rate| AtomicU64::new(rate.bits_per_second()));
        let granted: Box<[AtomicU64]> = granted.collect();
        let levels = (0..nodes).map(|_| AtomicU64::new(0)).collect();
        let reports = vec![Report::default(); granted.len()];
        let state = State { exchange, reports, interval, next: now + interval };
        Ok((Rates { state: Mutex::new(state), granted, levels, exchanges: AtomicU64::new(0), link: rate }, limits))
    }

    /// Brings a worker to what the last exchange has granted it, unless it knows of that one.
    #[inline]
    pub(super) fn follow<P>(
        &self,
        now: Time,
        worker: usize,
        known: &mut u64,
        limits: &mut Limits,
        meter: &mut WorkerMeter,
        port: &mut Port<P>,
    ) {
        let exchanges = self.exchanges.load(Ordering::Acquire);
        if *known == exchanges {
            return;
        }
        *known = exchanges;
        let nodes = self.levels.len();
        let value = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let granted = self.granted[worker * nodes..][..nodes].iter().map(|word| Rate::new(value(word)).unwrap_or(Rate::MIN));
        limits.follow(now, port, granted);
        self.levels.iter().enumerate().for_each(|(node, level)| meter.set_level(node, value(level)));
    }

    /// The rate of the link.
    pub(super) fn link(&self) -> Rate {
        self.link
    }

    /// Takes the report of a worker, adds the bytes on the wire that it has `sent`, and makes an exchange if one is due. Returns when the next is due; `None`
    /// if another worker reports at this moment and this one does not `wait` for it.
    pub(super) fn report(&self, now: Time, worker: usize, (meter, sent): (&mut WorkerMeter, &mut u64), waits: bool) -> Option<Time> {
        let mut state = if waits { lock(&self.state) } else { self.state.try_lock().ok()? };
        let State { exchange, reports, interval, next } = &mut *state;
        for (known, report) in reports[worker * self.levels.len()..].iter_mut().zip(meter.take_reports()) {
            *sent += report.sent;
            known.add(&report);
        }
        if !now.is_before(*next) {
            exchange.exchange(now, reports);
            let granted = (0..reports.len() / self.levels.len()).flat_map(|worker| exchange.granted(worker));
            for (shared, rate) in self.granted.iter().zip(granted) {
                shared.store(rate.bits_per_second(), Ordering::Relaxed);
            }
            for (shared, level) in self.levels.iter().zip(exchange.levels()) {
                shared.store(level, Ordering::Relaxed);
            }
            self.exchanges.fetch_add(1, Ordering::Release);
            reports.iter_mut().for_each(|report| *report = report.begun());
            *next = now + *interval;
        }
        Some(*next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::units::Overhead;

    #[test]
    fn the_first_worker_that_finds_an_exchange_due_makes_it() {
        let at = |microseconds| Time::ZERO + Duration::from_microseconds(microseconds);
        let workers = Workers::of_link(2, Duration::from_microseconds(150), &[1], &[0]);
        let rate = Rate::new(1_000_000_000).unwrap();
        let (rates, _) = Rates::new(Time::ZERO, &workers, rate, 1500).unwrap();
        let granted = |worker: usize| rates.granted[worker].load(Ordering::Relaxed);
        let mut meter = WorkerMeter::new(Overhead::None, rate, &workers);
        let mut report = |now, worker| rates.report(now, worker, (&mut meter, &mut 0), false);
        assert_eq!(report(at(50), 0), Some(at(150)));
        assert_eq!((granted(0), granted(1)), (500_000_000, 500_000_000));
        assert_eq!(report(at(160), 1), Some(at(310)));
        // What nothing used is credit for one interval.
        assert!(granted(0) == granted(1) && granted(0) > 900_000_000, "{}", granted(0));
        assert_eq!(report(at(161), 0), Some(at(310)));
    }
}
