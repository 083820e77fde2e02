//! A direction with frames in memory, polled at instants that the tests choose.
#![allow(unsafe_code)]

use super::*;
use crate::io::{KernelCounters, Place, Received, RingForm, SendError};
use crate::offload::{Offload, PartialChecksum, Segmentation};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::packet::{DropReason, Flow, Packet};
use tidegate_core::port::{RateStep, VaryingRate};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::remark::{Remark, Remarks};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Overhead, Rate};
use tidegate_link::{Link, Loss, LossStream};
use tidegate_wire::{checksum, segment::SuperFrameKind};

mod acks;
mod allocation;
mod changes;
mod continuation;
mod disturbed;
pub(crate) mod marked;
mod probed;
mod replanned;
mod workers;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all calls are passed on unchanged; the thread-local count needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Frames that wait to be received.
#[derive(Default)]
pub(crate) struct Arrivals {
    pub(crate) frames: VecDeque<(Vec<u8>, Offload)>,
    /// A frame that is received this often, after `frames`.
    repeated: Option<(Vec<u8>, u32)>,
    down: bool,
}

impl Receive for Arrivals {
    fn receive(&mut self, pool: &mut FramePool, take: impl FnOnce(&mut FramePool, Received<'_>)) -> bool {
        if let Some((bytes, offload)) = self.frames.pop_front() {
            take(
                pool,
                Received { place: Place::Outside(&bytes), length: bytes.len() as u32, offload, virtio: Default::default(), arrived: 0 },
            );
            return true;
        }
        match &mut self.repeated {
            Some((bytes, left)) if *left > 0 => {
                *left -= 1;
                take(
                    pool,
                    Received {
                        place: Place::Outside(bytes),
                        length: bytes.len() as u32,
                        offload: Offload::default(),
                        virtio: Default::default(),
                        arrived: 0,
                    },
                );
                true
            }
            _ => false,
        }
    }

    fn maintain(&mut self) -> bool {
        !self.down
    }

    fn skip(&mut self, _span: RangeInclusive<u64>) {}

    fn kernel_counters(&self) -> KernelCounters {
        KernelCounters::default()
    }

    fn hand_over(&mut self) -> Option<(Option<OwnedFd>, RingForm)> {
        Some((None, continuation::NO_RING))
    }

    fn take_over(&mut self, _ring: Option<OwnedFd>, _form: RingForm, _kernel: KernelCounters) -> std::io::Result<()> {
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Takes frames, or refuses them as the test demands.
#[derive(Default)]
pub(crate) struct Departures {
    /// The first payload byte of every frame taken.
    pub(crate) sent: Vec<u8>,
    /// Refusals to come: the reason and how often.
    pub(crate) refusals: VecDeque<(SendError, u32)>,
    pub(crate) most: usize,
}

impl Transmit for Departures {
    fn send<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) -> Result<usize, SendError> {
        if let Some((reason, left)) = self.refusals.front_mut() {
            let reason = *reason;
            *left -= 1;
            if *left == 0 {
                self.refusals.pop_front();
            }
            return Err(reason);
        }
        let mut count = 0;
        for message in messages.take(self.most) {
            if self.sent.len() < self.sent.capacity() {
                self.sent.push(message.get(10 + 14).copied().unwrap_or_default());
            }
            count += 1;
        }
        Ok(count)
    }

    fn maintain(&mut self) -> bool {
        true
    }
}

type Tested<O = ()> = Direction<Arrivals, Departures, O>;
const LONGEST_FRAME: u32 = 1518;

/// One class, first in first out, 10 Mbit/s with Ethernet's overhead, room for `packets`.
pub(crate) fn setup(packets: u32) -> PortSetup {
    let rate = Rate::new(10_000_000).unwrap();
    let rules = ClassRules { name: "all".into(), queues: 1, rules: Vec::new() };
    let buffer = BufferParameters { flows: 1, packets: Some(packets), ..BufferParameters::default() };
    PortSetup {
        rate,
        overhead: Overhead::ETHERNET,
        classifier: Classifier::new(vec![rules], 0).unwrap(),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, LONGEST_FRAME + 24), &[FlowParameters::default()]).unwrap(),
        packet_limit: packets,
        longest_frame: LONGEST_FRAME,
        remarks: Default::default(),
    }
}

