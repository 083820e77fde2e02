//! What one stream asks for: a window constraint, a request period, and what becomes of packets that are late.

use super::LONGEST_PERIOD;
use crate::packet::Flow;
use alloc::vec::Vec;
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
    /// No constraint at all: deadlines alone decide. Beside streams with windows it gives way to every one that tolerates no loss.
    pub const NONE: Window = Window::new(0, 0);

    /// No loss in 255 deadlines, the tightest constraint that hardware can hold.
    pub const TIGHTEST: Window = Window::new(0, 255);

    /// "`tolerated` of `deadlines`".
    pub const fn new(tolerated: u32, deadlines: u32) -> Window {
        Window { tolerated, deadlines }
    }
}

/// The attributes of one stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stream {
    /// The window constraint.
    pub window: Window,
    /// Ticks between the deadlines of two successive packets. `None` puts the stream under static priority: its deadline never comes and
    /// its window constraint never changes, so that streams without a period rank by their constraints behind all that have one.
    pub period: Option<u64>,
    /// The deadline of its first packet, in ticks; one period after the packet's arrival if `None`.
    pub first_deadline: Option<u64>,
    /// By how much a violation raises the current denominator.
    pub penalty: u32,
    /// True if a packet that misses its deadline is dropped; otherwise it stays, late, and has the next deadline.
    pub droppable: bool,
}

impl Stream {
    /// A stream with a window constraint: penalty 1, late packets stay.
    pub const fn windowed(window: Window, period: u64) -> Stream {
        Stream { window, period: Some(period), first_deadline: None, penalty: 1, droppable: false }
    }

    /// Earliest deadline first: no packet may be late. Served before every stream with the same deadline that tolerates a loss.
    pub const fn earliest_deadline(period: u64) -> Stream {
        Stream::windowed(Window::TIGHTEST, period)
    }

    /// Static priority: the more deadlines of its window a stream may not miss, the higher; `rank` 0 is the highest.
    pub const fn static_priority(rank: u32) -> Stream {
        Stream { window: Window::new(0, u32::MAX - rank), period: None, first_deadline: None, penalty: 0, droppable: false }
    }

    /// Whether an engine can serve it.
    ///
    /// # Errors
    /// What is wrong and what would be right.
    pub const fn check(&self) -> Result<(), &'static str> {
        if self.window.tolerated > self.window.deadlines {
            return Err("a window of y deadlines cannot tolerate more than y losses: write x of y with x at most y");
        }
        match self.period {
            Some(0) => Err("a period of 0 would put infinitely many deadlines at one instant: at least one tick is right"),
            Some(period) if period > LONGEST_PERIOD => Err("a period is at most 2^48 ticks"),
            _ => Ok(()),
        }
    }
}

/// The streams that share a link in proportion to `weights` if all of them are always backlogged: a period of one tick each, and windows
/// `1 - weight / sum` over a common denominator, so that the shares add up to exactly one. They have no penalty and so give way to streams
/// that tolerate no loss.
///
/// # Errors
/// [`StreamError`] if a weight is 0 or their sum is above 2^32 - 1.
pub fn fair_shares(weights: &[u32]) -> Result<Vec<Stream>, StreamError> {
    let mut sum = 0u32;
    for (index, &weight) in weights.iter().enumerate() {
        let wrong = |problem| StreamError { stream: Flow(index as u32), problem };
        if weight == 0 {
            return Err(wrong("a weight of 0 would never be served; at least 1 is right"));
        }
        sum = sum.checked_add(weight).ok_or(wrong("the weights sum up to more than 2^32 - 1: divide them by a common factor"))?;
    }
    let divisor = weights.iter().fold(sum, |divisor, &weight| greatest_common_divisor(divisor, weight)).max(1);
    let stream = |&weight: &u32| {
        let window = Window::new((sum - weight) / divisor, sum / divisor);
        Stream { penalty: 0, ..Stream::windowed(window, 1) }
    };
    Ok(weights.iter().map(stream).collect())
}

const fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Why an engine cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamError {
    /// The offending stream.
    pub stream: Flow,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}: {}", self.stream.0, self.problem)
    }
}

impl core::error::Error for StreamError {}
