//! A register base block: the attributes of one stream, and the logic that updates them.
//!
//! **Law.** In an update cycle a block takes at most one step: the winner is accounted for as served, any other stream misses at most one
//! deadline. Afterwards all deadlines are from the clock to 2^14 ticks after it, so any two of them can be compared.
//!
//! **Source**: Krishnamurthy et al., "ShareStreams", section 4, Figures 5 and 7.
//!
//! **State**: 100 bits and five counters of 16 bits. Deadline, period and arrival have 16 bits each; x, y, x', y' and the penalty 8; the
//! number 5. Infinite, fixed, droppable, valid, drop, violation and fresh have one bit each. Blocks that compute ahead hold both outcomes,
//! 35 bits more.
//!
//! **Cost**: one addition and two comparisons of 16 bits, increments and decrements of 8 bits, all in one cycle.
//!
//! **RTL twin**: this is the model of it.
//!
//! **Deviations**: the paper names the fields and their widths. It has no flags for four facts: packets wait (`valid`), the deadline never comes
//! (`infinite`), the window is never adjusted (`fixed`), a window has just begun (`fresh`). It holds one pair of window registers where
//! originals and current values are both needed. y' saturates at 255. A deadline that falls behind the clock is moved up to it, so that
//! 16 bits always tell that it has come.

use crate::decision::Attributes;
use crate::timeline::Update;
use tidegate_core::dwcs::{CLAMP, Stream};

/// The largest distance of a deadline after the clock, in ticks.
const LATEST: i32 = CLAMP as i32;

/// The time as the control unit tells it to all blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broadcast {
    /// The clock's low bits.
    now: u16,
    /// More than 2^14 ticks since the last broadcast: every deadline has come.
    far: bool,
}

impl Broadcast {
    /// Of `now`; `last` is the time of the last broadcast.
    pub const fn new(now: u64, last: u64) -> Broadcast {
        Broadcast { now: now as u16, far: now.saturating_sub(last) > CLAMP }
    }

    /// The ticks until `deadline`; negative if it has passed.
    fn until(self, deadline: u16) -> i32 {
        if self.far { i32::MIN / 2 } else { i32::from(deadline.wrapping_sub(self.now) as i16) }
    }

    /// The deadline after this many ticks, clamped to the range of deadlines.
    fn after(self, ahead: i32) -> u16 {
        self.now.wrapping_add(ahead.clamp(0, LATEST) as u16)
    }
}

/// The current window constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Constraint {
    /// x'.
    pub numerator: u8,
    /// y'.
    pub denominator: u8,
    /// The violation bit.
    pub violation: bool,
}

impl Constraint {
    /// Rule A: a packet was served in time.
    fn met(mut self, whole: Constraint) -> Constraint {
        if self.denominator > self.numerator {
            self.denominator -= 1;
        } else if self.numerator > 0 {
            self.numerator -= 1;
            self.denominator -= 1;
        }
        if self.denominator == 0 || self.violation { whole } else { self }
    }

    /// Rule B: a deadline was missed. True if that is a violation.
    fn missed(mut self, whole: Constraint, penalty: u8) -> (Constraint, bool) {
        if self.numerator > 0 {
            self.numerator -= 1;
            self.denominator -= 1;
            return (if self.denominator == 0 { whole } else { self }, false);
        }
        if whole.denominator == 0 {
            return (self, false);
        }
        (Constraint { denominator: self.denominator.saturating_add(penalty), violation: true, ..self }, true)
    }
}

/// The counters, which wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    pub met: u16,
    pub late: u16,
    pub missed: u16,
    pub violations: u16,
    pub dropped: u16,
}

/// One register base block.
#[derive(Clone, Debug)]
pub struct Block {
    id: u8,
    period: u16,
    infinite: bool,
    /// The window is never adjusted.
    fixed: bool,
    whole: Constraint,
    penalty: u8,
    droppable: bool,
    deadline: u16,
    arrival: u16,
    valid: bool,
    /// The head has missed its deadline and is to be dropped.
    drop: bool,
    /// The present head began a new window, and nothing has happened since.
    fresh: bool,
    current: Constraint,
    counters: Counters,
    update: Update,
    /// The outcomes of both rules for `current`, if blocks compute ahead.
    ahead: (Constraint, (Constraint, bool)),
}

