//! The I/O Bus Utilization Guard: it divides a bus that no arbiter divides fairly, by how many frames each receive channel may move in a period.
//!
//! A network interface has a receive channel and a FIFO per flow, and counts what waits and what moved. Once a period the driver reads the counters,
//! calls [`Guard::activate`], and writes the vacancies that it answers: free descriptors that the channel may use until the next activation.
//!
//! **Law.** The vacancies times the frames are below `capacity + sum of frames`. A flow with at most its share of arrivals waits for at most three
//! periods, whatever the others send and whatever they have room for. `|u_i| <= clamp * w_i / W * capacity`.
//!
//! **Source.** The I/O Bus Utilization Guard (BUG) of the thesis on software routers; its steps are reconstructed from captions and experiments.
//! The fluid server that is emulated is GPS: Parekh and Gallager, IEEE/ACM ToN 1(3), 1993.
//!
//! **State.** Per flow 64 bytes, and 64 more for the division. They hold the bytes that wait, `N_i`; the backlog of the fluid server, `Phi_i`; and the
//! counterbalance `u_i = Phi_i - N_i`. What was granted but is less than a frame is carried.
//!
//! **Cost.** O(n) per activation: two water-fillings, and two divisions per flow. No allocation after set-up.
//!
//! **RTL twin.** None.
//!
//! **Deviations.** Three repairs. A flow without room earns no credit for what it cannot move. Credit beyond the clamp is forgotten by the fluid server, too.
//! The capacity has an efficiency, 1/2 where every frame passes the bus twice. All is integers of 2^-16 byte, see [`UNITS_PER_BYTE`].

mod water_filling;

pub use water_filling::{Claim, WaterFilling};

use alloc::vec::Vec;
use core::fmt;

/// The resolution of the fluid server and of grants. Counters are whole bytes; water-filling rounds to one unit and keeps the sums exact; shares of
/// spare capacity and parts of a frame are carried without any rounding.
pub const UNITS_PER_BYTE: i64 = 1 << 16;

/// The most bytes that may wait in all FIFOs together, arrive in a period, or be moved in one: 16 TiB.
pub const MOST_BYTES: u64 = 1 << 44;

/// A fraction of two integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratio {
    /// The numerator.
    pub numerator: u32,
    /// The denominator, at least 1.
    pub denominator: u32,
}

impl Ratio {
    /// 1.
    pub const ONE: Ratio = Ratio { numerator: 1, denominator: 1 };
    /// 1/2.
    pub const HALF: Ratio = Ratio { numerator: 1, denominator: 2 };

    /// `value * self`, rounded down.
    fn floor_of(self, value: u128) -> u128 {
        value * u128::from(self.numerator) / u128::from(self.denominator)
    }

    /// `value * self`, rounded up.
    fn ceil_of(self, value: u128) -> u128 {
        (value * u128::from(self.numerator)).div_ceil(u128::from(self.denominator))
    }
}

/// What a guard has to know of the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardSettings {
    /// The bytes that the bus moves in a period.
    pub capacity: u64,
    /// The part of them that reception may use: 1 if nothing else uses the bus, 1/2 if each received frame leaves over the same bus.
    pub efficiency: Ratio,
    /// The limit of a flow's credit and debt, as a multiple of its share of a period; `None` for its share of [`MOST_BYTES`]. 1 by default.
    pub clamp: Option<Ratio>,
    /// The guard goes idle when nothing waits and less than this part of the capacity was moved. 1 by default.
    pub threshold: Ratio,
}

impl GuardSettings {
    /// For a bus that moves this many bytes in a period and serves only reception.
    pub const fn new(capacity: u64) -> GuardSettings {
        GuardSettings { capacity, efficiency: Ratio::ONE, clamp: Some(Ratio::ONE), threshold: Ratio::ONE }
    }
}

/// A flow with a receive channel of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardedFlow {
    /// Its weight, at least 1. The weights of all flows add up to less than 2^32.
    pub weight: u32,
    /// The bytes that its mean frame takes on the bus, overhead included; at least 1.
    pub frame: u32,
}

