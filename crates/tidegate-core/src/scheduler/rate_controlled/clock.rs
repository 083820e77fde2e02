//! What a priority is owed, and the clock on which its shares are counted.

use crate::units::{Duration, Rate, Time, TimePerByte};

/// The most that a priority may claim late of its guarantee, in longest packets.
const LATE_CLAIM_PACKETS: u64 = 4;

/// The guaranteed rate of a priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guarantee {
    pub(super) level: u8,
    pub(super) per_byte: TimePerByte,
    /// The time of [`LATE_CLAIM_PACKETS`] of the longest packets at its rate.
    pub(super) claim: Duration,
    /// The instant from which its first packet goes before those of priorities that are owed none.
    pub(super) owed: Time,
}

impl Guarantee {
    /// The guarantee of this many bits per second to a priority, which is owed nothing before `owed`. `None` if that is less than any rate.
    pub(super) fn new(level: usize, rate: u64, longest_packet: u32, owed: Time) -> Option<Guarantee> {
        let per_byte = Rate::new(rate).ok()?.time_per_byte();
        // Later instants would compare as earlier ones.
        let claim = LATE_CLAIM_PACKETS.saturating_mul(per_byte.floor(longest_packet).picoseconds()).min(1 << 61);
        Some(Guarantee { level: level as u8, per_byte, claim: Duration::from_picoseconds(claim), owed })
    }

    /// A packet of the priority leaves. Clamped both ways: after a silence the priority may claim [`LATE_CLAIM_PACKETS`], and service beyond the
    /// guarantee does not count against it.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, length: u32) {
        // Rounded down: the guarantee is at least its rate.
        let time = self.per_byte.floor(length);
        self.owed = (self.owed.later(now - self.claim) + time).earlier(now + time);
    }
}

/// The clock on which the shares of a priority are counted. It stops while the priority gets less than it is granted, as when a higher one
/// asks for nothing and sends intermittently; so all of its flows get less in the same proportion. When the priority has sent all that was
/// released, the clock catches up: it stays behind only in an overload.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Clock {
    /// The time by which it is behind.
    pub(super) held: Duration,
    /// The part of that which it may catch up.
    pub(super) lost: Duration,
    /// The instant at which the priority's next packet should leave by its grant.
    pub(super) next: Time,
}

impl Clock {
    /// A packet of the priority that was released at `release` has been waiting until now. The clock has stopped for the time that it waited
    /// beyond the slack, counted from the end of the time of the priority's last packet.
    #[inline]
    pub(super) fn hold(&mut self, now: Time, release: Time, slack: Duration) {
        let (due, latest) = (self.next.later(release), now - slack);
        if due.is_before(latest) {
            let still = latest.since(due).picoseconds();
            // It wraps as time does.
            self.held = Duration::from_picoseconds(self.held.picoseconds().wrapping_add(still));
            self.lost = Duration::from_picoseconds(self.lost.picoseconds().saturating_add(still));
            self.next = latest;
        }
    }

    /// A packet leaves that was released at `release` and takes `time` at the rate that the priority is granted. Service beyond that rate is
    /// balanced against less service later, within the slack.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, release: Time, time: Duration, slack: Duration) {
        self.lost = self.lost.min(slack);
        self.next = (self.next.later(release) + time).earlier(now + time + slack);
    }

    /// A packet leaves that by its share should leave at `share` on the clock, which advances to there, as far as it has lost time.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Time, share: Time) {
        let ahead = (share + self.held).later(now).since(now).min(self.lost).picoseconds();
        self.held = Duration::from_picoseconds(self.held.picoseconds().wrapping_sub(ahead));
        self.lost = Duration::from_picoseconds(self.lost.picoseconds() - ahead);
    }

    /// This instant on the clock.
    #[inline]
    pub(super) fn at(&self, now: Time) -> Time {
        now - self.held
    }
}
