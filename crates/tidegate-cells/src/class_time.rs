//! Shares an overloaded link by slowing down the clock of a class instead of its connections.
//!
//! **Law.** All connections of a class are shaped in the time of the class, which falls behind real time when its cells leave later than
//! the slack. So all slow down in the same proportion, without a change to any of them. Class time never runs faster than real time, so a
//! stream that keeps its contract in class time keeps it in real time. A class with a minimum share goes first while it is owed a slot.
//!
//! **Source.** This project's; it meets the requirement of section 4.5 of Schiller and Gunningberg without rates.
//!
//! **State.** Four words per class.
//!
//! **Cost.** A subtraction and a comparison per cell.
//!
//! **RTL twin.** None yet.
//!
//! **Deviations.** The slack must absorb ordinary multiplexing, or the class loses throughput near full load. Lateness within the slack is
//! shared in proportion only among connections whose CDVT covers it; others are replanned by their contracts. So this rule suits classes
//! with a CDVT of at least the slack plus one slot.

use crate::time::Ticks;
use tidegate_core::serial::later;
use tidegate_core::sharing::{CLASSES, CellRate, Guarantees, SharesError, Sharing};

/// Class-virtual time.
///
/// ```
/// use tidegate_cells::{CLASSES, CellRate, ClassTime, SLOT, Sharing, Ticks};
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
    guarantees: Guarantees,
}

impl ClassTime {
    /// With the lateness that does not slow down a clock, and the minimum share of each class (0 for none). A slack of 64 slots or more
    /// loses no throughput at a load of 0.98.
    ///
    /// # Errors
    /// [`SharesError`] if the shares sum up to more than the link.
    pub fn new(slack: Ticks, minimum: [CellRate; CLASSES]) -> Result<ClassTime, SharesError> {
        Ok(ClassTime { slack: slack.0, delay: [0; CLASSES], guarantees: Guarantees::new(&minimum)? })
    }
}

impl Sharing for ClassTime {
    const HOLDS_UNSTRETCHED: bool = true;

    #[inline]
    fn delay(&self, class: usize) -> u64 {
        self.delay[class]
    }

    #[inline]
    fn sent(&mut self, class: usize, planned: u64, now: u64) {
        let slow = now.wrapping_sub(planned).wrapping_sub(self.slack);
        self.delay[class] = later(self.delay[class], slow);
        self.guarantees.sent(class, now);
    }

    #[inline]
    fn owed(&self, class: usize) -> Option<u64> {
        self.guarantees.owed(class)
    }

    fn refresh(&mut self, now: u64) {
        self.guarantees.refresh(now);
    }
}