/// What the counters of a channel say of the period that ends.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Activity {
    /// Bytes that the FIFO accepted.
    pub accepted: u64,
    /// Bytes of transfers that ended.
    pub moved: u64,
    /// Frames that the ring has room for.
    pub room: u32,
}

/// The answer of an activation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vacancies<'a> {
    /// The bus is not saturated: every channel may use its whole ring.
    Open,
    /// Frames that each channel may move until the next activation; at most its room.
    Limited(&'a [u32]),
}

/// Why no guard can be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuardError {
    /// A ratio has the denominator 0.
    Denominator,
    /// The capacity, times the efficiency or the clamp, is below 2^-16 byte or above [`MOST_BYTES`].
    Capacity,
    /// A weight is 0, or the weights add up to 2^32 or more.
    Weight {
        /// The flow.
        flow: usize,
    },
    /// A frame has no bytes.
    Frame {
        /// The flow.
        flow: usize,
    },
}

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GuardError::Denominator => write!(f, "a ratio of the guard has the denominator 0: give at least 1"),
            GuardError::Capacity => {
                write!(
                    f,
                    "the capacity of a period, times efficiency and clamp, is out of range: give more than 0 and at most {MOST_BYTES} bytes"
                )
            }
            GuardError::Weight { flow } => write!(f, "flow {flow}: the weight is 0, or the sum of the weights is 2^32 or more: give less"),
            GuardError::Frame { flow } => write!(f, "flow {flow}: a frame takes 0 bytes on the bus: give at least 1"),
        }
    }
}

impl core::error::Error for GuardError {}

/// Counters that cannot be: the activation did not take place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActivityError {
    /// There is not one activity per flow.
    Count,
    /// More bytes were moved than had been accepted.
    Moved {
        /// The flow.
        flow: usize,
    },
    /// More than [`MOST_BYTES`] wait or arrived, up to this flow.
    Accepted {
        /// The flow.
        flow: usize,
    },
}

impl fmt::Display for ActivityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActivityError::Count => write!(f, "the guard needs the counters of every flow, in order"),
            ActivityError::Moved { flow } => write!(f, "flow {flow}: more bytes were moved than had been accepted"),
            ActivityError::Accepted { flow } => write!(f, "flow {flow}: more than {MOST_BYTES} bytes wait"),
        }
    }
}

impl core::error::Error for ActivityError {}

/// Amounts are units unless they say otherwise.
#[derive(Clone, Debug)]
struct FlowState {
    weight: u32,
    /// In bytes.
    frame: u32,
    /// The limit of `counterbalance`.
    bound: i64,
    /// `N`, in bytes.
    waiting: u64,
    /// `Phi`: what would wait under GPS.
    fluid: i64,
    /// `u`: what the flow was served beyond GPS; negative if it is owed.
    counterbalance: i64,
    /// Granted, but less than a frame.
    residue: i64,
    /// Granted, but less than a unit: numerator over the sum of the weights.
    remainder: u64,
}

/// The guard of a bus.
///
/// ```
/// use tidegate_core::guard::{Activity, Guard, GuardSettings, GuardedFlow, Vacancies};
/// // 6,000 bytes per period; three flows of equal weight are backlogged with frames of 100, 600 and 1,500 bytes.
/// let flows = [100, 600, 1500].map(|frame| GuardedFlow { weight: 1, frame });
/// let mut guard = Guard::new(&GuardSettings::new(6000), &flows).unwrap();
/// let backlogged = [Activity { accepted: 60_000, moved: 0, room: 64 }; 3];
/// assert_eq!(guard.activate(&backlogged), Ok(Vacancies::Limited(&[20, 3, 1])));
/// ```
#[derive(Clone, Debug)]
pub struct Guard {
    flows: Vec<FlowState>,
    /// What may be granted in a period.
    capacity: i64,
    /// Idle below this.
    threshold: i64,
    weight_sum: u64,
    is_active: bool,
    claims: Vec<Claim>,
    grants: Vec<i64>,
    vacancies: Vec<u32>,
    filling: WaterFilling,
}

