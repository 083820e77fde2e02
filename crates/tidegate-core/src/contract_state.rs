//! The state of contracts, as numbers that leave a process and come into another one.

use crate::units::Time;

/// Visits the state of contracts number by number: it reads each, or replaces it.
pub trait ContractState {
    /// An instant, past or to come.
    fn instant(&mut self, time: &mut Time);
    /// An instant that is not to come.
    fn past(&mut self, time: &mut Time) {
        self.instant(time);
    }
    /// A number, which is at most `most`.
    fn number(&mut self, number: &mut u64, most: u64);
}
