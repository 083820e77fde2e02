//! A mean over replications.

use serde::Serialize;

/// A mean over replications with the half width of its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Estimate {
    /// Mean over the replications.
    pub mean: f64,
    /// Half width of the 95 % interval (Student t), in the unit of the mean; `None` with one replication.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// A value from a single replication, without an interval.
    pub const fn single(mean: f64) -> Self {
        Self { mean, half_width: None }
    }

    /// A mean with the half width of its 95 % interval.
    pub const fn with_half_width(mean: f64, half_width: f64) -> Self {
        Self { mean, half_width: Some(half_width) }
    }
}
