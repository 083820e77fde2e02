//! The sending end: windows, losses and the timer, as a machine without clock or network.
//!
//! The driver reports acknowledgements and the time, then takes segments until the sender has no more to send.
//!
//! **Source.** RFC 5681 (the order of things); RFC 6298, section 5 (when the timer runs); RFC 3042 (limited transmit). RFC 6582, section 4.1 (no
//! fast retransmit after a timeout for what the timeout has sent again); RFC 3168, section 6.1.2 (congestion marks).
//!
//! **State.** [`Flight`], a congestion control, a loss recovery and a timer.
//!
//! **Cost.** Independent of the window, except for words of 64 segments at a time in the scoreboard.
//!
//! **Deviations.** A repeated timeout of the same segment leaves the slow start threshold as it is (RFC 5681, section 3.1); 4.4BSD goes down to two
//! segments. The number of timeouts has no limit.

use super::congestion::AnyCongestion;
use super::counts::Counts;
use super::delivery::Deliveries;
use super::ecn::{EcnMode, Feedback, MarkCount};
use super::flight::Flight;
use super::hystart::HyStart;
use super::idle::AfterIdle;
use super::probe::Probe;
use super::prr::RateReduction;
use super::recovery::{AnyRecovery, Verdict};
use super::scoreboard::Scoreboard;
use super::segment::{Ack, Segment};
use super::settings::Tcp;
use super::timer::AnyTimer;
use crate::time::NEVER;
use std::collections::VecDeque;
use tidegate_core::packet::Ecn;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Duplicate acknowledgements have shown a loss.
    Recovery,
    /// The timer has fired; what was in flight is being sent again.
    Timeout,
}

/// What a congestion control that measures needs.
#[derive(Clone, Debug)]
struct Pacing {
    deliveries: Deliveries,
    /// No segment leaves before this instant; whether one is held back by it.
    not_before: u64,
    is_held: bool,
    /// Lost segments, not sent again, after the last acknowledgement.
    lost: u64,
    /// Whether the window has held back a segment since the last acknowledgement.
    is_window_limited: bool,
}

/// The sender of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(super) flight: Flight,
    congestion: AnyCongestion,
    recovery: AnyRecovery,
    timer: AnyTimer,
    phase: Phase,
    /// When the timer was last started, or [`NEVER`] if it does not run.
    armed: u64,
    /// The segment whose round-trip time is being measured, and when it was sent; 0 for none.
    timed: (u64, u64),
    partial: u32,
    /// The first unacknowledged segment when the timer last fired.
    stuck_at: u64,
    short: VecDeque<(u64, u32)>,
    initial_window: u64,
    after_idle: AfterIdle,
    limited_transmit: bool,
    avoid_multiple_fast_retransmits: bool,
    selective: bool,
    ecn: EcnMode,
    marks: MarkCount,
    /// The first segment whose congestion mark counts again: one reaction per window.
    marked_to: u64,
    says_reduced: bool,
    last_sent: u64,
    pacing: Option<Box<Pacing>>,
    /// Whether the congestion control or the recovery learns of every transmission and every reported segment.
    tracks: bool,
    /// Whether the recovery does: its reports survive a timeout, and every one measures the round trip.
    keeps_reports: bool,
    /// How a recovery reduces the window, if not at once.
    reduction: Option<RateReduction>,
    probe: Option<Probe>,
    pub(super) counts: Counts,
}

mod losses;

