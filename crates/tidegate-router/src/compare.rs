//! A model of a direction beside the measurement it was fitted to: distances of distributions, quantiles, and a verdict.
//!
//! Alternate blocks of a recording are fitted and judged, or one recording is judged with rows from another. The model gets the recorded arrivals.
//! The single-queue model gets the same, and stands beside it. So does the measurement itself, even blocks against odd ones: where these differ,
//! the run was not stationary, and nothing is judged.
//!
//! **Source.** The Levy distance of distribution functions, Billingsley, *Convergence of Probability Measures*, here with relative shifts. The
//! distance of Kolmogorov and Smirnov alone fails on nearly constant delays: a shift of 3 % can make it 0.45.

use crate::direction::{self, Arrival, CostRows};
use crate::fit;
use tidegate_core::port::Port;
use tidegate_sim::random::Stream;
use tidegate_statistics::{StageRecord, StageTrace};

/// Blocks of a recording.
const BLOCKS: usize = 20;

/// The part of a recording that is not judged, because caches and frequencies settle: one in this many.
const WARM_UP: usize = 20;

/// The most by which halves of a stationary run differ, by Kolmogorov and Smirnov.
pub const MOST_DRIFT: f64 = 0.10;

/// The most processor time that a hypervisor may take, in millionths.
pub const MOST_STEAL: u64 = 10_000;

/// The largest Levy distance at which a model is accepted.
pub const ACCEPTED: f64 = 0.05;

/// The quantiles that are compared.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Samples that a quantile `p` needs, times `1 - p`.
const SAMPLES: f64 = 200.0;

/// How far apart two distributions are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distance {
    /// The largest difference of the distribution functions.
    pub kolmogorov_smirnov: f64,
    /// The least `e` with `F(x / (1 + e)) - e <= G(x) <= F(x (1 + e)) + e` for all x.
    pub levy: f64,
}

/// The distance of two samples.
pub fn distance(one: &[f64], other: &[f64]) -> Distance {
    let sorted = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let (one, other) = (sorted(one), sorted(other));
    let apart = |shift: f64| exceeds(&one, &other, 1.0 + shift).max(exceeds(&other, &one, 1.0 + shift));
    let (mut near, mut far) = (0.0, 1.0);
    for _ in 0..24 {
        let middle = (near + far) / 2.0;
        if apart(middle) <= middle { far = middle } else { near = middle }
    }
    Distance { kolmogorov_smirnov: apart(0.0), levy: far }
}

/// The most by which the distribution function of `one` is above that of `other` at `factor` times the value. Both are sorted. The first rises at
/// its own samples only, so nothing happens between them.
fn exceeds(one: &[f64], other: &[f64], factor: f64) -> f64 {
    let part = |values: &[f64], at: f64| values.partition_point(|&value| value <= at) as f64 / values.len().max(1) as f64;
    one.iter().map(|&value| part(one, value) - part(other, factor * value)).fold(0.0, f64::max)
}

/// The quantile `p` of a sorted sample.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    sorted.get(((sorted.len() as f64 * p) as usize).min(sorted.len().max(1) - 1)).copied().unwrap_or(0.0)
}

/// A quantile of the delay, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuantileError {
    /// Which one.
    pub p: f64,
    /// As measured.
    pub measured: f64,
    /// As the model has it.
    pub model: f64,
    /// As the single queue has it.
    pub single_queue: f64,
    /// False if there are too few samples to say anything of it.
    pub has_samples: bool,
}

impl QuantileError {
    /// The relative error of the model.
    pub fn error(&self) -> f64 {
        (self.model - self.measured).abs() / self.measured.max(f64::MIN_POSITIVE)
    }
}

/// What follows from a comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// The Levy distance is at most [`ACCEPTED`].
    Accepted,
    /// It is larger.
    Refused,
    /// The measured run changed over its time: the distance of its halves.
    NotStationary(f64),
    /// A hypervisor took processor time: in millionths.
    Stolen(u64),
}

/// A model beside its measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Packets that were judged.
    pub packets: usize,
    /// Rows of the fit: first after a wake-up, and all others.
    pub rows: [usize; 2],
    /// The part of the judged packets that woke the thread.
    pub woken: f64,
    /// The model.
    pub model: Distance,
    /// The single-queue model.
    pub single_queue: Distance,
    /// Even blocks of the measurement against odd ones: whether it was stationary. They had other arrivals, so this is no least distance.
    pub halves: Distance,
    /// Stolen processor time, in millionths.
    pub steal: u64,
    /// Quantiles of the delay.
    pub quantiles: Vec<QuantileError>,
    /// Delays in nanoseconds, sorted: measured, of the model, of the single queue.
    pub delays: [Vec<f64>; 3],
    /// The result.
    pub verdict: Verdict,
}