pub(crate) fn direction_options(slots: u32) -> DirectionOptions {
    let (catch_up, spin, link) = (Duration::from_milliseconds(2), Duration::ZERO, Link::default());
    DirectionOptions { checksums: Checksums::PassOn, ack_filter: None, batch: 128, catch_up, spin, slots, room: slots, link, number: 0 }
}

fn direction_with<O: StageObserver>(packets: u32, observer: O) -> Tested<O> {
    direction_on(packets, direction_options(packets + 4), observer)
}

fn direction_on<O: StageObserver>(packets: u32, direction_options: DirectionOptions, observer: O) -> Tested<O> {
    let departures = Departures { sent: Vec::with_capacity(4096), most: 32, ..Departures::default() };
    let pool = FramePool::new(direction_options.slots, LONGEST_FRAME).unwrap();
    Direction::new(Time::ZERO, setup(packets), direction_options, Arrivals::default(), departures, [true; 2], pool, observer)
}

fn direction(packets: u32) -> Tested {
    direction_with(packets, ())
}

/// A direction whose link has this delay, and loses this many of a billion packets.
fn direction_along(microseconds: u64, billionths: u64, packets: u32) -> Tested {
    let link = Link { delay: Duration::from_microseconds(microseconds), loss: Loss::new(billionths, 1), ..Link::default() };
    direction_on(packets, DirectionOptions { link, ..direction_options(packets + 40) }, ())
}

/// A frame of exactly one millisecond at 10 Mbit/s, with `name` in the byte after its Ethernet header.
pub(crate) fn millisecond(name: u8) -> (Vec<u8>, Offload) {
    let mut frame = vec![0; 1250 - 24];
    frame[14] = name;
    (frame, Offload::default())
}

pub(crate) fn at(microseconds: u64) -> Time {
    Time::ZERO + Duration::from_microseconds(microseconds)
}

fn arrive(direction: &mut Tested, names: std::ops::Range<u8>) {
    direction.receiver.frames.extend(names.map(millisecond));
}

fn balanced<O: StageObserver>(direction: &Tested<O>) -> DirectionCounters {
    let counters = direction.counters();
    assert_eq!(counters.check(), Ok(()), "{counters:?}");
    let without_slot = counters.queued.packets + counters.in_flight.packets - u64::from(direction.pool.in_use());
    assert!(without_slot <= counters.duplicated.packets, "each held packet uses one slot, apart from copies: {counters:?}");
    counters
}

#[test]
fn packets_leave_at_the_rate_of_the_port() {
    let mut direction = direction(100);
    arrive(&mut direction, 0..5);
    assert_eq!(direction.poll(at(0), true), Next::Again);
    assert_eq!(direction.poll(at(0), true), Next::At(at(1000)));
    assert_eq!(direction.transmitter.sent, [0]);
    assert_eq!(direction.poll(at(999), true), Next::At(at(1000)));
    assert_eq!(direction.poll(at(1000), true), Next::At(at(2000)));
    assert_eq!(direction.transmitter.sent, [0, 1]);
    // Half a millisecond late, and the rate is still exact.
    assert_eq!(direction.poll(at(2500), true), Next::At(at(3000)));
    assert_eq!(direction.poll(at(4000), true), Next::At(at(5000)));
    assert_eq!(direction.transmitter.sent, [0, 1, 2, 3, 4]);
    assert_eq!(direction.poll(at(5000), true), Next::Idle);
    let report = direction.finish(at(5000));
    assert_eq!(report.busy, 5_000_000_000);
    // The packet of millisecond 3 left at millisecond 4.
    assert_eq!(report.lateness.maximum_seconds(), Some(0.001));
    assert_eq!(report.counters.forgone, Duration::ZERO);
}

