//! Shares an overloaded link by slowing down the clock of the class instead of its connections.
//!
//! **Law.** All connections of a class are shaped in the class's own time, which falls behind real time when its cells leave later than
//! the slack: every connection slows down in the same proportion, and none is touched for it. Class time never runs faster than real
//! time, so a stream that keeps its contract in class time keeps it in real time. A class with a minimum share goes first whenever its
//! guarantee bucket owes it a slot.
//!
//! **Source.** This project's; the demand of section 4.5 of Schiller and Gunningberg, met without knowing any rates.
//!
//! **State.** Four words per class.
//!
//! **Cost.** A subtraction and a comparison per cell.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** The slack must absorb ordinary multiplexing, or the class loses throughput near full load; and lateness within the slack
//! is shared in proportion only by connections whose CDVT covers it, because those with a smaller one are replanned by their contracts.
//! So this rule suits classes of generous CDVT, at least the slack and one slot.

use super::sharing::{SharesError, Sharing, check_shares};
use super::{CLASSES, CellRate, SLOT, Ticks, earlier, later};

/// How many cells of its guarantee a class may claim late.
const CLAIM: u64 = 4;

/// Class-virtual time.
///
/// ```
/// use tidegate_core::cells::{CLASSES, CellRate, ClassTime, SLOT, Sharing, Ticks};
/// let mut sharing = ClassTime::new(Ticks::slots(8), [CellRate::ZERO; CLASSES]).unwrap();
/// sharing.sent(1, 100 * SLOT, 105 * SLOT); // 5 slots late: within the slack
/// assert_eq!(sharing.delay(1), 0);
/// sharing.sent(1, 100 * SLOT, 110 * SLOT);
/// assert_eq!(sharing.delay(1), 2 * SLOT);
/// ```
#[derive(Clone, Debug)]
pub struct ClassTime {
    slack: u64,
    delay: [u64; CLASSES],
    /// The interval of guaranteed cells; 0 without a minimum share.
    guaranteed: [u64; CLASSES],
    /// When the next guaranteed cell is owed.
    owed: [u64; CLASSES],
}

impl ClassTime {
    /// With the lateness that slows no clock down, and the classes' minimum shares; 0 for none. A slack of 64 slots or more loses no
    /// throughput at a load of 0.98.
    ///
    /// # Errors
    /// [`SharesError`] if the shares sum up to more than the link.
    pub fn new(slack: Ticks, minimum: [CellRate; CLASSES]) -> Result<ClassTime, SharesError> {
        check_shares(&minimum)?;
        // Rounded down: a guarantee is at least its share. A share is at most one cell per slot, so the interval is at least a slot.
        let guaranteed = minimum.map(|share| ((u128::from(SLOT) << 40).checked_div(u128::from(share.0))).unwrap_or(0) as u64);
        Ok(ClassTime { slack: slack.0, delay: [0; CLASSES], guaranteed, owed: [0; CLASSES] })
    }
}

impl Sharing for ClassTime {
    #[inline]
    fn delay(&self, class: usize) -> u64 {
        self.delay[class]
    }

    #[inline]
    fn sent(&mut self, class: usize, planned: u64, now: u64) {
        let slow = now.wrapping_sub(planned).wrapping_sub(self.slack);
        self.delay[class] = later(self.delay[class], slow);
        let interval = self.guaranteed[class];
        // Clamped both ways: a class that did not send has no more than a few cells to claim, and what it was given beyond its
        // guarantee does not count against it.
        let oldest = now.wrapping_sub(CLAIM.wrapping_mul(interval));
        self.owed[class] = earlier(later(self.owed[class], oldest).wrapping_add(interval), now.wrapping_add(interval));
    }

    #[inline]
    fn owed(&self, class: usize) -> Option<u64> {
        (self.guaranteed[class] > 0).then_some(self.owed[class])
    }

    fn refresh(&mut self, now: u64) {
        for (owed, interval) in self.owed.iter_mut().zip(self.guaranteed) {
            *owed = later(*owed, now.wrapping_sub(CLAIM.wrapping_mul(interval)));
        }
    }
}