impl Comparison {
    /// The share of delays above `nanoseconds`: measured, of the model, of the single queue.
    pub fn above(&self, nanoseconds: f64) -> [f64; 3] {
        self.delays.each_ref().map(|sorted| {
            let above = sorted.len() - sorted.partition_point(|&delay| delay <= nanoseconds);
            above as f64 / sorted.len().max(1) as f64
        })
    }
}

/// Why there is no comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooFew {
    /// The packets of the recording that passed all stages.
    pub packets: usize,
}

/// The least packets that are compared: 50 in each block.
pub const LEAST_PACKETS: usize = 50 * BLOCKS * WARM_UP / (WARM_UP - 1);

impl std::fmt::Display for TooFew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} packets of the recording passed all stages, and {} are needed: record for longer", self.packets, LEAST_PACKETS + 1)
    }
}

impl std::error::Error for TooFew {}

/// The blocks of a recording, without its beginning.
pub fn blocks(trace: &StageTrace) -> Result<Vec<&[StageRecord]>, TooFew> {
    let packets = trace.records.iter().filter(|record| fit::is_whole(record)).count();
    if packets <= LEAST_PACKETS {
        return Err(TooFew { packets });
    }
    let judged = &trace.records[trace.records.len() / WARM_UP..];
    Ok(judged.chunks(judged.len().div_ceil(BLOCKS)).collect())
}

/// The delays of one recording's blocks, in nanoseconds: measured, of the model, of the single queue.
#[derive(Default)]
struct Delays {
    measured: Vec<f64>,
    model: Vec<f64>,
    single_queue: Vec<f64>,
    woken: usize,
}

impl Delays {
    fn add(&mut self, trace: &StageTrace, block: &[StageRecord], rows: &CostRows, port: Port<usize>, streams: &mut [Stream; 2]) {
        let (arrivals, measured) = fit::arrivals(trace, block);
        self.measured.extend(measured);
        let since = |arrival: &Arrival, at: u64| at.saturating_sub(arrival.at) as f64;
        let passages = direction::run_drawn(port, &arrivals, rows, &mut streams[0]);
        let sent = arrivals.iter().zip(&passages).filter(|(_, passage)| passage.handed != 0);
        self.model.extend(sent.map(|(arrival, passage)| since(arrival, passage.handed)));
        let left = direction::run_single_queue(&arrivals, rows, &mut streams[1]);
        self.single_queue.extend(arrivals.iter().zip(left).map(|(arrival, at)| since(arrival, at)));
        self.woken += block.iter().filter(|record| fit::is_whole(record) && record.wake != 0).count();
    }
}

/// Fits even blocks of a recording and judges odd ones.
///
/// # Errors
/// [`TooFew`] packets.
pub fn within(trace: &StageTrace, port: &dyn Fn() -> Port<usize>, seed: u64) -> Result<Comparison, TooFew> {
    let blocks = blocks(trace)?;
    let rows = CostRows::together(blocks.iter().step_by(2).map(|block| fit::rows_of(trace, block)));
    let odd: Vec<&[StageRecord]> = blocks.iter().skip(1).step_by(2).copied().collect();
    Ok(judge(trace, &blocks, &odd, &rows, port, seed))
}

/// Judges a recording with rows from elsewhere.
///
/// # Errors
/// [`TooFew`] packets.
pub fn across(rows: &CostRows, trace: &StageTrace, port: &dyn Fn() -> Port<usize>, seed: u64) -> Result<Comparison, TooFew> {
    let blocks = blocks(trace)?;
    Ok(judge(trace, &blocks, &blocks, rows, port, seed))
}

