//! The interface between a direction and the thread that runs it.

use crate::class_queues::ClassQueues;
use crate::counters::DirectionCounters;
use crate::error::ControlError;
use crate::ingress::Checksums;
use crate::port_change::{Asked, Needs, PortChanged, Replaced};
use crate::record::DirectionRecord;
use crate::take_over::Shown;
use crate::workers::Worker;
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::Sender;
use tidegate_core::classifier::Classifier;
use tidegate_core::units::{Duration, Time};
use tidegate_endsystem::{EngineCounters, Transfers};
use tidegate_link::Link;
use tidegate_statistics::{Delays, PortRecorder};
use tidegate_wire::AckFilter;

/// How often a direction checks its interfaces, publishes its counters and reads the stop flag.
pub(crate) const MAINTENANCE_INTERVAL: Duration = Duration::from_milliseconds(50);

/// The wait before another attempt when the kernel has no room, or after a socket error.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_microseconds(50);

/// When to poll a direction again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// At once: there may be more frames.
    Again,
    /// At this instant, or when a frame arrives.
    At(Time),
    /// Soon: the kernel has no room.
    Blocked,
    /// When a frame arrives: nothing is held.
    Idle,
}

/// A direction, as its thread drives it.
pub(crate) trait DirectionLoop<O> {
    /// Takes in received frames, if `reading`, and does everything else that is due at `now`.
    fn poll(&mut self, now: Time, reading: bool) -> Next;

    /// The thread has waited for a frame or an instant, and has woken.
    fn woken(&mut self) {}

    /// Checks both interfaces. True if one of them went down or came back.
    fn maintain(&mut self, now: Time) -> bool;

    /// Leaves out the frames that arrived in this span, in nanoseconds of CLOCK_REALTIME: a guardian has carried them.
    /// An end system has no guardian.
    fn skip(&mut self, _span: RangeInclusive<u64>) {}

    /// The current counters.
    fn counters(&self) -> DirectionCounters;

    /// The record so far.
    fn record(&mut self) -> &mut DirectionRecord;

    /// As [`ClassQueues::add`].
    fn add_queues(&self, now: Time, class: usize, most: u32, queues: &mut ClassQueues) -> bool;

    /// True if the bytes of packets are here until they are sent or dropped.
    fn keeps_bytes(&self) -> bool;

    /// The classifier of the present policy.
    fn classifier(&self) -> &Classifier;

    /// How often the policy has changed.
    fn switches(&self) -> u32;

    /// Whether a policy with these needs could take the place of the present one.
    fn fits(&self, needs: Needs) -> Result<(), ControlError>;

    /// Changes the policy at the next poll, or says why not. The outcome goes to `reply`.
    fn change(&mut self, change: Asked, reply: Sender<Replaced>);

    /// The descriptor that becomes readable when frames arrive.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// The descriptor by which another thread wakes this one.
    fn waker(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// What a successor in another process needs; `None` if it has sockets that cannot be handed over.
    fn stand_still(&mut self, _now: Time) -> Option<Shown> {
        None
    }

    /// True if it cannot go on.
    fn has_failed(&self) -> bool;

    /// Ends it. Frames that it still holds stay counted as queued or in flight.
    fn finish(self, now: Time) -> DirectionReport<O>;
}

/// How a direction treats frames and time.
#[derive(Clone, Debug)]
pub(crate) struct DirectionOptions {
    pub(crate) checksums: Checksums,
    pub(crate) ack_filter: Option<AckFilter>,
    /// The most packets taken in at one instant.
    pub(crate) batch: u32,
    pub(crate) catch_up: Duration,
    /// How long before an instant threads watch the clock instead of sleeping.
    pub(crate) spin: Duration,
    pub(crate) slots: u32,
    /// The packets that the port may hold, for which `slots` are enough.
    pub(crate) room: u32,
    pub(crate) link: Link,
    /// The number of the direction, from 0, which makes its losses independent.
    pub(crate) number: u64,
}

pub(crate) struct DirectionReport<O> {
    pub(crate) counters: DirectionCounters,
    pub(crate) recorder: PortRecorder,
    pub(crate) lateness: Delays,
    /// The total transmission time of the link, in picoseconds.
    pub(crate) busy: u128,
    pub(crate) observer: O,
    /// `None` if the direction had one thread.
    pub(crate) engine: Option<EngineRecord>,
    /// What each change of the policy did.
    pub(crate) changes: Vec<PortChanged>,
    /// One of several workers, with its ends of the rings between them.
    pub(crate) worker: Option<Box<Worker>>,
}

/// What a decision engine in a thread of its own has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EngineRecord {
    /// Its decisions and arrivals.
    pub engine: EngineCounters,
    /// The winners that reached the Transmission Engine.
    pub winners: Transfers,
}
