//! Trials of machines, several at once.

use crate::figure::Figure;
use crate::parallel;
use crate::proven::row;
use tidegate_bounds::quantity::NoBound;
use tidegate_core::units::{Duration, Rate};
use tidegate_router::{Machine, RouterFlow, RouterOutcome, Trial, run};
use tidegate_sim::source::{Cbr, LengthDistribution, Poisson, Source};

/// Why no flow through the processor has a bound.
const PROCESSOR: NoBound = NoBound::Because("costs of packets and pauses of the processor are random, so no service is sure");

/// Why no flow that crosses a bus alone has a bound.
const BUS: NoBound = NoBound::Because("frames, descriptors and grants share the bus, and no service curve of it is known");

/// A figure without content, of flows that pass the processor.
pub fn figure(id: &'static str, title: &str, source: &'static str) -> Figure {
    unproven(Figure::new(id, title, source), PROCESSOR)
}

/// A figure without content, of flows that the host takes at once behind the bus.
pub fn figure_of_bus(id: &'static str, title: &str, source: &'static str) -> Figure {
    unproven(Figure::new(id, title, source), BUS)
}

fn unproven(mut figure: Figure, reason: NoBound) -> Figure {
    figure.bounds.push(row("every flow".to_owned(), &Err(reason), None));
    figure
}

/// A machine, its flows and how they are tried.
#[derive(Clone, Debug)]
pub struct Case {
    pub machine: Machine,
    pub flows: Vec<RouterFlow>,
    pub trial: Trial,
}

/// How much is run: everything, or what a test of the build can wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    pub seeds: u64,
    /// The measured time of a trial in milliseconds.
    pub milliseconds: u64,
}

impl Extent {
    /// Three seeds of 200 ms, as the bands were found.
    pub const FULL: Extent = Extent { seeds: 3, milliseconds: 200 };

    /// A trial after a warm-up of 100 ms, or of 20 in a short form.
    pub fn trial(self, seed: u64) -> Trial {
        let fidelity = tidegate_router::Fidelity::Level;
        let warm_up = if self == Extent::FULL { 100 } else { 20 };
        Trial {
            warm_up: Duration::from_milliseconds(warm_up),
            fidelity,
            ..Trial::new(Duration::from_milliseconds(self.milliseconds), seed)
        }
    }
}

/// Runs all cases, and calls `progress` with the part that is done.
pub fn run_all(cases: &[Case], progress: &dyn Fn(f64)) -> Vec<RouterOutcome> {
    parallel::run_all(cases, |case| run(&case.machine, &case.flows, &case.trial).expect("the experiments' machines can be run"), progress)
}

/// The outcomes of each point: cases in a row, one per seed.
pub fn by_point(outcomes: Vec<RouterOutcome>, seeds: u64) -> Vec<Vec<RouterOutcome>> {
    outcomes.chunks(seeds.max(1) as usize).map(<[RouterOutcome]>::to_vec).collect()
}

/// The mean over outcomes.
pub fn mean(outcomes: &[RouterOutcome], of: impl Fn(&RouterOutcome) -> f64) -> f64 {
    outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
}

/// Packets that all flows forwarded, in thousands per second.
pub fn total(outcome: &RouterOutcome) -> f64 {
    outcome.flows.iter().map(|flow| flow.forwarded).sum::<u64>() as f64 / measured_ms(outcome)
}

/// Packets that a flow forwarded, in thousands per second.
pub fn forwarded(outcome: &RouterOutcome, flow: usize) -> f64 {
    outcome.flows[flow].forwarded as f64 / measured_ms(outcome)
}

/// The part of a flow's packets that was forwarded, 0 to 1.
pub fn kept(outcome: &RouterOutcome, flow: usize) -> f64 {
    outcome.flows[flow].forwarded as f64 / outcome.flows[flow].offered.max(1) as f64
}

/// A quantile of a flow's delays in microseconds; 0 if none left.
pub fn quantile(outcome: &RouterOutcome, flow: usize, part: f64) -> f64 {
    outcome.flows[flow].delays.quantile(part).unwrap_or(0.0) * 1e6
}

/// The mean of a flow's delays in microseconds; 0 if none left.
pub fn mean_delay(outcome: &RouterOutcome, flow: usize) -> f64 {
    outcome.flows[flow].delays.mean().unwrap_or(0.0) * 1e6
}

fn measured_ms(outcome: &RouterOutcome) -> f64 {
    outcome.measured.picoseconds() as f64 / 1e9
}

/// Bits per second of this many packets per second.
pub fn rate(packets_per_second: f64, length: u32) -> Rate {
    Rate::new((packets_per_second * f64::from(length) * 8.0 + 0.5) as u64).expect("the experiments' rates are in range")
}

/// Packets at nearly even intervals: a random phase and 5 % of jitter, so that flows lock neither to each other nor to the guard.
pub fn constant(name: &str, packets_per_second: f64, length: u32, input: usize, output: Option<usize>) -> RouterFlow {
    let source = Source::Cbr(Cbr { rate: rate(packets_per_second, length), length, random_phase: true });
    RouterFlow { jitter: 0.05, ..RouterFlow::new(name, source, input, output) }
}

/// Poisson arrivals.
pub fn poisson(name: &str, packets_per_second: f64, length: u32, input: usize, output: Option<usize>) -> RouterFlow {
    let source = Source::Poisson(Poisson { packets_per_second, length: LengthDistribution::Fixed(length) });
    RouterFlow::new(name, source, input, output)
}
