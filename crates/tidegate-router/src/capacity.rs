//! How much a machine forwards without loss, found by trials, and how long packets take at parts of that.
//!
//! **Law.** At `low` no more than the allowed part of the packets was lost in a trial of the full length; at `high`, at most 1 % above, more was.
//!
//! **Source.** RFC 2544, section 26.1, asks for the highest rate without loss; the name MLFFR (maximum loss-free forwarding rate) is Mogul and
//! Ramakrishnan's.
//!
//! Rates are tried on a grid of 1 % below the least ceiling. A search with short trials comes first, because what loses too much in a short trial
//! loses too much in a long one. Trials of the full length then decide. The search takes for granted that a rate above one that loses also loses.

use crate::ceilings::{Ceilings, Pause};
use crate::check::Invalid;
use crate::machine::{Machine, RouterFlow};
use crate::outcome::{Fidelity, Losses, RouterOutcome, Trial};
use crate::traffic::faster;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tidegate_core::units::Duration;
use tidegate_sim::time::LONGEST_DURATION;

/// A rate to its next on the grid.
const STEP: f64 = 0.99;
/// Steps down to 1 % of the least ceiling, the lowest rate that is tried.
const STEPS: usize = 459;
/// Packets of a short trial.
const SHORT: f64 = 5e4;
/// Trials at a time. A fixed number, so that the trials, and with them the result, are the same on every machine.
const TOGETHER: usize = 2;

/// What is asked of a machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// Rates at which delays are measured, as parts of what is forwarded without loss.
    pub loads: Vec<f64>,
    /// Quantiles of delays, above 0, below 1.
    pub quantiles: Vec<f64>,
    /// The largest part of packets that may be lost.
    pub loss: f64,
    /// The least packets of a trial that decides; it has more where the loss allowed needs them.
    pub packets: u64,
    /// The seed of every trial.
    pub seed: u64,
    /// The least measured time of a trial; a trial also lasts as long as the packets take that it needs.
    pub duration: Option<Duration>,
    /// A rate, in packets per second of all flows together, that is tried in addition.
    pub promised_rate: Option<f64>,
}

impl Question {
    /// The least packets of a trial, if nothing else is asked for.
    pub const PACKETS: u64 = 1_000_000;

    /// The packets of a trial that decides: at least as many that one of them may be lost.
    fn needed(&self) -> f64 {
        (self.packets as f64).max(if self.loss > 0.0 { 1.0 / self.loss } else { 0.0 })
    }

    /// The packets that a quantile needs: 200 beyond it.
    pub fn packets_for(quantile: f64) -> f64 {
        200.0 / (1.0 - quantile)
    }
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Capacity {
    /// What is forwarded without loss.
    pub forwarding: Forwarding,
    /// Trials at the loads asked for, in their order; none if nothing is forwarded without loss.
    pub loads: Vec<Load>,
    /// The trial at the rate that was promised.
    pub promise: Option<Load>,
}

/// The maximum loss-free forwarding rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Forwarding {
    /// The highest rate tried at which no more than the allowed part was lost, in packets per second; `None` if even 1 % of the least ceiling
    /// loses more.
    pub low: Option<f64>,
    /// The lowest rate tried at which more was lost; `None` if the least ceiling itself loses no more.
    pub high: Option<f64>,
    /// Where the packets were lost at `high`, until the trial ended.
    pub losses: Losses,
    /// The least packets of a trial that decided.
    pub packets: f64,
    /// Trials run.
    pub trials: usize,
}

/// One load.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// Packets per second of all flows together.
    pub packets_per_second: f64,
    /// What the trial measured.
    pub outcome: RouterOutcome,
    /// What pause of the processor the rings survive.
    pub survives: Pause,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unanswerable {
    /// The machine or a flow cannot be run.
    Invalid(Invalid),
    /// The flows offer nothing, or the rate of one is not known beforehand.
    NoRate,
    /// At a rate that has to be tried, a rate or a time of a source leaves what sources can have, or a trial lasts longer than can be simulated.
    OutOfRange,
    /// The caller has cancelled it.
    Cancelled,
}

impl From<Invalid> for Unanswerable {
    fn from(invalid: Invalid) -> Unanswerable {
        Unanswerable::Invalid(invalid)
    }
}