#[test]
fn packets_leave_at_the_rates_of_a_link_that_varies() {
    let step = |at, bits| RateStep { at: Duration::from_microseconds(at), rate: Rate::new(bits).ok() };
    let link =
        Link { rates: VaryingRate::new(vec![step(0, 10_000_000), step(1_500, 0), step(3_500, 5_000_000)], None).ok(), ..Link::default() };
    let mut direction = direction_on(100, DirectionOptions { link, ..direction_options(104) }, ());
    arrive(&mut direction, 0..3);
    assert_eq!((direction.poll(at(0), true), direction.poll(at(0), true)), (Next::Again, Next::At(at(1000))));
    assert_eq!(direction.poll(at(1000), true), Next::At(at(4500)));
    assert_eq!(direction.poll(at(4500), true), Next::At(at(6500)));
    assert_eq!(direction.transmitter.sent, [0, 1, 2]);
    assert_eq!(direction.finish(at(6500)).busy, 6_500_000_000);
}

/// Priority 5 for tagged packets.
pub(crate) fn priority_five(packets: u32) -> PortSetup {
    let remark = Remark { pcp: Some(5), ..Remark::KEEP };
    PortSetup { remarks: Remarks::new(vec![[remark; 3]]), ..setup(packets) }
}

/// A tagged super-frame of three UDP datagrams over IPv4.
pub(crate) fn tagged_super_frame() -> (Vec<u8>, Offload) {
    let mut frame = [&[2; 12][..], &[0x81, 0, 0, 9, 0x08, 0, 0x45, 0, 1, 22, 0, 0, 0x40, 0, 64, 17, 0, 0]].concat();
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x0f, 0xa0, 0x13, 0x88, 1, 2, 0, 0]);
    frame.extend([7; 250]);
    let checksum = Some(PartialChecksum { start: 38, offset: 6 });
    (frame, Offload { checksum, segmentation: Segmentation::Cut { kind: SuperFrameKind::Udp, size: 100 } })
}

#[test]
fn code_points_are_set_in_every_packet_that_has_the_field() {
    let departures = Departures { sent: Vec::with_capacity(16), most: 32, ..Departures::default() };
    let (options, pool) = (direction_options(13), FramePool::new(13, LONGEST_FRAME).unwrap());
    let mut direction = Direction::new(Time::ZERO, priority_five(9), options, Arrivals::default(), departures, [true; 2], pool, ());
    direction.receiver.frames.extend([millisecond(3), tagged_super_frame()]);
    direction.poll(at(0), true);
    direction.poll(at(5000), true);
    assert_eq!(direction.transmitter.sent, [3, 5 << 5, 5 << 5, 5 << 5]);
    assert_eq!(balanced(&direction).without_fields, 1);
}

#[test]
fn link_time_beyond_the_catch_up_limit_is_given_up_and_counted() {
    let mut direction = direction(100);
    arrive(&mut direction, 0..50);
    direction.poll(at(0), true);
    assert_eq!(direction.transmitter.sent.len(), 1);
    // Asleep for 10 ms: nine packets were due, but only those of the last 2 ms leave.
    assert_eq!(direction.poll(at(10_000), true), Next::At(at(11_000)));
    assert_eq!(direction.transmitter.sent.len(), 1 + 3);
    assert_eq!(balanced(&direction).forgone, Duration::from_milliseconds(7));
}

#[test]
fn an_idle_link_gives_up_no_link_time() {
    let mut direction = direction(100);
    direction.poll(at(0), true);
    arrive(&mut direction, 0..1);
    direction.poll(at(900_000), true);
    assert_eq!(balanced(&direction).forgone, Duration::ZERO);
    assert_eq!(direction.transmitter.sent, [0]);
}

#[test]
fn the_port_sees_the_packets_of_a_super_frame() {
    let mut direction = direction(100);
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 0, 0, 0]);
    let header = frame.len();
    frame.resize(header + 10 * (1250 - 24 - header), 0);
    let segmentation = Segmentation::Cut { kind: SuperFrameKind::Udp, size: (1250 - 24 - header) as u16 };
    direction.receiver.frames.push_back((frame, Offload { checksum: None, segmentation }));
    assert_eq!(direction.poll(at(0), true), Next::Again);
    for millisecond in 1..10 {
        assert_eq!(direction.poll(at(millisecond * 1000), true), Next::At(at(millisecond * 1000 + 1000)));
        assert_eq!(direction.transmitter.sent.len() as u64, millisecond + 1);
    }
    let counters = balanced(&direction);
    assert_eq!((counters.received.packets, counters.frames, counters.super_frames), (10, 1, 1));
    assert_eq!(counters.delivered, Volume { packets: 10, bytes: 12_260 });
}