impl Sender {
    /// The sender of a fresh connection to which nothing has been written. `phase` is that of the host's clock, below the granularity.
    pub(crate) fn new(tcp: &Tcp, phase: u64) -> Sender {
        let segment = u64::from(tcp.segment);
        let window = tcp.receive_window();
        let flight = Flight {
            segment,
            una: 1,
            nxt: 1,
            max: 1,
            written: 1,
            cwnd: (u64::from(tcp.initial_window) * segment).min(window),
            ssthresh: window,
            window,
            duplicates: 0,
            limited: 0,
            recover: 0,
            halves_pipe: tcp.halves_pipe,
            growth: tcp.growth,
            falls_back: tcp.classic_fallback,
            resend: None,
            board: Scoreboard::new(window / segment),
            round_trip: 0,
            smoothed_round_trip: 0,
            sample: None,
            hystart: (tcp.hystart && tcp.allows_hystart()).then(|| Box::new(HyStart::new())),
            is_idle: true,
        };
        Sender {
            initial_window: flight.cwnd,
            flight,
            congestion: tcp.congestion.build(),
            recovery: tcp.recovery.build(),
            timer: AnyTimer::new(&tcp.timer, phase),
            phase: Phase::Open,
            armed: NEVER,
            timed: (0, 0),
            partial: 0,
            stuck_at: 0,
            short: VecDeque::new(),
            after_idle: tcp.after_idle,
            limited_transmit: tcp.limited_transmit,
            avoid_multiple_fast_retransmits: tcp.avoid_multiple_fast_retransmits,
            selective: tcp.recovery.is_selective(),
            ecn: tcp.ecn,
            marks: MarkCount::new(),
            marked_to: 0,
            says_reduced: false,
            last_sent: 0,
            tracks: tcp.congestion.measures() || tcp.recovery.tracks(),
            keeps_reports: tcp.recovery.tracks(),
            reduction: (tcp.prr && tcp.allows_prr()).then(RateReduction::default),
            probe: (tcp.tail_loss_probe && tcp.allows_tail_loss_probe()).then(Probe::new),
            pacing: tcp.congestion.measures().then(|| {
                let deliveries = Deliveries::new(window / segment);
                Box::new(Pacing { deliveries, not_before: 0, is_held: false, lost: 0, is_window_limited: false })
            }),
            counts: Counts::default(),
        }
    }

    /// The application writes this many more bytes; the last segment may be short.
    pub(crate) fn write(&mut self, now: u64, bytes: u64) {
        let flight = &mut self.flight;
        let (whole, rest) = (bytes / flight.segment, bytes % flight.segment);
        if self.pacing.is_none() && flight.una == flight.max && self.last_sent > 0 {
            let timeout = self.timer.deadline(self.last_sent) - self.last_sent;
            self.after_idle.restart(flight, now - self.last_sent, timeout, self.initial_window);
        }
        flight.written = flight.written.saturating_add(whole);
        if rest > 0 {
            self.short.push_back((flight.written, rest as u32));
            flight.written += 1;
        }
    }

    /// Replaces the connection, all of whose data has arrived, by a new one. Numbers continue.
    pub(crate) fn reopen(&mut self, tcp: &Tcp, phase: u64) {
        let (counts, marks, next) = (self.counts, self.marks.clone(), self.flight.written);
        *self = Sender::new(tcp, phase);
        (self.counts, self.marks) = (counts, marks);
        let flight = &mut self.flight;
        (flight.una, flight.nxt, flight.max, flight.written, flight.recover) = (next, next, next, next, next - 1);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.flight.una == self.flight.written
    }

    #[inline]
    pub(crate) fn cwnd(&self) -> u64 {
        self.flight.cwnd
    }

    /// When [`Sender::on_timer`] is due, or [`NEVER`]. It moves on with every acknowledgement; it can come earlier only if
    /// [`Sender::on_ack`] has returned true or [`Sender::has_several_timers`].
    pub(crate) fn deadline(&self) -> u64 {
        let timeout = self.timeout();
        if !self.keeps_reports {
            return timeout;
        }
        let probe = self.probe.as_ref().map_or(NEVER, Probe::deadline);
        timeout.min(probe).min(self.recovery.deadline())
    }

    /// True if the retransmission timer is not the only one. Then any event can make the sender due earlier.
    pub(crate) fn has_several_timers(&self) -> bool {
        self.keeps_reports
    }

    /// When the retransmission timer fires, or [`NEVER`].
    #[inline]
    fn timeout(&self) -> u64 {
        if self.armed == NEVER { NEVER } else { self.timer.deadline(self.armed) }
    }

