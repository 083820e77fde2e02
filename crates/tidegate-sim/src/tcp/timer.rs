//! The retransmission timer: how long to wait for an acknowledgement. One kind, one file; the list below gives it its name in files.
//!
//! **Laws.** The wait is between the least and the greatest that were set (Linux's least is the round-trip time longer), and every timeout in a row
//! doubles it, until a round-trip time is measured. Segments that were sent twice are not measured (Karn and Partridge, SIGCOMM 1987); that is the sender's business.

use tidegate_core::units::Duration;

mod coarse;
mod fine;
mod linux;

/// How the retransmission timer is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerSettings {
    /// The kind.
    pub kind: TimerKind,
    /// The distance of the clock's ticks: above 0.
    pub granularity: Duration,
    /// The least wait; for [`TimerKind::Linux`] the least that is added to the smoothed round-trip time.
    pub minimum: Duration,
    /// The greatest wait, at least the least one.
    pub maximum: Duration,
    /// The wait before the first round-trip time has been measured.
    pub initial: Duration,
}

impl TimerSettings {
    /// The settings of this kind unless a file says otherwise: Linux, RFC 6298 with a minimum of 200 ms in place of its 1 s, or 4.4BSD.
    pub const fn default_for(kind: TimerKind) -> TimerSettings {
        let (granularity, minimum, maximum, initial) = match kind {
            TimerKind::Linux => (Duration::from_milliseconds(1), 200, 120_000, 1_000),
            TimerKind::Fine => (Duration::from_milliseconds(1), 200, 60_000, 1_000),
            TimerKind::Coarse => (Duration::from_milliseconds(500), 1_000, 64_000, 6_000),
        };
        let milliseconds = Duration::from_milliseconds;
        TimerSettings { kind, granularity, minimum: milliseconds(minimum), maximum: milliseconds(maximum), initial: milliseconds(initial) }
    }
}

/// What a retransmission timer decides. Instants and spans are picoseconds.
pub(crate) trait RetransmissionTimer {
    /// The name in files.
    const NAME: &'static str;
    /// One sentence.
    const SUMMARY: &'static str;

    /// A timer whose host's clock ticks `phase` after each multiple of the granularity.
    fn new(settings: &TimerSettings, phase: u64) -> Self;

    /// A segment sent at `sent` was acknowledged at `now`.
    fn sample(&mut self, sent: u64, now: u64);

    /// The timer has fired.
    fn back_off(&mut self);

    /// When a timer that is started at `now` fires.
    fn deadline(&self, now: u64) -> u64;
}

tidegate_core::registry! { $
    /// The retransmission timers by name.
    pub kind TimerKind by RetransmissionTimer;
    /// Any retransmission timer.
    pub(crate) any AnyTimer;
    match_timer {
        Linux = linux::Linux;
        Fine = fine::Fine;
        Coarse = coarse::Coarse;
    }
}

impl AnyTimer {
    pub(crate) fn new(settings: &TimerSettings, phase: u64) -> AnyTimer {
        match_timer!(settings.kind, T, any => any(<T as RetransmissionTimer>::new(settings, phase)))
    }

    pub(crate) fn sample(&mut self, sent: u64, now: u64) {
        match_timer!(self, timer => timer.sample(sent, now))
    }

    pub(crate) fn back_off(&mut self) {
        match_timer!(self, timer => timer.back_off())
    }

    pub(crate) fn deadline(&self, now: u64) -> u64 {
        match_timer!(self, timer => timer.deadline(now))
    }
}