impl Block {
    /// Checks that the registers can hold the stream.
    pub fn check(stream: &Stream, start: u64) -> Result<(), &'static str> {
        stream.check()?;
        if stream.window.deadlines > 255 {
            return Err("a window of the device has at most 255 deadlines: its registers are 8 bits wide");
        }
        if stream.period.is_some_and(|period| period > CLAMP) {
            return Err("a period of the device is at most 2^14 ticks, so that its 16-bit deadlines stay comparable");
        }
        if stream.first_deadline.is_some_and(|deadline| deadline.saturating_sub(start) > CLAMP) {
            return Err(
                "a first deadline lies at most 2^14 ticks after the start of the device, so that its 16-bit deadlines stay comparable",
            );
        }
        Ok(())
    }

    /// LOAD at the time `start`: a stream without packets that has passed [`Block::check`].
    pub fn load(id: u8, stream: &Stream, start: u64, update: Update) -> Block {
        let whole = Constraint { numerator: stream.window.tolerated as u8, denominator: stream.window.deadlines as u8, violation: false };
        let mut block = Block {
            id,
            period: stream.period.unwrap_or(0) as u16,
            infinite: stream.period.is_none(),
            fixed: stream.is_fixed,
            whole,
            penalty: stream.penalty as u8,
            droppable: stream.droppable,
            deadline: stream.first_deadline.map_or(start, |deadline| deadline.max(start)) as u16,
            arrival: 0,
            valid: false,
            drop: false,
            fresh: false,
            current: whole,
            counters: Counters::default(),
            update,
            ahead: Default::default(),
        };
        block.compute_ahead();
        block
    }

    /// What the block puts on the network.
    pub fn attributes(&self) -> Attributes {
        Attributes {
            valid: self.valid,
            infinite: self.infinite,
            deadline: self.deadline,
            numerator: self.current.numerator,
            denominator: self.current.denominator,
            arrival: self.arrival,
            id: self.id,
        }
    }

    /// The stream gets its first packet. If its deadline has come, it starts afresh.
    pub fn activate(&mut self, at: Broadcast, arrival: u16) {
        (self.valid, self.arrival) = (true, arrival);
        if !self.infinite && at.until(self.deadline) <= 0 {
            self.deadline = at.after(i32::from(self.period));
            self.current = self.whole;
            self.fresh = true;
        }
        self.compute_ahead();
    }

    /// The winner's part of an update: its head is served until `finish`, and `next` is the arrival of the one behind it.
    pub fn serve(&mut self, finish: Broadcast, next: Option<u16>) {
        self.latch(next);
        self.fresh = false;
        if self.infinite {
            self.counters.met = self.counters.met.wrapping_add(1);
            return;
        }
        let ahead = finish.until(self.deadline);
        if ahead < 0 {
            self.counters.late = self.counters.late.wrapping_add(1);
            self.miss();
        } else {
            self.counters.met = self.counters.met.wrapping_add(1);
            self.current = if self.update == Update::Ahead { self.ahead.0 } else { self.outcomes().0 };
        }
        self.deadline = finish.after(ahead.saturating_add(i32::from(self.period)));
    }

    /// The part of every block in an update: a deadline that has come is missed. The step of the winner was its service.
    pub fn update(&mut self, at: Broadcast, won: bool) {
        if self.infinite {
            return;
        }
        let mut ahead = at.until(self.deadline);
        if self.valid && ahead <= 0 && !won && !self.drop {
            self.miss();
            self.drop = self.droppable;
            ahead = ahead.saturating_add(i32::from(self.period));
        }
        self.deadline = at.after(ahead);
        self.compute_ahead();
    }

    /// The head is gone without service, and `next` is the arrival of the one behind it. A stream that has just begun a new window begins
    /// another with the next packet.
    pub fn lose(&mut self, at: Broadcast, next: Option<u16>) {
        if self.drop {
            self.drop = false;
            self.counters.dropped = self.counters.dropped.wrapping_add(1);
        }
        if next.is_none() && self.fresh {
            self.fresh = false;
            self.deadline = at.after(0);
        }
        self.latch(next);
    }

    /// True if the head is to be dropped.
    pub fn drops(&self) -> bool {
        self.drop
    }

    /// The current window constraint.
    pub fn constraint(&self) -> Constraint {
        self.current
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The deadline relative to `at`; `None` if it never comes.
    pub fn deadline(&self, at: Broadcast) -> Option<i32> {
        (!self.infinite).then(|| at.until(self.deadline))
    }

    fn latch(&mut self, next: Option<u16>) {
        self.valid = next.is_some();
        self.arrival = next.unwrap_or(self.arrival);
    }

    fn miss(&mut self) {
        let (_, (current, violated)) = if self.update == Update::Ahead { self.ahead } else { self.outcomes() };
        self.current = current;
        self.fresh = false;
        self.counters.missed = self.counters.missed.wrapping_add(1);
        self.counters.violations = self.counters.violations.wrapping_add(u16::from(violated));
    }

    /// The constraint after service in time and after a missed deadline, and true if the latter is a violation.
    fn outcomes(&self) -> (Constraint, (Constraint, bool)) {
        if self.fixed {
            (self.current, (self.current, false))
        } else {
            (self.current.met(self.whole), self.current.missed(self.whole, self.penalty))
        }
    }

    fn compute_ahead(&mut self) {
        if self.update == Update::Ahead {
            self.ahead = self.outcomes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidegate_core::dwcs::{Tolerance, Window};

    fn wide(of: Constraint) -> Tolerance {
        Tolerance { numerator: of.numerator.into(), in_violation: of.violation, denominator: of.denominator.into() }
    }

    #[test]
    fn a_denominator_saturates() {
        let whole = Constraint { numerator: 0, denominator: 255, violation: false };
        let (violated, _) = whole.missed(whole, 1);
        assert_eq!(violated, Constraint { violation: true, ..whole });
        let (violated, _) = Constraint { denominator: 250, ..whole }.missed(whole, 9);
        assert_eq!(violated.denominator, 255);
    }

    #[test]
    fn deadlines_stay_within_reach_of_the_clock() {
        let stream = Stream::windowed(Window::new(1, 2), CLAMP);
        let mut block = Block::load(0, &stream, 0, Update::InTurn);
        block.activate(Broadcast::new(0, 0), 0);
        assert_eq!(block.deadline(Broadcast::new(0, 0)), Some(LATEST));
        block.serve(Broadcast::new(1, 0), Some(0));
        assert_eq!(block.deadline(Broadcast::new(1, 1)), Some(LATEST));
        // One step in 2^16 ticks, and the block is as far behind as it may be.
        let mut late = Block::load(0, &Stream::windowed(Window::new(1, 2), 1), 0, Update::InTurn);
        late.activate(Broadcast::new(0, 0), 0);
        late.update(Broadcast::new(1 << 16, 0), false);
        assert_eq!((late.deadline(Broadcast::new(1 << 16, 1 << 16)), late.counters().missed), (Some(0), 1));
    }

    #[test]
    fn a_deadline_that_has_come_while_idle_is_known_to_have() {
        let mut block = Block::load(0, &Stream { first_deadline: Some(9), ..Stream::windowed(Window::new(1, 2), 7) }, 0, Update::InTurn);
        let mut last = 0;
        for (now, ahead) in [(5, 4), (9, 0), (10_000, 0), (20_000, 0), (30_000, 0), (200_000, 0)] {
            block.update(Broadcast::new(now, last), false);
            last = now;
            assert_eq!(block.deadline(Broadcast::new(now, now)), Some(ahead), "{now}");
        }
        assert_eq!(block.counters(), Counters::default());
        block.activate(Broadcast::new(200_003, 200_000), 0);
        assert_eq!(block.deadline(Broadcast::new(200_003, 200_003)), Some(7));
    }

    #[test]
    fn one_update_is_one_step() {
        let stream = Stream { droppable: true, ..Stream::windowed(Window::new(1, 8), 1) };
        for update in [Update::InTurn, Update::Ahead] {
            let mut block = Block::load(0, &stream, 0, update);
            block.activate(Broadcast::new(0, 0), 0);
            // Served until 3, so late: that was the step of this update, though the next deadline has come as well.
            block.serve(Broadcast::new(3, 0), Some(0));
            block.update(Broadcast::new(3, 0), true);
            let late = Counters { late: 1, missed: 1, ..Counters::default() };
            assert_eq!((block.deadline(Broadcast::new(3, 3)), block.counters(), block.drops()), (Some(0), late, false));
            // One more per update, and none while the head waits to be dropped.
            for _ in 0..2 {
                block.update(Broadcast::new(3, 3), false);
                let missed = Counters { missed: 2, violations: 1, ..late };
                assert_eq!((block.deadline(Broadcast::new(3, 3)), block.counters(), block.drops()), (Some(1), missed, true));
            }
            block.lose(Broadcast::new(3, 3), Some(0));
            assert_eq!((block.counters().dropped, block.drops()), (1, false));
        }
    }

    proptest! {
        #[test]
        fn eight_bits_do_as_the_wide_rules(
            y in 0u8..20, part in 0u8..20, penalty in 0u8..3, operations in proptest::collection::vec(any::<bool>(), 1..100)
        ) {
            let numerator = if y == 0 { 0 } else { part % (y + 1) };
            let whole = Constraint { numerator, denominator: y, violation: false };
            let window = Window::new(numerator.into(), y.into());
            let (mut ours, mut theirs) = (whole, Tolerance::of(window));
            for met in operations {
                if met {
                    ours = ours.met(whole);
                    theirs.serve(window);
                } else {
                    let (next, violated) = ours.missed(whole, penalty);
                    ours = next;
                    prop_assert_eq!(u64::from(violated), theirs.miss(window, penalty.into(), 1));
                }
                prop_assume!(theirs.denominator <= 255);
                prop_assert_eq!(wide(ours), theirs);
            }
        }
    }
}