/// Answers a question. `progress` is told the part done, from 0 to 1. No trial begins after `cancel` becomes true.
///
/// ```no_run
/// use std::sync::atomic::AtomicBool;
/// use tidegate_core::units::Rate;
/// use tidegate_router::capacity::{Question, capacity};
/// use tidegate_router::{Kernel, Machine, RouterFlow};
/// use tidegate_sim::source::{Cbr, Source};
///
/// let source = Source::Cbr(Cbr { rate: Rate::new(512 * 8 * 1000).unwrap(), length: 512, random_phase: true });
/// let flow = RouterFlow { jitter: 0.05, ..RouterFlow::new("flow", source, 0, Some(1)) };
/// let machine = Machine { kernel: Kernel::POLLING, ..Machine::system_two() };
/// let (loads, quantiles) = (vec![0.5, 0.9], vec![0.5, 0.99]);
/// let question = Question { loads, quantiles, loss: 1e-6, packets: Question::PACKETS, seed: 1, duration: None, promised_rate: None };
/// let answer = capacity(&machine, &[flow], &question, &|_| (), &AtomicBool::new(false)).unwrap();
/// // The bus limits it: 512 bytes pass it twice.
/// assert!((115_000.0..121_300.0).contains(&answer.forwarding.low.unwrap()));
/// ```
///
/// # Errors
/// [`Unanswerable`].
pub fn capacity(
    machine: &Machine,
    flows: &[RouterFlow],
    question: &Question,
    progress: &(dyn Fn(f64) + Sync),
    cancel: &AtomicBool,
) -> Result<Capacity, Unanswerable> {
    crate::check(machine, flows, &Trial::new(Duration::from_milliseconds(1), 0))?;
    let ceilings = Ceilings::new(machine, flows).ok_or(Unanswerable::NoRate)?;
    let bench = Bench { machine, flows, question, cancel, offered: ceilings.traffic().packets_per_second };
    let search = Search { bench: &bench, top: ceilings.least().packets_per_second, progress, trials: AtomicUsize::new(0) };
    let forwarding = search.run()?;
    let rates: Vec<f64> = question.loads.iter().filter_map(|load| Some(load * forwarding.low?)).collect();
    let wanted: Vec<f64> = rates.iter().copied().chain(question.promised_rate).collect();
    let (done, total) = (AtomicUsize::new(0), wanted.len() as f64);
    let outcomes = together(&wanted, |&rate| {
        let packets = question.quantiles.iter().copied().map(Question::packets_for).fold(question.needed(), f64::max);
        let outcome = bench.trial(rate, packets, None);
        let part = (done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / total;
        progress(SEARCH_PART + (1.0 - SEARCH_PART) * part);
        outcome
    });
    let mut measured = Vec::new();
    for (packets_per_second, outcome) in wanted.into_iter().zip(outcomes) {
        measured.push(Load { packets_per_second, outcome: outcome?, survives: ceilings.survives(packets_per_second) });
    }
    let promise = measured.split_off(rates.len()).pop();
    Ok(Capacity { forwarding, loads: measured, promise })
}

/// The part of the progress that the search is.
const SEARCH_PART: f64 = 0.6;

/// Runs jobs a few at a time; results in the order of the jobs.
fn together<T: Sync, R: Send>(jobs: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&index| index < jobs.len()) {
            let result = run(&jobs[index]);
            *results[index].lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(result);
        }
    };
    std::thread::scope(|scope| (0..TOGETHER.min(jobs.len())).for_each(|_| drop(scope.spawn(work))));
    let taken = |result: Mutex<Option<R>>| result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.into_iter().filter_map(taken).collect()
}

/// A machine under trial.
struct Bench<'a> {
    machine: &'a Machine,
    flows: &'a [RouterFlow],
    question: &'a Question,
    cancel: &'a AtomicBool,
    /// Packets per second of the flows as they are.
    offered: f64,
}

impl Bench<'_> {
    /// A trial with this many packets at a rate.
    fn trial(&self, rate: f64, packets: f64, stop_at_loss: Option<u64>) -> Result<RouterOutcome, Unanswerable> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Unanswerable::Cancelled);
        }
        let flows: Option<Vec<RouterFlow>> = self.flows.iter().map(|flow| faster(flow, rate / self.offered)).collect();
        let least = self.question.duration.filter(|_| packets > SHORT).map_or(0, Duration::picoseconds);
        let picoseconds = (packets / rate * 1e12).max(least as f64);
        if picoseconds >= LONGEST_DURATION.picoseconds() as f64 / 2.0 {
            return Err(Unanswerable::OutOfRange);
        }
        let duration = Duration::from_picoseconds(picoseconds as u64);
        // A twentieth, which no trial of a slow machine needs in full.
        let aside = Duration::from_picoseconds((duration.picoseconds() / 20).min(50_000_000_000));
        let trial = Trial { duration, warm_up: aside, tail: aside, seed: self.question.seed, fidelity: Fidelity::Function, stop_at_loss };
        Ok(crate::run(self.machine, &flows.ok_or(Unanswerable::OutOfRange)?, &trial)?)
    }
}

