//! What one stream asks for: a window constraint, a request period, and what happens to late packets.

use crate::dwcs::rules::LONGEST_PERIOD;
use crate::packet::Flow;
use core::fmt;

/// A window constraint: of `deadlines` consecutive deadlines, `tolerated` may be missed. Written "x of y".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Window {
    /// x, the loss numerator.
    pub tolerated: u32,
    /// y, the loss denominator.
    pub deadlines: u32,
}

impl Window {
    /// No constraint: deadlines alone decide. Among equal deadlines it gives way to every stream that tolerates no loss.
    pub const NONE: Window = Window::new(0, 0);

    /// No loss in 255 deadlines: the tightest constraint that hardware can hold.
    pub const TIGHTEST: Window = Window::new(0, 255);

    /// "`tolerated` of `deadlines`".
    pub const fn new(tolerated: u32, deadlines: u32) -> Window {
        Window { tolerated, deadlines }
    }
}

/// The largest penalty.
const LARGEST_PENALTY: u32 = 255;

/// The attributes of one stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stream {
    /// The window constraint.
    pub window: Window,
    /// Ticks between the deadlines of two successive packets. `None`: its deadline never comes. It ranks behind every stream with a
    /// period, and among those without one by its window constraint, which is then fixed.
    pub period: Option<u64>,
    /// The deadline of its first packet, in ticks; one period after the packet's arrival if `None`.
    pub first_deadline: Option<u64>,
    /// What a violation adds to the current denominator; at most 255.
    pub penalty: u32,
    /// True if a packet that misses its deadline is dropped; otherwise it stays, late, and has the next deadline.
    pub droppable: bool,
    /// True if its window constraint is never adjusted: static priority.
    pub is_fixed: bool,
}

impl Stream {
    /// A stream with a window constraint: penalty 1, late packets stay.
    pub const fn windowed(window: Window, period: u64) -> Stream {
        Stream { window, period: Some(period), first_deadline: None, penalty: 1, droppable: false, is_fixed: false }
    }

    /// Earliest deadline first: no packet may be late. Among equal deadlines it precedes every stream that tolerates a loss.
    pub const fn earliest_deadline(period: u64) -> Stream {
        Stream::windowed(Window::TIGHTEST, period)
    }

    /// Static priority before all other streams; `rank` 0 is the highest. Its deadline is always the next tick, and it tolerates less than
    /// any other stream with that deadline.
    pub const fn static_priority(rank: u32) -> Stream {
        Stream { is_fixed: true, penalty: 0, ..Stream::windowed(Window::new(0, u32::MAX - rank), 1) }
    }

    /// Static priority behind all other streams, ordered by the window constraint: the published form.
    pub const fn without_deadline(window: Window) -> Stream {
        Stream { window, period: None, first_deadline: None, penalty: 0, droppable: false, is_fixed: true }
    }

    /// What an engine keeps of it: the penalty only where something can be violated, and not the first deadline.
    pub(super) const fn kept(&self) -> Stream {
        let penalty = if self.is_fixed || self.window.deadlines == 0 { 0 } else { self.penalty };
        Stream { penalty, first_deadline: None, ..*self }
    }

    /// Checks that an engine can serve it in place of a stream with this period.
    pub(super) fn check_change(&self, stream: Flow, period: Option<u64>) -> Result<(), StreamError> {
        let problem = match self.check() {
            Err(problem) => problem,
            Ok(()) if self.period.is_none() || period.is_none() => "a stream without deadlines does not change: build the engine anew",
            Ok(()) => return Ok(()),
        };
        Err(StreamError { stream: Some(stream), problem })
    }

    /// Checks that an engine can serve it.
    ///
    /// # Errors
    /// What is wrong and what would be right.
    pub const fn check(&self) -> Result<(), &'static str> {
        if self.window.tolerated > self.window.deadlines {
            return Err("a window of y deadlines cannot tolerate more than y losses: write x of y with x at most y");
        }
        if self.penalty > LARGEST_PENALTY {
            return Err("a penalty is at most 255");
        }
        match self.period {
            Some(0) => Err("a period of 0 would put infinitely many deadlines at one instant: at least one tick is right"),
            Some(period) if period > LONGEST_PERIOD => Err("a period is at most 2^48 ticks"),
            Some(_) if self.is_fixed && self.window.tolerated > 0 => Err("a fixed window with deadlines tolerates no loss: write 0 of y"),
            None if !self.is_fixed => Err("a stream without deadlines has a fixed window: nothing would ever adjust it back"),
            _ => Ok(()),
        }
    }
}

/// Why an engine cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamError {
    /// The offending stream; `None` if all of them together are at fault.
    pub stream: Option<Flow>,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stream {
            Some(stream) => write!(f, "stream {}: {}", stream.0, self.problem),
            None => f.write_str(self.problem),
        }
    }
}

impl core::error::Error for StreamError {}
