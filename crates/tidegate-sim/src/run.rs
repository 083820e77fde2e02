//! Runs the replications of an experiment, several at a time, and each on several threads where that gains.

use crate::course::{Course, NetworkChange};
use crate::error::SimulationError;
use crate::experiment::Experiment;
use crate::network::Network;
use crate::partition::Partition;
use crate::simulation::{Simulation, run_divided};
use crate::statistics::{Outcome, Replication};
use crate::trace::Tracer;
use crate::workload::CompletionSink;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How a simulation is watched and stopped from outside. It does not change the outcome.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// The number of threads; `None` for one per core. Replications come first: each has a thread of its own, or several if there are fewer
    /// replications than threads. Threads that are of no use are not started.
    pub threads: Option<NonZeroUsize>,
    /// When a replication is divided among threads that are left over.
    pub division: Division,
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

/// When one replication is simulated by several threads, each of which plays a region of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Division {
    /// Where it is possible, and the replication is long and busy enough to be done sooner: a thread has at least 500 packets, counted at every port, to play
    /// in the least propagation delay between two regions, and 2 million in all.
    #[default]
    WhereItGains,
    /// Wherever it is possible; see [`obstacles_to_division`].
    WherePossible,
    /// Nowhere.
    Nowhere,
}

/// The packets that a thread has to play between two meetings with the others, and in all, if a replication is divided for speed: 500 take 100 us
/// and more, a meeting a few.
const LEAST_PACKETS_PER_WINDOW: f64 = 500.0;
const LEAST_PACKETS: f64 = 2e6;

/// What keeps a replication of this network, which has been checked, on one thread. Empty if nothing does.
pub fn obstacles_to_division(network: &Network, changes: &[NetworkChange], control: &Control) -> Vec<&'static str> {
    let mut obstacles = global_state(network, changes, control);
    if obstacles.is_empty() && Partition::of(network, 2).is_none() {
        obstacles.push("no link with a propagation delay, without late packets, divides its traffic");
    }
    obstacles
}

/// What regions of a network would have to agree on at every instant.
fn global_state(network: &Network, changes: &[NetworkChange], control: &Control) -> Vec<&'static str> {
    let links = || network.links.iter();
    let reasons = [
        (!network.calls.is_empty() || links().any(|link| link.admission.is_some()), "calls are admitted for all of a path at once"),
        (!changes.is_empty(), "policies change at an instant"),
        (!network.workloads.is_empty(), "connections of workloads arrive in slots that all hosts share"),
        (!network.failures.is_empty() || !network.reroutes.is_empty(), "links fail, or packets of a flow take several paths"),
        (!network.pauses.is_empty(), "nodes pause the ports before them"),
        (links().any(|link| link.cells || link.adapter.is_some()), "cells are played a port ahead"),
        (control.tracer.is_some(), "a trace has the steps of all packets in their order"),
    ];
    reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect()
}

/// How one replication is divided among threads, if it is.
fn partition(
    network: &Network,
    changes: &[NetworkChange],
    experiment: &Experiment,
    control: &Control,
    threads: usize,
) -> Option<Partition> {
    let is_impossible = || !global_state(network, changes, control).is_empty();
    if threads < 2 || control.division == Division::Nowhere || is_impossible() {
        return None;
    }
    let partition = Partition::of(network, threads)?;
    let packets_in = |picoseconds: u64| partition.load / partition.parts as f64 * picoseconds as f64 / 1e12;
    let gains =
        packets_in(partition.lookahead) >= LEAST_PACKETS_PER_WINDOW && packets_in(experiment.duration.picoseconds()) >= LEAST_PACKETS;
    (gains || control.division == Division::WherePossible).then_some(partition)
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
    let at_once = cores.min(count as usize).max(1);
    let partition = partition(network, changes, experiment, control, cores / at_once);
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
            let tick = &mut |done| progress.at(replication, done);
            let result = match &partition {
                Some(partition) => run_divided(network, experiment, &course, replication, partition, tick),
                None => Simulation::new(network, experiment, &course, replication, tracer, control.completions, None).run(tick),
            };
            if result.is_err() {
                next.store(end, Ordering::Relaxed);
                progress.failed.store(true, Ordering::Relaxed);
            }
            done.push((replication, result));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..at_once).map(|_| scope.spawn(work)).collect();
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
