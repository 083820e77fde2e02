//! The report of a direction, from those of its workers.

use crate::counters::DirectionCounters;
use crate::direction_loop::DirectionReport;
use tidegate_core::port::Volume;

/// Joins the reports of all workers of a direction, which have ended. The observer is that of the first.
pub(crate) fn joined<O>(reports: Vec<DirectionReport<O>>) -> Option<DirectionReport<O>> {
    let is_alone = reports.len() == 1;
    let mut reports = reports.into_iter();
    let mut all = reports.next()?;
    if is_alone {
        return Some(all);
    }
    // The rings are looked at themselves, so that one that loses packets is found.
    let mut in_rings: Volume = all.worker.iter_mut().map(|worker| worker.left()).sum();
    // A worker sends at a part of the rate: the link is busy for the time that it takes for all bytes.
    let busy = |report: &DirectionReport<O>| report.worker.iter().map(|worker| worker.busy()).sum::<u128>();
    all.busy = busy(&all);
    for mut report in reports {
        all.busy += busy(&report);
        in_rings += report.worker.iter_mut().map(|worker| worker.left()).sum();
        all.counters = DirectionCounters::plus(all.counters, report.counters);
        all.recorder.merge(report.recorder);
        all.lateness.merge(&report.lateness);
    }
    all.counters.in_rings = in_rings;
    all.recorder.set_busy(all.busy);
    Some(all)
}
