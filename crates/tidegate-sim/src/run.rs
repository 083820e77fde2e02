//! Runs the replications of an experiment, several at a time.

use crate::course::{Course, NetworkChange};
use crate::error::SimulationError;
use crate::experiment::Experiment;
use crate::network::Network;
use crate::simulation::Simulation;
use crate::statistics::{Outcome, Replication};
use crate::trace::Tracer;
use crate::workload::CompletionSink;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How a simulation is watched and stopped from outside. It does not change the outcome.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// The number of threads; `None` for one per core. There are never more than replications.
    pub threads: Option<NonZeroUsize>,
    /// The replications before the first one, which were simulated already: with 5 the next has the random streams of the sixth.
    pub first_replication: u32,
    /// Called now and then with the fraction that is done, from 0 to 1 and never decreasing, by one thread at a time.
    pub progress: Option<&'a (dyn Fn(f64) + Sync)>,
    /// Ends the simulation soon after it becomes true.
    pub cancel: Option<&'a AtomicBool>,
    /// Sees every packet of the first replication, which then takes several times as long.
    pub tracer: Option<&'a dyn Tracer>,
    /// Sees every complete connection of workloads. Replications run one after the other then.
    pub completions: Option<&'a dyn CompletionSink>,
}

/// Simulates every replication, and summarises them.
///
/// # Errors
/// [`SimulationError::Refused`] if network or experiment are at fault; [`SimulationError::Cancelled`]; and two for defects,
/// [`SimulationError::Unbalanced`] and [`SimulationError::NotConserved`].
pub fn run(network: &Network, experiment: &Experiment, control: &Control) -> Result<Outcome, SimulationError> {
    run_with_changes(network, &[], experiment, control)
}

/// The same with ports that change at some instants, in this order.
///
/// # Errors
/// As [`run`], and [`SimulationError::Refused`] for a change that cannot be simulated.
pub fn run_with_changes(
    network: &Network,
    changes: &[NetworkChange],
    experiment: &Experiment,
    control: &Control,
) -> Result<Outcome, SimulationError> {
    experiment.check()?;
    network.check()?;
    let course = Course::of(network, changes)?;
    let count = experiment.replications;
    let one_by_one = control.completions.map(|_| NonZeroUsize::MIN);
    let cores = one_by_one.or(control.threads).or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let progress = Progress::new(control, count);
    let next = AtomicU32::new(control.first_replication);
    let end = control.first_replication.saturating_add(count);
    let work = || {
        let mut done = Vec::new();
        loop {
            let replication = next.fetch_add(1, Ordering::Relaxed);
            if replication >= end {
                return done;
            }
            let tracer = control.tracer.filter(|_| replication == 0);
            let result = Simulation::new(network, experiment, &course, replication, tracer, control.completions)
                .run(&mut |part| progress.at(replication, part));
            if result.is_err() {
                next.store(end, Ordering::Relaxed);
                progress.failed.store(true, Ordering::Relaxed);
            }
            done.push((replication, result));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..cores.min(count as usize)).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        for helper in helpers {
            match helper.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_by_key(|(replication, _)| *replication);
    let replications = collect(results)?;
    let measured = experiment.duration.saturating_sub(experiment.warm_up);
    Ok(Outcome::of(network, &course.classes, course.routes.classes(network), measured, experiment.sample_interval, replications))
}

/// All replications, or the first error that is not a mere cancellation.
fn collect(results: Vec<(u32, Result<Replication, SimulationError>)>) -> Result<Vec<Replication>, SimulationError> {
    let mut cancelled = false;
    let mut replications = Vec::with_capacity(results.len());
    for (_, result) in results {
        match result {
            Ok(replication) => replications.push(replication),
            Err(SimulationError::Cancelled) => cancelled = true,
            Err(error) => return Err(error),
        }
    }
    if cancelled { Err(SimulationError::Cancelled) } else { Ok(replications) }
}

struct Progress<'a> {
    control: Control<'a>,
    failed: AtomicBool,
    /// The part done of each replication, and the fraction reported last.
    parts: Mutex<(Vec<f64>, f64)>,
}

impl<'a> Progress<'a> {
    fn new(control: &Control<'a>, replications: u32) -> Progress<'a> {
        let parts = if control.progress.is_some() { vec![0.0; replications as usize] } else { Vec::new() };
        Progress { control: *control, failed: AtomicBool::new(false), parts: Mutex::new((parts, 0.0)) }
    }

    /// Notes how far a replication is; false if it shall stop.
    fn at(&self, replication: u32, part: f64) -> bool {
        if let Some(report) = self.control.progress {
            // A poisoned lock means that the caller's function panicked; the numbers are still valid.
            let mut guard = self.parts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (parts, last) = &mut *guard;
            parts[(replication - self.control.first_replication) as usize] = part;
            let done = parts.iter().sum::<f64>() / parts.len() as f64;
            if done > *last {
                *last = done;
                report(done.min(1.0));
            }
        }
        let cancelled = self.control.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        !cancelled && !self.failed.load(Ordering::Relaxed)
    }
}