/// What a trial of the search showed.
#[derive(Clone, Copy)]
struct Shown {
    passed: bool,
    losses: Losses,
}

struct Search<'a> {
    bench: &'a Bench<'a>,
    /// The highest rate that is tried.
    top: f64,
    progress: &'a (dyn Fn(f64) + Sync),
    trials: AtomicUsize,
}

impl Search<'_> {
    /// The rate at a step of the grid.
    fn rate(&self, step: usize) -> f64 {
        self.top * libm::pow(STEP, step as f64)
    }

    /// Trials at some steps of the grid.
    fn try_all(&self, steps: &[usize], is_short: bool) -> Result<Vec<Shown>, Unanswerable> {
        let needed = self.bench.question.needed();
        let allowed = (needed * self.bench.question.loss + 1e-9) as u64;
        let shown = together(steps, |&step| {
            let packets = if is_short { SHORT.min(needed) } else { needed };
            let outcome = self.bench.trial(self.rate(step), packets, Some(allowed + 1))?;
            let mut losses = Losses::default();
            outcome.flows.iter().for_each(|flow| losses.add(&flow.lost));
            let trials = self.trials.fetch_add(1, Ordering::Relaxed) + 1;
            (self.progress)(SEARCH_PART * (1.0 - libm::exp(-(trials as f64) / 10.0)));
            Ok(Shown { passed: losses.total() <= allowed, losses })
        });
        shown.into_iter().collect()
    }

    fn run(&self) -> Result<Forwarding, Unanswerable> {
        let one = |step: usize, is_short| Ok::<Shown, Unanswerable>(self.try_all(&[step], is_short)?[0]);
        // The step before the first fails, the step behind the last is not tried; `losses` are those of the step before `first`.
        let mut losses = Losses::default();
        let mut first = 0;
        if self.top <= 0.0 {
            return Ok(Forwarding { low: None, high: Some(0.0), losses, packets: 0.0, trials: 0 });
        }
        let top = one(0, true)?;
        if !top.passed {
            losses = top.losses;
            let mut last = STEPS;
            while last - first > 1 {
                let middle = first + (last - first) / 2;
                let shown = one(middle, true)?;
                if shown.passed {
                    last = middle;
                } else {
                    (first, losses) = (middle, shown.losses);
                }
            }
            first = last;
        }
        // Short trials pass at `first` if anything does. Trials of the full length decide, from there down.
        let (mut stride, mut passed) = (1, None);
        while passed.is_none() && first < STEPS {
            let steps: Vec<usize> = [first, first + stride].into_iter().filter(|&step| step < STEPS).collect();
            let shown = self.try_all(&steps, false)?;
            match shown.iter().position(|shown| shown.passed) {
                Some(index) => {
                    passed = Some(steps[index]);
                    if index > 0 {
                        (first, losses) = (steps[index - 1] + 1, shown[index - 1].losses);
                    }
                }
                None => {
                    losses = shown[shown.len() - 1].losses;
                    first = steps[steps.len() - 1] + 1;
                    stride = 2 * stride + 1;
                }
            }
        }
        // All below `first` fail, `passed` passes; between them it is open.
        while let Some(last) = passed.filter(|&last| last > first) {
            let thirds = [first + (last - first) / 3, first + 2 * (last - first) / 3];
            let steps = if thirds[0] == thirds[1] { &thirds[..1] } else { &thirds[..] };
            let shown = self.try_all(steps, false)?;
            match shown.iter().position(|shown| shown.passed) {
                Some(0) => passed = Some(steps[0]),
                Some(index) => {
                    (first, losses) = (steps[index - 1] + 1, shown[index - 1].losses);
                    passed = Some(steps[index]);
                }
                None => (first, losses) = (steps[steps.len() - 1] + 1, shown[shown.len() - 1].losses),
            }
        }
        let failed = match passed {
            Some(step) => step.checked_sub(1),
            None => Some(STEPS - 1),
        };
        Ok(Forwarding {
            low: passed.map(|step| self.rate(step)),
            high: failed.map(|step| self.rate(step)),
            losses,
            packets: self.bench.question.needed(),
            trials: self.trials.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests;
