//! Limits of a buffer as an operator states them: for all flows together, for each flow, and for the flows of a class.

use super::Arrival;
use crate::algorithm::{FieldError, Role};
use crate::packet::{DropReason, Flow};
use crate::queue::Backlog;
use crate::units::Rate;
use alloc::vec::Vec;

/// A limit in packets, in bytes, in both, or none. Bytes count frames without link overhead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FlowLimit {
    /// The most packets; no limit of its own if `None`.
    pub packets: Option<u32>,
    /// The most bytes, below 2^32; no limit of its own if `None`.
    pub bytes: Option<u32>,
}

/// The limit of the flows of one class in place of [`BufferParameters::flow`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Override {
    /// The first flow it applies to.
    pub first_flow: Flow,
    /// The number of flows it applies to, from there on.
    pub flows: u32,
    /// Their limit, each.
    pub limit: FlowLimit,
}

/// What one flow may use of a buffer, when that changes while the port runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowShare {
    /// The partition of a flow that fills a vacant place; 0 in a buffer without partitions.
    pub partition: u32,
    /// The limit of its queue.
    pub limit: FlowLimit,
    /// Its reserved bytes, for managers that mark what exceeds them.
    pub reserve: Option<u32>,
    /// Its minimum rate, for managers that share by rates.
    pub guarantee: Option<Rate>,
}

/// What a buffer manager is built from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BufferParameters {
    /// The number of flows (queues) of the port.
    pub flows: usize,
    /// The most packets in the whole buffer. A manager that pushes out should be given the packet limit of the port.
    pub packets: Option<u32>,
    /// The most bytes in the whole buffer, without link overhead.
    pub bytes: Option<u64>,
    /// The limit of each flow's queue.
    pub flow: FlowLimit,
    /// Exceptions to it, in increasing order of flows and without overlap.
    pub overrides: Vec<Override>,
    /// The factor of the dynamic threshold; 1 unless given.
    pub alpha: Option<Alpha>,
    /// The occupancy from which frames are subject to discard (R), in the unit of the buffer's size: bytes if that is given in bytes.
    pub threshold: Option<u64>,
    /// The occupancy from which tagged frames are discarded, in the same unit.
    pub tagged_threshold: Option<u64>,
    /// How much of an equal share a queue may take (Z).
    pub scaling: Option<Scaling>,
    /// The minimum rates of flows, in increasing order of flows and without overlap; all others have none.
    pub guarantees: Vec<Guarantee>,
    /// The rate that the guarantees are parts of: the link's.
    pub capacity: Option<Rate>,
    /// The description of weighted buffer allocation that is followed.
    pub reading: Option<Reading>,
    /// The reserved bytes of each flow; what it queues beyond them counts as marked. No flow has a reserve unless given.
    pub reserve: Option<u32>,
    /// Exceptions to it, in increasing order of flows and without overlap.
    pub reserves: Vec<Reserve>,
    /// True if the register of the longest queue follows departures as well as arrivals; true unless given.
    pub departure_updating: Option<bool>,
    /// The seed of a manager that draws lots; 1 unless given. The same seed gives the same lots.
    pub seed: Option<u64>,
    /// The most packets that the fattest flow loses at once; 64 unless given.
    pub batch: Option<u32>,
    /// True if single flows get other limits or reserves while the port runs: the tables for them are made when the manager is built.
    /// Otherwise the first such change makes them.
    pub changes: bool,
}

/// The reserved bytes of each of some flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserve {
    /// The first flow it applies to.
    pub first_flow: Flow,
    /// The number of flows it applies to, from there on.
    pub flows: u32,
    /// The bytes of each.
    pub bytes: u32,
}

/// The minimum rate of each of some flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guarantee {
    /// The first flow it applies to.
    pub first_flow: Flow,
    /// The number of flows it applies to, from there on.
    pub flows: u32,
    /// The rate of each.
    pub rate: Rate,
}

/// An exact fraction from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scaling {
    numerator: u32,
    denominator: u32,
}