#[test]
fn without_room_in_the_kernel_packets_wait_in_order_and_are_given_up_after_20_ms() {
    let mut direction = direction(100);
    arrive(&mut direction, 0..3);
    direction.transmitter.refusals.push_back((SendError::Busy, 3));
    assert_eq!(direction.poll(at(0), true), Next::Blocked);
    let counters = balanced(&direction);
    assert_eq!((counters.queued.packets, counters.in_flight.packets), (2, 1));
    assert_eq!(direction.poll(at(50), true), Next::Blocked);
    assert_eq!(direction.poll(at(100), true), Next::Blocked);
    assert_eq!(direction.poll(at(1100), true), Next::At(at(2000)));
    assert_eq!(direction.transmitter.sent, [0, 1]);

    direction.transmitter.refusals.push_back((SendError::Busy, 4));
    assert_eq!(direction.poll(at(2100), true), Next::Blocked);
    // New arrivals stay with the port, where the policy can still select.
    arrive(&mut direction, 3..5);
    assert_eq!(direction.poll(at(9100), true), Next::Blocked);
    assert_eq!((direction.outbox.held().packets, direction.port.occupancy().packets()), (1, 2));
    // After 20 ms the packet is given up, and the two others leave within the catch-up limit.
    assert_eq!(direction.poll(at(2100 + 20_000), true), Next::Idle);
    assert_eq!(direction.transmitter.sent, [0, 1, 3, 4]);
    assert_eq!(balanced(&direction).unsent.no_room, Volume { packets: 1, bytes: 1226 });
}

#[test]
fn refused_packets_are_counted_by_reason_and_later_ones_are_sent() {
    let mut direction = direction(100);
    arrive(&mut direction, 0..3);
    direction.poll(at(0), true);
    for (reason, after) in [(SendError::TooLong, 1000), (SendError::Rejected, 2000)] {
        direction.transmitter.refusals.push_back((reason, 1));
        direction.poll(at(after), true);
    }
    arrive(&mut direction, 3..5);
    direction.transmitter.refusals.push_back((SendError::Down, 1));
    direction.poll(at(4000), true);
    direction.poll(at(5000), true);
    let unsent = balanced(&direction).unsent;
    assert_eq!((unsent.too_long.packets, unsent.rejected.packets, unsent.interface_down.packets, unsent.no_room.packets), (1, 1, 1, 0));
    assert_eq!(direction.transmitter.sent, [0, 4]);
}

#[test]
fn a_stopped_direction_reads_no_frame_and_drains() {
    let mut direction = direction(100);
    arrive(&mut direction, 0..3);
    direction.poll(at(0), true);
    arrive(&mut direction, 3..6);
    assert_eq!(direction.poll(at(1000), false), Next::At(at(2000)));
    assert_eq!(direction.poll(at(2000), false), Next::At(at(3000)));
    assert_eq!(direction.poll(at(3000), false), Next::Idle);
    let counters = balanced(&direction);
    assert_eq!((counters.received.packets, counters.delivered.packets, counters.queued.packets), (3, 3, 0));
}

#[test]
fn packets_leave_a_delay_after_their_last_bit_at_the_rate_of_the_port() {
    let mut direction = direction_along(1500, 0, 100);
    arrive(&mut direction, 0..4);
    assert_eq!(direction.poll(at(0), true), Next::Again);
    assert_eq!(direction.poll(at(0), true), Next::At(at(1000)));
    for (now, next, sent) in [
        (1000, 2000, 0),
        // The thread is half a millisecond late for the port, which the delay of the link hides.
        (2499, 2500, 0),
        (2500, 3000, 1),
        (3000, 3500, 1),
        (3500, 4000, 2),
        (4000, 4500, 2),
        (4499, 4500, 2),
        (4500, 5500, 3),
    ] {
        assert_eq!(direction.poll(at(now), true), Next::At(at(next)), "at {now}");
        assert_eq!(direction.transmitter.sent.len(), sent, "at {now}");
        let counters = balanced(&direction);
        let started = (now / 1000 + 1).min(4);
        assert_eq!((counters.in_flight.packets, counters.queued.packets), (started - sent as u64, 4 - started), "at {now}");
    }
    assert_eq!(direction.poll(at(5507), true), Next::Idle);
    assert_eq!(direction.transmitter.sent, [0, 1, 2, 3]);
    let report = direction.finish(at(5507));
    assert_eq!((report.busy, report.counters.forgone), (4_000_000_000, Duration::ZERO));
    // The last packet, by 7 us. Being late for the port but not for the end of the link does not count.
    assert_eq!(report.lateness.maximum_seconds(), Some(7e-6));
}

