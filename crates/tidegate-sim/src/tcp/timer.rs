//! The role of the retransmission timer: it decides how long to wait for an acknowledgement. One kind, one file.
//!
//! **Laws.** The wait is between the minimum and the maximum of the settings; Linux adds its minimum to the round-trip time. Every timeout in a row
//! doubles it, until a round-trip time is measured. The sender does not measure segments that were sent twice (Karn and Partridge,
//! SIGCOMM 1987).
//!
//! To add one: write its file, and add its line to the list below.

use tidegate_core::units::Duration;

mod backoff;
mod coarse;
mod fine;
mod linux;

/// The settings of the retransmission timer.
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
    const NAME: &'static str;
    const SUMMARY: &'static str;

    /// A timer whose host's clock ticks `phase` after each multiple of the granularity.
    fn new(settings: &TimerSettings, phase: u64) -> Self;

    /// A segment sent at `sent` was acknowledged at `now`.
    fn on_rtt_sample(&mut self, sent: u64, now: u64);

    fn on_rto(&mut self);

    /// When a timer that is started at `now` fires.
    fn deadline(&self, now: u64) -> u64;

    /// The smoothed round-trip time, or 0 before the first measurement.
    fn smoothed(&self) -> u64;
}

tidegate_core::registry! { $
    /// The retransmission timers by name.
    pub kind TimerKind by RetransmissionTimer;
    pub(crate) any AnyTimer;
    match_timer {
        Linux = linux::Linux;
        Fine = fine::Fine;
        Coarse = coarse::Coarse;
    }
}

impl AnyTimer {
    pub(crate) fn new(settings: &TimerSettings, phase: u64) -> AnyTimer {
        match_timer!(settings.kind, T, any => any(T::new(settings, phase)))
    }
}

forward! {
    AnyTimer by match_timer;
    read deadline(now: u64) -> u64;
    read smoothed() -> u64;
    change on_rtt_sample(sent: u64, now: u64) -> ();
    change on_rto() -> ();
}
