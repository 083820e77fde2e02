//! What is proven of a flow's delay, beside the largest delay that was measured.
//!
//! Both are integers in picoseconds, so that the comparison is exact. The bound comes from the scenario, the measurement from packets: neither
//! knows the other before they are compared here.

use serde::Serialize;

/// The proven bound on a flow's delay beside the packet with the largest one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundResult {
    /// The bound on the delay of every packet, in picoseconds; `None` without one.
    pub delay_ps: Option<u64>,
    /// The method that gives it, such as "TFA++", or "buffer" if only a full buffer does; `None` without a bound.
    pub method: Option<String>,
    /// Why there is none, as a clause; `None` with a bound.
    pub reason: Option<String>,
    /// The packet with the largest delay of all replications, warm-ups included; `None` without packets.
    pub longest: Option<PacketResult>,
    /// The largest delay over the bound; `None` without either.
    pub ratio: Option<f64>,
    /// Whether no packet took longer than the bound; `None` without one.
    pub held: Option<bool>,
}

/// The proven bound on the delay of a class at its port, from the last bit in to the last bit out, beside the largest delay after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassBound {
    /// The bound on the delay of every packet that leaves, in picoseconds.
    pub delay_ps: u64,
    /// The largest delay of all replications in picoseconds; `None` without packets.
    pub longest_ps: Option<u64>,
    /// The largest delay over the bound; `None` without packets.
    pub ratio: Option<f64>,
    /// Whether no packet took longer than the bound.
    pub held: bool,
}

impl ClassBound {
    /// Compares a bound with the largest delay, both in picoseconds.
    pub fn new(delay_ps: u64, longest_ps: Option<u64>) -> Self {
        let ratio = longest_ps.filter(|_| delay_ps > 0).map(|longest| longest as f64 / delay_ps as f64);
        Self { delay_ps, longest_ps, ratio, held: longest_ps.is_none_or(|longest| longest <= delay_ps) }
    }
}

/// Equal flows of a run of an experiment with what is proven of them, and the packet of any of them with the largest delay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowBound {
    /// The run, such as "light load"; empty if there is only one.
    pub run: String,
    /// What the flows have in common, such as "guaranteed, path 1".
    pub flow: String,
    /// How many there are.
    pub count: usize,
    /// What is proven and measured.
    #[serde(flatten)]
    pub bound: BoundResult,
}

/// One packet, with instants in picoseconds from the start of its replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PacketResult {
    /// The replication, from 1.
    pub replication: u32,
    /// Its number among the packets of its flow that arrive, from 1.
    pub number: u64,
    /// When its source emitted it.
    pub came_ps: u64,
    /// When its last bit arrived at its sink.
    pub left_ps: u64,
    /// The time between both.
    pub delay_ps: u64,
}

impl BoundResult {
    /// Compares a bound in picoseconds and its method, or the reason why there is none, with the packet with the largest delay.
    ///
    /// ```
    /// use tidegate_report::{BoundResult, PacketResult};
    ///
    /// let packet = PacketResult { replication: 1, number: 17, came_ps: 100, left_ps: 1_100, delay_ps: 1_000 };
    /// let result = BoundResult::new(Ok((1_000, "TFA++")), Some(packet));
    /// assert_eq!((result.ratio, result.held), (Some(1.0), Some(true)));
    /// assert_eq!(BoundResult::new(Ok((999, "TFA++")), Some(packet)).held, Some(false));
    /// assert_eq!(BoundResult::new(Err("source `tcp` is not limited".into()), Some(packet)).held, None);
    /// ```
    pub fn new(bound: Result<(u64, &str), String>, longest: Option<PacketResult>) -> Self {
        let (delay_ps, method, reason) = match bound {
            Ok((delay_ps, method)) => (Some(delay_ps), Some(method.to_owned()), None),
            Err(reason) => (None, None, Some(reason)),
        };
        let measured = longest.map(|packet| packet.delay_ps);
        let ratio = measured.zip(delay_ps.filter(|bound| *bound > 0)).map(|(measured, bound)| measured as f64 / bound as f64);
        Self { held: delay_ps.map(|bound| measured.is_none_or(|measured| measured <= bound)), delay_ps, method, reason, longest, ratio }
    }
}
