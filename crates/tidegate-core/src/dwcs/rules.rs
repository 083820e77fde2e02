//! What the streams of an engine have in common: when a deadline counts as missed, whether service may be early, and which attribute
//! comes first.

/// The deadline of a stream under static priority: it never comes.
pub const NEVER: u64 = u64::MAX;

/// The longest request period, in ticks: 2^48.
pub const LONGEST_PERIOD: u64 = 1 << 48;

/// The most by which a deadline may run ahead of the time under [`Early::Clamp`], in ticks: 2^14, so that 16-bit serial comparison stays
/// valid.
pub const CLAMP: u64 = 1 << 14;

/// Which deadlines count as missed at an instant `now`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Missed {
    /// Service must end by the deadline: missed if `deadline <= now`. This reading reproduces the published schedules.
    #[default]
    Complete,
    /// Service must begin by the deadline: missed if `deadline < now`.
    Start,
}

/// Whether a stream may be served in a period that is not yet the current one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Early {
    /// It may: the link never idles while a packet waits, and the deadline of a stream that takes spare capacity runs ahead.
    #[default]
    Allow,
    /// Not while its deadline is more than a period ahead: at most one packet per period, and the link may idle.
    Hold,
    /// It may, but its deadline runs ahead by at most [`CLAMP`] ticks, as in hardware.
    Clamp,
}

/// Which attribute comes first in the order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// The earliest deadline, then the tightest window: the order of 2000 and since.
    #[default]
    DeadlineFirst,
    /// The tightest window, then the earliest deadline: the order of 1999.
    WindowFirst,
}

/// What the streams of an engine have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rules {
    /// Which deadlines count as missed.
    pub missed: Missed,
    /// Whether streams may be served early.
    pub early: Early,
}

impl Missed {
    /// True if a deadline counts as missed at `now`.
    #[inline]
    pub const fn is_past(self, deadline: u64, now: u64) -> bool {
        match self {
            Missed::Complete => deadline <= now,
            Missed::Start => deadline < now,
        }
    }

    /// True if service from `start` to `finish` is too late for a deadline.
    #[inline]
    pub const fn is_late(self, deadline: u64, start: u64, finish: u64) -> bool {
        match self {
            Missed::Complete => deadline < finish,
            Missed::Start => deadline < start,
        }
    }

    /// The number of deadlines that count as missed at `now`, of `deadline` and those that follow it every `period` ticks.
    #[inline]
    pub const fn count(self, deadline: u64, period: u64, now: u64) -> u64 {
        if self.is_past(deadline, now) {
            let since = match self {
                Missed::Complete => now - deadline,
                Missed::Start => now - deadline - 1,
            };
            if since < period { 1 } else { 1 + since / period }
        } else {
            0
        }
    }
}
