//! The buffers of a policy: the one that classes share, and the partitions of the policy, of groups and of classes.

use crate::units::{Limit, Ratio};
use tidegate_core::buffer::{Alpha, BufferError, Reading};
use tidegate_core::registry::{AnyBufferManager, BufferKind, PartitionSpec};

/// A buffer: that of a port, or a partition of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// The algorithm.
    pub kind: BufferKind,
    /// The size.
    pub limit: Limit,
    /// The factor of the dynamic threshold.
    pub alpha: Option<Alpha>,
    /// The fill level, as a part of the size, above which frames may be refused.
    pub threshold: Option<Ratio>,
    /// The fill level, as a part of the size, above which tagged frames are refused.
    pub tagged_threshold: Option<Ratio>,
    /// How much of an equal share a queue may take.
    pub scaling: Option<Ratio>,
    /// The description of weighted buffer allocation to follow.
    pub reading: Option<Reading>,
    /// Whether departures update the register of the quasi-longest queue.
    pub departure_updating: Option<bool>,
    /// The seed of lots.
    pub seed: Option<u64>,
    /// The packets of a batch.
    pub batch: Option<u32>,
}

/// The owner of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// The policy: classes name the partition that they are in.
    Policy,
    /// The group of this index.
    Group(usize),
    /// One class.
    Class,
}

/// A part of the buffer that only some classes use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Whose it is, like "class `voice`", or its name, like "partition `voice`".
    pub name: String,
    /// Its owner.
    pub owner: Owner,
    /// Its manager and its limits.
    pub buffer: Buffer,
    /// The most packets it can hold.
    pub packets: u32,
}

/// All buffers of a policy.
pub(crate) struct Buffers {
    /// What the classes without a partition share.
    pub shared: Buffer,
    pub partitions: Vec<Partition>,
    /// The partition of each class.
    pub partition_of: Vec<Option<usize>>,
    /// The sum of all.
    pub packet_limit: u32,
    /// `None` if an error was reported.
    pub manager: Option<BufferSpec>,
}

/// What the buffer manager of a port is built from. A manager has a limit for each of its queues; this has one for each plan.
#[derive(Clone, Debug)]
pub(crate) struct BufferSpec {
    /// Of the buffer, or of its partitions.
    pub specs: Vec<PartitionSpec>,
    /// The partition of each queue, if there are any.
    pub partition_of: Option<Vec<Option<u32>>>,
}

impl BufferSpec {
    /// Builds the manager of an empty buffer.
    ///
    /// # Errors
    /// As [`AnyBufferManager::partitioned`].
    pub fn build(&self) -> Result<AnyBufferManager, (Option<usize>, BufferError)> {
        match (&self.partition_of, self.specs.as_slice()) {
            (None, [spec]) => spec.kind.build(&spec.parameters).map_err(|error| (None, error)),
            (partition_of, specs) => AnyBufferManager::partitioned(specs, partition_of.as_deref().unwrap_or_default()),
        }
    }
}