fn judge(
    trace: &StageTrace,
    all: &[&[StageRecord]],
    judged: &[&[StageRecord]],
    rows: &CostRows,
    port: &dyn Fn() -> Port<usize>,
    seed: u64,
) -> Comparison {
    let mut streams = ["direction", "single queue"].map(|name| Stream::new(seed, 0, name));
    let mut delays = Delays::default();
    judged.iter().for_each(|block| delays.add(trace, block, rows, port(), &mut streams));
    let half = |first: usize| all.iter().skip(first).step_by(2).flat_map(|block| fit::arrivals(trace, block).1).collect::<Vec<f64>>();
    let halves = distance(&half(0), &half(1));
    let Delays { mut measured, mut model, mut single_queue, woken } = delays;
    let (to_model, to_single_queue) = (distance(&model, &measured), distance(&single_queue, &measured));
    [&mut measured, &mut model, &mut single_queue].into_iter().for_each(|sample| sample.sort_by(f64::total_cmp));
    let quantiles = QUANTILES.map(|p| QuantileError {
        p,
        measured: quantile(&measured, p),
        model: quantile(&model, p),
        single_queue: quantile(&single_queue, p),
        has_samples: measured.len() as f64 * (1.0 - p) >= SAMPLES,
    });
    let verdict = if trace.steal > MOST_STEAL {
        Verdict::Stolen(trace.steal)
    } else if halves.kolmogorov_smirnov > MOST_DRIFT {
        Verdict::NotStationary(halves.kolmogorov_smirnov)
    } else if to_model.levy <= ACCEPTED {
        Verdict::Accepted
    } else {
        Verdict::Refused
    };
    Comparison {
        packets: measured.len(),
        rows: [rows.woken().len(), rows.batched().len()],
        woken: woken as f64 / measured.len().max(1) as f64,
        model: to_model,
        single_queue: to_single_queue,
        halves,
        steal: trace.steal,
        quantiles: quantiles.to_vec(),
        delays: [measured, model, single_queue],
        verdict,
    }
}

/// The rows of the blocks of a recording.
///
/// # Errors
/// [`TooFew`] packets.
pub fn rows_by_block(trace: &StageTrace) -> Result<Vec<CostRows>, TooFew> {
    Ok(blocks(trace)?.iter().map(|block| fit::rows_of(trace, block)).collect())
}

/// The middle 95 % of each quantile's prediction, in nanoseconds: the rows of as many blocks as there are, drawn with replacement, again and again.
pub fn prediction_intervals(
    by_block: &[CostRows],
    arrivals: &[Arrival],
    port: &dyn Fn() -> Port<usize>,
    replications: u32,
    seed: u64,
) -> Vec<[f64; 2]> {
    let mut found = vec![Vec::new(); QUANTILES.len()];
    for replication in 0..replications {
        let mut stream = Stream::new(seed, replication, "bootstrap");
        let rows = CostRows::together(by_block.iter().map(|_| by_block[stream.below(by_block.len() as u64) as usize].clone()));
        let passages = direction::run_drawn(port(), arrivals, &rows, &mut stream);
        let mut delays: Vec<f64> = arrivals
            .iter()
            .zip(&passages)
            .filter(|(_, passage)| passage.handed != 0)
            .map(|(arrival, passage)| (passage.handed - arrival.at) as f64)
            .collect();
        delays.sort_by(f64::total_cmp);
        found.iter_mut().zip(QUANTILES).for_each(|(found, p)| found.push(quantile(&delays, p)));
    }
    let middle = |mut predictions: Vec<f64>| {
        predictions.sort_by(f64::total_cmp);
        [quantile(&predictions, 0.025), quantile(&predictions, 0.975)]
    };
    found.into_iter().map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(count: usize, scale: f64) -> Vec<f64> {
        (0..count).map(|number| scale * (1000.0 + number as f64 / count as f64)).collect()
    }

    #[test]
    fn the_levy_distance_sees_a_shift_as_small_and_the_other_does_not() {
        let both = distance(&shifted(1000, 1.0), &shifted(1000, 1.03));
        assert!(both.kolmogorov_smirnov > 0.99, "{both:?}");
        assert!((both.levy - 0.03).abs() < 0.002, "{both:?}");
        let same = distance(&shifted(1000, 1.0), &shifted(1000, 1.0));
        assert!(same.kolmogorov_smirnov < 1e-6 && same.levy < 1e-6, "{same:?}");
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        // A tenth of the packets takes ten times as long.
        let mut one = vec![10.0; 90];
        one.extend([100.0; 10]);
        let found = distance(&one, &[10.0; 100]);
        assert!((found.kolmogorov_smirnov - 0.1).abs() < 1e-6 && (found.levy - 0.1).abs() < 1e-6, "{found:?}");
        let swapped = distance(&[10.0; 100], &one);
        assert!((found.levy - swapped.levy).abs() < 1e-6);
    }
}
