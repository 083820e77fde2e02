//! The connections of one workload: how many, and how long they took by size.
//!
//! Counted are connections that arrive after the warm-up. A completion time is that from the arrival to the last byte at the receiver; a slowdown is that
//! time in parts of the [ideal](crate::workload::Completion::ideal) one.

use super::{Estimate, Histogram};

/// The largest sizes of all bins but the last, in bytes.
pub const SIZE_LIMITS: [u64; 13] =
    [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000, 300_000_000, 1_000_000_000];

/// What a slowdown is multiplied by in its histogram, which holds whole numbers.
const SLOWDOWN_UNIT: u64 = 1_000_000;

/// The measurements of a workload in one replication.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WorkloadStatistics {
    /// Connections that arrived.
    pub arrivals: u64,
    /// Of them, those that found no place.
    pub refused: u64,
    /// Of them, those that were not complete at the end.
    pub unfinished: u64,
    /// Of them, those for which no path led to the receiver, or back, when they arrived: links had failed.
    pub without_path: u64,
    /// Bytes of data of the connections that found a place.
    pub bytes: u64,
    /// The most connections at once, warm-up included.
    pub most_at_once: u32,
    /// The complete connections by size, as [`SIZE_LIMITS`] has it.
    pub sizes: Vec<SizeStatistics>,
    /// Rounds of several connections; none arrives without [`Pattern::Incast`](crate::workload::Pattern::Incast).
    pub rounds: RoundStatistics,
}

/// The complete connections of some sizes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SizeStatistics {
    /// Completion times.
    pub times: Histogram,
    /// Slowdowns in millionths.
    slowdowns: Histogram,
}

/// Rounds of several connections.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RoundStatistics {
    /// Rounds that arrived.
    pub arrivals: u64,
    /// Of them, those that found fewer places than they need, and took none.
    pub refused: u64,
    /// Of them, those that were not complete at the end.
    pub unfinished: u64,
    /// Of them, those that began before the one before was complete.
    pub overlapping: u64,
    /// The times from the beginning of a round until its last connection was complete.
    pub times: Histogram,
}

impl SizeStatistics {
    fn record(&mut self, time: u64, ideal: u64) {
        self.times.record(time);
        let slowdown = u128::from(time) * u128::from(SLOWDOWN_UNIT) / u128::from(ideal.max(1));
        self.slowdowns.record(slowdown.min(1 << 62) as u64);
    }

    fn merge(&mut self, other: &SizeStatistics) {
        self.times.merge(&other.times);
        self.slowdowns.merge(&other.slowdowns);
    }

    /// The mean slowdown; `None` without a connection.
    pub fn mean_slowdown(&self) -> Option<f64> {
        self.slowdowns.mean().map(of_unit)
    }

    /// The slowdown that this part of the connections does not exceed, to a hundredth of itself; `None` without a connection.
    pub fn slowdown(&self, part: f64) -> Option<f64> {
        self.slowdowns.quantile(part).map(of_unit)
    }
}

/// Histograms take their values for picoseconds and tell seconds.
fn of_unit(seconds: f64) -> f64 {
    seconds * (1e12 / SLOWDOWN_UNIT as f64)
}

impl WorkloadStatistics {
    /// A connection is complete.
    pub(crate) fn complete(&mut self, bytes: u64, time: u64, ideal: u64) {
        if self.sizes.is_empty() {
            self.sizes = vec![SizeStatistics::default(); SIZE_LIMITS.len() + 1];
        }
        let bin = SIZE_LIMITS.partition_point(|&limit| limit < bytes);
        self.sizes[bin].record(time, ideal);
    }

    /// The complete connections of all sizes.
    pub fn all(&self) -> SizeStatistics {
        self.sizes.iter().fold(SizeStatistics::default(), |mut all, bin| {
            all.merge(bin);
            all
        })
    }
}

/// One workload over all replications. Counts are sums over the replications.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkloadOutcome {
    /// Its name.
    pub name: String,
    /// Connections that arrived.
    pub arrivals: u64,
    /// Of them, those that found no place.
    pub refused: u64,
    /// Of them, those that were not complete at the end.
    pub unfinished: u64,
    /// Of them, those for which no path led to the receiver, or back, when they arrived.
    pub without_path: u64,
    /// Bits of data per second of the connections that found a place.
    pub offered_bps: Estimate,
    /// The most connections at once in any replication.
    pub most_at_once: u32,
    /// The complete connections of all sizes; `None` if there are none.
    pub all: Option<SizeOutcome>,
    /// Those of each size that occurred, in the order of sizes.
    pub sizes: Vec<SizeOutcome>,
    /// Rounds; `None` if connections come alone.
    pub rounds: Option<RoundOutcome>,
}

