//! A stream's current window constraint, and the two rules that adjust it.
//!
//! **Law.**
//! * Served in time (rule A): `y' -= 1`; if `y' = x'`, both decrease by 1.
//! * Missed (rule B): `x' -= 1, y' -= 1`. If `x' = 0` it is a violation: `y'` grows by the stream's penalty, which raises its precedence
//!   until it is served.
//! * A window that is used up starts afresh from `x of y`, and so does a stream in violation when it is served in time.
//!
//! **Source**: West and Poellabauer, RTSS 2000, the adjustment rules (A) and (B).
//!
//! **State**: 16 bytes.
//!
//! **Cost**: O(1), for any number of missed deadlines at once.
//!
//! **RTL twin**: the update logic of a register base block, which saturates `y'` at 255.
//!
//! **Deviations**: the penalty is a parameter of the stream, as in later versions of the authors. Best-effort streams need 0: with 1 their
//! violations add up until they overtake a stream that tolerates no loss.

use crate::dwcs::stream::Window;

/// The current numerator and denominator of a window constraint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tolerance {
    /// `x'`: the number of deadlines left in the window that may still be missed.
    pub numerator: u32,
    /// True since a deadline was missed in excess of the constraint, until the stream is served in time.
    pub in_violation: bool,
    /// `y'`: the deadlines left in the window, plus the penalties for violations.
    pub denominator: u64,
}

impl Tolerance {
    /// The whole window.
    #[inline]
    pub const fn of(window: Window) -> Tolerance {
        Tolerance { numerator: window.tolerated, in_violation: false, denominator: window.deadlines as u64 }
    }

    /// Rule A: a packet was served in time.
    #[inline]
    pub fn serve(&mut self, window: Window) {
        if self.denominator > u64::from(self.numerator) {
            self.denominator -= 1;
        } else if self.numerator > 0 {
            self.numerator -= 1;
            self.denominator -= 1;
        }
        if self.denominator == 0 || self.in_violation {
            *self = Tolerance::of(window);
        }
    }

    /// Rule B, `times` in a row. Returns the number of violations.
    #[inline]
    pub fn miss(&mut self, window: Window, penalty: u32, times: u64) -> u64 {
        if window.deadlines == 0 {
            return 0;
        }
        let mut left = times;
        while self.numerator > 0 {
            let used = left.min(u64::from(self.numerator));
            self.numerator -= used as u32;
            self.denominator -= used;
            left -= used;
            if self.denominator == 0 {
                *self = Tolerance::of(window);
                if window.tolerated == window.deadlines {
                    left %= u64::from(window.tolerated);
                }
            }
            if left == 0 {
                return 0;
            }
        }
        self.denominator += u64::from(penalty) * left;
        self.in_violation |= left > 0;
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// The rules as they are printed.
    fn textbook(now: Tolerance, window: Window, penalty: u32, operation: char) -> (Tolerance, bool) {
        let (x, y) = (u64::from(window.tolerated), u64::from(window.deadlines));
        let (mut x1, mut y1, mut tag) = (u64::from(now.numerator), now.denominator, now.in_violation);
        let mut violated = false;
        if operation == 'A' {
            if y1 > x1 {
                y1 -= 1;
            } else if y1 == x1 && x1 > 0 {
                x1 -= 1;
                y1 -= 1;
            }
            if (x1 == 0 && y1 == 0) || tag {
                (x1, y1, tag) = (x, y, false);
            }
        } else if x1 > 0 {
            x1 -= 1;
            y1 -= 1;
            if x1 == 0 && y1 == 0 {
                (x1, y1) = (x, y);
            }
        } else if y > 0 {
            y1 += u64::from(penalty);
            tag = true;
            violated = true;
        }
        (Tolerance { numerator: x1 as u32, in_violation: tag, denominator: y1 }, violated)
    }

    fn trace(window: Window, operations: &str) -> Vec<(u32, u64, bool)> {
        let mut now = Tolerance::of(window);
        let step = |operation| {
            if operation == 'A' {
                now.serve(window)
            } else {
                _ = now.miss(window, 1, 1)
            }
            (now.numerator, now.denominator, now.in_violation)
        };
        operations.chars().map(step).collect()
    }

    /// Oracle D9.
    #[test]
    fn the_rules_are_traced() {
        let (t, f) = (true, false);
        let half = trace(Window::new(1, 2), "AABBBABA");
        assert_eq!(half, [(1, 1, f), (1, 2, f), (0, 1, f), (0, 2, t), (0, 3, t), (1, 2, f), (0, 1, f), (1, 2, f)]);
        let none = trace(Window::new(0, 3), "AABBAAA");
        assert_eq!(none, [(0, 2, f), (0, 1, f), (0, 2, t), (0, 3, t), (0, 3, f), (0, 2, f), (0, 1, f)]);
    }

    proptest! {
        #[test]
        fn rules_are_the_printed_ones_and_misses_add_up(
            y in 0u32..20, part in 0u32..20, penalty in 0u32..3, operations in proptest::collection::vec((0u8..2, 0u64..50), 1..60)
        ) {
            let window = Window::new(if y == 0 { 0 } else { part % (y + 1) }, y);
            let (mut ours, mut theirs) = (Tolerance::of(window), Tolerance::of(window));
            for (operation, times) in operations {
                if operation == 0 {
                    ours.serve(window);
                    theirs = textbook(theirs, window, penalty, 'A').0;
                } else {
                    let mut violations = 0;
                    for _ in 0..times {
                        let (next, violated) = textbook(theirs, window, penalty, 'B');
                        (theirs, violations) = (next, violations + u64::from(violated));
                    }
                    prop_assert_eq!(ours.miss(window, penalty, times), violations);
                }
                prop_assert_eq!(ours, theirs);
                prop_assert!(ours.numerator <= window.tolerated && u64::from(ours.numerator) <= ours.denominator);
                prop_assert!(!ours.in_violation || ours.numerator == 0);
                prop_assert!(ours.in_violation || ours.denominator <= u64::from(window.deadlines));
            }
        }
    }
}
