//! What the contestants of a benchmark carry.

/// Flows, and the packets that wait in each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// The number of flows.
    pub flows: u32,
    /// The packets that wait in every flow.
    pub backlog: u32,
}

impl Load {
    /// The packets of all flows.
    pub fn packets(self) -> u64 {
        u64::from(self.flows) * u64::from(self.backlog)
    }

    /// It in words.
    pub fn text(self) -> String {
        match self.backlog {
            1 => format!("{} flows", self.flows),
            backlog => format!("{} flows with {backlog} packets each", self.flows),
        }
    }
}