impl Guard {
    /// Of these flows; idle, with nothing waiting.
    ///
    /// # Errors
    /// [`GuardError`] if a value is out of its range.
    pub fn new(settings: &GuardSettings, flows: &[GuardedFlow]) -> Result<Guard, GuardError> {
        let GuardSettings { capacity, efficiency, clamp, threshold } = *settings;
        if [efficiency, threshold, clamp.unwrap_or(Ratio::ONE)].iter().any(|ratio| ratio.denominator == 0) {
            return Err(GuardError::Denominator);
        }
        let units = |bytes: u64| u128::from(bytes) * UNITS_PER_BYTE.unsigned_abs() as u128;
        let in_range = |amount: u128| if amount <= units(MOST_BYTES) { Ok(amount) } else { Err(GuardError::Capacity) };
        let capacity = in_range(efficiency.floor_of(units(capacity)))?;
        if capacity == 0 {
            return Err(GuardError::Capacity);
        }
        let mut weight_sum = 0;
        for (flow, given) in flows.iter().enumerate() {
            weight_sum += u64::from(given.weight);
            if given.weight == 0 || weight_sum > u64::from(u32::MAX) {
                return Err(GuardError::Weight { flow });
            }
            if given.frame == 0 {
                return Err(GuardError::Frame { flow });
            }
        }
        // The bound is rounded down, so that the law holds to the letter.
        let limit = clamp.map_or(Ok(units(MOST_BYTES)), |clamp| in_range(clamp.floor_of(capacity)))?;
        let bound = |weight| (limit * u128::from(weight) / u128::from(weight_sum)) as i64;
        let state = |given: &GuardedFlow| FlowState {
            weight: given.weight,
            frame: given.frame,
            bound: bound(given.weight),
            waiting: 0,
            fluid: 0,
            counterbalance: 0,
            residue: 0,
            remainder: 0,
        };
        Ok(Guard {
            flows: flows.iter().map(state).collect(),
            capacity: capacity as i64,
            // Rounded up: an integer is below the ratio if and only if it is below that.
            threshold: in_range(threshold.ceil_of(capacity))? as i64,
            weight_sum,
            is_active: false,
            claims: Vec::with_capacity(flows.len()),
            grants: alloc::vec![0; flows.len()],
            vacancies: alloc::vec![0; flows.len()],
            filling: WaterFilling::new(flows.len()),
        })
    }

