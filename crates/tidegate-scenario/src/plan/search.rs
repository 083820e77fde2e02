//! The search for values: from the file's, up until every promise is proven, and down again key by key.

use super::trials::{Failure, Minimise, Outcome, Plan, Planned, Trials};
use crate::free::step;

/// The largest common factor that is tried is 2^(24/4) = 64.
const QUARTER_OCTAVES: i32 = 24;
/// The most changes of single values on the way to a set that keeps all promises.
const MOST_CHANGES: usize = 40;
/// The most rounds over all keys on the way down; one without a change is the last.
const MOST_ROUNDS: usize = 20;

pub(super) fn search(trials: &mut Trials<'_>, of_file: Vec<u64>, minimise: Minimise) -> Result<Plan, Failure> {
    let start = rise(trials, &of_file)?;
    let (values, factor) = match minimise {
        Minimise::Factor => match common(trials, &of_file) {
            Some((factor, values)) => (values, Some(factor)),
            // Some set keeps all promises, and no common factor does.
            None => {
                let obstacle = Some("no common factor does, though other values do: --minimise sum finds them".to_owned());
                return Err(Failure { obstacle, ..failed(trials, of_file) });
            }
        },
        Minimise::Sum => (least_sum(trials, &of_file, start), None),
    };
    let mut planned = Vec::new();
    for index in 0..values.len() {
        let alone = factor.map(|_| lowered(trials, values.clone(), index)[index]);
        let mut less = values.clone();
        let step = step(values[index]);
        less[index] = less[index].saturating_sub(step);
        let limit = trials.outcome(&less).reason();
        planned.push(Planned { free: trials.free[index].clone(), value: values[index], step, limit, alone });
    }
    let claims = trials.claims(&values).unwrap_or_default();
    Ok(Plan { values: planned, factor, claims })
}

/// Values that keep all promises: the file's, these with a common factor, or changed one by one.
fn rise(trials: &mut Trials<'_>, of_file: &[u64]) -> Result<Vec<u64>, Failure> {
    let (mut best, mut distance) = (of_file.to_vec(), trials.outcome(of_file).distance());
    if distance != (0, 0.0)
        && let Some(factor) = feasible(trials, of_file)
    {
        return Ok(scaled(trials, of_file, factor));
    }
    for _ in 0..MOST_CHANGES {
        if distance == (0, 0.0) {
            return Ok(best);
        }
        let mut next = None;
        for index in 0..best.len() {
            for (more, of) in [(2, 1), (5, 4), (21, 20), (20, 21), (4, 5), (1, 2)] {
                let mut values = best.clone();
                let value = values[index];
                let changed = rounded_up(value.saturating_mul(more) / of);
                values[index] = if changed == value && more > of { value.saturating_add(1) } else { changed };
                let reached = trials.outcome(&values).distance();
                if reached < next.as_ref().map_or(distance, |(_, reached)| *reached) {
                    next = Some((values, reached));
                }
            }
        }
        let Some(found) = next else { break };
        (best, distance) = found;
    }
    if distance == (0, 0.0) { Ok(best) } else { Err(failed(trials, best)) }
}

/// Why these values do not do, and what is in the way of more.
fn failed(trials: &mut Trials<'_>, values: Vec<u64>) -> Failure {
    let broken = match trials.outcome(&values) {
        Outcome::Broken(claims) => claims,
        _ => Vec::new(),
    };
    let obstacle = (0..values.len()).find_map(|index| {
        let mut more = values.clone();
        more[index] = rounded_up(more[index].saturating_add(more[index] / 10 + 1));
        match trials.outcome(&more) {
            Outcome::Invalid(problem) => Some(format!("{} = {}: {problem}", trials.free[index].key, trials.free[index].print(more[index]))),
            _ => None,
        }
    });
    let closest = trials.free.iter().cloned().zip(values).collect();
    Failure { closest, broken, obstacle }
}

/// A value rounded up to its step.
fn rounded_up(value: u64) -> u64 {
    value.div_ceil(step(value)) * step(value)
}

/// The file's values times a factor in thousandths, rounded up to their steps; by a factor of 1 they stay.
fn scaled(trials: &Trials<'_>, of_file: &[u64], factor: u64) -> Vec<u64> {
    let scaled = |&value: &u64| {
        let product = u128::from(value) * u128::from(factor);
        let value = u64::try_from(product.div_ceil(1000)).unwrap_or(u64::MAX / 1000);
        if factor == 1000 { value } else { rounded_up(value) }
    };
    debug_assert_eq!(trials.free.len(), of_file.len());
    of_file.iter().map(scaled).collect()
}

