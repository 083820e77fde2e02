//! Another policy for a direction of several workers: all take it over at one instant.

use super::rates::Rates;
use super::{Worker, by_flow};
use std::sync::Arc;
use tidegate_core::exchange::{ExchangeError, Limits, WorkerMeter, Workers};
use tidegate_core::observer::Observer;
use tidegate_core::packet::Flow;
use tidegate_core::port::Port;
use tidegate_core::units::{Overhead, Rate, Time};

/// What a worker needs for another policy, beside its port; after the change, what it had.
#[derive(Debug)]
pub(crate) struct Plan {
    /// When all workers take the policy over.
    pub(crate) at: Time,
    by_flow: Arc<[u32]>,
    rates: Arc<Rates>,
    limits: Limits,
    meter: Box<WorkerMeter>,
}

/// The plans of all workers, from `at` on, for a link of this rate and overhead and packets of at most `longest` bytes on the wire.
///
/// # Errors
/// [`ExchangeError`] if the link cannot be divided so.
pub(crate) fn plans(at: Time, workers: &Workers, (rate, overhead): (Rate, Overhead), longest: u32) -> Result<Vec<Plan>, ExchangeError> {
    let (rates, limits) = Rates::new(at, workers, rate, longest)?;
    let (rates, by_flow) = (Arc::new(rates), by_flow(workers));
    let meter = || Box::new(WorkerMeter::new(overhead, rate, workers));
    let plan = |limits| Plan { at, by_flow: by_flow.clone(), rates: rates.clone(), limits, meter: meter() };
    Ok(limits.into_iter().map(plan).collect())
}

impl Worker {
    /// Follows another plan from `now` on; what it had is in `plan` then. Its port has the policy of that plan.
    pub(crate) fn replan<P>(&mut self, now: Time, plan: &mut Plan, meter: &mut Box<WorkerMeter>, port: &mut Port<P>) {
        self.sent += meter.take_reports().map(|report| report.sent).sum::<u64>();
        (self.busy_before, self.sent) = (self.busy(), 0);
        std::mem::swap(&mut self.by_flow, &mut plan.by_flow);
        std::mem::swap(&mut self.rates, &mut plan.rates);
        std::mem::swap(&mut self.limits, &mut plan.limits);
        std::mem::swap(meter, &mut plan.meter);
        for flow in (0..port.classifier().flows() as u32).map(Flow) {
            if let Some((packet, _)) = port.queued(flow).next() {
                Observer::<P>::queued(&mut **meter, now, &packet, port.occupancy());
            }
        }
        (self.next_report, self.reported) = (now, [0; 3]);
        self.begin_rates(now, meter, port);
    }
}
