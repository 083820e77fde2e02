//! The sending end of a connection in a simulation, and the application of the connection.
//!
//! Only packets connect it with the [receiving end](super::receiving_end), which may be simulated by another thread. Where the receiving end asks for
//! each transfer, the two ends share the application, and one thread simulates both.

use super::application::{Application, Transfers, up_to};
use super::counts::Counts;
use super::receiving_end::Transfer;
use super::segment::{Ack, Message, Segment};
use super::sender::Sender;
use super::settings::Tcp;
use super::timer::TimerKind;
use crate::random::Stream;
use crate::statistics::TimeWeighted;
use crate::time::NEVER;
use std::collections::VecDeque;
use tidegate_core::packet::Ecn;
use tidegate_core::port::Volume;

/// The wait before a request is first repeated: RFC 6298's initial timeout, in picoseconds.
const INITIAL_WAIT: u64 = 1_000_000_000_000;

/// What the connection waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The instant of the next transfer.
    Pausing(u64),
    /// The answer to the sending end's request to open the connection.
    Opening(OpenTimer),
    /// The answer to the receiving end's request to open it.
    Calling(OpenTimer),
    /// The response to a request.
    Asking(OpenTimer),
    /// The last acknowledgement; the last byte, where the receiving end asks for transfers.
    Transferring,
    /// Nothing: all transfers are complete.
    Finished,
}

/// The timer that repeats a request without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OpenTimer {
    /// When the request is repeated.
    at: u64,
    /// The wait since it was last sent.
    wait: u64,
}

impl OpenTimer {
    fn new(now: u64) -> OpenTimer {
        OpenTimer { at: now + INITIAL_WAIT, wait: INITIAL_WAIT }
    }

    fn backed_off(self, now: u64) -> OpenTimer {
        let wait = (2 * self.wait).min(64 * INITIAL_WAIT);
        OpenTimer { at: now + wait, wait }
    }
}

pub(crate) struct SendingEnd<'a> {
    tcp: &'a Tcp,
    pub(crate) sender: Sender,
    stream: Stream,
    /// The phase of the sending host's clock.
    phase: u64,
    stop: u64,
    stage: Stage,
    /// Transfers left after the present one.
    left: u64,
    /// The present transfer: its number, its first segment and the one behind its last, and when it began.
    number: u64,
    first: u64,
    end: u64,
    began: u64,
    /// The length of the only transfer, if it is not drawn.
    bytes: Option<u64>,
    /// True if the receiving end has yet to be told of the present transfer.
    announces: bool,
    /// Packets without data that the sending end has sent to open a connection.
    openings: u64,
    /// Segments in the sending host, and when each leaves it.
    outbox: VecDeque<(u64, Segment)>,
    /// The instant of the pending event; nothing is due before it.
    wake: u64,
    cwnd: Option<Box<TimeWeighted>>,
    warm_up: u64,
    counts_before: Counts,
}

impl<'a> SendingEnd<'a> {
    pub(crate) fn new(tcp: &'a Tcp, mut stream: Stream, start: u64, stop: u64, warm_up: u64, sample_interval: u64) -> SendingEnd<'a> {
        let start = start + up_to(tcp.start_within.picoseconds(), &mut stream);
        let phase = match tcp.timer.kind {
            TimerKind::Coarse => stream.below(tcp.timer.granularity.picoseconds()),
            TimerKind::Linux | TimerKind::Fine => 0,
        };
        let transfers = match &tcp.application {
            Application::Endless => None,
            Application::Transfers(transfers) => Some(transfers),
        };
        SendingEnd {
            tcp,
            sender: Sender::new(tcp, phase),
            stream,
            phase,
            stop,
            stage: Stage::Pausing(start),
            left: transfers.and_then(|transfers| transfers.count).unwrap_or(u64::MAX),
            number: 0,
            first: 0,
            end: u64::MAX,
            began: start,
            bytes: None,
            announces: false,
            openings: 0,
            outbox: VecDeque::new(),
            wake: if start < stop { start } else { NEVER },
            cwnd: (sample_interval > 0).then(|| Box::new(TimeWeighted::new(sample_interval))),
            warm_up,
            counts_before: Counts::default(),
        }
    }

    /// That of a connection that begins now and carries this many bytes.
    pub(crate) fn of_size(tcp: &'a Tcp, stream: Stream, now: u64, bytes: u64) -> SendingEnd<'a> {
        SendingEnd { bytes: Some(bytes), ..SendingEnd::new(tcp, stream, now, NEVER, 0, 0) }
    }

    /// True if the receiving end, which expects `next`, has all that the sending end has been told to write.
    pub(crate) fn is_delivered(&self, next: u64) -> bool {
        self.end < u64::MAX - 1 && next >= self.end
    }

    /// True if the sending end knows that, and has nothing more to send.
    pub(crate) fn is_closed(&self, next: u64) -> bool {
        self.is_delivered(next) && self.sender.is_done() && self.outbox.is_empty()
    }

    pub(crate) fn tcp(&self) -> &'a Tcp {
        self.tcp
    }

    pub(crate) fn wake(&self) -> u64 {
        self.wake
    }

    fn transfers(&self) -> Option<&'a Transfers> {
        match &self.tcp.application {
            Application::Endless => None,
            Application::Transfers(transfers) => Some(transfers),
        }
    }