    /// When pacing releases the next segment that the window allows, or [`NEVER`].
    pub(crate) fn pacing_release(&self) -> u64 {
        self.pacing.as_ref().filter(|pacing| pacing.is_held).map_or(NEVER, |pacing| pacing.not_before)
    }

    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.armed != NEVER
    }

    /// An acknowledgement arrives. True if the timer may be due earlier than it was.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: u64, ack: &Ack) -> bool {
        let mut sooner = false;
        if ack.next > self.flight.max || ack.next < self.flight.una {
            return false;
        }
        let marked = if self.ecn == EcnMode::Off { 0 } else { self.on_echo(now, ack) };
        let (next, before) = (ack.next, self.flight.una);
        let acked = next - before;
        if self.probe.as_mut().is_some_and(|probe| probe.on_ack(ack, before)) {
            self.on_repaired_loss();
        }
        // What has come, what has been found lost, and the recoveries so far.
        let past = self.reduction.as_ref().map(|_| {
            let known = before + self.flight.board.sacked();
            (known, self.recovery.found(&self.flight), self.counts.recoveries)
        });
        let in_flight_before = if self.tracks { self.track(now, ack) } else { 0 };
        self.flight.sample = None;
        if acked > 0 {
            self.flight.board.advance(before, next);
            self.flight.una = next;
            self.flight.nxt = self.flight.nxt.max(next);
            if self.timed.0 != 0 && next > self.timed.0 {
                self.on_rtt_sample(now, self.timed.1);
                sooner = true;
            }
            while self.short.front().is_some_and(|short| short.0 < next) {
                self.short.pop_front();
            }
        }
        let mut news = 0;
        if self.selective {
            for &(from, to) in ack.runs() {
                let (from, to) = (from.max(next + 1), to.min(self.flight.max));
                if from < to {
                    news += self.flight.board.mark(next, from, to);
                }
            }
        }
        let delivered = past.map_or(0, |(known, ..)| next + self.flight.board.sacked() - known);
        if self.tracks {
            self.recovery.on_reports(now, &self.flight, self.phase != Phase::Open, ack.duplicate().is_some());
            if let Some(round_trip) = self.recovery.round_trip() {
                // A measurement does not move a timer that runs.
                let before = self.timeout();
                self.on_rtt_sample(now, now - round_trip);
                if self.armed != NEVER {
                    self.armed += before.saturating_sub(self.timeout());
                }
            }
        }
        if acked > 0 {
            self.on_new_ack(now, acked, acked.saturating_sub(marked));
            if self.keeps_reports && self.phase == Phase::Open && self.recovery.begins(&self.flight) {
                // A loss that was known when the last recovery ended.
                self.begin_recovery(now, delivered);
            }
        } else if self.flight.una < self.flight.max && (news > 0 || !self.selective) {
            self.on_duplicate_ack(now, news);
        }
        if self.phase != Phase::Open && self.recovery.has_lost_again() {
            self.on_lost_retransmission(now, delivered);
        }
        if self.phase == Phase::Recovery
            && let Some((_, found, recoveries)) = past
            && let Some(reduction) = &mut self.reduction
            && self.counts.recoveries == recoveries
        {
            let is_safe = acked > 0 && self.recovery.found(&self.flight) == found;
            let in_flight = self.recovery.pipe(&self.flight);
            reduction.on_ack(&mut self.flight, delivered, in_flight, is_safe);
        }
        if self.pacing.is_some() {
            self.on_rate_sample(now, in_flight_before);
        }
        if acked > 0 && self.phase == Phase::Open && self.probe.is_some() {
            self.schedule_probe(now);
        }
        sooner
    }

    /// Reports the segments that an acknowledgement is the first to report. Returns what was in flight before.
    #[cold]
    fn track(&mut self, now: u64, ack: &Ack) -> u64 {
        let Sender { flight, recovery, pacing, .. } = self;
        let in_flight = recovery.pipe(flight);
        let mut report = |from: u64, to: u64| {
            let mut at = from;
            while let Some(segment) = flight.board.first_unsacked(at, to) {
                recovery.on_delivered(now, segment);
                if let Some(pacing) = pacing {
                    pacing.deliveries.deliver(now, segment);
                }
                at = segment + 1;
            }
        };
        report(flight.una, ack.next);
        // In the order of sending: a segment below one that has come before was reordered.
        let (mut blocks, end) = (ack.blocks, ack.count as usize);
        let runs = &mut blocks[end - ack.runs().len()..end];
        runs.sort_unstable();
        for &mut (from, to) in runs {
            report(from.max(ack.next + 1), to.min(flight.max));
        }
        in_flight
    }

    /// Passes the sample of an acknowledgement to the congestion control.
    #[cold]
    fn on_rate_sample(&mut self, now: u64, in_flight_before: u64) {
        let Some(pacing) = &mut self.pacing else { return };
        let flight = &mut self.flight;
        pacing.deliveries.lose(self.recovery.found(flight));
        let mut sample = pacing.deliveries.sample(now);
        let lost = flight.board.lost();
        sample.is_loss = lost > pacing.lost;
        pacing.lost = lost;
        sample.in_flight_before = in_flight_before;
        sample.in_flight = self.recovery.pipe(flight);
        sample.is_window_limited = std::mem::take(&mut pacing.is_window_limited);
        sample.is_recovering = self.phase != Phase::Open;
        if self.congestion.on_rate_sample(now, flight, &sample) {
            pacing.deliveries.limit(sample.in_flight);
        }
    }

    /// `acked` segments are acknowledged, `unmarked` of them without a congestion mark.
    #[inline]
    fn on_new_ack(&mut self, now: u64, acked: u64, unmarked: u64) {
        let flight = &mut self.flight;
        flight.duplicates = 0;
        flight.limited = 0;
        let mut restarts = true;
        match self.phase {
            Phase::Recovery => {
                self.partial += 1;
                restarts = self.recovery.restarts_timer(self.partial);
                match self.recovery.on_new_ack(flight, acked) {
                    Verdict::Continues => {}
                    Verdict::Ends => {
                        if self.reduction.is_some() {
                            flight.cwnd = flight.ssthresh;
                        }
                        self.recovery.on_repaired();
                        self.phase = Phase::Open;
                        flight.resend = None;
                        flight.nxt = flight.nxt.max(flight.una);
                        restarts = true;
                    }
                    Verdict::Fails => return self.on_rto(now),
                }
            }
            Phase::Open | Phase::Timeout => {
                if self.phase == Phase::Timeout && flight.una >= flight.recover {
                    self.recovery.on_repaired();
                    self.phase = Phase::Open;
                }
                // A window that the application does not fill measures nothing.
                if unmarked > 0 && (!flight.is_idle || 2 * (flight.size() + acked * flight.segment) >= flight.cwnd) {
                    self.congestion.on_ack(now, flight, unmarked);
                    flight.cwnd = flight.cwnd.min(flight.window);
                }
            }
        }
        if flight.una == flight.max {
            self.armed = NEVER;
        } else if restarts {
            self.armed = now;
        }
    }

    fn on_rtt_sample(&mut self, now: u64, sent: u64) {
        self.timer.on_rtt_sample(sent, now);
        self.timed = (0, 0);
        self.flight.round_trip = now - sent;
        self.flight.smoothed_round_trip = self.timer.smoothed();
        self.flight.sample = Some(now - sent);
        self.counts.measure(now - sent);
    }

    /// Reads what an acknowledgement says of congestion marks, before it changes anything. Returns the segments that do not let the window grow.
    #[cold]
    fn on_echo(&mut self, now: u64, ack: &Ack) -> u64 {
        let delivered = self.delivered_by(ack);
        let marked = match self.ecn {
            // What reports no segment may be an old acknowledgement that was overtaken.
            EcnMode::Accurate | EcnMode::L4s if delivered > 0 => self.marks.read(ack.ace, delivered),
            EcnMode::Classic | EcnMode::Dctcp if ack.echo => delivered.max(1),
            _ => 0,
        };
        if self.ecn.is_exact() {
            self.congestion.on_feedback(now, &self.flight, &Feedback { next: ack.next, delivered, marked });
        }
        if marked > 0 {
            self.on_ecn_echo(ack.next);
        }
        marked
    }

    /// The segments that an acknowledgement is the first to report.
    fn delivered_by(&self, ack: &Ack) -> u64 {
        let flight = &self.flight;
        let new = |from: u64, to: u64| if from < to { to - from - flight.board.sacked_between(from, to) } else { 0 };
        new(flight.una, ack.next) + ack.runs().iter().map(|&(from, to)| new(from.max(ack.next + 1), to.min(flight.max))).sum::<u64>()
    }

    /// The receiver echoes a congestion mark: the reaction is that to a loss, at most once per window, without retransmission.
    #[cold]
    fn on_ecn_echo(&mut self, next: u64) {
        if self.phase != Phase::Open || next <= self.marked_to {
            return;
        }
        let Some(window) = self.congestion.on_ecn(&self.flight) else { return };
        (self.flight.ssthresh, self.flight.cwnd) = (window, window);
        self.flight.hystart = None;
        self.marked_to = self.flight.max;
        self.says_reduced = true;
        self.counts.marks += 1;
    }

    /// The next segment to send, if there is one that may be sent now.
    #[inline]
    pub(crate) fn next_segment(&mut self, now: u64) -> Option<Segment> {
        if let Some(pacing) = &mut self.pacing {
            pacing.is_held = now < pacing.not_before;
            if pacing.is_held {
                return None;
            }
        }
        let Some(number) = self.choose() else {
            if let Some(pacing) = &mut self.pacing {
                if self.flight.is_idle {
                    pacing.deliveries.limit(self.recovery.pipe(&self.flight));
                } else {
                    pacing.is_window_limited = true;
                }
            }
            return None;
        };
        if self.tracks {
            self.recovery.on_sent(now, number);
            self.pace(now, number);
        }
        let flight = &mut self.flight;
        let is_new = number == flight.max;
        let ecn = self.ecn.code_point(!is_new);
        if is_new {
            flight.max += 1;
            if self.timed.0 == 0 && !self.keeps_reports {
                self.timed = (number, now);
            }
        } else {
            self.counts.retransmissions += 1;
            if self.timed.0 >= number {
                // Its acknowledgement would be ambiguous, or late for segments sent in between.
                self.timed = (0, 0);
            }
        }
        flight.nxt = flight.nxt.max(number + 1);
        if self.armed == NEVER || (self.keeps_reports && number == flight.una) {
            self.armed = now;
        }
        if let Some(probe) = &mut self.probe
            && !probe.on_sent(&self.flight, is_new)
            && is_new
            && self.phase == Phase::Open
        {
            self.schedule_probe(now);
        }
        if self.phase == Phase::Recovery
            && let Some(reduction) = &mut self.reduction
        {
            reduction.on_sent(self.flight.segment);
        }
        self.counts.segments += 1;
        self.last_sent = now;
        // The first new segment carries it (RFC 3168, section 6.1.2).
        let reduced = ecn != Ecn::NotEct && std::mem::take(&mut self.says_reduced);
        let length = self.length(number);
        self.counts.bytes += u64::from(length);
        Some(Segment { number, length, reduced, ecn })
    }

    /// A segment leaves: records the deliveries so far, and when the next may leave.
    #[cold]
    fn pace(&mut self, now: u64, number: u64) {
        let flight = &mut self.flight;
        let Some(pacing) = &mut self.pacing else { return };
        let (is_alone, is_new) = (flight.una == flight.max, number == flight.max);
        if is_alone && pacing.deliveries.is_limited() {
            self.congestion.on_restart(now, flight);
        }
        pacing.deliveries.lose(self.recovery.found(flight));
        let in_flight = self.recovery.pipe(flight) + u64::from(is_new);
        pacing.deliveries.send(now, number, is_alone, !is_new, in_flight);
        pacing.not_before = now + self.congestion.pacing_interval(flight);
    }

    #[inline]
    fn choose(&mut self) -> Option<u64> {
        let flight = &mut self.flight;
        if let Some(probe) = &self.probe
            && let Some(segment) = probe.next(flight)
        {
            return Some(segment);
        }
        match self.phase {
            Phase::Recovery => {
                // Acknowledgements may report it while pacing holds it back.
                let is_missing = |segment: &u64| *segment >= flight.una && !flight.board.is_sacked(*segment);
                match flight.resend.take().filter(is_missing) {
                    Some(segment) => Some(segment),
                    None => self.recovery.next(flight),
                }
            }
            Phase::Timeout if self.keeps_reports => {
                let next = self.recovery.next(flight);
                flight.is_idle = next.is_none() && flight.max == flight.written;
                next
            }
            Phase::Open | Phase::Timeout => {
                let cwnd = flight.cwnd;
                let next = flight.in_order(cwnd, self.phase == Phase::Timeout);
                // RFC 3042: each of the first two duplicates releases one segment beyond the window. Where the segments below may only be
                // late, every reported one does.
                let released = if self.keeps_reports { flight.board.sacked() } else { u64::from(flight.duplicates.min(2)) };
                if next.is_some() || !self.limited_transmit || flight.limited >= released {
                    return next;
                }
                let next = flight.in_order(cwnd + (flight.limited + 1) * flight.segment, false).filter(|&next| next == flight.max);
                flight.limited += u64::from(next.is_some());
                next
            }
        }
    }

    #[inline]
    pub(crate) fn length(&self, number: u64) -> u32 {
        if self.short.is_empty() {
            return self.flight.segment as u32;
        }
        self.short.iter().find(|short| short.0 == number).map_or(self.flight.segment as u32, |short| short.1)
    }

    /// The segment behind the last one written.
    pub(crate) fn written(&self) -> u64 {
        self.flight.written
    }
}
