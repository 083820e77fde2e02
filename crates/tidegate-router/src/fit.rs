//! From recordings to costs: rows of what packets cost, and what the cost of a stage depends on.
//!
//! Rows keep all costs of a packet together, and apart by the state in which the thread found it: costs are correlated, and a wake-up differs from
//! a batch. Stages are fitted by `cycles / clock + memory + per_byte * length + per_route_bit * log2(routes)`.
//!
//! **Source.** Least squares by Householder's QR: Golub and Van Loan, *Matrix Computations*, section 5.3. Box plots: Tukey, 1977.

use crate::direction::{Arrival, CostRow, CostRows};
use tidegate_statistics::{StageRecord, StageTrace};

/// Distinct values of a regressor below which its term is not fitted.
const LEAST_DISTINCT: usize = 3;

/// The steps of the thread, in the order of one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Handed,
    Wake,
    Read,
    Offered,
    Started,
}

/// The costs of the packets of a recording that passed all stages.
///
/// The stamps of all packets in the order of time are the steps of one thread. Each interval, less the cost of a stamp, belongs to the step that
/// ends it; a call that handed several packets over belongs to them in equal parts.
pub fn rows(trace: &StageTrace) -> CostRows {
    rows_of(trace, &trace.records)
}

/// The same for some of the records.
pub fn rows_of(trace: &StageTrace, records: &[StageRecord]) -> CostRows {
    let (woken, batched): (Vec<_>, Vec<_>) = costs_of(trace, records).into_iter().partition(|(record, _)| record.wake != 0);
    let row = |(_, row): (StageRecord, CostRow)| row;
    CostRows::new(woken.into_iter().map(row).collect(), batched.into_iter().map(row).collect())
}

/// The packets of a recording that passed all stages, each with its costs.
pub fn costs(trace: &StageTrace) -> Vec<(StageRecord, CostRow)> {
    costs_of(trace, &trace.records)
}

fn costs_of(trace: &StageTrace, records: &[StageRecord]) -> Vec<(StageRecord, CostRow)> {
    let nanoseconds = |ticks: u64| (u128::from(ticks) * 1_000_000_000 / u128::from(trace.ticks_per_second.max(1))) as u64;
    let mut steps: Vec<(u64, Step, usize)> = Vec::with_capacity(5 * records.len());
    for (index, record) in records.iter().enumerate() {
        let StageRecord { wake, read, offered, started, handed, .. } = *record;
        let all = [(wake, Step::Wake), (read, Step::Read), (offered, Step::Offered), (started, Step::Started), (handed, Step::Handed)];
        steps.extend(all.into_iter().filter(|(at, _)| *at != 0).map(|(at, step)| (at, step, index)));
    }
    steps.sort_unstable();
    let mut costs = vec![CostRow::default(); records.len()];
    // The step before, and the step before that was no wake-up.
    let (mut before, mut worked) = (0, 0);
    let mut rest = steps.as_slice();
    while let Some(&(at, step, index)) = rest.first() {
        let together = if step == Step::Handed { rest.iter().take_while(|other| (other.0, other.1) == (at, step)).count() } else { 1 };
        let since = if before == 0 { 0 } else { nanoseconds((at - before).saturating_sub(trace.empty_cost)) };
        let record = &records[index];
        match step {
            Step::Wake => {}
            Step::Read if record.wake != 0 => {
                costs[index].lead = nanoseconds(at.saturating_sub(record.arrived + trace.empty_cost));
                costs[index].idle = nanoseconds(record.arrived.saturating_sub(worked));
            }
            Step::Read => costs[index].lead = since,
            Step::Offered => costs[index].intake = since,
            Step::Started => costs[index].start = since,
            Step::Handed => rest[..together].iter().for_each(|other| costs[other.2].hand = since / together as u64),
        }
        before = at;
        worked = if step == Step::Wake { worked } else { at };
        rest = &rest[together..];
    }
    records.iter().copied().zip(costs).filter(|(record, _)| is_whole(record)).collect()
}

