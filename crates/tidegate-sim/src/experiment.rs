//! How long, how often and from which seed a network is simulated.

use crate::error::{Problem, Subject};
use crate::random::DEFAULT_SEED;
use crate::time::{LONGEST_DURATION, seconds};
use tidegate_core::units::Duration;

/// How a network is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Experiment {
    /// The length of one replication, warm-up included: above 0, at most [`LONGEST_DURATION`].
    pub duration: Duration,
    /// The part at its beginning that statistics leave out; shorter than `duration`.
    pub warm_up: Duration,
    /// The seed of all random streams.
    pub seed: u64,
    /// The number of independent replications, at least 1. They differ in their random streams only.
    pub replications: u32,
    /// The distance of the points of all series; `None` for no series.
    pub sample_interval: Option<Duration>,
    /// Whether flows have series, which take up to 32 bytes per flow and point; ports have them whenever there is a distance.
    pub flow_series: bool,
}

/// The most points of one series.
pub const MOST_SAMPLES: u64 = 1_000_000;

impl Default for Experiment {
    /// Ten seconds once, no warm-up, seed 1, no series. With a distance flows have them, too.
    fn default() -> Experiment {
        Experiment {
            duration: Duration::from_seconds(10),
            warm_up: Duration::ZERO,
            seed: DEFAULT_SEED,
            replications: 1,
            sample_interval: None,
            flow_series: true,
        }
    }
}

impl Experiment {
    /// The distance of the points of flows' series in picoseconds; 0 for no series.
    pub(crate) fn flow_interval(&self) -> u64 {
        self.sample_interval.filter(|_| self.flow_series).map_or(0, |interval| interval.picoseconds())
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn check(&self) -> Result<(), Problem> {
        let refuse = |key, problem: String, expected: &str| {
            Err(Problem { subject: Subject::Experiment, name: "experiment".into(), key, problem, expected: expected.into() })
        };
        if self.duration == Duration::ZERO || self.duration > LONGEST_DURATION {
            return refuse("duration", format!("{} s", seconds(self.duration)), "a time above 0, at most 26 days");
        }
        if self.warm_up >= self.duration {
            let problem = format!("{} s of {} s leave nothing to measure", seconds(self.warm_up), seconds(self.duration));
            return refuse("warm_up", problem, "less than the duration");
        }
        if self.replications == 0 {
            return refuse("replications", "0".into(), "at least 1");
        }
        match self.sample_interval {
            Some(interval) if self.duration.picoseconds() / MOST_SAMPLES >= interval.picoseconds() => {
                let problem = format!("{} s makes a million points or more", seconds(interval));
                refuse("sample_interval", problem, "a longer interval")
            }
            _ => Ok(()),
        }
    }
}
