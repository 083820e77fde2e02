//! Usage parameter control: the policer that decides whether a cell conforms to the contract of its connection.
//!
//! **Law.** A cell conforms if it is not too early by either test. The peak rate allows it to precede its expected time by the CDVT, and the
//! sustained rate by the burst tolerance. A non-conforming cell changes no state.
//! **Source.** ATM Forum Traffic Management 4.0, definitions CBR.1 and VBR.1: the GCRA as virtual scheduling. Both tests precede both updates.
//! **State.** The contract and two instants.
//! **Cost.** Two additions and four comparisons per cell.
//! **RTL twin.** None.
//! **Deviations.** The test of the sustained rate allows the burst tolerance without the CDVT, which is stricter than the standard.

use tidegate_cells::{CellContract, SLOT};

/// The policer of one connection at the edge of a network, written from the standard and not from the shaper.
///
/// ```
/// use tidegate_atm::conformance::UsageParameterControl;
/// use tidegate_cells::{CellContract, Ticks};
/// let mut control = UsageParameterControl::new(CellContract::constant(Ticks::slots(10)));
/// assert!(control.accepts(0) && control.accepts(9)); // one slot early: within the CDVT
/// assert!(!control.accepts(18) && control.accepts(19));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UsageParameterControl {
    contract: CellContract,
    /// The expected times of the next cell at the peak rate and at the sustained rate, in ticks; `None` before the first cell.
    expected: Option<(u128, u128)>,
}

impl UsageParameterControl {
    /// The policer of a contract, before the first cell.
    pub const fn new(contract: CellContract) -> UsageParameterControl {
        UsageParameterControl { contract, expected: None }
    }

    /// True if a cell in this slot conforms. Slots do not decrease.
    pub fn accepts(&mut self, slot: u64) -> bool {
        let now = u128::from(slot) * u128::from(SLOT);
        let (peak, sustained) = self.expected.unwrap_or((now, now));
        let tolerance = u128::from(self.contract.delay_variation_tolerance.0);
        let burst = self.contract.mode.sustained().map(|sustained| (u128::from(sustained.interval.0), self.contract.burst_tolerance().0));
        if now + tolerance < peak || burst.is_some_and(|(_, burst_tolerance)| now + u128::from(burst_tolerance) < sustained) {
            return false;
        }
        let interval = burst.map_or(0, |(interval, _)| interval);
        self.expected = Some((peak.max(now) + u128::from(self.contract.peak_interval.0), sustained.max(now) + interval));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_cells::{Mode, Sustained, Ticks};

    fn refused(contract: CellContract, slots: &[u64]) -> Vec<u64> {
        let mut control = UsageParameterControl::new(contract);
        slots.iter().copied().filter(|&slot| !control.accepts(slot)).collect()
    }

    #[test]
    fn early_cells_are_refused_and_change_no_state() {
        // GCRA(10, 15) with the arrivals of the published example.
        let mut constant = CellContract::constant(Ticks::slots(10));
        constant.delay_variation_tolerance = Ticks::slots(15);
        assert_eq!(refused(constant, &[0, 2, 5, 12, 18, 19, 30, 31, 60]), [12, 19, 31]);
    }

    #[test]
    fn a_burst_longer_than_the_maximum_is_refused() {
        let sustained = Sustained { interval: Ticks::slots(20), maximum_burst_size: 10 };
        let burst = CellContract {
            mode: Mode::DualBucket(sustained),
            delay_variation_tolerance: Ticks::ZERO,
            ..CellContract::constant(Ticks::slots(4))
        };
        let slots: Vec<u64> = (0..12).map(|cell| 4 * cell).collect();
        assert_eq!(refused(burst, &slots), [40, 44]);
    }
}