/// True if the packet passed all stages.
pub fn is_whole(record: &StageRecord) -> bool {
    let StageRecord { arrived, read, offered, started, handed, .. } = *record;
    [arrived, read, offered, started, handed].iter().all(|&at| at != 0)
}

/// The arrivals of these packets, in nanoseconds and in order, with the time that each took to be handed over; those that passed all stages.
pub fn arrivals(trace: &StageTrace, records: &[StageRecord]) -> (Vec<Arrival>, Vec<f64>) {
    let scale = 1e9 / trace.ticks_per_second.max(1) as f64;
    let mut whole: Vec<&StageRecord> = records.iter().filter(|record| is_whole(record)).collect();
    whole.sort_by_key(|record| (record.arrived, record.number));
    let arrival = |record: &&StageRecord| Arrival {
        at: (record.arrived as f64 * scale).round() as u64,
        flow: record.flow as u32,
        length: record.length as u32,
    };
    let delay = |record: &&StageRecord| record.handed.saturating_sub(record.arrived) as f64 * scale;
    (whole.iter().map(arrival).collect(), whole.iter().map(delay).collect())
}

/// What one packet took at one stage, and what that may depend on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// Seconds.
    pub time: f64,
    /// Cycles per second of the processor.
    pub clock_hz: f64,
    /// Bytes of the packet.
    pub length: f64,
    /// Entries of the forwarding table.
    pub routes: f64,
}

/// A term that was not fitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DroppedTerm {
    /// Its name.
    pub term: &'static str,
    /// The distinct values of its regressor; with fewer than three there is nothing to fit, and with more the fit would have been negative.
    pub distinct: usize,
}

/// The cost of a stage as a function.
#[derive(Clone, PartialEq, Debug)]
pub struct StageFit {
    /// Cycles of the processor.
    pub cycles: f64,
    /// Seconds that do not depend on its clock.
    pub memory: f64,
    /// Seconds per byte.
    pub per_byte: f64,
    /// Seconds per bit of the table's size.
    pub per_route_bit: f64,
    /// Terms that the observations say nothing about; they are 0, and what they cost is in the others.
    pub dropped: Vec<DroppedTerm>,
    /// Time over fitted time, by observation.
    pub residuals: Vec<f64>,
    /// The times, in seconds.
    pub times: Vec<f64>,
    /// Their mean.
    pub mean: f64,
}

/// The names of the terms.
const TERMS: [&str; 4] = ["cycles", "memory", "per_byte", "per_route_bit"];