    /// True if the receiving end asks for each transfer.
    pub(crate) fn answers_requests(&self) -> bool {
        self.transfers().is_some_and(|transfers| transfers.request.is_some())
    }

    /// A packet without data reaches the receiving end. What that sends if it had asked to open the connection.
    pub(crate) fn on_opened(&mut self, now: u64) -> Option<Message> {
        let Stage::Calling(_) = self.stage else { return None };
        self.stage = Stage::Asking(OpenTimer::new(now));
        Some(Message::Request(self.number))
    }

    /// A segment of a transfer that was asked for reaches the receiving end, which expects `next` now. When the transfer began, if it is complete.
    pub(crate) fn on_delivered(&mut self, now: u64, number: u64, next: u64) -> Option<u64> {
        if matches!(self.stage, Stage::Asking(_)) && self.first != 0 && number >= self.first {
            self.stage = Stage::Transferring;
        }
        let transfers = self.transfers().filter(|_| self.stage == Stage::Transferring && next >= self.end)?;
        let began = self.began;
        self.pause(now, transfers);
        Some(began)
    }

    /// The present transfer, if it is new to the receiving end.
    #[inline]
    pub(crate) fn announcement(&mut self) -> Option<Transfer> {
        let announces = self.announces;
        self.announces = false;
        announces.then_some(Transfer { end: self.end, began: self.began })
    }

    fn pause(&mut self, now: u64, transfers: &Transfers) {
        self.stage = if self.left == 0 { Stage::Finished } else { Stage::Pausing(now + transfers.pause(&mut self.stream)) };
    }