/// The complete connections of some sizes over all replications. Quantiles are those of all connections; their intervals are from the quantiles of the
/// replications.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeOutcome {
    /// The sizes in bytes: more than the first, at most the second; `None` for no limit.
    pub bytes: (u64, Option<u64>),
    /// How many.
    pub connections: u64,
    /// The mean completion time in seconds.
    pub time_s: Estimate,
    /// The completion times for [`COMPLETION_QUANTILES`], in seconds.
    pub time_quantiles_s: [Estimate; COMPLETION_QUANTILES.len()],
    /// The mean slowdown.
    pub slowdown: Estimate,
    /// The slowdowns for [`COMPLETION_QUANTILES`].
    pub slowdown_quantiles: [Estimate; COMPLETION_QUANTILES.len()],
}

/// The quantiles of completion times and slowdowns.
pub const COMPLETION_QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Rounds over all replications.
#[derive(Clone, PartialEq, Debug)]
pub struct RoundOutcome {
    /// Rounds that arrived.
    pub arrivals: u64,
    /// Of them, those that found too few places.
    pub refused: u64,
    /// Of them, those that were not complete at the end.
    pub unfinished: u64,
    /// Of them, those that began before the one before was complete.
    pub overlapping: u64,
    /// The mean time until the last connection of a round was complete, in seconds; `None` if no round was complete.
    pub time_s: Option<Estimate>,
    /// The times for [`COMPLETION_QUANTILES`], in seconds.
    pub time_quantiles_s: [Estimate; COMPLETION_QUANTILES.len()],
}

impl WorkloadOutcome {
    /// Brings replications of `seconds` together.
    pub(crate) fn of(name: String, has_rounds: bool, runs: &[&WorkloadStatistics], seconds: f64) -> WorkloadOutcome {
        let sum = |of: fn(&WorkloadStatistics) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
        let totals: Vec<SizeStatistics> = runs.iter().map(|run| run.all()).collect();
        let bin = |number: usize| {
            let of_runs: Vec<&SizeStatistics> = runs.iter().filter_map(|run| run.sizes.get(number)).collect();
            let least = number.checked_sub(1).map_or(0, |before| SIZE_LIMITS[before]);
            SizeOutcome::of((least, SIZE_LIMITS.get(number).copied()), &of_runs)
        };
        let offered: Vec<f64> = runs.iter().map(|run| run.bytes as f64 * 8.0 / seconds).collect();
        WorkloadOutcome {
            name,
            arrivals: sum(|run| run.arrivals),
            refused: sum(|run| run.refused),
            unfinished: sum(|run| run.unfinished),
            without_path: sum(|run| run.without_path),
            offered_bps: Estimate::of(&offered).unwrap_or_default(),
            most_at_once: runs.iter().map(|run| run.most_at_once).max().unwrap_or(0),
            all: SizeOutcome::of((0, None), &totals.iter().collect::<Vec<_>>()),
            sizes: (0..=SIZE_LIMITS.len()).filter_map(bin).collect(),
            rounds: has_rounds.then(|| RoundOutcome::of(&runs.iter().map(|run| &run.rounds).collect::<Vec<_>>())),
        }
    }
}

/// An estimate whose value is that of all replications together, and whose interval is from the value of each.
fn pooled(all: Option<f64>, each: impl Iterator<Item = Option<f64>>) -> Estimate {
    let of_replications = Estimate::of(&each.flatten().collect::<Vec<f64>>()).unwrap_or_default();
    Estimate { mean: all.unwrap_or(of_replications.mean), ..of_replications }
}

impl SizeOutcome {
    fn of(bytes: (u64, Option<u64>), runs: &[&SizeStatistics]) -> Option<SizeOutcome> {
        let mut all = SizeStatistics::default();
        runs.iter().for_each(|run| all.merge(run));
        if all.times.count() == 0 {
            return None;
        }
        Some(SizeOutcome {
            bytes,
            connections: all.times.count(),
            time_s: pooled(all.times.mean(), runs.iter().map(|run| run.times.mean())),
            time_quantiles_s: COMPLETION_QUANTILES
                .map(|part| pooled(all.times.quantile(part), runs.iter().map(|run| run.times.quantile(part)))),
            slowdown: pooled(all.mean_slowdown(), runs.iter().map(|run| run.mean_slowdown())),
            slowdown_quantiles: COMPLETION_QUANTILES.map(|part| pooled(all.slowdown(part), runs.iter().map(|run| run.slowdown(part)))),
        })
    }
}

impl RoundOutcome {
    fn of(runs: &[&RoundStatistics]) -> RoundOutcome {
        let sum = |of: fn(&RoundStatistics) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
        let mut all = Histogram::default();
        runs.iter().for_each(|run| all.merge(&run.times));
        RoundOutcome {
            arrivals: sum(|run| run.arrivals),
            refused: sum(|run| run.refused),
            unfinished: sum(|run| run.unfinished),
            overlapping: sum(|run| run.overlapping),
            time_s: all.mean().map(|mean| pooled(Some(mean), runs.iter().map(|run| run.times.mean()))),
            time_quantiles_s: COMPLETION_QUANTILES.map(|part| pooled(all.quantile(part), runs.iter().map(|run| run.times.quantile(part)))),
        }
    }
}
