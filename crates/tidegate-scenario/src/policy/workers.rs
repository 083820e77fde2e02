//! Which worker of a policy has which classes.

use tidegate_core::units::Duration;

/// Why nothing is guaranteed at a port of several workers.
pub(crate) const UNPROVEN: &str = "several workers share the link, at rates that follow what they report";

/// The workers of a policy. A member is a class or a group directly below the link, and belongs to one worker with all that is below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerPlan {
    /// The number of workers, from 2.
    pub count: u32,
    /// How often their rates are set anew.
    pub exchange_every: Duration,
    /// By class: its member.
    pub member_of: Vec<u32>,
    /// By member: its worker.
    pub worker_of: Vec<u32>,
    /// By member: its weight.
    pub weights: Vec<u32>,
}

impl WorkerPlan {
    /// The worker of a class.
    pub fn worker_of_class(&self, class: usize) -> u32 {
        self.worker_of[self.member_of[class] as usize]
    }

    /// The part of the weights that each worker has, from 0 to 1.
    pub(crate) fn parts(&self) -> Vec<f64> {
        let whole: u64 = self.weights.iter().copied().map(u64::from).sum();
        let part = |worker: u32| {
            let own = self.weights.iter().zip(&self.worker_of).filter(|(_, of)| **of == worker);
            own.map(|(&weight, _)| u64::from(weight)).sum::<u64>() as f64 / whole.max(1) as f64
        };
        (0..self.count).map(part).collect()
    }
}