/// A common factor in thousandths that keeps all promises: from 1 up in quarters of octaves, between what is too little and what is invalid, or
/// below 1.
fn feasible(trials: &mut Trials<'_>, of_file: &[u64]) -> Option<u64> {
    let factor = |quarter: i32| (1000.0 * 2f64.powf(f64::from(quarter) / 4.0)) as u64;
    let mut low = None;
    for quarter in 0..=QUARTER_OCTAVES {
        match outcome_of(trials, of_file, factor(quarter)) {
            Outcome::Kept => return Some(factor(quarter)),
            Outcome::Broken(_) => low = Some(factor(quarter)),
            Outcome::Invalid(_) => {
                let (Some(mut low), mut high) = (low, factor(quarter)) else { break };
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    match outcome_of(trials, of_file, middle) {
                        Outcome::Kept => return Some(middle),
                        Outcome::Broken(_) => low = middle,
                        Outcome::Invalid(_) => high = middle,
                    }
                }
                return None;
            }
        }
    }
    (1..=QUARTER_OCTAVES / 2).map(|quarter| factor(-quarter)).find(|&factor| outcome_of(trials, of_file, factor).is_kept())
}

fn outcome_of(trials: &mut Trials<'_>, of_file: &[u64], factor: u64) -> Outcome {
    let values = scaled(trials, of_file, factor);
    trials.outcome(&values)
}

/// The least common factor in thousandths that keeps all promises, and the values: one thousandth less breaks one.
fn common(trials: &mut Trials<'_>, of_file: &[u64]) -> Option<(u64, Vec<u64>)> {
    let mut high = feasible(trials, of_file)?;
    let mut low = 0;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let values = scaled(trials, of_file, middle);
        if trials.is_kept(&values) { high = middle } else { low = middle }
    }
    Some((high, scaled(trials, of_file, high)))
}

/// The set of least sum among those that are reached in different orders of keys, from the start and from its common scale.
fn least_sum(trials: &mut Trials<'_>, of_file: &[u64], start: Vec<u64>) -> Vec<u64> {
    let mut starts = vec![start];
    starts.extend(common(trials, of_file).map(|(_, values)| values));
    let mut best: Option<Vec<u64>> = None;
    for start in starts {
        for order in orders(start.len()) {
            let values = descended(trials, start.clone(), &order);
            let sum = |values: &[u64]| values.iter().map(|&value| u128::from(value)).sum::<u128>();
            if best.as_ref().is_none_or(|best| sum(&values) < sum(best)) {
                best = Some(values);
            }
        }
    }
    best.unwrap_or_default()
}

/// All orders of up to three keys; of more, each key first once, at most six of them.
fn orders(keys: usize) -> Vec<Vec<usize>> {
    match keys {
        0 | 1 => vec![(0..keys).collect()],
        2 => vec![vec![0, 1], vec![1, 0]],
        3 => [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].map(Vec::from).to_vec(),
        _ => (0..keys.min(6)).map(|first| (0..keys).map(|key| (first + key) % keys).collect()).collect(),
    }
}

/// Lowers key by key until a whole round lowers none: then each value less one step was tried, and breaks a promise.
fn descended(trials: &mut Trials<'_>, mut values: Vec<u64>, order: &[usize]) -> Vec<u64> {
    for _ in 0..MOST_ROUNDS {
        let before = values.clone();
        for &index in order {
            values = lowered(trials, values, index);
        }
        if values == before {
            break;
        }
    }
    values
}

/// Lowers one value as far as every promise stays proven, on the grid of its step. One step less breaks a promise.
fn lowered(trials: &mut Trials<'_>, mut values: Vec<u64>, index: usize) -> Vec<u64> {
    let mut keeps = |value: u64| {
        let mut tried = values.clone();
        tried[index] = value;
        trials.is_kept(&tried)
    };
    let mut high = values[index];
    while high > step(high) && keeps(high - step(high)) {
        high -= step(high);
        let (mut low, grid) = (0, step(high));
        loop {
            let middle = (low + (high - low) / 2) / grid * grid;
            if middle <= low {
                break;
            }
            if keeps(middle) { high = middle } else { low = middle }
        }
    }
    values[index] = high;
    values
}