impl Scaling {
    /// `numerator / denominator`; `None` if that is above 1, or if the denominator is 0 or above a million.
    pub const fn new(numerator: u32, denominator: u32) -> Option<Scaling> {
        if denominator == 0 || denominator > 1_000_000 || numerator > denominator { None } else { Some(Scaling { numerator, denominator }) }
    }

    /// The numerator.
    pub const fn numerator(self) -> u32 {
        self.numerator
    }

    /// The denominator.
    pub const fn denominator(self) -> u32 {
        self.denominator
    }
}

impl Default for Scaling {
    /// 0.8, as in the sources.
    fn default() -> Scaling {
        Scaling { numerator: 4, denominator: 5 }
    }
}

/// The two descriptions in the source of weighted buffer allocation, which differ for tagged frames of a flow below its share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reading {
    /// The pseudo-code: such a frame is accepted if its flow is within its part of the excess, as it then always is.
    #[default]
    PseudoCode,
    /// The prose: such a frame is refused.
    Prose,
}

/// A power of two between 2^-16 and 2^16.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Alpha(i8);

impl Alpha {
    /// 2 to the power of `exponent`, or `None` outside -16 to 16.
    pub const fn from_exponent(exponent: i32) -> Option<Alpha> {
        if exponent >= -16 && exponent <= 16 { Some(Alpha(exponent as i8)) } else { None }
    }

    /// The exponent.
    pub const fn exponent(self) -> i32 {
        self.0 as i32
    }
}

/// The role of buffer managers.
#[derive(Debug)]
pub enum Buffering {}

impl Role for Buffering {
    type Field = BufferField;
    type Parameters<'a> = &'a BufferParameters;
    type Error = BufferError;
}

/// Why a buffer manager cannot be built.
pub type BufferError = FieldError<BufferField>;

fields! {
    /// One of the fields of [`BufferParameters`].
    pub enum BufferField {
        /// [`BufferParameters::flows`].
        Flows = "flows",
        /// [`BufferParameters::packets`] and [`BufferParameters::bytes`].
        Limit = "limit",
        /// [`BufferParameters::flow`].
        FlowLimit = "flow_limit",
        /// [`BufferParameters::overrides`].
        Overrides = "limit of a class",
        /// [`BufferParameters::alpha`].
        Alpha = "alpha",
        /// [`BufferParameters::threshold`].
        Threshold = "threshold",
        /// [`BufferParameters::tagged_threshold`].
        TaggedThreshold = "tagged_threshold",
        /// [`BufferParameters::scaling`].
        Scaling = "scaling",
        /// [`BufferParameters::guarantees`].
        Guarantees = "minimum_rate",
        /// [`BufferParameters::reading`].
        Reading = "reading",
        /// [`BufferParameters::reserve`] and [`BufferParameters::reserves`].
        Reserve = "reserve",
        /// [`BufferParameters::departure_updating`].
        DepartureUpdating = "departure_updating",
        /// [`BufferParameters::seed`].
        Seed = "seed",
        /// [`BufferParameters::batch`].
        Batch = "batch",
        /// [`FlowShare::partition`].
        Partition = "partition",
    }
}

impl BufferField {
    /// The fields that only some managers use.
    pub const SPECIAL: &'static [BufferField] = &[
        BufferField::Alpha,
        BufferField::Threshold,
        BufferField::TaggedThreshold,
        BufferField::Scaling,
        BufferField::Guarantees,
        BufferField::Reading,
        BufferField::Reserve,
        BufferField::DepartureUpdating,
        BufferField::Seed,
        BufferField::Batch,
    ];

    pub(super) const fn wrong(self, problem: &'static str) -> BufferError {
        FieldError { field: self, problem }
    }
}