    /// An acknowledgement reaches the sending end. True if something may be due earlier than the pending event.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: u64, ack: &Ack) -> bool {
        if now >= self.stop {
            return false;
        }
        if let Stage::Opening(_) = self.stage {
            self.write(now);
            self.stage = Stage::Transferring;
            return true;
        }
        let sooner = self.sender.on_ack(now, ack);
        if let Some(cwnd) = &mut self.cwnd {
            cwnd.set(now, self.sender.cwnd());
        }
        if self.stage == Stage::Transferring
            && self.sender.is_done()
            && let Some(transfers) = self.transfers().filter(|transfers| transfers.request.is_none())
        {
            self.pause(now, transfers);
            return true;
        }
        sooner
    }

    /// A request reaches the sending end.
    pub(crate) fn on_request(&mut self, now: u64, number: u64) {
        if number == self.number && self.end < u64::MAX && self.first == 0 {
            self.write(now);
        }
    }

    /// A packet without data that opens a connection. Its number is that of the last segment written.
    pub(crate) fn opening(&mut self) -> Segment {
        self.openings += 1;
        Segment { number: self.sender.written() - 1, length: 0, reduced: false, ecn: Ecn::NotEct }
    }

    /// True if the present transfer is the first of a connection.
    fn is_fresh(&self) -> bool {
        self.number == 1 || self.transfers().is_some_and(|transfers| transfers.reconnects)
    }

    fn write(&mut self, now: u64) {
        let Some(transfers) = self.transfers() else { return self.sender.write(now, u64::MAX) };
        if self.is_fresh() && self.number > 1 {
            self.sender.reopen(self.tcp, self.phase);
        }
        self.first = self.sender.written();
        let bytes = self.bytes.unwrap_or_else(|| transfers.size.draw(&mut self.stream));
        self.sender.write(now, bytes);
        self.end = self.sender.written();
        self.announces = transfers.request.is_none();
    }

    /// The pause is over. Returns what the receiving end sends, and whether the sending end opens a connection.
    fn on_pause_over(&mut self, now: u64) -> (Option<Message>, bool) {
        self.number += 1;
        self.left -= u64::from(self.left < u64::MAX);
        self.began = now;
        let opens = self.tcp.handshake && self.is_fresh();
        if self.transfers().is_some_and(|transfers| transfers.request.is_some()) {
            // Nothing has been written for it, and its end is unknown but finite.
            (self.first, self.end) = (0, u64::MAX - 1);
            let timer = OpenTimer::new(now);
            self.stage = if opens { Stage::Calling(timer) } else { Stage::Asking(timer) };
            return (Some(if opens { Message::Open } else { Message::Request(self.number) }), false);
        }
        if opens {
            self.stage = Stage::Opening(OpenTimer::new(now));
            return (None, true);
        }
        self.write(now);
        self.stage = Stage::Transferring;
        (None, false)
    }

    fn on_open_timer(&mut self, now: u64) -> (Option<Message>, bool) {
        match &mut self.stage {
            Stage::Opening(timer) if timer.at <= now => {
                *timer = timer.backed_off(now);
                (None, true)
            }
            Stage::Calling(timer) if timer.at <= now => {
                *timer = timer.backed_off(now);
                (Some(Message::Open), false)
            }
            Stage::Asking(timer) if timer.at <= now => {
                *timer = timer.backed_off(now);
                (Some(Message::Request(self.number)), false)
            }
            _ => (None, false),
        }
    }

    /// The pending event is due. Returns what the application of the receiving end sends, and whether the sending end opens a connection. The
    /// sender may have segments as well.
    pub(crate) fn on_timer(&mut self, now: u64) -> (Option<Message>, bool) {
        let (message, opens) = match self.stage {
            _ if now >= self.stop => (None, false),
            Stage::Pausing(at) if at <= now => self.on_pause_over(now),
            _ => self.on_open_timer(now),
        };
        if now < self.stop {
            self.sender.on_timer(now);
            if let Some(cwnd) = &mut self.cwnd {
                cwnd.set(now, self.sender.cwnd());
            }
        }
        self.wake = NEVER;
        (message, opens)
    }

    #[inline]
    pub(crate) fn next_segment(&mut self, now: u64) -> Option<Segment> {
        if now >= self.stop { None } else { self.sender.next_segment(now) }
    }

    /// The instant of the pending event, if it has to be earlier after a change. `sooner`: the retransmission timer may be due earlier than it was.
    /// Otherwise it has only moved on; the event keeps its instant, and may find nothing to do.
    #[inline]
    pub(crate) fn reschedule(&mut self, now: u64, sooner: bool) -> Option<u64> {
        let mut due = NEVER;
        match self.stage {
            _ if now >= self.stop => {}
            Stage::Pausing(at) => due = due.min(at),
            Stage::Opening(timer) | Stage::Calling(timer) | Stage::Asking(timer) => due = due.min(timer.at),
            _ => {}
        }
        if (sooner || self.wake == NEVER || self.sender.has_several_timers()) && now < self.stop {
            due = due.min(self.sender.deadline());
        }
        if now < self.stop {
            due = due.min(self.sender.pacing_release());
        }
        debug_assert!(now >= self.stop || due.min(self.wake) <= self.sender.deadline());
        if due >= self.wake {
            return None;
        }
        self.wake = due.max(now);
        Some(self.wake)
    }

    /// Takes a segment into the sending host. Returns when it leaves, if no other leaves before.
    pub(crate) fn post(&mut self, now: u64, segment: Segment) -> Option<u64> {
        let delay = self.tcp.processing.picoseconds() + up_to(self.tcp.jitter.picoseconds(), &mut self.stream);
        let last = self.outbox.back().map_or(0, |last| last.0);
        let leaves = (now + delay).max(last);
        self.outbox.push_back((leaves, segment));
        (self.outbox.len() == 1).then_some(leaves)
    }

    /// The segment that leaves the sending host now, and when the next one does.
    pub(crate) fn leave(&mut self) -> (Option<Segment>, u64) {
        let segment = self.outbox.pop_front().map(|(_, segment)| segment);
        (segment, self.outbox.front().map_or(NEVER, |next| next.0))
    }

    pub(crate) fn sent(&self) -> Volume {
        let headers = u64::from(self.tcp.headers);
        let kept = self.outbox.iter().map(|(_, segment)| u64::from(segment.length)).sum::<u64>();
        let packets = self.sender.counts.segments + self.openings - self.outbox.len() as u64;
        Volume { packets, bytes: self.sender.counts.bytes - kept + packets * headers }
    }

    pub(crate) fn restart(&mut self) {
        self.counts_before = self.sender.counts;
        self.sender.counts.round_trips = (0, 0, 0, 0);
        if let Some(cwnd) = &mut self.cwnd {
            cwnd.restart(self.warm_up);
        }
    }

    /// What it did from the end of the warm-up, and its congestion window in bytes.
    pub(crate) fn finish(mut self, end: u64) -> (Counts, Option<TimeWeighted>) {
        if let Some(cwnd) = &mut self.cwnd {
            cwnd.finish(end);
        }
        (self.sender.counts.since(self.counts_before), self.cwnd.map(|cwnd| *cwnd))
    }
}
