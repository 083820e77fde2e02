//! Frames that the port has sent, on the link and on the way to the kernel.
//!
//! Without a delay the outgoing interface is the link: a frame is handed to the kernel when its transmission starts. With a delay the whole
//! link is emulated. A frame is then handed to the kernel when its last bit arrives: a transmission time and the delay after its start.

use crate::counters::Unsent;
use crate::io::{SendError, Transmit};
use crate::snapshot::Writer;
use tidegate_core::port::Volume;
use tidegate_core::units::{Duration, Time};
use tidegate_link::{DelayLine, Disturbed, Full, InFlight, Link};
use tidegate_statistics::Delays;

/// How long sending is retried while the kernel has no room.
const SEND_RETRY_LIMIT: Duration = Duration::from_milliseconds(20);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The kernel took it, this long after its instant.
    Delivered(Duration),
    /// It was lost on the link.
    Lost,
    /// The kernel did not take it.
    Unsent(SendError),
}

pub(crate) trait FrameOwner<F> {
    /// The bytes of a frame of `length` bytes, behind its virtio-net header.
    fn message<'a>(&'a self, frame: &'a F, length: u32) -> &'a [u8];

    /// Takes back a frame of `length` bytes with its outcome.
    fn finished(&mut self, frame: F, length: u32, outcome: Outcome);

    /// The outcome of a copy of a frame that came twice.
    fn copied(&mut self, frame: &F, length: u32, outcome: Outcome);
}

/// The packets that the link has disturbed. A late packet that comes twice is late twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct DisturbedVolume {
    pub(crate) late: Volume,
    pub(crate) duplicated: Volume,
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
    disturbed: DisturbedVolume,
    has_delay: bool,
    blocked_since: Option<Time>,
}

impl<F> Outbox<F> {
    /// An outbox for at most `capacity` frames. The two directions have different streams of losses.
    pub(crate) fn new(link: &Link, stream: u64, capacity: usize) -> Outbox<F> {
        let has_delay = link.delay > Duration::ZERO;
        let line = DelayLine::new(link, stream, capacity);
        Outbox { line, held: Volume::default(), disturbed: DisturbedVolume::default(), has_delay, blocked_since: None }
    }

    /// The port starts to transmit a frame of `length` bytes. A frame with a slot has room.
    pub(crate) fn push(&mut self, start: Time, finish: Time, length: u32, frame: F) {
        let enters = if self.has_delay { finish } else { start };
        match self.line.enter(enters, Sent { frame, length }) {
            Ok(Disturbed { is_late: false, is_twice: false }) => {}
            Ok(disturbed) => self.count_disturbed(length, disturbed),
            Err(Full(_)) => unreachable!("more frames are in flight than there are slots"),
        }
        self.held.add(length);
    }

    #[cold]
    fn count_disturbed(&mut self, length: u32, Disturbed { is_late, is_twice }: Disturbed) {
        if is_twice {
            self.disturbed.duplicated.add(length);
            self.held.add(length);
        }
        if is_late {
            (0..=u32::from(is_twice)).for_each(|_| self.disturbed.late.add(length));
        }
    }

    /// What came late and twice.
    pub(crate) fn disturbed(&self) -> DisturbedVolume {
        self.disturbed
    }

    pub(crate) fn held(&self) -> Volume {
        self.held
    }

    /// True if the kernel had no room at the last attempt.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked_since.is_some()
    }

    pub(crate) fn first_due(&self) -> Option<Time> {
        self.line.first().map(|first| first.due)
    }

    /// Writes the frames for a successor: the due instant, whether it is lost or late, the copies, and what `message` writes.
    pub(crate) fn write(&self, writer: &mut Writer, message: impl Fn(&mut Writer, &F, u32)) {
        let [on_time, late] = self.line.lists();
        writer.short(self.line.len() as u32);
        for (frame, is_late) in on_time.map(|frame| (frame, false)).chain(late.map(|frame| (frame, true))) {
            writer.long(frame.due.picoseconds());
            [u8::from(frame.is_lost), u8::from(is_late), frame.copies].into_iter().for_each(|byte| writer.byte(byte));
            message(writer, &frame.packet.frame, frame.packet.length);
        }
    }

    /// Takes a frame back that [`Outbox::write`] wrote; false if there is no room.
    pub(crate) fn put_back(&mut self, due: Time, (is_lost, is_late, copies): (bool, bool, u8), length: u32, frame: F) -> bool {
        (0..copies).for_each(|_| self.held.add(length));
        let frame = InFlight { due, packet: Sent { frame, length }, is_lost, copies: copies.max(1) };
        self.line.put_back(frame, is_late).is_ok()
    }

    /// What came late and twice before.
    pub(crate) fn continue_disturbed(&mut self, [late, duplicated]: [Volume; 2]) {
        self.disturbed = DisturbedVolume { late, duplicated };
    }

    /// Hands due frames to the kernel; false if it has no room for all of them.
    pub(crate) fn flush(&mut self, now: Time, transmitter: &mut impl Transmit, owner: &mut impl FrameOwner<F>) -> bool {
        while let Some(first) = self.line.first().filter(|first| !first.due.is_after(now)) {
            if first.is_lost {
                self.give_up(now, 1, Outcome::Lost, owner);
                continue;
            }
            let ready = self.line.arrived(now).take_while(|frame| !frame.is_lost);
            let copies = ready.flat_map(|frame| std::iter::repeat_n(frame, usize::from(frame.copies)));
            match transmitter.send(copies.map(|frame| owner.message(&frame.packet.frame, frame.packet.length))) {
                Ok(sent) => {
                    self.blocked_since = None;
                    self.finish(sent, |frame| Outcome::Delivered(now.since(frame.due)), owner);
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

    /// Gives up the first due frames, at most `most`.
    fn give_up(&mut self, now: Time, most: usize, outcome: Outcome, owner: &mut impl FrameOwner<F>) {
        let due = self.line.arrived(now).take(most).map(|frame| usize::from(frame.copies)).sum();
        self.finish(due, |frame| if frame.is_lost { Outcome::Lost } else { outcome }, owner);
    }

    /// Returns frames to their owner, of which the first `messages` messages are done with.
    fn finish(&mut self, mut messages: usize, outcome: impl Fn(&InFlight<Sent<F>>) -> Outcome, owner: &mut impl FrameOwner<F>) {
        while let Some(first) = self.line.first().filter(|_| messages > 0) {
            let (outcome, length, copies) = (outcome(first), first.packet.length, usize::from(first.copies));
            messages -= 1;
            self.held.packets -= 1;
            self.held.bytes -= u64::from(length);
            if copies > 1 {
                owner.copied(&first.packet.frame, length, outcome);
                self.line.leave_copy();
            } else if let Some(frame) = self.line.leave() {
                owner.finished(frame.packet.frame, length, outcome);
            }
        }
    }
}

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