/// Fits a stage by least squares, twice: the second time each observation is weighted by 1 over the time that the first fit expects. `None` without
/// observations.
pub fn stage(observations: &[Observation]) -> Option<StageFit> {
    if observations.is_empty() {
        return None;
    }
    let regressors = |observation: &Observation| [1.0 / observation.clock_hz, 1.0, observation.length, observation.routes.max(1.0).log2()];
    let mut dropped = Vec::new();
    let mut kept: Vec<usize> = (0..TERMS.len())
        .filter(|&term| {
            let mut values: Vec<f64> = observations.iter().map(|observation| regressors(observation)[term]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            // A constant needs one.
            let is_kept = term == 1 || values.len() >= LEAST_DISTINCT;
            if !is_kept {
                dropped.push(DroppedTerm { term: TERMS[term], distinct: values.len() });
            }
            is_kept
        })
        .collect();
    let fit = |kept: &[usize], weights: &dyn Fn(usize) -> f64| {
        let weighted = |(index, observation): (usize, &Observation)| {
            let (weight, regressors) = (weights(index), regressors(observation));
            (kept.iter().map(|&term| weight * regressors[term]).collect::<Vec<f64>>(), weight * observation.time)
        };
        let (matrix, times): (Vec<Vec<f64>>, Vec<f64>) = observations.iter().enumerate().map(weighted).unzip();
        let mut coefficients = [0.0; TERMS.len()];
        for (&term, solved) in kept.iter().zip(least_squares(matrix, times, kept.len())) {
            coefficients[term] = solved;
        }
        coefficients
    };
    let expected = |coefficients: &[f64; 4], observation: &Observation| -> f64 {
        regressors(observation).iter().zip(coefficients).map(|(value, coefficient)| value * coefficient).sum()
    };
    // A fit that expects nothing or less says nothing of the weight.
    let least = observations.iter().map(|observation| observation.time).fold(f64::INFINITY, f64::min).max(1e-12);
    let coefficients = loop {
        let first = fit(&kept, &|_| 1.0);
        let second = fit(&kept, &|index| 1.0 / expected(&first, &observations[index]).max(least));
        // No work takes negative time: such a term stands for something else that differed between recordings.
        let Some(at) = kept.iter().position(|&term| second[term] < 0.0).filter(|_| kept.len() > 1) else { break second };
        let term = kept.remove(at);
        let mut values: Vec<f64> = observations.iter().map(|observation| regressors(observation)[term]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        dropped.push(DroppedTerm { term: TERMS[term], distinct: values.len() });
    };
    let [cycles, memory, per_byte, per_route_bit] = coefficients;
    let residuals = observations.iter().map(|observation| observation.time / expected(&coefficients, observation).max(least)).collect();
    let times: Vec<f64> = observations.iter().map(|observation| observation.time).collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    Some(StageFit { cycles, memory, per_byte, per_route_bit, dropped, residuals, times, mean })
}

/// The `columns` coefficients for which `matrix * coefficients` is nearest to `right`, by Householder reflections; 0 for a column that depends on
/// those before it.
fn least_squares(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>, columns: usize) -> Vec<f64> {
    // Columns differ by many orders of magnitude.
    let norm =
        |matrix: &[Vec<f64>], column: usize, from: usize| matrix[from..].iter().map(|row| row[column] * row[column]).sum::<f64>().sqrt();
    let scales: Vec<f64> = (0..columns).map(|column| norm(&matrix, column, 0).max(f64::MIN_POSITIVE)).collect();
    matrix.iter_mut().for_each(|row| row.iter_mut().zip(&scales).for_each(|(value, scale)| *value /= scale));
    let steps = columns.min(matrix.len());
    for step in 0..steps {
        let length = norm(&matrix, step, step);
        if length == 0.0 {
            continue;
        }
        let diagonal = -length.copysign(matrix[step][step]);
        let mut reflector: Vec<f64> = matrix[step..].iter().map(|row| row[step]).collect();
        reflector[0] -= diagonal;
        let square: f64 = reflector.iter().map(|value| value * value).sum();
        for column in step..columns {
            let product: f64 = reflector.iter().zip(&matrix[step..]).map(|(value, row)| value * row[column]).sum();
            let factor = 2.0 * product / square;
            reflector.iter().zip(&mut matrix[step..]).for_each(|(value, row)| row[column] -= factor * value);
        }
        let product: f64 = reflector.iter().zip(&right[step..]).map(|(value, right)| value * right).sum();
        reflector.iter().zip(&mut right[step..]).for_each(|(value, right)| *right -= 2.0 * product / square * value);
    }
    let mut coefficients = vec![0.0; columns];
    for step in (0..steps).rev() {
        let known: f64 = (step + 1..columns).map(|column| matrix[step][column] * coefficients[column]).sum();
        if matrix[step][step].abs() > 1e-10 {
            coefficients[step] = (right[step] - known) / matrix[step][step];
        }
    }
    coefficients.iter().zip(scales).map(|(coefficient, scale)| coefficient / scale).collect()
}

/// The values above the third quartile by more than three times the distance of the quartiles.
pub fn outliers(values: &[f64]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartile = |part: usize| sorted.get(part * (sorted.len().max(1) - 1) / 4).copied().unwrap_or(0.0);
    let fence = quartile(3) + 3.0 * (quartile(3) - quartile(1));
    sorted.iter().filter(|&&value| value > fence).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_sim::random::Stream;

    /// Costs of synthetic processors, lengths and tables, with a lognormal factor of 15 %.
    #[test]
    fn the_terms_of_a_stage_are_recovered() {
        let mut stream = Stream::new(1, 0, "costs");
        let observations: Vec<Observation> = (0..4000)
            .map(|number| {
                let clock_hz = [233e6, 500e6, 1000e6, 1400e6][number % 4];
                let (length, routes) = ([64.0, 512.0, 1500.0][number / 4 % 3], [16.0, 256.0, 65_536.0][number / 12 % 3]);
                let mean = 500.0 / clock_hz + 0.6e-6 + 2e-9 * length + 0.05e-6 * f64::log2(routes);
                let factor = (0.15 * stream.normal() - 0.15 * 0.15 / 2.0).exp();
                Observation { time: mean * factor, clock_hz, length, routes }
            })
            .collect();
        let fit = stage(&observations).unwrap();
        let near = |value: f64, truth: f64, part: f64| assert!((value / truth - 1.0).abs() <= part, "{value} for {truth}");
        near(fit.cycles, 500.0, 0.10);
        near(fit.memory, 0.6e-6, 0.10);
        near(fit.per_byte, 2e-9, 0.05);
        near(fit.per_route_bit, 0.05e-6, 0.10);
        assert_eq!(fit.dropped, []);
        let deviation = (fit.residuals.iter().map(|residual| (residual - 1.0).powi(2)).sum::<f64>() / 4000.0).sqrt();
        assert!((deviation - 0.15).abs() < 0.01, "{deviation}");
    }

    #[test]
    fn terms_without_three_values_are_dropped_and_named() {
        let observation =
            |number: usize| Observation { time: 5e-6 + 1e-9 * number as f64, clock_hz: 1e9, length: number as f64, routes: 8.0 };
        let fit = stage(&[observation(64), observation(512), observation(1500)]).unwrap();
        let dropped = [DroppedTerm { term: "cycles", distinct: 1 }, DroppedTerm { term: "per_route_bit", distinct: 1 }];
        assert_eq!(fit.dropped, dropped);
        assert!((fit.memory - 5e-6).abs() < 1e-12 && (fit.per_byte - 1e-9).abs() < 1e-15);
        let constant = stage(&[observation(64), observation(64)]).unwrap();
        assert!((constant.memory - 5.064e-6).abs() < 1e-12 && constant.dropped.len() == 3);
        assert_eq!(stage(&[]), None);
    }

    #[test]
    fn a_term_that_would_be_negative_is_dropped() {
        let observation =
            |number: usize| Observation { time: 5e-6 - 1e-9 * number as f64, clock_hz: 1e9, length: number as f64, routes: 8.0 };
        let fit = stage(&[observation(64), observation(512), observation(1500)]).unwrap();
        assert_eq!((fit.per_byte, fit.dropped.last()), (0.0, Some(&DroppedTerm { term: "per_byte", distinct: 3 })));
        assert!(fit.memory > 3.5e-6 && fit.memory < 5e-6, "{fit:?}");
    }

    #[test]
    fn outliers_are_beyond_the_outer_fence() {
        let mut values: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(outliers(&values), 0);
        values.extend([300.0, 1000.0]);
        assert_eq!((outliers(&values), outliers(&[])), (2, 0));
    }

    #[test]
    fn intervals_belong_to_the_step_that_ends_them() {
        let first = StageRecord { arrived: 100, wake: 150, read: 160, offered: 180, started: 190, handed: 250, ..StageRecord::default() };
        let second = StageRecord { number: 1, arrived: 170, wake: 0, read: 200, offered: 215, started: 300, handed: 350, ..first };
        let third = StageRecord { number: 2, arrived: 171, read: 220, offered: 230, started: 310, ..second };
        let trace =
            StageTrace { ticks_per_second: 1_000_000_000, empty_cost: 2, records: vec![first, second, third], ..StageTrace::default() };
        let rows = rows(&trace);
        assert_eq!(rows.woken(), [CostRow { idle: 100, lead: 58, intake: 18, start: 8, hand: 18 }]);
        let batched =
            [CostRow { idle: 0, lead: 8, intake: 13, start: 48, hand: 19 }, CostRow { idle: 0, lead: 3, intake: 8, start: 8, hand: 19 }];
        assert_eq!(rows.batched(), batched);
        assert_eq!(arrivals(&trace, &trace.records).1, [150.0, 180.0, 179.0]);
    }
}