    /// Ends a period and begins the next: takes the counters of every flow since the last activation, and answers what each may move.
    ///
    /// # Errors
    /// [`ActivityError`] if the counters cannot be; the guard is as before.
    pub fn activate(&mut self, activity: &[Activity]) -> Result<Vacancies<'_>, ActivityError> {
        let moved = self.check(activity)?;
        if self.is_active {
            self.serve_fluid(activity);
        }
        let mut waiting = 0;
        for (flow, activity) in self.flows.iter_mut().zip(activity) {
            flow.waiting = flow.waiting + activity.accepted - activity.moved;
            waiting += flow.waiting;
        }
        if waiting == 0 && units(moved) < self.threshold {
            self.is_active = false;
            for flow in &mut self.flows {
                (flow.fluid, flow.counterbalance, flow.residue, flow.remainder) = (0, 0, 0, 0);
            }
            return Ok(Vacancies::Open);
        }
        self.counterbalance(activity);
        self.is_active = true;
        let spare = self.filling.fill(&self.claims, self.capacity, &mut self.grants);
        self.grant(activity, if fault!(GuardWastesSpare) { 0 } else { spare });
        Ok(Vacancies::Limited(&self.vacancies))
    }

    /// The frames of a flow take this many bytes on the bus from now on.
    ///
    /// # Errors
    /// [`GuardError::Frame`] for 0 bytes; then nothing changes.
    ///
    /// # Panics
    /// If there is no such flow.
    pub fn set_frame(&mut self, flow: usize, bytes: u32) -> Result<(), GuardError> {
        if bytes == 0 {
            return Err(GuardError::Frame { flow });
        }
        self.flows[flow].frame = bytes;
        Ok(())
    }

    /// True if the last activation limited the channels.
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Units that may be granted in a period.
    pub fn capacity(&self) -> i64 {
        self.capacity
    }

    /// The bytes of a flow that wait: `N`. `None` if there is no such flow.
    pub fn waiting(&self, flow: usize) -> Option<u64> {
        self.flows.get(flow).map(|flow| flow.waiting)
    }

    /// The units that a flow was served beyond its share, `u`; negative if it is owed. `None` if there is no such flow.
    pub fn credit(&self, flow: usize) -> Option<i64> {
        self.flows.get(flow).map(|flow| flow.counterbalance)
    }

    /// The bytes moved, if the counters can be.
    fn check(&self, activity: &[Activity]) -> Result<u64, ActivityError> {
        if activity.len() != self.flows.len() {
            return Err(ActivityError::Count);
        }
        let (mut moved, mut waiting, mut accepted) = (0, 0u64, 0u64);
        for (index, (flow, activity)) in self.flows.iter().zip(activity).enumerate() {
            accepted = accepted.saturating_add(activity.accepted);
            waiting += flow.waiting;
            if accepted > MOST_BYTES || waiting + accepted > MOST_BYTES {
                return Err(ActivityError::Accepted { flow: index });
            }
            if activity.moved > flow.waiting + activity.accepted {
                return Err(ActivityError::Moved { flow: index });
            }
            moved += activity.moved;
        }
        Ok(moved)
    }

    /// GPS serves a period: arrivals come in a batch at its beginning.
    fn serve_fluid(&mut self, activity: &[Activity]) {
        self.claims.clear();
        self.claims.extend(self.flows.iter().zip(activity).map(|(flow, activity)| Claim {
            weight: weight(flow),
            most: flow.fluid + units(activity.accepted),
            credit: 0,
        }));
        self.filling.fill(&self.claims, self.capacity, &mut self.grants);
        for ((flow, claim), served) in self.flows.iter_mut().zip(&self.claims).zip(&self.grants) {
            flow.fluid = claim.most - served;
        }
    }

    /// Compares the fluid server with what waits, and fills in the claims on the next period.
    fn counterbalance(&mut self, activity: &[Activity]) {
        self.claims.clear();
        for (flow, activity) in self.flows.iter_mut().zip(activity) {
            let waiting = units(flow.waiting);
            let servable = flow.waiting.min(u64::from(activity.room) * u64::from(flow.frame));
            let most = if fault!(GuardIgnoresRoom) { waiting } else { units(servable) };
            // A flow that cannot be served earns no credit.
            if !self.is_active || most < waiting {
                flow.fluid = waiting;
            }
            let bound = if fault!(GuardWithoutClamp) { i64::MAX } else { flow.bound };
            flow.counterbalance = (flow.fluid - waiting).clamp(-bound, bound);
            if !fault!(GuardRemembersCredit) {
                flow.fluid = (waiting + flow.counterbalance).max(0);
            }
            let credit = if fault!(GuardWithoutCounterbalance) { 0 } else { flow.counterbalance };
            self.claims.push(Claim { weight: weight(flow), most, credit });
        }
    }

    /// Whole frames from the grants, and from each flow's share of the spare capacity.
    fn grant(&mut self, activity: &[Activity], spare: i64) {
        let sum = self.weight_sum;
        let (whole, part) = (spare.unsigned_abs() / sum, spare.unsigned_abs() % sum);
        for (((flow, activity), grant), vacancy) in self.flows.iter_mut().zip(activity).zip(&self.grants).zip(&mut self.vacancies) {
            let weight = u64::from(flow.weight);
            let mut granted = (grant + flow.residue).unsigned_abs() + weight * whole;
            if part > 0 {
                granted += weight * part / sum;
                flow.remainder += weight * part % sum;
                if flow.remainder >= sum {
                    flow.remainder -= sum;
                    granted += 1;
                }
            }
            let frame = units(u64::from(flow.frame)).unsigned_abs();
            let (frames, rest) = if granted < frame { (0, granted) } else { (granted / frame, granted % frame) };
            flow.residue = if fault!(GuardForgetsResidues) { 0 } else { rest as i64 };
            *vacancy = frames.min(u64::from(activity.room)) as u32;
        }
    }
}

/// The bytes are at most [`MOST_BYTES`], so that four times the units fit.
#[inline]
const fn units(bytes: u64) -> i64 {
    bytes as i64 * UNITS_PER_BYTE
}

#[inline]
fn weight(flow: &FlowState) -> u32 {
    if fault!(GuardIgnoresWeights) { 1 } else { flow.weight }
}