impl BufferParameters {
    /// True if `field` is given.
    pub fn has(&self, field: BufferField) -> bool {
        match field {
            BufferField::Flows => true,
            BufferField::Limit => self.packets.is_some() || self.bytes.is_some(),
            BufferField::FlowLimit => self.flow != FlowLimit::default(),
            BufferField::Overrides => !self.overrides.is_empty(),
            BufferField::Alpha => self.alpha.is_some(),
            BufferField::Threshold => self.threshold.is_some(),
            BufferField::TaggedThreshold => self.tagged_threshold.is_some(),
            BufferField::Scaling => self.scaling.is_some(),
            BufferField::Guarantees => !self.guarantees.is_empty(),
            BufferField::Reading => self.reading.is_some(),
            BufferField::Reserve => self.reserve.is_some() || !self.reserves.is_empty(),
            BufferField::DepartureUpdating => self.departure_updating.is_some(),
            BufferField::Seed => self.seed.is_some(),
            BufferField::Batch => self.batch.is_some(),
            BufferField::Partition => false,
        }
    }

    pub(crate) fn check(&self, accepted: &[BufferField]) -> Result<(), BufferError> {
        if self.packets == Some(0) || self.bytes == Some(0) {
            return Err(BufferField::Limit.wrong("must be larger than 0: nothing could ever be queued"));
        }
        self.flow.check(BufferField::FlowLimit)?;
        let flows = self.flows;
        for exception in &self.overrides {
            exception.limit.check(BufferField::Overrides)?;
        }
        in_order(self.overrides.iter().map(|o| (o.first_flow, o.flows)), flows, BufferField::Overrides)?;
        in_order(self.reserves.iter().map(|r| (r.first_flow, r.flows)), flows, BufferField::Reserve)?;
        match BufferField::SPECIAL.iter().find(|&&field| self.has(field) && !accepted.contains(&field)) {
            Some(field) => Err(field.wrong("this buffer manager does not use it")),
            None => Ok(()),
        }
    }
}

impl FlowLimit {
    pub(super) fn check(self, field: BufferField) -> Result<(), BufferError> {
        if self.packets == Some(0) || self.bytes == Some(0) {
            return Err(field.wrong("must be larger than 0: nothing could ever be queued"));
        }
        Ok(())
    }
}

/// Checks ranges of flows, each given by its first and its number.
fn in_order(ranges: impl Iterator<Item = (Flow, u32)>, flows: usize, field: BufferField) -> Result<(), BufferError> {
    let mut from = 0;
    for (first, number) in ranges {
        if first.index() < from {
            return Err(field.wrong("must come in increasing order of flows, without overlap"));
        }
        from = first.index().saturating_add(number as usize);
        if from > flows {
            return Err(field.wrong("names a flow that the port does not have"));
        }
    }
    Ok(())
}

/// A value per flow, most of which have the same one.
#[derive(Clone, Debug)]
pub(super) struct PerFlow<T> {
    flows: usize,
    all: T,
    /// One entry per flow; empty if every flow has `all`.
    each: Vec<T>,
}

impl<T: Copy + PartialEq> PerFlow<T> {
    /// `all` for each flow but those of the exceptions, which are ranges given by first flow and number. The table is made if `changes`
    /// or if there is an exception.
    pub(super) fn new(flows: usize, all: T, exceptions: impl Iterator<Item = (Flow, u32, T)>, changes: bool) -> PerFlow<T> {
        let mut table = PerFlow { flows, all, each: Vec::new() };
        if changes {
            table.each.resize(flows, all);
        }
        for (first, number, value) in exceptions {
            table.each.resize(flows, all);
            table.each[first.index()..first.index() + number as usize].fill(value);
        }
        table
    }

    #[inline]
    pub(super) fn of(&self, flow: Flow) -> T {
        *self.each.get(flow.index()).unwrap_or(&self.all)
    }

    /// `flow` has this value from now on, `None` the one that all have.
    pub(super) fn change(&mut self, flow: Flow, value: Option<T>) {
        let value = value.unwrap_or(self.all);
        if self.each.is_empty() && value != self.all {
            self.each.resize(self.flows, self.all);
        }
        if let Some(place) = self.each.get_mut(flow.index()) {
            *place = value;
        }
    }
}

/// The limits as a packet is tested against them.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    packets: u32,
    bytes: u64,
    flows: PerFlow<Bound>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Bound {
    packets: u32,
    bytes: u32,
}

impl From<FlowLimit> for Bound {
    fn from(limit: FlowLimit) -> Bound {
        // Queues cannot count beyond the largest numbers, so these limits always hold.
        Bound { packets: limit.packets.unwrap_or(u32::MAX), bytes: limit.bytes.unwrap_or(u32::MAX) }
    }
}