#[test]
fn a_link_loses_packets_by_number_and_counts_them() {
    let mut direction = direction_along(2500, 400_000_000, 100);
    arrive(&mut direction, 0..100);
    for now in 0..110 {
        direction.poll(at(now * 1000), true);
        balanced(&direction);
    }
    let mut losses = LossStream::new(Loss::new(400_000_000, 1).unwrap(), 0);
    let kept: Vec<u8> = (0..100).filter(|_| !losses.loses_next()).collect();
    assert_eq!(direction.transmitter.sent, kept);
    let counters = balanced(&direction);
    assert_eq!(counters.unsent.lost.packets, 100 - kept.len() as u64);
    // The port does not see the losses.
    assert_eq!((counters.port.sent.packets, counters.delivered.packets), (100, kept.len() as u64));
    assert_eq!(counters.dropped().map(|(reason, _)| reason).collect::<Vec<_>>(), ["lost-on-link"]);
}

#[test]
fn a_stopped_direction_empties_its_link_or_counts_what_is_on_it() {
    for (stop, left) in [(None, 0), (Some(9_000), 3)] {
        let mut direction = direction_along(7_000, 0, 100);
        arrive(&mut direction, 0..5);
        let mut next = direction.poll(at(0), true);
        let mut now = 0;
        while next != Next::Idle && stop.is_none_or(|stop| now < stop) {
            now += 500;
            next = direction.poll(at(now), false);
        }
        assert_eq!(now, stop.unwrap_or(12_000));
        let counters = direction.finish(at(now)).counters;
        assert_eq!(counters.check(), Ok(()));
        assert_eq!((counters.in_flight.packets, counters.delivered.packets, counters.queued.packets), (left, 5 - left, 0));
    }
}

#[test]
fn an_interface_that_is_down_costs_the_packets_due_then_and_no_others() {
    let mut direction = direction_along(1000, 0, 100);
    arrive(&mut direction, 0..4);
    direction.poll(at(0), true);
    direction.transmitter.refusals.push_back((SendError::Down, 1));
    for now in 1..8 {
        direction.poll(at(now * 1000), true);
    }
    assert_eq!(direction.transmitter.sent, [1, 2, 3]);
    assert_eq!(balanced(&direction).unsent.interface_down.packets, 1);
}

/// Frames shorter than Ethernet's: more are in flight than there are slots. Later arrivals are counted as `no-memory`.
#[test]
fn packets_that_find_all_slots_on_the_link_are_counted() {
    let mut direction = direction_along(1_000_000, 0, 10);
    for now in 0..100 {
        // Ten bytes and Ethernet's overhead: 27.2 us of link.
        direction.receiver.frames.extend((0..10).map(|_| (vec![0; 10], Offload::default())));
        direction.poll(at(now * 1000), true);
        balanced(&direction);
    }
    let counters = balanced(&direction);
    assert_eq!(counters.received.packets, 1000);
    assert_eq!(counters.in_flight.packets, 50);
    assert_eq!(counters.refused.no_memory.packets, 950);
    assert_eq!(direction.poll(at(2_000_000), true), Next::Idle);
    assert_eq!(balanced(&direction).delivered.packets, 50);
}

#[test]
fn the_port_drops_oversize_frames_and_full_memory_is_counted() {
    let mut direction = direction(100);
    direction.receiver.frames.push_back((vec![0; LONGEST_FRAME as usize + 1], Offload::default()));
    direction.receiver.frames.push_back((vec![0; LONGEST_FRAME as usize], Offload::default()));
    direction.poll(at(0), true);
    let dropped: Vec<_> = balanced(&direction).dropped().collect();
    assert_eq!(dropped, [("oversize", Volume { packets: 1, bytes: u64::from(LONGEST_FRAME) + 1 })]);

    // Frames that the kernel does not take use all slots.
    let mut direction = self::direction(2);
    direction.transmitter.refusals.push_back((SendError::Busy, 100));
    for instant in 0..10 {
        arrive(&mut direction, 0..2);
        direction.poll(at(instant * 1000), true);
    }
    let counters = balanced(&direction);
    assert!(counters.refused.no_memory.packets + counters.port.dropped[DropReason::SharedLimit as usize].packets > 0);
}

