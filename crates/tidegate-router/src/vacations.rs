//! A polling server in closed form: gated batches with vacations.
//!
//! **Law.** The server takes what waits when a round begins, serves it, and is away for the vacation before it looks again. Packets come as a Poisson
//! process, and batches have no limit. With arrival rate `l`, service `S`, vacation `V` and `rho = l E[S] < 1`:
//!
//! | mean | is |
//! |---|---|
//! | batch, over all rounds, empty ones too | `l E[V] / (1 - rho)` |
//! | wait | `l E[S^2] / (2 (1 - rho)) + E[V^2] / (2 E[V]) + rho E[V] / (1 - rho)` |
//!
//! **Source.** Takagi, "Queueing Analysis", vol. 1, 1991: M/G/1 with vacations and gated service.

/// Moments of a time: seconds, and seconds squared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The mean of the square.
    pub square: f64,
}

impl Moments {
    /// A time that is always the same.
    pub const fn constant(seconds: f64) -> Moments {
        Moments { mean: seconds, square: seconds * seconds }
    }
}

/// A polling server.
///
/// ```
/// use tidegate_router::vacations::{GatedBatches, Moments};
/// let server = GatedBatches { arrivals: 0.5, service: Moments::constant(1.0), vacation: Moments::constant(2.0) };
/// assert_eq!((server.mean_batch(), server.mean_wait()), (Some(2.0), Some(3.5)));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GatedBatches {
    /// Arrivals per second.
    pub arrivals: f64,
    /// The service of a packet.
    pub service: Moments,
    /// The time from the end of a batch to the next look.
    pub vacation: Moments,
}

impl GatedBatches {
    /// The part of the time spent serving.
    pub fn load(&self) -> f64 {
        self.arrivals * self.service.mean
    }

    /// Packets per round, over rounds that find none too; `None` if the server cannot keep up.
    pub fn mean_batch(&self) -> Option<f64> {
        (self.load() < 1.0).then(|| self.arrivals * self.vacation.mean / (1.0 - self.load()))
    }

    /// Seconds from arrival to the start of service; `None` if the server cannot keep up.
    pub fn mean_wait(&self) -> Option<f64> {
        let (load, Moments { mean, square }) = (self.load(), self.vacation);
        let queue = self.arrivals * self.service.square / (2.0 * (1.0 - load));
        let residual = if mean > 0.0 { square / (2.0 * mean) } else { 0.0 };
        (load < 1.0).then(|| queue + residual + load * mean / (1.0 - load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B9.
    #[test]
    fn batches_and_waits_of_the_oracle() {
        for (arrivals, vacation, batch, wait) in [(0.5, 2.0, 2.0, 3.5), (0.8, 2.0, 8.0, 11.0), (0.9, 0.5, 4.5, 9.25)] {
            let server = GatedBatches { arrivals, service: Moments::constant(1.0), vacation: Moments::constant(vacation) };
            assert!((server.mean_batch().unwrap() - batch).abs() < 1e-9);
            assert!((server.mean_wait().unwrap() - wait).abs() < 1e-9);
        }
    }

    #[test]
    fn a_server_that_cannot_keep_up_has_no_mean() {
        let server = GatedBatches { arrivals: 1.0, service: Moments::constant(1.0), vacation: Moments::constant(1.0) };
        assert_eq!((server.mean_batch(), server.mean_wait()), (None, None));
    }
}
