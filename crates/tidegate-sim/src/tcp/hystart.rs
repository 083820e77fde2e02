//! HyStart++: a first slow start that ends where round trips begin to grow, before the buffer is full.
//!
//! **Law.** Growth is never above that of slow start. It is a quarter of that while the least round trip of a round exceeds the round's before
//! by an eighth, within 4 and 16 ms. After five such rounds congestion avoidance begins.
//!
//! **Source.** RFC 9406, sections 4.2 and 4.3. Rounds are in numbers of segments: a round ends when what was in flight at its start is
//! acknowledged.
//!
//! **State.** Seven words per connection, until the first slow start is over.
//!
//! **Cost.** A few comparisons per acknowledgement in slow start.
//!
//! **Deviations.** What an acknowledgement counts is decided by [`super::growth::Growth`], and bounded by L = 8 segments, as without pacing.

/// The bounds of the increase that counts, in picoseconds (MIN_RTT_THRESH, MAX_RTT_THRESH).
const LEAST_INCREASE: u64 = 4_000_000_000;
const GREATEST_INCREASE: u64 = 16_000_000_000;
/// The share of a round trip that is an increase, as a divisor (MIN_RTT_DIVISOR).
const INCREASE_DIVISOR: u64 = 8;
/// Round trips measured in a round before they count (N_RTT_SAMPLE).
const LEAST_SAMPLES: u32 = 8;
/// By how much conservative slow start is slower (CSS_GROWTH_DIVISOR), and the rounds it lasts (CSS_ROUNDS).
const CONSERVATIVE_DIVISOR: u64 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// Segments of one acknowledgement that count (L, without pacing).
const MOST_SEGMENTS: u64 = 8;

/// Conservative slow start: the least round trip at its start, and the rounds of it that have ended.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline: u64,
    rounds: u32,
}

/// The first slow start of a connection.
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    /// The first segment that had not been sent when this round began; 0 before the first round.
    round_end: u64,
    /// The least round trips of the last round and of this one; `u64::MAX` for none.
    last: u64,
    current: u64,
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStart {
    /// The first round begins with the first acknowledgement.
    pub(crate) fn new() -> HyStart {
        HyStart { round_end: 0, last: u64::MAX, current: u64::MAX, samples: 0, conservative: None }
    }

    /// By how many bytes the window grows with an acknowledgement that counts as `counted` segments of `segment` bytes.
    pub(crate) fn growth(&self, counted: u64, segment: u64) -> u64 {
        let whole = counted.min(MOST_SEGMENTS) * segment;
        if self.conservative.is_some() { whole / CONSERVATIVE_DIVISOR } else { whole }
    }

    /// An acknowledgement up to `una` has measured a round trip, or none; `max` is the first segment not sent. True if slow start is over.
    pub(crate) fn on_ack(&mut self, una: u64, max: u64, round_trip: Option<u64>) -> bool {
        if let Some(round_trip) = round_trip {
            self.current = self.current.min(round_trip);
            self.samples += 1;
            if self.samples >= LEAST_SAMPLES {
                self.judge();
            }
        }
        if self.round_end == 0 {
            self.round_end = max;
        }
        if una < self.round_end {
            return false;
        }
        (self.round_end, self.last, self.current, self.samples) = (max, self.current, u64::MAX, 0);
        if let Some(conservative) = &mut self.conservative {
            conservative.rounds += 1;
        }
        self.conservative.is_some_and(|conservative| conservative.rounds >= CONSERVATIVE_ROUNDS)
    }

    fn judge(&mut self) {
        match self.conservative {
            None if self.last < u64::MAX => {
                let increase = (self.last / INCREASE_DIVISOR).clamp(LEAST_INCREASE, GREATEST_INCREASE);
                if self.current >= self.last + increase {
                    self.conservative = Some(Conservative { baseline: self.current, rounds: 0 });
                }
            }
            // The increase did not last.
            Some(conservative) if self.current < conservative.baseline => self.conservative = None,
            _ => {}
        }
    }
}
