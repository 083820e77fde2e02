//! What the port has sent: on its way along the link, and from there to the kernel.
//!
//! A port that sends a packet starts to transmit it. Without a delay the outgoing interface is the link: the packet is handed to the kernel at
//! once, and the interface transmits it. With one the link is an emulated one as a whole: the packet is handed to the kernel when its last bit
//! has come to the end, a transmission time and the delay after its start, which is when it would have been received there.

use crate::counters::Unsent;
use crate::io::{SendError, Transmit};
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Overhead, Rate, Time, TimePerByte};
use tidegate_link::{DelayLine, Full, InFlight, Link};
use tidegate_statistics::Delays;

/// For how long a frame is tried again while the kernel has no room for it.
const SEND_RETRY_LIMIT: Duration = Duration::from_milliseconds(20);

/// What has become of a frame in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The kernel has taken it, so much later than its instant.
    Delivered(Duration),
    /// It was lost on the link.
    Lost,
    /// The kernel has not taken it.
    Unsent(SendError),
}

/// Who knows where the bytes of frames are, and what is to be done with frames that are gone.
pub(crate) trait FrameOwner<F> {
    /// A frame of `length` bytes behind its virtio-net header.
    fn message<'a>(&'a self, frame: &'a F, length: u32) -> &'a [u8];

    /// A frame of `length` bytes has come to its end.
    fn gone(&mut self, frame: F, length: u32, outcome: Outcome);
}

/// A frame that the port has sent, and its length in bytes.
#[derive(Debug)]
struct Sent<F> {
    frame: F,
    length: u32,
}

/// The frames, in the order in which they leave.
#[derive(Debug)]
pub(crate) struct Outbox<F> {
    line: DelayLine<Sent<F>>,
    held: Volume,
    /// What tells a packet's transmission time, on a link with a delay.
    transmission: Option<(TimePerByte, Overhead)>,
    blocked_since: Option<Time>,
}

impl<F> Outbox<F> {
    /// An outbox behind a port of this rate that never holds more than `capacity` frames. `stream` tells the links of the two directions
    /// apart.
    pub(crate) fn new(link: &Link, stream: u64, rate: Rate, overhead: Overhead, capacity: usize) -> Outbox<F> {
        let transmission = (link.delay > Duration::ZERO).then(|| (rate.time_per_byte(), overhead));
        Outbox { line: DelayLine::new(link, stream, capacity), held: Volume::default(), transmission, blocked_since: None }
    }

    /// The port starts to transmit a frame of `length` bytes. There is room for it, because it has a slot.
    pub(crate) fn push(&mut self, start: Time, length: u32, frame: F) {
        let duration = self.transmission.map_or(Duration::ZERO, |(each, overhead)| each.ceil(overhead.wire_length(length)));
        if let Err(Full(_)) = self.line.enter(start + duration, Sent { frame, length }) {
            unreachable!("more frames are under way than there are slots");
        }
        self.held.add(length);
    }

    /// Everything in it.
    pub(crate) fn held(&self) -> Volume {
        self.held
    }

    /// True if the kernel had no room when it was last asked.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked_since.is_some()
    }

    /// When the first frame is to be handed over.
    pub(crate) fn first_due(&self) -> Option<Time> {
        self.line.first().map(|first| first.due)
    }

    /// Gives the kernel what is due and what it has room for; false if something due is left.
    pub(crate) fn flush(&mut self, now: Time, transmitter: &mut impl Transmit, owner: &mut impl FrameOwner<F>) -> bool {
        while let Some(first) = self.line.first().filter(|first| !first.due.is_after(now)) {
            if first.is_lost {
                self.give_up(now, 1, Outcome::Lost, owner);
                continue;
            }
            let ready = self.line.arrived(now).take_while(|underway| !underway.is_lost);
            match transmitter.send(ready.map(|underway| owner.message(&underway.packet.frame, underway.packet.length))) {
                Ok(sent) => {
                    self.blocked_since = None;
                    self.let_go(sent, |underway| Outcome::Delivered(now.since(underway.due)), owner);
                }
                Err(reason @ SendError::Busy) => {
                    let since = *self.blocked_since.get_or_insert(now);
                    if now.since(since) < SEND_RETRY_LIMIT {
                        return false;
                    }
                    self.blocked_since = None;
                    self.give_up(now, usize::MAX, Outcome::Unsent(reason), owner);
                }
                Err(reason @ SendError::Down) => self.give_up(now, usize::MAX, Outcome::Unsent(reason), owner),
                Err(reason) => self.give_up(now, 1, Outcome::Unsent(reason), owner),
            }
        }
        true
    }

    /// Gives up the first frames, at most so many, among those that are due.
    fn give_up(&mut self, now: Time, most: usize, outcome: Outcome, owner: &mut impl FrameOwner<F>) {
        let due = self.line.arrived(now).take(most).count();
        self.let_go(due, |underway| if underway.is_lost { Outcome::Lost } else { outcome }, owner);
    }

    /// The first frames, so many, have come to their end.
    fn let_go(&mut self, frames: usize, outcome: impl Fn(&InFlight<Sent<F>>) -> Outcome, owner: &mut impl FrameOwner<F>) {
        for underway in (0..frames).map_while(|_| self.line.leave()) {
            let outcome = outcome(&underway);
            let Sent { frame, length } = underway.packet;
            self.held.packets -= 1;
            self.held.bytes -= u64::from(length);
            owner.gone(frame, length, outcome);
        }
    }
}

/// Counts what has become of a frame.
pub(crate) fn count(outcome: Outcome, length: u32, delivered: &mut Volume, unsent: &mut Unsent, lateness: &mut Delays) {
    let volume = match outcome {
        Outcome::Delivered(late) => {
            lateness.record(late);
            delivered
        }
        Outcome::Lost => &mut unsent.lost,
        Outcome::Unsent(SendError::Busy) => &mut unsent.no_room,
        Outcome::Unsent(SendError::Down) => &mut unsent.interface_down,
        Outcome::Unsent(SendError::TooLong) => &mut unsent.too_long,
        Outcome::Unsent(SendError::Rejected) => &mut unsent.rejected,
    };
    volume.add(length);
}