impl Limits {
    pub(super) fn new(parameters: &BufferParameters) -> Limits {
        let exceptions = parameters.overrides.iter().map(|o| (o.first_flow, o.flows, Bound::from(o.limit)));
        Limits {
            packets: parameters.packets.unwrap_or(u32::MAX),
            bytes: parameters.bytes.unwrap_or(u64::MAX),
            flows: PerFlow::new(parameters.flows, Bound::from(parameters.flow), exceptions, parameters.changes),
        }
    }

    /// `flow` has this limit from its next packet on; none of its own if it has none.
    pub(super) fn change(&mut self, flow: Flow, limit: FlowLimit) -> Result<(), BufferError> {
        limit.check(BufferField::FlowLimit)?;
        self.flows.change(flow, Some(Bound::from(limit)));
        Ok(())
    }

    /// `flow` has the limit that it had on a new buffer without exceptions.
    pub(super) fn forget(&mut self, flow: Flow) {
        self.flows.change(flow, None);
    }

    /// The most bytes in the whole buffer.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The most packets in the whole buffer.
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    /// True if the packet would be within its flow's own limit.
    #[inline]
    pub(super) fn flow_has_room(&self, arrival: &Arrival, backlog: &impl Backlog) -> bool {
        let bound = self.flows.of(arrival.flow);
        backlog.flow_packets(arrival.flow) < bound.packets
            && u64::from(backlog.flow_bytes(arrival.flow)) + u64::from(arrival.length) <= u64::from(bound.bytes)
    }

    /// True if the packet would be within the limit that all flows share.
    #[inline]
    pub(super) fn buffer_has_room(&self, arrival: &Arrival, backlog: &impl Backlog) -> bool {
        backlog.packets() < self.packets && backlog.bytes() + u64::from(arrival.length) <= self.bytes
    }

    /// True if the packet would be within the shared limit without these packets and their bytes.
    #[inline]
    pub(super) fn buffer_would_have_room(&self, arrival: &Arrival, backlog: &impl Backlog, packets: u32, bytes: u64) -> bool {
        backlog.packets() - packets < self.packets && backlog.bytes() - bytes + u64::from(arrival.length) <= self.bytes
    }

    /// The limit that the packet would exceed, its flow's first; `None` if it fits.
    #[inline]
    pub(super) fn exceeded(&self, arrival: &Arrival, backlog: &impl Backlog) -> Option<DropReason> {
        if !self.flow_has_room(arrival, backlog) {
            Some(DropReason::FlowLimit)
        } else if !self.buffer_has_room(arrival, backlog) {
            Some(DropReason::SharedLimit)
        } else {
            None
        }
    }
}

/// The reserved bytes of each flow.
#[derive(Clone, Debug)]
pub(super) struct Reserves(PerFlow<u32>);

impl Reserves {
    pub(super) fn new(parameters: &BufferParameters) -> Reserves {
        // No queue counts beyond the largest number, so that stands for no reserve.
        let all = parameters.reserve.unwrap_or(u32::MAX);
        let exceptions = parameters.reserves.iter().map(|r| (r.first_flow, r.flows, r.bytes));
        Reserves(PerFlow::new(parameters.flows, all, exceptions, parameters.changes))
    }

    /// True if the packet would bring its queue beyond its flow's reserve.
    #[inline]
    pub(super) fn is_exceeded(&self, arrival: &Arrival, backlog: &impl Backlog) -> bool {
        u64::from(backlog.flow_bytes(arrival.flow)) + u64::from(arrival.length) > u64::from(self.0.of(arrival.flow))
    }

    /// `flow` has this reserve from its next packet on, none if it has none.
    pub(super) fn change(&mut self, flow: Flow, reserve: Option<u32>) {
        self.0.change(flow, Some(reserve.unwrap_or(u32::MAX)));
    }

    /// `flow` has the reserve that it had on a new buffer without exceptions.
    pub(super) fn forget(&mut self, flow: Flow) {
        self.0.change(flow, None);
    }
}
