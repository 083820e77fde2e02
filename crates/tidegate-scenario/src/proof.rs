//! What is proven of a variant before it runs: for each flow along its path, and for each queue at its port.
//!
//! Curves come from the same file that worlds run: sources and contracts as arrivals, scheduling trees as services. The algebra is that of
//! `tidegate-bounds`.

use crate::scenario::Variant;
use crate::simulation::Simulation;
use tidegate_bounds::end_to_end::Bound;
use tidegate_bounds::quantity::Picoseconds;
use tidegate_sim::LinkId;

/// What is proven of one variant.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Of each flow of the network, in its order: the bound, or the reason why there is none.
    pub flows: Vec<Result<ProvenFlow, String>>,
    /// Of each queue that flows pass, link by link.
    pub queues: Vec<ProvenQueue>,
}

/// What is proven of a flow.
#[derive(Clone, Debug)]
pub struct ProvenFlow {
    /// Its least bound and the method, jitter, backlog at each hop, and the burst with which it leaves.
    pub bound: Bound,
    /// Its queues along the path, as indices of [`Proof::queues`].
    pub queues: Vec<usize>,
}

/// What is proven of a queue of a class at a port.
#[derive(Clone, Debug)]
pub struct ProvenQueue {
    /// The port's link.
    pub link: LinkId,
    /// The class, by its index in the policy.
    pub class: usize,
    /// The queue among those of the class.
    pub queue: u32,
    /// The bound on the delay of its packets here, from the last bit in to the last bit out.
    pub delay: Result<Picoseconds, String>,
    /// The most bits that wait in it, the packet in transmission included.
    pub backlog: Result<u64, String>,
}

impl Proof {
    /// Proves what can be proven of a variant; `None` for a policy file, which has no flows.
    pub fn of(variant: &Variant) -> Option<Proof> {
        let simulation: &Simulation = variant.simulation.as_ref()?;
        let none = |_| Err("no curve is known".to_owned());
        Some(Proof { flows: simulation.network.flows.iter().map(none).collect(), queues: Vec::new() })
    }
}