#[test]
fn outages_of_either_side_are_counted_once_each() {
    let mut direction = direction(10);
    assert!(!direction.maintain(at(0)));
    direction.receiver.down = true;
    assert!(direction.maintain(at(1)));
    assert!(!direction.maintain(at(2)));
    direction.receiver.down = false;
    assert!(direction.maintain(at(3)));
    let counters = balanced(&direction);
    assert_eq!((counters.outages, counters.receiving, counters.sending), (1, true, true));
}

/// Records the instants at which packets were offered and sent.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) offered: Vec<(Time, u32)>,
    pub(crate) sent: Vec<(Time, u64)>,
}

impl Observer<Frame> for Log {
    fn offered(&mut self, now: Time, packet: &Packet<Frame>) {
        self.offered.push((now, packet.length));
    }

    fn sent(&mut self, now: Time, packet: &Packet<Frame>, _finish: Time, _occupancy: &Occupancy) {
        self.sent.push((now, packet.payload.number()));
    }
}

impl StageObserver for Log {}

impl Observer<u64> for Log {
    fn sent(&mut self, now: Time, packet: &Packet<u64>, _finish: Time, _occupancy: &Occupancy) {
        self.sent.push((now, packet.payload));
    }
}

proptest! {
    /// As long as the thread is late by less than the catch-up limit, the decisions are those of a port that was polled at every instant.
    #[test]
    fn late_polls_change_no_decision(steps in proptest::collection::vec((0u64..2000, 0usize..4, 60usize..1518), 1..80)) {
        let mut direction = direction_with(20, Log::default());
        let mut now = 0;
        for (pause, frames, length) in steps {
            now += pause;
            direction.receiver.frames.extend((0..frames).map(|_| (vec![0; length], Offload::default())));
            direction.poll(at(now), true);
            balanced(&direction);
        }
        for _ in 0..50 {
            now += 1500;
            direction.poll(at(now), true);
        }
        let live = direction.finish(at(now)).observer;

        let mut port = Port::<u64>::new(Time::ZERO, setup(20));
        let mut ideal = Log::default();
        for (number, &(instant, length)) in live.offered.iter().enumerate() {
            port.advance(instant, &mut ideal, |_| ());
            port.offer(instant, Flow(0), length, Colour::Green, number as u64, &mut ideal);
        }
        port.advance(at(now), &mut ideal, |_| ());
        prop_assert_eq!(live.sent, ideal.sent);
    }

    #[test]
    fn every_packet_is_counted_whatever_the_kernel_does(
        steps in proptest::collection::vec((0u64..3000, 0usize..6, 0usize..2000, 0u8..8, 0u32..3), 1..100),
        delay in proptest::sample::select(vec![0, 100, 5_000, 100_000]),
        billionths in proptest::sample::select(vec![0, 200_000_000, 1_000_000_000]),
    ) {
        let mut direction = direction_along(delay, billionths, 8);
        let mut now = 0;
        for (pause, frames, length, reason, times) in steps {
            now += pause;
            let offload = |n: usize| Offload {
                checksum: (n % 3 == 1).then_some(crate::offload::PartialChecksum { start: 14, offset: 6 }),
                segmentation: match n % 5 {
                    1 => Segmentation::Cut { kind: SuperFrameKind::Tcp, size: 100 },
                    2 => Segmentation::Unknown,
                    _ => Segmentation::None,
                },
            };
            direction.receiver.frames.extend((0..frames).map(|n| (vec![0; length], offload(n))));
            let reason = [SendError::Busy, SendError::Down, SendError::TooLong, SendError::Rejected].get(usize::from(reason));
            if let (Some(&reason), true) = (reason, times > 0) {
                direction.transmitter.refusals.push_back((reason, times));
            }
            direction.transmitter.most = 1 + frames;
            direction.poll(at(now), frames != 5);
            balanced(&direction);
        }
    }
}
