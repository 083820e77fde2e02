//! A mean over independent replications with its confidence interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean over replications.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval by Student's t, in the unit of the mean; `None` with fewer than two replications.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The estimate from one value per replication; `None` if there is none.
    ///
    /// ```
    /// use tidegate_sim::Estimate;
    /// let estimate = Estimate::of(&[9.0, 10.0, 11.0]).unwrap();
    /// assert_eq!(estimate.mean, 10.0);
    /// // 4.303 / sqrt(3) with two degrees of freedom.
    /// assert!((estimate.half_width.unwrap() - 2.484).abs() < 0.001);
    /// assert_eq!(Estimate::of(&[9.0]).unwrap().half_width, None);
    /// ```
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let n = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let half_width = (values.len() > 1).then(|| t_quantile(n - 1.0) * (variance / n).sqrt());
        Some(Estimate { mean, half_width })
    }

    /// True if `value` lies in the confidence interval; false without one.
    pub fn covers(&self, value: f64) -> bool {
        self.half_width.is_some_and(|half_width| (value - self.mean).abs() <= half_width)
    }
}

/// The 97.5 % quantile of Student's t.
pub(crate) fn t_quantile(degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

/// The mean of several series point by point; an empty one counts as zeros.
pub(super) fn average<I: Iterator<Item = f64>>(runs: impl ExactSizeIterator<Item = I>) -> Vec<f64> {
    let count = runs.len() as f64;
    let mut sums: Vec<f64> = Vec::new();
    for run in runs {
        for (point, value) in run.enumerate() {
            match sums.get_mut(point) {
                Some(sum) => *sum += value,
                None => sums.push(value),
            }
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= count);
    sums
}

#[cfg(test)]
mod tests;
